//! The sections `[providers.NAME]`: one model service each, named by the person.
//!
//! Pure. A section changes the preset of its name, or makes a service of its own; what presets and quirks there are is
//! `provider`'s to know, so their names are texts here and are checked by `app`. Called by the loader.

use std::collections::BTreeMap;

use super::problem::{Source, Wrong};
use super::settings::Kind;
use super::typed::{Key, WireName};
use super::value::{self, Raw, Value};
use crate::stdx::text;

/// What is set for one service.
#[derive(Clone, PartialEq, Default)]
pub struct ProviderSettings {
    /// The preset that it begins with; `None`: the one of its name.
    pub preset: Option<String>,
    pub wire: Option<WireName>,
    /// `http://` or `https://`, without a slash at its end.
    pub base_url: Option<String>,
    /// The address is the project's: no key that was kept for another one goes there.
    pub moved_by_project: bool,
    pub api_key: Option<Key>,
    /// Further headers; their values are as secret as keys.
    pub headers: BTreeMap<String, Key>,
    /// How the server wants things said, by the names of its wire.
    pub quirks: BTreeMap<String, String>,
    /// The model that answers when none is named.
    pub model: Option<String>,
    /// Models to show.
    pub models: Vec<String>,
    /// The window that an Ollama server is asked for, in tokens.
    pub num_ctx: Option<u32>,
}

/// One key of a section, checked. Without `Debug`, as it may be a secret.
#[derive(Clone, PartialEq)]
pub struct ProviderEntry {
    /// The section's name.
    pub provider: String,
    /// The key in it, dotted.
    pub field: String,
    pub value: Value,
    pub source: Source,
}

impl ProviderEntry {
    /// Whether it is a key, or a header that may be one.
    pub(super) fn is_secret(&self) -> bool {
        self.field == "api_key" || self.field.starts_with(HEADERS)
    }
}

/// A key that every section takes, and what it is set to. `headers` and `quirks` are sections of their own.
const FIELDS: &[(&str, Kind)] = &[
    ("preset", Kind::Text),
    ("wire", Kind::Choice { names: WireName::NAMES, later: &[] }),
    ("base_url", Kind::Url),
    ("api_key", Kind::Secret),
    ("model", Kind::Text),
    ("models", Kind::List),
    ("num_ctx", Kind::Integer { min: 1_000, max: 100_000_000 }),
];

const HEADERS: &str = "headers";
const QUIRKS: &str = "quirks";

/// Letters, digits, `-` and `_` make a name.
const EXPECTED_NAME: &str = "a name of letters, digits, `-` and `_`";

/// Why an entry cannot be used.
pub(super) enum Misfit {
    Wrong(Wrong),
    /// There is no such key in a section.
    Unknown {
        nearest: Option<&'static str>,
    },
}

/// The field that was meant; `url` and `key` are parts of one.
fn nearest_field(field: &str) -> Option<&'static str> {
    let mut names = FIELDS.iter().map(|(name, _)| *name);
    let holds = |name: &&str| name.split('_').any(|part| part == field);
    names.clone().find(holds).or_else(|| text::nearest(field, &mut names))
}

/// Checks one key below `providers`, dotted as it was written.
pub(super) fn entry(name: &str, raw: Raw, source: Source) -> Result<ProviderEntry, Misfit> {
    let Some((provider, field)) = name.split_once('.') else {
        let got = value::words(&raw);
        return Err(Misfit::Wrong(Wrong {
            got,
            expected: format!("a section, as in [providers.{name}]"),
            advice: None,
        }));
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if provider.is_empty() || !provider.chars().all(plain) || provider == "auto" || provider == "offline" {
        let wrong = Wrong {
            got: format!("in a section of the name \"{provider}\""),
            expected: EXPECTED_NAME.to_owned(),
            advice: Some("`auto` and `offline` are taken".to_owned()),
        };
        return Err(Misfit::Wrong(wrong));
    }
    let kind = kind_of(field).ok_or_else(|| Misfit::Unknown { nearest: nearest_field(field) })?;
    let value = value::check_from(kind, spelled(kind, raw), None, &source).map_err(Misfit::Wrong)?;
    Ok(ProviderEntry { provider: provider.to_ascii_lowercase(), field: field.to_owned(), value, source })
}

fn kind_of(field: &str) -> Option<Kind> {
    match field.split_once('.') {
        Some((HEADERS, name)) if !name.is_empty() => Some(Kind::Secret),
        Some((QUIRKS, name)) if !name.is_empty() => Some(Kind::Text),
        Some(_) => None,
        None => FIELDS.iter().find(|(name, _)| *name == field).map(|(_, kind)| *kind),
    }
}

/// A flag's text as the kind has it, and numbers and switches as texts where a text is wanted.
fn spelled(kind: Kind, raw: Raw) -> Raw {
    match (kind, raw) {
        (Kind::Text, Raw::Bool(bool)) => Raw::Text(bool.to_string()),
        (Kind::Text, Raw::Integer(number)) => Raw::Text(number.to_string()),
        (Kind::Integer { .. } | Kind::List, Raw::Text(text)) => value::from_text(kind, &text),
        (_, raw) => raw,
    }
}

/// The sections as the program uses them.
pub(super) fn gather(entries: Vec<ProviderEntry>) -> BTreeMap<String, ProviderSettings> {
    let mut all: BTreeMap<String, ProviderSettings> = BTreeMap::new();
    for ProviderEntry { provider, field, value, .. } in entries {
        let one = all.entry(provider).or_default();
        match field.as_str() {
            "preset" => one.preset = value.text().map(|name| name.trim().to_ascii_lowercase()),
            "wire" => one.wire = value.text().as_deref().and_then(WireName::named),
            "base_url" => one.base_url = value.text(),
            "api_key" => one.api_key = value.key(),
            "model" => one.model = value.text(),
            "models" => one.models = value.list(),
            "num_ctx" => one.num_ctx = value.optional_integer(),
            inner => match inner.split_once('.') {
                Some((HEADERS, name)) => {
                    one.headers.extend(value.key().map(|key| (name.to_owned(), key)));
                }
                Some((_, name)) => {
                    one.quirks.extend(value.text().map(|text| (name.to_owned(), text)));
                }
                None => {}
            },
        }
    }
    all
}

/// A text that is none of the secrets in it.
pub(super) fn in_words(entries: &[ProviderEntry]) -> String {
    let one = |entry: &ProviderEntry| {
        format!("{}.{} = {}", entry.provider, entry.field, super::describe::in_words(&entry.value))
    };
    entries.iter().map(one).collect::<Vec<_>>().join("; ")
}
