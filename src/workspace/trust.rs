//! Trusted folders, whose settings, rules, hooks, texts and commands are in effect. The user's own settings list
//! the folders, and a record has the contents that the user was shown. An untrusted folder is reported once.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, TableLike, Value};

use super::hooks::{PROJECT_HOOKS, read_hooks};
use super::servers::{load_settings, servers_of};
use super::world::World;
use crate::accounts::login::WriteError;
use crate::approval::WorkspaceKind;
use crate::approval::rules::{RuleSet, RuleSource};
use crate::command::code;
use crate::config::{
    ConfigWarning, Contents, FolderTrust, INSTRUCTIONS, PROJECT_COMMANDS, PROJECT_FILES, PROJECT_KNOWLEDGE,
    PROJECT_MEMORIES, PROJECT_SERVERS, Settings, TrustRecord, changed_names, contents_of, edit_settings,
    is_readable, is_readable_text, read_bounded, user_file,
};
use crate::hook::file::HookScope;
use crate::stdx::fs::Fingerprinter;
use crate::stdx::secrecy::shown_address;
use crate::stdx::text::count;
use crate::store::StoreError;
use crate::tool::DiffKind;
use crate::tool::diff::diff;

/// The folder for a project's own files.
pub(super) const PROJECT: &str = ".co";

/// The project's settings and rules.
const PROJECT_SETTINGS: &str = PROJECT_FILES[0];
const PROJECT_RULES: &str = PROJECT_FILES[1];

/// The setting that contains the trusted folders.
const SETTING: &str = "trusted_folders";

/// The folders that were reported to the user, in the data folder.
pub(super) const REPORTED: &str = "told_folders.json";

/// Why trust in a folder was not changed.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("{} cannot be opened as a folder: {why}", path.display())]
    NoFolder { path: PathBuf, why: String },
    #[error(
        "{} contains everything else, and trusting it would trust all of that; choose a project's folder",
        path.display()
    )]
    TooMuch { path: PathBuf },
    #[error("other users can write to {}, and trusting it would trust whatever they put there", path.display())]
    Shared { path: PathBuf },
    #[error("{} changed while you reviewed it; review it again", path.display())]
    Changed { path: PathBuf },
    #[error("a file of {} cannot be shown ({why}); fix or remove it, then trust the folder", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("something went wrong inside co: {detail}")]
    Broken { detail: String },
}

/// The parts of a folder that are in effect only if it is trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GatedContents {
    /// Keys of settings.
    pub settings: Vec<String>,
    pub rules: usize,
    /// Files of memories.
    pub memories: usize,
    /// Each with its name, events and command.
    pub hooks: Vec<(String, String, String)>,
    /// Tool servers, each with its name and its command or address.
    pub servers: Vec<(String, String)>,
    /// Files with knowledge or instructions for the model.
    pub texts: Vec<String>,
    /// Files of commands.
    pub commands: usize,
    /// Files that cannot be read correctly.
    pub problems: Vec<String>,
    /// Variables that its settings use as keys or headers, and the hosts to which they would be sent.
    pub keys: Vec<String>,
    /// The differences from the trusted contents, as diff lines; everything if it was never trusted.
    pub changes: Vec<String>,
    /// Whether it was trusted before.
    pub is_known: bool,
    /// The texts of its files.
    pub contents: Contents,
}

impl GatedContents {
    /// Reads the files of a folder. Blocking.
    pub fn of(folder: &Path, world: &World) -> Self {
        let (contents, problems) = contents_of(folder);
        let mut found = Self { problems, ..Self::default() };
        let before = TrustRecord::of(&world.env).contents(folder);
        found.is_known = before.is_some();
        found.changes = changes(&before.unwrap_or_default(), &contents);
        found.keys = contents.get(PROJECT_SETTINGS).map(|text| wanted_keys(text)).unwrap_or_default();
        let is_memory = |name: &&String| PROJECT_MEMORIES.iter().any(|folder| name.starts_with(folder));
        found.memories = contents.keys().filter(is_memory).count();
        let is_text = |name: &&String| PROJECT_KNOWLEDGE.iter().chain(&INSTRUCTIONS).any(|text| text == name);
        found.texts = contents.keys().filter(is_text).cloned().collect();
        found.commands = contents.keys().filter(|name| is_command(name)).count();
        found.contents = contents;
        let there = World { workspace: folder.to_owned(), ..world.clone() };
        // Errors in the settings are reported when they are used.
        if let Ok(loaded) = load_settings(&there, vec![(SETTING.to_owned(), String::new())]) {
            found.settings = loaded.warnings.iter().filter_map(untrusted_key).collect();
        }
        found.rules(folder, world);
        match servers_of(folder) {
            Ok(servers) => found.servers = servers,
            Err(problem) => found.problems.push(problem),
        }
        match read_hooks(&folder.join(PROJECT_HOOKS), HookScope::Project) {
            Ok(hooks) => {
                found.hooks.extend(hooks.iter().map(|hook| {
                    let events: Vec<_> = hook.events.iter().map(|event| event.word()).collect();
                    (hook.name.clone(), events.join(", "), hook.command.to_string())
                }));
            }
            Err(problems) => found.problems.extend(problems.iter().map(ToString::to_string)),
        }
        found
    }

