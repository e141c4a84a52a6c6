//! The default keys as a table for the README.

use std::fmt::Write as _;

use super::Keymap;

/// The Markdown table of the default keys for the README.
#[must_use]
pub fn reference_table() -> String {
    let mut out = String::from("| Where | Action | Keys | What it does |\n| --- | --- | --- | --- |\n");
    let mut last = "";
    for row in Keymap::default().by_context() {
        let binding = row.binding;
        let about = binding.context.about();
        let place = if about == last { "" } else { about };
        last = about;
        let keys: Vec<String> = row.keys.iter().map(|key| format!("`{key}`")).collect();
        for cell in [place, &format!("`{}`", binding.path()), &keys.join(" "), &binding.words()] {
            write!(out, "| {} ", cell.replace('|', "\\|")).expect("writing to a string cannot fail");
        }
        out.push_str("|\n");
    }
    out
}
