//! Questions of tool servers to the user, shown as cards among the requests: a form for what a server wants to know, or an
//! address that it wants visited. A question is stored with the session's requests and can be decided in any process; it
//! is withdrawn when its server, or this process, does not wait for the answer any more.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::approval::{Approval, QUESTION, Request, RequestId};
use crate::history::SessionId;
use crate::message::{CallId, ToolName};
use crate::stdx::fs::fingerprint;
use crate::stdx::secrecy::shown_address;
use crate::stdx::text::sanitize_line;
use crate::store::{QuestionStatus, Store, StoreError};
use crate::tool::mcp::{Elicitation, ElicitationAnswer, ElicitationKind, Elicitor};
use crate::tool::schema::faults;
use crate::tool::{Access, CallPlan, Preview, Risk};

/// The questions that may be open at once; more are answered as not decided.
const MOST: usize = 16;

/// The characters of a request's id.
const ID: usize = 12;

/// How long the answer to a question stays unseen if its wake-up was lost.
const LOOK: Duration = Duration::from_secs(5);

/// A change of the open questions, with a text for the user.
pub(super) type QuestionEvent = Option<String>;

/// The open questions, through which connections to servers ask.
#[derive(Clone)]
pub(super) struct Questions(Arc<QuestionState>);

struct QuestionState {
    store: Store,
    /// The session that this process owns and shows: questions belong to it.
    session: Mutex<Option<SessionId>>,
    open: Mutex<BTreeSet<RequestId>>,
    events: mpsc::Sender<QuestionEvent>,
}

/// A question that a server waits for. Dropping it withdraws it, unless it is settled.
struct OpenQuestion {
    shared: Arc<QuestionState>,
    id: RequestId,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.shared.open.lock().remove(&self.id);
        // Without a runtime the process ends: who lists questions withdraws those of dead processes.
        let Ok(runtime) = Handle::try_current() else { return };
        let (shared, id) = (Arc::clone(&self.shared), self.id.clone());
        runtime.spawn(async move {
            if let Err(error) = shared.store.end_question(&id).await {
                tracing::warn!(%error, "a question was not withdrawn");
            }
            shared.tell(None);
        });
    }
}

impl OpenQuestion {
    /// Waits for the decision; `None` once there can be none any more. Cancel-safe.
    async fn decision(&self) -> Result<Option<Approval>, StoreError> {
        let mut listener = self.shared.store.change_listener();
        loop {
            match self.shared.store.take_answer(&self.id).await? {
                QuestionStatus::Decided(approval) => return Ok(Some(approval)),
                QuestionStatus::Over => return Ok(None),
                QuestionStatus::Undecided => {}
            }
            // Late is as good as a wake-up: the store is read again.
            let _ = tokio::time::timeout(LOOK, listener.changed()).await;
        }
    }
}

impl QuestionState {
    fn tell(&self, said: Option<String>) {
        // If the channel is full, other events lead to a new list.
        let _ = self.events.try_send(said);
    }

    /// Asks until the answer fits.
    async fn ask(self: &Arc<Self>, asked: &Elicitation) -> Result<ElicitationAnswer, StoreError> {
        let mut again = None;
        loop {
            // Without a session that is open here it cannot be decided.
            let Some(session) = self.session.lock().clone() else { return Ok(ElicitationAnswer::Cancel) };
            let request = request(asked, again.take());
            let id = request.id.clone();
            let is_one_too_many = {
                let mut open = self.open.lock();
                open.len() >= MOST || !open.insert(id.clone())
            };
            if is_one_too_many {
                return Ok(ElicitationAnswer::Cancel);
            }
            let question = OpenQuestion { shared: Arc::clone(self), id };
            self.store.ask_question(&session, &request).await?;
            self.tell(None);
            let Some(approval) = question.decision().await? else { return Ok(ElicitationAnswer::Cancel) };
            match answer(&request, approval) {
                Ok(answer) => {
                    self.tell(address_of(&answer, asked));
                    return Ok(answer);
                }
                Err(wrong) => again = Some(wrong),
            }
        }
    }
}

impl Questions {
    /// Returns them, and where their changes arrive.
    pub(super) fn new(store: Store) -> (Self, mpsc::Receiver<QuestionEvent>) {
        let (events, receiver) = mpsc::channel(MOST);
        let shared = QuestionState { store, session: Mutex::default(), open: Mutex::default(), events };
        (Self(Arc::new(shared)), receiver)
    }

