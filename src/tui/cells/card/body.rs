//! The body of a request, laid out once per basis, so that a long diff is not laid out for every frame. Called by the
//! layout before it draws a card or a list.

use std::collections::BTreeSet;

use super::facts::{place, reasons};
use super::preview::{fields, verbatim};
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
use crate::tui::screen::Screen;
use crate::tui::theme::{Glyphs, Role};

impl BodyBasis {
    fn is(&self, card: &Card, screen: &Screen<'_>, width: usize, form: BodyForm) -> bool {
        self.width == width
            && self.depth == card.depth
            && self.is_split == is_split(card.hunks.sides, screen.columns)
            && (self.form, self.why) == (form, card.why)
            && self.skipped.iter().copied().eq(card.hunks.skips())
            && self.here == card.hunks.here()
            && self.chosen == card.chosen
            && self.place == place(card, screen.header)
            && self.after == card.after
            && (self.glyphs, self.languages) == (screen.context.glyphs, screen.context.languages)
            && self.request == card.request
    }
}

/// Prepares the body for a list that shows it in `width` cells.
pub fn prepare_detail(card: &mut Card, screen: &Screen<'_>, width: usize) {
    lay_out(card, &Screen { columns: width, ..*screen }, width, BodyForm::Card);
}

/// Lays out the body in lines of `width` cells if its basis changed.
pub fn lay_out(card: &mut Card, screen: &Screen<'_>, width: usize, form: BodyForm) {
    if card.body.basis.as_ref().is_some_and(|basis| basis.is(card, screen, width, form)) {
        return;
    }
    let RenderContext { glyphs, languages, .. } = screen.context;
    let basis = BodyBasis {
        request: card.request.clone(),
        width,
        depth: card.depth,
        is_split: is_split(card.hunks.sides, screen.columns),
        form,
        why: card.why,
        skipped: card.hunks.skips().collect(),
        here: card.hunks.here(),
        chosen: card.chosen.clone(),
        place: place(card, screen.header),
        after: card.after.clone(),
        glyphs,
        languages,
    };
    let (page, more) = page(card, screen, width, form);
    card.body = Body { basis: Some(Box::new(basis)), page, more, layouts: card.body.layouts + 1 };
}

/// Lays out summary and preview, in the pager the arguments, with `w` every reason on its own lines.
fn page(card: &Card, screen: &Screen<'_>, width: usize, form: BodyForm) -> (Page, usize) {
    let RenderContext { glyphs, languages, .. } = screen.context;
    let mut head = Head { left: card.depth, more: 0 };
    let mut hunks = Vec::new();
    let plan = &card.request.plan;
    let is_diff = matches!(plan.preview, Preview::Diff { .. });
    let even = Margin::default();
    let mut lines = wrap_spans(&[Span::new(expand_tabs(&plan.summary), Role::Text)], width, &even);
    if let Some(question) = &plan.question {
        lines = question_lines(question, &card.chosen, width);
    }
    if form == BodyForm::Change && is_diff {
        lines.clear();
    }
    if !matches!(plan.preview, Preview::Fields { .. }) {
        mark(&mut lines, card, glyphs, width);
    }
    let preview = match &plan.preview {
        Preview::None if plan.question.is_some() => Vec::new(),
        Preview::None => verbatim(head.of(&pretty(&card.request.args)), width),
        Preview::Text { text } => verbatim(head.of(text), width),
        Preview::Diff { lines: changed, .. } => {
            let code = DiffCode { language: card.language(), languages };
            let layout = Layout { width, hunks: &card.hunks, glyphs, code };
            let page = split::page(head.of_diff(changed), &layout, screen.columns);
            hunks = page.hunks.iter().map(|row| lines.len() + row).collect();
            page.lines
        }
        Preview::Fields { fields: all } => {
            let tainted =
                |name: &str| card.request.taint.iter().any(|taint| taint::argument_of(&taint.arg) == name);
            let all: Vec<(&str, &str)> =
                all.iter().map(|(name, value)| (name.as_str(), head.of(value))).collect();
            fields(&all, width, glyphs.taint, tainted)
        }
    };
    if !preview.is_empty() {
        // A diff needs no blank line around it, and rows are scarce: rows that were not on the screen cannot be approved.
        if !lines.is_empty() && !is_diff {
            lines.push(Line::new());
        }
        lines.extend(preview);
    }
    if form == BodyForm::WithArguments && plan.preview != Preview::None {
        lines.push(Line::new());
        lines.push(Line::of("arguments", Role::Dim));
        lines.extend(verbatim(head.of(&pretty(&not_shown(&card.request))), width));
    }
    if card.why == Fold::Open {
        lines.push(Line::new());
        lines.extend(reasons(card, screen, width));
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
fn question_lines(question: &Question, chosen: &BTreeSet<usize>, width: usize) -> Vec<Line> {
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

/// Marks the tainted arguments, at the right of the first line or below it.
fn mark(lines: &mut Vec<Line>, card: &Card, glyphs: &Glyphs, width: usize) {
    let names = taint::arguments(&card.request.taint);
    if names.is_empty() {
        return;
    }
    let mark = Line::of(format!("{} {}", glyphs.taint, names.join(", ")), Role::Waiting).cut(width);
    match lines.first_mut() {
        Some(first) if first.width() + 2 + mark.width() <= width => {
            *first = Line::spread(std::mem::take(first), mark, width);
        }
        Some(_) | None => lines.push(mark),
    }
}
