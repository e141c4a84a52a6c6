//! What a server may ask of us and tell us: progress of calls, and that its tools changed. Everything else is declined.
#![expect(deprecated, reason = "servers ask for roots, although newer versions of the protocol have none")]

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ListRootsResult, ProgressNotificationParam,
    ProgressToken, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::{Notify, mpsc};

use super::names;
use crate::message::CallId;
use crate::tool::Progress;

/// The calls of a server that wait for progress.
#[derive(Default)]
pub struct Progressing(Mutex<HashMap<ProgressToken, (CallId, mpsc::Sender<Progress>)>>);

impl Progressing {
    pub fn add(&self, token: ProgressToken, call: CallId, sender: mpsc::Sender<Progress>) {
        self.0.lock().insert(token, (call, sender));
    }

    pub fn remove(&self, token: &ProgressToken) {
        self.0.lock().remove(token);
    }
}

/// Our side of a connection.
pub struct Client {
    /// The workspace, as a URI.
    pub root: String,
    pub progressing: Arc<Progressing>,
    /// Notified when the server says that its tools changed.
    pub tools_changed: Arc<Notify>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        ClientConfig::new(capabilities, Implementation::new("co", env!("CARGO_PKG_VERSION")))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new(self.root.clone())]))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let known = self.progressing.0.lock().get(&told.progress_token).cloned();
        let Some((call, sender)) = known else { return };
        let share = match told.total {
            Some(total) => format!("{} of {total}", told.progress),
            None => told.progress.to_string(),
        };
        let text = match told.message {
            Some(message) => format!("{share}: {}\n", names::line(&message)),
            None => format!("{share}\n"),
        };
        // Progress that nobody takes in time is dropped.
        let _ = sender.try_send(Progress { call, text });
    }
}
