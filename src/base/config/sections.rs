//! Named sections, as `[providers.NAME]`: the fields that they may have, and their values by section. Pure.

use std::collections::BTreeMap;

use super::check::Kind;
use super::problem::{ConfigError, Source};
use super::value::{SectionEntry, Value};
use crate::stdx::text;

/// The field that a key of a named section sets.
pub(super) struct FieldTarget {
    pub section: String,
    /// The key in the section, dotted.
    pub field: String,
    pub kind: Kind,
    /// The whole key, for messages.
    pub key: String,
}

/// The fields that each section of a setting may have.
pub(super) struct SectionFields {
    pub own: &'static [(&'static str, Kind)],
    /// Nested sections with free keys, and the kind of their values.
    pub nested: &'static [(&'static str, Kind)],
    /// Whether a part of a name is understood as a mistake for it, as `url` for `base_url`.
    pub guess_by_part: bool,
}

impl SectionFields {
    /// Finds a field, dotted as written, of a section; `key` is its whole key.
    pub fn place(
        &self,
        section: &str,
        field: &str,
        key: String,
        source_of: &Source,
    ) -> Result<FieldTarget, ConfigError> {
        let kind_in =
            |fields: &[(&str, Kind)], name| fields.iter().find(|(known, _)| *known == name).map(|one| one.1);
        let outer = field.split_once('.').filter(|(_, inner)| !inner.is_empty()).map(|(outer, _)| outer);
        let kind = kind_in(self.own, field).or_else(|| kind_in(self.nested, outer?));
        let (section, field) = (section.to_owned(), field.to_owned());
        match kind {
            Some(kind) => Ok(FieldTarget { section, field, kind, key }),
            None => {
                let nearest = self.nearest(&field);
                Err(ConfigError::UnknownKey { source_of: source_of.clone(), key, nearest })
            }
        }
    }

    /// The field that was probably meant.
    fn nearest(&self, field: &str) -> Option<&'static str> {
        let mut names = self.own.iter().map(|(name, _)| *name);
        let holds = |name: &&str| self.guess_by_part && name.split('_').any(|part| part == field);
        names.clone().find(holds).or_else(|| text::nearest(field, &mut names))
    }
}

/// The characters of names of services and servers.
pub(super) const EXPECTED_NAME: &str = "a name of letters, digits, `-` and `_`";

pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Returns the values of each section, by their fields.
pub(super) fn by_section(entries: Vec<SectionEntry>) -> BTreeMap<String, BTreeMap<String, Value>> {
    let mut all: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    for SectionEntry { section, field, value, .. } in entries {
        all.entry(section).or_default().insert(field, value);
    }
    all
}
