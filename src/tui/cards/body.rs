//! The body of a request as last laid out, and its basis: `cells::card` lays it out again when the basis changes.

use std::collections::BTreeSet;

use crate::approval::Request;
use crate::tui::cells::Fold;
use crate::tui::cells::diff::Page;
use crate::tui::line::Line;
use crate::tui::markdown::Languages;
use crate::tui::theme::Glyphs;

/// Bytes of a long text that are laid out at first.
pub const DEPTH: usize = 128 * 1024;

/// The parts of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyForm {
    /// Summary and preview.
    Card,
    /// The arguments too.
    WithArguments,
    /// Of a diff nothing else.
    Change,
}

/// The body of a card as last laid out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body {
    pub basis: Option<Box<BodyBasis>>,
    pub page: Page,
    /// Bytes that are not laid out.
    pub more: usize,
    /// The number of layouts so far.
    pub layouts: usize,
}

/// Everything that a body depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyBasis {
    pub request: Request,
    pub width: usize,
    pub depth: usize,
    pub is_split: bool,
    pub form: BodyForm,
    pub why: Fold,
    /// Skipped hunks.
    pub skipped: Vec<usize>,
    /// The current hunk.
    pub here: usize,
    /// The chosen options of a question.
    pub chosen: BTreeSet<usize>,
    /// The folder in which it would run.
    pub place: String,
    /// The names of the calls it runs after.
    pub after: Vec<String>,
    pub glyphs: &'static Glyphs,
    pub languages: Languages,
}

impl Body {
    pub fn lines(&self) -> &[Line] {
        &self.page.lines
    }
}
