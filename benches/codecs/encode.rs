//! A long conversation: prompts, replies with calls, and what the tools returned, 1 MB in all.

use co::message::{
    AssistantMessage, AssistantPart, CallId, Message, PartKind, ReturnStatus, StopKind, StopReason, ToolCall,
    ToolName, ToolReturn,
};
use co::provider::ModelRequest;
use serde_json::json;

/// Bytes of text in it.
const SIZE: usize = 1_000_000;

pub fn request() -> ModelRequest {
    let mut messages = Vec::new();
    let mut size = 0;
    let mut number = 0;
    while size < SIZE {
        number += 1;
        let output: String = (0..60)
            .map(|line| format!("src/file_{number}.rs:{line}:    let value = \"{line}\";\n"))
            .collect();
        let id = CallId(format!("s/1.1.{number}"));
        let call = ToolCall {
            id: id.clone(),
            wire_id: format!("call_{number}"),
            name: ToolName::new("search_text"),
            args: json!({ "pattern": "value", "path": format!("src/file_{number}.rs") }),
        };
        let text = format!("I look at file {number} and say what I find there. ").repeat(6);
        size += output.len() + text.len();
        let stop = StopReason { kind: StopKind::ToolUse, raw: None, detail: None };
        let part = |kind| AssistantPart { kind, opaque: None };
        messages.push(Message::user(format!("Look at file {number}.")));
        messages.push(Message::Assistant(AssistantMessage {
            parts: vec![part(PartKind::Text { text }), part(PartKind::ToolCall(call))],
            stop,
            asked: String::new(),
            model: "m".to_owned(),
        }));
        let returned = ToolReturn::program(id, ReturnStatus::Ok, output);
        messages.push(Message::ToolReturns { returns: vec![returned] });
    }
    ModelRequest { system: "Be brief.".to_owned(), ..ModelRequest::new("m", messages) }
}
