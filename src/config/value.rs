//! One value: read from a file or a text, checked against its row's kind, converted for the row's field.
//!
//! Pure. It knows no file, line or layer: a value that does not fit is a [`Wrong`]; the loader adds the
//! source.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toml_edit::Item;

use super::problem::{Source, Wrong};
use super::providers::ProviderEntry;
use super::settings::{Kind, SettingRow};
use super::typed::{Key, Secret};
use crate::message::Usd;
use crate::stdx::secrecy::shown_address;
use crate::stdx::text;

/// A checked value. Not `Debug`, because it may be a secret.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// Not set and without default, or set to nothing.
    Unset,
    Text(String),
    Integer(i64),
    Number(f64),
    Bool(bool),
    List(Vec<String>),
    Path(PathBuf),
    Paths(Vec<PathBuf>),
    Secret(Key),
    Table(Vec<TableEntry>),
    Records(Vec<RecordEntry>),
    Providers(Vec<ProviderEntry>),
}

/// One field of one named section.
#[derive(Clone, PartialEq)]
pub struct RecordEntry {
    /// The section's name, sanitized.
    pub name: String,
    pub field: &'static str,
    /// A value of the field's kind.
    pub value: Value,
    pub source: Source,
}

/// One key of a section with free keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableEntry {
    /// The key below the section, dotted, sanitized.
    pub name: String,
    /// The texts it is set to; empty removes the default.
    pub texts: Vec<String>,
    pub source: Source,
}

/// A value as found, before it is checked.
#[derive(Clone)]
pub(super) enum Raw {
    Text(String),
    Integer(i64),
    Number(f64),
    Bool(bool),
    List(Vec<String>),
    /// The keys of a section with free keys.
    Table(Vec<RawEntry>),
    /// Something that no setting accepts; the text describes it.
    Other(&'static str),
}

/// One key of such a section, before it is checked.
#[derive(Clone)]
pub(super) struct RawEntry {
    pub name: String,
    pub raw: Raw,
    pub line: usize,
}

/// The value of a row that is not set.
pub(super) fn default_of(row: &SettingRow) -> Value {
    match row.default {
        "" if matches!(row.kind, Kind::List) => Value::List(Vec::new()),
        "" if matches!(row.kind, Kind::PathList) => Value::Paths(Vec::new()),
        "" if matches!(row.kind, Kind::Table) => Value::Table(Vec::new()),
        "" if matches!(row.kind, Kind::Records(_)) => Value::Records(Vec::new()),
        "" if matches!(row.kind, Kind::Providers) => Value::Providers(Vec::new()),
        "" => Value::Unset,
        text => {
            check(row.kind, from_text(row.kind, text), None).expect("a row's default is a value of its kind")
        }
    }
}

/// Parses a text from the environment or a flag for a row of that kind.
pub(super) fn from_text(kind: Kind, text: &str) -> Raw {
    let as_is = || Raw::Text(text.to_owned());
    match kind {
        Kind::Integer { .. } => text.trim().parse().map_or_else(|_| as_is(), Raw::Integer),
        Kind::Level { .. } => text.trim().parse().map_or_else(|_| as_is(), Raw::Integer),
        Kind::Number { .. } => text.trim().parse().map_or_else(|_| as_is(), Raw::Number),
        Kind::Bool => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Raw::Bool(true),
            "false" | "0" | "no" | "off" => Raw::Bool(false),
            _ => as_is(),
        },
        Kind::List | Kind::PathList => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Raw::List(parts.map(str::to_owned).collect())
        }
        Kind::Text
        | Kind::Url
        | Kind::Host { .. }
        | Kind::Choice { .. }
        | Kind::Path
        | Kind::Secret
        | Kind::Table
        | Kind::Records(_)
        | Kind::Providers => as_is(),
    }
}

