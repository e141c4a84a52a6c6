//! Memories that apply to a prompt, added after it as notes: at the end of the conversation, so that what is before stays cached.

use std::collections::HashSet;
use std::time::Duration;

use super::AgentEnv;
use crate::memory::{MemoryScope, RecallHit};
use crate::message::{Authorship, Message, NoteKind, Trust, UsedMemory, UserPart, images};
use crate::session::Session;
use crate::stdx::text::one_line_summary;

/// How long a turn waits for them: for a slow disk, or another process that changes many.
const PATIENCE: Duration = Duration::from_secs(1);

/// The most memories that are added to a prompt.
const MOST: usize = 5;

/// The width of a memory in the line about it, in terminal cells.
const WIDTH: usize = 60;

const HEAD: &str = "Kept from earlier sessions; it may be out of date. Name the id of a memory that you use.";

/// Returns the notes of memories that apply to a prompt and that the conversation does not hold as they are now.
pub(super) async fn recall_notes(session: &Session, env: &AgentEnv, prompt: &[UserPart]) -> Vec<UserPart> {
    let budget = env.memories.settings().recall_tokens as usize;
    let words = images::typed_text(prompt);
    if budget == 0 || words.is_empty() {
        return Vec::new();
    }
    let (memories, project) = (env.memories.clone(), env.place.folder.clone());
    let known = known_memories(session);
    let task = tokio::task::spawn_blocking(move || {
        let found = memories.recall(&project, &words, MOST + known.len());
        let found = found.unwrap_or_else(|error| {
            tracing::warn!("no memories were recalled: {error}");
            Vec::new()
        });
        let used = within(found.into_iter().filter(|one| !known.contains(&key(one))), budget);
        memories.note_use(&used);
        used
    });
    let found = match tokio::time::timeout(PATIENCE, task).await {
        Ok(Ok(found)) => found,
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    let (memories, project) = (env.memories.clone(), env.place.folder.clone());
    // Of a large folder, changes by others are found for the next turn.
    drop(tokio::task::spawn_blocking(move || memories.scan(&project)));
    let (external, rest): (Vec<RecallHit>, Vec<RecallHit>) =
        found.into_iter().partition(|one| one.found.memory.authorship == Authorship::External);
    // Those of a project are text of files.
    let (own, of_project) = rest.into_iter().partition(|one| one.found.id.scope == MemoryScope::User);
    let notes = [(own, Trust::Trusted), (of_project, Trust::Trusted), (external, Trust::Untrusted)];
    notes.into_iter().filter_map(note).collect()
}

/// The id and the version of a memory.
fn key(one: &RecallHit) -> (String, String) {
    (one.found.id.to_string(), one.found.version.clone())
}

/// Returns the memories that the conversation holds.
fn known_memories(session: &Session) -> HashSet<(String, String)> {
    let parts = session.history().entries().iter().filter_map(|(_, message)| match &**message {
        Message::User { parts } => Some(parts),
        Message::Assistant(_) | Message::ToolReturns { .. } => None,
    });
    let used = parts.flatten().filter_map(|part| match part {
        UserPart::Note { kind: NoteKind::Memory { used, .. }, .. } => Some(used),
        UserPart::Note { .. } | UserPart::Text { .. } | UserPart::Image { .. } => None,
    });
    used.flatten().map(|one| (one.id.clone(), one.version.clone())).collect()
}

/// Takes the best ones that fit in so many estimated tokens.
fn within(found: impl Iterator<Item = RecallHit>, budget: usize) -> Vec<RecallHit> {
    let mut room = budget.saturating_mul(4).saturating_sub(HEAD.len());
    let mut taken = Vec::new();
    for one in found {
        let size = quote(&one).len();
        if taken.len() < MOST && size <= room {
            room -= size;
            taken.push(one);
        }
    }
    taken
}

fn note((memories, trust): (Vec<RecallHit>, Trust)) -> Option<UserPart> {
    if memories.is_empty() {
        return None;
    }
    let text = format!("{HEAD}\n{}", memories.iter().map(quote).collect::<String>());
    let used = memories.iter().map(|one| UsedMemory {
        id: one.found.id.to_string(),
        about: one_line_summary(&one.found.memory.text, WIDTH),
        words: one.words.clone(),
        version: one.found.version.clone(),
    });
    let kind = NoteKind::Memory { used: used.collect(), trust };
    Some(UserPart::Note { kind, text: text.trim_end().to_owned() })
}

/// Quotes a memory, each line marked, so that nothing in it looks like the end of the note.
fn quote(one: &RecallHit) -> String {
    let memory = &one.found.memory;
    let mut text =
        format!("#{} ({}, {})\n", one.found.id, one.found.source(), memory.last_write().strftime("%Y-%m-%d"));
    for line in memory.text.lines() {
        text.push_str(&format!("> {line}\n"));
    }
    text
}
