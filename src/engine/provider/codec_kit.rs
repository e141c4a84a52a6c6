//! Parts of conversations for the tests of the codecs.

use serde_json::Value;

use crate::message::{
    AssistantMessage, AssistantPart, CallId, Message, Opaque, PartKind, ReturnPart, ReturnStatus, StopKind,
    StopReason, ToolCall, ToolName, ToolReturn, UserPart,
};

/// A reply that ended so. Its model is never sent.
pub fn ended(parts: Vec<AssistantPart>, stop: StopReason) -> Message {
    Message::Assistant(AssistantMessage { parts, asked: String::new(), model: "x".into(), stop })
}

pub fn assistant(parts: Vec<AssistantPart>) -> Message {
    ended(parts, StopReason::new(StopKind::EndTurn))
}

pub fn text(text: &str) -> AssistantPart {
    AssistantPart::new(PartKind::Text { text: text.into() })
}

pub fn thinking() -> AssistantPart {
    AssistantPart::new(PartKind::Thinking { text: "Hm.".into() })
}

pub fn native() -> AssistantPart {
    AssistantPart::new(PartKind::Native)
}

pub fn call(id: &str, wire_id: &str, args: Value) -> AssistantPart {
    let (id, name) = (CallId(id.into()), ToolName::new("read_file"));
    AssistantPart::new(PartKind::ToolCall(ToolCall { id, wire_id: wire_id.into(), name, args }))
}

/// The part with opaque data of a model on a wire.
pub fn with(mut part: AssistantPart, wire: &str, model: &str, data: Value) -> AssistantPart {
    part.opaque = Some(Opaque::new(wire, model, data));
    part
}

pub fn returned(id: &str, status: ReturnStatus, text: &str) -> ToolReturn {
    ToolReturn::program(CallId(id.into()), status, text)
}

pub fn ok(id: &str, text: &str) -> ToolReturn {
    returned(id, ReturnStatus::Ok, text)
}

/// A return of only an image.
pub fn pictured(id: &str) -> ToolReturn {
    let image = ReturnPart::Image { media_type: "image/png".into(), data: "QUJD".into() };
    ToolReturn { content: vec![image], ..ok(id, "") }
}

pub fn returns(returns: Vec<ToolReturn>) -> Message {
    Message::ToolReturns { returns }
}

/// The same image from the user.
pub fn image() -> UserPart {
    UserPart::Image { media_type: "image/png".into(), data: "QUJD".into() }
}
