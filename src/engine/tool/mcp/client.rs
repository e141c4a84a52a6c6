//! The requests and notifications of servers: the workspace, a question to the user, progress of calls, and changed
//! lists. Everything else is declined.
#![expect(deprecated, reason = "servers ask for roots, although newer versions of the protocol have none")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestMethod, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
    FormElicitationCapability, Implementation, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, Root, RootsCapabilities,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::names;
use crate::message::CallId;
use crate::tool::Progress;

/// The calls of a server that wait for an answer.
#[derive(Default)]
pub struct RunningCalls {
    calls: Mutex<HashMap<ProgressToken, RunningCall>>,
    /// Notified when a call found the connection closed.
    pub lost: Notify,
    /// Questions to the user that are open: the server waits for us, and no call is late.
    questions: AtomicUsize,
}

struct RunningCall {
    call: CallId,
    sender: mpsc::Sender<Progress>,
    /// The last sign of it.
    last_progress: Instant,
}

impl RunningCalls {
    pub fn add(&self, token: ProgressToken, call: CallId, sender: mpsc::Sender<Progress>) {
        self.calls.lock().insert(token, RunningCall { call, sender, last_progress: Instant::now() });
    }

    pub fn remove(&self, token: &ProgressToken) {
        self.calls.lock().remove(token);
    }

    /// Notes a sign of a call.
    pub fn note_progress(&self, token: &ProgressToken) {
        if let Some(call) = self.calls.lock().get_mut(token) {
            call.last_progress = Instant::now();
        }
    }

    /// Resolves once there was no sign of a call for so long. Cancel-safe.
    pub async fn silent(&self, token: &ProgressToken, limit: Duration) {
        loop {
            if self.questions.load(Ordering::SeqCst) > 0 {
                self.note_progress(token);
            }
            let last_progress = self.calls.lock().get(token).map(|call| call.last_progress);
            let late = last_progress.map_or_else(Instant::now, |last_progress| last_progress + limit);
            if Instant::now() >= late {
                return;
            }
            tokio::time::sleep_until(late).await;
        }
    }
}

/// Counts a question while it is open.
struct OpenQuestion<'a>(&'a RunningCalls);

impl<'a> OpenQuestion<'a> {
    fn new(calls: &'a RunningCalls) -> Self {
        calls.questions.fetch_add(1, Ordering::SeqCst);
        Self(calls)
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        // A call that made no progress because of the question gets its whole time again.
        self.0.calls.lock().values_mut().for_each(|call| call.last_progress = Instant::now());
        self.0.questions.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Asks the user what a server wants to know; the answer is given in its own time. Cancel-safe.
pub type Elicitor = Arc<dyn Fn(Elicitation) -> BoxFuture<'static, ElicitationAnswer> + Send + Sync>;

/// A server's question to the user. The texts are the server's, cleaned.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    pub server: String,
    pub message: String,
    pub wanted: ElicitationKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationKind {
    /// Values that fit this JSON Schema of a flat object.
    Form { schema: Value },
    /// A visit of this address, outside of the program.
    Visit { address: String },
}

#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// The values of the form; an empty object for a visit.
    Accept(Value),
    Decline,
    /// The user did not decide.
    Cancel,
}

/// The data for answering a server.
#[derive(Clone, Default)]
pub struct Handlers {
    pub calls: Arc<RunningCalls>,
    /// `None`: no user can be asked, and the server is informed of that.
    pub elicitor: Option<Elicitor>,
}

impl Handlers {
    /// Asks the user what a server wants to know. Cancel-safe.
    pub async fn elicit(&self, server: &str, asked: ElicitRequestParams) -> ElicitResult {
        let Some(elicitor) = &self.elicitor else { return ElicitResult::new(ElicitationAction::Cancel) };
        let (message, wanted) = match asked {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema).unwrap_or_default();
                (message, ElicitationKind::Form { schema })
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                (message, ElicitationKind::Visit { address: url })
            }
            _ => return ElicitResult::new(ElicitationAction::Cancel),
        };
        let _question = OpenQuestion::new(&self.calls);
        let (server, message) = (server.to_owned(), names::description(&message));
        match elicitor(Elicitation { server, message, wanted }).await {
            ElicitationAnswer::Accept(values) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(values)
            }
            ElicitationAnswer::Decline => ElicitResult::new(ElicitationAction::Decline),
            ElicitationAnswer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        }
    }
}

/// Our side of a connection.
pub struct Client {
    /// The server's name in the settings.
    pub server: String,
    /// The workspace, as a URI.
    pub root: String,
    pub handlers: Handlers,
    /// Notified when the server says that its tools, prompts or resources changed.
    pub lists_changed: Notify,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        if self.handlers.elicitor.is_some() {
            let both = ElicitationCapability::new()
                .with_form(FormElicitationCapability::new())
                .with_url(UrlElicitationCapability::new());
            capabilities.elicitation = Some(both);
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
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(tokio::select! {
            answer = self.handlers.elicit(&self.server, asked) => answer,
            // The server gave it up, or is gone.
            () = context.ct.cancelled() => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    /// A server that wants to use our model is refused: it would pay with the user's account for what the user cannot see.
    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        tracing::info!(server = %self.server, "it asked for an answer of the model, and was refused");
        Err(ErrorData::method_not_found::<CreateMessageRequestMethod>())
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        tracing::info!(server = %self.server, level = ?params.level, text = %names::line(&params.data.to_string()));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.lists_changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.lists_changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.lists_changed.notify_one();
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let known = self.handlers.calls.calls.lock().get_mut(&params.progress_token).map(|call| {
            call.last_progress = Instant::now();
            (call.call.clone(), call.sender.clone())
        });
        let Some((call, sender)) = known else { return };
        let share = match params.total {
            Some(total) => format!("{} of {total}", params.progress),
            None => params.progress.to_string(),
        };
        let text = match params.message {
            Some(message) => format!("{share}: {}\n", names::line(&message)),
            None => format!("{share}\n"),
        };
        // Progress that is not received in time is dropped.
        let _ = sender.try_send(Progress { call, text });
    }
}
