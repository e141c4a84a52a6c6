//! A scripted reply as Responses events.

use serde_json::{Map, Value, json};

use super::super::frames::{self, Frame, HttpResponse, event};
use crate::replay::made_up_id;
use crate::replay::script::{CallEnding, End, Reply, ScriptedError, Step};
use co_engine::message::{StopKind, StopReason, Usage};

/// Returns the answer to the `number`-th request, which asked for `model`.
pub fn answer(reply: &Reply, number: usize, model: &str) -> HttpResponse {
    let model = reply.model.clone().unwrap_or_else(|| model.to_owned());
    let mut writer =
        Writer { frames: Vec::new(), sent: 0, output: Vec::new(), open: None, calls: 0, number, model };
    for kind in ["response.created", "response.in_progress"] {
        let response = writer.response("in_progress", &json!([]), &[]);
        writer.send(kind, &[("response", response)]);
    }
    for step in &reply.steps {
        writer.step(step);
    }
    writer.end(&reply.end, &reply.usage);
    frames::answer(reply, writer.frames, refusal)
}

fn refusal(error: &ScriptedError) -> Value {
    json!({ "error": { "message": error.message, "type": error.code, "param": null, "code": error.code } })
}

/// An item that grows piece by piece.
enum Open {
    Message(String),
    Reasoning(String),
}

struct Writer {
    frames: Vec<Frame>,
    /// The number of events so far; each contains its number.
    sent: usize,
    /// The complete items so far, without the open one.
    output: Vec<Value>,
    open: Option<Open>,
    calls: usize,
    number: usize,
    model: String,
}

impl Writer {
    fn bytes(&mut self, kind: &str, fields: &[(&str, Value)]) -> Vec<u8> {
        let mut data = Map::new();
        data.insert("type".to_owned(), json!(kind));
        data.insert("sequence_number".to_owned(), json!(self.sent));
        self.sent += 1;
        data.extend(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        event(Some(kind), &Value::Object(data))
    }

    fn send(&mut self, kind: &str, fields: &[(&str, Value)]) {
        let bytes = self.bytes(kind, fields);
        self.frames.push(Frame::Send(bytes));
    }

    /// Builds an event about a piece of the open item; `list` names the index of the piece within it.
    fn piece(&self, list: &'static str, field: (&'static str, Value)) -> [(&'static str, Value); 4] {
        let at = self.output.len();
        [("item_id", json!(self.id("item"))), ("output_index", json!(at)), (list, json!(0)), field]
    }

    /// Returns the id of the next item.
    fn id(&self, kind: &str) -> String {
        format!("{kind}_{}_{}", self.number, self.output.len())
    }

    fn response(&self, status: &str, output: &Value, more: &[(&str, Value)]) -> Value {
        let mut response = json!({
            "id": format!("resp_{}", self.number),
            "object": "response",
            "created_at": 0,
            "status": status,
            "error": null,
            "incomplete_details": null,
            "model": self.model,
            "output": output,
            "store": false,
            "usage": null,
        });
        for (key, value) in more {
            response[*key] = value.clone();
        }
        response
    }

    fn added(&mut self, item: &Value) {
        let at = self.output.len();
        self.send("response.output_item.added", &[("output_index", json!(at)), ("item", item.clone())]);
    }

    fn done(&mut self, item: Value) {
        let at = self.output.len();
        self.send("response.output_item.done", &[("output_index", json!(at)), ("item", item.clone())]);
        self.output.push(item);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Thinking { text, signature } => {
                self.think(text);
                if let Some(signature) = signature {
                    self.close(Some(signature));
                }
            }
            Step::Text { text, times } => self.say(text, *times),
            Step::Call { wire_id, name, args, ending } => {
                self.close(None);
                self.call(wire_id.as_deref(), name, args, *ending);
            }
            Step::Native { data } => {
                self.close(None);
                self.added(data);
                self.done(data.clone());
            }
            Step::Part => self.close(None),
            Step::Gate { name } => self.frames.push(Frame::Gate(name.clone())),
        }
    }

    fn think(&mut self, text: &str) {
        if !matches!(self.open, Some(Open::Reasoning(_))) {
            self.close(None);
            self.added(&json!({ "id": self.id("item"), "type": "reasoning", "content": [], "summary": [] }));
            let part = json!({ "type": "summary_text", "text": "" });
            self.send("response.reasoning_summary_part.added", &self.piece("summary_index", ("part", part)));
            self.open = Some(Open::Reasoning(String::new()));
        }
        if let Some(Open::Reasoning(said)) = &mut self.open {
            said.push_str(text);
        }
        let delta = self.piece("summary_index", ("delta", json!(text)));
        self.send("response.reasoning_summary_text.delta", &delta);
    }

    fn say(&mut self, text: &str, times: usize) {
        if !matches!(self.open, Some(Open::Message(_))) {
            self.close(None);
            self.added(&self.message("in_progress", &[]));
            let part = output_text("");
            self.send("response.content_part.added", &self.piece("content_index", ("part", part)));
            self.open = Some(Open::Message(String::new()));
        }
        if let Some(Open::Message(said)) = &mut self.open {
            said.push_str(&text.repeat(times));
        }
        let delta = self.piece("content_index", ("delta", json!(text)));
        let bytes = self.bytes("response.output_text.delta", &delta);
        self.frames.push(Frame::Repeat { bytes, times });
    }

