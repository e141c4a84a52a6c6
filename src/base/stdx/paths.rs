//! Comparison of paths by component, and confinement of paths to a folder despite links and `..`.
//!
//! [`confine`] is the only gate between a path written by a model and the file system: it examines links and
//! never opens, creates or changes anything. The file system may change between its answer and the use of the
//! path; callers check again before they act.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The maximum number of symbolic links in one path; the kernel uses the same number.
const MAX_LINKS: usize = 40;

/// Why a path is refused. The text says what to do instead.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error("the path is empty: give a file or folder inside {}", root.display())]
    Empty { root: PathBuf },
    #[error("`{given}` contains a NUL character, which no file name can")]
    Nul { given: String },
    #[error("`{given}`: `~` has no meaning here; give a path inside {}", root.display())]
    Tilde { given: String, root: PathBuf },
    #[error("`{given}` leads outside {}, to {}; give a path inside it", root.display(), leads_to.display())]
    Outside { given: String, root: PathBuf, leads_to: PathBuf },
    #[error("`{given}`: {} is a file, not a folder; check the path", file.display())]
    ThroughFile { given: String, file: PathBuf },
    #[error("`{given}` passes through too many symbolic links; give the path that they lead to")]
    TooManyLinks { given: String },
    #[error("`{given}` cannot be looked up at {}: {source}", at.display())]
    Lookup { given: String, at: PathBuf, source: io::Error },
    #[error("the folder {} cannot be used: {source}; restore it, or start again in another one", root.display())]
    Root { root: PathBuf, source: io::Error },
}

/// Removes `.` and resolves `..` by text alone, without accessing the file system. A relative path that
/// climbs above its start keeps its leading `..`; `..` at `/` is dropped.
#[must_use]
pub fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match out.components().next_back() {
                Some(Component::Normal(_)) => {
                    out.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                Some(Component::ParentDir | Component::CurDir) | None => out.push(".."),
            },
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => out.push(component),
        }
    }
    if out.as_os_str().is_empty() { PathBuf::from(".") } else { out }
}

/// Returns the absolute path that `given` (relative to `root`, or absolute) resolves to, if inside `root`.
///
/// Links are resolved in every part that exists, including the last one, and `..` is resolved after them, as
/// the kernel does; parts that do not exist yet are resolved by text. The result begins with the resolved
/// path of `root` and contains no link.
pub fn confine(root: &Path, given: &str) -> Result<PathBuf, PathError> {
    let real_root =
        root.canonicalize().map_err(|source| PathError::Root { root: root.to_path_buf(), source })?;
    let given_string = || given.to_owned();
    if given.is_empty() {
        return Err(PathError::Empty { root: real_root });
    }
    if given.contains('\0') {
        return Err(PathError::Nul { given: given_string() });
    }
    if given == "~" || given.starts_with("~/") {
        return Err(PathError::Tilde { given: given_string(), root: real_root });
    }
    let path = Path::new(given);
    let (start, rest) = match path.strip_prefix(&real_root) {
        Ok(rest) => (real_root.as_path(), rest),
        Err(_) if path.is_absolute() => (Path::new("/"), path),
        Err(_) => (real_root.as_path(), path),
    };
    let resolved = resolve(start, rest, given)?;
    if resolved.starts_with(&real_root) {
        Ok(resolved)
    } else {
        Err(PathError::Outside { given: given_string(), root: real_root, leads_to: resolved })
    }
}

/// Resolves the path `rest` part by part, from `start`, which contains no link.
fn resolve(start: &Path, rest: &Path, given: &str) -> Result<PathBuf, PathError> {
    let mut waiting: VecDeque<OsString> = parts(rest).collect();
    let mut resolved = start.to_path_buf();
    let mut links = 0;
    while let Some(part) = waiting.pop_front() {
        if part == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(&part);
        let metadata = match next.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                resolved = next;
                continue;
            }
            Err(source) => return Err(PathError::Lookup { given: given.to_owned(), at: next, source }),
        };
        if metadata.is_symlink() {
            links += 1;
            if links > MAX_LINKS {
                return Err(PathError::TooManyLinks { given: given.to_owned() });
            }
            let target = next.read_link().map_err(|source| PathError::Lookup {
                given: given.to_owned(),
                at: next.clone(),
                source,
            })?;
            if target.is_absolute() {
                resolved = PathBuf::from("/");
            }
            waiting = parts(&target).chain(waiting).collect();
        } else if metadata.is_dir() || waiting.is_empty() {
            resolved = next;
        } else {
            return Err(PathError::ThroughFile { given: given.to_owned(), file: next });
        }
    }
    Ok(resolved)
}

/// Returns the names and `..` of a path, in order.
fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

/// The maximum nesting of braces in a glob: the glob library recurses once per level.
const DEEPEST: usize = 8;

