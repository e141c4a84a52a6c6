//! The sections `[providers.NAME]`: one provider each, named by the user.
//!
//! Pure. A section changes the preset of its name, or defines a new provider. Which presets and quirks exist
//! is known to `provider`, so their names are texts here, checked by `app`. Called by the loader.

use std::collections::BTreeMap;

use super::problem::{Source, Wrong};
use super::settings::Kind;
use super::typed::{Key, WireName};
use super::value::{self, Raw, Value};
use crate::stdx::text;

/// The settings of one provider.
#[derive(Clone, PartialEq, Default)]
pub struct ProviderSettings {
    /// The preset to start from; `None`: the preset of the same name.
    pub preset: Option<String>,
    pub wire: Option<WireName>,
    /// `http://` or `https://`, without a slash at the end.
    pub base_url: Option<String>,
    /// Whether the project's file set the address: then no key set for another address is sent to it.
    pub moved_by_project: bool,
    pub api_key: Option<Key>,
    /// Additional headers; their values are as secret as keys.
    pub headers: BTreeMap<String, Key>,
    /// Variations of the wire format that the server needs, by name.
    pub quirks: BTreeMap<String, String>,
    /// The model to use when none is named.
    pub model: Option<String>,
    /// Models to show.
    pub models: Vec<String>,
    /// The context window requested from an Ollama server, in tokens.
    pub num_ctx: Option<u32>,
}

/// One checked key of a section. Not `Debug`, because it may be a secret.
#[derive(Clone, PartialEq)]
pub struct ProviderEntry {
    /// The section's name.
    pub provider: String,
    /// The key in the section, dotted.
    pub field: String,
    pub value: Value,
    pub source: Source,
}

impl ProviderEntry {
    /// Whether it is a key, or a header that may contain one.
    pub(super) fn is_secret(&self) -> bool {
        self.field == "api_key" || self.field.starts_with(HEADERS)
    }
}

/// The keys that every section accepts, with their kinds. `headers` and `quirks` are nested sections.
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
    /// The section has no such key.
    Unknown {
        nearest: Option<&'static str>,
    },
}

/// The field that was probably meant; `url` and `key` are parts of field names.
fn nearest_field(field: &str) -> Option<&'static str> {
    let mut names = FIELDS.iter().map(|(name, _)| *name);
    let holds = |name: &&str| name.split('_').any(|part| part == field);
    names.clone().find(holds).or_else(|| text::nearest(field, &mut names))
}

/// Checks one key below `providers`, dotted as written.
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

/// Converts a flag's text to the kind's form, and numbers and booleans to text where text is expected.
fn spelled(kind: Kind, raw: Raw) -> Raw {
    match (kind, raw) {
        (Kind::Text, Raw::Bool(bool)) => Raw::Text(bool.to_string()),
        (Kind::Text, Raw::Integer(number)) => Raw::Text(number.to_string()),
        (Kind::Integer { .. } | Kind::List, Raw::Text(text)) => value::from_text(kind, &text),
        (_, raw) => raw,
    }
}

/// Collects the sections as settings of providers.
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

/// Formats the entries without their secrets.
pub(super) fn in_words(entries: &[ProviderEntry]) -> String {
    let one = |entry: &ProviderEntry| {
        format!("{}.{} = {}", entry.provider, entry.field, super::describe::in_words(&entry.value))
    };
    entries.iter().map(one).collect::<Vec<_>>().join("; ")
}
