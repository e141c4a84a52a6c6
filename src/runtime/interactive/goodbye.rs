//! The lines for the normal screen after the front end has closed; the front end itself repeats the last answer.

use super::view::title;
use crate::app::{App, AppError};
use crate::message::Usd;
use crate::session::Session;
use crate::stdx::clock::{day_start, system_zone};
use crate::stdx::text::grouped;

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
            1 => vec!["co: 1 approval waiting · co approvals".to_owned()],
            many => vec![format!("co: {many} approvals waiting · co approvals")],
        });
    }
    let elsewhere = app.store.waiting_elsewhere(session.id()).await?;
    let here = waiting.saturating_sub(elsewhere);
    let mut saved = format!("co: session \"{}\" saved", title(history));
    match here {
        0 => {}
        1 => saved.push_str(" · 1 approval waiting"),
        many => saved.push_str(&format!(" · {many} approvals waiting")),
    }
    match elsewhere {
        0 => {}
        1 => saved.push_str(" · 1 approval waiting in another session"),
        many => saved.push_str(&format!(" · {many} approvals waiting in other sessions")),
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
        lines.push(format!("    audit: {} rows, head {}", grouped(head.no), head.short()));
    }
    Ok(lines)
}