/// Checks that braces are not nested too deeply for the glob library. Errs with a text if they are.
pub fn shallow(text: &str) -> Result<(), String> {
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Err(format!("it has braces more than {DEEPEST} deep"));
        }
    }
    Ok(())
}

/// Returns `path` as a user in `root` would write it: relative if it lies inside (`.` for the root), else
/// unchanged. Bytes that are not UTF-8 are replaced; the result is not sanitized.
#[must_use]
pub fn display_relative(root: &Path, path: &Path) -> String {
    match path.strip_prefix(root) {
        Ok(inner) if inner.as_os_str().is_empty() => ".".to_owned(),
        Ok(inner) => inner.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn normalizing_is_lexical() {
        let cases = [
            ("a/./b//c", "a/b/c"),
            ("a/../b", "b"),
            ("../a", "../a"),
            ("a/../../b", "../b"),
            ("../../a/..", "../.."),
            ("/../a", "/a"),
            ("/a/b/../..", "/"),
            ("a/..", "."),
            (".", "."),
            ("", "."),
        ];
        for (path, expected) in cases {
            assert_eq!(normalize(Path::new(path)), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn display_is_relative_inside_only() {
        let cases = [("/w", "."), ("/w/a/b", "a/b"), ("/wx", "/wx"), ("/", "/")];
        for (path, expected) in cases {
            assert_eq!(display_relative(Path::new("/w"), Path::new(path)), expected);
        }
    }

    /// Creates a workspace with links of every kind, and files beside it that must stay out of reach.
    fn workspace() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for folder in ["ws/sub/deep", "ws-other", "outside"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        for file in ["ws/file", "outside/secret"] {
            fs::write(base.join(file), "x").unwrap();
        }
        for (link, target) in [
            ("ws/in", "sub/deep"),
            ("ws/out", "../outside"),
            ("ws/secret", "../outside/secret"),
            ("ws/dangling", "../outside/new"),
            ("ws/soon", "sub/later"),
            ("ws/loop", "loop"),
            ("ws/sub/up", "../../ws-other"),
        ] {
            symlink(target, base.join(link)).unwrap();
        }
        symlink(base.join("ws"), base.join("door")).unwrap();
        symlink(base.join("ws/file"), base.join("ws/absolute")).unwrap();
        (dir, base)
    }

    #[test]
    fn paths_inside_are_resolved() {
        let (_dir, base) = workspace();
        let absolute = base.join("ws/sub").to_str().unwrap().to_owned();
        let through_door = base.join("door/new").to_str().unwrap().to_owned();
        let cases = [
            (".", ""),
            ("file", "file"),
            ("./sub/../file", "file"),
            ("in/x.txt", "sub/deep/x.txt"),
            ("in/..", "sub"),
            ("new/folder/x", "new/folder/x"),
            ("new/../file", "file"),
            ("soon", "sub/later"),
            ("soon/x", "sub/later/x"),
            ("absolute", "file"),
            ("../ws/file", "file"),
            ("out/../ws/file", "file"),
            ("sub/~/x", "sub/~/x"),
            (&absolute, "sub"),
            (&through_door, "new"),
        ];
        for root in ["ws", "door"] {
            for (given, expected) in cases {
                let got = confine(&base.join(root), given).unwrap();
                assert_eq!(got, normalize(&base.join("ws").join(expected)), "{given}");
            }
        }
    }

    #[test]
    fn paths_outside_are_refused_with_advice() {
        let (_dir, base) = workspace();
        let beside = base.join("ws-other/x").to_str().unwrap().to_owned();
        let cases = [
            ("", "is empty"),
            ("a\0b", "NUL"),
            ("~/x", "`~` has no meaning"),
            ("..", "leads outside"),
            ("../ws-other", "leads outside"),
            ("/etc/passwd", "leads outside"),
            ("//etc//passwd", "leads outside"),
            ("/proc/1/environ", "leads outside"),
            ("/dev/stdin", "leads outside"),
            (&beside, "leads outside"),
            ("out", "leads outside"),
            ("out/secret", "leads outside"),
            ("secret", "/outside/secret; give"),
            ("dangling", "leads outside"),
            ("sub/up/x", "leads outside"),
            ("in/../../../outside", "leads outside"),
            ("new/../../outside", "leads outside"),
            ("loop", "too many symbolic links"),
            ("file/x", "is a file, not a folder"),
        ];
        for (given, expected) in cases {
            let error = confine(&base.join("ws"), given).unwrap_err().to_string();
            assert!(error.contains(expected), "{given}: {error}");
        }
        let gone = confine(&base.join("gone"), "x").unwrap_err().to_string();
        assert!(gone.contains("restore it"), "{gone}");
    }
}
