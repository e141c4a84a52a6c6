//! Hints: this person's keys and what they do, for borders, flashes and advice.
//!
//! What no key does is left out, so that no hint names a key that does something else. Pure.

use super::{Action, Context, Keymap, Nav};

/// What a hint is made from: where the key is pressed, what it does, and the words behind it.
pub type HintSpec<'a> = (Context, Action, &'a str);

/// The keys that go to another row.
pub const CHOOSE: &[Action] = &[Action::Nav(Nav::Up), Action::Nav(Nav::Down)];

/// A hint of the status line: where keys are pressed, what they do, and the words behind them.
pub type StatusHint = (Context, &'static [Action], &'static str);

/// A key and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    pub action: Action,
    pub key: String,
    pub words: String,
}

impl Keymap {
    pub fn hints(&self, specs: &[HintSpec<'_>]) -> Vec<Hint> {
        let one = |(context, action, words): &HintSpec<'_>| {
            let key = self.shown(*context, *action);
            (!key.is_empty()).then(|| Hint { action: *action, key, words: (*words).to_owned() })
        };
        specs.iter().filter_map(one).collect()
    }

    /// Returns the hints of the status line, with two spaces between them. What has no key is left out.
    pub fn status(&self, hints: &[StatusHint]) -> String {
        let one = |(context, actions, words): &StatusHint| {
            let keys: Vec<String> = actions.iter().map(|action| self.shown(*context, *action)).collect();
            (!keys.iter().any(String::is_empty)).then(|| format!("{}{words}", keys.join(" ")))
        };
        hints.iter().filter_map(one).collect::<Vec<_>>().join("  ")
    }

    /// The hints in a row: `PgDn to the end, v makes room`.
    pub fn row(&self, specs: &[HintSpec<'_>]) -> String {
        self.hints(specs).iter().map(Hint::text).collect::<Vec<_>>().join(", ")
    }

    /// What there is to say, and behind a colon the keys that help.
    pub fn told(&self, words: &str, specs: &[HintSpec<'_>]) -> String {
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
