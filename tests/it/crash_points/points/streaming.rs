//! Killed while the model speaks, or should.

use super::super::step::{Expectation::*, Point, Step::*, Survivors::Nothing};
use super::{DONE, NOTES, READ, SILENT};

const THINKS: &str = "reply
  thinking Let me look at this first.
  gate g
  text Too late.";

const HALF: &str = "reply
  text Half an answer
  gate g
  text  and the rest.";

const IN_ARGUMENTS: &str = r#"reply
  text I will write it.
  call write_file {"path":"a.txt","content":"fir | open
  gate g"#;

const EARLY_READ: &str = r#"reply
  call read_file {"path":"notes.txt"}
  text Reading it now
  gate g"#;

const BUSY: &str = "reply
  error 529 overloaded_error the model is busy | retry-after=60";

const BAD_REQUEST: &str = "reply
  error 400 invalid_request_error something is wrong with it";

pub const POINTS: &[Point] = &[
    Point {
        name: "streaming: the request is sent and nothing was said",
        files: &[],
        replies: &[SILENT, DONE],
        steps: &[
            Ask("go"),
            Request(1),
            Gate("g"),
            Kill(Nothing),
            Resume(0),
            Now(Says("All done.")),
            Record("end completed"),
            Now(Told("go")),
        ],
    },
    Point {
        name: "streaming: a printed turn waits for the model",
        files: &[],
        replies: &[SILENT, DONE],
        steps: &[
            Start(&["-p", "go"]),
            Gate("g"),
            Record("turn 1"),
            Kill(Nothing),
            Run(&["resume"], 0),
            Now(Says("All done.")),
            Record("end completed"),
        ],
    },
    Point {
        name: "streaming: thinking",
        files: &[],
        replies: &[THINKS, DONE],
        steps: &[Ask("go"), Screen("hinking"), Gate("g"), Kill(Nothing), Resume(0), Now(Says("All done."))],
    },
    Point {
        name: "streaming: text",
        files: &[],
        replies: &[HALF, DONE],
        steps: &[Ask("go"), Screen("Half an answer"), Kill(Nothing), Resume(0), Now(Says("All done."))],
    },
    Point {
        name: "streaming: text of which a part is recorded, and the turn goes on",
        files: &[],
        replies: &[HALF, DONE],
        steps: &[
            Ask("go"),
            Record("partial"),
            Kill(Nothing),
            Resume(0),
            Now(Says("All done.")),
            Record("end completed"),
        ],
    },
    Point {
        name: "streaming: text of which a part is recorded, and another prompt follows",
        files: &[],
        replies: &[HALF, DONE],
        steps: &[
            Ask("go"),
            Record("partial"),
            Kill(Nothing),
            Run(&["-c", "-p", "what was that"], 0),
            Now(Told("Half an answer")),
            Now(Told("what was that")),
            Record("note abort"),
            Record("end interrupted"),
        ],
    },
    Point {
        name: "streaming: in the arguments of a call",
        files: &[],
        replies: &[IN_ARGUMENTS, DONE],
        steps: &[
            Ask("go"),
            Screen("I will write it."),
            Gate("g"),
            Kill(Nothing),
            Resume(0),
            Now(Says("All done.")),
            Now(Absent("a.txt")),
            Now(Never("asked a")),
        ],
    },
    Point {
        name: "streaming: after a call that only looks has started early",
        files: &[NOTES],
        replies: &[EARLY_READ, READ, DONE],
        steps: &[
            Ask("go"),
            Screen("Reading it now"),
            Kill(Nothing),
            Now(Never("reply a")),
            Resume(0),
            Record("finished a ok"),
            Now(Told("three")),
            Now(Says("All done.")),
        ],
    },
    Point {
        name: "streaming: the second request, after a call that only looks",
        files: &[NOTES],
        replies: &[READ, SILENT, DONE],
        steps: &[
            Ask("go"),
            Record("finished a ok"),
            Request(2),
            Gate("g"),
            Kill(Nothing),
            Resume(0),
            Now(Told("three")),
            Now(Says("All done.")),
        ],
    },
    Point {
        name: "streaming: waiting to try a failed request again",
        files: &[],
        replies: &[BUSY, DONE],
        steps: &[
            Ask("go"),
            Record("request failed"),
            Screen("busy"),
            Kill(Nothing),
            Resume(0),
            Now(Says("All done.")),
        ],
    },
    Point {
        name: "streaming: after the model was told what was wrong with a request",
        files: &[],
        replies: &[BAD_REQUEST, SILENT, DONE],
        steps: &[
            Ask("go"),
            Record("note reflection"),
            Request(2),
            Gate("g"),
            Kill(Nothing),
            Resume(0),
            Now(Told("something is wrong with it")),
            Now(Says("All done.")),
        ],
    },
];