/// Converts an item of a file.
pub(super) fn from_toml(item: &Item) -> Raw {
    use toml_edit::Value as Toml;
    let value = match item {
        Item::Value(value) => value,
        Item::None => return Raw::Other("nothing"),
        Item::Table(_) => return Raw::Other("a section"),
        Item::ArrayOfTables(_) => return Raw::Other("a list of sections"),
    };
    match value {
        Toml::String(text) => Raw::Text(text.value().clone()),
        Toml::Integer(number) => Raw::Integer(*number.value()),
        Toml::Float(number) => Raw::Number(*number.value()),
        Toml::Boolean(bool) => Raw::Bool(*bool.value()),
        Toml::Datetime(_) => Raw::Other("a date"),
        Toml::InlineTable(_) => Raw::Other("a section"),
        Toml::Array(items) => {
            let texts: Option<Vec<String>> =
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
            texts.map_or(Raw::Other("a list of other things than texts"), Raw::List)
        }
    }
}

/// Returns the texts of one key of a section with free keys: one text, or a list. An empty text means none.
pub(super) fn texts(raw: Raw) -> Result<Vec<String>, Wrong> {
    match raw {
        Raw::Text(text) if text.is_empty() => Ok(Vec::new()),
        Raw::Text(text) => Ok(vec![text]),
        Raw::List(texts) => Ok(texts),
        Raw::Integer(_) | Raw::Number(_) | Raw::Bool(_) | Raw::Table(_) | Raw::Other(_) => {
            Err(Wrong { got: words(&raw), expected: "a text or a list of texts".to_owned(), advice: None })
        }
    }
}

/// Checks that a value is of the kind. `home` replaces `~/`.
pub(super) fn check(kind: Kind, raw: Raw, home: Option<&Path>) -> Result<Value, Wrong> {
    check_from(kind, raw, home, &Source::Default)
}

/// Like [`check`], for a value from `source`: only the user's own file may name a command to run.
pub(super) fn check_from(kind: Kind, raw: Raw, home: Option<&Path>, source: &Source) -> Result<Value, Wrong> {
    match (kind, raw) {
        (Kind::Text | Kind::Url | Kind::Host { .. } | Kind::Path | Kind::Secret, Raw::Text(text))
            if text.trim().is_empty() =>
        {
            Ok(Value::Unset)
        }
        (Kind::Text, Raw::Text(text)) => Ok(Value::Text(text)),
        (Kind::Url, Raw::Text(text)) => url(text),
        (Kind::Host { port }, Raw::Text(text)) => host(&text, port),
        (Kind::Secret, Raw::Text(text)) => secret(&text, source),
        (Kind::Level { names, .. }, Raw::Text(text)) => choice(text, names, kind),
        (Kind::Level { min, max, .. }, Raw::Integer(number)) if (min..=max).contains(&number) => {
            Ok(Value::Integer(number))
        }
        (Kind::Path, Raw::Text(text)) => path(text, kind, home).map(Value::Path),
        (Kind::PathList, Raw::List(texts)) => {
            texts.into_iter().map(|text| path(text, kind, home)).collect::<Result<_, _>>().map(Value::Paths)
        }
        (Kind::List, Raw::List(texts)) => Ok(Value::List(texts)),
        (Kind::Bool, Raw::Bool(bool)) => Ok(Value::Bool(bool)),
        (Kind::Integer { min, max }, Raw::Integer(number)) if (min..=max).contains(&number) => {
            Ok(Value::Integer(number))
        }
        (Kind::Number { min, max }, Raw::Number(number)) if (min..=max).contains(&number) => {
            Ok(Value::Number(number))
        }
        #[expect(clippy::cast_precision_loss, reason = "compared with small bounds")]
        (Kind::Number { .. }, Raw::Integer(number)) => {
            check_from(kind, Raw::Number(number as f64), home, source)
        }
        (Kind::Choice { names, .. }, Raw::Text(text)) => choice(text, names, kind),
        (_, raw) => Err(wrong(kind, &raw)),
    }
}

