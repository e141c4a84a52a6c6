//! Formats settings as text and as JSON, for `co config`. Pure; secrets are not shown.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::check::Kind;
use super::inert::INERT;
use super::load::{Loaded, ValueWithSource};
use super::problem::Source;
use super::settings::keys;
use super::value::Value;
use crate::stdx::secrecy::shown_address;
use crate::stdx::text;

/// Width of the value column; wider values move only their own source to the right.
const VALUE_COLUMN: usize = 36;

/// Returns the lines of `co config`: every setting with its value and source, then the settings without
/// effect yet. Lines are sanitized for a terminal and not wrapped.
#[must_use]
pub fn describe(loaded: &Loaded) -> Vec<String> {
    let mut lines = Vec::new();
    let width = keys().map(str::len).max().unwrap_or_default();
    for setting in &loaded.values {
        let value = shown(setting);
        let source = &setting.source;
        let gap = " ".repeat(VALUE_COLUMN.saturating_sub(text::width(&value)));
        lines.push(format!("{:width$}  {value}{gap}  {source}", setting.row.key));
    }
    lines.push(String::new());
    lines.push("Known, but without effect yet:".to_owned());
    for inert in INERT {
        let mut line = format!("{:width$}  {}", inert.key(), inert.why);
        for (_, source) in loaded.without_effect.iter().filter(|(set, _)| set.key() == inert.key()) {
            write!(line, " (set: {source})").expect("writing to a string cannot fail");
        }
        lines.push(line);
    }
    lines
}

/// Returns the value as one sanitized line, without secrets.
fn shown(setting: &ValueWithSource) -> String {
    let mut value = setting.value.shown();
    if setting.row.kind == Kind::Url {
        value = shown_address(&value);
    }
    text::sanitize_line(&value).into_owned()
}

/// All settings in the form for programs: fields may only be added.
#[derive(Serialize)]
pub struct SettingsAsJson<'a> {
    settings: Vec<SettingAsJson<'a>>,
    /// Settings that are set, but have no effect yet.
    without_effect: Vec<InertAsJson<'a>>,
}

#[derive(Serialize)]
struct SettingAsJson<'a> {
    key: &'static str,
    /// `null` if it is unset. Secrets, tables and sections are texts, as `co config` shows them.
    value: Json,
    source: &'a Source,
}

#[derive(Serialize)]
struct InertAsJson<'a> {
    key: &'static str,
    why: String,
    source: &'a Source,
}

/// Returns the settings in the form of `co config --json`.
#[must_use]
pub fn as_json(loaded: &Loaded) -> SettingsAsJson<'_> {
    let settings = loaded.values.iter();
    let settings =
        settings.map(|one| SettingAsJson { key: one.row.key, value: value(one), source: &one.source });
    let inert = loaded.without_effect.iter();
    let inert =
        inert.map(|(inert, source)| InertAsJson { key: inert.key(), why: inert.why.to_string(), source });
    SettingsAsJson { settings: settings.collect(), without_effect: inert.collect() }
}

fn value(setting: &ValueWithSource) -> Json {
    match &setting.value {
        Value::Unset => Json::Null,
        Value::Integer(number) => json!(number),
        Value::Number(number) => json!(number),
        Value::Bool(bool) => json!(bool),
        Value::List(list) => json!(list),
        Value::Paths(paths) => json!(paths),
        Value::Text(_) | Value::Path(_) | Value::Secret(_) | Value::Table(_) | Value::Sections(_) => {
            json!(shown(setting))
        }
    }
}
