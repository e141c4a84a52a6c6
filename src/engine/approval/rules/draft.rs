//! Drafts the rule that would allow a call and similar ones: the narrowest useful rule.
//!
//! Pure. The user sees and edits the draft before it takes effect. Called at a card, and by `co rules
//! suggest`, which groups calls with the same draft. `width` offers narrower and wider ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::pattern::escape;
use super::predicate::{COMMANDS, PATHS};
use crate::approval::command_words::{CommandWords, Extent, command_words};
use crate::bash;
use crate::message::ToolName;
use crate::stdx::paths::{display_relative, normalize};
use crate::tool::Access;

/// Maximum characters of an example; longer arguments are left out.
const LONGEST_EXAMPLE: usize = 400;
/// Maximum characters of a text that may be a choice rather than free text.
const LONGEST_CHOICE: usize = 80;
/// Arguments that hold free text, which differs between similar calls.
const WORDS: &[&str] = &[
    "body",
    "comment",
    "content",
    "description",
    "html",
    "message",
    "note",
    "query",
    "subject",
    "text",
    "title",
];
/// A drafted rule, and the call it was made from as an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The rule without its example: the same for similar calls.
    pub rule: String,
    pub example: Option<String>,
}

impl std::fmt::Display for Draft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.rule)?;
        match &self.example {
            Some(example) => writeln!(f, "match = [{}]", toml_string(example)),
            None => Ok(()),
        }
    }
}

/// Drafts the rule for this call. `folder` is its session's folder.
#[must_use]
pub fn draft(tool: &ToolName, args: &Value, access: &Access, folder: &Path) -> Draft {
    DraftSource { folder, access, scope: DraftScope::Similar }.draft(tool, args)
}

/// How much a draft covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DraftScope {
    /// Calls like this one: a command with the same words, files of the same type in the same folder.
    Similar,
    /// This command, or these files.
    Call,
    /// A command with the same words, files in the same folder.
    Near,
    /// Commands that read with the same program, any file of the session's folder.
    Wide,
}

pub(super) struct DraftSource<'a> {
    pub folder: &'a Path,
    pub access: &'a Access,
    pub scope: DraftScope,
}

impl DraftSource<'_> {
    pub fn draft(&self, tool: &ToolName, args: &Value) -> Draft {
        let mut lines = Vec::new();
        self.object("args", args, &mut lines);
        let rule = format!(
            "[[rule]]\neffect = \"allow\"\ntool = {}\n{}",
            toml_string(&escape(tool.as_str())),
            lines.concat()
        );
        let example = args.to_string();
        Draft { rule, example: (example.chars().count() <= LONGEST_EXAMPLE).then_some(example) }
    }

    /// Returns the files and folders that the arguments name, as they are shown.
    pub fn paths(&self, args: &Value) -> Vec<PathBuf> {
        let fields = args.as_object().into_iter().flatten();
        fields.filter_map(|(name, value)| self.path_of(name, value)).collect()
    }

    fn object(&self, prefix: &str, args: &Value, lines: &mut Vec<String>) {
        let Value::Object(fields) = args else { return };
        let about_files =
            prefix == "args" && fields.iter().any(|(name, value)| self.path_of(name, value).is_some());
        for (name, value) in fields {
            let key = format!("{prefix}.{}", key(name));
            if name.contains('.') || name.is_empty() {
                lines.push(format!("# {} is not tested\n", toml_string(name)));
            } else if let Some(path) = self.path_of(name, value) {
                lines.push(format!("{key} = {}\n", self.near(&path, value)));
            } else if let (true, Value::String(script)) = (COMMANDS.contains(&name.as_str()), value) {
                lines.push(format!("{key} = {}\n", self.command(script)));
            } else if !about_files {
                self.other(name, &key, value, lines);
            }
        }
    }

    fn other(&self, name: &str, key: &str, value: &Value, lines: &mut Vec<String>) {
        let empty = || "{ empty = true }".to_owned();
        let test = match value {
            Value::Object(fields) if !fields.is_empty() => return self.object(key, value, lines),
            Value::Null | Value::Object(_) => empty(),
            Value::Array(elements) if elements.is_empty() => empty(),
            Value::Array(elements) if elements.iter().all(is_scalar) => several(elements),
            Value::Array(_) => return lines.push(format!("# {key} is not tested\n")),
            Value::String(text) if text.is_empty() => empty(),
            Value::String(text) => {
                let words =
                    WORDS.contains(&name) || text.chars().count() > LONGEST_CHOICE || text.contains('\n');
                match host(text) {
                    Some(host) => format!("{{ host = {} }}", toml_string(&escape(&host))),
                    None if words => return,
                    None => toml_string(text),
                }
            }
            Value::Bool(_) | Value::Number(_) => value.to_string(),
        };
        lines.push(format!("{key} = {test}\n"));
    }

    /// The absolute path that an argument contains, if it is a path.
    fn path_of(&self, name: &str, value: &Value) -> Option<PathBuf> {
        let text = value
            .as_str()
            .filter(|text| !text.is_empty() && !text.starts_with('~') && !text.contains('\n'))?;
        let path = normalize(&self.folder.join(text));
        let is_touched = self
            .access
            .paths()
            .is_some_and(|(reads, writes)| reads.contains(&path) || writes.contains(&path));
        (is_touched || PATHS.contains(&name)).then_some(path)
    }

    /// A test for a command by its words if they say what it does, otherwise for its exact text.
    fn command(&self, script: &str) -> String {
        let named = match self.scope {
            DraftScope::Call => None,
            DraftScope::Similar | DraftScope::Near => prefixes(script).map(|all| {
                all.into_iter().map(|one| one.words.iter().map(|word| escape(word)).collect()).collect()
            }),
            DraftScope::Wide => reading(script),
        };
        named.map_or_else(|| toml_string(script), |named| words_test(&named))
    }

    /// A test for files of the same type in the same folder; for a folder, for everything inside it.
    fn near(&self, path: &Path, value: &Value) -> String {
        let shown = |path: &Path| toml_string(&display_relative(self.folder, path));
        match (self.scope, path.parent()) {
            (DraftScope::Call, _) => return toml_string(value.as_str().unwrap_or_default()),
            (DraftScope::Near, Some(parent)) => return format!("{{ inside = {} }}", shown(parent)),
            (DraftScope::Wide, _) | (DraftScope::Near, None) => return "{ inside = \".\" }".to_owned(),
            (DraftScope::Similar, _) => {}
        }
        let writes = self.access.paths().is_some_and(|(_, writes)| writes.iter().any(|write| write == path));
        let extension = path.extension().and_then(|extension| extension.to_str());
        match (extension, path.parent()) {
            (Some(extension), Some(parent)) => {
                format!(
                    "{{ inside = {}, glob = {} }}",
                    shown(parent),
                    toml_string(&format!("*.{}", escape(extension)))
                )
            }
            (None, Some(_)) if writes => toml_string(value.as_str().unwrap_or_default()),
            (_, _) => format!("{{ inside = {} }}", shown(path)),
        }
    }
}

