//! What a command line names on this machine: files through links, folders of `co` itself, scripts of the workspace.
//!
//! The text alone does not say where a link leads. Blocking; it reads names, links and scripts, and runs nothing. Called
//! when a command is planned.

use std::fs;
use std::path::{Path, PathBuf};

use super::risk::INTERPRETERS;
use crate::bash::Invocation;
use crate::stdx::fs::fingerprint;
use crate::stdx::paths::normalize;
use crate::stdx::secret_files::may_hold_secrets;
use crate::tool::{Resource, Version};

/// The largest script whose content a yes is bound to, in bytes.
const LARGEST_SCRIPT: u64 = 8 * 1024 * 1024;

/// The last parts of a path that are looked for in a command's text.
const TAIL: usize = 2;

/// Why a command that only reads by its words may read something else; `None` where all that it names is in the
/// workspace and no secret.
pub fn leads_elsewhere(invocations: &[Invocation], workspace: &Path) -> Option<String> {
    let mut folders = vec![workspace.to_owned()];
    for one in invocations {
        let words = one.words.iter().zip(&one.written).skip(1);
        for read in &one.reads {
            let leads =
                |folder: &PathBuf| read.as_ref().is_none_or(|read| leads_out(&folder.join(read), workspace));
            if folders.iter().any(leads) {
                let read = read.as_deref().unwrap_or("what it reads");
                return Some(format!("`{read}` leads outside of the folder, or to secrets"));
            }
        }
        for (word, written) in words.filter(|(_, written)| !written.starts_with('-')) {
            let leads = |folder: &PathBuf| match word {
                Some(word) => leads_out(&folder.join(word), workspace),
                None => matches_lead_out(folder, written, workspace),
            };
            if folders.iter().any(leads) {
                return Some(format!("`{written}` leads outside of the folder, or to secrets"));
            }
        }
        if let [Some(program), Some(folder)] = one.words.as_slice()
            && program == "cd"
        {
            let inner: Vec<PathBuf> = folders.iter().map(|known| known.join(folder)).collect();
            folders.extend(inner);
        }
    }
    None
}

/// Whether a file that is there is another than its name says: outside, or a secret.
fn leads_out(path: &Path, workspace: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    let inner = real.strip_prefix(workspace);
    inner.map_or(real != Path::new("/dev/null"), |inner| may_hold_secrets(&inner.to_string_lossy()))
}

/// The same of the names that a pattern may stand for: all of its folder.
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

/// Whether a command line names folders of `co` itself, however it spells them.
pub fn names_own(script: &str, invocations: &[Invocation], workspace: &Path, own: &[PathBuf]) -> bool {
    let plain: String = script.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let named = |folder: &PathBuf| {
        let parts: Vec<_> = folder.iter().collect();
        let tail: PathBuf = parts.iter().skip(parts.len().saturating_sub(TAIL)).collect();
        [folder, &tail].into_iter().any(|path| says(&plain, &path.to_string_lossy()))
    };
    let words = invocations.iter().flat_map(|one| one.words.iter().chain(&one.writes)).flatten();
    let is_own = |word: &String| {
        let path = normalize(&workspace.join(word));
        let real = path.canonicalize().unwrap_or(path);
        own.iter().any(|own| real.starts_with(own))
    };
    own.iter().any(named) || words.into_iter().any(is_own)
}

/// Whether a text holds a path, and not only a longer name that begins so.
fn says(text: &str, path: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    text.match_indices(path).any(|(at, _)| text.get(at + path.len()..).is_some_and(ends))
}

/// Scripts of the workspace that a command would run, and what is in them now: a yes is for these.
pub fn scripts(invocations: &[Invocation], workspace: &Path) -> Vec<(Resource, Version)> {
    let mut found: Vec<(Resource, Version)> = Vec::new();
    for one in invocations {
        let Some(Some(program)) = one.words.first() else { continue };
        let is_interpreter = INTERPRETERS.contains(&program.rsplit('/').next().unwrap_or(program));
        let operand = || one.words.iter().skip(1).flatten().find(|word| !word.starts_with('-'));
        let named = match program.as_str() {
            "." | "source" => operand(),
            _ if is_interpreter => operand(),
            path if path.contains('/') => Some(program),
            _ => None,
        };
        let script = named.and_then(|named| script(&workspace.join(named), workspace));
        found.extend(script.filter(|script| !found.contains(script)));
    }
    found
}

fn script(path: &Path, workspace: &Path) -> Option<(Resource, Version)> {
    let real = path.canonicalize().ok().filter(|real| real.starts_with(workspace))?;
    let is_script = fs::metadata(&real).is_ok_and(|file| file.is_file() && file.len() <= LARGEST_SCRIPT);
    let bytes = is_script.then(|| fs::read(&real).ok())??;
    Some((Resource(real.display().to_string()), Version(fingerprint(&bytes))))
}
