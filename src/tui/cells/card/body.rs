//! What a request would do, laid out once for all that it depends on: a long diff is not made anew for every frame.
//!
//! Called by the layout before it draws a card or a list; what is drawn is what stands here.

use super::facts::{place, reasons};
use super::preview::{fields, json, verbatim};
use crate::approval::Request;
use crate::frontend::link::Header;
use crate::stdx::text::expand_tabs;
use crate::tool::Preview;
use crate::tui::cards::Card;
use crate::tui::cells::Fold;
use crate::tui::cells::diff::{self, Layout, Page, is_split};
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::theme::{Glyphs, Role};

/// The body of a card as it was last laid out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body {
    of: Option<Box<Of>>,
    page: Page,
    /// How often it was laid out.
    pub layouts: usize,
}

/// All that a body depends on.
#[derive(Debug, Clone, PartialEq)]
struct Of {
    request: Request,
    width: usize,
    is_split: bool,
    whole: Fold,
    why: Fold,
    /// Hunks that are skipped.
    skipped: Vec<usize>,
    /// Where it would run.
    place: String,
    glyphs: &'static Glyphs,
}

/// Where a body is laid out.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    /// Cells of a line.
    pub width: usize,
    /// Cells by which it is decided whether old and new stand side by side.
    pub columns: usize,
    pub header: Option<&'a Header>,
    pub glyphs: &'static Glyphs,
}

impl Body {
    pub fn lines(&self) -> &[Line] {
        &self.page.lines
    }

    /// Lines at which hunks of a diff begin.
    pub fn hunks(&self) -> &[usize] {
        &self.page.hunks
    }
}

impl Of {
    fn is(&self, card: &Card, room: &Room<'_>) -> bool {
        self.width == room.width
            && self.is_split == is_split(card.hunks.sides, room.columns)
            && (self.whole, self.why) == (card.whole, card.why)
            && self.skipped.iter().copied().eq(card.hunks.skips())
            && self.place == place(card, room.header)
            && self.glyphs == room.glyphs
            && self.request == card.request
    }
}

/// Brings the body up to date.
pub fn lay_out(card: &mut Card, room: &Room<'_>) {
    if card.body.of.as_ref().is_some_and(|of| of.is(card, room)) {
        return;
    }
    let of = Of {
        request: card.request.clone(),
        width: room.width,
        is_split: is_split(card.hunks.sides, room.columns),
        whole: card.whole,
        why: card.why,
        skipped: card.hunks.skips().collect(),
        place: place(card, room.header),
        glyphs: room.glyphs,
    };
    let page = page(card, room);
    card.body = Body { of: Some(Box::new(of)), page, layouts: card.body.layouts + 1 };
}

/// The summary and the preview, with `v` the arguments, with `w` every reason on its own lines.
fn page(card: &Card, room: &Room<'_>) -> Page {
    let width = room.width;
    let mut hunks = Vec::new();
    let plan = &card.request.plan;
    let even = Margin::default();
    let mut lines = wrap_spans(&[Span::new(expand_tabs(&plan.summary), Role::Text)], width, &even);
    let preview = match &plan.preview {
        Preview::None => json(&card.request.args, width),
        Preview::Text { text } => verbatim(text, width),
        Preview::Diff { lines: changed, .. } => {
            let layout = Layout { width, hunks: &card.hunks, glyphs: room.glyphs };
            let page = diff::page(changed, &layout, room.columns);
            hunks = page.hunks.iter().map(|row| lines.len() + 1 + row).collect();
            page.lines
        }
        Preview::Fields { fields: all } => fields(all, width),
    };
    if !preview.is_empty() {
        lines.push(Line::new());
        lines.extend(preview);
    }
    if card.whole == Fold::Open && plan.preview != Preview::None {
        lines.push(Line::new());
        lines.push(Line::of("arguments", Role::Dim));
        lines.extend(json(&card.request.args, width));
    }
    if card.why == Fold::Open {
        lines.push(Line::new());
        lines.extend(reasons(card, width, room.header));
    }
    Page { lines, hunks }
}
