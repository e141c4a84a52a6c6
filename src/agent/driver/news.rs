//! What the next request tells the model beside the prompt: outcomes of late calls, notes, the situation.

use super::AgentEnv;
use crate::agent::port::{Event, Frontend};
use crate::agent::prompt;
use crate::history::{Durability, Record};
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
    let parts = news(session, env, |kind| matches!(kind, NoteKind::LateOutcome { .. }));
    if parts.is_empty() {
        return Ok(());
    }
    let message = Message::User { parts: parts.clone() };
    session.commit(&[Record::Said { message }], Durability::Written).await?;
    // The turn itself detects a closed front end.
    let _closed = frontend.show(Event::Prompted { parts }).await;
    Ok(())
}