    /// Returns what servers ask through.
    pub(super) fn elicitor(&self) -> Elicitor {
        let shared = Arc::clone(&self.0);
        Arc::new(move |asked| {
            let shared = Arc::clone(&shared);
            Box::pin(async move {
                shared.ask(&asked).await.unwrap_or_else(|error| {
                    tracing::warn!(%error, server = %asked.server, "a question could not be asked");
                    ElicitationAnswer::Cancel
                })
            })
        })
    }

    /// Whether this is an open question.
    pub(super) fn has(&self, id: &RequestId) -> bool {
        self.0.open.lock().contains(id)
    }

    /// Questions belong to this session from now on, or to none; those of the one before are not decided.
    pub(super) async fn enter(&self, session: Option<SessionId>) {
        let before = std::mem::replace(&mut *self.0.session.lock(), session);
        let Some(before) = before else { return };
        if let Err(error) = self.0.store.end_questions(&before).await {
            tracing::warn!(%error, "questions were not withdrawn");
        }
    }
}

/// Returns the answer for the server; errs with the fault in the values.
fn answer(request: &Request, approval: Approval) -> Result<ElicitationAnswer, String> {
    match approval {
        Approval::Approve { instead, .. } => {
            let values = instead.map_or_else(|| request.args.clone(), |(_, args)| args);
            let schema = request.parameters.as_deref();
            match schema.and_then(|schema| faults(schema, &values).into_iter().next()) {
                Some(wrong) => Err(wrong.to_string()),
                None => Ok(ElicitationAnswer::Accept(values)),
            }
        }
        Approval::Deny { .. } | Approval::Later => Ok(ElicitationAnswer::Decline),
    }
}

/// Returns what is said of an address that the user agreed to visit.
fn address_of(answer: &ElicitationAnswer, asked: &Elicitation) -> Option<String> {
    match (answer, &asked.wanted) {
        (ElicitationAnswer::Accept(_), ElicitationKind::Visit { address }) => {
            Some(format!("Visit this address: {}", sanitize_line(address)))
        }
        (_, _) => None,
    }
}

/// Returns a question as the request of a card.
fn request(asked: &Elicitation, again: Option<String>) -> Request {
    let Elicitation { server, message, wanted } = asked;
    let (args, parameters, preview, what) = match wanted {
        ElicitationKind::Form { schema } => {
            let text = format!("{message}\n\n{}", fields(schema));
            let parameters = Some(Box::new(schema.clone()));
            (defaults(schema), parameters, Preview::Text { text }, "wants to know something")
        }
        ElicitationKind::Visit { address } => {
            let (shown, host) = (sanitize_line(address), shown_address(address));
            let text = format!("{message}\n\nIt asks you to visit this address, on {host}:\n{shown}");
            let args = Value::Object(Map::new());
            (args, None, Preview::Text { text }, "wants you to visit an address")
        }
    };
    let summary = format!("the tool server {server} {what}");
    let id: String = fingerprint(Uuid::new_v4().as_bytes()).chars().take(ID).collect();
    let plan = CallPlan { preview, ..CallPlan::new(summary, Risk::Medium, Access::Nothing) };
    let (call, tool) = (CallId(format!("question.{id}")), ToolName::new(QUESTION));
    Request {
        why: vec![format!("what you answer is sent to {server}")],
        again,
        parameters,
        ..Request::new(RequestId(id), call, tool, args, plan)
    }
}

/// Returns the fields of a form, a line each.
fn fields(schema: &Value) -> String {
    let needed: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let line = |(name, field): (&String, &Value)| {
        let about = field.get("description").or(field.get("title")).and_then(Value::as_str);
        let about = about.map(|about| format!(" ({})", sanitize_line(about))).unwrap_or_default();
        let value = match field.get("default") {
            Some(value) => format!("= {value}"),
            None if needed.contains(&name.as_str()) => "is needed".to_owned(),
            None => "may be left empty".to_owned(),
        };
        format!("{}{about} {value}", sanitize_line(name))
    };
    let all = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    all.map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the values that a form proposes.
fn defaults(schema: &Value) -> Value {
    let fields = schema.get("properties").and_then(Value::as_object);
    let set = fields.into_iter().flatten();
    Value::Object(
        set.filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone()))).collect(),
    )
}
