//! Drafts the rule that would allow a call and similar ones: the narrowest useful rule.
//!
//! Pure. The user sees and edits the draft before it takes effect. Called at a card, and by `co rules
//! suggest`, which groups calls with the same draft.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::pattern::escape;
use super::predicate::{COMMANDS, PATHS};
use crate::approval::words::{CommandWords, Extent, command_words};
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
            Some(example) => writeln!(f, "match = [{}]", quoted(example)),
            None => Ok(()),
        }
    }
}

/// Drafts the rule for this call. `folder` is its session's folder.
#[must_use]
pub fn draft(tool: &ToolName, args: &Value, access: &Access, folder: &Path) -> Draft {
    let mut lines = Vec::new();
    let place = DraftPlace { folder, access };
    place.object("args", args, &mut lines);
    let rule = format!(
        "[[rule]]\neffect = \"allow\"\ntool = {}\n{}",
        quoted(&escape(tool.as_str())),
        lines.concat()
    );
    let example = args.to_string();
    Draft { rule, example: (example.chars().count() <= LONGEST_EXAMPLE).then_some(example) }
}

struct DraftPlace<'a> {
    folder: &'a Path,
    access: &'a Access,
}

impl DraftPlace<'_> {
    fn object(&self, prefix: &str, args: &Value, lines: &mut Vec<String>) {
        let Value::Object(fields) = args else { return };
        let about_files =
            prefix == "args" && fields.iter().any(|(name, value)| self.path_of(name, value).is_some());
        for (name, value) in fields {
            let key = format!("{prefix}.{}", key(name));
            if name.contains('.') || name.is_empty() {
                lines.push(format!("# {} is not tested\n", quoted(name)));
            } else if let Some(path) = self.path_of(name, value) {
                lines.push(format!("{key} = {}\n", self.near(&path, value)));
            } else if let (true, Value::String(script)) = (COMMANDS.contains(&name.as_str()), value) {
                lines.push(format!("{key} = {}\n", command(script)));
            } else if !about_files {
                self.other(name, &key, value, lines);
            }
        }
    }

    fn other(&self, name: &str, key: &str, value: &Value, lines: &mut Vec<String>) {
        match value {
            Value::Object(fields) if !fields.is_empty() => self.object(key, value, lines),
            Value::Null | Value::Object(_) => lines.push(format!("{key} = {{ empty = true }}\n")),
            Value::Array(elements) if elements.is_empty() => {
                lines.push(format!("{key} = {{ empty = true }}\n"));
            }
            Value::Array(elements) => {
                let scalars: Option<Vec<&Value>> =
                    elements.iter().map(|one| is_scalar(one).then_some(one)).collect();
                match scalars {
                    Some(scalars) => lines.push(format!("{key} = {}\n", several(&scalars))),
                    None => lines.push(format!("# {key} is not tested\n")),
                }
            }
            Value::String(text) if text.is_empty() => lines.push(format!("{key} = {{ empty = true }}\n")),
            Value::String(text) => {
                let words =
                    WORDS.contains(&name) || text.chars().count() > LONGEST_CHOICE || text.contains('\n');
                if let Some(host) = host(text) {
                    lines.push(format!("{key} = {{ host = {} }}\n", quoted(&escape(&host))));
                } else if !words {
                    lines.push(format!("{key} = {}\n", quoted(text)));
                }
            }
            Value::Bool(_) | Value::Number(_) => lines.push(format!("{key} = {value}\n")),
        }
    }

    /// The absolute path that an argument contains, if it is a path.
    fn path_of(&self, name: &str, value: &Value) -> Option<PathBuf> {
        let text = value
            .as_str()
            .filter(|text| !text.is_empty() && !text.starts_with('~') && !text.contains('\n'))?;
        let path = normalize(&self.folder.join(text));
        let touched = match self.access {
            Access::Paths { reads, writes } => reads.contains(&path) || writes.contains(&path),
            Access::Anything | Access::Nothing => false,
        };
        (touched || PATHS.contains(&name)).then_some(path)
    }

    /// A test for files of the same type in the same folder; for a folder, for everything inside it.
    fn near(&self, path: &Path, value: &Value) -> String {
        let shown = |path: &Path| quoted(&display_relative(self.folder, path));
        let writes = match self.access {
            Access::Paths { writes, .. } => writes.iter().any(|write| write == path),
            Access::Anything | Access::Nothing => false,
        };
        let extension = path.extension().and_then(|extension| extension.to_str());
        match (extension, path.parent()) {
            (Some(extension), Some(parent)) => {
                format!(
                    "{{ inside = {}, glob = {} }}",
                    shown(parent),
                    quoted(&format!("*.{}", escape(extension)))
                )
            }
            (None, Some(_)) if writes => quoted(value.as_str().unwrap_or_default()),
            (_, _) => format!("{{ inside = {} }}", shown(path)),
        }
    }
}

/// A test for a command by its words if they say what it does, otherwise for its exact text.
fn command(script: &str) -> String {
    let named = command_words(script).filter(|all| {
        all.iter().all(|one| match one.extent {
            Extent::Prefix => true,
            Extent::Exact => false,
        })
    });
    let Some(mut named) = named else { return quoted(script) };
    let list = |one: &CommandWords| {
        let words: Vec<String> = one.words.iter().map(|word| quoted(&escape(word))).collect();
        format!("[{}]", words.join(", "))
    };
    named.dedup();
    match named.as_slice() {
        [one] => format!("{{ words = {} }}", list(one)),
        many => format!("{{ words = [{}] }}", many.iter().map(list).collect::<Vec<_>>().join(", ")),
    }
}

/// A test for several values: URLs of one host by their host, others by their values.
fn several(values: &[&Value]) -> String {
    let hosts: Option<Vec<String>> = values.iter().map(|value| host(value.as_str()?)).collect();
    if let Some(mut hosts) = hosts {
        hosts.dedup();
        if let [host] = hosts.as_slice() {
            return format!("{{ host = {} }}", quoted(&escape(host)));
        }
    }
    let values: Vec<String> =
        values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), quoted)).collect();
    format!("{{ one_of = [{}] }}", values.join(", "))
}

/// The host of a text that is clearly a URL or a mail address.
fn host(text: &str) -> Option<String> {
    (text.contains("://") || text.contains('@')).then(|| super::predicate::host(text)).flatten()
}

fn is_scalar(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

fn key(name: &str) -> String {
    toml_edit::Key::new(name).display_repr().into_owned()
}
