//! Killed when a side effect is over, between turns, and more than once.

use super::super::step::{Answer::Yes, Expectation::*, Point, Step::*, Survivors::Nothing};
use super::{DONE, FILE_A, FILE_B, SHELL, SHELL_WAITS, SILENT};

const ALMOST: &str = "reply
  text Almost done
  gate g";

const HELLO: &str = "reply
  text Hello.";

const OF_THE_FIRST: &str = r#"reply
  call shell {"command":"echo ran >> log1; mkfifo p1; : > up1; read x < p1"}"#;

const OF_THE_SECOND: &str = r#"reply
  call shell {"command":"echo ran >> log2; mkfifo p2; : > up2; read x < p2"}"#;

pub const POINTS: &[Point] = &[
    Point {
        name: "after: a command has ended, and the model is asked again",
        files: &[],
        replies: &[SHELL, SILENT, DONE],
        steps: &[
            Ask("go"),
            Record("asked a"),
            Decide("a", Yes),
            Record("finished a ok"),
            Request(2),
            Kill(Nothing),
            Resume(0),
            Now(Lines("log", 1)),
            Now(Says("All done.")),
        ],
    },
    Point {
        name: "after: a file was written, and the model is asked again",
        files: &[],
        replies: &[FILE_A, SILENT, DONE],
        steps: &[
            Ask("go"),
            Card("y"),
            Record("finished a ok"),
            Request(2),
            Kill(Nothing),
            Now(Text("a.txt", "first\n")),
            Resume(0),
            Now(Text("a.txt", "first\n")),
            Now(Says("All done.")),
        ],
    },
    Point {
        name: "after: the last text streams",
        files: &[],
        replies: &[SHELL, ALMOST, DONE],
        steps: &[
            Ask("go"),
            Record("asked a"),
            Decide("a", Yes),
            Screen("Almost done"),
            Kill(Nothing),
            Resume(0),
            Now(Lines("log", 1)),
            Now(Says("All done.")),
        ],
    },
    Point {
        name: "after: the turn is over",
        files: &[],
        replies: &[HELLO, DONE],
        steps: &[
            Ask("go"),
            Record("end completed"),
            Kill(Nothing),
            Resume(0),
            Now(Says("nothing to continue")),
            Run(&["-c", "-p", "once more"], 0),
            Now(Told("go")),
            Now(Told("Hello.")),
            Now(Says("All done.")),
        ],
    },
    Point {
        name: "after: a prompt was queued while a command ran",
        files: &[],
        replies: &[SHELL_WAITS, DONE],
        steps: &[
            Ask("go"),
            Record("asked a"),
            Decide("a", Yes),
            File("up"),
            Keys("and then this<ret>"),
            Record("queued 1"),
            Kill(Nothing),
            Resume(0),
            Record("said and then this"),
            Now(Told("and then this")),
            Now(Lines("log", 1)),
        ],
    },
    Point {
        name: "after: a prompt was being written",
        files: &[],
        replies: &[HELLO],
        steps: &[
            Ask("go"),
            Record("end completed"),
            Keys("half a thought"),
            Record("draft half a thought"),
            Kill(Nothing),
            Open(&["-c"]),
            Screen("half a thought"),
            Screen("Hello."),
        ],
    },
    Point {
        name: "after: two sessions at once",
        files: &[],
        replies: &[OF_THE_FIRST, OF_THE_SECOND, DONE, DONE],
        steps: &[
            Ask("this first"),
            Record("asked a"),
            Ask("this second"),
            Focus(1),
            Record("asked a"),
            Decide("a", Yes),
            File("up2"),
            Focus(0),
            Decide("a", Yes),
            File("up1"),
            Kill(Nothing),
            Resume(0),
            Record("finished a unknown"),
            Focus(1),
            Now(Never("finished a unknown")),
            Resume(0),
            Record("finished a unknown"),
            Now(Lines("log1", 1)),
            Now(Lines("log2", 1)),
        ],
    },
    Point {
        name: "after: killed again while the session goes on",
        files: &[],
        replies: &[SHELL_WAITS, DONE],
        steps: &[
            Ask("go"),
            Record("asked a"),
            Kill(Nothing),
            Approve("a"),
            Start(&["resume", "--print"]),
            Record("started a"),
            File("up"),
            Kill(Nothing),
            Resume(0),
            Now(Lines("log", 1)),
            Record("finished a unknown"),
            Now(Says("All done.")),
        ],
    },
    Point {
        name: "after: killed again when the model had been told",
        files: &[],
        replies: &[SHELL_WAITS, SILENT, DONE],
        steps: &[
            Ask("go"),
            Record("asked a"),
            Decide("a", Yes),
            File("up"),
            Kill(Nothing),
            Start(&["resume", "--print"]),
            Record("finished a unknown"),
            Gate("g"),
            Kill(Nothing),
            Resume(0),
            Now(Lines("log", 1)),
            Now(Says("All done.")),
        ],
    },
    Point {
        name: "after: calls ran without asking",
        files: &[],
        replies: &[FILE_A, SILENT, FILE_B, DONE],
        steps: &[
            Open(&[]),
            Keys("/yolo<ret>"),
            Screen("YOLO"),
            Keys("go<ret>"),
            Record("finished a ok"),
            Now(Never("asked a")),
            Request(2),
            Kill(Nothing),
            Resume(4),
            Record("asked b"),
            Now(Absent("b.txt")),
            Approve("b"),
            Resume(0),
            Now(Text("b.txt", "second\n")),
        ],
    },
];
