//! Which files `.gitignore` and `.ignore` hide: a walk without them, and the question about one path.
//!
//! The user's global ignore file is not used, so that results are the same on every machine. Links are not followed. Blocking.

use std::ffi::OsStr;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder};

/// The files of rules in a folder; later ones count more.
const FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Returns a walker of `root`: sorted by name per folder, with dot files, without `.git` and what is not `wanted`.
pub fn walker(root: &Path, wanted: impl Fn(&DirEntry) -> bool + Send + Sync + 'static) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(false)
        .parents(true)
        .ignore(true)
        .git_ignore(true)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(OsStr::cmp)
        .filter_entry(move |entry| entry.depth() == 0 || (entry.file_name() != ".git" && wanted(entry)));
    builder
}

/// Whether a walk of `root` would leave out a path in it. Both are absolute; the path need not exist.
#[must_use]
pub fn is_ignored(root: &Path, path: &Path) -> bool {
    let Ok(relative) = path.strip_prefix(root) else { return false };
    // Those of the outermost folder first.
    let mut rules: Vec<Gitignore> =
        root.ancestors().collect::<Vec<_>>().into_iter().rev().flat_map(rules_in).collect();
    let mut at = root.to_path_buf();
    let mut parts = relative.components().peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let is_folder = parts.peek().is_some();
        let verdict =
            rules.iter().rev().map(|rules| rules.matched(&at, is_folder)).find(|one| !one.is_none());
        if verdict.is_some_and(|verdict| verdict.is_ignore()) {
            return true;
        }
        if is_folder {
            rules.extend(rules_in(&at));
        }
    }
    false
}

fn rules_in(folder: &Path) -> impl Iterator<Item = Gitignore> {
    FILES.into_iter().filter_map(move |name| {
        let file = folder.join(name);
        if !file.is_file() {
            return None;
        }
        let mut builder = GitignoreBuilder::new(folder);
        // Lines that are no patterns are left out.
        let _ = builder.add(file);
        builder.build().ok()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn one_path_is_judged_as_a_walk_does() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(".gitignore", "/target\n*.log\nbuild/\n!keep.log\n");
        put("sub/.ignore", "*.md\n!*.log\n");
        for path in [
            "a.rs",
            "x.log",
            "keep.log",
            "target/a",
            "sub/x.log",
            "sub/a.md",
            "a.md",
            "build/b",
            "src/build/c",
        ] {
            put(path, "");
        }
        put("src/build2/build", "");
        let walked: Vec<_> = walker(&root, |_| true)
            .build()
            .filter_map(|entry| entry.ok().map(DirEntry::into_path))
            .filter(|path| path.is_file())
            .collect();
        let mut all = vec![root.clone()];
        let mut files = Vec::new();
        while let Some(folder) = all.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { all.push(path) } else { files.push(path) }
            }
        }
        assert!(files.len() > walked.len() + 3);
        for file in files {
            assert_eq!(is_ignored(&root, &file), !walked.contains(&file), "{}", file.display());
        }
        assert!(is_ignored(&root, &root.join("target/new/file")));
        assert!(is_ignored(&root.join("src"), &root.join("src/y.log")), "rules of the folders above count");
    }
}
