//! Text for the terminal: sanitized, measured in cells, wrapped, shortened.
//!
//! It never prints and knows no colours. Called by every front end, by the tools that cap their output, and
//! by code that builds a sentence from a file name or from a server's text.

mod code;
mod cut;
mod front_matter;
mod measure;
mod nearest;
mod sanitize;
mod tokens;

pub use code::code;
pub use cut::{HeadTail, head_tail, one_line_summary, short_path};
pub use front_matter::front_matter;
pub use measure::{binary_size, count, expand_tabs, group_digits, is_plain, size, truncate, width, wrap};
pub use nearest::nearest;
pub use sanitize::{sanitize, sanitize_line};
pub use tokens::{Token, tokens};

#[cfg(test)]
mod tests;
