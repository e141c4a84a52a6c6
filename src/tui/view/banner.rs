//! A failed request that is sent again: what failed, how long until the next attempt, the keys that change it.

use crate::provider::ErrorClass;
use crate::stdx::text::one_line_summary;
use crate::tui::line::Line;
use crate::tui::model::{Model, Retry, RetryState};
use crate::tui::theme::Role;

/// In as many rows as there are: one line, or a small box of four.
pub fn lines(model: &Model, rows: usize) -> Vec<Line> {
    let Some(retry) = &model.retry else { return Vec::new() };
    let width = usize::from(model.columns);
    match rows {
        0 => Vec::new(),
        1..4 => {
            let head = format!(" {} {}", model.glyphs.retry, class(retry.class));
            let left = Line::of(head, Role::Waiting).with(format!(": {}", message(retry, width)), Role::Dim);
            vec![Line::spread(
                left,
                Line::of(count(model, retry), Role::Waiting).with(" ", Role::Text),
                width,
            )]
        }
        _ => boxed(model, retry, width),
    }
}

fn boxed(model: &Model, retry: &Retry, width: usize) -> Vec<Line> {
    let glyphs = model.glyphs;
    let edge = |left: Line, right: Line, corner: usize| {
        let left = Line::of(format!("{}{} ", glyphs.corners[corner], glyphs.rule), Role::Dim).joined(left);
        let gap = if right.spans.is_empty() { "" } else { " " };
        let right = right.with(format!("{gap}{}{}", glyphs.rule, glyphs.corners[corner + 1]), Role::Dim);
        let fill = width.saturating_sub(left.width() + right.width() + 1 + gap.len());
        left.with(format!(" {}{gap}", glyphs.rule.repeat(fill)), Role::Dim).joined(right).cut(width)
    };
    let inside = |line: Line| {
        let mut line = Line::of(format!("{} ", glyphs.side), Role::Dim).joined(line.cut(width - 4));
        line.pad_to(width - 1);
        line.with(glyphs.side, Role::Dim)
    };
    let head = Line::of(format!("{} {}", glyphs.retry, class(retry.class)), Role::Waiting);
    let keys = match retry.state {
        RetryState::Counting => Line::of("Alt+R", Role::Key)
            .with(" now ", Role::Dim)
            .with("Esc", Role::Key)
            .with(" stop", Role::Dim),
        RetryState::Sent => Line::of("Esc", Role::Key).with(" stop", Role::Dim),
    };
    vec![
        edge(head, Line::of(count(model, retry), Role::Waiting), 0),
        inside(Line::of(message(retry, width), Role::Text)),
        inside(Line::of("you can go on writing; nothing runs twice", Role::Dim)),
        edge(keys, Line::new(), 2),
    ]
}

fn message(retry: &Retry, width: usize) -> String {
    one_line_summary(&retry.message, width)
}

fn count(model: &Model, retry: &Retry) -> String {
    let which = format!("retry {} of {}", retry.attempt, retry.of);
    match retry.state {
        RetryState::Counting => format!("{which} in {}", clock(retry.seconds_left(model.now_ms))),
        RetryState::Sent => format!("{which}, sent"),
    }
}

/// Seconds as `m:ss`.
pub fn clock(seconds: u64) -> String {
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

fn class(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::BadRequest => "the request was refused",
        ErrorClass::Auth => "the key was refused",
        ErrorClass::Billing => "a spend limit is reached",
        ErrorClass::Permission => "not permitted",
        ErrorClass::NotFound => "no such model or endpoint",
        ErrorClass::Quota => "the quota is used up",
        ErrorClass::RateLimited => "rate limited",
        ErrorClass::Overloaded => "the service is overloaded",
        ErrorClass::Server => "the service failed",
        ErrorClass::Network => "no connection",
        ErrorClass::Idle => "nothing arrived",
        ErrorClass::Truncated => "the reply broke off",
        ErrorClass::ContextOverflow => "too long for the model",
        ErrorClass::Filtered => "the provider's filter refused it",
        ErrorClass::Malformed => "an answer nobody can read",
    }
}
