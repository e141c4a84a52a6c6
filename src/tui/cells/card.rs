//! The card of a request: what would happen, why it asks, and the keys that decide. At most as high as the pane; the
//! rest scrolls. Only draws; called by the layout, which records how much of it was on the screen.

mod body;
mod facts;
mod keys;
mod preview;
mod sheet;
mod taint;

use std::ops::Range;

pub use self::body::{lay_out, prepare_detail};
pub use self::facts::facts;
pub use self::keys::{decide, fitting, keys_line, more};
pub use self::sheet::{
    BODY, CardLayout, CardView, LOW, ListView, NARROW, Sheet, WIDEST, advice, hint, inner, taint_mark,
};
pub use self::taint::{argument_of, sources};
use super::{Fold, call, diff};
use crate::tool::{Preview, hunks};
use crate::tui::cards::{BodyForm, Card, CardStage};
use crate::tui::composer::Rows;
use crate::tui::form;
use crate::tui::keys::{Action, CardKey, Context};
use crate::tui::line::Line;
use crate::tui::rule;
use crate::tui::screen::Screen;
use crate::tui::theme::{Glyphs, Role};

pub fn draw(card: &Card, screen: &Screen<'_>) -> CardLayout {
    match &card.stage {
        CardStage::Editing(form) => form::draw::draw(card, form, screen),
        CardStage::Rule(written) => rule::draw::draw(card, written, screen),
        CardStage::Asking | CardStage::Reason(_) | CardStage::Deciding(_) => {
            let mut sheet = Sheet::new(screen, width(card, screen));
            sheet.asking(card);
            sheet.drawn
        }
    }
}

/// Prepares what [`draw`] shows of this card.
pub fn prepare(card: &mut Card, screen: &Screen<'_>) {
    let width = inner(width(card, screen));
    match &mut card.stage {
        CardStage::Editing(form) => form::draw::prepare(form, screen.columns),
        CardStage::Rule(_) => {}
        CardStage::Asking | CardStage::Reason(_) | CardStage::Deciding(_) => {
            lay_out(card, screen, width, BodyForm::Card);
        }
    }
}

/// Returns the width of a card that asks.
fn width(card: &Card, screen: &Screen<'_>) -> usize {
    let is_diff = matches!(card.request.plan.preview, Preview::Diff { .. });
    if is_diff && diff::is_split(card.hunks.sides, screen.columns) {
        screen.columns
    } else {
        screen.context.width.min(WIDEST)
    }
}

impl Sheet<'_> {
    fn asking(&mut self, card: &Card) {
        let body = card.body.lines();
        self.drawn.hunks = card.body.page.hunks.clone();
        let facts = if self.screen.rows < LOW { Vec::new() } else { facts(card, self.screen, self.inner) };
        let foot = self.foot(card);
        let fixed = 2 + facts.len() + foot.len();
        let cap = match card.why {
            Fold::Folded => BODY.max(self.screen.rows * 2 / 3),
            Fold::Open => usize::MAX,
        };
        let space = self.screen.rows.saturating_sub(fixed).min(cap).max(1);
        let clipped = body.len() > space || card.body.more > 0;
        // The hint takes a line of its own, so that it covers nothing.
        let room = if clipped { space.saturating_sub(1).max(1).min(body.len()) } else { body.len() };
        let from = card.scroll.min(body.len().saturating_sub(room));
        let seen = from..from + room;
        self.border(&self.title(card), &self.badge(card, &seen), 0);
        for line in body.iter().skip(from).take(room) {
            self.put(line.clone());
        }
        if clipped {
            let keys = more(self.screen.keymap, Context::Card, Action::Card(CardKey::Whole));
            self.put(hint(from, body.len() - from - room, card.body.more, &keys, self.inner));
        }
        self.drawn.body_width = self.inner;
        self.drawn.view.body_room = room;
        self.drawn.view.body_total = body.len();
        self.put_all(facts);
        let first = self.drawn.lines.len();
        if let CardStage::Reason(editor) = &card.stage {
            let rows = Rows::of(editor, self.inner - 4);
            let above = rows.cursor.row - self.reason_from(&rows);
            self.drawn.view.cursor = Some(self.place(first + 1 + above, 2 + rows.cursor.column));
        }
        self.put_all(foot);
        self.end(&self.keys(card));
    }

    /// Returns the left of the title: the tool that asks.
    fn title(&self, card: &Card) -> Line {
        let glyphs = self.screen.context.glyphs;
        Line::of(format!("{} ", glyphs.waiting), Role::Waiting).joined(heading(card, glyphs))
    }

    /// Returns the right of the title: position, risk and size, and how many lines of the body were not seen, while
    /// these are shown.
    fn badge(&self, card: &Card, shown: &Range<usize>) -> Line {
        let mut line = Line::new();
        let dot = format!(" {} ", self.screen.context.glyphs.dot);
        let (at, of) = self.screen.position;
        if of > 1 {
            line = line.with(format!("{at} of {of}{dot}"), Role::Waiting);
        }
        line = line.joined(size(card, self.screen.context.glyphs, self.width));
        let (mut seen, total) = (card.seen, card.body.lines().len());
        seen.show(shown, total);
        if seen.lines_left(total) > 0 && card.body.more == 0 {
            line = line.with(format!("{dot}{} not seen", seen.lines_left(total)), Role::Waiting);
        }
        line
    }
}

/// Names a request: the tool and its most informative argument.
pub fn heading(card: &Card, glyphs: &Glyphs) -> Line {
    let request = &card.request;
    Line::of(request.tool.as_str(), Role::Tool)
        .with(" ", Role::Text)
        .with(call::subject(&request.args), Role::Text)
        .joined(taint_mark(card.is_tainted(), glyphs))
}

/// Returns the risk of a request and the size of its change, for a line of `width` cells.
pub fn size(card: &Card, glyphs: &Glyphs, width: usize) -> Line {
    let dot = format!(" {} ", glyphs.dot);
    let role = if card.is_high() { Role::High } else { Role::Dim };
    let mut line = Line::of(card.request.risk.word(), role);
    if let Preview::Diff { lines, .. } = &card.request.plan.preview {
        line = line.with(&dot, Role::Dim).joined(diff::counts(lines));
        let hunks = hunks::count(lines);
        if hunks > 1 && width >= NARROW {
            line = line.with(format!("{dot}{hunks} hunks"), Role::Dim);
        }
        if card.hunks.skipped_count() > 0 {
            line = line.with(format!("{dot}{} skipped", card.hunks.skipped_count()), Role::Waiting);
        }
    }
    line
}
