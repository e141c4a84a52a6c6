//! The card of a request: what would happen, why it asks, and the keys that decide.
//!
//! It is as high as the pane at most; what does not fit scrolls inside, and says so. It shows, it never decides.
//! Called by the layout, which tells the card how much of it was on the screen.

mod body;
mod edges;
mod facts;
mod keys;
mod preview;
mod words;

pub use self::body::{Body, DEPTH};
use self::body::{Room, lay_out};
pub(super) use self::facts::facts;
pub(super) use self::keys::{decide, whole_words};
pub use self::keys::{fitting, keys_line};
pub(super) use self::words::{field as argument_of, sources};
use super::{Fold, Look, call, diff, form, rule};
use jiff::tz::TimeZone;

use crate::frontend::protocol::Header;
use crate::tool::{Preview, hunks};
use crate::tui::cards::{Card, CardStage};
use crate::tui::composer::{Position, Rows};
use crate::tui::keys::{Action, CardKey, Context, Keymap, Nav};
use crate::tui::line::Line;
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
    pub keymap: &'a Keymap,
    pub holds: Holds,
    /// Whether yes was said once to what is HIGH.
    pub approved_once: bool,
    /// Rows of the pane.
    pub rows: usize,
    /// Cells of the pane; a card is never wider than [`Look::width`], a list may be.
    pub columns: usize,
    /// Which card of how many, from 1.
    pub position: (usize, usize),
    /// Where commands would run.
    pub header: Option<&'a Header>,
    /// In whose time moments are told.
    pub zone: &'a TimeZone,
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
    /// Lines that can be scrolled away of what stands beside a form.
    pub beside: usize,
}

pub fn draw(card: &Card, frame: &Frame<'_>) -> Drawn {
    match &card.stage {
        CardStage::Editing(form) => form::draw(card, form, frame),
        CardStage::Rule(written) => rule::draw(card, written, frame),
        CardStage::Asking | CardStage::Reason(_) | CardStage::Deciding(_) => {
            let mut sheet = Sheet::new(frame, width(card, frame));
            sheet.asking(card);
            sheet.drawn
        }
    }
}

/// Makes ready what [`draw`] shows of this card.
pub fn prepare(card: &mut Card, frame: &Frame<'_>) {
    let width = inner(width(card, frame));
    match &mut card.stage {
        CardStage::Editing(form) => form::prepare(form, frame.columns),
        CardStage::Rule(_) => {}
        CardStage::Asking | CardStage::Reason(_) | CardStage::Deciding(_) => {
            lay_out(card, &room(frame, width, frame.columns));
        }
    }
}

/// Makes ready what a list shows of this card in so many cells.
pub fn prepare_detail(card: &mut Card, frame: &Frame<'_>, width: usize) {
    lay_out(card, &room(frame, width, width));
}

fn room<'a>(frame: &Frame<'a>, width: usize, columns: usize) -> Room<'a> {
    Room { width, columns, header: frame.header, glyphs: frame.look.glyphs, zone: frame.zone }
}

/// Cells of text inside the sides of a card.
fn inner(width: usize) -> usize {
    width.saturating_sub(if width < NARROW { 2 } else { 4 })
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
        Self { frame, width, inner: inner(width), drawn: Drawn::default() }
    }

    fn asking(&mut self, card: &Card) {
        let body = card.body.lines();
        self.drawn.hunks = card.body.hunks().to_vec();
        let facts = if self.frame.rows < LOW { Vec::new() } else { facts(card, self.frame, self.inner) };
        let foot = self.foot(card);
        let fixed = 2 + facts.len() + foot.len();
        let cap = match (card.whole, card.why) {
            (Fold::Folded, Fold::Folded) => BODY.max(self.frame.rows * 2 / 3),
            (Fold::Open, _) | (_, Fold::Open) => usize::MAX,
        };
        let space = self.frame.rows.saturating_sub(fixed).min(cap).max(1);
        let clipped = body.len() > space || card.body.more() > 0;
        // The hint takes a line of its own, so that it covers nothing.
        let room = if clipped { space.saturating_sub(1).max(1).min(body.len()) } else { body.len() };
        let from = card.scroll.min(body.len().saturating_sub(room));
        self.border(&self.title(card), &self.badge(card), 0);
        for line in body.iter().skip(from).take(room) {
            self.put(line.clone());
        }
        if clipped {
            let keys = more(card, self.frame.keymap, Context::Card, Action::Card(CardKey::Whole));
            let out = OutOfSight { above: from, below: body.len() - from - room, bytes: card.body.more() };
            self.put(hint(&out, &keys, self.inner));
        }
        self.drawn.body_width = self.inner;
        self.drawn.body_room = room;
        self.drawn.body_total = body.len();
        for line in facts {
            self.put(line);
        }
        let first = self.drawn.lines.len();
        if let CardStage::Reason(editor) = &card.stage {
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
            .joined(taint_mark(card, self.frame.look.glyphs))
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

/// That the arguments carry another's words.
pub(super) fn taint_mark(card: &Card, glyphs: &Glyphs) -> Line {
    if card.request.taint.is_empty() {
        Line::new()
    } else {
        Line::of(format!(" {}", glyphs.taint), Role::Waiting)
    }
}

/// How much of a body is out of sight: lines, and bytes that are not laid out.
pub(super) struct OutOfSight {
    pub(super) above: usize,
    pub(super) below: usize,
    pub(super) bytes: usize,
}

/// The same in words.
pub(super) fn hint(out: &OutOfSight, keys: &str, width: usize) -> Line {
    let more = match (out.bytes, out.below) {
        (0, 0) => format!("end, {} lines above", out.above),
        (0, below) => format!("{below} more lines"),
        (bytes, _) => format!("{} kB more", bytes.div_ceil(1_000)),
    };
    let is_end = out.bytes == 0 && out.below == 0;
    let hint = if is_end || keys.is_empty() { format!("[{more}]") } else { format!("[{more}: {keys}]") };
    Line::spread(Line::new(), Line::of(hint, Role::Waiting), width)
}

/// The keys that show more of a body.
pub(super) fn more(card: &Card, keymap: &Keymap, context: Context, whole: Action) -> String {
    if card.is_long() && context == Context::Card {
        let outside = [(context, Action::Card(CardKey::Read), "$EDITOR")];
        return keymap.row(&outside);
    }
    let keys = [(Context::Global, Action::Nav(Nav::PageDown), ""), (context, whole, "all")];
    match card.whole {
        Fold::Folded => keymap.row(&keys),
        Fold::Open => keymap.row(&keys[..1]),
    }
}
