//! The news that the next request carries besides the prompt: outcomes of late calls, notes, instructions of the folders
//! that calls entered, and the situation.

use std::path::PathBuf;
use std::sync::Arc;

use super::AgentEnv;
use crate::agent::port::{Event, Frontend};
use crate::agent::prompt;
use crate::history::{Durability, History, Record};
use crate::message::{Message, NoteKind, UserPart};
use crate::session::Session;
use crate::store::StoreError;

/// Returns the waiting notes of the wanted kinds, and the situation if it changed.
pub(super) fn news(session: &Session, env: &AgentEnv, wants: impl Fn(&NoteKind) -> bool) -> Vec<UserPart> {
    let notes = session.history().notes().iter().filter(|(kind, _)| wants(kind));
    let parts = notes.map(|(kind, text)| UserPart::Note { kind: kind.clone(), text: text.clone() });
    parts.chain(prompt::new_situation(session, env)).collect()
}

/// Adds what the next request must contain: outcomes of late calls, and the situation if it changed.
pub(super) async fn say_news(
    session: &mut Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
) -> Result<(), StoreError> {
    let mut parts = news(session, env, |kind| matches!(kind, NoteKind::LateOutcome { .. }));
    parts.extend(folder_instructions(session.history(), env).await);
    if parts.is_empty() {
        return Ok(());
    }
    let message = Message::User { parts: parts.clone() };
    session.commit(&[Record::said(message)], Durability::Written).await?;
    // The turn itself detects a closed front end.
    let _closed = frontend.show(Event::Prompted { parts }).await;
    Ok(())
}

/// Returns the instructions of folders in which the model read or wrote a file, those that the conversation does not hold
/// as they are now.
async fn folder_instructions(history: &History, env: &AgentEnv) -> Vec<UserPart> {
    let folder = history.workspace().to_owned();
    let seen = history.seen_versions().keys().map(|resource| PathBuf::from(&resource.0));
    let is_deeper = |file: &PathBuf| file.starts_with(&folder) && file.parent() != Some(folder.as_path());
    let files: Vec<PathBuf> = seen.filter(is_deeper).collect();
    if files.is_empty() {
        return Vec::new();
    }
    let finder = Arc::clone(&env.entered);
    // Only a panic fails the task.
    let found = tokio::task::spawn_blocking(move || finder.instructions(&folder, &files)).await;
    let notes = found.unwrap_or_default().into_iter().map(|(path, text)| {
        let text = format!("{path}, for what is below its folder:\n\n{text}");
        (NoteKind::Instructions { path }, text)
    });
    let new = notes.filter(|(kind, text)| prompt::last_note(history, kind) != Some(text.as_str()));
    new.map(|(kind, text)| UserPart::Note { kind, text }).collect()
}
