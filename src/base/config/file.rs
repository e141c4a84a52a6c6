//! Parses one settings file: from its text to the rows that it sets, each with its line.
//!
//! Pure. It decides neither which layer wins nor whether a value is valid; it reports unknown keys, plain
//! values where a section belongs, and rows that are set twice.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use toml_edit::{Document, Item, TableLike};

use super::check::{self, Raw, RawEntry};
use super::problem::{ConfigError, Source};
use super::settings::{self, SettingRow};
use crate::stdx::text;

/// A settings file that exists.
pub struct SourceFile {
    pub path: PathBuf,
    pub text: String,
}

/// A row that a file sets.
pub(super) struct Entry {
    pub row: &'static SettingRow,
    /// The key as written, sanitized.
    pub key: String,
    pub raw: Raw,
    pub source: Source,
}

/// Parses a file's text. `source` is any of its lines. Returns the valid entries and all errors.
pub(super) fn entries(
    SourceFile { path, text }: &SourceFile,
    source: &Source,
) -> (Vec<Entry>, Vec<ConfigError>) {
    match Document::parse(text.as_str()) {
        Ok(document) => {
            let mut walk =
                Walk { text, source, entries: Vec::new(), errors: Vec::new(), seen: BTreeMap::new() };
            walk.table(document.as_table(), "");
            (walk.entries, walk.errors)
        }
        Err(error) => {
            let (line, column) = position(text, error.span());
            let message = text::sanitize_line(error.message()).into_owned();
            (Vec::new(), vec![ConfigError::Syntax { path: path.clone(), line, column, message }])
        }
    }
}

struct Walk<'a> {
    text: &'a str,
    source: &'a Source,
    entries: Vec<Entry>,
    errors: Vec<ConfigError>,
    /// The rows set so far, with the key and line of each.
    seen: BTreeMap<&'static str, (String, usize)>,
}

impl Walk<'_> {
    fn table(&mut self, table: &dyn TableLike, prefix: &str) {
        for (name, item) in table.iter() {
            let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            let (line, _) = position(self.text, table.key(name).and_then(toml_edit::Key::span));
            match (SettingRow::find(&key), first_inside(&key)) {
                (Some(row), _) => self.entry(row, &key, item, line),
                (None, Some(inner)) => match item.as_table_like() {
                    Some(section) => self.table(section, &key),
                    None => self.errors.push(ConfigError::Section {
                        source_of: self.source.at_line(line),
                        key: key_line(&key),
                        inner,
                    }),
                },
                (None, None) => self.errors.push(unknown(self.source.at_line(line), &key)),
            }
        }
    }

    fn entry(&mut self, row: &'static SettingRow, key: &str, item: &Item, line: usize) {
        let key = key_line(key);
        if let Some((first_key, first_line)) = self.seen.get(row.key) {
            self.errors.push(ConfigError::SetTwice {
                source_of: self.source.at_line(line),
                key,
                first_key: first_key.clone(),
                first_line: *first_line,
            });
            return;
        }
        self.seen.insert(row.key, (key.clone(), line));
        let raw = match item.as_table_like() {
            Some(section) if row.kind.is_section() => {
                let mut inside = Vec::new();
                self.free(&key, section, "", &mut inside);
                Raw::Table(inside)
            }
            _ => check::from_toml(item),
        };
        self.entries.push(Entry { row, key, raw, source: self.source.at_line(line) });
    }

    /// Collects all values of a section with free keys, under their dotted names.
    fn free(&mut self, key: &str, section: &dyn TableLike, prefix: &str, out: &mut Vec<RawEntry>) {
        for (name, item) in section.iter() {
            let (line, _) = position(self.text, section.key(name).and_then(toml_edit::Key::span));
            let name = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            if let Some(inner) = item.as_table_like() {
                self.free(key, inner, &name, out);
                continue;
            }
            let name = key_line(&name);
            match out.iter().find(|entry| entry.name == name) {
                Some(first) => self.errors.push(ConfigError::SetTwice {
                    source_of: self.source.at_line(line),
                    key: format!("{key}.{name}"),
                    first_key: format!("{key}.{name}"),
                    first_line: first.line,
                }),
                None => out.push(RawEntry { name, raw: check::from_toml(item), line }),
            }
        }
    }
}

/// The error for an unknown key, with the row that was probably meant.
pub(super) fn unknown(source_of: Source, key: &str) -> ConfigError {
    let leaf = |key: &'static str| key.rsplit('.').next().unwrap_or(key);
    let last = key.rsplit('.').next().unwrap_or(key);
    let nearest = text::nearest(key, settings::keys())
        .or_else(|| settings::keys().find(|key| leaf(key) == last))
        .or_else(|| text::nearest(key, settings::names()));
    ConfigError::UnknownKey { source_of, key: key_line(key), nearest }
}

/// The first setting inside the section of that name, without the section's name; `None` if there is none.
fn first_inside(section: &str) -> Option<&'static str> {
    let inside = |name: &'static str| name.strip_prefix(section)?.strip_prefix('.');
    settings::names().find_map(inside)
}

pub(super) fn key_line(key: &str) -> String {
    text::truncate(&text::sanitize_line(key), 60)
}

/// Line and column of the start of a span, both from 1; the column counts characters.
fn position(text: &str, span: Option<Range<usize>>) -> (usize, usize) {
    let at = text.floor_char_boundary(span.map_or(0, |span| span.start));
    let before = text.split_at(at).0;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before.split_at(line_start).1.chars().count() + 1)
}
