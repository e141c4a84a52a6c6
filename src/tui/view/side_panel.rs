//! The side panel of a wide screen: what is pending, what runs, how full the context window is. It takes no keys. It is
//! drawn for every frame, so it looks at the newest cells only.

use std::time::Duration;

use crate::frontend::protocol::Completeness;
use crate::stdx::moment::{duration, whole_seconds};
use crate::stdx::text::{one_line_summary, short_path};
use crate::tui::cells::call::subject;
use crate::tui::cells::{CallRow, CellKind};
use crate::tui::keys::{Action, Context};
use crate::tui::line::Line;
use crate::tui::model::{Focus, Model, PANEL, Phase, Turn};
use crate::tui::steps::StepState;
use crate::tui::theme::Role;

/// Cells of text, between the edge with its space and the screen's right end.
const INNER: usize = PANEL - 3;

/// Most requests, calls and queued prompts listed; the rest is counted.
const NAMED: usize = 6;

/// Most steps listed.
const STEPS: usize = 10;

/// Most cells searched for running calls: a turn shows no more rows at once.
const LOOKED_AT: usize = 200;

/// Returns its lines, `rows` of them with their edge; none if there is no panel.
pub fn lines(model: &Model, rows: usize) -> Vec<Line> {
    if model.panel_columns() == 0 {
        return Vec::new();
    }
    let mut body = waiting_lines(model);
    for section in [now(model), steps(model), context(model), money(model), session(model)] {
        if !section.is_empty() {
            body.push(Line::new());
            body.extend(section);
        }
    }
    body.resize(rows, Line::new());
    let edge = Line::of(model.glyphs.side, Role::Dim).with(" ", Role::Text);
    body.into_iter().map(|line| edge.clone().joined(line.cut(INNER + 1))).collect()
}

fn title(left: &str, right: Line) -> Line {
    Line::spread(Line::of(left, Role::Heading), right, INNER)
}

fn entry(text: &str, role: Role) -> Line {
    Line::of("  ", Role::Text).with(text, role)
}

fn fact(name: &str, value: &str) -> Line {
    let mut line = entry(name, Role::Dim);
    line.pad_to(11);
    line.with(one_line_summary(value, INNER), Role::Text)
}

/// Returns the last line of a list that is cut.
fn more(count: usize) -> Option<Line> {
    let hidden = count.checked_sub(NAMED).filter(|hidden| *hidden > 0)?;
    Some(entry(&format!("{hidden} more"), Role::Dim))
}

fn waiting_lines(model: &Model) -> Vec<Line> {
    let (count, all) = (model.cards.count(), model.waiting_count());
    let role = if all > 0 { Role::Waiting } else { Role::Dim };
    let badge = Line::of(format!("{} {all}", model.glyphs.waiting), role);
    let mut lines = vec![title("WAITING FOR YOU", badge)];
    if all == 0 {
        lines.push(entry("none", Role::Dim));
    }
    let current = model.cards.current().filter(|_| model.focus == Focus::Card).map(|card| &card.request.id);
    for card in model.cards.iter().take(NAMED) {
        let request = &card.request;
        let has_keys = current == Some(&request.id);
        let mark = if has_keys { model.glyphs.folded } else { " " };
        let risk = if card.is_high() { Role::High } else { Role::Dim };
        let mut line = Line::of(format!("{mark} "), Role::Waiting).with(request.risk.word(), risk);
        line.pad_to(9);
        let role = if card.is_decided() { Role::Dim } else { Role::Text };
        let what = format!("{}  {}", request.tool.as_str(), subject(&request.args));
        lines.push(line.with(one_line_summary(&what, INNER), role));
    }
    lines.extend(more(count));
    if model.elsewhere > 0 {
        let key = model.keymap.around(": ", Context::Global, Action::FocusCard, "");
        lines.push(entry(&format!("{} in other sessions{key}", model.elsewhere), Role::Waiting));
    }
    lines
}

fn now(model: &Model) -> Vec<Line> {
    let mut lines = vec![title("NOW", Line::new())];
    let spinner = model.context().spinner();
    let running = running_calls(model);
    for (row, took) in running.iter().take(NAMED) {
        let what = format!("{}  {}", row.name, row.subject);
        lines.push(going(&format!("{spinner} {}", one_line_summary(&what, INNER)), &duration(*took)));
    }
    lines.extend(more(running.len()));
    if model.shell_runs {
        lines.push(entry(&format!("{spinner} your command"), Role::Text));
    }
    if let Some(retry) = &model.retry {
        let text = format!("{} {}", model.glyphs.retry, retry.class.label());
        lines.push(entry(&text, Role::Waiting));
    } else if let Some(turn) = model.turn.as_ref().filter(|_| running.is_empty()) {
        let took = whole_seconds(model.now_ms.saturating_sub(turn.since_ms));
        lines.push(going(&doing(turn, spinner), &took));
    }
    for text in model.queue.iter().take(NAMED) {
        lines.push(entry(&format!("next: {}", one_line_summary(text, INNER)), Role::Dim));
    }
    lines.extend(more(model.queue.len()));
    if lines.len() == 1 {
        lines.push(entry("idle", Role::Dim));
    }
    lines
}

