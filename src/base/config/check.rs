//! The kinds of values: reading a value from a file or a text, and checking it against its kind.
//!
//! Pure. It knows no file, line or layer: a value that does not fit is a [`ValueProblem`]; the loader adds the
//! source.

use std::path::{Path, PathBuf};

use toml_edit::Item;

use super::problem::{Source, ValueProblem};
use super::servers;
use super::value::{Key, Secret, Value};
use crate::stdx::secrecy::shown_address;
use crate::stdx::text;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Text,
    /// `http://` or `https://`, without a password.
    Url,
    /// Like [`Kind::Url`], or a host with or without a port; `port` is the default.
    Host {
        port: u16,
    },
    /// Bounds are inclusive.
    Integer {
        min: i64,
        max: i64,
    },
    /// Bounds are inclusive.
    Number {
        min: f64,
        max: f64,
    },
    Bool,
    /// One of the names, or a whole number within the inclusive bounds.
    Level {
        names: &'static [&'static str],
        min: i64,
        max: i64,
    },
    /// One of the names.
    Choice(&'static [&'static str]),
    /// Separated by commas in the environment.
    List,
    Path,
    /// Separated by commas in the environment.
    PathList,
    /// A key: itself, `$NAME`, or, in the user's own file, `$(command)`.
    Secret,
    /// Nested sections with names that the user chooses: `[providers.NAME]`.
    Sections(SectionsOf),
    /// A section with free keys, each set to a string or a list of strings.
    Table,
}

/// The subject of the named sections of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionsOf {
    Models,
    Providers,
    /// Tool servers.
    Servers,
}

impl Kind {
    /// Whether it is a section whose keys the user chooses.
    pub fn is_section(self) -> bool {
        matches!(self, Self::Table | Self::Sections(_))
    }
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

/// Parses a text from the environment or a flag for a row of that kind.
pub(super) fn from_text(kind: Kind, text: &str) -> Raw {
    let as_is = || Raw::Text(text.to_owned());
    match kind {
        Kind::Integer { .. } | Kind::Level { .. } => {
            text.trim().parse().map_or_else(|_| as_is(), Raw::Integer)
        }
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
        Kind::Sections(SectionsOf::Servers) => servers::from_json(text),
        Kind::Text
        | Kind::Url
        | Kind::Host { .. }
        | Kind::Choice(_)
        | Kind::Path
        | Kind::Secret
        | Kind::Table
        | Kind::Sections(SectionsOf::Models | SectionsOf::Providers) => as_is(),
    }
}

/// Converts a text of a section to the form of its kind.
pub(super) fn convert_text(kind: Kind, raw: Raw) -> Raw {
    match (kind, raw) {
        (_, Raw::Text(text)) => from_text(kind, &text),
        (Kind::Text, Raw::Bool(bool)) => Raw::Text(bool.to_string()),
        (Kind::Text, Raw::Integer(number)) => Raw::Text(number.to_string()),
        (_, raw) => raw,
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
            texts.map_or(Raw::Other("a list that is not of strings"), Raw::List)
        }
    }
}

/// Returns the texts of one key of a section with free keys: one text, or a list. An empty text means none.
pub(super) fn texts(raw: Raw) -> Result<Vec<String>, ValueProblem> {
    match raw {
        Raw::Text(text) if text.is_empty() => Ok(Vec::new()),
        Raw::Text(text) => Ok(vec![text]),
        Raw::List(texts) => Ok(texts),
        _ => Err(ValueProblem::new(describe_raw(&raw), "a string or a list of strings")),
    }
}

/// Checks that a value is of the kind. `home` replaces `~/`. Only the user's own file may name a command to
/// run.
pub(super) fn check(
    kind: Kind,
    raw: Raw,
    home: Option<&Path>,
    source: &Source,
) -> Result<Value, ValueProblem> {
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
        (Kind::Choice(names) | Kind::Level { names, .. }, Raw::Text(text)) => choice(text, names, kind),
        (Kind::Path, Raw::Text(text)) => path(text, kind, home).map(Value::Path),
        (Kind::PathList, Raw::List(texts)) => {
            texts.into_iter().map(|text| path(text, kind, home)).collect::<Result<_, _>>().map(Value::Paths)
        }
        (Kind::List, Raw::List(texts)) => Ok(Value::List(texts)),
        (Kind::Bool, Raw::Bool(bool)) => Ok(Value::Bool(bool)),
        (Kind::Integer { min, max } | Kind::Level { min, max, .. }, Raw::Integer(number))
            if (min..=max).contains(&number) =>
        {
            Ok(Value::Integer(number))
        }
        (Kind::Number { min, max }, Raw::Number(number)) if (min..=max).contains(&number) => {
            Ok(Value::Number(number))
        }
        #[expect(clippy::cast_precision_loss, reason = "compared with small bounds")]
        (Kind::Number { .. }, Raw::Integer(number)) => check(kind, Raw::Number(number as f64), home, source),
        (_, raw) => Err(wrong(kind, &raw)),
    }
}

