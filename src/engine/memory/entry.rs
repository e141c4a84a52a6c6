//! One memory: a Markdown file with YAML front matter. Pure.
//!
//! The fields are those of seed 004 with a few more; fields that are not known survive a rewrite.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::message::Authorship;
use crate::stdx::text::{binary_size, front_matter};

/// The largest file of a memory, in bytes.
pub const LARGEST: usize = 64 * 1024;

/// The largest number of a memory: the index holds numbers with a sign, and one more must fit.
pub const LARGEST_NUMBER: u64 = i64::MAX as u64 - 1;

/// The category of a memory is the first of these that is one of its tags.
pub const CATEGORIES: [&str; 5] = ["preference", "correction", "decision", "context", "pattern"];

/// The tag of what replaces older memories.
pub const CONSOLIDATED: &str = "_consolidated";

/// The line before and after the front matter.
const FENCE: &str = "---";

/// A memory as its file says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Unique in its folder.
    pub number: u64,
    /// Not empty; without white space around it.
    pub text: String,
    pub tags: Vec<String>,
    pub category: Option<String>,
    pub created: Timestamp,
    pub updated: Option<Timestamp>,
    /// From when on it does not apply any more.
    pub expires: Option<Timestamp>,
    /// The author of its text.
    pub authorship: Authorship,
    /// The session in which it was saved, and the call that saved it.
    pub session: Option<String>,
    pub call: Option<String>,
    /// Whether it never decays.
    pub is_protected: bool,
    /// Fields that are not known.
    pub other: Map<String, Value>,
}

/// Why a file is not a memory. The texts follow the name of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    #[error("it is larger than {}", binary_size(LARGEST))]
    TooLarge,
    #[error("it is not UTF-8 text; save it as UTF-8")]
    NotText,
    #[error("its front matter does not end: add a line `---` after it")]
    NoEnd,
    #[error("its front matter cannot be read: {0}")]
    Broken(String),
    #[error("it has no id: its front matter needs a line `id: NUMBER`")]
    NoId,
    #[error("`{field}` is not {expected}")]
    Field { field: &'static str, expected: &'static str },
    #[error("it has no text")]
    Empty,
}

