//! Converts the end and the usage of a reply to our own terms (`wire.md` §0).

use crate::message::{StopKind, StopReason};

/// The service's statement of how a reply ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyEnd {
    Completed,
    /// Cut off, with the reason.
    Incomplete(Option<String>),
}

/// Returns the stop reason; `calls` is the number of calls in the reply, `refusal` the text of its refusal.
pub fn stop_reason(ended: &ReplyEnd, calls: usize, refusal: &str) -> StopReason {
    let (kind, raw) = match ended {
        ReplyEnd::Completed if calls > 0 => (StopKind::ToolUse, "completed".to_owned()),
        ReplyEnd::Completed if !refusal.is_empty() => (StopKind::Refusal, "completed".to_owned()),
        ReplyEnd::Completed => (StopKind::EndTurn, "completed".to_owned()),
        ReplyEnd::Incomplete(None) => (StopKind::Other, "incomplete".to_owned()),
        ReplyEnd::Incomplete(Some(reason)) => (cut_by(reason), format!("incomplete:{reason}")),
    };
    let detail = (!refusal.is_empty()).then(|| refusal.to_owned());
    StopReason { kind, raw: Some(raw), detail }
}

fn cut_by(reason: &str) -> StopKind {
    match reason {
        "max_output_tokens" => StopKind::MaxTokens,
        "content_filter" => StopKind::Refusal,
        _ => StopKind::Other,
    }
}
