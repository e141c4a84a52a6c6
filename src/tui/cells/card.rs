//! The card of a request: what would happen, why it asks, and the keys that decide.
//!
//! It is as high as the pane at most; what does not fit scrolls inside, and says so. It shows, it never decides.
//! Called by the layout, which tells the card how much of it was on the screen.

mod edges;
mod facts;
mod keys;
mod preview;

pub(super) use self::facts::{facts, whole};
pub(super) use self::keys::{keys_line, whole_key};
use self::preview::{fields, json, verbatim};
use super::diff::Layout;
use super::{Fold, Look, call, diff, form};
use crate::frontend::link::Header;
use crate::stdx::text::expand_tabs;
use crate::tool::{Preview, hunks};
use crate::tui::cards::{Card, Stage};
use crate::tui::composer::{Position, Rows};
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::model::ListView;
use crate::tui::theme::{Glyphs, Role};

/// Lines of the body while it is not shown whole; on a high screen up to two thirds of it.
pub(super) const BODY: usize = 12;

/// The widest card.
pub(super) const WIDEST: usize = 100;

/// Below this width a card has no sides.
pub(super) const NARROW: usize = 60;

/// Rows of the reason of a no that are shown.
const REASON: usize = 4;

/// Below this height of the pane, reasons are shown on demand only.
pub(super) const LOW: usize = 12;

/// Who has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Keys,
    Nothing,
}

/// Where and how the card is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    pub look: &'a Look,
    pub holds: Holds,
    /// Rows of the pane.
    pub rows: usize,
    /// Cells of the pane; a card is never wider than [`Look::width`], a list may be.
    pub columns: usize,
    /// Which card of how many, from 1.
    pub position: (usize, usize),
    /// Where commands would run.
    pub header: Option<&'a Header>,
}

/// A card as lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Drawn {
    pub lines: Vec<Line>,
    /// Lines of the body that are shown, and that there are.
    pub body_room: usize,
    pub body_total: usize,
    /// Lines of the body at which hunks of a diff begin.
    pub hunks: Vec<usize>,
    /// Where text is being written.
    pub cursor: Option<Position>,
    /// Width at which the body was laid out.
    pub body_width: usize,
    /// Where the rows of a list stand.
    pub list: ListView,
}

pub fn draw(card: &Card, frame: &Frame<'_>) -> Drawn {
    match &card.stage {
        Stage::Editing(form) => form::draw(card, form, frame),
        Stage::Asking | Stage::Confirming(_) | Stage::Reason(_) | Stage::Deciding(_) => {
            let mut sheet = Sheet::new(frame, width(card, frame));
            sheet.asking(card);
            sheet.drawn
        }
    }
}

/// Cells of a card that asks.
fn width(card: &Card, frame: &Frame<'_>) -> usize {
    let is_diff = matches!(card.request.plan.preview, Preview::Diff { .. });
    if is_diff && diff::is_split(card.hunks.sides, frame.columns) {
        frame.columns
    } else {
        frame.look.width.min(WIDEST)
    }
}

