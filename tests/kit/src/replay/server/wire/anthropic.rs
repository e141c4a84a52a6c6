//! A scripted reply as Anthropic Messages events.

use serde_json::{Map, Value, json};

use super::super::frames::{self, Frame, HttpResponse, event};
use crate::replay::made_up_id;
use crate::replay::script::{CallEnding, End, Reply, ScriptedError, Step};
use co_engine::message::{StopKind, StopReason, Usage};

/// Returns the answer to the `number`-th request, which asked for `model`.
pub fn answer(reply: &Reply, number: usize, model: &str) -> HttpResponse {
    let mut writer = Writer { frames: Vec::new(), blocks: 0, open: None, calls: 0, number };
    let model = reply.model.as_deref().unwrap_or(model);
    let (input, cached) = (reply.usage.input.unwrap_or(0), reply.usage.cached_input.unwrap_or(0));
    writer.send(&json!({
        "type": "message_start",
        "message": {
            "id": format!("msg_{number}"),
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": null,
            "usage": {
                "input_tokens": input.saturating_sub(cached),
                "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": 0,
                "output_tokens": 1,
            },
        },
    }));
    for step in &reply.steps {
        writer.step(step);
    }
    writer.end(&reply.end, &reply.usage);
    frames::answer(reply, writer.frames, refusal)
}

fn refusal(error: &ScriptedError) -> Value {
    json!({ "type": "error", "error": { "type": error.code, "message": error.message } })
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
    Other,
}

struct Writer {
    frames: Vec<Frame>,
    blocks: usize,
    open: Option<(usize, Kind)>,
    calls: usize,
    number: usize,
}

impl Writer {
    fn send(&mut self, data: &Value) {
        self.frames.push(Frame::Send(self.bytes(data)));
    }

    fn bytes(&self, data: &Value) -> Vec<u8> {
        event(data.get("type").and_then(Value::as_str), data)
    }

    fn start(&mut self, kind: Kind, block: &Value) -> usize {
        self.stop();
        let index = self.blocks;
        self.blocks += 1;
        self.open = Some((index, kind));
        self.send(&json!({ "type": "content_block_start", "index": index, "content_block": block }));
        index
    }

    fn stop(&mut self) {
        if let Some((index, _)) = self.open.take() {
            self.send(&json!({ "type": "content_block_stop", "index": index }));
        }
    }

    fn block(&mut self, kind: Kind, block: &Value) -> usize {
        match self.open {
            Some((index, open)) if open == kind => index,
            Some(_) | None => self.start(kind, block),
        }
    }

    fn delta(index: usize, delta: &Value) -> Value {
        json!({ "type": "content_block_delta", "index": index, "delta": delta })
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Thinking { text, signature } => {
                let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
                let index = self.block(Kind::Thinking, &block);
                self.send(&Self::delta(index, &json!({ "type": "thinking_delta", "thinking": text })));
                if let Some(signature) = signature {
                    self.send(&Self::delta(
                        index,
                        &json!({ "type": "signature_delta", "signature": signature }),
                    ));
                    self.stop();
                }
            }
            Step::Text { text, times } => {
                let index = self.block(Kind::Text, &json!({ "type": "text", "text": "" }));
                let delta = Self::delta(index, &json!({ "type": "text_delta", "text": text }));
                let bytes = self.bytes(&delta);
                self.frames.push(Frame::Repeat { bytes, times: *times });
            }
            Step::Call { wire_id, name, args, ending } => self.call(wire_id.as_deref(), name, args, *ending),
            Step::Native { data } => {
                self.start(Kind::Other, data);
                self.stop();
            }
            Step::Part => self.stop(),
            Step::Gate { name } => self.frames.push(Frame::Gate(name.clone())),
        }
    }

    fn call(&mut self, wire_id: Option<&str>, name: &str, args: &str, ending: CallEnding) {
        self.calls += 1;
        let id = wire_id.map_or_else(|| made_up_id(self.number, self.calls), str::to_owned);
        let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
        let index = self.start(Kind::Other, &block);
        self.send(&Self::delta(index, &json!({ "type": "input_json_delta", "partial_json": "" })));
        // In two pieces, as real services send arguments.
        let middle = (0..=args.len() / 2).rev().find(|at| args.is_char_boundary(*at)).unwrap_or(0);
        let (first, second) = args.split_at(middle);
        for piece in [first, second].into_iter().filter(|piece| !piece.is_empty()) {
            self.send(&Self::delta(index, &json!({ "type": "input_json_delta", "partial_json": piece })));
        }
        if ending == CallEnding::Closed {
            self.stop();
        }
    }

    fn end(&mut self, end: &End, usage: &Usage) {
        match end {
            End::Stop(stop) => {
                self.stop();
                let delta = stop_delta(stop);
                let usage = json!({ "output_tokens": usage.output.unwrap_or(0) });
                self.send(&json!({ "type": "message_delta", "delta": delta, "usage": usage }));
                self.send(&json!({ "type": "message_stop" }));
            }
            End::Error(error) => self.send(&refusal(error)),
            End::Cut => self.frames.push(Frame::Cut),
            End::Hang => self.frames.push(Frame::Hang),
        }
    }
}

fn stop_delta(stop: &StopReason) -> Value {
    let mut delta = Map::new();
    delta.insert("stop_reason".to_owned(), json!(stop.raw));
    let sequence = stop.detail.clone().filter(|_| stop.kind == StopKind::StopSequence);
    delta.insert("stop_sequence".to_owned(), json!(sequence));
    if let (StopKind::Refusal, Some(words)) = (stop.kind, &stop.detail) {
        let details = json!({ "type": "refusal", "category": null, "explanation": words });
        delta.insert("stop_details".to_owned(), details);
    }
    Value::Object(delta)
}
