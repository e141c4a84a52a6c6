//! The texts of a project that the model is given, and how texts are read: within bounds, and through no link that leads
//! out of their folder, because the author of a folder may have put anything there. Blocking.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::stdx::beneath::BaseFolder;
use crate::stdx::fs::is_missing;
use crate::stdx::paths::{PathError, confine};
use crate::stdx::text::binary_size;

/// Maximum size of a text, in bytes.
pub const LARGEST: u64 = 256 * 1024;

/// The files with a project's knowledge, in their order; the second name is that of seed 004.
pub const PROJECT_KNOWLEDGE: [&str; 2] = [".co/knowledge/context.md", ".co-cli/knowledge/context.md"];

/// The files with instructions, in a project's folder and in the folders below it, in their order.
pub const INSTRUCTIONS: [&str; 4] =
    [".co/instructions.md", ".co-cli/instructions.md", "AGENTS.md", "CLAUDE.md"];

/// The folders of a project's commands.
pub const PROJECT_COMMANDS: [&str; 2] = [".co/commands", ".claude/commands"];

/// Most files of commands below one folder.
const MOST_FILES: usize = 200;

/// How deep folders of commands are read.
const DEPTH: usize = 4;

/// Most names read in all folders below one folder.
const MOST_NAMES: usize = 20_000;

/// Reads a file's text; `None` if there is no file. Fails if it is not a regular file, is too large, or is
/// not UTF-8.
pub fn read_bounded(path: &Path) -> io::Result<Option<String>> {
    // Without this, opening a pipe would wait for a writer.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    text_of(File::options().read(true).custom_flags(flags).open(path))
}

/// Reads the text of a file of a folder as [`read_bounded`] does, and fails where a link leads out of the folder.
pub fn read_inside(folder: &Path, name: &str) -> io::Result<Option<String>> {
    let real = match confine(folder, name) {
        Ok(real) => real,
        Err(PathError::Outside { .. }) => {
            return Err(io::Error::other("it is a link that leads out of the folder"));
        }
        Err(PathError::Root { .. } | PathError::ThroughFile { .. }) => return Ok(None),
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    let root = folder.canonicalize()?;
    let Ok(relative) = real.strip_prefix(&root) else { return Ok(None) };
    text_of(BaseFolder::open(&root).and_then(|root| root.file(relative)))
}

fn text_of(file: io::Result<File>) -> io::Result<Option<String>> {
    let file = match file {
        Ok(file) => file,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {}", binary_size(LARGEST))));
    }
    let text = String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text in UTF-8"))?;
    // Some editors put a mark before the text.
    Ok(Some(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned)))
}

/// Returns the Markdown files below a folder, as sorted relative paths, and a problem if there are too many. No link to a
/// folder is followed, so that no loop is.
pub fn markdown_below(root: &Path) -> (Vec<String>, Option<String>) {
    let (mut found, mut names, mut is_cut) = (Vec::new(), 0, false);
    let mut folders = vec![(String::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = fs::read_dir(root.join(&folder)) else { continue };
        for entry in entries.flatten() {
            names += 1;
            if names > MOST_NAMES {
                is_cut = true;
                break;
            }
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if kind.is_dir() && depth < DEPTH {
                folders.push((path, depth + 1));
            } else if !kind.is_dir() && path.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    is_cut |= found.len() > MOST_FILES;
    found.truncate(MOST_FILES);
    let problem = is_cut.then(|| format!("more than {MOST_FILES} files; the others are left out"));
    (found, problem)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn texts_are_read_within_bounds_and_inside_of_their_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("w"), dir.path().join("outside.md"));
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(&outside, "secret").unwrap();
        fs::write(root.join("AGENTS.md"), "\u{feff}hello").unwrap();
        fs::write(root.join("latin.md"), b"caf\xe9").unwrap();
        fs::write(root.join("huge.md"), "x".repeat(10 << 20)).unwrap();
        symlink("AGENTS.md", root.join("CLAUDE.md")).unwrap();
        symlink(&outside, root.join("out.md")).unwrap();
        symlink("loop.md", root.join("loop.md")).unwrap();
        symlink("nowhere.md", root.join("dangling.md")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(root.join("pipe.md")).status().unwrap().success());
        for (name, expected) in [
            ("AGENTS.md", Ok(Some("hello"))),
            ("CLAUDE.md", Ok(Some("hello"))),
            ("missing.md", Ok(None)),
            ("AGENTS.md/x.md", Ok(None)),
            ("dangling.md", Ok(None)),
            ("latin.md", Err("it is not text in UTF-8")),
            ("huge.md", Err("it is larger than 256 KiB")),
            ("out.md", Err("it is a link that leads out of the folder")),
            ("pipe.md", Err("it is not a regular file")),
            ("sub", Err("it is not a regular file")),
            ("loop.md", Err("")),
        ] {
            let got = read_inside(&root, name).map_err(|error| error.to_string());
            match (&got, expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got.as_deref(), expected, "{name}"),
                (Err(got), Err(expected)) => assert!(got.starts_with(expected), "{name}: {got}"),
                _ => panic!("{name}: {got:?}"),
            }
        }
        assert_eq!(read_bounded(&root.join("out.md")).unwrap().as_deref(), Some("secret"));
    }

    #[test]
    fn many_files_and_loops_of_links_end() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("..", root.join("a/up")).unwrap();
        symlink(".", root.join("self")).unwrap();
        for name in ["b.md", "a/c.md", "a/b/d.md", "a/x.txt"] {
            fs::write(root.join(name), "x").unwrap();
        }
        assert_eq!(markdown_below(root), (vec!["a/b/d.md".into(), "a/c.md".into(), "b.md".into()], None));
        for number in 0..10_000 {
            fs::write(root.join(format!("a/{number:05}.md")), "x").unwrap();
        }
        let (found, problem) = markdown_below(root);
        assert_eq!((found.len(), found[0].as_str()), (MOST_FILES, "a/00000.md"));
        assert_eq!(problem.as_deref(), Some("more than 200 files; the others are left out"));
    }
}
