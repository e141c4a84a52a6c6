//! A scripted reply as Chat Completions chunks.

use serde_json::{Value, json};

use super::super::frames::{self, Frame, HttpResponse, event};
use crate::replay::made_up_id;
use crate::replay::script::{End, Reply, ScriptedError, Step};
use co_engine::message::{StopKind, StopReason, Usage};

/// Returns the answer to the `number`-th request, which asked for `model`.
pub fn answer(reply: &Reply, number: usize, model: &str) -> HttpResponse {
    let model = reply.model.clone().unwrap_or_else(|| model.to_owned());
    let mut writer = Writer { frames: Vec::new(), calls: 0, details: 0, number, model };
    writer.delta(&json!({ "role": "assistant", "content": "" }));
    for step in &reply.steps {
        writer.step(step);
    }
    writer.end(&reply.end, &reply.usage);
    frames::answer(reply, writer.frames, refusal)
}

fn refusal(error: &ScriptedError) -> Value {
    json!({ "error": { "message": error.message, "type": error.code, "param": null, "code": error.code } })
}

struct Writer {
    frames: Vec<Frame>,
    calls: usize,
    /// The number of reasoning details so far: one per signed thought.
    details: usize,
    number: usize,
    model: String,
}

impl Writer {
    fn chunk(&self, choices: &Value) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.number),
            "object": "chat.completion.chunk",
            "model": self.model,
            "choices": choices,
        })
    }

    fn bytes(&self, delta: &Value) -> Vec<u8> {
        event(None, &self.chunk(&json!([{ "index": 0, "delta": delta, "finish_reason": null }])))
    }

    fn delta(&mut self, delta: &Value) {
        self.frames.push(Frame::Send(self.bytes(delta)));
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Thinking { text, signature } => {
                self.delta(&json!({ "reasoning_content": text }));
                if let Some(signature) = signature {
                    let detail =
                        json!({ "type": "reasoning.text", "index": self.details, "signature": signature });
                    self.details += 1;
                    self.delta(&json!({ "reasoning_details": [detail] }));
                }
            }
            Step::Text { text, times } => {
                let bytes = self.bytes(&json!({ "content": text }));
                self.frames.push(Frame::Repeat { bytes, times: *times });
            }
            Step::Call { wire_id, name, args, .. } => self.call(wire_id.as_deref(), name, args),
            Step::Native { data } => self.delta(&json!({ "reasoning_details": [data] })),
            // This wire cannot separate two consecutive texts.
            Step::Part => {}
            Step::Gate { name } => self.frames.push(Frame::Gate(name.clone())),
        }
    }

    fn call(&mut self, wire_id: Option<&str>, name: &str, args: &str) {
        let index = self.calls;
        self.calls += 1;
        let id = wire_id.map_or_else(|| made_up_id(self.number, self.calls), str::to_owned);
        let function = json!({ "name": name, "arguments": "" });
        self.delta(&json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": function }] }));
        // In two pieces, as real services send arguments.
        let middle = (0..=args.len() / 2).rev().find(|at| args.is_char_boundary(*at)).unwrap_or(0);
        let (first, second) = args.split_at(middle);
        for piece in [first, second].into_iter().filter(|piece| !piece.is_empty()) {
            self.delta(&json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }));
        }
    }

    fn end(&mut self, end: &End, usage: &Usage) {
        match end {
            End::Stop(stop) => self.stop(stop, usage),
            End::Error(error) => self.frames.push(Frame::Send(event(None, &refusal(error)))),
            End::Cut => self.frames.push(Frame::Cut),
            End::Hang => self.frames.push(Frame::Hang),
        }
    }

    fn stop(&mut self, stop: &StopReason, usage: &Usage) {
        if let (StopKind::Refusal, Some(words)) = (stop.kind, &stop.detail) {
            self.delta(&json!({ "refusal": words }));
        }
        let choices = json!([{ "index": 0, "delta": {}, "finish_reason": finish_reason(stop) }]);
        self.frames.push(Frame::Send(event(None, &self.chunk(&choices))));
        let mut last = self.chunk(&json!([]));
        if let Some(last) = last.as_object_mut() {
            last.insert("usage".to_owned(), usage_value(usage));
        }
        self.frames.push(Frame::Send(event(None, &last)));
        self.frames.push(Frame::Send(b"data: [DONE]\n\n".to_vec()));
    }
}

fn finish_reason(stop: &StopReason) -> String {
    let word = match stop.kind {
        StopKind::EndTurn | StopKind::StopSequence => "stop",
        StopKind::ToolUse => "tool_calls",
        StopKind::MaxTokens => "length",
        StopKind::Refusal if stop.detail.is_some() => "stop",
        StopKind::Refusal => "content_filter",
        StopKind::PauseTurn | StopKind::Interrupted | StopKind::Other => {
            return stop.raw.clone().unwrap_or_else(|| "stop".to_owned());
        }
    };
    word.to_owned()
}

fn usage_value(usage: &Usage) -> Value {
    let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
    let mut told = json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": usage.cached_input.unwrap_or(0) },
    });
    // As OpenRouter reports it.
    if let (Some(cost), Some(told)) = (usage.cost, told.as_object_mut()) {
        told.insert("cost".to_owned(), json!(cost.dollars()));
    }
    told
}
