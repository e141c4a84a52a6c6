//! The places that a command line refers to on this machine: files through links, folders of `co`, workspace scripts.
//!
//! The text alone does not show the target of a link. Blocking; it reads names, links and scripts, and runs
//! nothing. Called when a command is planned.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::files;
use crate::bash::{self, Invocation};
use crate::stdx::paths::normalize;
use crate::stdx::secret_files::may_hold_secrets;
use crate::tool::{Resource, Version};

/// The largest script whose content an approval is bound to, in bytes.
const LARGEST_SCRIPT: u64 = 8 * 1024 * 1024;

/// The number of trailing path components to search for in a command's text.
const TAIL: usize = 2;

/// The maximum number of folders to track for the `cd` commands of a command line.
const MOST_FOLDERS: usize = 32;

/// Returns why a command with read-only words may still read something else; `None` if everything it
/// names is in the workspace and no secret.
pub fn leads_elsewhere(invocations: &[Invocation], workspace: &Path) -> Option<String> {
    let said = |text: &str| Some(format!("`{text}` leads outside the folder, or to secrets"));
    let mut folders = vec![workspace.to_owned()];
    for one in invocations {
        for read in &one.reads {
            let leads =
                |folder: &PathBuf| read.as_ref().is_none_or(|read| leads_out(&folder.join(read), workspace));
            if folders.iter().any(leads) {
                return said(read.as_deref().unwrap_or("what it reads"));
            }
        }
        for (name, written) in operands(one) {
            let leads = |folder: &PathBuf| match name {
                Some(name) => leads_out(&folder.join(name), workspace),
                None => matches_lead_out(folder, written, workspace),
            };
            if folders.iter().any(leads) {
                return said(written);
            }
        }
        if let Some(folder) = compared_folder(one, &folders) {
            return Some(format!("`diff` reads all files of `{folder}`; with `-q` it shows names only"));
        }
        follow(one, &mut folders);
        if folders.len() > MOST_FOLDERS {
            return Some("it goes to too many folders".to_owned());
        }
    }
    None
}

/// Returns the words of a command that may name files, with their spelling in the script: operands, and
/// values of flags.
fn operands(one: &Invocation) -> impl Iterator<Item = (Option<&str>, &str)> {
    let mut dashes = false;
    one.words.iter().zip(&one.written).skip(1).filter_map(move |(word, written)| {
        let written = written.as_str();
        let is_flag = word.as_deref().unwrap_or(written).starts_with('-');
        if dashes || !is_flag {
            return Some((word.as_deref(), written));
        }
        dashes = written == "--";
        // `--file=NAME`, `-fNAME`.
        let plain = word.as_deref().unwrap_or(written);
        let value = plain.split_once('=').map(|(_, value)| value).or_else(|| plain.get(2..));
        value.filter(|value| !value.is_empty()).map(|value| (Some(value), written))
    })
}

/// Returns a folder that `diff` would compare with another, file by file.
fn compared_folder<'a>(one: &'a Invocation, folders: &[PathBuf]) -> Option<&'a str> {
    let names_only = |word: &Option<String>| matches!(word.as_deref(), Some("-q" | "--brief"));
    let is_diff = one.words.first().is_some_and(|word| word.as_deref() == Some("diff"));
    if !is_diff || one.words.iter().any(names_only) {
        return None;
    }
    let is_folder = |name: &str| folders.iter().any(|folder| folder.join(name).is_dir());
    operands(one).filter_map(|(name, _)| name).find(|name| is_folder(name))
}

/// Adds the folders that a command line may be in after `cd`.
fn follow(one: &Invocation, folders: &mut Vec<PathBuf>) {
    if let [Some(program), Some(folder)] = one.words.as_slice()
        && program == "cd"
    {
        for inner in folders.iter().map(|known| normalize(&known.join(folder))).collect::<Vec<_>>() {
            if !folders.contains(&inner) {
                folders.push(inner);
            }
        }
    }
}

/// Whether an existing file is really outside of the workspace, or a secret.
fn leads_out(path: &Path, workspace: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    let inner = real.strip_prefix(workspace);
    inner.map_or(real != Path::new("/dev/null"), |inner| may_hold_secrets(&inner.to_string_lossy()))
}

