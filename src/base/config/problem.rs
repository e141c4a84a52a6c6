//! Problems with settings, as data; the `Display` form is the message for the user.
//!
//! Names and values come from files and the environment. They are sanitized (keys and values when the problem
//! is created, paths by their `Display` form), so that messages may be written to a terminal. They contain no
//! secret.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::stdx::text;

/// The source of a value. Its JSON form is part of `co config --json`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Source {
    Default,
    /// The user's own file; lines count from 1.
    UserFile {
        path: PathBuf,
        line: usize,
    },
    /// The settings file of the folder in which `co` works.
    ProjectFile {
        path: PathBuf,
        line: usize,
    },
    Environment {
        name: String,
    },
    Flag {
        name: String,
    },
}

impl Source {
    /// Returns the same file at another line; other sources stay unchanged.
    pub(super) fn at_line(&self, line: usize) -> Self {
        match self {
            Self::UserFile { path, .. } => Self::UserFile { path: path.clone(), line },
            Self::ProjectFile { path, .. } => Self::ProjectFile { path: path.clone(), line },
            Self::Default | Self::Environment { .. } | Self::Flag { .. } => self.clone(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::UserFile { path, line } | Self::ProjectFile { path, line } => {
                write!(f, "{}:{line}", path_line(path))
            }
            Self::Environment { name } => write!(f, "environment {name}"),
            Self::Flag { name } => write!(f, "flag {name}"),
        }
    }
}

/// Why a value does not fit its setting. The texts are short, sanitized, and contain no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueProblem {
    pub got: String,
    pub expected: String,
    /// The remedy, if it is not clear from `expected`.
    pub advice: Option<String>,
}

impl ValueProblem {
    pub(super) fn new(got: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { got: got.into(), expected: expected.into(), advice: None }
    }

    pub(super) fn advised(self, advice: &str) -> Self {
        Self { advice: Some(advice.to_owned()), ..self }
    }

    /// Makes it an error of a key.
    pub(super) fn of(self, key: String, source_of: Source) -> ConfigError {
        ConfigError::BadValue { source_of, key, wrong: Box::new(self) }
    }
}

impl fmt::Display for ValueProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, but must be {}", self.got, self.expected)?;
        self.advice.iter().try_for_each(|advice| write!(f, "; {advice}"))
    }
}

/// Why the settings cannot be used. `co` does not start if there is one.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}:{line}:{column}: this is not valid TOML: {message}", path_line(path))]
    Syntax { path: PathBuf, line: usize, column: usize, message: String },
    #[error("{source_of}: `{key}` is not a setting{}; `co config` lists all settings", guess(*nearest))]
    UnknownKey { source_of: Source, key: String, nearest: Option<&'static str> },
    #[error("{source_of}: `{key}` is a section; write its settings as `{key}.{inner} = …`")]
    Section { source_of: Source, key: String, inner: &'static str },
    #[error("{source_of}: `{key}` is {wrong}")]
    BadValue { source_of: Source, key: String, wrong: Box<ValueProblem> },
    #[error("{source_of}: `{key}` is already set in line {first_line}, as `{first_key}`; keep one of them")]
    SetTwice { source_of: Source, key: String, first_key: String, first_line: usize },
    #[error(
        "{source_of}: {key} sets `{set}` but no `{missing}`; a price needs `input_price` and `output_price`"
    )]
    HalfAPrice { source_of: Source, key: String, set: String, missing: &'static str },
    #[error("{} cannot be read: {error}; fix it or move it away", path_line(path))]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("there is no data folder, because HOME is not set; set CO_DATA_DIR to an absolute path")]
    NoDataDir,
}

/// An ignored entry, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigWarning {
    #[error("{source_of}: `{key}` {}", why.warning())]
    NoEffect { source_of: Source, key: String, why: NoEffect },
    #[error(
        "{source_of}: `{key}` is ignored, because you do not trust this folder; trust it with `co trust {}`",
        path_line(folder)
    )]
    NotTrusted { source_of: Source, key: String, folder: PathBuf },
    #[error(
        "{source_of}: `{key}` is ignored, because a project's file may not set it; set it in {user_file}"
    )]
    NotForProjects { source_of: Source, key: String, user_file: String },
    #[error(
        "{source_of}: `{key}` is unchanged, because a project's file may not set it to `{value}`; set it in \
         {user_file}, or type it in a session"
    )]
    ValueNotForProjects { source_of: Source, key: String, value: String, user_file: String },
    #[error("{source_of}: `{key}` is {wrong}; it has no effect")]
    BadEntry { source_of: Source, key: String, wrong: Box<ValueProblem> },
    #[error(
        "{} changed since you trusted it ({files}): its settings, rules, hooks, texts and commands are ignored \
         until you review them; `co trust` shows what changed",
        path_line(folder)
    )]
    TrustSuspended { folder: PathBuf, files: String },
    #[error(
        "{} is in `trusted_folders`, but its contents were never confirmed; review it with `co trust`",
        path_line(folder)
    )]
    TrustUnconfirmed { folder: PathBuf },
    #[error("{}: {problem}; it is ignored", path_line(folder))]
    ProjectFileUnreadable { folder: PathBuf, problem: String },
    #[error("{why}; it is ignored, because it comes from a project's file")]
    ProjectError { why: String },
    #[error(
        "{source_of}: `{key}` is not used here, because the project's file sets another address; put both in your \
         own file if that is what you want"
    )]
    KeyWithheld { source_of: Source, key: String },
    #[error("environment {name} is not a setting; did you mean `{nearest}`?")]
    UnknownEnvironment { name: String, nearest: &'static str },
}

/// Why a known setting has no effect. The `Display` form is for tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoEffect {
    /// It comes with a feature that does not exist yet.
    #[error("comes with {0}")]
    ComesWith(&'static str),
    /// It will never be a setting; the text says what to do instead.
    #[error("{0}")]
    Replaced(&'static str),
}

impl NoEffect {
    fn warning(self) -> String {
        match self {
            Self::ComesWith(with) => format!("is reserved for {with} and has no effect yet"),
            Self::Replaced(instead) => format!("has no effect: {instead}"),
        }
    }
}

/// A path as one sanitized line.
pub(super) fn path_line(path: &Path) -> String {
    text::sanitize_line(&path.display().to_string()).into_owned()
}

fn guess(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}
