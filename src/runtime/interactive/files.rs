//! The workspace's files, for mentions: listed in the background, cached for a few seconds, bounded in number and time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ignore::{DirEntry, WalkBuilder};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::approval::WorkspaceKind;

/// Maximum number of paths listed.
const LISTED: usize = 20_000;
/// Maximum number of paths visited: a walk is depth-first, and the nearest paths are listed.
const LOOKED_AT: usize = 3 * LISTED;
/// The timeout of a walk; what was found by then is listed.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// The time for which a list is reused.
const FRESH: Duration = Duration::from_secs(5);
/// Levels visited below the home folder or `/`.
const SHALLOW: usize = 3;

/// Lists the files of one folder, one walk at a time.
pub(super) struct Files {
    found: Arc<Mutex<Option<FoundFiles>>>,
    /// Cancels the walk when this is dropped.
    cancel: CancellationToken,
    _ends: DropGuard,
}

struct FoundFiles {
    at: Instant,
    paths: Vec<String>,
}

impl Default for Files {
    fn default() -> Self {
        let cancel = CancellationToken::new();
        Self { found: Arc::default(), cancel: cancel.clone(), _ends: cancel.drop_guard() }
    }
}

impl Files {
    /// Returns the files below `root`, the same folder in each call, from the cache or after a walk, for which other
    /// callers wait.
    pub(super) fn below(
        &self,
        root: PathBuf,
        kind: WorkspaceKind,
    ) -> impl Future<Output = Vec<String>> + use<> {
        let (found, cancel) = (Arc::clone(&self.found), self.cancel.clone());
        async move {
            let mut found = found.lock().await;
            if let Some(fresh) = found.as_ref().filter(|found| found.at.elapsed() < FRESH) {
                return fresh.paths.clone();
            }
            let walk = tokio::task::spawn_blocking(move || walk(&root, kind, &cancel));
            let paths = walk.await.unwrap_or_default();
            *found = Some(FoundFiles { at: Instant::now(), paths: paths.clone() });
            paths
        }
    }
}

/// Returns paths relative to `root`, folders with a trailing `/`, the nearest first.
fn walk(root: &Path, kind: WorkspaceKind, cancel: &CancellationToken) -> Vec<String> {
    let started = Instant::now();
    let mut builder = WalkBuilder::new(root);
    builder.hidden(false).require_git(false);
    match kind {
        WorkspaceKind::Project => builder.filter_entry(|entry| entry.file_name() != ".git"),
        WorkspaceKind::HomeOrRoot => builder.max_depth(Some(SHALLOW)).filter_entry(is_plain),
    };
    let mut found = Vec::new();
    for entry in builder.build().filter_map(Result::ok) {
        if cancel.is_cancelled() || started.elapsed() > PATIENCE || found.len() >= LOOKED_AT {
            break;
        }
        let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
        // A name that is no text cannot be typed.
        let typed = |path: &&str| !path.is_empty() && !path.contains(char::is_control);
        let Some(path) = path.to_str().filter(typed) else { continue };
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        found.push(if is_folder { format!("{path}/") } else { path.to_owned() });
    }
    found.sort_by_cached_key(|path| (path.trim_end_matches('/').matches('/').count(), path.to_lowercase()));
    found.truncate(LISTED);
    found
}

/// Hidden folders of a home folder contain program data, which is not mentioned.
fn is_plain(entry: &DirEntry) -> bool {
    entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_files_come_first_and_ignored_ones_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            ".git/config",
            ".github/ci.yml",
            ".gitignore",
            "B.md",
            "a.rs",
            "src/x/y.rs",
            "target/big",
            "tmp/z",
        ] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(dir.path().join(".gitignore"), "target\n").unwrap();
        let cancel = CancellationToken::new();
        let project = walk(dir.path(), WorkspaceKind::Project, &cancel);
        let expected = [
            ".github/",
            ".gitignore",
            "a.rs",
            "B.md",
            "src/",
            "tmp/",
            ".github/ci.yml",
            "src/x/",
            "tmp/z",
            "src/x/y.rs",
        ];
        assert_eq!(project, expected);
        let home = walk(dir.path(), WorkspaceKind::HomeOrRoot, &cancel);
        assert_eq!(home, ["a.rs", "B.md", "src/", "tmp/", "src/x/", "tmp/z", "src/x/y.rs"]);
        cancel.cancel();
        assert!(walk(dir.path(), WorkspaceKind::Project, &cancel).is_empty());
    }
}
