//! Killed while a side effect is under way.

use super::super::step::{
    Answer::Yes,
    Expectation::*,
    Point,
    Step::*,
    Survivors::{Escaped, Nothing, Own},
};
use super::{DONE, NEVER_MIND, NOTES, SHELL_WAITS};

const BEFORE_EFFECT: &str = r#"reply
  call shell {"command":"mkfifo p; : > up; read x < p; echo ran >> log"}"#;

// A child says itself that it is up: one that is still being started might be missed by who looks for it.
const BACKGROUND: &str = r#"reply
  call shell {"command":"echo ran >> log; mkfifo p q; sh -c ': > up; read x < q' & read x < p"}"#;

const LEFT_THE_GROUP: &str = r#"reply
  call shell {"command":"echo ran >> log; mkfifo p q; setsid sh -c ': > up; read x < q' & read x < p"}"#;

const IGNORES_TERM: &str = r#"reply
  call shell {"command":"trap '' TERM; echo ran >> log; mkfifo p; : > up; read x < p"}"#;

const IGNORES_TERM_BELOW: &str = r#"reply
  call shell {"command":"mkfifo p; (trap '' TERM HUP; echo ran >> log; : > up; read x < p) ; wait"}"#;

/// A look, a command, and a file that has to wait for the command.
const SEVERAL: &str = r#"reply
  call read_file {"path":"notes.txt"}
  call shell {"command":"echo ran >> log; mkfifo p; : > up; read x < p"}
  call write_file {"path":"c.txt","content":"third\n"}"#;

const HELLO: &str = "reply
  text Hello.";

pub const POINTS: &[Point] = &[
    Point {
        name: "during: a command before its effect",
        files: &[],
        replies: &[BEFORE_EFFECT, DONE],
        steps: &[
            Ask("go"),
            Card("y"),
            Record("started a"),
            File("up"),
            Kill(Nothing),
            Resume(0),
            Now(Absent("log")),
            Record("finished a unknown"),
            Now(Says("All done.")),
        ],
    },
    Point {
        name: "during: a command after its effect",
        files: &[],
        replies: &[SHELL_WAITS, DONE],
        steps: &[
            Ask("go"),
            Record("asked a"),
            Decide("a", Yes),
            File("up"),
            Kill(Nothing),
            Resume(0),
            Now(Lines("log", 1)),
            Record("finished a unknown"),
        ],
    },
    Point {
        name: "during: a command after its effect, and the screen is opened again",
        files: &[],
        replies: &[SHELL_WAITS, DONE],
        steps: &[
            Ask("go"),
            Record("asked a"),
            Decide("a", Yes),
            File("up"),
            Kill(Nothing),
            Open(&["-c"]),
            Screen("Outcome unknown: co ended"),
            Keys("and now<ret>"),
            Record("turn 2"),
            Record("finished a unknown"),
            Screen("All done."),
            Now(Lines("log", 1)),
            Record("end completed"),
        ],
    },
    Point {
        name: "during: a command with a child in the background",
        files: &[],
        replies: &[BACKGROUND, DONE],
        steps: &[
            Ask("go"),
            Record("asked a"),
            Decide("a", Yes),
            File("up"),
            Kill(Escaped(1)),
            Resume(0),
            Now(Says("read x < q")),
            Now(Lines("log", 1)),
        ],
    },
    Point {
        name: "during: a command with a child in a session of its own",
        files: &[],
        replies: &[LEFT_THE_GROUP, DONE],
        steps: &[
            Ask("go"),
            Record("asked a"),
            Decide("a", Yes),
            File("up"),
            Kill(Escaped(1)),
            Run(&["-c", "-p", "what is left of it"], 0),
            Now(Says("read x < q")),
            Now(Lines("log", 1)),
        ],
    },
    Point {
        name: "during: a command that ignores the polite signal",
        files: &[],
        replies: &[IGNORES_TERM, DONE],
        steps: &[
            Ask("go"),
            Record("asked a"),
            Decide("a", Yes),
            File("up"),
            Kill(Nothing),
            Resume(0),
            Now(Lines("log", 1)),
        ],
    },
    Point {
        name: "during: a command whose child ignores the polite signal",
        files: &[],
        replies: &[IGNORES_TERM_BELOW, DONE],
        steps: &[
            Ask("go"),
            Record("asked a"),
            Decide("a", Yes),
            File("up"),
            Kill(Escaped(1)),
            Resume(0),
            Now(Lines("log", 1)),
        ],
    },
    Point {
        name: "during: one of several things",
        files: &[NOTES],
        replies: &[SEVERAL, DONE],
        steps: &[
            Ask("go"),
            Record("finished a ok"),
            Record("asked b"),
            Record("asked c"),
            Decide("c", Yes),
            Record("decided c yes"),
            Decide("b", Yes),
            File("up"),
            Now(Never("started c")),
            Kill(Nothing),
            Now(Absent("c.txt")),
            Resume(0),
            Now(Lines("log", 1)),
            Record("finished b unknown"),
            Record("finished c ok"),
            Now(Text("c.txt", "third\n")),
            Now(Told("three")),
        ],
    },
    Point {
        name: "during: a command that was approved late",
        files: &[],
        replies: &[SHELL_WAITS, NEVER_MIND, DONE],
        steps: &[
            Ask("go"),
            Screen("Tab: to the card"),
            Keys("never mind<ret>"),
            Record("finished a undecided"),
            Record("end completed"),
            Decide("a", Yes),
            Record("started a"),
            File("up"),
            Kill(Nothing),
            Resume(0),
            Now(Says("nothing to continue")),
            Record("finished a unknown"),
            Run(&["-c", "-p", "and now"], 0),
            Now(Lines("log", 1)),
            Now(Says("All done.")),
        ],
    },
    Point {
        name: "during: a command of the person's own",
        files: &[],
        replies: &[HELLO],
        steps: &[
            Ask("go"),
            Record("end completed"),
            Keys("!echo ran >> log; mkfifo p; : > up; read x <lt> p<ret>"),
            File("up"),
            Kill(Nothing),
            Resume(0),
            Now(Says("nothing to continue")),
            Now(Lines("log", 1)),
        ],
    },
    Point {
        name: "during: a command of the person's own with a child in the background",
        files: &[],
        replies: &[HELLO],
        steps: &[
            Ask("go"),
            Record("end completed"),
            Keys("!mkfifo p q; sh -c ': > up; read x <lt> q' & read x <lt> p<ret>"),
            File("up"),
            Kill(Own(1)),
            Resume(0),
            Now(Says("still running")),
            Now(Says("read x < q")),
        ],
    },
];
