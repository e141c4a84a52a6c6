//! What a server may ask of us and tell us: progress of calls, and that its tools changed. Everything else is declined.
#![expect(deprecated, reason = "servers ask for roots, although newer versions of the protocol have none")]

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, FormElicitationCapability, Implementation, ListRootsResult,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, Root, RootsCapabilities,
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

/// Answers a server that asks the user for something. Cancel-safe.
pub type Elicitor = Arc<dyn Fn(ElicitRequestParams) -> BoxFuture<'static, ElicitResult> + Send + Sync>;

/// What a server is answered with.
#[derive(Clone, Default)]
pub struct Handlers {
    pub progressing: Arc<Progressing>,
    /// `None`: nobody can be asked, and the server is told so.
    pub elicitor: Option<Elicitor>,
}

/// Our side of a connection.
pub struct Client {
    /// The workspace, as a URI.
    pub root: String,
    pub handlers: Handlers,
    /// Notified when the server says that its tools changed.
    pub tools_changed: Arc<Notify>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        if self.handlers.elicitor.is_some() {
            let forms = ElicitationCapability::new().with_form(FormElicitationCapability::new());
            capabilities.elicitation = Some(forms);
        }
        ClientConfig::new(capabilities, Implementation::new("co", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new(self.root.clone())]))
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(match &self.handlers.elicitor {
            Some(elicitor) => elicitor(asked).await,
            None => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let known = self.handlers.progressing.0.lock().get(&told.progress_token).cloned();
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
