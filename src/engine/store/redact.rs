//! Redacts secrets from everything that is written.
//!
//! The only place where values become stored text. It matches whole secrets only: a secret that streaming
//! split into two chunks matches in neither, but is caught in the whole reply. A call with a secret in its arguments
//! is refused when it is planned, so that none runs with the mark in place of the secret.

use std::borrow::Cow;

use parking_lot::{RwLock, RwLockReadGuard};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::StoreError;
use crate::stdx::json_texts::map_texts;

/// The replacement for a secret.
pub const MARK: &str = "[redacted]";

/// Minimum length in bytes; shorter secrets would match ordinary words.
const SHORTEST: usize = 8;

/// The secrets of this process. Not `Debug`, so that they cannot be logged by accident.
pub(super) struct Redactor {
    secrets: RwLock<Vec<Secret>>,
}

struct Secret {
    plain: String,
    /// The secret as it appears inside a JSON string.
    escaped: String,
}

impl Redactor {
    /// Secrets shorter than 8 bytes are ignored.
    pub(super) fn new(secrets: Vec<String>) -> Self {
        let redactor = Self { secrets: RwLock::default() };
        secrets.into_iter().for_each(|plain| redactor.add(plain));
        redactor
    }

    /// Adds a secret, from the next value on; ignored if shorter than 8 bytes.
    pub(super) fn add(&self, plain: String) {
        let mut secrets = self.secrets.write();
        if plain.len() < SHORTEST || secrets.iter().any(|known| known.plain == plain) {
            return;
        }
        let quoted = Value::String(plain.clone()).to_string();
        let escaped = quoted.trim_start_matches('"').trim_end_matches('"').to_owned();
        secrets.push(Secret { plain, escaped });
        // Longest first: a secret that begins with another one must be replaced whole.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.plain.len()));
    }

    fn known_secrets(&self) -> RwLockReadGuard<'_, Vec<Secret>> {
        self.secrets.read()
    }

    /// Whether the value contains a secret.
    pub(super) fn holds_any(&self, value: &Value) -> bool {
        let known = self.known_secrets();
        let json = if known.is_empty() { String::new() } else { value.to_string() };
        known.iter().any(|secret| json.contains(&secret.escaped))
    }

    pub(super) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut out = Cow::Borrowed(text);
        for secret in self.known_secrets().iter() {
            if out.contains(&secret.plain) {
                out = out.replace(&secret.plain, MARK).into();
            }
        }
        out
    }

    /// Returns the value as JSON with every string and key redacted. If a secret equals a word of the format
    /// (a variant's name), the redacted value could not be parsed; then it is stored without redaction.
    pub(super) fn json<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<String, StoreError> {
        let json = to_json(value)?;
        if !self.known_secrets().iter().any(|secret| json.contains(&secret.escaped)) {
            return Ok(json);
        }
        let mut tree = serde_json::to_value(value).map_err(|error| unstorable(&error))?;
        map_texts(&mut tree, &|_, text| self.text(text));
        let redacted = tree.to_string();
        let readable = serde_json::from_str::<T>(&redacted).is_ok();
        Ok(if readable { redacted } else { json })
    }
}

pub(super) fn to_json<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| unstorable(&error))
}

fn unstorable(error: &serde_json::Error) -> StoreError {
    StoreError::Unstorable { detail: error.to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(secrets: &[&str], value: &Value, expected: &Value) {
        let redactor = Redactor::new(secrets.iter().map(|&one| one.to_owned()).collect());
        let stored: Value = serde_json::from_str(&redactor.json(value).unwrap()).unwrap();
        assert_eq!(&stored, expected, "{secrets:?}");
    }

    #[test]
    fn whole_secrets_vanish_from_strings_and_keys() {
        let cases = [
            (vec!["sk-12345678"], json!("key sk-12345678!"), json!("key [redacted]!")),
            (vec!["sk-12345678"], json!(["sk-1234567"]), json!(["sk-1234567"])),
            (vec!["1234567"], json!("1234567"), json!("1234567")),
            (
                vec!["aaaabbbb", "aaaabbbbcccc"],
                json!("aaaabbbbcccc aaaabbbb"),
                json!("[redacted] [redacted]"),
            ),
            (vec!["pass\"word\\1"], json!({ "a": "pass\"word\\1" }), json!({ "a": "[redacted]" })),
            (
                vec!["secretkey"],
                json!({ "secretkey": { "b": "secretkey" } }),
                json!({ "[redacted]": { "b": "[redacted]" } }),
            ),
            // `n12345678` also occurs in the escaped line end before the digits: no match, and valid JSON.
            (vec!["n12345678"], json!("a\n12345678"), json!("a\n12345678")),
            (vec!["12345678"], json!(12345678), json!(12345678)),
            (vec!["schlüssel-ß"], json!("schlüssel-ß"), json!("[redacted]")),
            (vec![], json!("nothing to hide"), json!("nothing to hide")),
        ];
        for (secrets, value, expected) in cases {
            check(&secrets, &value, &expected);
        }
    }

    #[test]
    fn a_word_of_the_format_is_no_secret() {
        use crate::message::ReturnStatus;
        let redactor = Redactor::new(vec!["undecided".to_owned()]);
        assert_eq!(redactor.json(&ReturnStatus::Undecided).unwrap(), "\"undecided\"");
    }
}
