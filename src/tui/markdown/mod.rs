//! Renders Markdown to styled lines, either a complete text or one that streams in.
//!
//! Lines wrap to the width with hanging indents and are never clipped. Links show their address. Code is
//! highlighted once its language is loaded. All text is sanitized after parsing, because an entity such as
//! `&#27;` becomes a control character only then. Nothing is fetched and nothing is run. Called by the cells
//! that show answers and local output.

mod fence;
mod highlight;
mod languages;
mod layout;
mod parse;
mod raw;
mod stream;
mod table;
#[cfg(test)]
mod tests;

pub use self::highlight::Highlighter;
pub use self::languages::{Language, Languages};
pub use self::stream::StreamMarkdown;
use super::line::{Line, Margin};
use super::theme::Glyphs;

/// The layout settings for rendered Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The width of a line in cells, including the margin; at least 12.
    pub width: usize,
    /// The prefixes of the first line and of all other lines.
    pub margin: Margin,
    pub glyphs: &'static Glyphs,
    /// The languages whose code is highlighted.
    pub languages: Languages,
}

/// Renders a complete text. An empty text yields no lines.
pub fn render(source: &str, page: &Page) -> Vec<Line> {
    layout::lines(&parse::blocks(&stream::normal(source)).blocks, page)
}

/// Counts work for the tests, which never measure time.
#[cfg(test)]
pub(super) mod count {
    use std::cell::Cell;

    thread_local! {
        static PARSED: Cell<usize> = const { Cell::new(0) };
        static HIGHLIGHTED: Cell<usize> = const { Cell::new(0) };
    }

    pub fn parsed(bytes: usize) {
        PARSED.set(PARSED.get() + bytes);
    }

    pub fn highlighted(bytes: usize) {
        HIGHLIGHTED.set(HIGHLIGHTED.get() + bytes);
    }

    /// Returns the bytes parsed and highlighted on this thread since the last call.
    pub fn take() -> (usize, usize) {
        (PARSED.replace(0), HIGHLIGHTED.replace(0))
    }
}
