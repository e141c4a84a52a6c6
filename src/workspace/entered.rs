//! Instructions in the folders below a trusted one: those of the same work tree, no ignored or vendored ones, and none of
//! another repository. Their text counts as that of a file, which the user did not review.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::agent::driver::EnteredFolders;
use crate::config::{INSTRUCTIONS, read_inside};
use crate::stdx::ignored::is_ignored;

/// Folders with the work of others.
const VENDORED: [&str; 10] = [
    ".git",
    "bower_components",
    "node_modules",
    "Pods",
    "site-packages",
    "target",
    "third-party",
    "third_party",
    "vendor",
    "venv",
];

/// The most folders that are looked into, the outermost first.
const MOST_FOLDERS: usize = 200;

/// The longest text that is taken, in bytes.
const LONGEST: usize = 20 * 1024;

/// The instructions below a folder that is trusted.
pub struct TrustedFolders;

impl EnteredFolders for TrustedFolders {
    fn instructions(&self, folder: &Path, files: &[PathBuf]) -> Vec<(String, String)> {
        let above = |file: &PathBuf| -> Vec<PathBuf> {
            let folders =
                file.ancestors().skip(1).take_while(|one| *one != folder && one.starts_with(folder));
            folders.map(Path::to_owned).collect()
        };
        let entered: BTreeSet<PathBuf> = files.iter().flat_map(above).collect();
        let mut foreign: Vec<&PathBuf> = Vec::new();
        let mut found = Vec::new();
        // A folder comes before those in it.
        for one in entered.iter().take(MOST_FOLDERS) {
            if foreign.iter().any(|other| one.starts_with(other)) {
                continue;
            }
            if is_foreign(folder, one) {
                foreign.push(one);
            } else {
                found.extend(INSTRUCTIONS.iter().filter_map(|name| read(folder, one, name)));
            }
        }
        found
    }
}

/// Whether a folder belongs to another project or is left out of this one.
fn is_foreign(root: &Path, folder: &Path) -> bool {
    let is_vendored = folder.file_name().is_some_and(|name| VENDORED.iter().any(|other| name == *other));
    is_vendored || folder.join(".git").symlink_metadata().is_ok() || is_ignored(root, &folder.join("x"))
}

/// Returns the path of an instruction file in the root, and its text; a text that cannot be used says why.
fn read(root: &Path, folder: &Path, name: &str) -> Option<(String, String)> {
    let path = folder.strip_prefix(root).ok()?.join(name).into_os_string().into_string().ok()?;
    if is_ignored(root, &root.join(&path)) {
        return None;
    }
    let text = match read_inside(root, &path) {
        Ok(text) => text?,
        Err(error) => return Some((path, format!("(This file is not used: {error}.)"))),
    };
    let text = text.trim();
    let kept = text.split_at(text.floor_char_boundary(LONGEST)).0;
    let cut = if kept.len() < text.len() { "\n[cut: the rest is in the file]" } else { "" };
    (!text.is_empty()).then(|| (path, format!("{kept}{cut}")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folders_of_the_same_work_tree_bring_instructions() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("w");
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("AGENTS.md", "root");
        put(".gitignore", "gen/\nhidden.d/AGENTS.md\n");
        put("a/AGENTS.md", "a\n");
        put("a/b/CLAUDE.md", "b");
        put("a/b/.co/instructions.md", "co of b");
        put("gen/AGENTS.md", "ignored");
        put("hidden.d/AGENTS.md", "ignored file");
        put("node_modules/x/AGENTS.md", "vendored");
        put("sub/.git", "gitdir: elsewhere");
        put("sub/deep/AGENTS.md", "another repository");
        put("long/AGENTS.md", &"é".repeat(LONGEST));
        fs::write(dir.path().join("outside.md"), "outside").unwrap();
        fs::create_dir_all(root.join("out")).unwrap();
        symlink(dir.path().join("outside.md"), root.join("out/AGENTS.md")).unwrap();
        let long = format!("{}\n[cut: the rest is in the file]", "é".repeat(LONGEST / 2));
        for (file, expected) in [
            ("x.rs", &[][..]),
            ("a/x.rs", &[("a/AGENTS.md", "a")]),
            (
                "a/b/c/x.rs",
                &[("a/AGENTS.md", "a"), ("a/b/.co/instructions.md", "co of b"), ("a/b/CLAUDE.md", "b")],
            ),
            ("gen/x.rs", &[]),
            ("hidden.d/x.rs", &[]),
            ("node_modules/x/y.js", &[]),
            ("sub/deep/x.rs", &[]),
            ("long/x.rs", &[("long/AGENTS.md", long.as_str())]),
            (
                "out/x.rs",
                &[("out/AGENTS.md", "(This file is not used: it is a link that leads out of the folder.)")],
            ),
        ] {
            let found = TrustedFolders.instructions(&root, &[root.join(file)]);
            let found: Vec<(&str, &str)> =
                found.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            assert_eq!(found, expected, "{file}");
        }
        assert_eq!(TrustedFolders.instructions(&root, &[dir.path().join("w2/x.rs")]), Vec::new());
    }
}
