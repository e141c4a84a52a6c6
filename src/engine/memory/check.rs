//! Checks of a new memory: the length of a text, the form of tags, and no keys. Pure.

use std::collections::BTreeSet;

use super::MemoryError;
use crate::stdx::secrecy::mask;

/// The longest text, in bytes.
pub const MOST_TEXT: usize = 8_000;

pub const MOST_TAGS: usize = 20;
const LONGEST_TAG: usize = 40;

/// Returns a text as it is kept.
pub fn text(given: &str) -> Result<String, MemoryError> {
    let text = given.replace("\r\n", "\n").replace('\0', "").trim().to_owned();
    if text.is_empty() {
        return Err(MemoryError::Empty);
    }
    if text.len() > MOST_TEXT {
        return Err(MemoryError::TooLong { bytes: text.len() });
    }
    if mask(&text) != text {
        return Err(MemoryError::Secret);
    }
    Ok(text)
}

/// Returns tags as they are kept: in lower case, each once.
pub fn tags(given: &[String]) -> Result<Vec<String>, MemoryError> {
    let mut seen = BTreeSet::new();
    let mut tags = Vec::new();
    for tag in given {
        let tag = tag.trim().trim_start_matches('#').to_lowercase();
        let is_word = !tag.is_empty() && tag.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
        if !is_word || tag.chars().count() > LONGEST_TAG || tags.len() == MOST_TAGS {
            return Err(MemoryError::BadTag { tag });
        }
        if seen.insert(tag.clone()) {
            tags.push(tag);
        }
    }
    Ok(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_kept_and_keys_and_documents_are_not() {
        for (given, expected) in [
            ("  Prefers\r\ntabs \n", Ok("Prefers\ntabs")),
            (" \n", Err("empty")),
            (&"x".repeat(MOST_TEXT + 1), Err("8001 bytes")),
            ("The key is sk-abcdefghijklmnopqrstuvwx1", Err("looks like a key")),
            ("password: hunter2hunter2", Err("looks like a key")),
        ] {
            match (text(given), expected) {
                (Ok(text), Ok(kept)) => assert_eq!(text, kept),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
                (got, _) => panic!("{given}: {got:?}"),
            }
        }
        let tags = |given: &[&str]| tags(&given.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>());
        assert_eq!(tags(&["#Work", "work", "a_b-1", "日本"]).unwrap(), ["work", "a_b-1", "日本"]);
        for bad in ["two words", "", "a,b", &"x".repeat(41), "\u{202e}x"] {
            assert!(tags(&[bad]).is_err(), "{bad}");
        }
    }
}
