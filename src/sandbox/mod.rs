//! The sandbox seam: how a command runs, and how far it is shut in.
//!
//! The trait and its values only; backends are the files beside this one (layer 5). Called by the
//! `shell` tool and by `!cmd`, never by a front end.

pub mod subprocess;

pub(crate) mod child;

pub mod env;
pub mod shield;

pub mod survivors;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;

/// Runs commands.
pub trait Sandbox: Send + Sync {
    /// How far a command is shut in, as measured, not as hoped.
    fn isolation(&self) -> Isolation;

    /// Starts a command; yields output as it comes, then `Exited` exactly once. Cancel, drop or
    /// timeout ends the whole process group within one second. The child's environment is
    /// `command.env` only; it has no terminal and no stdin.
    fn spawn(&self, command: Command, cancel: CancellationToken)
    -> BoxStream<'static, io::Result<ExecEvent>>;
}

/// One command line for `sh -c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub script: String,
    /// Absolute.
    pub cwd: PathBuf,
    /// The child's whole environment.
    pub env: Vec<(String, String)>,
    pub timeout: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecEvent {
    /// Bytes of stdout and stderr, merged in the order they were read.
    Output(Vec<u8>),
    /// Processes of the command that had left its group; at most once, just before `Exited`.
    Survivors {
        found: Vec<Survivor>,
        fate: Fate,
    },
    Exited(Exit),
}

/// A process that outlived its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    pub pid: u32,
    /// Its command line as it calls itself, at most 200 characters; not sanitized.
    pub command: String,
}

/// What became of survivors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The command ended by itself; they go on.
    Running,
    /// The command was cut off, and they were ended with it.
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// `command.timeout` passed.
    TimedOut,
    Cancelled,
}

/// What stands between a command and the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// A plain child process: nothing but the file permissions of the person.
    None,
    /// Files outside the workspace and the network are out of reach.
    Isolated,
}

impl Isolation {
    /// The word on the status line.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "unsandboxed",
            Self::Isolated => "sandboxed",
        }
    }
}