    fn rules(&mut self, folder: &Path, world: &World) {
        let path = folder.join(PROJECT_RULES);
        let Ok(Some(text)) = read_bounded(&path) else { return };
        match RuleSet::parse(&text, &RuleSource::Project { path, line: 1 }, world.home().as_deref()) {
            Ok(rules) => self.rules = rules.len(),
            Err(problems) => self.problems.extend(problems.iter().map(ToString::to_string)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.parts().is_empty()
    }

    /// Returns a short description in Markdown.
    pub fn description(&self) -> String {
        match self.parts().split_last() {
            None => "nothing that needs trust".to_owned(),
            Some((last, [])) => last.clone(),
            Some((last, before)) => format!("{} and {last}", before.join(", ")),
        }
    }

    /// Returns each kind of what there is, in Markdown.
    fn parts(&self) -> Vec<String> {
        let counted = |number: usize, one: &str| (number > 0).then(|| count(number, one));
        let parts = [
            name_list("settings", self.settings.iter()),
            counted(self.rules, "rule"),
            counted(self.memories, "memory"),
            name_list("hooks", self.hooks.iter().map(|(name, _, _)| name)),
            name_list("tool servers", self.servers.iter().map(|(name, _)| name)),
            name_list("texts for the model", self.texts.iter()),
            counted(self.commands, "command"),
            (!self.problems.is_empty()).then(|| "files that cannot be read".to_owned()),
        ];
        parts.into_iter().flatten().collect()
    }

    /// Returns a hash of the contents.
    pub fn fingerprint(&self) -> String {
        let mut all = Fingerprinter::default();
        for (name, text) in self.contents.iter().chain(self.servers.iter().map(|(name, place)| (name, place)))
        {
            for part in [name, text] {
                all.update(part.as_bytes());
                all.update(b"\0");
            }
        }
        all.finish()
    }
}

/// Says what things of one kind are called, if there are any.
fn name_list<'a>(kind: &str, names: impl Iterator<Item = &'a String>) -> Option<String> {
    let names: Vec<String> = names.map(|name| code(name)).collect();
    (!names.is_empty()).then(|| format!("{kind} ({})", names.join(", ")))
}

/// Whether a file of a project's contents is a command.
pub fn is_command(name: &str) -> bool {
    PROJECT_COMMANDS.iter().any(|folder| Path::new(name).starts_with(folder))
}

/// Whether a folder has texts for the model.
pub fn has_texts(folder: &Path) -> bool {
    PROJECT_KNOWLEDGE.iter().chain(&INSTRUCTIONS).any(|name| folder.join(name).is_file())
}

/// Whether a folder has files that are in effect only if it is trusted.
pub(super) fn has_belongings(folder: &Path) -> bool {
    folder.join(PROJECT_SERVERS).is_file()
        || has_texts(folder)
        || PROJECT_COMMANDS
            .iter()
            .chain(&PROJECT_MEMORIES)
            .chain(&[PROJECT])
            .any(|name| folder.join(name).is_dir())
}

/// Returns the differences between two contents, file by file.
fn changes(before: &Contents, now: &Contents) -> Vec<String> {
    let mut lines = Vec::new();
    for name in changed_names(before, now) {
        // An unreadable file is reported as a problem.
        let shown = |text: &&String| is_readable_text(text);
        let text = |contents: &Contents| contents.get(name).filter(shown).cloned().unwrap_or_default();
        let (before, now) = (text(before), text(now));
        if before == now {
            continue;
        }
        lines.push(format!("{name}:"));
        for line in diff(&before, &now) {
            match line.kind {
                DiffKind::Added => lines.push(format!("+ {}", line.text)),
                DiffKind::Removed => lines.push(format!("- {}", line.text)),
                DiffKind::Context | DiffKind::Hunk => {}
            }
        }
    }
    lines
}

/// Returns the variables that settings use as keys or headers, each with its host.
fn wanted_keys(text: &str) -> Vec<String> {
    let Ok(document) = text.parse::<DocumentMut>() else { return Vec::new() };
    let mut found = Vec::new();
    wanted_in(document.as_table(), "", document.as_table(), &mut found);
    found
}

/// Returns the address that a file sets for the service of a section, in either form.
fn address_of<'a>(document: &'a dyn TableLike, section: &str) -> Option<&'a str> {
    let service = section.strip_prefix("providers.").unwrap_or(section);
    let short = document.get(service).and_then(Item::as_table_like);
    let long = document.get("providers").and_then(Item::as_table_like);
    let long = long.and_then(|all| all.get(service)).and_then(Item::as_table_like);
    let named = [short, long].into_iter().flatten().find_map(|table| table.get("base_url"));
    named.or_else(|| document.get("base_url")).and_then(Item::as_str)
}

