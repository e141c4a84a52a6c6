//! Formats settings as text: the lines of `co config`. Pure; secrets are not shown.

use std::fmt::Write as _;

use super::check::Kind;
use super::inert::INERT;
use super::load::Loaded;
use super::settings::keys;
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
        let mut value = setting.value.shown();
        if setting.row.kind == Kind::Url {
            value = shown_address(&value);
        }
        let value = text::sanitize_line(&value).into_owned();
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
