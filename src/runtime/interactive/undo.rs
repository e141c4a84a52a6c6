//! Going back: to before a prompt, and to files as they were before calls changed them.

use super::client::ClientHandler;
use super::{AppError, LoopControl, SessionRuntime};
use crate::agent::context;
use crate::command::{FileRestore, Notice};
use crate::frontend::protocol::ServerMessage;
use crate::history::{Durability, Record, RecordNo};
use crate::message::NoteKind;
use crate::undo::{EntryFilter, UndoError, UndoOutcome, UndoScope, UndoTarget, list};

/// Changes that `/undo list` shows.
const LISTED: usize = 30;

impl SessionRuntime<'_> {
    /// Takes back what calls changed in files, or does it again.
    pub(super) async fn undo(&mut self, what: UndoTarget, agreed: bool) -> Result<LoopControl, AppError> {
        let asked = match &what {
            UndoTarget::Turn => "/undo turn yes".to_owned(),
            UndoTarget::Entry(id) => format!("/undo {id} yes"),
            UndoTarget::Last | UndoTarget::Calls(_) | UndoTarget::Redo => "/undo".to_owned(),
        };
        let title = if what == UndoTarget::Redo { "redo" } else { "undo" };
        self.files_back(what, agreed, (title, &asked)).await;
        Ok(LoopControl::Continue)
    }

    /// Changes the files and says what became of it; returns whether it was done.
    async fn files_back(&mut self, what: UndoTarget, agreed: bool, (title, again): (&str, &str)) -> bool {
        let app = std::sync::Arc::clone(&self.client.app);
        let (log, own) = (app.tools.undo.clone(), app.world.own_folders(&app.settings));
        let scope = UndoScope::Session(self.session.id().to_string());
        let done = tokio::task::spawn_blocking(move || log.carry_out(&scope, &what, agreed, &own)).await;
        app.cache.on_file_change();
        let (say, is_done) = match done {
            Ok(Ok(UndoOutcome::Done(text))) => (Notice::plain(title, text), true),
            Ok(Ok(UndoOutcome::Refused(text))) => (Notice::warning(title, text), false),
            Ok(Ok(UndoOutcome::Asks { text, ids })) => {
                // The user agrees to the listed changes, whatever happens until then.
                let again = match ids.as_slice() {
                    [id] if title == "undo" => format!("/undo {id} yes"),
                    _ => again.to_owned(),
                };
                (Notice::warning(title, format!("{text}\n\n`{again}` takes them back.")), false)
            }
            Ok(Err(error)) => (Notice::error(title, sentence(&error)), false),
            Err(_) => {
                (Notice::error(title, "This is a bug in co; look at the files before you go on."), false)
            }
        };
        self.client.say(say).await;
        is_done
    }

    /// Rewinds to before a message; its text returns to the composer, and the model is informed of the changes that remain.
    pub(super) async fn rewind(
        &mut self,
        before: RecordNo,
        text: String,
        files: FileRestore,
    ) -> Result<LoopControl, AppError> {
        let calls = context::calls_since(self.session.history(), before);
        let agreed = files == FileRestore::Agreed;
        if files != FileRestore::Stay
            && !self
                .files_back(UndoTarget::Calls(calls), agreed, ("rewind", "/rewind NUMBER files yes"))
                .await
        {
            return Ok(LoopControl::Continue);
        }
        let changed = context::changed_since(self.session.history(), before);
        let beyond = match files {
            FileRestore::Stay => "What was done after it is not undone",
            FileRestore::TakenBack | FileRestore::Agreed => {
                "Of what was done after it, changes of files were taken back, and nothing else"
            }
        };
        let mut records = vec![Record::Rewound { before }];
        if !changed.is_empty() {
            let text = format!("The user went back to before this point. {beyond}:\n{changed}");
            records.push(Record::Noted { kind: NoteKind::Abort, text });
        }
        self.session.commit(&records, Durability::Synced).await?;
        self.client.transcript(self.session.history(), None).await;
        self.client.tell(ServerMessage::Draft { text }).await;
        let mut said = "The conversation is as it was before that prompt.".to_owned();
        if !changed.is_empty() {
            said.push_str(&format!(" {beyond}:\n\n{changed}"));
            if files == FileRestore::Stay {
                said.push_str("\n\n`/undo list` shows the changes of files that can be taken back.");
            }
        }
        self.client.say(Notice::plain("rewind", said)).await;
        self.client.header(self.session.history()).await;
        self.client.send_pending_requests().await;
        Ok(LoopControl::Continue)
    }
}

impl ClientHandler {
    /// Lists what can be taken back.
    pub(super) async fn list_changes(&self) {
        let (log, session) = (self.app.tools.undo.clone(), Some(self.session.to_string()));
        let filter = EntryFilter { session, limit: LISTED, ..EntryFilter::default() };
        let found = tokio::task::spawn_blocking(move || log.entries(&filter)).await;
        let say = match found {
            Ok(Ok(entries)) if entries.is_empty() => {
                Notice::plain("undo", "Nothing that can be taken back was changed.")
            }
            Ok(Ok(entries)) => {
                let text = format!("{}\n`/undo NUMBER` takes one back.", list(&entries));
                Notice::plain("undo", text)
            }
            Ok(Err(error)) => Notice::error("undo", sentence(&error)),
            Err(_) => Notice::error("undo", "This is a bug in co."),
        };
        self.say(say).await;
    }
}

fn sentence(error: &UndoError) -> String {
    format!("{error}.")
}