impl Memory {
    /// Reads a file. One without front matter is a memory if its name begins with a number; `modified` is the time of a file
    /// that tells none.
    pub fn read(bytes: &[u8], name: &str, modified: Timestamp) -> Result<Self, EntryError> {
        if bytes.len() > LARGEST {
            return Err(EntryError::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| EntryError::NotText)?;
        if text.contains('\0') {
            return Err(EntryError::NotText);
        }
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let (front, body) = split(&text)?;
        let mut fields = match front {
            Some(front) => fields_of(front)?,
            None => Map::new(),
        };
        let number = match fields.remove("id") {
            None if front.is_none() => number_of(name).ok_or(EntryError::NoId)?,
            None => return Err(EntryError::NoId),
            Some(id) => id
                .as_u64()
                .filter(|id| (1..=LARGEST_NUMBER).contains(id))
                .ok_or(wrong("id", "a number above 0"))?,
        };
        let body = body.trim();
        if body.is_empty() {
            return Err(EntryError::Empty);
        }
        // Of older versions of the seed; it says nothing that the tags do not say.
        fields.remove("consolidation_reason");
        let memory = Self {
            number,
            text: body.to_owned(),
            tags: tags(fields.remove("tags"))?,
            created: time(&mut fields, "created")?.unwrap_or(modified),
            updated: time(&mut fields, "updated")?,
            expires: time(&mut fields, "expires")?,
            authorship: authorship(text_of(&mut fields, "source")?.as_deref()),
            session: text_of(&mut fields, "session")?,
            call: text_of(&mut fields, "call")?,
            is_protected: flag(&mut fields, "decay_protected")? | flag(&mut fields, "protected")?,
            category: match text_of(&mut fields, "auto_category")? {
                None => text_of(&mut fields, "category")?,
                category => category,
            },
            other: fields,
        };
        Ok(memory)
    }

    /// Returns the file's text.
    #[must_use]
    pub fn file_text(&self) -> String {
        let mut fields = Map::new();
        fields.insert("id".to_owned(), json!(self.number));
        fields.insert("created".to_owned(), json!(second(self.created)));
        if let Some(updated) = self.updated {
            fields.insert("updated".to_owned(), json!(second(updated)));
        }
        fields.insert("tags".to_owned(), json!(self.tags));
        fields.insert("source".to_owned(), json!(source_word(self.authorship)));
        let texts = [("session", &self.session), ("call", &self.call), ("auto_category", &self.category)];
        for (name, text) in texts {
            if let Some(text) = text {
                fields.insert(name.to_owned(), json!(text));
            }
        }
        if self.is_protected {
            fields.insert("decay_protected".to_owned(), json!(true));
        }
        if let Some(expires) = self.expires {
            fields.insert("expires".to_owned(), json!(second(expires)));
        }
        fields.extend(self.other.clone());
        // Only maps with keys that are no text cannot be written.
        let front = serde_saphyr::to_string(&fields).unwrap_or_default();
        format!("{FENCE}\n{}\n{FENCE}\n\n{}\n", front.trim_end(), self.text)
    }

    /// Sets the tags, and the category that follows from them.
    pub fn set_tags(&mut self, tags: Vec<String>) {
        self.category =
            CATEGORIES.iter().find(|name| tags.iter().any(|tag| tag == *name)).map(|name| (*name).to_owned());
        self.tags = tags;
    }

    /// Returns when it was last written.
    #[must_use]
    pub fn last_write(&self) -> Timestamp {
        self.updated.unwrap_or(self.created)
    }

    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// Returns the number with which a file's name begins.
#[must_use]
pub fn number_of(name: &str) -> Option<u64> {
    let digits = name.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().ok().filter(|number| (1..=LARGEST_NUMBER).contains(number))
}

/// Returns the name of a new file: `012-prefers-tabs.md`.
#[must_use]
pub fn file_name(number: u64, text: &str) -> String {
    let start: String = text.chars().take(50).flat_map(char::to_lowercase).collect();
    let words = start.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-");
    // A name has 255 bytes at most.
    let slug = slug.get(..slug.floor_char_boundary(120)).unwrap_or_default();
    if slug.is_empty() { format!("{number:03}.md") } else { format!("{number:03}-{slug}.md") }
}

/// Splits a text into its front matter, if it has one, and the rest.
fn split(text: &str) -> Result<(Option<&str>, &str), EntryError> {
    match front_matter(text) {
        (None, rest) if rest.starts_with("---\n") => Err(EntryError::NoEnd),
        found => Ok(found),
    }
}

fn fields_of(front: &str) -> Result<Map<String, Value>, EntryError> {
    match serde_saphyr::from_str::<Value>(front) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(EntryError::Broken("it is not a list of `name: value`".to_owned())),
        Err(error) => {
            let first = error.to_string().lines().next().unwrap_or_default().to_owned();
            Err(EntryError::Broken(first))
        }
    }
}

fn wrong(field: &'static str, expected: &'static str) -> EntryError {
    EntryError::Field { field, expected }
}

fn tags(value: Option<Value>) -> Result<Vec<String>, EntryError> {
    let wrong = wrong("tags", "a list of words");
    let words = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(text)) => text.split(',').map(|tag| json!(tag.trim())).collect(),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(wrong),
    };
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.trim().to_lowercase()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let words: Option<Vec<String>> = words.iter().map(word).collect();
    Ok(words.ok_or(wrong)?.into_iter().filter(|tag| !tag.is_empty()).collect())
}

fn text_of(fields: &mut Map<String, Value>, name: &'static str) -> Result<Option<String>, EntryError> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
        Some(_) => Err(wrong(name, "a text")),
    }
}

fn flag(fields: &mut Map<String, Value>, name: &'static str) -> Result<bool, EntryError> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(false),
        Some(value) => value.as_bool().ok_or(wrong(name, "true or false")),
    }
}

fn time(fields: &mut Map<String, Value>, name: &'static str) -> Result<Option<Timestamp>, EntryError> {
    let Some(text) = text_of(fields, name)? else { return Ok(None) };
    time_of(&text).map(Some).ok_or(wrong(name, "a time, as `2026-11-25T08:00:00Z`"))
}

/// Reads a time; one without a zone is in UTC, a day begins at midnight.
#[must_use]
pub fn time_of(text: &str) -> Option<Timestamp> {
    let civil = || -> Option<Timestamp> {
        let at = text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(Date::into)).ok()?;
        at.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp())
    };
    text.parse::<Timestamp>().ok().or_else(civil)
}

/// Times are kept to the second.
fn second(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

/// The words of the front matter, those of the seed where it has one.
fn source_word(authorship: Authorship) -> &'static str {
    match authorship {
        Authorship::Said => "user-told",
        Authorship::Inferred => "detected",
        Authorship::External => "external",
    }
}