/// A card that is being drawn, line by line.
pub(super) struct Sheet<'a> {
    pub(super) frame: &'a Frame<'a>,
    width: usize,
    /// Cells of text inside the sides.
    pub(super) inner: usize,
    pub(super) drawn: Drawn,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(frame: &'a Frame<'a>, width: usize) -> Self {
        let inner = width.saturating_sub(if width < NARROW { 2 } else { 4 });
        Self { frame, width, inner, drawn: Drawn::default() }
    }

    fn asking(&mut self, card: &Card) {
        let body = self.body(card);
        let facts = if self.frame.rows < LOW { Vec::new() } else { facts(card, self.frame, self.inner) };
        let foot = self.foot(card);
        let fixed = 2 + facts.len() + foot.len();
        let cap = match card.whole {
            Fold::Folded => BODY.max(self.frame.rows * 2 / 3),
            Fold::Open => usize::MAX,
        };
        let space = self.frame.rows.saturating_sub(fixed).min(cap).max(1);
        let clipped = body.len() > space;
        // The hint takes a line of its own, so that it covers nothing.
        let room = if clipped { space.saturating_sub(1).max(1) } else { body.len() };
        let from = card.scroll.min(body.len().saturating_sub(room));
        self.border(&self.title(card), &self.badge(card), 0);
        for line in body.iter().skip(from).take(room) {
            self.put(line.clone());
        }
        if clipped {
            self.put(hint((from, body.len() - from - room), card.whole, self.inner));
        }
        self.drawn.body_width = self.inner;
        self.drawn.body_room = room;
        self.drawn.body_total = body.len();
        for line in facts {
            self.put(line);
        }
        let first = self.drawn.lines.len();
        if let Stage::Reason(editor) = &card.stage {
            let rows = Rows::of(editor, self.inner - 4);
            let above = rows.cursor.row - self.reason_from(&rows);
            self.drawn.cursor = Some(self.place(first + 1 + above, 2 + rows.cursor.column));
        }
        for line in foot {
            self.put(line);
        }
        self.border(&self.keys(card), &Line::new(), 2);
    }

    /// The line above: what asks.
    fn title(&self, card: &Card) -> Line {
        let request = &card.request;
        Line::of(format!("{} ", self.frame.look.glyphs.waiting), Role::Waiting)
            .with(request.tool.as_str(), Role::Tool)
            .with(" ", Role::Text)
            .with(call::subject(&request.args), Role::Text)
    }

    fn body(&mut self, card: &Card) -> Vec<Line> {
        let layout = Layout { width: self.inner, hunks: &card.hunks, glyphs: self.frame.look.glyphs };
        let page = whole(card, &layout, self.frame.columns, self.frame.header);
        self.drawn.hunks = page.hunks;
        page.lines
    }

    /// Rows there are for the reason of a no.
    fn reason_rows(&self) -> usize {
        REASON.min(self.frame.rows / 4).max(1)
    }

    /// The first row of a reason that is shown, so that the cursor's row is.
    fn reason_from(&self, rows: &Rows) -> usize {
        (rows.cursor.row + 1).saturating_sub(self.reason_rows())
    }

    /// At the right of the title: how many, how risky, how much.
    fn badge(&self, card: &Card) -> Line {
        let mut line = Line::new();
        let dot = format!(" {} ", self.frame.look.glyphs.dot);
        let (at, of) = self.frame.position;
        if of > 1 {
            line = line.with(format!("{at} of {of}{dot}"), Role::Waiting);
        }
        let role = if card.is_high() { Role::High } else { Role::Dim };
        line = line.with(card.request.risk.word(), role);
        if let Preview::Diff { lines, .. } = &card.request.plan.preview {
            let counts = diff::counts(lines);
            line = line
                .with(&dot, Role::Dim)
                .with(format!("+{}", counts.added), Role::Added)
                .with(format!(" -{}", counts.removed), Role::Removed);
            let hunks = hunks::count(lines);
            if hunks > 1 && self.width >= NARROW {
                line = line.with(format!("{dot}{hunks} hunks"), Role::Dim);
            }
            if card.hunks.skipped() > 0 {
                line = line.with(format!("{dot}{} skipped", card.hunks.skipped()), Role::Waiting);
            }
        }
        line
    }

    /// A place inside the sides in cells of the card.
    pub(super) fn place(&self, row: usize, column: usize) -> Position {
        let side = if self.width < NARROW { 1 } else { 2 };
        Position { row, column: side + column }
    }
}

/// How much of a body is out of sight: so many lines above, so many below.
pub(super) fn hint((above, below): (usize, usize), whole: Fold, width: usize) -> Line {
    let hint = match (below, whole) {
        (0, _) => format!("[end, {above} lines above]"),
        (below, Fold::Folded) => format!("[{below} more lines: PgDn, v all]"),
        (below, Fold::Open) => format!("[{below} more lines: PgDn]"),
    };
    Line::spread(Line::new(), Line::of(hint, Role::Waiting), width)
}

/// Lines of a body laid out for a list, at this width.
pub fn body_height(card: &Card, width: usize, glyphs: &'static Glyphs) -> usize {
    body(card, &Layout { width, hunks: &card.hunks, glyphs }, width).lines.len()
}

/// What would happen, whole: the summary, the preview, with `v` the arguments.
fn body(card: &Card, layout: &Layout<'_>, columns: usize) -> diff::Page {
    let width = layout.width;
    let mut hunks = Vec::new();
    let plan = &card.request.plan;
    let even = Margin::default();
    let mut lines = wrap_spans(&[Span::new(expand_tabs(&plan.summary), Role::Text)], width, &even);
    let preview = match &plan.preview {
        Preview::None => json(&card.request.args, width),
        Preview::Text { text } => verbatim(text, width),
        Preview::Diff { lines: changed, .. } => {
            let page = diff::page(changed, layout, columns);
            hunks = page.hunks.iter().map(|row| lines.len() + 1 + row).collect();
            page.lines
        }
        Preview::Fields { fields } => self::fields(fields, width),
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
    diff::Page { lines, hunks }
}
