//! Checked values: how they are shown, and converted for the fields of [`super::Settings`].
//!
//! A key has no `Debug` form, so neither have the types that contain one.

use std::path::PathBuf;
use std::time::Duration;

use super::problem::Source;

/// A checked value.
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
    Sections(Vec<SectionEntry>),
}

/// One field of one named section.
#[derive(Clone, PartialEq)]
pub struct SectionEntry {
    /// The section's name, sanitized.
    pub section: String,
    /// The key in the section, dotted.
    pub field: String,
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

/// A key as it was set. Not `Debug`, because it may contain the key itself.
#[derive(Clone, PartialEq, Eq)]
pub enum Key {
    Literal(Secret),
    /// `$NAME`, but the variable is not set.
    Missing {
        variable: String,
    },
    /// `$(command)` from the user's own file: the command prints the key. It is run when the key is first
    /// needed.
    Command(String),
}

impl Key {
    /// Creates a key from its text.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        Self::Literal(Secret::new(text.to_owned()))
    }

    /// Returns the key itself, if it is known without running a command.
    #[must_use]
    pub fn secret(&self) -> Option<&Secret> {
        match self {
            Self::Literal(secret) => Some(secret),
            Self::Missing { .. } | Self::Command(_) => None,
        }
    }
}

/// A secret. It has no `Debug` and no `Display`: access is explicit, with [`expose`](Self::expose).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the secret itself, for the request that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Value {
    /// Returns the entries of named sections; other values have none.
    #[must_use]
    pub fn sections(&self) -> &[SectionEntry] {
        if let Self::Sections(entries) = self { entries } else { &[] }
    }

    /// Returns the value as shown to the user, without secrets and not sanitized.
    pub(super) fn display(&self) -> String {
        let joined = |texts: Vec<String>, separator| match texts.is_empty() {
            true => "(none)".to_owned(),
            false => texts.join(separator),
        };
        match self {
            Self::Unset => "(unset)".to_owned(),
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Bool(bool) => bool.to_string(),
            Self::Path(path) => path.display().to_string(),
            Self::List(list) => joined(list.clone(), ", "),
            Self::Paths(paths) => joined(paths.iter().map(|path| path.display().to_string()).collect(), ", "),
            Self::Secret(Key::Literal(_)) => "set (hidden)".to_owned(),
            Self::Secret(Key::Missing { variable }) => format!("${variable}, which is not set"),
            Self::Secret(Key::Command(_)) => "from a command (hidden)".to_owned(),
            Self::Table(entries) => {
                let entry = |entry: &TableEntry| format!("{} = {}", entry.name, entry.texts.join(", "));
                joined(entries.iter().map(entry).collect(), "; ")
            }
            Self::Sections(entries) => {
                let entry = |entry: &SectionEntry| {
                    format!("{}.{} = {}", entry.section, entry.field, entry.value.display())
                };
                joined(entries.iter().map(entry).collect(), "; ")
            }
        }
    }
}

/// Defines conversions to the content of one variant; `None` if the value is unset.
macro_rules! contents {
    ($($name:ident: $variant:ident($type:ty),)+) => {
        $(pub(super) fn $name(self) -> Option<$type> {
            match self {
                Value::$variant(content) => Some(content),
                Value::Unset => None,
                other => other.mismatch(stringify!($variant)),
            }
        })+
    };
}

/// Conversions for the rows' setters. The loader passes a setter only values of its row's kind, and a test
/// sets every row; a value of another kind is a mistake in the table.
impl Value {
    contents! {
        text: Text(String),
        whole: Integer(i64),
        number: Number(f64),
        flag: Bool(bool),
        list: List(Vec<String>),
        path: Path(PathBuf),
        paths: Paths(Vec<PathBuf>),
        key: Secret(Key),
        table: Table(Vec<TableEntry>),
        entries: Sections(Vec<SectionEntry>),
    }

    /// Returns a secret without running a command. A missing one becomes an unusable text that says why, so
    /// that using it fails visibly.
    pub(super) fn secret(self) -> Option<Secret> {
        self.key().map(|key| match key {
            Key::Literal(secret) => secret,
            Key::Missing { variable } => Secret::new(format!("${variable} is not set")),
            Key::Command(_) => Secret::new("the command did not return one".to_owned()),
        })
    }

    /// Returns a level by its name, or a number.
    pub(super) fn level<T>(self, named: fn(&str) -> Option<T>, counted: fn(u32) -> T) -> T {
        if matches!(self, Value::Integer(_)) { counted(self.integer()) } else { self.choice(named) }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a sampling setting needs no more digits")]
    pub(super) fn optional_number(self) -> Option<f32> {
        self.number().map(|number| number as f32)
    }

    pub(super) fn bool(self) -> bool {
        self.flag().expect("a row of this kind has a default")
    }

    /// Returns a whole number; the row's bounds ensure that it fits the field's type.
    pub(super) fn integer<T: TryFrom<i64>>(self) -> T {
        self.optional_integer().expect("a row without default is never an integer that must be set")
    }

    pub(super) fn optional_integer<T: TryFrom<i64>>(self) -> Option<T> {
        self.whole().map(|number| T::try_from(number).ok().expect("a row's bounds fit the type of its field"))
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