/// Returns the words that allow a command line, each once, if more words may follow all of them.
pub(super) fn prefixes(script: &str) -> Option<Vec<CommandWords>> {
    let mut named = command_words(script)?;
    named.dedup();
    named.iter().all(|one| one.extent == Extent::Prefix).then_some(named)
}

/// Returns the program of a command line of which every part only reads, with a subcommand.
pub(super) fn reader(script: &str) -> Option<String> {
    let named = prefixes(script)?;
    let program = named.first()?.words.first()?;
    let known = bash::reading_subcommands(program);
    let reads = |one: &CommandWords| {
        one.words
            .split_first()
            .is_some_and(|(first, rest)| first == program && known.contains(&&*rest.join(" ")))
    };
    named.iter().all(reads).then(|| program.clone())
}

/// Returns the words of all commands that only read, with the program of this one.
fn reading(script: &str) -> Option<Vec<Vec<String>>> {
    let program = reader(script)?;
    let mut by_first: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
    for name in bash::reading_subcommands(&program) {
        let (first, last) = name.rsplit_once(' ').map_or((None, name), |(first, last)| (Some(first), last));
        by_first.entry(first).or_default().push(last);
    }
    let list = |(first, last): (Option<&str>, Vec<&str>)| {
        let words = [Some(program.as_str()), first].into_iter().flatten().map(str::to_owned);
        words.chain([last.join("|")]).collect()
    };
    Some(by_first.into_iter().map(list).collect())
}

/// A test for commands that begin with one of these lists of words.
fn words_test(named: &[Vec<String>]) -> String {
    let list = |one: &Vec<String>| {
        let words: Vec<String> = one.iter().map(|word| toml_string(word)).collect();
        format!("[{}]", words.join(", "))
    };
    match named {
        [one] => format!("{{ words = {} }}", list(one)),
        many => format!("{{ words = [{}] }}", many.iter().map(list).collect::<Vec<_>>().join(", ")),
    }
}

/// A test for several values: URLs of one host by their host, others by their values.
fn several(values: &[Value]) -> String {
    let hosts: Option<Vec<String>> = values.iter().map(|value| host(value.as_str()?)).collect();
    if let Some(mut hosts) = hosts {
        hosts.dedup();
        if let [host] = hosts.as_slice() {
            return format!("{{ host = {} }}", toml_string(&escape(host)));
        }
    }
    let values: Vec<String> =
        values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), toml_string)).collect();
    format!("{{ one_of = [{}] }}", values.join(", "))
}

/// The host of a text that is clearly a URL or a mail address.
fn host(text: &str) -> Option<String> {
    (text.contains("://") || text.contains('@')).then(|| super::predicate::host(text)).flatten()
}

fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Number(_) | Value::String(_))
}

pub(super) fn toml_string(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

fn key(name: &str) -> String {
    toml_edit::Key::new(name).display_repr().into_owned()
}
