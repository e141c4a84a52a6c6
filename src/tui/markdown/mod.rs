//! Markdown to styled lines, whole or while it streams in.
//!
//! Width-aware, with hanging indents; links show their address; nothing is clipped. All text is made harmless after
//! parsing (an entity such as `&#27;` is a control character only then). It fetches nothing and runs nothing.
//! Called by the cells that show answers and local output.

mod layout;
mod parse;
mod stream;
mod table;
#[cfg(test)]
mod tests;

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
}

/// Renders a whole text. An empty text has no lines.
pub fn render(source: &str, page: &Page) -> Vec<Line> {
    layout::lines(&parse::blocks(&stream::normal(source)).blocks, page)
}
