//! The request checker: rejects what a real service would reject.
//!
//! Always on where a script replies, in process and over HTTP, so that no test passes with a conversation
//! that a real model would reject. It converts requests in the program's own form and the wires' bodies into
//! one form and checks that; it repairs nothing. It knows the sent signatures, to detect missing ones.

mod read;

use std::collections::HashSet;

use serde_json::Value;

use super::script::{End, Reply, Step};
use co_engine::message::StopKind;
use co_engine::provider::{ErrorClass, ModelRequest, ProviderError};

/// The fault of a request, worded like an API error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Finding(String);

impl Finding {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the refusal as a provider reports it.
    pub fn refusal(&self) -> ProviderError {
        let mut error = ProviderError::new(ErrorClass::BadRequest, self.0.clone());
        error.status = Some(400);
        error.code = Some("invalid_request_error".to_owned());
        error
    }
}

/// A conversation, reduced to what can be wrong with it.
#[derive(Debug, Default)]
struct Conversation {
    model: String,
    entries: Vec<Entry>,
    order: Order,
}

/// Whether returns must be in call order: our own messages guarantee it, services do not require it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Order {
    #[default]
    AsCalled,
    Any,
}

#[derive(Debug, PartialEq)]
enum Entry {
    User,
    Assistant {
        calls: Vec<Call>,
        /// Signatures and similar data of the reply.
        signatures: Vec<String>,
        /// The reply's thinking, signed or not.
        thinking: Vec<String>,
        paused: bool,
    },
    /// Ids of the calls that are answered here.
    Returns(Vec<String>),
}

#[derive(Debug, PartialEq)]
struct Call {
    /// Unique in the conversation.
    id: String,
    /// The id that the provider assigned.
    wire_id: String,
}

/// The parts of a reply that must be sent back with it.
#[derive(Debug)]
struct RequiredParts {
    model: String,
    calls: Vec<String>,
    /// Thinking and its signature.
    signed: Vec<(String, String)>,
}

/// Checks requests, knowing the replies that were sent.
#[derive(Debug, Default)]
pub struct Checker {
    given: Vec<RequiredParts>,
    /// Whether the last reply asked to be continued.
    paused: bool,
}

impl Checker {
    /// Records a reply to the `number`-th request, for `model`, just before it is sent.
    pub fn give(&mut self, reply: &Reply, number: usize, model: &str) {
        let mut given = RequiredParts { model: model.to_owned(), calls: Vec::new(), signed: Vec::new() };
        let mut thought = String::new();
        for step in &reply.steps {
            match step {
                Step::Thinking { text, signature } => {
                    thought.push_str(text);
                    if let Some(signature) = signature {
                        given.signed.push((std::mem::take(&mut thought), signature.clone()));
                    }
                }
                Step::Call { wire_id, .. } => {
                    let made_up = super::made_up_id(number, given.calls.len() + 1);
                    given.calls.push(wire_id.clone().unwrap_or(made_up));
                    thought.clear();
                }
                Step::Text { .. } | Step::Native { .. } | Step::Part => thought.clear(),
                Step::Gate { .. } => {}
            }
        }
        self.paused = matches!(&reply.end, End::Stop(stop) if stop.kind == StopKind::PauseTurn);
        // An unfinished reply is not part of any conversation.
        if matches!(reply.end, End::Stop(_)) && !given.signed.is_empty() {
            self.given.push(given);
        }
    }

    /// Records a recorded answer. Only whether it asks to be continued is read from it, because otherwise the
    /// next request would look wrong.
    pub fn give_recorded(&mut self, body: &[u8]) {
        let mark: &[u8] = b"\"pause_turn\"";
        self.paused = body.windows(mark.len()).any(|piece| piece == mark);
    }

    /// Checks a request in the program's own form.
    pub fn request(&self, request: &ModelRequest) -> Result<(), Finding> {
        self.check(&read::request(request))
    }

    /// Checks an Anthropic Messages body.
    pub fn anthropic(&self, body: &Value) -> Result<(), Finding> {
        self.check(&read::anthropic(body, self.paused)?)
    }

    /// Checks a Chat Completions body.
    pub fn openai_chat(&self, body: &Value) -> Result<(), Finding> {
        self.check(&read::openai_chat(body)?)
    }

