//! The entry at a path of a workspace: looked at by descriptors, through no link.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};

use crate::stdx::beneath::BaseFolder;
use crate::stdx::fs::fingerprint;
use crate::stdx::ignored::is_ignored;
use crate::stdx::secret_files::may_hold_secrets;

/// The largest file, in bytes, whose content is copied.
pub const MAX_COPIED: u64 = 32 * 1024 * 1024;

/// The most files and folders that are looked at for one call.
pub const MAX_FILES: usize = 5_000;

/// A workspace, and the folders of `co` that no undo may touch.
#[derive(Debug, Clone)]
pub struct UndoWorkspace {
    pub workspace: PathBuf,
    /// Absolute.
    pub own: Arc<[PathBuf]>,
}

/// The entry at a path. Stored: variants may only be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FileState {
    Absent,
    File {
        content: Content,
        mode: u32,
    },
    Link {
        target: Vec<u8>,
    },
    Folder {
        mode: u32,
    },
    /// A pipe, a socket or a device.
    Other,
}

/// Identifies the content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Of its bytes.
    Hash(String),
    /// The file itself: its number on the disk, its size and its time. For what is not copied; it survives a move.
    Inode(String),
}

impl FileState {
    /// The hash of a file whose bytes may be kept.
    pub fn hash(&self) -> Option<&str> {
        match self {
            Self::File { content: Content::Hash(hash), .. } => Some(hash),
            Self::File { .. } | Self::Absent | Self::Link { .. } | Self::Folder { .. } | Self::Other => None,
        }
    }

    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::File { content, .. } => Some(content),
            Self::Absent | Self::Link { .. } | Self::Folder { .. } | Self::Other => None,
        }
    }
}

impl UndoWorkspace {
    /// Opens the workspace.
    pub fn open(&self) -> io::Result<BaseFolder> {
        BaseFolder::open(&self.workspace)
    }

    /// Whether a path belongs to git or to `co`: it is neither recorded nor restored.
    pub fn is_protected(&self, relative: &Path) -> bool {
        let has = |name: &str| relative.components().any(|part| part.as_os_str().eq_ignore_ascii_case(name));
        has(".git") || has(".co") || self.own.iter().any(|own| self.workspace.join(relative).starts_with(own))
    }

    /// Whether the content of a file may be copied.
    pub fn may_copy(&self, relative: &Path, size: u64) -> bool {
        size <= MAX_COPIED
            && !may_hold_secrets(&relative.to_string_lossy())
            && !is_ignored(&self.workspace, &self.workspace.join(relative))
    }
}

/// Reads a regular file of at most [`MAX_COPIED`] bytes; `None` if it is larger by now.
pub fn bytes_of(base: &BaseFolder, relative: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = base.file(relative)?;
    let mut bytes = Vec::new();
    file.take(MAX_COPIED + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MAX_COPIED).then_some(bytes))
}

fn inode(stat: &Stat) -> String {
    format!("{}:{}:{}:{}.{}", stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
}

/// How the content of a file is identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identify {
    /// By its bytes, if they may be copied.
    IfCopied,
    ByInode,
    ByHash,
}

/// Returns the state of a path, and the bytes that were read for it.
pub fn look(
    base: &BaseFolder,
    place: &UndoWorkspace,
    relative: &Path,
    identify: Identify,
) -> io::Result<(FileState, Option<Vec<u8>>)> {
    let Some(stat) = base.look(relative)? else { return Ok((FileState::Absent, None)) };
    let mode = stat.st_mode & 0o7777;
    let state = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => FileState::Folder { mode },
        FileType::Symlink => FileState::Link { target: base.link_target(relative)? },
        FileType::RegularFile => {
            let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
            let reads = match identify {
                Identify::IfCopied => place.may_copy(relative, size),
                Identify::ByHash => size <= MAX_COPIED,
                Identify::ByInode => false,
            };
            let bytes = match reads.then(|| bytes_of(base, relative)) {
                None => None,
                // An unreadable file can be moved all the same.
                Some(Err(error)) if error.kind() == io::ErrorKind::PermissionDenied => None,
                Some(read) => read?,
            };
            let content = match &bytes {
                Some(bytes) => Content::Hash(fingerprint(bytes)),
                None => Content::Inode(inode(&stat)),
            };
            return Ok((FileState::File { content, mode }, bytes));
        }
        _ => FileState::Other,
    };
    Ok((state, None))
}

/// Whether a path is in this state now.
pub fn is_now(
    base: &BaseFolder,
    place: &UndoWorkspace,
    relative: &Path,
    state: &FileState,
) -> io::Result<bool> {
    let identify = match state.content() {
        Some(Content::Inode(_)) => Identify::ByInode,
        Some(Content::Hash(_)) => Identify::ByHash,
        None => Identify::IfCopied,
    };
    Ok(look(base, place, relative, identify)?.0 == *state)
}

/// Returns the paths at and below a path that exist, at most [`MAX_FILES`]; `None` if there are more, or if something
/// of git or `co` is among them. Parents come before what is in them.
pub fn below(base: &BaseFolder, place: &UndoWorkspace, root: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(path) = open.pop() {
        let Some(stat) = base.look(&path)? else { continue };
        if found.len() == MAX_FILES {
            return Ok(None);
        }
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            let inner: Vec<PathBuf> = base.names(&path)?.into_iter().map(|name| path.join(name)).collect();
            // Without them it would be torn apart.
            if inner.iter().any(|path| place.is_protected(path)) {
                return Ok(None);
            }
            open.extend(inner);
        }
        found.push(path);
    }
    Ok(Some(found))
}

/// The states of paths; those that are absent are left out.
pub type FileStates = BTreeMap<PathBuf, FileState>;
