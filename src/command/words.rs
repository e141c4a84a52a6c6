//! Words for Markdown: how names and commands that others wrote are set into a sentence.

use crate::stdx::text::sanitize_line;

/// One harmless line in a code span, whatever marks it holds itself.
#[must_use]
pub fn code(text: &str) -> String {
    let line = sanitize_line(text);
    let longest = longest_run(&line);
    let fence = "`".repeat(longest + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{line}{pad}{fence}")
}

/// `1 turn`, `2 turns`.
pub(super) fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
