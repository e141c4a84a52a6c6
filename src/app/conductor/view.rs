//! What a command and the header are told of the session.

use super::desk::Desk;
use crate::app::status_rows;
use crate::command::{Activity, CommandView, Totals};
use crate::frontend::link::{ContextUse, Header};
use crate::history::History;
use crate::message::{Message, Usage, UserPart};
use crate::stdx::text::one_line_summary;
use crate::store::RequestFilter;

/// The title before the first prompt.
pub(super) const NEW_SESSION: &str = "new session";
/// Cells of a title in the header.
const TITLE: usize = 40;

/// Requests that a command lists.
const LISTED: usize = 50;

pub(super) async fn of(desk: &Desk, history: &History, activity: Activity, usage: Usage) -> CommandView {
    let app = &desk.app;
    let filter = RequestFilter::UndecidedOf(desk.session.clone());
    // Where the store cannot be read the status rows say so.
    let waiting: Vec<_> = app.store.requests(filter, LISTED).await.unwrap_or_default();
    let everywhere = app.store.waiting_count().await.unwrap_or_default();
    let mut status = status_rows(&app.world, &app.settings, &app.models, Ok(&app.store)).await;
    status.push(("session".to_owned(), desk.session.to_string()));
    status.push(("tools".to_owned(), app.registry.specs().count().to_string()));
    CommandView {
        standing: app.standing(),
        read_only: desk.read_only.clone(),
        activity,
        status,
        tools: app.registry.specs().cloned().collect(),
        models: app.models.lines(),
        totals: totals(history, usage),
        waiting_elsewhere: everywhere.saturating_sub(waiting.len()),
        waiting: waiting.into_iter().map(|one| one.request).collect(),
        grants: history.grants().iter().map(ToString::to_string).collect(),
    }
}

fn totals(history: &History, usage: Usage) -> Totals {
    let mut totals =
        Totals { turns: history.turns(), queued: history.queued().len(), usage, ..Totals::default() };
    for message in history.messages() {
        match message {
            Message::User { .. } => totals.user += 1,
            Message::Assistant(_) => totals.assistant += 1,
            Message::ToolReturns { returns } => totals.returns += returns.len(),
        }
    }
    totals
}

pub(super) fn header(desk: &Desk, history: &History, last_input: Option<u64>) -> Header {
    let app = &desk.app;
    let choice = app.models.current();
    let window = app.settings.context_tokens.or(choice.context_tokens);
    Header {
        session: desk.session.clone(),
        title: title(history),
        workspace: history.workspace().to_owned(),
        provider: choice.provider,
        model: choice.model,
        isolation: app.sandbox.isolation().word(),
        standing: app.standing(),
        read_only: desk.read_only.clone(),
        context: last_input.map(|used| ContextUse { used, window: window.map(u64::from) }),
    }
}

/// The session's name: given, or the beginning of its first prompt.
pub(super) fn title(history: &History) -> String {
    if let Some(title) = history.title() {
        return one_line_summary(title, TITLE);
    }
    let first = history.messages().find_map(|message| match message {
        Message::User { parts } => named_by(parts),
        Message::Assistant(_) | Message::ToolReturns { .. } => None,
    });
    first.unwrap_or_else(|| NEW_SESSION.to_owned())
}

/// The title that a first prompt gives its session.
pub(super) fn named_by(prompt: &[UserPart]) -> Option<String> {
    prompt.iter().find_map(|part| match part {
        UserPart::Text { text } => Some(one_line_summary(text, TITLE)),
        UserPart::Image { .. } | UserPart::Note { .. } => None,
    })
}
