//! Exporting the session to a file.

use std::sync::Arc;

use super::client::{ClientHandler, SessionView};
use crate::command::{ExportForm, Notice, code};
use crate::frontend::export::{ExportHead, export};
use crate::frontend::protocol::NEW_SESSION;
use crate::message::Message;
use crate::stdx::fs::write_new_private;

impl ClientHandler {
    /// Writes the session into a new file of its folder.
    pub(super) async fn export(&self, form: ExportForm, known: SessionView<'_>) {
        let history = self.history_of(known).await.into_owned();
        let (id, workspace) = (self.session.clone(), self.folder.clone());
        let now = self.app.store.clock().now();
        let path = workspace.join(format!("co-{}.{}", now.strftime("%Y-%m-%d-%H%M%S"), form.word()));
        let shown = code(&path.display().to_string());
        // A long conversation takes a while.
        let written = tokio::task::spawn_blocking(move || {
            let title = history.name().unwrap_or(NEW_SESSION);
            let head = ExportHead { id: &id, title, workspace: &workspace, exported: now };
            let messages: Vec<Arc<Message>> = history.shown_messages().collect();
            write_new_private(&path, export(form, &head, &messages).as_bytes())
        });
        let say = match written.await {
            Ok(Ok(())) => Notice::plain("export", format!("The session is in {shown}.")),
            Ok(Err(error)) => {
                let text =
                    format!("{shown} cannot be written: {error}. `co sessions export` writes elsewhere.");
                Notice::error("export", text)
            }
            Err(_) => Notice::error("export", "This is a bug in co; nothing was written."),
        };
        self.say(say).await;
    }
}
