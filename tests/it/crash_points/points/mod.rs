//! The points, by what the program is doing when it is killed.

mod after;
mod asking;
mod deciding;
mod during;
mod streaming;

pub use self::after::POINTS as AFTER;
pub use self::asking::POINTS as ASKING;
pub use self::deciding::POINTS as DECIDING;
pub use self::during::POINTS as DURING;
pub use self::streaming::POINTS as STREAMING;
use super::step::Point;

/// All of them.
pub fn all() -> Vec<Point> {
    [STREAMING, ASKING, DECIDING, DURING, AFTER].into_iter().flatten().copied().collect()
}

/// A file that is there from the start.
const NOTES: (&str, &str) = ("notes.txt", "one\ntwo\nthree\n");

/// The last reply of most scripts.
const DONE: &str = "reply
  text All done.";

/// The model's reply when the conversation goes on without its call.
const NEVER_MIND: &str = "reply
  text As you like.";

/// A reply that does not come.
const SILENT: &str = "reply
  gate g
  text Too late.";

/// A command that leaves a line.
const SHELL: &str = r#"reply
  call shell {"command":"echo ran >> log"}"#;

/// A command that leaves a line and then waits for ever.
const SHELL_WAITS: &str = r#"reply
  call shell {"command":"echo ran >> log; mkfifo p; : > up; read x < p"}"#;

/// Two files at once.
const TWO_FILES: &str = r#"reply
  call write_file {"path":"a.txt","content":"first\n"}
  call write_file {"path":"b.txt","content":"second\n"}"#;

/// One file.
const FILE_A: &str = r#"reply
  call write_file {"path":"a.txt","content":"first\n"}"#;

const FILE_B: &str = r#"reply
  call write_file {"path":"b.txt","content":"second\n"}"#;

const READ: &str = r#"reply
  call read_file {"path":"notes.txt"}"#;
