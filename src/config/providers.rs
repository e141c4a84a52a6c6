//! The sections `[providers.NAME]`: one provider each, named by the user.
//!
//! Pure. A section changes the preset of its name, or defines a new provider. Which presets and quirks exist
//! is known to `provider`, so their names are texts here, checked by `app`. Called by the loader.

use std::collections::BTreeMap;

use super::check::{EntryPlace, Kind};
use super::choices::Codec;
use super::problem::{ConfigError, Source, Wrong};
use super::value::{Key, SectionEntry, Value};
use crate::stdx::text;

/// The settings of one provider, or of whichever provider is chosen.
#[derive(Clone, PartialEq, Default)]
pub struct ProviderSettings {
    /// The preset to start from; `None`: the preset of the same name.
    pub preset: Option<String>,
    pub wire: Option<Codec>,
    /// `http://` or `https://`, without a slash at the end.
    pub base_url: Option<String>,
    /// Whether the project's file set the address: then no key set for another address is sent to it.
    pub moved_by_project: bool,
    pub api_key: Option<Key>,
    /// Whether the project's file set the key, for whatever address it names. Known for the chosen provider's
    /// key only.
    pub is_projects_key: bool,
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

/// Whether an entry is a key, or a header that may contain one.
pub(super) fn is_secret(entry: &SectionEntry) -> bool {
    entry.field == "api_key" || entry.field.starts_with(HEADERS)
}

/// The keys that every section accepts, with their kinds. `headers` and `quirks` are nested sections.
const FIELDS: &[(&str, Kind)] = &[
    ("preset", Kind::Text),
    ("wire", Kind::Choice(Codec::NAMES)),
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

/// The field that was probably meant; `url` and `key` are parts of field names.
fn nearest_field(field: &str) -> Option<&'static str> {
    let mut names = FIELDS.iter().map(|(name, _)| *name);
    let holds = |name: &&str| name.split('_').any(|part| part == field);
    names.clone().find(holds).or_else(|| text::nearest(field, &mut names))
}

/// Finds the field of one key below `providers`, dotted as written. `got` describes its value.
pub(super) fn place(
    key: &str,
    dotted: &str,
    got: &str,
    source_of: &Source,
) -> Result<EntryPlace, ConfigError> {
    let (source_of, key) = (source_of.clone(), format!("{key}.{dotted}"));
    let wrong = |got: String, expected: String, advice: Option<String>| ConfigError::BadValue {
        source_of: source_of.clone(),
        key: key.clone(),
        wrong: Box::new(Wrong { got, expected, advice }),
    };
    let Some((name, field)) = dotted.split_once('.') else {
        return Err(wrong(got.to_owned(), format!("a section, as in [providers.{dotted}]"), None));
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) || name == "auto" || name == "offline" {
        let got = format!("in a section of the name \"{name}\"");
        let advice = Some("`auto` and `offline` are taken".to_owned());
        return Err(wrong(got, EXPECTED_NAME.to_owned(), advice));
    }
    match kind_of(field) {
        Some(kind) => {
            Ok(EntryPlace { section: name.to_ascii_lowercase(), field: field.to_owned(), kind, key })
        }
        None => Err(ConfigError::UnknownKey { source_of, key, nearest: nearest_field(field) }),
    }
}

fn kind_of(field: &str) -> Option<Kind> {
    match field.split_once('.') {
        Some((HEADERS, name)) if !name.is_empty() => Some(Kind::Secret),
        Some((QUIRKS, name)) if !name.is_empty() => Some(Kind::Text),
        Some(_) => None,
        None => FIELDS.iter().find(|(name, _)| *name == field).map(|(_, kind)| *kind),
    }
}

impl ProviderSettings {
    /// Sets the field of a section's key.
    pub(super) fn set(&mut self, field: &str, value: Value) {
        match field {
            "preset" => self.preset = value.text().map(|name| name.trim().to_ascii_lowercase()),
            "wire" => self.wire = value.text().as_deref().and_then(Codec::named),
            "base_url" | "host" => self.base_url = value.text(),
            "api_key" => self.api_key = value.key(),
            "model" => self.model = value.text(),
            "models" => self.models = value.list().unwrap_or_default(),
            "num_ctx" => self.num_ctx = value.optional_integer(),
            inner => match inner.split_once('.') {
                Some((HEADERS, name)) => self.headers.extend(value.key().map(|key| (name.to_owned(), key))),
                Some((_, name)) => self.quirks.extend(value.text().map(|text| (name.to_owned(), text))),
                None => {}
            },
        }
    }
}

/// Collects the sections as settings of providers.
pub(super) fn gather(entries: Vec<SectionEntry>) -> BTreeMap<String, ProviderSettings> {
    let mut all: BTreeMap<String, ProviderSettings> = BTreeMap::new();
    for SectionEntry { section, field, value, .. } in entries {
        all.entry(section).or_default().set(&field, value);
    }
    all
}