    /// Checks a Responses body.
    pub fn openai_responses(&self, body: &Value) -> Result<(), Finding> {
        self.check(&read::responses::read(body)?)
    }

    /// Checks a Gemini body; the model is in the path.
    pub fn gemini(&self, model: &str, body: &Value) -> Result<(), Finding> {
        self.check(&read::gemini::read(model, body)?)
    }

    /// Checks an Ollama body.
    pub fn ollama(&self, body: &Value) -> Result<(), Finding> {
        self.check(&read::ollama::read(body)?)
    }

    fn check(&self, conversation: &Conversation) -> Result<(), Finding> {
        let entries = &conversation.entries;
        match entries.first() {
            Some(Entry::User) => {}
            None => return Err(Finding::new("messages: at least one message is required")),
            Some(Entry::Assistant { .. } | Entry::Returns(_)) => {
                return Err(Finding::new("messages: the first message must be the user's"));
            }
        }
        if let Some(Entry::Assistant { paused: false, .. }) = entries.last() {
            return Err(Finding::new("messages: the last message must not be the assistant's"));
        }
        let mut known = HashSet::new();
        let mut before: Option<&Entry> = None;
        for (at, entry) in entries.iter().enumerate() {
            self.entry(conversation, at, entry, before, &mut known)?;
            before = Some(entry);
        }
        match before {
            Some(Entry::Assistant { calls, .. }) => {
                answered(entries.len() - 1, calls, &[], conversation.order)
            }
            Some(Entry::User | Entry::Returns(_)) | None => Ok(()),
        }
    }

    fn entry<'a>(
        &self,
        conversation: &Conversation,
        at: usize,
        entry: &'a Entry,
        before: Option<&'a Entry>,
        known: &mut HashSet<&'a str>,
    ) -> Result<(), Finding> {
        let open: &[Call] = match before {
            Some(Entry::Assistant { calls, .. }) => calls,
            Some(Entry::User | Entry::Returns(_)) | None => &[],
        };
        match entry {
            Entry::Returns(ids) => return answered(at, open, ids, conversation.order),
            Entry::User => answered(at.saturating_sub(1), open, &[], conversation.order)?,
            Entry::Assistant { calls, signatures, thinking, .. } => {
                answered(at.saturating_sub(1), open, &[], conversation.order)?;
                for call in calls {
                    if !known.insert(&call.id) {
                        return Err(Finding::new(format!(
                            "messages.{at}: tool call ids must be unique: {}",
                            call.id
                        )));
                    }
                }
                self.signatures(&conversation.model, at, calls, signatures, thinking)?;
            }
        }
        Ok(())
    }

    /// Checks that everything that was signed came back signed.
    fn signatures(
        &self,
        model: &str,
        at: usize,
        calls: &[Call],
        signatures: &[String],
        thinking: &[String],
    ) -> Result<(), Finding> {
        for given in self.given.iter().filter(|given| given.model == model) {
            let same_reply =
                calls.iter().any(|call| !call.wire_id.is_empty() && given.calls.contains(&call.wire_id));
            for (text, signature) in &given.signed {
                let bare = !text.is_empty() && thinking.contains(text);
                if (same_reply || bare) && !signatures.contains(signature) {
                    return Err(Finding::new(format!(
                        "messages.{at}: expected thinking with its signature `{signature}`; it was given and did not come back"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Checks that each call of a reply is answered once.
fn answered(at: usize, calls: &[Call], returns: &[String], order: Order) -> Result<(), Finding> {
    let mut seen = HashSet::new();
    for id in returns {
        if !calls.iter().any(|call| call.id == *id) {
            return Err(Finding::new(format!(
                "messages.{at}: a return for `{id}`, which is no call of the reply before it"
            )));
        }
        if !seen.insert(id) {
            return Err(Finding::new(format!("messages.{at}: `{id}` is answered twice")));
        }
    }
    if let Some(call) = calls.iter().find(|call| !seen.contains(&call.id)) {
        return Err(Finding::new(format!(
            "messages.{at}: tool call `{}` has no return immediately after it",
            call.id
        )));
    }
    let in_order = calls.iter().map(|call| &call.id).eq(returns.iter());
    if order == Order::AsCalled && !in_order {
        return Err(Finding::new(format!("messages.{at}: returns do not come in the order of their calls")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
