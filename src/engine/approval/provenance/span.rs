//! The texts in arguments, and which spans of them count as shared.

use serde_json::Value;

use super::addresses::is_invisible;
use super::spelling::decode_chars;
use super::texts::Side;

/// Minimum characters of a span of several words, white space counted once: about half a line, which is not
/// written twice by chance; shorter ones are idioms.
const LONG: usize = 24;

/// Minimum words of such a span. Two words are a name or a phrase.
const WORDS: usize = 3;

/// Minimum characters of one word that is not written twice by chance: hashes, keys, encoded text, sentences
/// in scripts without spaces.
const LONG_WORD: usize = 32;

/// Maximum characters of a reported span.
const LONGEST_REPORTED: usize = 200;

/// One text in the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArgumentText<'a> {
    /// JSON pointer.
    pub pointer: String,
    pub text: &'a str,
}

/// Returns every text in the arguments, field names included, in order.
pub(super) fn pieces(args: &Value) -> Vec<ArgumentText<'_>> {
    let mut found = Vec::new();
    // Iterative, because arguments may be deeply nested.
    let mut open = vec![(String::new(), args)];
    while let Some((pointer, value)) = open.pop() {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => found.push(ArgumentText { pointer, text }),
            Value::Array(items) => {
                let items = items.iter().enumerate().rev();
                open.extend(items.map(|(index, item)| (format!("{pointer}/{index}"), item)));
            }
            Value::Object(fields) => {
                let below = |name: &str| format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                open.extend(fields.iter().rev().map(|(name, value)| (below(name), value)));
                let names = fields.keys().filter(|name| !name.is_empty());
                found.extend(names.map(|name| ArgumentText { pointer: below(name), text: name }));
            }
        }
    }
    found
}

/// Whether shared text is too long to be shared by chance.
pub(super) fn counts(words: &str, side: Side) -> bool {
    let mut measure = Measure { side, words: 0, characters: 0, longest: 0, word: String::new() };
    for one in decode_chars(words) {
        // In the query of a URL a plus means a space.
        if one.c.is_whitespace() || one.c == '+' {
            measure.end();
        } else if !is_invisible(one.c) {
            measure.word.push(one.c);
        }
        if measure.enough() {
            return true;
        }
    }
    measure.end();
    measure.enough()
}

struct Measure {
    side: Side,
    words: usize,
    characters: usize,
    longest: usize,
    word: String,
}

impl Measure {
    fn end(&mut self) {
        let word = std::mem::take(&mut self.word);
        let is_path = word.contains('/') && !word.contains("://") && !word.contains('@');
        if word.is_empty() || (is_path && self.side == Side::Files) {
            return;
        }
        let length = word.chars().count();
        self.characters += length + usize::from(self.words > 0);
        self.words += usize::from(word.contains(char::is_alphanumeric));
        self.longest = self.longest.max(length);
    }

    fn enough(&self) -> bool {
        (self.words >= WORDS && self.characters >= LONG) || self.longest >= LONG_WORD
    }
}

/// Cuts a text to the reported length.
pub(super) fn cut(words: &str) -> String {
    match words.char_indices().nth(LONGEST_REPORTED) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words.to_owned(),
    }
}
