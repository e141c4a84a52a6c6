//! Markdown to styled lines, whole or while it streams in.
//!
//! Width-aware, with hanging indents; links show their address; code is drawn in colours once its language was
//! loaded; nothing is clipped. All text is made harmless after
//! parsing (an entity such as `&#27;` is a control character only then). It fetches nothing and runs nothing.
//! Called by the cells that show answers and local output.

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

pub use self::languages::{Language, Languages};
pub use self::stream::StreamMarkdown;
use super::line::{Line, Margin};
use super::theme::Glyphs;

/// Where Markdown is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Cells of a line, the margin included; from 12.
    pub width: usize,
    /// Before the first and all other lines.
    pub margin: Margin,
    pub glyphs: &'static Glyphs,
    /// The languages whose code is drawn in colours.
    pub languages: Languages,
}

/// Renders a whole text. An empty text has no lines.
pub fn render(source: &str, page: &Page) -> Vec<Line> {
    layout::lines(&parse::blocks(&stream::normal(source)).blocks, page)
}

/// How much was done, for the tests: work is counted, never timed.
#[cfg(test)]
mod count {
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

    /// Bytes that were parsed and highlighted on this thread since the last call.
    pub fn take() -> (usize, usize) {
        (PARSED.replace(0), HIGHLIGHTED.replace(0))
    }
}
