//! Lists for the front end: sessions, the end of a session, and earlier lines. All are read from the store; the current
//! session is not touched.

use std::collections::HashMap;
use std::path::Path;

use super::client::ClientHandler;
use crate::command::Notice;
use crate::frontend::protocol::{EarlierLine, ServerMessage, SessionHit, SessionLine};
use crate::history::History;
use crate::history::SessionId;
use crate::message::{AssistantMessage, Message, PartKind, UserPart, images};
use crate::runtime::{OpenedSession, SessionTarget};
use crate::session::Session;
use crate::stdx::text::one_line_summary;
use crate::store::{InputScope, SessionFilter, SessionSummary, Store, TypedLine};

/// Sessions of this folder that the first screen may show.
const RECENT: usize = 12;
/// Earlier lines that can be searched.
const EARLIER: usize = 2_000;
/// Sessions that a search finds.
const FOUND: usize = 50;
/// Messages of a preview, and characters of each of their texts.
const PREVIEWED: usize = 8;
const PREVIEW_TEXT: usize = 2_000;
/// Cells of a title.
const TITLE: usize = 60;

impl ClientHandler {
    /// Sends the most recent sessions of this folder.
    pub(super) async fn recent(&self) {
        let here = SessionFilter::Folder(self.app.world.workspace.clone());
        if let Some(sessions) = self.list(here, RECENT).await {
            self.tell(ServerMessage::Recent { sessions }).await;
        }
    }

    /// Returns every session that can be opened; `None` after an error, which is already reported.
    pub(super) async fn sessions(&self) -> Option<Vec<SessionLine>> {
        self.list(SessionFilter::All, usize::MAX).await
    }

    async fn list(&self, filter: SessionFilter, limit: usize) -> Option<Vec<SessionLine>> {
        let found = self.or_say("sessions", self.app.store.listed_sessions(filter, limit).await).await?;
        let line = |one: SessionSummary| SessionLine {
            title: one_line_summary(one.title.as_deref().unwrap_or_default(), TITLE),
            here: one.workspace == self.app.world.workspace,
            updated: one.updated,
            id: one.id,
            workspace: one.workspace,
            turns: one.turns,
            waiting: one.waiting,
        };
        Some(found.into_iter().filter(|one| one.id != self.session).map(line).collect())
    }

    /// Returns the lines entered in all sessions; `None` after an error, which is already reported.
    pub(super) async fn earlier(&mut self) -> Option<Vec<EarlierLine>> {
        self.wait_until_stored().await;
        match self.app.store.typed_lines(InputScope::All, EARLIER).await {
            Ok(typed) => Some(each_once(typed, &self.app.world.workspace)),
            Err(error) => {
                let text = format!("The history could not be read: {error}.");
                self.say(Notice::warning("history", text)).await;
                None
            }
        }
    }

    /// Opens another session; on failure reports why and returns `None`.
    pub(super) async fn get(&self, session: &SessionId) -> Option<OpenedSession> {
        if *session == self.session {
            return None;
        }
        if self.background.has(session) {
            let text = "It is running in the background; open it when it stops.";
            self.say(Notice::warning("resume", text)).await;
            return None;
        }
        self.open(SessionTarget::Resume(session.0.clone()), "resume").await
    }

    /// Opens a new session; on failure reports why and returns `None`.
    pub(super) async fn open_new(&self) -> Option<OpenedSession> {
        self.open(SessionTarget::New, "clear").await
    }

    /// Copies the session and opens the copy; on failure reports why and returns `None`.
    pub(super) async fn fork(&mut self, history: &History, message: Option<String>) -> Option<OpenedSession> {
        let conversation = history.conversation(self.session.clone());
        let copied = Session::copy(&self.app.store, conversation).await;
        let id = self.or_say("fork", copied.map(|session| session.id().clone())).await?;
        let opened = self.open(SessionTarget::Resume(id.0), "fork").await;
        self.after_fork = message.filter(|_| opened.is_some());
        opened
    }

    async fn open(&self, target: SessionTarget, title: &str) -> Option<OpenedSession> {
        let opened = target.open(&self.app, self.decider.clone()).await;
        self.or_say(title, opened).await
    }
}

/// Returns the end of a session's conversation; nothing if it cannot be read.
pub(super) async fn preview(store: &Store, session: &SessionId) -> Vec<Message> {
    let Ok(history) = Session::read(store, session).await else { return Vec::new() };
    let all: Vec<&Message> = history.messages().collect();
    all[all.len().saturating_sub(PREVIEWED)..].iter().map(|one| shorten_message(one)).collect()
}

/// Returns the sessions in which these words were said.
pub(super) async fn search_sessions(store: &Store, words: &str) -> Vec<SessionHit> {
    let found = store.search(words, FOUND).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the sessions could not be searched");
        Vec::new()
    });
    found.into_iter().map(|one| SessionHit { session: one.id, around: one.snippet }).collect()
}

/// Returns each line at its latest use; one ever entered in this folder counts as entered here.
fn each_once(typed: Vec<TypedLine>, here: &Path) -> Vec<EarlierLine> {
    let mut lines: Vec<EarlierLine> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for line in typed {
        let is_here = line.workspace == here;
        if let Some(known) = places.get(&line.text).and_then(|at| lines.get_mut(*at)) {
            known.here |= is_here;
            continue;
        }
        places.insert(line.text.clone(), lines.len());
        lines.push(EarlierLine { text: line.text, here: is_here });
    }
    lines
}

/// Shortens a message to the text that a preview shows.
fn shorten_message(message: &Message) -> Message {
    match message {
        Message::User { parts } => {
            let text = images::in_short(parts);
            let texts = (!text.is_empty()).then(|| UserPart::Text { text: beginning(&text) });
            Message::User { parts: texts.into_iter().collect() }
        }
        Message::Assistant(reply) => {
            let mut short = AssistantMessage { parts: Vec::new(), ..reply.clone() };
            for part in &reply.parts {
                match &part.kind {
                    PartKind::Text { text } => {
                        let mut part = part.clone();
                        part.kind = PartKind::Text { text: beginning(text) };
                        short.parts.push(part);
                    }
                    PartKind::ToolCall(_) => short.parts.push(part.clone()),
                    PartKind::Thinking { .. } | PartKind::Native => {}
                }
            }
            Message::Assistant(short)
        }
        Message::ToolReturns { returns } => {
            let mut returns = returns.clone();
            for returned in &mut returns {
                returned.content.clear();
            }
            Message::ToolReturns { returns }
        }
    }
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(PREVIEW_TEXT) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text.split_at(at).0),
    }
}
