//! The texts of arguments, and which spans of them count.

use serde_json::Value;

use super::addresses::is_invisible;
use super::spelling::spelled;
use super::voices::Side;

/// Characters of a span of several words, white space counted once: about half a line, which two people do not write
/// alike by chance; shorter ones are idioms.
const LONG: usize = 24;

/// Words of such a span. Two are a name or a phrase.
const WORDS: usize = 3;

/// Characters of one word that nobody makes up twice: hashes, keys, encoded text, sentences in scripts without spaces.
const LONG_WORD: usize = 32;

/// Characters of a span that are told.
const TOLD: usize = 200;

/// One text of the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// JSON pointer.
    pub pointer: String,
    pub text: &'a str,
}

/// Every text of the arguments, names of fields included, in their order.
pub(super) fn pieces(args: &Value) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    // Not by recursion: arguments may be deep.
    let mut open = vec![(String::new(), args)];
    while let Some((pointer, value)) = open.pop() {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => found.push(Piece { pointer, text }),
            Value::Array(items) => {
                let items = items.iter().enumerate().rev();
                open.extend(items.map(|(index, item)| (format!("{pointer}/{index}"), item)));
            }
            Value::Object(fields) => {
                for (name, value) in fields.iter().rev() {
                    let escaped = name.replace('~', "~0").replace('/', "~1");
                    open.push((format!("{pointer}/{escaped}"), value));
                }
                let names = fields.keys().filter(|name| !name.is_empty());
                found.extend(names.map(|name| {
                    let escaped = name.replace('~', "~0").replace('/', "~1");
                    Piece { pointer: format!("{pointer}/{escaped}"), text: name }
                }));
            }
        }
    }
    found
}

/// Whether shared words are too many to be shared by chance.
pub(super) fn counts(words: &str, side: Side) -> bool {
    let mut measure = Measure { side, words: 0, characters: 0, longest: 0, word: String::new() };
    for one in spelled(words) {
        // A plus stands for a space in the query of a URL.
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

/// As it is told.
pub(super) fn cut(words: &str) -> String {
    match words.char_indices().nth(TOLD) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words.to_owned(),
    }
}
