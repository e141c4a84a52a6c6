//! A scripted reply as lines of Ollama's `/api/chat`.
//!
//! Parts that this wire cannot express are omitted: signatures, native items, and truncated calls (they are sent
//! whole or not at all).

use serde_json::{Value, json};

use super::super::frames::{self, Frame, Head, HttpResponse};
use crate::replay::made_up_id;
use crate::replay::script::{CallEnding, End, Reply, ScriptedError, Step};
use co_engine::message::{StopKind, StopReason, Usage};

/// Returns the answer to the `number`-th request, which asked for `model`.
pub fn answer(reply: &Reply, number: usize, model: &str) -> HttpResponse {
    let model = reply.model.clone().unwrap_or_else(|| model.to_owned());
    let mut writer = Writer { frames: Vec::new(), calls: 0, number, model };
    for step in &reply.steps {
        writer.step(step);
    }
    writer.end(&reply.end, &reply.usage);
    let mut answer = frames::answer(reply, writer.frames, refusal);
    if let Some(head) = answer.head.as_mut().filter(|head| head.status == 200) {
        *head = Head::new(200, "application/x-ndjson");
    }
    answer
}

fn refusal(error: &ScriptedError) -> Value {
    json!({ "error": error.message })
}

struct Writer {
    frames: Vec<Frame>,
    calls: usize,
    number: usize,
    model: String,
}

impl Writer {
    fn line(&self, message: &Value) -> Vec<u8> {
        let line = json!({ "model": self.model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false });
        format!("{line}\n").into_bytes()
    }

    fn say(&mut self, message: &Value) {
        self.frames.push(Frame::Send(self.line(message)));
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Thinking { text, .. } => {
                self.say(&json!({ "role": "assistant", "content": "", "thinking": text }));
            }
            Step::Text { text, times } => {
                let bytes = self.line(&json!({ "role": "assistant", "content": text }));
                self.frames.push(Frame::Repeat { bytes, times: *times });
            }
            Step::Call { wire_id, name, args, ending: CallEnding::Closed } => {
                self.call(wire_id.as_deref(), name, args);
            }
            Step::Call { ending: CallEnding::Open, .. } | Step::Native { .. } | Step::Part => {}
            Step::Gate { name } => self.frames.push(Frame::Gate(name.clone())),
        }
    }

    fn call(&mut self, wire_id: Option<&str>, name: &str, args: &str) {
        let index = self.calls;
        self.calls += 1;
        let id = wire_id.map_or_else(|| made_up_id(self.number, self.calls), str::to_owned);
        let empty = json!({});
        let arguments = match args {
            "" => empty,
            args => serde_json::from_str(args).unwrap_or_else(|_| json!(args)),
        };
        let mut call = json!({ "function": { "index": index, "name": name, "arguments": arguments } });
        if let (Some(call), false) = (call.as_object_mut(), id.is_empty()) {
            call.insert("id".to_owned(), json!(id));
        }
        self.say(&json!({ "role": "assistant", "content": "", "tool_calls": [call] }));
    }

    fn end(&mut self, end: &End, usage: &Usage) {
        match end {
            End::Stop(stop) => self.stop(stop, usage),
            End::Error(error) => {
                self.frames.push(Frame::Send(format!("{}\n", refusal(error)).into_bytes()));
            }
            End::Cut => self.frames.push(Frame::Cut),
            End::Hang => self.frames.push(Frame::Hang),
        }
    }

    fn stop(&mut self, stop: &StopReason, usage: &Usage) {
        let line = json!({
            "model": self.model,
            "created_at": "2026-01-01T00:00:01Z",
            "message": { "role": "assistant", "content": "" },
            "done": true,
            "done_reason": done_reason(stop),
            "total_duration": 1_000_000,
            "load_duration": 1_000,
            "prompt_eval_count": usage.input.unwrap_or(0),
            "prompt_eval_duration": 1_000,
            "eval_count": usage.output.unwrap_or(0),
            "eval_duration": 1_000,
        });
        self.frames.push(Frame::Send(format!("{line}\n").into_bytes()));
    }
}

fn done_reason(stop: &StopReason) -> String {
    match stop.kind {
        StopKind::EndTurn | StopKind::ToolUse | StopKind::StopSequence => "stop".to_owned(),
        StopKind::MaxTokens => "length".to_owned(),
        StopKind::Refusal | StopKind::PauseTurn | StopKind::Interrupted | StopKind::Other => {
            stop.raw.clone().unwrap_or_else(|| "stop".to_owned())
        }
    }
}
