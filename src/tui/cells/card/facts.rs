//! The facts beside a request's body: why it asks, where it would run, what can be undone.

use jiff::tz::TimeZone;

use super::sheet::{Frame, Room};
use super::words;
use crate::frontend::protocol::Header;
use crate::stdx::text::{expand_tabs, one_line_summary};
use crate::tool::{Access, Undo};
use crate::tui::cards::Card;
use crate::tui::cells::Fold;
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::theme::{Glyphs, Role};

/// Cells for the names of facts.
const FACT: usize = 6;

/// Returns the facts, one cut line each; `w` moves them into the body instead.
pub fn facts(card: &Card, frame: &Frame<'_>, width: usize) -> Vec<Line> {
    if card.why == Fold::Open {
        return Vec::new();
    }
    let request = &card.request;
    let why = request.why.join(&format!(" {} ", frame.look.glyphs.dot));
    let facts = [
        ("back", request.again.clone().unwrap_or_default(), Role::Waiting),
        ("words", from_others(card, frame.look.glyphs), Role::Waiting),
        ("why", why, Role::Dim),
        ("where", place(card, frame.header), Role::Dim),
        ("undo", undo(card).to_owned(), Role::Dim),
        ("after", card.after.join(", "), Role::Dim),
        ("until", until(card, frame.zone), Role::Dim),
    ];
    let mut lines = vec![Line::new()];
    for (name, text, role) in facts {
        if !text.is_empty() {
            let text = one_line_summary(&text, width - FACT);
            lines.push(Line::of(format!("{name:<FACT$}"), Role::Dim).with(text, role));
        }
    }
    lines
}

/// Returns every reason on its own lines.
pub(super) fn reasons(card: &Card, room: &Room<'_>) -> Vec<Line> {
    let (request, width) = (&card.request, room.width);
    let mut lines = Vec::new();
    let mut fact = |name: &str, text: &str, role: Role| {
        let first = Line::of(format!("{name:<FACT$}"), Role::Dim);
        let margin = Margin::new(first, Line::of(" ".repeat(FACT), Role::Text));
        lines.extend(wrap_spans(&[Span::new(expand_tabs(text), role)], width, &margin));
    };
    if let Some(again) = &request.again {
        fact("back", again, Role::Waiting);
    }
    for (index, why) in request.why.iter().enumerate() {
        fact(if index == 0 { "why" } else { "" }, why, Role::Text);
    }
    for (index, taint) in request.taint.iter().enumerate() {
        let words = format!("{} {}", room.glyphs.taint, words::told(taint));
        fact(if index == 0 { "words" } else { "" }, &words, Role::Waiting);
    }
    let place = place(card, room.header);
    if !place.is_empty() {
        fact("where", &place, Role::Text);
    }
    if !undo(card).is_empty() {
        fact("undo", undo(card), Role::Text);
    }
    for (index, after) in card.after.iter().enumerate() {
        fact(if index == 0 { "after" } else { "" }, after, Role::Text);
    }
    let until = until(card, room.zone);
    if !until.is_empty() {
        fact("until", &until, Role::Text);
    }
    fact("id", &request.id.to_string(), Role::Dim);
    lines
}

/// Names the sources of tainted arguments.
fn from_others(card: &Card, glyphs: &Glyphs) -> String {
    let taint = &card.request.taint;
    if taint.is_empty() {
        return String::new();
    }
    format!("{} from {}", glyphs.taint, words::sources(taint).join(", "))
}

/// Returns the deadline of the decision.
fn until(card: &Card, zone: &TimeZone) -> String {
    let told = |at: jiff::Timestamp| {
        format!("{}, then it is not done", at.to_zoned(zone.clone()).strftime("%a %-d %b %H:%M"))
    };
    card.request.expires.map(told).unwrap_or_default()
}

/// Returns the folder it would run in; for unrestricted access also the isolation.
pub(super) fn place(card: &Card, header: Option<&Header>) -> String {
    let Some(header) = header else { return String::new() };
    let folder = header.workspace.display();
    match card.request.plan.access {
        Access::Anything => format!("{folder}, {}", header.isolation),
        Access::Paths { .. } | Access::Nothing => folder.to_string(),
    }
}

/// Describes what can be undone; a question does nothing.
fn undo(card: &Card) -> &'static str {
    let plan = &card.request.plan;
    match plan.undo {
        _ if plan.question.is_some() => "",
        Undo::Exact => "what it changes can be put back exactly",
        Undo::Compensating => "it can be made up for, not undone",
        Undo::Hold => "it is held for a moment before it happens",
        Undo::None => "it cannot be undone",
    }
}