/// The same for the files that a pattern may match, taken to be all of its folder.
fn matches_lead_out(folder: &Path, pattern: &str, workspace: &Path) -> bool {
    let (within, _) = pattern.rsplit_once('/').unwrap_or((".", pattern));
    if within.contains(['*', '?', '[', '$', '`', '"', '\'', '\\']) {
        return true;
    }
    let within = folder.join(within);
    let Ok(entries) = fs::read_dir(&within) else { return leads_out(&within, workspace) };
    let is_link = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    leads_out(&within, workspace)
        || entries.flatten().filter(is_link).any(|entry| leads_out(&entry.path(), workspace))
}

/// Whether a command line names folders of `co` itself: by a path, relative to a folder that it changes to,
/// or in a text.
pub fn names_own(script: &str, invocations: &[Invocation], workspace: &Path, own: &[PathBuf]) -> bool {
    let plain: String = script.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let named = |folder: &PathBuf| {
        let parts: Vec<_> = folder.iter().collect();
        let tail: PathBuf = parts.iter().skip(parts.len().saturating_sub(TAIL)).collect();
        [folder, &tail].into_iter().any(|path| contains_path(&plain, &path.to_string_lossy()))
    };
    if own.iter().any(named) {
        return true;
    }
    let mut folders = vec![workspace.to_owned()];
    let mut leaves_workspace = false;
    for one in invocations {
        let is_own = |word: &String| {
            let is_below = |folder: &PathBuf| {
                let real = real_path(&normalize(&folder.join(word)));
                own.iter().any(|own| real.starts_with(own))
            };
            // If the folder that a path is relative to is unknown, its first name decides.
            let first = word.split('/').find(|part| !part.is_empty() && *part != ".");
            let is_name =
                |own: &PathBuf| own.file_name().is_some_and(|name| Some(name) == first.map(OsStr::new));
            folders.iter().any(is_below) || (leaves_workspace && own.iter().any(is_name))
        };
        if one.words.iter().chain(&one.writes).chain(&one.reads).flatten().any(is_own) {
            return true;
        }
        let goes =
            matches!(one.words.first(), Some(Some(program)) if matches!(program.as_str(), "cd" | "pushd"));
        leaves_workspace |= goes
            && !matches!(one.words.as_slice(), [_, Some(folder)] if !folder.starts_with(['/', '-']) && !folder.contains(".."));
        if folders.len() <= MOST_FOLDERS {
            follow(one, &mut folders);
        }
    }
    false
}

/// Returns the real path, even if its last parts do not exist yet.
fn real_path(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (there.canonicalize(), path.strip_prefix(there)) {
            return real.join(rest);
        }
    }
    path.to_owned()
}

/// Whether a text contains a path, and not only a longer name that begins with it.
fn contains_path(text: &str, path: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    text.match_indices(path).any(|(at, _)| text.get(at + path.len()..).is_some_and(ends))
}

/// Returns the scripts of the workspace that a command would run, with their current versions: an approval
/// applies to these.
pub fn scripts(invocations: &[Invocation], workspace: &Path) -> Vec<(Resource, Version)> {
    let mut found: Vec<(Resource, Version)> = Vec::new();
    for one in invocations {
        let Some(Some(program)) = one.words.first() else { continue };
        let named: Vec<&str> = match program.as_str() {
            "." | "source" => operands(one).filter_map(|(name, _)| name).collect(),
            // Which word is the script depends on flags that take values.
            path if bash::is_interpreter(path.rsplit('/').next().unwrap_or(path)) => {
                let reads = one.reads.iter().flatten().map(String::as_str);
                operands(one).filter_map(|(name, _)| name).chain(reads).chain([path]).collect()
            }
            path if path.contains('/') => vec![path],
            _ => Vec::new(),
        };
        for script in named.into_iter().filter_map(|named| script(&workspace.join(named), workspace)) {
            if !found.contains(&script) {
                found.push(script);
            }
        }
    }
    found
}

fn script(path: &Path, workspace: &Path) -> Option<(Resource, Version)> {
    let real = path.canonicalize().ok().filter(|real| real.starts_with(workspace))?;
    let is_script = fs::metadata(&real).is_ok_and(|file| file.is_file() && file.len() <= LARGEST_SCRIPT);
    let bytes = is_script.then(|| fs::read(&real).ok())??;
    Some((files::resource(&real), files::version(&bytes)))
}
