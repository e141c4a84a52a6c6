//! Words that several commands use.

pub use crate::stdx::text::code;

/// Formats a count: `1 turn`, `2 turns`.
pub(super) fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}
