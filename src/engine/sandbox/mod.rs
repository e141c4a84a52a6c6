//! The sandbox interface: how a command runs, and how far it is isolated.
//!
//! It has only the trait and its values; the backends are the other files in this folder (layer 5). Called by
//! the `shell` tool and by `!cmd`, never by a front end.

pub mod backend;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod docker;
#[cfg(target_os = "linux")]
mod mounts;
pub mod policy;
pub mod stage;
pub mod subprocess;

pub(crate) mod child;

pub mod env;
pub mod privacy;

pub mod survivors;

pub mod tasks;

use std::io::{self, PipeReader, PipeWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::stdx::names::names;

/// Runs commands.
pub trait Sandbox: Send + Sync {
    /// Returns how far a command is actually isolated, as measured.
    fn isolation(&self) -> Isolation;

    /// Starts a command; yields output as it arrives, then `Exited` exactly once. Cancel, drop or timeout
    /// ends the whole process group within one second. The child's environment is `command.env` only; it has
    /// no terminal, and its stdin is `command.input`.
    fn spawn(&self, command: Command, cancel: CancellationToken)
    -> BoxStream<'static, io::Result<ExecEvent>>;
}

/// One command line for `sh -c`.
#[derive(Debug, Clone, Default)]
pub struct Command {
    pub script: String,
    /// Absolute.
    pub cwd: PathBuf,
    /// The child's whole environment.
    pub env: Vec<(String, String)>,
    pub timeout: Duration,
    pub confinement: Confinement,
    /// Its standard input; without one it is empty.
    pub input: Option<Arc<PipeReader>>,
    /// Where its standard error goes; without one it is part of its output.
    pub errors: Option<Arc<PipeWriter>>,
    /// Set while it runs: the timeout does not count any more.
    pub unlimited: Arc<AtomicBool>,
}

/// Texts that commands print where a sandbox holds them.
const SIGNS: [&str; 6] = [
    "Permission denied",
    "Operation not permitted",
    "Read-only file system",
    "Network is unreachable",
    "Could not resolve host",
    "Temporary failure in name resolution",
];

/// Whether the output of a command that failed in a sandbox looks as if the sandbox held it: by its words, or because what
/// it missed is there outside. Only a hint: a command may print anything. Blocking.
#[must_use]
pub fn looks_held(output: &str, workspace: &Path) -> bool {
    let is_outside = |word: &str| {
        let path = Path::new(word);
        let is_of_sandbox =
            path.starts_with(workspace) || policy::SYSTEM.iter().any(|root| path.starts_with(root));
        path.is_absolute()
            && !is_of_sandbox
            && path.parent().is_some_and(|folder| folder.parent().is_some() && folder.exists())
    };
    let is_word_end = |letter: char| letter.is_whitespace() || "'\"`:()".contains(letter);
    SIGNS.iter().any(|sign| output.contains(sign))
        || output
            .lines()
            .filter(|line| line.contains("No such file or directory"))
            .any(|line| line.split(is_word_end).any(is_outside))
}

/// The permissions of a command; a backend without isolation ignores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub enum Confinement {
    /// Reads the workspace; writes only temporary files.
    #[default]
    ReadOnly,
    /// Also writes in the workspace, except to protected paths.
    Workspace,
    /// Also uses the network.
    Network,
    /// Whatever the user may do.
    Unsandboxed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecEvent {
    /// Bytes of stdout and stderr, merged in the order they were read.
    Output(Vec<u8>),
    /// Processes of the command that had left its group; sent at most once, just before `Exited`.
    Survivors {
        found: Vec<Survivor>,
        outcome: SurvivorOutcome,
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

/// The fate of the survivors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurvivorOutcome {
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

/// How far commands are isolated from the rest of the machine: which things a backend holds them from, as its self-test
/// and the kernel showed. Read-only commands run where nothing but a temporary folder is writable, so that they are held
/// from changing protected paths and metadata too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Isolation {
    /// The backend; with [`Backend::None`] nothing is held.
    pub backend: Backend,
    /// Reading and writing files outside of the policy.
    pub files: Hold,
    /// Network and sockets of other processes.
    pub network: Hold,
    /// Signals to other processes, reading them, and outliving `co`.
    pub processes: Hold,
    /// Writing protected paths inside the workspace: `.co`, and the settings and hooks of `.git`.
    pub protected: Hold,
    /// Permissions and times of files outside of the workspace.
    pub metadata: Hold,
}

/// Whether something is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hold {
    #[default]
    NotHeld,
    Held,
}

/// The kinds of isolation for commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// A plain child process: limited only by the user's file permissions.
    #[default]
    None,
    Landlock,
    Bubblewrap,
    Docker,
}

names! {
    Backend, word {
        None = "none", Landlock = "landlock", Bubblewrap = "bubblewrap", Docker = "docker",
    }
}

impl Isolation {
    /// No isolation.
    pub const NONE: Self = Self {
        backend: Backend::None,
        files: Hold::NotHeld,
        network: Hold::NotHeld,
        processes: Hold::NotHeld,
        protected: Hold::NotHeld,
        metadata: Hold::NotHeld,
    };

    /// Everything held, by bubblewrap.
    pub const FULL: Self = Self {
        backend: Backend::Bubblewrap,
        files: Hold::Held,
        network: Hold::Held,
        processes: Hold::Held,
        protected: Hold::Held,
        metadata: Hold::Held,
    };

    /// Whether commands of this confinement are held to it in everything.
    #[must_use]
    pub fn holds(&self, confinement: Confinement) -> bool {
        let held = |all: &[Hold]| all.iter().all(|hold| *hold == Hold::Held);
        match confinement {
            Confinement::ReadOnly => held(&[self.files, self.network, self.processes]),
            Confinement::Workspace => {
                held(&[self.files, self.network, self.processes, self.protected, self.metadata])
            }
            Confinement::Network | Confinement::Unsandboxed => false,
        }
    }

    /// Returns the word for the status line.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.backend {
            Backend::None => "unsandboxed",
            Backend::Landlock | Backend::Bubblewrap | Backend::Docker if self.not_held().is_empty() => {
                "sandboxed"
            }
            Backend::Landlock | Backend::Bubblewrap | Backend::Docker => "partly sandboxed",
        }
    }

    /// Returns what commands that write in the workspace are not held from; empty without a backend.
    #[must_use]
    pub fn not_held(&self) -> Vec<&'static str> {
        let all = [
            (self.files, "files outside of the workspace"),
            (self.network, "the network"),
            (self.processes, "other processes"),
            (self.protected, "the settings and hooks of .git"),
            (self.metadata, "permissions and times of files outside"),
        ];
        let is_named = |hold| hold == Hold::NotHeld && self.backend != Backend::None;
        all.into_iter().filter(|(hold, _)| is_named(*hold)).map(|(_, what)| what).collect()
    }
}
