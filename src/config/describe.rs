//! Formats settings as text: the lines of `co config` and the README's table. Pure; secrets are not shown.

use std::fmt::Write as _;

use super::load::Loaded;
use super::settings::{Kind, ProjectTrust, SETTINGS, SettingRow, Status};
use super::typed::Key;
use super::value::{RecordEntry, TableEntry, Value};
use crate::stdx::secrecy::shown_address;
use crate::stdx::text;

/// Width of the value column; wider values move only their own source to the right.
const VALUE_COLUMN: usize = 36;

/// Returns the lines of `co config`: every setting with its value and source, then the settings without
/// effect yet. Lines are sanitized for a terminal and not wrapped.
#[must_use]
pub fn describe(loaded: &Loaded) -> Vec<String> {
    let mut lines = Vec::new();
    let keys = key_column();
    for setting in &loaded.values {
        let mut value = in_words(&setting.value);
        if setting.row.kind == Kind::Url {
            value = shown_address(&value);
        }
        let value = text::sanitize_line(&value).into_owned();
        let source = &setting.source;
        let gap = " ".repeat(VALUE_COLUMN.saturating_sub(text::width(&value)));
        lines.push(format!("{:keys$}  {value}{gap}  {source}", setting.row.key));
    }
    lines.push(String::new());
    lines.push("Known, but without effect yet:".to_owned());
    for row in SETTINGS {
        let Some(why) = why_without_effect(row) else { continue };
        let mut line = format!("{:keys$}  {why}", row.key);
        for (_, source) in loaded.without_effect.iter().filter(|(set, _)| set.key == row.key) {
            write!(line, " (set: {source})").expect("writing to a string cannot fail");
        }
        lines.push(line);
    }
    lines
}

/// Returns the Markdown tables of all settings for the README.
#[must_use]
pub fn reference_table() -> String {
    let mut out = String::from(
        "| Setting | Environment | Default | Project file | Meaning |\n| --- | --- | --- | --- | --- |\n",
    );
    for row in SETTINGS.iter().filter(|row| matches!(row.status, Status::Built(_))) {
        let default = if row.default.is_empty() { "unset".to_owned() } else { code(row.default) };
        let project = match row.project {
            ProjectTrust::Always => "yes",
            ProjectTrust::WhenTrusted => "when trusted",
            ProjectTrust::Never => "no",
        };
        let cells = [names(row), environment(row), default, project.to_owned(), row.doc.to_owned()];
        push_row(&mut out, &cells);
    }
    out.push_str("\nKnown, but without effect yet (setting one of them is answered with a warning):\n\n");
    out.push_str("| Setting | Environment | Meaning | Why |\n| --- | --- | --- | --- |\n");
    for row in SETTINGS {
        if let Some(why) = why_without_effect(row) {
            push_row(&mut out, &[names(row), environment(row), row.doc.to_owned(), why]);
        }
    }
    out
}

pub(super) fn in_words(value: &Value) -> String {
    match value {
        Value::Unset => "(unset)".to_owned(),
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Bool(bool) => bool.to_string(),
        Value::List(list) if list.is_empty() => "(none)".to_owned(),
        Value::List(list) => list.join(", "),
        Value::Path(path) => path.display().to_string(),
        Value::Paths(paths) if paths.is_empty() => "(none)".to_owned(),
        Value::Paths(paths) => {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        }
        Value::Table(entries) if entries.is_empty() => "(none)".to_owned(),
        Value::Table(entries) => {
            let entry = |entry: &TableEntry| format!("{} = {}", entry.name, entry.texts.join(", "));
            entries.iter().map(entry).collect::<Vec<_>>().join("; ")
        }
        Value::Records(entries) if entries.is_empty() => "(none)".to_owned(),
        Value::Records(entries) => {
            let entry =
                |entry: &RecordEntry| format!("{}.{} = {}", entry.name, entry.field, in_words(&entry.value));
            entries.iter().map(entry).collect::<Vec<_>>().join("; ")
        }
        Value::Secret(Key::Literal(_)) => "set (hidden)".to_owned(),
        Value::Secret(Key::Missing { variable }) => format!("${variable}, which is not set"),
        Value::Secret(Key::Command(_)) => "from a command (hidden)".to_owned(),
        Value::Providers(entries) if entries.is_empty() => "(none)".to_owned(),
        Value::Providers(entries) => super::providers::in_words(entries),
    }
}

fn why_without_effect(row: &SettingRow) -> Option<String> {
    match row.status {
        Status::Built(_) => None,
        Status::Later { with, .. } => Some(format!("comes with {with}")),
        Status::Replaced(instead) => Some(instead.to_owned()),
    }
}

fn key_column() -> usize {
    SETTINGS.iter().map(|row| row.key.len()).max().unwrap_or_default()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn names(row: &SettingRow) -> String {
    let names = row.names().chain(row.flag).map(code);
    names.collect::<Vec<_>>().join(", ")
}

fn environment(row: &SettingRow) -> String {
    row.env.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ")
}

fn push_row(out: &mut String, cells: &[String]) {
    for cell in cells {
        write!(out, "| {} ", cell.replace('|', "\\|")).expect("writing to a string cannot fail");
    }
    out.push_str("|\n");
}
