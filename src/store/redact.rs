//! Secrets taken out of everything that is written.
//!
//! The one point where values become the text that is stored. It knows whole secrets only: one that streaming cut
//! in two shows in neither half, and is caught in the whole reply. What runs is not touched, so a call that was
//! approved, stored and resumed in another process carries the mark in place of the secret.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::StoreError;

/// What stands in place of a secret.
pub const MARK: &str = "[redacted]";

/// Shorter ones would hit ordinary words.
const SHORTEST: usize = 8;

/// The secrets of this process. Has no `Debug`, so that they reach no log by accident.
pub(super) struct Redactor {
    secrets: RwLock<Vec<Secret>>,
}

struct Secret {
    plain: String,
    /// As it stands inside a JSON string.
    escaped: String,
}

impl Redactor {
    /// Secrets shorter than 8 bytes are left out.
    pub(super) fn new(secrets: Vec<String>) -> Self {
        let redactor = Self { secrets: RwLock::default() };
        secrets.into_iter().for_each(|plain| redactor.add(plain));
        redactor
    }

    /// One more, from the next value on.
    pub(super) fn add(&self, plain: String) {
        let mut secrets = self.secrets.write().unwrap_or_else(PoisonError::into_inner);
        if plain.len() < SHORTEST || secrets.iter().any(|known| known.plain == plain) {
            return;
        }
        let quoted = Value::String(plain.clone()).to_string();
        let escaped = quoted.trim_start_matches('"').trim_end_matches('"').to_owned();
        secrets.push(Secret { plain, escaped });
        // The longest first: a secret that begins with another one must not leave its tail behind.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.plain.len()));
    }

    fn known(&self) -> RwLockReadGuard<'_, Vec<Secret>> {
        self.secrets.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn text(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for secret in self.known().iter() {
            if out.contains(&secret.plain) {
                out = out.replace(&secret.plain, MARK);
            }
        }
        out
    }

    /// The value as JSON, every string and key of it redacted. A word of the format itself (a variant's name) is
    /// no secret even where somebody chose it as one: then the value could not be read back, and it stays.
    pub(super) fn json<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<String, StoreError> {
        let json = to_json(value)?;
        if !self.known().iter().any(|secret| json.contains(&secret.escaped)) {
            return Ok(json);
        }
        let mut tree = serde_json::to_value(value).map_err(|error| unstorable(&error))?;
        self.walk(&mut tree);
        let redacted = tree.to_string();
        let readable = serde_json::from_str::<T>(&redacted).is_ok();
        Ok(if readable { redacted } else { json })
    }

    fn walk(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item)),
            Value::Object(fields) => {
                for (key, mut field) in std::mem::take(fields) {
                    self.walk(&mut field);
                    fields.insert(self.text(&key), field);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
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
            // `n12345678` also stands in the escaped form of a line end before the digits: no hit, and sound JSON.
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
