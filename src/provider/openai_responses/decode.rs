//! Responses events → stream events.
//!
//! The JSON `type` identifies an event, not its `event:` line, which some hosts omit. The first and the last
//! events repeat the whole response; only what no earlier event contained is copied from them.

use serde_json::Value;

use super::item::Section;
use super::output::Output;
use super::place::Places;
use super::totals::{Ended, stop_reason, usage};
use crate::message::Usage;
use crate::provider::classify;
use crate::provider::decoder::{Protocol, is_error, malformed, truncated};
use crate::provider::{ProviderError, Seen, StreamEvent};

/// The state of one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponsesProtocol {
    /// As requested.
    requested: String,
    /// The provider's name for the model; set with `Started`.
    named: Option<String>,
    places: Places,
    output: Output,
    ended: Option<Ended>,
    usage: Usage,
    finished: bool,
}

impl ResponsesProtocol {
    pub fn new(model: &str) -> Self {
        Self {
            requested: model.to_owned(),
            named: None,
            places: Places::default(),
            output: Output::new(model),
            ended: None,
            usage: Usage::default(),
            finished: false,
        }
    }

    fn start(&mut self, response: &Value, out: &mut Vec<StreamEvent>) {
        if self.named.is_some() {
            return;
        }
        let named = text_of(response, "model");
        let model = if named.is_empty() { &self.requested } else { named }.to_owned();
        self.named = Some(model.clone());
        out.push(StreamEvent::Started { model });
    }

    /// Handles an event about an item. Other kinds are ignored: the item's end repeats their content.
    fn item(&mut self, kind: &str, data: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let number = |key: &str| data.get(key).and_then(Value::as_u64).unwrap_or(0);
        let item = || data.get("item").unwrap_or(&Value::Null);
        let (at, delta) = (self.places.of(data)?, || text_of(data, "delta"));
        self.start(&Value::Null, out);
        match kind {
            "response.output_item.added" => self.output.added(at, item(), out),
            "response.output_item.done" => self.output.done(at, item(), out),
            "response.output_text.delta" => self.output.text(at, delta(), out),
            "response.refusal.delta" => self.output.refuse(at, delta()),
            "response.reasoning_summary_text.delta" => {
                self.output.thinking(at, Section::Summary(number("summary_index")), delta(), out)
            }
            "response.reasoning_text.delta" => {
                self.output.thinking(at, Section::Content(number("content_index")), delta(), out)
            }
            "response.function_call_arguments.delta" => self.output.arguments(at, delta(), out),
            _ => Ok(()),
        }
    }

    /// Handles the final response; `word` is its status where the response has none.
    fn end_with(
        &mut self,
        response: &Value,
        word: &str,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        self.start(response, out);
        self.usage = response.get("usage").map(usage).unwrap_or_default();
        let status = Some(text_of(response, "status")).filter(|status| !status.is_empty()).unwrap_or(word);
        let ended = match status {
            "failed" => return Err(classify::classify_value(response)),
            "cancelled" => return Err(truncated("the server cancelled its reply")),
            "queued" | "in_progress" if word.is_empty() => {
                return Err(malformed("the server works on the reply in the background and gave none"));
            }
            "incomplete" => {
                let reason = response.get("incomplete_details").map(|details| text_of(details, "reason"));
                Ended::Incomplete(reason.filter(|reason| !reason.is_empty()).map(str::to_owned))
            }
            _ => Ended::Completed,
        };
        let output = response.get("output").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        self.output.close(output, out)?;
        let stop = stop_reason(&ended, self.output.calls(), self.output.refusal());
        self.ended = Some(ended);
        self.finished = true;
        out.push(StreamEvent::Finished { stop, usage: self.usage });
        Ok(())
    }
}

impl Protocol for ResponsesProtocol {
    fn event(&mut self, data: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if is_error(data) {
            return Err(classify::classify_value(data));
        }
        let kind = text_of(data, "type");
        let response = || data.get("response").unwrap_or(&Value::Null);
        match kind {
            "response.created" | "response.queued" | "response.in_progress" => {
                self.start(response(), out);
                Ok(())
            }
            "response.completed" | "response.done" => self.end_with(response(), "completed", out),
            "response.incomplete" => self.end_with(response(), "incomplete", out),
            "response.failed" => self.end_with(response(), "failed", out),
            "response.cancelled" => self.end_with(response(), "cancelled", out),
            kind if kind.starts_with("response.") => self.item(kind, data, out),
            _ => refuse_other_wires(data),
        }
    }

    /// Not part of this protocol; translating proxies send it.
    fn done_sentinel(&mut self, _out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        Ok(())
    }

    fn end(&mut self, _out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        Err(truncated("the connection ended before the reply did"))
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        refuse_other_wires(body)?;
        if !body.get("output").is_some_and(Value::is_array) {
            return Err(malformed("the server's answer holds no `output`: it is no Responses reply"));
        }
        self.end_with(body, "", out)
    }

    fn finished(&self) -> bool {
        self.finished
    }

    fn seen(&self) -> Seen {
        let stop =
            self.ended.as_ref().map(|ended| stop_reason(ended, self.output.calls(), self.output.refusal()));
        Seen { model: self.named.clone(), stop, usage: self.usage }
    }
}

/// Returns a string field; empty where there is none.
pub fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns an error that names the protocol where the value is of another known one. Unknown values pass.
fn refuse_other_wires(value: &Value) -> Result<(), ProviderError> {
    let kind = text_of(value, "type");
    let (other, remedy) = if value.get("choices").is_some() {
        ("Chat Completions", "set provider = \"openai-compatible\" for it, or check the base URL")
    } else if kind == "message_start" || kind == "message" {
        ("Anthropic Messages", "set provider = \"anthropic\" for it, or check the base URL")
    } else {
        return Ok(());
    };
    Err(malformed(format!("the server speaks {other}, not OpenAI Responses; {remedy}")))
}
