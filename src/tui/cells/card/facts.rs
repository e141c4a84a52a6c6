//! The facts beside a request's body: why it asks, where it would run, what can be undone.

use jiff::SignedDuration;

use super::taint;
use crate::frontend::protocol::Header;
use crate::stdx::moment::{deadline, with_day};
use crate::stdx::text::{expand_tabs, one_line_summary, width as cells};
use crate::tool::Access;
use crate::tui::cards::Card;
use crate::tui::cells::Fold;
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::screen::Screen;
use crate::tui::theme::{Glyphs, Role};

/// Cells for the names of facts.
const FACT: usize = 8;

/// Below this height of the pane the facts share one line.
const SHORT: usize = 26;

/// The time before its expiry from which a request says when it expires.
const NEAR: SignedDuration = SignedDuration::from_hours(24);

/// Returns the facts in cut lines; `w` moves them into the body instead.
pub fn facts(card: &Card, screen: &Screen<'_>, width: usize) -> Vec<Line> {
    if card.why == Fold::Open {
        return Vec::new();
    }
    let request = &card.request;
    let dot = format!(" {} ", screen.context.glyphs.dot);
    let why = request.why.join(&dot);
    let undo = request.plan.undo_sentence().unwrap_or_default();
    let warnings = [
        ("back", request.again.clone().unwrap_or_default(), Role::Waiting),
        ("source", from_others(card, screen.context.glyphs), Role::Waiting),
    ];
    let facts = [
        ("why", why, Role::Dim),
        ("where", place(card, screen.header), Role::Dim),
        ("undo", undo.to_owned(), Role::Dim),
        ("after", card.after.join(", "), Role::Dim),
        ("until", expires_soon(card, screen), Role::Dim),
    ];
    let mut lines = Vec::new();
    let mut put = |name: &str, text: &str, role| {
        if !text.is_empty() {
            let text = one_line_summary(text, width - FACT);
            lines.push(Line::of(format!("{name:<FACT$}"), Role::Dim).with(text, role));
        }
    };
    warnings.iter().for_each(|(name, text, role)| put(name, text, *role));
    if screen.rows < SHORT {
        let mut texts = facts.map(|(_, text, _)| text);
        // The header names the folder.
        texts[1] = isolation(card, screen.header).to_owned();
        put("why", &in_one_line(&texts, &dot, width - FACT), Role::Dim);
    } else {
        facts.iter().for_each(|(name, text, role)| put(name, text, *role));
        lines.insert(0, Line::new());
    }
    lines
}

/// Joins the facts into one line of so many cells; the first one is cut where they do not fit.
fn in_one_line(facts: &[String], dot: &str, width: usize) -> String {
    let [first, rest @ ..] = facts else { return String::new() };
    let rest: Vec<&str> = rest.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    let tail = rest.iter().map(|text| format!("{dot}{text}")).collect::<String>();
    let room = width.saturating_sub(cells(&tail)).max(width / 3);
    format!("{}{tail}", one_line_summary(first, room))
}

/// Returns every reason on its own lines.
pub(super) fn reasons(card: &Card, screen: &Screen<'_>, width: usize) -> Vec<Line> {
    let request = &card.request;
    let mut lines = Vec::new();
    let mut fact = |name: &str, texts: &[String], role: Role| {
        for (text, name) in texts.iter().zip(std::iter::once(name).chain(std::iter::repeat(""))) {
            let first = Line::of(format!("{name:<FACT$}"), Role::Dim);
            let margin = Margin::new(first, Line::of(" ".repeat(FACT), Role::Text));
            lines.extend(wrap_spans(&[Span::new(expand_tabs(text), role)], width, &margin));
        }
    };
    let known = |text: String| Some(text).filter(|text| !text.is_empty());
    let undo = request.plan.undo_sentence().map(str::to_owned);
    let expires = request.expires.map(|at| format!("expires {}", with_day(at, screen.zone)));
    let line = |taint| format!("{} {}", screen.context.glyphs.taint, taint::describe(taint));
    fact("back", request.again.as_slice(), Role::Waiting);
    fact("why", &request.why, Role::Text);
    fact("source", &request.taint.iter().map(line).collect::<Vec<_>>(), Role::Waiting);
    fact("where", known(place(card, screen.header)).as_slice(), Role::Text);
    fact("undo", undo.as_slice(), Role::Text);
    fact("after", &card.after, Role::Text);
    fact("until", expires.as_slice(), Role::Text);
    fact("id", &[request.id.to_string()], Role::Dim);
    lines
}

/// Names the sources of tainted arguments.
fn from_others(card: &Card, glyphs: &Glyphs) -> String {
    let taint = &card.request.taint;
    if taint.is_empty() {
        return String::new();
    }
    format!("{} from {}", glyphs.taint, taint::sources(taint).join(", "))
}

/// Returns when the request expires, if that is near.
fn expires_soon(card: &Card, screen: &Screen<'_>) -> String {
    let near = card.request.expires.filter(|at| at.duration_since(screen.now) < NEAR);
    near.map(|at| format!("expires {}", deadline(at, screen.now, screen.zone))).unwrap_or_default()
}

/// Returns the folder it would run in; for unrestricted access also the isolation.
pub(super) fn place(card: &Card, header: Option<&Header>) -> String {
    let folder = header.map(|header| header.workspace.display().to_string()).unwrap_or_default();
    match isolation(card, header) {
        "" => folder,
        isolation => format!("{folder}, {isolation}"),
    }
}

/// Returns the isolation of a call with unrestricted access.
fn isolation(card: &Card, header: Option<&Header>) -> &'static str {
    let plan = &card.request.plan;
    // A call that only a person can allow may leave the sandbox: nothing is said rather than something wrong.
    if matches!(plan.access, Access::Anything) && plan.needs_person.is_none() {
        header.map_or("", |header| header.isolation.word())
    } else {
        ""
    }
}
