//! Walks folders in a fixed order, without the entries hidden by `.gitignore` and `.ignore`.
//!
//! The user's global ignore file is not used, so that results are the same on every machine. Links are not
//! followed: their targets are found in place, or lie outside. Called by the listing and search tools.

use std::ffi::OsStr;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;

use super::place::ToolPath;
use super::work::misuse;
use crate::stdx::paths::shallow;
use crate::tool::ToolError;

/// Returns a walker of `root`: sorted by name per folder, with dot files, without `.git` and `co`'s folders.
pub fn walker(place: &ToolPath, root: &Path) -> WalkBuilder {
    let place = place.clone();
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(false)
        .parents(true)
        .ignore(true)
        .git_ignore(true)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(OsStr::cmp)
        .filter_entry(move |entry| {
            entry.depth() == 0 || (entry.file_name() != ".git" && !place.withholds(entry.path()))
        });
    builder
}

/// Parses a pattern for paths relative to a folder. A pattern without `/` matches names at any depth.
pub fn glob(pattern: &str) -> Result<GlobMatcher, ToolError> {
    if Path::new(pattern).is_absolute() {
        return Err(misuse(format!("the pattern `{pattern}` must be relative; give the folder in `path`")));
    }
    shallow(pattern).map_err(|why| misuse(format!("the pattern cannot be used: {why}")))?;
    let relative = pattern.strip_prefix("./").unwrap_or(pattern);
    if relative.is_empty() {
        return Err(misuse("the pattern is empty; `*` matches every file, `*.rs` Rust files"));
    }
    let whole = if relative.contains('/') { relative.to_owned() } else { format!("**/{relative}") };
    GlobBuilder::new(&whole)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| misuse(format!("the pattern `{pattern}` is not a valid glob: {}", error.kind())))
}
