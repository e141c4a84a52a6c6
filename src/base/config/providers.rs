//! The sections `[providers.NAME]`: one provider each, named by the user.
//!
//! Pure. A section changes the preset of its name, or defines a new provider. Which presets and quirks exist
//! is known to `provider`, so their names are texts here, checked by `app`. Called by the loader.

use std::collections::BTreeMap;

use super::check::Kind;
use super::choices::Codec;
use super::problem::{ConfigError, Source, ValueProblem};
use super::sections::{EXPECTED_NAME, FieldTarget, SectionFields, is_name};
use super::value::{Key, SectionEntry, Value};

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

/// The fields of one service's section.
const FIELDS: SectionFields = SectionFields {
    own: &[
        ("preset", Kind::Text),
        ("wire", Kind::Choice(Codec::NAMES)),
        ("base_url", Kind::Url),
        ("api_key", Kind::Secret),
        ("model", Kind::Text),
        ("models", Kind::List),
        ("num_ctx", Kind::Integer { min: 1_000, max: 100_000_000 }),
    ],
    nested: &[(HEADERS, Kind::Secret), (QUIRKS, Kind::Text)],
    guess_by_part: true,
};

const HEADERS: &str = "headers";
const QUIRKS: &str = "quirks";

/// Finds the field of one key below `providers`, dotted as written. `got` describes its value.
pub(super) fn place(
    key: &str,
    dotted: &str,
    got: &str,
    source_of: &Source,
) -> Result<FieldTarget, ConfigError> {
    let key = format!("{key}.{dotted}");
    let Some((name, field)) = dotted.split_once('.') else {
        let wrong = ValueProblem::new(got, format!("a section, as in [providers.{dotted}]"));
        return Err(wrong.of(key, source_of.clone()));
    };
    if !is_name(name) || name == "auto" || name == "offline" {
        let wrong = ValueProblem::new(format!("in a section of the name \"{name}\""), EXPECTED_NAME);
        return Err(wrong.advised("`auto` and `offline` are taken").of(key, source_of.clone()));
    }
    FIELDS.place(&name.to_ascii_lowercase(), field, key, source_of)
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
