//! `/memory`: carried out in the background, also while a turn runs.

use super::client::ClientHandler;
use crate::command::Notice;
use crate::frontend::protocol::ServerMessage;
use crate::memory::{Memories, MemoryError, MemoryId, MemoryRequest};

/// The title of what is said.
const TITLE: &str = "memory";

impl ClientHandler {
    /// Does what the user wants with memories, and says what came of it.
    pub(super) async fn memory(&self, request: MemoryRequest) {
        let folder = self.folder.clone();
        let done = self.with_memories(move |memories| memories.carry_out(&folder, request, "/memory")).await;
        if let Some(text) = done {
            // Each line is a paragraph of its own, and the text of a memory is not Markdown.
            let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
            self.say(Notice::plain(TITLE, lines.join("\n"))).await;
        }
    }

    /// Puts the text of a memory into the composer, as the command that changes it.
    pub(super) async fn edit_memory(&self, id: MemoryId) {
        let folder = self.folder.clone();
        if let Some(found) = self.with_memories(move |memories| memories.find(&folder, id)).await {
            let text = format!("/memory edit {} {}", found.id, found.memory.text);
            self.tell(ServerMessage::Draft { text }).await;
        }
    }

    async fn with_memories<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Memories) -> Result<T, MemoryError> + Send + 'static,
    ) -> Option<T> {
        let memories = self.app.tools.memories.clone();
        let say = match tokio::task::spawn_blocking(move || work(&memories)).await {
            Ok(Ok(done)) => return Some(done),
            Ok(Err(error)) => Notice::warning(TITLE, format!("{error}.")),
            Err(_) => {
                Notice::error(TITLE, "This is a bug in co; look at the files of memories before you go on.")
            }
        };
        self.say(say).await;
        None
    }
}
