//! What a request would do, as it was last laid out, and all that the layout depends on.
//!
//! `cells::card` lays it out anew when any of that changes.

use crate::approval::Request;
use crate::tui::cells::Fold;
use crate::tui::cells::diff::Page;
use crate::tui::line::Line;
use crate::tui::theme::Glyphs;

/// Bytes of a long text that are laid out at first.
pub const DEPTH: usize = 128 * 1024;

/// The body of a card as it was last laid out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body {
    pub basis: Option<Box<BodyBasis>>,
    pub page: Page,
    /// Bytes that are not laid out.
    pub more: usize,
    /// How often it was laid out.
    pub layouts: usize,
}

/// All that a body depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyBasis {
    pub request: Request,
    pub width: usize,
    pub depth: usize,
    pub is_split: bool,
    pub whole: Fold,
    pub why: Fold,
    /// Hunks that are skipped.
    pub skipped: Vec<usize>,
    /// The hunk that the person is at.
    pub here: usize,
    /// Where it would run.
    pub place: String,
    /// What it runs after.
    pub after: Vec<String>,
    pub glyphs: &'static Glyphs,
}

impl Body {
    pub fn lines(&self) -> &[Line] {
        &self.page.lines
    }

    /// Bytes that are not laid out.
    pub fn more(&self) -> usize {
        self.more
    }

    /// Lines at which hunks of a diff begin.
    pub fn hunks(&self) -> &[usize] {
        &self.page.hunks
    }
}
