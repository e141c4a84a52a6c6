//! Cells that are only text: the user's prompts, the program's own messages, failures.

use super::{Fold, Look};
use crate::frontend::protocol::Tone;
use crate::stdx::text::expand_tabs;
use crate::tui::copied::exactly;
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::markdown::render;
use crate::tui::theme::Role;

/// The number of lines shown of a prompt: while folded, and at most.
const FOLDED_LINES: usize = 40;
const MOST_LINES: usize = 2_000;

/// The longest shown part of one line of a prompt, in bytes.
const LONGEST_LINE: usize = 16 * 1024;

/// Whether a prompt is longer than a folded cell shows.
pub fn is_long(text: &str) -> bool {
    text.trim_end_matches('\n').split('\n').nth(FOLDED_LINES).is_some()
}

pub fn user(text: &str, look: &Look) -> Vec<Line> {
    let shown = match look.details {
        Fold::Folded => FOLDED_LINES,
        Fold::Open => MOST_LINES,
    };
    let margin = look.barred(look.glyphs.user, Role::User);
    let mut lines = Vec::new();
    let text = text.trim_end_matches('\n');
    for line in text.split('\n').take(shown) {
        let (line, _) = line.split_at(line.floor_char_boundary(LONGEST_LINE));
        let wrapped = wrap_spans(&[Span::new(expand_tabs(line), Role::Text)], look.width, &margin);
        lines.extend(exactly(wrapped, line));
    }
    let hidden = text.split('\n').count().saturating_sub(shown);
    if hidden > 0 {
        let more = Span::new(format!("… {hidden} more lines"), Role::Dim);
        lines.extend(wrap_spans(&[more], look.width, &margin).into_iter().map(Line::ours));
    }
    lines
}

pub fn local(title: &str, text: &str, tone: Tone, look: &Look) -> Vec<Line> {
    let (mark, role) = match tone {
        Tone::Plain => (look.glyphs.dot, Role::Dim),
        Tone::Warning => ("!", Role::Waiting),
        Tone::Error => (look.glyphs.fail, Role::Fail),
    };
    let mut lines = Vec::new();
    let mut page = look.page(mark, role);
    if !title.is_empty() {
        lines = wrap_spans(&[Span::new(title, role)], look.width, &page.margin);
        page.margin = Margin::even(page.margin.rest);
    }
    lines.extend(render(text, &page));
    lines
}

pub fn failure(message: &str, advice: &str, look: &Look) -> Vec<Line> {
    let page = look.page(look.glyphs.fail, Role::Fail);
    let mut lines = Vec::new();
    let mut margin = page.margin;
    for (text, role) in [(message, Role::Fail), (advice, Role::Dim)] {
        for line in text.lines() {
            lines.extend(wrap_spans(&[Span::new(expand_tabs(line), role)], look.width, &margin));
            margin = Margin::even(margin.rest);
        }
    }
    lines
}

pub fn note(text: &str, look: &Look) -> Vec<Line> {
    let mut margin = look.page(look.glyphs.dot, Role::Dim).margin;
    let mut lines = Vec::new();
    for line in text.lines() {
        lines.extend(wrap_spans(&[Span::new(expand_tabs(line), Role::Dim)], look.width, &margin));
        margin = Margin::even(margin.rest);
    }
    lines
}
