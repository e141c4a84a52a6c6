//! Names and commands from other sources in a sentence of Markdown.

use super::sanitize_line;

/// Formats a text as one sanitized line in a code span, even if it contains backticks.
#[must_use]
pub fn code(text: &str) -> String {
    let line = sanitize_line(text);
    let longest = longest_run(&line);
    let fence = "`".repeat(longest + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{line}{pad}{fence}")
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
