//! Errors at the program's boundary: the kind, the message, and what to do next.
//!
//! Every failure becomes one of these exactly once; [`super::console`] prints it. The kind alone determines
//! the exit code.

use std::error::Error;
use std::io;

use crate::accounts::ModelError;
use crate::app::AppError;
use crate::config::{ConfigError, Source};
use crate::provider::ProviderError;
use crate::session::SessionError;
use crate::store::StoreError;

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Error,
    Usage,
    Provider,
    /// The turn stopped, and requests wait for a user's decision.
    Waiting,
    /// The token or money limit of a turn.
    Budget,
    /// The limit of model requests in a turn.
    TurnLimit,
    /// An eval is worse than a baseline.
    Regressed,
    /// Ended by this signal.
    Interrupted(u8),
    /// The reader of the output is gone; not a failure of this program.
    BrokenPipe,
}

impl Kind {
    /// Returns the exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::Error => 1,
            Self::Usage | Self::Regressed => 2,
            Self::Provider => 3,
            Self::Waiting => 4,
            Self::Budget => 5,
            Self::TurnLimit => 6,
            Self::Interrupted(signal) => 128 + signal,
        }
    }
}

/// The outcome of a command.
pub(super) type Result<T, E = CliError> = std::result::Result<T, E>;

/// One failure of the program.
#[derive(Debug)]
pub(super) struct CliError {
    pub kind: Kind,
    pub source: Box<dyn Error + Send + Sync>,
    /// The next steps for the user, one sentence each.
    pub hints: Vec<String>,
}

impl CliError {
    pub fn new(kind: Kind, source: impl Error + Send + Sync + 'static) -> Self {
        Self { kind, source: Box::new(source), hints: Vec::new() }
    }

    pub fn message(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, source: message.into().into(), hints: Vec::new() }
    }

    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self::message(Kind::Usage, message)
    }

    pub fn error(message: impl Into<String>) -> Self {
        Self::message(Kind::Error, message)
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Creates the error of a model request that failed permanently.
    pub fn provider(error: &ProviderError) -> Self {
        Self::message(Kind::Provider, error.describe()).hint(error.advice())
    }
}

impl From<AppError> for CliError {
    fn from(error: AppError) -> Self {
        match error {
            AppError::Workspace { .. } => {
                Self::new(Kind::Error, error).hint("go to a folder that exists, then start co again")
            }
            AppError::Store(error) => error.into(),
            AppError::Session(error) => error.into(),
            AppError::Model(error @ ModelError::NoService { .. }) => Self::new(Kind::Usage, error)
                .hint("`--model PROVIDER/NAME` names the service too; `co auth list` lists them"),
            AppError::Model(error) => {
                Self::new(Kind::Provider, error).hint("`co config` shows where each value comes from")
            }
            AppError::NoSession => {
                Self::new(Kind::Error, error).hint("`co sessions --all` lists those of every folder")
            }
            AppError::ManySessions { ref found, .. } => {
                let all = found.join("\n    ");
                Self::new(Kind::Usage, error).hint(format!("name one by its id:\n    {all}"))
            }
            AppError::Refused { .. } => {
                Self::new(Kind::Error, error).hint("nothing was sent; `co hooks list` lists the hooks")
            }
            AppError::Broken { .. } => Self::new(Kind::Error, error),
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let elsewhere = matches!(
            error,
            StoreError::Folder { .. }
                | StoreError::ReadOnly { .. }
                | StoreError::NotADatabase { .. }
                | StoreError::Newer { .. }
                | StoreError::Corrupt { .. }
        );
        let this = Self::new(Kind::Error, error);
        if elsewhere {
            this.hint("CO_DATA_DIR=/another/folder co … chooses another data folder")
        } else {
            this
        }
    }
}

impl From<SessionError> for CliError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Store(error) => error.into(),
            SessionError::Owned { .. } | SessionError::Lock { .. } => Self::new(Kind::Error, error),
        }
    }
}

impl From<Vec<ConfigError>> for CliError {
    fn from(errors: Vec<ConfigError>) -> Self {
        let usage = errors.iter().all(is_flag);
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Self::message(if usage { Kind::Usage } else { Kind::Error }, lines.join("\n"))
    }
}

fn is_flag(error: &ConfigError) -> bool {
    match error {
        ConfigError::UnknownKey { source_of, .. }
        | ConfigError::Section { source_of, .. }
        | ConfigError::BadValue { source_of, .. }
        | ConfigError::SetTwice { source_of, .. }
        | ConfigError::HalfAPrice { source_of, .. } => matches!(source_of, Source::Flag { .. }),
        ConfigError::Syntax { .. } | ConfigError::Unreadable { .. } | ConfigError::NoDataDir => false,
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::BrokenPipe { Kind::BrokenPipe } else { Kind::Error };
        Self::new(kind, error)
    }
}
