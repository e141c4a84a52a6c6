//! The body of a request, laid out once per basis, so that a long diff is not laid out for every frame. Called by the
//! layout before it draws a card or a list.

use std::collections::BTreeSet;

use super::facts::{place, reasons};
use super::preview::{fields, verbatim};
use super::sheet::{Frame, Room};
use super::taint;
use crate::frontend::fields::not_shown;
use crate::stdx::text::expand_tabs;
use crate::tool::{DiffLine, Preview, Question};
use crate::tui::cards::{Body, BodyBasis, BodyForm, Card};
use crate::tui::cells::diff::{DiffCode, Layout, Page, is_split};
use crate::tui::cells::split;
use crate::tui::cells::{Fold, RenderContext};
use crate::tui::form::pretty;
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::theme::Role;

impl BodyBasis {
    fn is(&self, card: &Card, room: &Room<'_>) -> bool {
        self.width == room.width
            && self.depth == card.depth
            && self.is_split == is_split(card.hunks.sides, room.columns)
            && (self.form, self.why) == (room.form, card.why)
            && self.skipped.iter().copied().eq(card.hunks.skips())
            && self.here == card.hunks.here()
            && self.place == place(card, room.header)
            && self.after == card.after
            && (self.glyphs, self.languages) == (room.glyphs, room.languages)
            && self.request == card.request
    }
}

/// Prepares the body for a list that shows it in `width` cells.
pub fn prepare_detail(card: &mut Card, frame: &Frame<'_>, width: usize) {
    lay_out(card, &room(frame, width, width));
}

pub fn room<'a>(frame: &Frame<'a>, width: usize, columns: usize) -> Room<'a> {
    let form = BodyForm::Card;
    let RenderContext { glyphs, languages, .. } = *frame.context;
    Room { width, columns, header: frame.header, glyphs, languages, zone: frame.zone, form }
}

/// Lays out the body if its basis changed.
pub fn lay_out(card: &mut Card, room: &Room<'_>) {
    if card.body.basis.as_ref().is_some_and(|basis| basis.is(card, room)) {
        return;
    }
    let basis = BodyBasis {
        request: card.request.clone(),
        width: room.width,
        depth: card.depth,
        is_split: is_split(card.hunks.sides, room.columns),
        form: room.form,
        why: card.why,
        skipped: card.hunks.skips().collect(),
        here: card.hunks.here(),
        chosen: card.chosen.clone(),
        place: place(card, room.header),
        after: card.after.clone(),
        glyphs: room.glyphs,
        languages: room.languages,
    };
    let (page, more) = page(card, room);
    card.body = Body { basis: Some(Box::new(basis)), page, more, layouts: card.body.layouts + 1 };
}

/// Lays out summary and preview, in the pager the arguments, with `w` every reason on its own lines.
fn page(card: &Card, room: &Room<'_>) -> (Page, usize) {
    let width = room.width;
    let mut head = Head { left: card.depth, more: 0 };
    let mut hunks = Vec::new();
    let plan = &card.request.plan;
    let is_diff = matches!(plan.preview, Preview::Diff { .. });
    let even = Margin::default();
    let mut lines = wrap_spans(&[Span::new(expand_tabs(&plan.summary), Role::Text)], width, &even);
    if let Some(question) = &plan.question {
        lines = asked(question, &card.chosen, width);
    }
    if room.form == BodyForm::Change && is_diff {
        lines.clear();
    }
    if !shows_fields(&plan.preview) {
        mark(&mut lines, card, room);
    }
    let preview = match &plan.preview {
        Preview::None if plan.question.is_some() => Vec::new(),
        Preview::None => verbatim(head.of(&pretty(&card.request.args)), width),
        Preview::Text { text } => verbatim(head.of(text), width),
        Preview::Diff { lines: changed, .. } => {
            let code = DiffCode { language: card.language(), languages: room.languages };
            let layout = Layout { width, hunks: &card.hunks, glyphs: room.glyphs, code };
            let page = split::page(head.of_diff(changed), &layout, room.columns);
            hunks = page.hunks.iter().map(|row| lines.len() + row).collect();
            page.lines
        }
        Preview::Fields { fields: all } => {
            let tainted =
                |name: &str| card.request.taint.iter().any(|taint| taint::argument_of(&taint.arg) == name);
            let all: Vec<(&str, &str)> =
                all.iter().map(|(name, value)| (name.as_str(), head.of(value))).collect();
            fields(&all, width, room.glyphs.taint, tainted)
        }
    };
    if !preview.is_empty() {
        // A diff needs no blank line around it, and rows are scarce: rows that were not on the screen cannot be approved.
        if !lines.is_empty() && !is_diff {
            lines.push(Line::new());
        }
        lines.extend(preview);
    }
    if room.form == BodyForm::WithArguments && plan.preview != Preview::None {
        lines.push(Line::new());
        lines.push(Line::of("arguments", Role::Dim));
        lines.extend(verbatim(head.of(&pretty(&not_shown(&card.request))), width));
    }
    if card.why == Fold::Open {
        lines.push(Line::new());
        lines.extend(reasons(card, room));
    }
    (Page { lines, hunks }, head.more)
}

/// The laid-out beginning of long texts.
struct Head {
    left: usize,
    /// Bytes left out.
    more: usize,
}

impl Head {
    fn of<'a>(&mut self, text: &'a str) -> &'a str {
        let (head, rest) = text.split_at(text.floor_char_boundary(self.left));
        self.left -= head.len();
        self.more += rest.len();
        head
    }

    fn of_diff<'a>(&mut self, lines: &'a [DiffLine]) -> &'a [DiffLine] {
        let mut count = 0;
        for line in lines {
            if line.text.len() > self.left {
                break;
            }
            self.left -= line.text.len();
            count += 1;
        }
        let (head, rest) = lines.split_at(count);
        self.more += rest.iter().map(|line| line.text.len().max(1)).sum::<usize>();
        head
    }
}

/// Returns the question for the user and its options.
fn asked(question: &Question, chosen: &BTreeSet<usize>, width: usize) -> Vec<Line> {
    let mut lines =
        wrap_spans(&[Span::new(expand_tabs(&question.text), Role::Heading)], width, &Margin::default());
    if !question.options.is_empty() {
        lines.push(Line::new());
    }
    for (index, option) in question.options.iter().enumerate() {
        let number = match (question.many, chosen.contains(&(index + 1))) {
            (false, _) => format!("{:>3}  ", index + 1),
            (true, true) => format!("{:>3}  [x] ", index + 1),
            (true, false) => format!("{:>3}  [ ] ", index + 1),
        };
        let margin =
            Margin::new(Line::of(&number, Role::Key), Line::of(" ".repeat(number.len()), Role::Text));
        lines.extend(wrap_spans(&[Span::new(expand_tabs(option), Role::Text)], width, &margin));
    }
    lines
}

fn shows_fields(preview: &Preview) -> bool {
    matches!(preview, Preview::Fields { .. })
}

/// Marks the tainted arguments, at the right of the first line or below it.
fn mark(lines: &mut Vec<Line>, card: &Card, room: &Room<'_>) {
    let names = taint::arguments(&card.request.taint);
    if names.is_empty() {
        return;
    }
    let mark = Line::of(format!("{} {}", room.glyphs.taint, names.join(", ")), Role::Waiting).cut(room.width);
    match lines.first_mut() {
        Some(first) if first.width() + 2 + mark.width() <= room.width => {
            *first = Line::spread(std::mem::take(first), mark, room.width);
        }
        Some(_) | None => lines.push(mark),
    }
}