fn authorship(word: Option<&str>) -> Authorship {
    match word {
        // Written by hand.
        None | Some("user-told" | "said") => Authorship::Said,
        Some("external") => Authorship::External,
        Some(_) => Authorship::Inferred,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn read(text: &str, name: &str) -> Result<Memory, EntryError> {
        Memory::read(text.as_bytes(), name, at("2026-01-02T03:04:05Z"))
    }

    #[test]
    fn a_file_of_the_seed_is_read_and_unknown_fields_survive() {
        let text = "---\nid: 7\ncreated: '2026-02-01T10:00:00.123456+00:00'\ntags: [python, preference]\n\
                    source: detected\nauto_category: preference\ndecay_protected: true\n\
                    consolidation_reason: old\nmood:\n  deep: [1, two]\n---\n\nLikes pytest.\n\nSecond line.\n";
        let memory = read(text, "007-x.md").unwrap();
        assert_eq!((memory.number, memory.is_protected, memory.authorship), (7, true, Authorship::Inferred));
        assert_eq!(memory.text, "Likes pytest.\n\nSecond line.");
        assert_eq!(memory.category.as_deref(), Some("preference"));
        let again = read(&memory.file_text(), "x.md").unwrap();
        assert_eq!(again.other, memory.other);
        assert_eq!(again.other["mood"]["deep"][1], "two");
        let second = Memory { created: at("2026-02-01T10:00:00Z"), ..memory };
        assert_eq!(again, second);
    }

    #[test]
    fn text_that_looks_like_yaml_or_a_fence_stays_text() {
        for text in
            ["---\nid: 9", "yes", "a: b # c", "\"quoted\"", "ünï — 日本", "- list\n- of\n\n---\n\nthings"]
        {
            let mut memory = read("---\nid: 1\n---\nx", "1.md").unwrap();
            memory.text = text.trim().to_owned();
            memory.set_tags(vec!["true".to_owned(), "12".to_owned(), "a: b".to_owned()]);
            memory.session = Some("0: x".to_owned());
            assert_eq!(read(&memory.file_text(), "1.md").unwrap(), memory, "{text}");
        }
    }

    #[test]
    fn what_is_no_memory_says_why() {
        let large = format!("---\nid: 1\n---\n{}", "x".repeat(LARGEST));
        for (text, name, expected) in [
            ("plain words", "012-x.md", Ok(12)),
            ("\u{feff}---\r\nid: 4\r\n---\r\nwords\r\n", "a.md", Ok(4)),
            ("plain words", "notes.md", Err("no id")),
            ("---\nid: 18446744073709551615\n---\nx", "1.md", Err("`id` is not")),
            ("---\nid: 9223372036854775807\n---\nx", "1.md", Err("`id` is not")),
            ("plain words", "18446744073709551615-x.md", Err("no id")),
            ("---\ntags: []\n---\nx", "001.md", Err("no id")),
            ("---\nid: 1\nx", "1.md", Err("does not end")),
            ("---\nid: [1\n---\nx", "1.md", Err("cannot be read")),
            ("---\n- a\n---\nx", "1.md", Err("not a list of")),
            ("---\nid: -1\n---\nx", "1.md", Err("`id` is not a number")),
            ("---\nid: one\n---\nx", "1.md", Err("`id` is not a number")),
            ("---\nid: 1\ncreated: soon\n---\nx", "1.md", Err("`created` is not a time")),
            ("---\nid: 1\ntags: {a: b}\n---\nx", "1.md", Err("`tags` is not a list")),
            ("---\nid: 1\ndecay_protected: maybe\n---\nx", "1.md", Err("not true or false")),
            ("---\nid: 1\n---\n \n", "1.md", Err("no text")),
            ("---\nid: 1\n---\na\0b", "1.md", Err("not UTF-8")),
            (&large, "1.md", Err("larger than 64 KiB")),
            (
                "---\na: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\nid: 1\n---\nx",
                "1.md",
                Err("cannot be read"),
            ),
        ] {
            match (read(text, name), expected) {
                (Ok(memory), Ok(number)) => assert_eq!(memory.number, number, "{text}"),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{text}: {error}"),
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
        assert_eq!(
            Memory::read(b"---\nid: 1\n---\n\xff\xfe", "1.md", Timestamp::UNIX_EPOCH),
            Err(EntryError::NotText)
        );
        let utf16: Vec<u8> = "---\nid: 1\n---\nx".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(Memory::read(&utf16, "1.md", Timestamp::UNIX_EPOCH), Err(EntryError::NotText));
    }

    #[test]
    fn names_are_a_number_and_words() {
        for (number, text, name) in [
            (7, "Prefers Tabs, over spaces!", "007-prefers-tabs-over-spaces.md"),
            (1234, "../../etc/passwd", "1234-etc-passwd.md"),
            (1, "日本語", "001-日本語.md"),
            (2, " … ", "002.md"),
        ] {
            assert_eq!(file_name(number, text), name);
            assert_eq!(number_of(name), Some(number));
        }
    }
}
