//! Hints: the user's keys with descriptions, for borders, flashes and advice. Actions without a key are left out. Pure.

use super::{Action, Context, Keymap, Nav};

/// The parts of a hint: context, action, and description.
pub type HintSpec<'a> = (Context, Action, &'a str);

/// The keys that go to another row.
pub const CHOOSE: &[Action] = &[Action::Nav(Nav::Up), Action::Nav(Nav::Down)];

/// A hint of the status line: context, actions, and description.
pub type StatusHint = (Context, &'static [Action], &'static str);

/// A key and its description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    pub action: Action,
    pub key: String,
    pub words: String,
}

impl Keymap {
    pub fn hints(&self, specs: &[HintSpec<'_>]) -> Vec<Hint> {
        let one = |(context, action, words): &HintSpec<'_>| {
            let key = self.key_label(*context, *action);
            (!key.is_empty()).then(|| Hint { action: *action, key, words: (*words).to_owned() })
        };
        specs.iter().filter_map(one).collect()
    }

    /// Returns the first key of an action between these texts; empty if it has none.
    pub fn around(&self, before: &str, context: Context, action: Action, behind: &str) -> String {
        self.first(context, action).map(|key| format!("{before}{key}{behind}")).unwrap_or_default()
    }

    /// Returns the hints of the status line, separated by two spaces. Actions without a key are left out.
    pub fn status(&self, hints: &[StatusHint]) -> String {
        let one = |(context, actions, words): &StatusHint| {
            let keys: Vec<String> = actions.iter().map(|action| self.key_label(*context, *action)).collect();
            (!keys.iter().any(String::is_empty)).then(|| format!("{}{words}", keys.join(" ")))
        };
        hints.iter().filter_map(one).collect::<Vec<_>>().join("  ")
    }

    /// Returns the hints in a row: `PgDn to the end, v makes room`.
    pub fn row(&self, specs: &[HintSpec<'_>]) -> String {
        self.hints(specs).iter().map(Hint::text).collect::<Vec<_>>().join(", ")
    }

    /// Returns the words, and after a colon the keys that help.
    pub fn with_hints(&self, words: &str, specs: &[HintSpec<'_>]) -> String {
        match self.row(specs) {
            row if row.is_empty() => words.to_owned(),
            row => format!("{words}: {row}"),
        }
    }
}

impl Hint {
    fn text(&self) -> String {
        if self.words.is_empty() { self.key.clone() } else { format!("{} {}", self.key, self.words) }
    }
}
