//! Formats settings as text and as JSON, for `co config`. Pure; secrets are not shown.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::check::Kind;
use super::inert::INERT;
use super::load::{LoadedSettings, ValueWithSource};
use super::problem::Source;
use super::settings::{SettingRow, keys};
use super::value::Value;
use crate::stdx::secrecy::shown_address;
use crate::stdx::text;

/// Width of the value column; wider values move only their own source to the right.
const VALUE_COLUMN: usize = 36;

/// Returns the lines of `co config`: every setting with its value and source, then the settings without
/// effect yet. Lines are sanitized for a terminal and not wrapped.
#[must_use]
pub fn describe(loaded: &LoadedSettings) -> Vec<String> {
    let mut lines = Vec::new();
    let width = keys().map(str::len).max().unwrap_or_default();
    for setting in &loaded.values {
        let value = value_line(setting);
        let source = &setting.source;
        let gap = " ".repeat(VALUE_COLUMN.saturating_sub(text::width(&value)));
        lines.push(format!("{:width$}  {value}{gap}  {source}", setting.row.key));
    }
    lines.push(String::new());
    lines.push("Reserved, without effect yet:".to_owned());
    for inert in INERT {
        let why = inert.no_effect().map(|why| why.to_string()).unwrap_or_default();
        let mut line = format!("{:width$}  {why}", inert.key);
        for (_, source) in loaded.without_effect.iter().filter(|(set, _)| set.key == inert.key) {
            write!(line, " (set: {source})").expect("writing to a string cannot fail");
        }
        lines.push(line);
    }
    lines
}

/// Returns the value as one sanitized line, without secrets.
fn value_line(setting: &ValueWithSource) -> String {
    let mut value = setting.value.display();
    if setting.row.kind == Kind::Url {
        value = shown_address(&value);
    }
    text::sanitize_line(&value).into_owned()
}

/// Returns the settings in the form of `co config --json`: fields may only be added. A value is `null` if it is unset;
/// secrets, tables and sections are texts, as `co config` shows them.
#[must_use]
pub fn as_json(loaded: &LoadedSettings) -> Json {
    let one = |one: &ValueWithSource| json!({"key": one.row.key, "value": value(one), "source": one.source});
    let settings: Vec<Json> = loaded.values.iter().map(one).collect();
    let inert = |(row, source): &(&SettingRow, Source)| {
        let why = row.no_effect().map(|why| why.to_string());
        json!({"key": row.key, "why": why, "source": source})
    };
    let without_effect: Vec<Json> = loaded.without_effect.iter().map(inert).collect();
    json!({"settings": settings, "without_effect": without_effect})
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
            json!(value_line(setting))
        }
    }
}