fn choice(text: String, names: &'static [&'static str], kind: Kind) -> Result<Value, ValueProblem> {
    let wanted = text.trim().to_ascii_lowercase();
    match names.iter().find(|name| **name == wanted) {
        Some(name) => Ok(Value::Text((*name).to_owned())),
        None => Err(wrong(kind, &Raw::Text(text))),
    }
}

/// Checks an address typed by the user and returns it in the form used in settings.
pub fn checked_url(text: &str) -> Result<String, ValueProblem> {
    url(text.to_owned()).map(|url| url.text().unwrap_or_default())
}

fn url(text: String) -> Result<Value, ValueProblem> {
    let trimmed = text.trim().trim_end_matches('/');
    let rest = trimmed.strip_prefix("https://").or_else(|| trimmed.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    match host {
        Some(host) if host.contains('@') => {
            let wrong = ValueProblem::new("an address with a password in it", expected_form(Kind::Url));
            Err(wrong.advised("put the key in its own setting"))
        }
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
fn host(text: &str, port: u16) -> Result<Value, ValueProblem> {
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
fn secret(text: &str, source: &Source) -> Result<Value, ValueProblem> {
    let key = text.trim();
    let wrong = |got| ValueProblem::new(got, expected_form(Kind::Secret));
    if let Some(command) = key.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')) {
        return if matches!(source, Source::UserFile { .. }) && !command.trim().is_empty() {
            Ok(Value::Secret(Key::Command(command.trim().to_owned())))
        } else {
            let advice = "commands that print a key are allowed in your own settings file only";
            Err(wrong("a command").advised(advice))
        };
    }
    if key.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err(wrong("a string with white space"));
    }
    let named =
        key.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).or_else(|| key.strip_prefix('$'));
    match named {
        Some(name) if is_variable(name) => Ok(Value::Secret(Key::Missing { variable: name.to_owned() })),
        Some(_) => {
            Err(wrong("a string that begins with `$`").advised("write `$NAME` for an environment variable"))
        }
        None => Ok(Value::Secret(Key::Literal(Secret::new(key.to_owned())))),
    }
}

fn is_variable(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    plain && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
}

fn path(text: String, kind: Kind, home: Option<&Path>) -> Result<PathBuf, ValueProblem> {
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

fn wrong(kind: Kind, raw: &Raw) -> ValueProblem {
    let got = match (kind, raw) {
        (
            Kind::Secret,
            Raw::Text(_) | Raw::Integer(_) | Raw::Number(_) | Raw::Bool(_) | Raw::List(_) | Raw::Table(_),
        ) => "something else".to_owned(),
        (Kind::Url, Raw::Text(text)) => describe_raw(&Raw::Text(shown_address(text))),
        (_, raw) => describe_raw(raw),
    };
    ValueProblem { got, expected: expected_form(kind), advice: advice(kind, raw) }
}

/// Describes a found value, short and sanitized.
pub(super) fn describe_raw(raw: &Raw) -> String {
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
fn expected_form(kind: Kind) -> String {
    match kind {
        Kind::Text => "a string".to_owned(),
        Kind::Url => "an address that begins with http:// or https://".to_owned(),
        Kind::Host { port } => format!("a host, `host:{port}`, or an address that begins with http://"),
        Kind::Level { names, min, max } => {
            format!("one of {}, or a number of tokens from {min} to {max}", names.join(", "))
        }
        Kind::Integer { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Number { min, max } => format!("a number from {min} to {max}"),
        Kind::Bool => "true or false".to_owned(),
        Kind::Choice(names) => format!("one of {}", names.join(", ")),
        Kind::List => "a list of strings".to_owned(),
        Kind::Path => "an absolute path, or one that begins with ~/".to_owned(),
        Kind::PathList => "a list of paths that are absolute or begin with ~/".to_owned(),
        Kind::Secret => "the key itself as a string without white space, `$NAME` or `$(command)`".to_owned(),
        Kind::Table => "a section".to_owned(),
        Kind::Sections(SectionsOf::Models) => "a section of named sections".to_owned(),
        Kind::Sections(SectionsOf::Providers) => "a section with a section for each service".to_owned(),
        Kind::Sections(SectionsOf::Servers) => "a section with a section for each server".to_owned(),
    }
}

fn advice(kind: Kind, raw: &Raw) -> Option<String> {
    match (kind, raw) {
        (Kind::Choice(names) | Kind::Level { names, .. }, Raw::Text(text)) => {
            meant(&text.trim().to_ascii_lowercase(), names)
        }
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
