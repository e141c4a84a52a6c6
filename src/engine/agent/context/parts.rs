//! Where the tokens of a request go, by part. Pure.

use super::{BYTES_PER_IMAGE, BYTES_PER_TOKEN, json_bytes};
use crate::message::{Message, MessagePiece, NoteKind};
use crate::provider::ModelRequest;

/// One part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextPart {
    pub name: &'static str,
    /// Estimated tokens.
    pub tokens: u64,
}

const NAMES: [&str; 9] = [
    "system prompt",
    "tools",
    "summary of older messages",
    "prompts",
    "notes to the model",
    "answers and thinking",
    "calls",
    "tool outputs",
    "images",
];

/// Returns the parts of a request in the order in which it has them; those without tokens are left out.
#[must_use]
pub fn parts(request: &ModelRequest) -> Vec<ContextPart> {
    let [mut summary, mut prompts, mut notes, mut answers, mut calls, mut outputs, mut images] = [0; 7];
    for piece in request.conversation().flat_map(Message::pieces) {
        match piece {
            MessagePiece::Prompt(text) => prompts += text.len(),
            MessagePiece::Note(NoteKind::Summary, text) => summary += text.len(),
            MessagePiece::Note(_, text) => notes += text.len(),
            MessagePiece::Answer(text) | MessagePiece::Thought(text) => answers += text.len(),
            MessagePiece::Call(call) => calls += json_bytes(&call.args),
            MessagePiece::Output(text) => outputs += text.len(),
            MessagePiece::Image(_) => images += BYTES_PER_IMAGE,
            MessagePiece::Native => {}
        }
    }
    let (system, tools) = (request.system.len(), request.tools.bytes());
    let bytes = [system, tools, summary, prompts, notes, answers, calls, outputs, images];
    let tokens = |bytes| u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(BYTES_PER_TOKEN);
    let parts = NAMES.into_iter().zip(bytes).map(|(name, bytes)| ContextPart { name, tokens: tokens(bytes) });
    parts.filter(|part| part.tokens > 0).collect()
}
