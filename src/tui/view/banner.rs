//! The banner of a retry: the failure, the time until the next attempt, and the keys that change it.

use crate::stdx::moment::after;
use crate::stdx::text::one_line_summary;
use crate::tui::bordered_box::BorderedBox;
use crate::tui::keys::{Action, Context};
use crate::tui::line::Line;
use crate::tui::model::{Model, Retry};
use crate::tui::theme::Role;

/// Rows of the box.
pub const BOX: usize = 5;

/// Parts of the progress bar of the wait.
const PARTS: usize = 40;

/// Returns the banner in the given rows: one line, or a small box.
pub fn lines(model: &Model, rows: usize) -> Vec<Line> {
    let Some(retry) = &model.retry else { return Vec::new() };
    let width = model.context().width;
    match rows {
        0 => Vec::new(),
        1..BOX => {
            let head = format!(" {} {}", model.glyphs.retry, retry.class.label());
            let left = Line::of(head, Role::Waiting).with(format!(": {}", message(retry, width)), Role::Dim);
            vec![Line::spread(
                left,
                Line::of(count(model, retry), Role::Waiting).with(" ", Role::Text),
                width,
            )]
        }
        _ => retry_box(model, retry, width),
    }
}

fn retry_box(model: &Model, retry: &Retry, width: usize) -> Vec<Line> {
    let glyphs = model.glyphs;
    let stand_in = model.turn.as_ref().and_then(|turn| turn.stand_in.as_deref());
    let chosen = model.header.as_ref().map(|header| header.provider.as_str());
    let who =
        stand_in.or(chosen).map_or(String::new(), |who| format!("{}: ", one_line_summary(who, width / 3)));
    let head = Line::of(format!("{} {who}{}", glyphs.retry, retry.class.label()), Role::Waiting);
    let stop =
        Line::of(model.keymap.key_label(Context::Global, Action::Escape), Role::Key).with(" stop", Role::Dim);
    let now = model.keymap.key_label(Context::Global, Action::RetryNow);
    let keys = if retry.sent || now.is_empty() {
        stop
    } else {
        Line::of(now, Role::Key).with(format!(" now {} ", glyphs.dot), Role::Dim).joined(stop)
    };
    let mut boxed = BorderedBox::new(glyphs, width, head, Line::of(count(model, retry), Role::Waiting));
    boxed.push(bar(model, retry));
    boxed.push(Line::of(message(retry, width), Role::Text));
    boxed.push(Line::of(outlook(retry, width), Role::Dim));
    boxed.end(keys, Line::new())
}

/// Describes what the user can rely on meanwhile, and the next step if a fallback model is configured.
fn outlook(retry: &Retry, width: usize) -> String {
    let kept = "completed calls are kept, nothing runs twice; you can keep typing";
    match &retry.then {
        None => kept.to_owned(),
        Some(then) => {
            format!("then {}; nothing runs twice; you can keep typing", one_line_summary(then, width))
        }
    }
}

/// Returns the progress bar of the wait.
fn bar(model: &Model, retry: &Retry) -> Line {
    let whole = u64::try_from(retry.wait.as_millis()).unwrap_or(u64::MAX).max(1);
    let gone = if retry.sent { whole } else { model.now_ms.saturating_sub(retry.since_ms).min(whole) };
    // At most `PARTS`, because `gone` is at most `whole`.
    let full = (gone.saturating_mul(PARTS as u64) / whole) as usize;
    let [on, off] = model.glyphs.bar;
    Line::of(on.repeat(full), Role::Waiting).with(off.repeat(PARTS.saturating_sub(full)), Role::Dim)
}

fn message(retry: &Retry, width: usize) -> String {
    one_line_summary(&retry.message, width)
}

fn count(model: &Model, retry: &Retry) -> String {
    let which = format!("retry {} of {}", retry.attempt, retry.of);
    if retry.sent {
        return format!("{which}, sent");
    }
    format!("{which} {}", after(retry.time_left(model.now_ms)))
}