/// Shows the model's list; the steps around the one in progress, if there are too many.
fn steps(model: &Model) -> Vec<Line> {
    let all = &model.steps;
    if all.is_empty() {
        return Vec::new();
    }
    let done = all.iter().filter(|step| step.state == StepState::Done).count();
    let mut lines = vec![title("STEPS", Line::of(format!("{done} of {}", all.len()), Role::Dim))];
    let at = all.iter().position(|step| step.state == StepState::InProgress).unwrap_or(done);
    let from = at.saturating_sub(STEPS / 2).min(all.len().saturating_sub(STEPS));
    if from > 0 {
        lines.push(entry(&format!("{from} before"), Role::Dim));
    }
    for step in all.iter().skip(from).take(STEPS) {
        let (mark, role) = match step.state {
            StepState::Pending => (" ", Role::Text),
            StepState::InProgress => (model.glyphs.folded, Role::Heading),
            StepState::Done => (model.glyphs.ok, Role::Dim),
        };
        lines.push(entry(&format!("{mark} {}", one_line_summary(&step.text, INNER - 4)), role));
    }
    if let Some(after) = all.len().checked_sub(from + STEPS).filter(|after| *after > 0) {
        lines.push(entry(&format!("{after} more"), Role::Dim));
    }
    lines
}

/// Returns an activity with its time at the right.
fn going(what: &str, took: &str) -> Line {
    let room = INNER.saturating_sub(took.len() + 4);
    Line::spread(entry(what, Role::Text).cut(room + 2), Line::of(took, Role::Dim), INNER)
}

fn doing(turn: &Turn, spinner: &str) -> String {
    match turn.phase {
        Phase::Asking => format!("{spinner} waiting for the model"),
        Phase::Thinking => format!("{spinner} thinking"),
        Phase::Answering => format!("{spinner} answering"),
        Phase::Tools => format!("{spinner} running tools"),
        Phase::Paused => "paused: waiting for you".to_owned(),
    }
}

fn running_calls(model: &Model) -> Vec<(&CallRow, Duration)> {
    let newest = model.transcript.cells().iter().rev().take(LOOKED_AT);
    let mut rows: Vec<_> = newest
        .filter_map(|cell| if let CellKind::Call(row) = &cell.kind { Some(row.as_ref()) } else { None })
        .filter_map(|row| Some((row, row.running_for(model.now_ms)?)))
        .collect();
    rows.reverse();
    rows
}

/// Shows how full the context window is; nothing before the first count.
fn context(model: &Model) -> Vec<Line> {
    let Some(context) = model.header.as_ref().and_then(|header| header.context) else { return Vec::new() };
    let used = thousands(context.used);
    let right = match context.window {
        Some(window) => format!("{used} of {}", thousands(window)),
        None => format!("{used} tokens, unknown window"),
    };
    let mut lines = vec![title("CONTEXT", Line::of(right, Role::Dim))];
    if let Some(percent) = context.percent() {
        lines.push(bar(model, percent));
    }
    lines
}

/// Shows the cost; nothing before there is one.
fn money(model: &Model) -> Vec<Line> {
    let Some(money) = model.header.as_ref().and_then(|header| header.money) else { return Vec::new() };
    let at_least = match money.known {
        Completeness::All => "",
        Completeness::Partly => "at least ",
    };
    let today = match money.cap {
        Some(cap) => format!("{at_least}{} of {cap}", money.today),
        None => format!("{at_least}{}", money.today),
    };
    vec![title("COST", Line::new()), fact("today", &today), fact("session", &money.session.to_string())]
}

fn bar(model: &Model, percent: u8) -> Line {
    const PARTS: usize = 24;
    let full = (usize::from(percent) * PARTS).div_ceil(100);
    let [on, off] = model.glyphs.bar;
    let role = if percent >= 80 { Role::Waiting } else { Role::Dim };
    Line::of("  ", Role::Text)
        .with(on.repeat(full), role)
        .with(off.repeat(PARTS - full), Role::Dim)
        .with(format!(" {percent}%"), role)
}

/// Formats tokens: `840`, `62k`, `1.2M`.
fn thousands(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        1_000_000.. => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}

fn session(model: &Model) -> Vec<Line> {
    let Some(header) = &model.header else { return Vec::new() };
    vec![
        title("SESSION", Line::of(one_line_summary(&header.session.0, 13), Role::Dim)),
        fact("folder", &short_path(&header.workspace, 60)),
        fact("answers", &super::header::model_names(model, header).0),
        fact("commands", header.isolation.word()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::protocol::ContextUse;

    #[test]
    fn tokens_are_said_shortly() {
        let cases = [(0, "0"), (999, "999"), (62_400, "62k"), (200_000, "200k"), (1_250_000, "1.2M")];
        for (tokens, said) in cases {
            assert_eq!(thousands(tokens), said);
        }
    }

    #[test]
    fn the_bar_is_honest_at_its_ends() {
        let percent = |used, window| ContextUse { used, window }.percent();
        assert_eq!(percent(500, Some(200_000)), Some(0));
        assert_eq!(percent(300_000, Some(200_000)), Some(100));
        assert_eq!(percent(5, None), None);
        assert_eq!(percent(5, Some(0)), None);
    }
}
