//! The card of a request: what would happen, why it asks, and the keys that decide. At most as high as the pane; the
//! rest scrolls. Only draws; called by the layout, which records how much of it was on the screen.

mod body;
mod facts;
mod keys;
mod preview;
mod sheet;
mod words;

pub use self::body::prepare_detail;
use self::body::{lay_out, room};
pub use self::facts::facts;
pub use self::keys::{decide, fitting, keys_line, more, whole_words};
pub use self::sheet::{
    BODY, Drawn, Frame, Holds, LOW, ListView, NARROW, OutOfSight, Sheet, WIDEST, advice, hint, inner,
    taint_mark,
};
pub use self::words::{argument_of, sources};
use super::{Fold, call, diff, form, rule};
use crate::tool::{Preview, hunks};
use crate::tui::cards::{Card, CardStage};
use crate::tui::composer::Rows;
use crate::tui::keys::{Action, CardKey, Context};
use crate::tui::line::Line;
use crate::tui::theme::Role;

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

/// Prepares what [`draw`] shows of this card.
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

/// Returns the width of a card that asks.
fn width(card: &Card, frame: &Frame<'_>) -> usize {
    let is_diff = matches!(card.request.plan.preview, Preview::Diff { .. });
    if is_diff && diff::is_split(card.hunks.sides, frame.columns) {
        frame.columns
    } else {
        frame.look.width.min(WIDEST)
    }
}

impl Sheet<'_> {
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

    /// Returns the left of the title: the tool that asks.
    fn title(&self, card: &Card) -> Line {
        let request = &card.request;
        Line::of(format!("{} ", self.frame.look.glyphs.waiting), Role::Waiting)
            .with(request.tool.as_str(), Role::Tool)
            .with(" ", Role::Text)
            .with(call::subject(&request.args), Role::Text)
            .joined(taint_mark(card, self.frame.look.glyphs))
    }

    /// Returns the right of the title: position, risk and size.
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
}
