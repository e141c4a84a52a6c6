//! Questions of tool servers to the user, shown as cards among the requests: a form for what a server wants to know, or an
//! address that it wants visited. A question lives as long as its server's connection; it is not stored, because after a
//! restart nobody waits for the answer.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::approval::{Approval, Request, RequestId};
use crate::message::{CallId, ToolName};
use crate::stdx::fs::fingerprint;
use crate::stdx::secrecy::shown_address;
use crate::stdx::text::sanitize_line;
use crate::tool::mcp::{Elicitation, ElicitationAnswer, ElicitationKind, Elicitor};
use crate::tool::schema::faults;
use crate::tool::{Access, CallPlan, Effect, Preview, Risk, Undo};

/// The questions that may be open at once; more are answered as not decided.
const MOST: usize = 16;

/// The characters of a request's id.
const ID: usize = 12;

/// What a card calls the tool of a question.
const TOOL: &str = "question";

/// A question on its way to the user.
pub(super) struct AskedQuestion {
    asked: Elicitation,
    answer: oneshot::Sender<ElicitationAnswer>,
}

/// A change of the open questions.
pub(super) enum QuestionEvent {
    Asked(AskedQuestion),
    /// Nobody waits for the answer to one any more.
    Closed,
}

/// Sends [`QuestionEvent::Closed`] when it is dropped: the question was answered or given up.
struct CloseNotifier(mpsc::Sender<QuestionEvent>);

impl Drop for CloseNotifier {
    fn drop(&mut self) {
        // If the channel is full, other events lead to a new list.
        let _ = self.0.try_send(QuestionEvent::Closed);
    }
}

/// Returns what servers ask, and where their questions arrive.
pub(super) fn elicitor() -> (Elicitor, mpsc::Receiver<QuestionEvent>) {
    let (sender, receiver) = mpsc::channel(MOST);
    let elicitor: Elicitor = Arc::new(move |asked| {
        let sender = sender.clone();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            // Without a front end nobody decides.
            if sender.send(QuestionEvent::Asked(AskedQuestion { asked, answer })).await.is_err() {
                return ElicitationAnswer::Cancel;
            }
            let _closing = CloseNotifier(sender);
            answered.await.unwrap_or(ElicitationAnswer::Cancel)
        })
    });
    (elicitor, receiver)
}

/// The questions that wait for the user.
#[derive(Default)]
pub(super) struct Questions {
    open: Vec<OpenQuestion>,
    /// How many there were, for their ids.
    count: u64,
}

struct OpenQuestion {
    request: Request,
    question: AskedQuestion,
}

impl Questions {
    fn add(&mut self, question: AskedQuestion, again: Option<String>) {
        self.open.retain(|one| !one.question.answer.is_closed());
        if self.open.len() >= MOST {
            // Dropped, it is answered as not decided.
            return;
        }
        self.count += 1;
        let request = request(&question.asked, self.count, again);
        self.open.push(OpenQuestion { request, question });
    }

    /// Returns their requests; those that nobody waits for any more are dropped.
    pub(super) fn requests(&mut self) -> Vec<Request> {
        self.open.retain(|one| !one.question.answer.is_closed());
        self.open.iter().map(|one| one.request.clone()).collect()
    }

    /// Whether nobody waits for the answer to one of them any more.
    fn any_closed(&self) -> bool {
        self.open.iter().any(|one| one.question.answer.is_closed())
    }

    pub(super) fn has(&self, id: &RequestId) -> bool {
        self.open.iter().any(|one| one.request.id == *id)
    }

    /// Answers all of them as not decided.
    pub(super) fn abandon(&mut self) {
        self.open.clear();
    }

    /// Takes an event; whether other questions are open now.
    pub(super) fn on(&mut self, event: QuestionEvent) -> bool {
        match event {
            QuestionEvent::Asked(question) => {
                self.add(question, None);
                true
            }
            QuestionEvent::Closed => self.any_closed(),
        }
    }

    /// Answers a question; one whose values do not fit is asked again. Returns what is to be said.
    pub(super) fn answer(&mut self, id: &RequestId, approval: Approval) -> Option<String> {
        let at = self.open.iter().position(|one| one.request.id == *id)?;
        let OpenQuestion { request, question } = self.open.remove(at);
        let answer = match approval {
            Approval::Approve { instead, .. } => {
                let values = instead.map_or(request.args, |(_, args)| args);
                let schema = request.parameters.as_deref();
                let wrong =
                    schema.and_then(|schema| faults(schema, &values).first().map(ToString::to_string));
                if wrong.is_some() {
                    self.add(question, wrong);
                    return None;
                }
                ElicitationAnswer::Accept(values)
            }
            Approval::Deny { .. } => ElicitationAnswer::Decline,
            Approval::Later => {
                self.add(question, None);
                return None;
            }
        };
        let said = match (&answer, &question.asked.wanted) {
            (ElicitationAnswer::Accept(_), ElicitationKind::Visit { address }) => {
                Some(format!("Visit this address: {}", sanitize_line(address)))
            }
            (_, _) => None,
        };
        // The server may be gone.
        let _ = question.answer.send(answer);
        said
    }
}

/// Returns a question as the request of a card.
fn request(asked: &Elicitation, number: u64, again: Option<String>) -> Request {
    let Elicitation { server, message, wanted } = asked;
    let (args, parameters, preview) = match wanted {
        ElicitationKind::Form { schema } => {
            let text = format!("{message}\n\n{}", fields(schema));
            (defaults(schema), Some(Box::new(schema.clone())), Preview::Text { text })
        }
        ElicitationKind::Visit { address } => {
            let (shown, host) = (sanitize_line(address), shown_address(address));
            let text = format!("{message}\n\nIt asks you to visit this address, on {host}:\n{shown}");
            (Value::Object(Map::new()), None, Preview::Text { text })
        }
    };
    let id = fingerprint(format!("question {server} {number} {}", std::process::id()).as_bytes());
    let what = match wanted {
        ElicitationKind::Form { .. } => "wants to know something",
        ElicitationKind::Visit { .. } => "wants you to visit an address",
    };
    Request {
        id: RequestId(id.chars().take(ID).collect()),
        call: CallId(format!("question.{number}")),
        tool: ToolName::new(TOOL),
        args,
        plan: CallPlan {
            summary: format!("the tool server {server} {what}"),
            preview,
            risk: Risk::Medium,
            access: Access::Nothing,
            basis: Vec::new(),
            undo: Undo::None,
            effect: Effect::OfTool,
            question: None,
            needs_person: None,
        },
        risk: Risk::Medium,
        why: vec![format!("what you answer is sent to {server}")],
        after: Vec::new(),
        depends: Vec::new(),
        taint: Vec::new(),
        expires: None,
        again,
        parameters,
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