    fn message(&self, status: &str, content: &[Value]) -> Value {
        json!({
            "id": self.id("item"),
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": content,
        })
    }

    /// Ends the open item; reasoning may have data that must be sent back with it.
    fn close(&mut self, encrypted: Option<&str>) {
        match self.open.take() {
            None => {}
            Some(Open::Message(text)) => {
                self.send(
                    "response.output_text.done",
                    &self.piece("content_index", ("text", json!(text.clone()))),
                );
                let part = output_text(&text);
                self.send("response.content_part.done", &self.piece("content_index", ("part", part.clone())));
                self.done(self.message("completed", &[part]));
            }
            Some(Open::Reasoning(text)) => {
                let part = json!({ "type": "summary_text", "text": text });
                self.send(
                    "response.reasoning_summary_text.done",
                    &self.piece("summary_index", ("text", json!(text))),
                );
                let done = self.piece("summary_index", ("part", part.clone()));
                self.send("response.reasoning_summary_part.done", &done);
                let summary = if text.is_empty() { json!([]) } else { json!([part]) };
                let mut item = json!({
                    "id": self.id("item"), "type": "reasoning", "content": [], "summary": summary,
                });
                if let Some(encrypted) = encrypted {
                    item["encrypted_content"] = json!(encrypted);
                }
                self.done(item);
            }
        }
    }

    fn call(&mut self, wire_id: Option<&str>, name: &str, args: &str, ending: CallEnding) {
        self.calls += 1;
        let call_id = wire_id.map_or_else(|| made_up_id(self.number, self.calls), str::to_owned);
        let id = self.id("item");
        let item = |status: &str, args: &str| {
            json!({
                "id": id,
                "type": "function_call",
                "status": status,
                "arguments": args,
                "call_id": call_id,
                "name": name,
            })
        };
        self.added(&item("in_progress", ""));
        // In two pieces, as real services send arguments.
        let middle = (0..=args.len() / 2).rev().find(|at| args.is_char_boundary(*at)).unwrap_or(0);
        let (first, second) = args.split_at(middle);
        for piece in [first, second].into_iter().filter(|piece| !piece.is_empty()) {
            let delta = self.piece("content_index", ("delta", json!(piece)));
            self.send("response.function_call_arguments.delta", &delta);
        }
        match ending {
            CallEnding::Closed => {
                let whole = self.piece("content_index", ("arguments", json!(args)));
                self.send("response.function_call_arguments.done", &whole);
                self.done(item("completed", args));
            }
            // Only the response reports its end.
            CallEnding::Open => self.output.push(item("incomplete", args)),
        }
    }

    fn end(&mut self, end: &End, usage: &Usage) {
        match end {
            End::Stop(stop) => self.stop(stop, usage),
            End::Error(error) => self.fail(error),
            End::Cut => self.frames.push(Frame::Cut),
            End::Hang => self.frames.push(Frame::Hang),
        }
    }

    /// Sends an error twice: separately, and as the response's end.
    fn fail(&mut self, error: &ScriptedError) {
        let told = refusal(error)["error"].take();
        self.send("error", &[("error", told)]);
        let failed = json!({ "code": error.code, "message": error.message });
        let response = self.response("failed", &json!([]), &[("error", failed)]);
        self.send("response.failed", &[("response", response)]);
    }

    fn stop(&mut self, stop: &StopReason, usage: &Usage) {
        self.close(None);
        if let (StopKind::Refusal, Some(words)) = (stop.kind, &stop.detail) {
            self.refuse(words);
        }
        let usage = ("usage", usage_value(usage));
        let output = Value::Array(std::mem::take(&mut self.output));
        let (kind, response) = match incomplete(stop) {
            None => ("response.completed", self.response("completed", &output, &[usage])),
            Some(reason) => {
                let details = ("incomplete_details", json!({ "reason": reason }));
                ("response.incomplete", self.response("incomplete", &output, &[usage, details]))
            }
        };
        self.send(kind, &[("response", response)]);
    }

    fn refuse(&mut self, words: &str) {
        self.added(&self.message("in_progress", &[]));
        let delta = self.piece("content_index", ("delta", json!(words)));
        self.send("response.refusal.delta", &delta);
        let whole = self.piece("content_index", ("refusal", json!(words)));
        self.send("response.refusal.done", &whole);
        self.done(self.message("completed", &[json!({ "type": "refusal", "refusal": words })]));
    }
}

fn output_text(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

/// Returns why a response is incomplete; `None` = it is complete.
fn incomplete(stop: &StopReason) -> Option<String> {
    match stop.kind {
        // This wire does not distinguish a stop sequence from any other end.
        StopKind::EndTurn | StopKind::ToolUse | StopKind::StopSequence => None,
        StopKind::MaxTokens => Some("max_output_tokens".to_owned()),
        StopKind::Refusal if stop.detail.is_some() => None,
        StopKind::Refusal => Some("content_filter".to_owned()),
        StopKind::PauseTurn | StopKind::Interrupted | StopKind::Other => {
            Some(stop.raw.clone().unwrap_or_else(|| "unknown".to_owned()))
        }
    }
}

fn usage_value(usage: &Usage) -> Value {
    let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
    json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": usage.cached_input.unwrap_or(0) },
        "output_tokens": output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning.unwrap_or(0) },
        "total_tokens": input + output,
    })
}
