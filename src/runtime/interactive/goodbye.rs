//! The lines for the normal screen after the front end has closed; the front end itself repeats the last answer.

use super::view::title;
use crate::app::{App, AppError};
use crate::message::Usd;
use crate::session::Session;
use crate::stdx::clock::{day_start, system_zone};
use crate::stdx::text::{count, group_digits};

/// Returns what was saved and how to continue; for an empty session only the requests pending in others.
pub(super) async fn lines(app: &App, session: &Session) -> Result<Vec<String>, AppError> {
    let history = session.history();
    if app.world.private.is_some() {
        return Ok(match history.turns() {
            0 => Vec::new(),
            _ => vec!["co: the session was not kept".to_owned()],
        });
    }
    let waiting = app.store.waiting_count().await?;
    if history.turns() == 0 {
        return Ok(match waiting {
            0 => Vec::new(),
            many => vec![format!("co: {} waiting · co approvals", count(many, "approval"))],
        });
    }
    let elsewhere = app.store.waiting_elsewhere(session.id()).await?;
    let here = waiting.saturating_sub(elsewhere);
    let mut saved = format!("co: session \"{}\" saved", title(history));
    let place = if elsewhere == 1 { " in another session" } else { " in other sessions" };
    for (waiting, place) in [(here, ""), (elsewhere, place)].into_iter().filter(|(waiting, _)| *waiting > 0) {
        saved.push_str(&format!(" · {} waiting{place}", count(waiting, "approval")));
    }
    let midnight = day_start(app.store.clock().now(), &system_zone());
    let today = app.store.used_since(midnight).await?;
    if today.usd > Usd(0) {
        let at_least = if today.unpriced > 0 { "at least " } else { "" };
        saved.push_str(&format!(" · {at_least}{} today", today.usd));
    }
    let mut advice = "    co -c            continue".to_owned();
    if waiting > 0 {
        advice.push_str("          co approvals     decide without opening it");
    }
    let mut lines = vec![saved, advice];
    // The process does not wait for the writing thread at exit, so the head of the last rows is stored now.
    let head = app.store.audit_head().await?;
    if let Some(head) = head.filter(|_| app.settings.audit_head) {
        lines.push(format!("    audit: {} rows, head {}", group_digits(head.no), head.short()));
    }
    Ok(lines)
}
