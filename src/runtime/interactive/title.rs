//! A better title of the session, made by a model while nothing runs, if the settings allow it.

use tokio_util::task::AbortOnDropHandle;

use super::{AppError, SessionRuntime};
use crate::agent::driver::title_request;
use crate::history::Record;

/// A request for a title that is under way.
pub(super) struct PendingTitle {
    /// Its record if it is cut off.
    cut_off: Record,
    reply: AbortOnDropHandle<(Record, Option<String>)>,
}

/// Waits for the title. Cancel-safe; never resolves if none was asked for.
pub(super) async fn wait_for_title(under_way: &mut Option<PendingTitle>) -> (Record, Option<String>) {
    match under_way {
        // It fails only if it panicked; it is not made again.
        Some(asked) => (&mut asked.reply).await.unwrap_or_else(|_| (asked.cut_off.clone(), None)),
        None => std::future::pending().await,
    }
}

impl SessionRuntime<'_> {
    /// Asks for a title if one is due.
    pub(super) async fn ask_title(&mut self) {
        if !self.client.app.settings.model_titles || self.title.is_some() {
            return;
        }
        let Some(request) = title_request(&self.session, &self.env).await else { return };
        let cut_off = request.cut_off();
        let reply = AbortOnDropHandle::new(tokio::spawn(async move { request.send().await }));
        self.title = Some(PendingTitle { cut_off, reply });
    }

    /// Records the request and its title; one that the user gave meanwhile stays.
    pub(super) async fn take_title(
        &mut self,
        (ended, title): (Record, Option<String>),
    ) -> Result<(), AppError> {
        self.title = None;
        if let Record::RequestEnded { usage: Some(usage), .. } = &ended {
            self.client.spent.lock().add(*usage);
        }
        self.keep_notes().await?;
        self.client.notes.push(ended);
        let title = title.filter(|_| self.session.history().title().is_none());
        self.client.notes.extend(title.map(|title| Record::Renamed { title }));
        self.keep_notes().await?;
        self.client.header(self.session.history()).await;
        Ok(())
    }

    /// Ends a request for a title, which is not made again: something else begins.
    pub(super) fn give_up_title(&mut self) {
        self.client.notes.extend(self.title.take().map(|asked| asked.cut_off));
    }
}
