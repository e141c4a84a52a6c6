//! The sandbox interface: how a command runs, and how far it is isolated.
//!
//! It has only the trait and its values; the backends are the other files in this folder (layer 5). Called by
//! the `shell` tool and by `!cmd`, never by a front end.

pub mod subprocess;

pub(crate) mod child;

pub mod env;
pub mod privacy;

pub mod survivors;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;

/// Runs commands.
pub trait Sandbox: Send + Sync {
    /// Returns how far a command is actually isolated, as measured.
    fn isolation(&self) -> Isolation;

    /// Starts a command; yields output as it arrives, then `Exited` exactly once. Cancel, drop or timeout
    /// ends the whole process group within one second. The child's environment is `command.env` only; it has
    /// no terminal and no stdin.
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
    /// Processes of the command that had left its group; sent at most once, just before `Exited`.
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
    /// Its command line as reported by the process, at most 200 characters; not sanitized.
    pub command: String,
}

/// What happened to the survivors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The command ended by itself; they continue to run.
    Running,
    /// The command was cut off, and they were ended with it.
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// `command.timeout` elapsed.
    TimedOut,
    Cancelled,
}

/// How far a command is isolated from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Isolation {
    /// A plain child process: limited only by the user's file permissions.
    #[default]
    None,
    /// Files outside the workspace and the network are inaccessible.
    Isolated,
}

impl Isolation {
    /// Returns the word for the status line.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "unsandboxed",
            Self::Isolated => "sandboxed",
        }
    }
}
