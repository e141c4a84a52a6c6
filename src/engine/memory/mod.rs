//! Memory: facts that are kept beyond a session at the user's request, as Markdown files, found by a full-text index.
//!
//! The files are the truth and may be edited by hand; the index follows from them. Memories are in the user's folder of
//! knowledge and in that of a project, whose count only while the project is trusted with its contents of now. What a memory
//! says is data: it never orders anything. Blocking. Called by the memory tools, the driver of turns, `/memory` and `co memory`.

mod change;
mod check;
mod decay;
mod entry;
mod find;
mod folder;
mod index;
mod recall;
mod request;
mod similar;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

pub use self::change::{DecayResult, MemoryChange, NewMemory, SaveOutcome, replacement};
pub use self::decay::DecayPlan;
pub use self::entry::{CONSOLIDATED, Memory, time_of};
pub use self::find::{MemoryListing, RecallHit, Review};
pub use self::folder::MemoryScope;
pub use self::index::FILE;
pub use self::request::MemoryRequest;
pub use self::text::{line, list};

use self::entry::EntryError;
use self::folder::Folder;
use self::index::Index;
use crate::config::MemorySettings;
use crate::message::Authorship;
use crate::stdx::clock::Clock;
use crate::store::sidecar::FileError;

/// Why something cannot be done with memories. The texts say what to do.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("{} cannot be used: {why}", path.display())]
    Io { path: PathBuf, why: std::io::Error },
    #[error("{}: {why}", path.display())]
    Index { path: PathBuf, why: FileError },
    #[error("{} was changed or deleted meanwhile, and is left as it is; look at it again", path.display())]
    Changed { path: PathBuf },
    #[error("there is no memory #{id}; `/memory list` and `co memory list` show them")]
    None { id: MemoryId },
    #[error("{given:?} is not the id of a memory, as `12` or, of a project, `p12`")]
    BadId { given: String },
    #[error("several files have the id {id}: {}; give one of them another id", names.join(", "))]
    Twice { id: MemoryId, names: Vec<String> },
    #[error("what was saved is not a memory: {problem}")]
    Broken { problem: EntryError },
    #[error("there is no home folder, so there is no place for memories; set HOME")]
    NoFolder,
    #[error(
        "this folder is not trusted, so it has no memories of its own; `co trust` shows what is in it, or keep it with your own"
    )]
    Untrusted,
    #[error("{why}")]
    Full { why: String },
    #[error("the text is empty")]
    Empty,
    #[error("the text has {bytes} bytes; a memory has at most {most}: keep the fact, not the document", most = check::MOST_TEXT)]
    TooLong { bytes: usize },
    #[error("it looks like a key or a password, and memories are plain text: leave it out")]
    Secret,
    #[error(
        "{tag:?} is not a tag: a word of letters, digits, `-` and `_`, at most 40 of them; at most 20 tags"
    )]
    BadTag { tag: String },
}

/// The id of a memory, as it is shown and typed: `12`, or `p12` of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryId {
    pub scope: MemoryScope,
    pub number: u64,
}

impl std::fmt::Display for MemoryId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.scope {
            MemoryScope::User => write!(f, "{}", self.number),
            MemoryScope::Project => write!(f, "p{}", self.number),
        }
    }
}

impl std::str::FromStr for MemoryId {
    type Err = MemoryError;

    fn from_str(text: &str) -> Result<Self, MemoryError> {
        let bare = text.trim().trim_start_matches('#');
        let (scope, number) = match bare.strip_prefix(['p', 'P']) {
            Some(number) => (MemoryScope::Project, number),
            None => (MemoryScope::User, bare),
        };
        match number.parse() {
            Ok(number) if number > 0 => Ok(Self { scope, number }),
            Ok(_) | Err(_) => Err(MemoryError::BadId { given: text.to_owned() }),
        }
    }
}

/// A memory and its file.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMemory {
    pub id: MemoryId,
    pub memory: Memory,
    pub path: PathBuf,
    /// The fingerprint of the file.
    pub version: String,
    /// When it was used last, and how often.
    pub used: Option<Timestamp>,
    pub uses: u32,
    folder: Folder,
    name: String,
}

impl StoredMemory {
    /// Returns the source of its text; a project's file counts as text of the project.
    #[must_use]
    pub fn source(&self) -> &'static str {
        match (self.id.scope, self.memory.authorship) {
            (MemoryScope::Project, Authorship::Said | Authorship::Inferred) => "of the project",
            (MemoryScope::User, authorship) | (MemoryScope::Project, authorship @ Authorship::External) => {
                authorship.word()
            }
        }
    }

    /// Returns when it was last written or used.
    #[must_use]
    pub fn last_touched(&self) -> Timestamp {
        self.used.unwrap_or(Timestamp::MIN).max(self.memory.last_write())
    }
}

/// Decides whether a project's memories count. Its methods are blocking.
pub trait ProjectTrust: Send + Sync {
    /// Whether a project is trusted with its contents of now.
    fn is_trusted(&self, project: &Path) -> bool;

    /// Notes that `co` itself wrote or deleted a file of a trusted project, as the user agreed to; the path is relative to the
    /// project.
    fn note_write(&self, project: &Path, file: &str, text: Option<&str>) -> std::io::Result<()>;
}

/// Where memories are, and the rules for them.
#[derive(Clone)]
pub struct MemoryOptions {
    /// The user's folder of knowledge; `None` without a home folder.
    pub knowledge: Option<PathBuf>,
    /// The folder of the index.
    pub data: PathBuf,
    pub settings: MemorySettings,
    pub clock: Arc<dyn Clock>,
    /// Without it, no project's memories count.
    pub projects: Option<Arc<dyn ProjectTrust>>,
}

/// The memories of this user. Clones share the index.
#[derive(Clone)]
pub struct Memories(Arc<MemoryState>);

struct MemoryState {
    options: MemoryOptions,
    index: Index,
}

impl std::fmt::Debug for Memories {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Memories").field(&self.0.options.knowledge).finish()
    }
}

impl Memories {
    /// Nothing is opened or created before it is needed.
    #[must_use]
    pub fn new(options: MemoryOptions) -> Self {
        let index = Index::new(&options.data);
        Self(Arc::new(MemoryState { options, index }))
    }

    /// Returns memories without a folder: nothing is found, and nothing can be stored.
    #[must_use]
    pub fn none(clock: Arc<dyn Clock>) -> Self {
        let (data, settings) = (PathBuf::new(), MemorySettings::default());
        Self::new(MemoryOptions { knowledge: None, data, settings, clock, projects: None })
    }

    #[must_use]
    pub fn settings(&self) -> &MemorySettings {
        &self.0.options.settings
    }

    fn now(&self) -> Timestamp {
        self.0.options.clock.now()
    }

    fn is_trusted(&self, project: &Path) -> bool {
        self.0.options.projects.as_ref().is_some_and(|projects| projects.is_trusted(project))
    }

    fn user_folder(&self) -> Option<Folder> {
        self.0.options.knowledge.as_deref().map(Folder::of_user)
    }

    /// Returns the folders that count in a project.
    fn folders(&self, project: &Path) -> Vec<Folder> {
        let mut folders: Vec<Folder> =
            self.user_folder().into_iter().filter(|folder| folder.path().is_dir()).collect();
        let own: Vec<Folder> =
            Folder::of_project(project).into_iter().filter(|folder| folder.path().is_dir()).collect();
        if !own.is_empty() && self.is_trusted(project) {
            folders.extend(own);
        }
        folders
    }
}

#[cfg(test)]
mod tests;
