//! The keys as a list: for `co keys` and the README. Pure.

use std::fmt::Write as _;

use super::{Binding, Bound, Context, Keymap};
use crate::config::Source;

/// One action with its keys, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// What to write into the settings: `context.action`.
    pub name: String,
    pub keys: Vec<String>,
    /// Its keys when nobody sets any.
    pub usual: Vec<String>,
    pub words: String,
    /// Where it counts.
    pub place: &'static str,
    pub source: Source,
}

/// Every action of a keymap, by context.
pub fn list(keymap: &Keymap) -> Vec<Listed> {
    let of = |context| keymap.rows().iter().filter(move |row| row.binding.context == context);
    Context::ALL.into_iter().flat_map(of).map(listed).collect()
}

fn listed(row: &Bound) -> Listed {
    let binding = row.binding;
    Listed {
        name: super::problem::path(binding),
        keys: row.keys.iter().map(ToString::to_string).collect(),
        usual: binding.keys.iter().map(ToString::to_string).collect(),
        words: words(binding),
        place: binding.context.about(),
        source: row.source.clone(),
    }
}

/// What a key does: help's words, or for keys that everybody knows those of its name.
pub fn words(binding: &Binding) -> String {
    if binding.help.is_empty() { binding.action.name().replace('-', " ") } else { binding.help.to_owned() }
}

/// The Markdown table of the default keys for the README.
#[must_use]
pub fn reference_table() -> String {
    let mut out = String::from("| Where | Action | Keys | What it does |\n| --- | --- | --- | --- |\n");
    let mut last = "";
    for row in list(&Keymap::default()) {
        let place = if row.place == last { "" } else { row.place };
        last = row.place;
        let keys: Vec<String> = row.keys.iter().map(|key| format!("`{key}`")).collect();
        let cells = [place.to_owned(), format!("`{}`", row.name), keys.join(" "), row.words];
        for cell in cells {
            write!(out, "| {} ", cell.replace('|', "\\|")).expect("writing to a string cannot fail");
        }
        out.push_str("|\n");
    }
    out
}