fn wanted_in(table: &dyn TableLike, prefix: &str, document: &dyn TableLike, found: &mut Vec<String>) {
    let url = address_of(document, prefix);
    let host = url.map_or_else(|| "the service of that name".to_owned(), shown_address);
    for (key, item) in table.iter() {
        let name = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        match (item.as_str(), item.as_table_like()) {
            (Some(value), _) if value.starts_with('$') => {
                found.push(format!("{name} takes {value}, sent to {host}"));
            }
            (_, Some(headers)) if key == "headers" => {
                let variables = headers.iter().filter_map(|(header, item)| Some((header, item.as_str()?)));
                let wanted = variables.filter(|(_, value)| value.starts_with('$'));
                found.extend(
                    wanted.map(|(header, value)| format!("{name}.{header} takes {value}, sent to {host}")),
                );
            }
            (_, Some(inner)) => wanted_in(inner, &name, document, found),
            (Some(_) | None, None) => {}
        }
    }
}

fn untrusted_key(warning: &ConfigWarning) -> Option<String> {
    if let ConfigWarning::NotTrusted { key, .. } = warning { Some(key.clone()) } else { None }
}

/// Returns the absolute path of the folder without links. Errs if trusting it would include other folders.
pub fn trustable(folder: &Path, world: &World) -> Result<PathBuf, TrustError> {
    let path = world.workspace.join(folder);
    let path = path.canonicalize().map_err(|error| TrustError::NoFolder { path, why: error.to_string() })?;
    if !path.is_dir() {
        return Err(TrustError::NoFolder { path, why: "it is a file".to_owned() });
    }
    let writable = path.metadata().is_ok_and(|folder| folder.mode() & 0o002 != 0);
    match world.kind_of(&path) {
        WorkspaceKind::Project if writable => Err(TrustError::Shared { path }),
        WorkspaceKind::Project => Ok(path),
        WorkspaceKind::HomeOrRoot => Err(TrustError::TooMuch { path }),
    }
}

/// Trusts a folder with the contents shown to the user, or not any more: changes the list in the user's settings file and
/// the recorded contents; returns the file. Blocking.
pub fn write_trust(world: &World, folder: &Path, shown: Option<Contents>) -> Result<PathBuf, TrustError> {
    if let Some(shown) = &shown {
        let (contents, problems) = contents_of(folder);
        if *shown != contents {
            return Err(TrustError::Changed { path: folder.to_owned() });
        }
        if !is_readable(shown) {
            return Err(TrustError::Unreadable { path: folder.to_owned(), why: problems.join("; ") });
        }
    }
    let file = write_list(world, folder, shown.is_some())?;
    let kept = TrustRecord::change(&world.env, folder, |_| shown);
    kept.map_err(|error| WriteError::Io { path: file.clone(), reason: error.to_string() })?;
    Ok(file)
}

fn write_list(world: &World, folder: &Path, is_trusted: bool) -> Result<PathBuf, WriteError> {
    let home = world.home();
    let is_it = |value: &Value| {
        let named = value.as_str().map(|text| match (text.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) | (None, _) => PathBuf::from(text),
        });
        named.is_some_and(|named| named == folder || named.canonicalize().is_ok_and(|named| named == folder))
    };
    edit_settings(user_file(&world.env).as_deref(), |document| {
        let list = document.entry(SETTING).or_insert_with(|| Item::Value(Value::Array(Array::new())));
        let list = list.as_array_mut()?;
        match is_trusted {
            true if list.iter().any(is_it) => {}
            true => list.push(folder.display().to_string()),
            false => list.retain(|value| !is_it(value)),
        }
        if list.is_empty() {
            document.remove(SETTING);
        }
        Some(())
    })
}

/// Whether these settings trust a folder with its current contents. Blocking, for a few small files.
pub fn trust_in(settings: &Settings, world: &World, folder: &Path) -> FolderTrust {
    match trusted_contents(&settings.trusted_folders, world, folder) {
        Some(_) => FolderTrust::Trusted,
        None => FolderTrust::Untrusted,
    }
}

/// The contents of a trusted folder, and what is wrong with other files there; `None` of any other folder.
pub type TrustedTexts = Option<(Contents, Vec<String>)>;

/// Returns what counts of a folder if this list trusts it with its current contents. Blocking.
pub fn trusted_contents(list: &[PathBuf], world: &World, folder: &Path) -> TrustedTexts {
    TrustRecord::of(&world.env).trusted_contents(list, folder)
}

/// Whether the folder's settings, read again, make it trusted.
pub fn is_in_effect(world: &World, folder: &Path, flags: Vec<(String, String)>) -> bool {
    let there = World { workspace: folder.to_owned(), ..world.clone() };
    let loaded = load_settings(&there, flags);
    loaded.is_ok_and(|loaded| trust_in(&loaded.settings, &there, folder) == FolderTrust::Trusted)
}
