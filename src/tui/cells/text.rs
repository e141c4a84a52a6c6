//! Cells that are only text: the user's prompts, the program's own messages, failures.

use std::borrow::Cow;

use super::{Fold, RenderContext};
use crate::frontend::protocol::Tone;
use crate::stdx::text::expand_tabs;
use crate::tui::copied::exactly;
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::markdown::render;
use crate::tui::theme::Role;

/// The number of lines shown of a prompt: while folded, how many of these are its last ones, and at most.
const FOLDED_LINES: usize = 40;
const LAST_LINES: usize = 10;
const MOST_LINES: usize = 2_000;

/// The longest shown part of one line of a prompt, in bytes.
const LONGEST_LINE: usize = 16 * 1024;

/// Whether a prompt is longer than a folded cell shows.
pub fn is_long(text: &str) -> bool {
    text.trim_end_matches('\n').split('\n').nth(FOLDED_LINES).is_some()
}

/// Lays out a prompt. What is too long is left out of its middle: the last words were typed behind a pasted text.
pub fn user(text: &str, short: Option<&str>, context: &RenderContext) -> Vec<Line> {
    let (text, most) = match context.details {
        Fold::Folded => (short.unwrap_or(text), FOLDED_LINES),
        Fold::Open => (text, MOST_LINES),
    };
    let margin = context.bar_margin(context.glyphs.user, Role::User);
    let mut lines = Vec::new();
    let all: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    let hidden = all.len().saturating_sub(most);
    let left_out = most - LAST_LINES..most - LAST_LINES + hidden;
    for (at, line) in all.into_iter().enumerate() {
        if hidden > 0 && at == left_out.start {
            let more = Span::new(format!("… {hidden} more lines …"), Role::Dim);
            lines.extend(wrap_spans(&[more], context.width, &margin).into_iter().map(Line::ours));
        }
        if !left_out.contains(&at) {
            let line = without_middle(line);
            let wrapped = wrap_spans(&[Span::new(expand_tabs(&line), Role::Text)], context.width, &margin);
            lines.extend(exactly(wrapped, &line));
        }
    }
    lines
}

/// Returns a line of bounded length.
fn without_middle(line: &str) -> Cow<'_, str> {
    if line.len() <= LONGEST_LINE {
        return Cow::Borrowed(line);
    }
    let (head, _) = line.split_at(line.floor_char_boundary(LONGEST_LINE / 2));
    let (_, tail) = line.split_at(line.ceil_char_boundary(line.len() - LONGEST_LINE / 2));
    Cow::Owned(format!("{head} … {tail}"))
}

pub fn local(title: &str, text: &str, tone: Tone, context: &RenderContext) -> Vec<Line> {
    let (mark, role) = match tone {
        Tone::Plain => (context.glyphs.dot, Role::Dim),
        Tone::Warning => ("!", Role::Waiting),
        Tone::Error => (context.glyphs.fail, Role::Fail),
    };
    let mut lines = Vec::new();
    let mut page = context.page(mark, role);
    if !title.is_empty() {
        lines = wrap_spans(&[Span::new(title, role)], context.width, &page.margin);
        page.margin = Margin::even(page.margin.rest);
    }
    lines.extend(render(text, &page));
    lines
}

pub fn failure(message: &str, advice: &str, context: &RenderContext) -> Vec<Line> {
    plain((context.glyphs.fail, Role::Fail), &[(message, Role::Fail), (advice, Role::Dim)], context)
}

pub fn note(text: &str, context: &RenderContext) -> Vec<Line> {
    plain((context.glyphs.dot, Role::Dim), &[(text, Role::Dim)], context)
}

/// Lays out texts line by line, behind a mark.
fn plain((mark, role): (&str, Role), texts: &[(&str, Role)], context: &RenderContext) -> Vec<Line> {
    let mut margin = context.page(mark, role).margin;
    let mut lines = Vec::new();
    for (text, role) in texts {
        for line in text.lines() {
            lines.extend(wrap_spans(&[Span::new(expand_tabs(line), *role)], context.width, &margin));
            margin = Margin::even(margin.rest);
        }
    }
    lines
}