fn choice(text: String, names: &'static [&'static str], kind: Kind) -> Result<Value, Wrong> {
    let wanted = text.trim().to_ascii_lowercase();
    match names.iter().find(|name| **name == wanted) {
        Some(name) => Ok(Value::Text((*name).to_owned())),
        None => Err(wrong(kind, &Raw::Text(text))),
    }
}

/// Checks an address typed by the user and returns it in the form used in settings.
pub fn checked_url(text: &str) -> Result<String, Wrong> {
    url(text.to_owned()).map(|url| url.text().unwrap_or_default())
}

fn url(text: String) -> Result<Value, Wrong> {
    let trimmed = text.trim().trim_end_matches('/');
    let rest = trimmed.strip_prefix("https://").or_else(|| trimmed.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    match host {
        Some(host) if host.contains('@') => Err(Wrong {
            got: "an address with a password in it".to_owned(),
            expected: expected(Kind::Url),
            advice: Some("put the key into the setting for it".to_owned()),
        }),
        Some(host)
            if !host.is_empty() && !trimmed.contains(|c: char| c.is_whitespace() || c.is_control()) =>
        {
            Ok(Value::Text(trimmed.to_owned()))
        }
        Some(_) | None => Err(wrong(Kind::Url, &Raw::Text(text))),
    }
}

/// Parses an address as used in a server's own variable: `host`, `host:port`, or a whole URL. The address on
/// which a server listens to all hosts (0.0.0.0) becomes the address of this machine.
fn host(text: &str, port: u16) -> Result<Value, Wrong> {
    let text = text.trim();
    if text.contains("://") {
        return url(text.replace("://0.0.0.0", "://127.0.0.1"));
    }
    let text = text.trim_end_matches('/');
    let has_port = text.rsplit_once(':').is_some_and(|(_, end)| end.parse::<u16>().is_ok());
    let text = if has_port { text.to_owned() } else { format!("{text}:{port}") };
    let text = if text.starts_with(':') { format!("127.0.0.1{text}") } else { text };
    url(format!("http://{}", text.replacen("0.0.0.0", "127.0.0.1", 1)))
}

/// Parses a key: the key itself, `$NAME`, `${NAME}`, or `$(command)` if it is from the user's own file.
fn secret(text: &str, source: &Source) -> Result<Value, Wrong> {
    let key = text.trim();
    if let Some(command) = key.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')) {
        return match source {
            Source::UserFile { .. } if !command.trim().is_empty() => {
                Ok(Value::Secret(Key::Command(command.trim().to_owned())))
            }
            Source::UserFile { .. }
            | Source::Default
            | Source::ProjectFile { .. }
            | Source::Environment { .. }
            | Source::Flag { .. } => Err(Wrong {
                got: "a command".to_owned(),
                expected: expected(Kind::Secret),
                advice: Some("commands that give a key count in your own settings file only".to_owned()),
            }),
        };
    }
    if key.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err(Wrong {
            got: "a text with white space in it".to_owned(),
            expected: expected(Kind::Secret),
            advice: None,
        });
    }
    let named =
        key.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).or_else(|| key.strip_prefix('$'));
    match named {
        Some(name) if is_variable(name) => Ok(Value::Secret(Key::Missing { variable: name.to_owned() })),
        Some(_) => Err(Wrong {
            got: "a text that begins with `$`".to_owned(),
            expected: expected(Kind::Secret),
            advice: Some("write `$NAME` for an environment variable".to_owned()),
        }),
        None => Ok(Value::Secret(Key::Literal(Secret::new(key.to_owned())))),
    }
}

fn is_variable(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    plain && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
}

fn path(text: String, kind: Kind, home: Option<&Path>) -> Result<PathBuf, Wrong> {
    let path = match (text.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(&text),
    };
    if path.is_absolute() && !text.contains('\0') {
        Ok(crate::stdx::paths::normalize(&path))
    } else {
        Err(wrong(kind, &Raw::Text(text)))
    }
}

