//! Text on its way to a terminal: made harmless, measured in cells, wrapped, shortened.
//!
//! Nothing here prints, and nothing here knows colours. Called by every face, by the tools that cap their output, and
//! by whoever builds a sentence from a file name or a server's words.

mod cut;
mod measure;
mod nearest;
mod sanitize;
mod tokens;

pub use cut::{HeadTail, head_tail, one_line_summary};
pub use measure::{expand_tabs, is_plain, truncate, width, wrap};
pub use nearest::nearest;
pub use sanitize::{sanitize, sanitize_line};
pub use tokens::{Token, tokens};

#[cfg(test)]
mod tests;
