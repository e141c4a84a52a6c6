//! Walks folders, and matches paths against patterns. Called by the listing and search tools.

use std::path::Path;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;

use super::place::ToolPath;
use super::work::misuse;
use crate::stdx::ignored;
use crate::stdx::paths::shallow;
use crate::tool::ToolError;

/// Returns a walker of `root` that leaves out `co`'s folders.
pub fn walker(place: &ToolPath, root: &Path) -> WalkBuilder {
    let place = place.clone();
    ignored::walker(root, move |entry| !place.withholds(entry.path()))
}

/// Parses a pattern for paths relative to a folder. A pattern without `/` matches names at any depth.
///
/// It is a set of one, because a set matches names and endings without a regular expression, which takes longer to make
/// than a small folder to walk.
pub fn glob(pattern: &str) -> Result<GlobSet, ToolError> {
    let glob = checked_glob(pattern)?;
    let set = GlobSetBuilder::new().add(glob).build();
    set.map_err(|error| misuse(format!("the pattern `{pattern}` is not a valid glob: {}", error.kind())))
}

/// Checks a pattern without making what [`glob`] returns.
pub fn checked_glob(pattern: &str) -> Result<Glob, ToolError> {
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
        .map_err(|error| misuse(format!("the pattern `{pattern}` is not a valid glob: {}", error.kind())))
}