fn wrong(kind: Kind, raw: &Raw) -> Wrong {
    let got = match (kind, raw) {
        (
            Kind::Secret,
            Raw::Text(_) | Raw::Integer(_) | Raw::Number(_) | Raw::Bool(_) | Raw::List(_) | Raw::Table(_),
        ) => "something else".to_owned(),
        (Kind::Url, Raw::Text(text)) => words(&Raw::Text(shown_address(text))),
        (_, raw) => words(raw),
    };
    Wrong { got, expected: expected(kind), advice: advice(kind, raw) }
}

/// Describes a found value, short and sanitized.
pub(super) fn words(raw: &Raw) -> String {
    match raw {
        Raw::Text(text) if text.is_empty() => "empty".to_owned(),
        Raw::Text(text) => format!("\"{}\"", text::truncate(&text::sanitize_line(text), 60)),
        Raw::Integer(number) => number.to_string(),
        Raw::Number(number) => number.to_string(),
        Raw::Bool(bool) => bool.to_string(),
        Raw::List(_) => "a list".to_owned(),
        Raw::Table(_) => "a section".to_owned(),
        Raw::Other(what) => (*what).to_owned(),
    }
}

/// Describes what a value of that kind must be.
fn expected(kind: Kind) -> String {
    match kind {
        Kind::Text => "a text".to_owned(),
        Kind::Url => "an address that begins with http:// or https://".to_owned(),
        Kind::Host { port } => format!("a host, `host:{port}`, or an address that begins with http://"),
        Kind::Level { names, min, max } => {
            format!("one of {}, or a number of tokens from {min} to {max}", names.join(", "))
        }
        Kind::Integer { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Number { min, max } => format!("a number from {min} to {max}"),
        Kind::Bool => "true or false".to_owned(),
        Kind::Choice { names, .. } => format!("one of {}", names.join(", ")),
        Kind::List => "a list of texts".to_owned(),
        Kind::Path => "an absolute path, or one that begins with ~/".to_owned(),
        Kind::PathList => "a list of absolute paths, or of such that begin with ~/".to_owned(),
        Kind::Secret => "the key itself as a text without white space, `$NAME` or `$(command)`".to_owned(),
        Kind::Table => "a section".to_owned(),
        Kind::Records(_) => "a section of named sections".to_owned(),
        Kind::Providers => "a section with a section for each service".to_owned(),
    }
}

fn advice(kind: Kind, raw: &Raw) -> Option<String> {
    match (kind, raw) {
        (Kind::Choice { names, later }, Raw::Text(text)) => {
            let wanted = text.trim().to_ascii_lowercase();
            if let Some(choice) = later.iter().find(|choice| choice.name == wanted) {
                return Some(format!("`{}` comes later: {}", choice.name, choice.meanwhile));
            }
            meant(&wanted, names)
        }
        (Kind::Level { names, .. }, Raw::Text(text)) => meant(&text.trim().to_ascii_lowercase(), names),
        (Kind::Integer { .. } | Kind::Number { .. }, Raw::Text(text))
            if text.trim().parse::<f64>().is_ok() =>
        {
            Some("write it without quotes".to_owned())
        }
        (Kind::Bool, Raw::Text(text)) if matches!(text.as_str(), "true" | "false") => {
            Some("write it without quotes".to_owned())
        }
        (Kind::List | Kind::PathList, Raw::Text(_)) => Some("put it in brackets: [\"…\"]".to_owned()),
        _ => None,
    }
}

fn meant(wanted: &str, names: &[&str]) -> Option<String> {
    text::nearest(wanted, names.iter().copied()).map(|name| format!("did you mean `{name}`?"))
}

/// Conversions for the rows' setters. The loader passes a setter only values of its row's kind, and a test
/// sets every row; a value of another kind is a mistake in the table.
impl Value {
    /// Returns a text that may be unset.
    pub(super) fn text(self) -> Option<String> {
        match self {
            Value::Text(text) => Some(text),
            Value::Unset => None,
            other => other.mismatch("a text"),
        }
    }

    pub(super) fn key(self) -> Option<Key> {
        match self {
            Value::Secret(key) => Some(key),
            Value::Unset => None,
            other => other.mismatch("a secret"),
        }
    }

    /// Returns a secret without running a command. A missing one becomes an unusable text that says why, so
    /// that using it fails visibly.
    pub(super) fn secret(self) -> Option<Secret> {
        self.key().map(|key| match key {
            Key::Literal(secret) => secret,
            Key::Missing { variable } => Secret::new(format!("${variable} is not set")),
            Key::Command(_) => Secret::new("a command does not give it".to_owned()),
        })
    }

    pub(super) fn path(self) -> Option<PathBuf> {
        match self {
            Value::Path(path) => Some(path),
            Value::Unset => None,
            other => other.mismatch("a path"),
        }
    }

    pub(super) fn paths(self) -> Vec<PathBuf> {
        match self {
            Value::Paths(paths) => paths,
            other => other.mismatch("paths"),
        }
    }

    pub(super) fn list(self) -> Vec<String> {
        match self {
            Value::List(list) => list,
            other => other.mismatch("a list"),
        }
    }

    pub(super) fn table(self) -> Vec<TableEntry> {
        match self {
            Value::Table(entries) => entries,
            other => other.mismatch("a section"),
        }
    }

    pub(super) fn records(self) -> Vec<RecordEntry> {
        match self {
            Value::Records(entries) => entries,
            other => other.mismatch("named sections"),
        }
    }

    pub(super) fn providers(self) -> Vec<ProviderEntry> {
        match self {
            Value::Providers(entries) => entries,
            other => other.mismatch("sections of services"),
        }
    }

    /// Returns a level by its name, or a number.
    pub(super) fn level<T>(self, named: fn(&str) -> Option<T>, counted: fn(u32) -> T) -> T {
        match self {
            Value::Integer(number) => {
                counted(u32::try_from(number).expect("a row's bounds fit the type of its field"))
            }
            other => other.choice(named),
        }
    }

    pub(super) fn number(&self) -> f64 {
        match self {
            Value::Number(number) => *number,
            other => other.clone().mismatch("a number"),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a sampling setting needs no more digits")]
    pub(super) fn optional_number(self) -> Option<f32> {
        match self {
            Value::Number(number) => Some(number as f32),
            Value::Unset => None,
            other => other.mismatch("a number"),
        }
    }

    pub(super) fn bool(self) -> bool {
        match self {
            Value::Bool(bool) => bool,
            other => other.mismatch("a bool"),
        }
    }

    /// Returns a whole number; the row's bounds ensure that it fits the field's type.
    pub(super) fn integer<T: TryFrom<i64>>(self) -> T {
        self.optional_integer().expect("a row without default is never an integer that must be set")
    }

    pub(super) fn optional_integer<T: TryFrom<i64>>(self) -> Option<T> {
        match self {
            Value::Integer(number) => {
                Some(T::try_from(number).ok().expect("a row's bounds fit the type of its field"))
            }
            Value::Unset => None,
            other => other.mismatch("an integer"),
        }
    }

    /// Returns an amount of money; the row's bounds ensure that it is valid.
    pub(super) fn dollars(self) -> Option<Usd> {
        match self {
            Value::Number(dollars) => {
                Some(Usd::from_dollars(dollars).expect("a row's bounds are amounts of money"))
            }
            Value::Unset => None,
            other => other.mismatch("a number"),
        }
    }

    pub(super) fn seconds(self) -> Duration {
        Duration::from_secs(self.integer())
    }

    pub(super) fn choice<T>(self, named: fn(&str) -> Option<T>) -> T {
        let name = self.text().expect("a choice has a default");
        named(&name).expect("a choice was checked against the names of its type")
    }

    fn mismatch(self, expected: &str) -> ! {
        unreachable!("a row's setter takes {expected}, which its kind is not")
    }
}
