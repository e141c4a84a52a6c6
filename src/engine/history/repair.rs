//! Repairs conversations so that every call has a return and every return has a call.
//!
//! Records of this program cannot dangle by construction; imported conversations, or those cut by an older
//! program, can. Idempotent. Called when a request to a model is built.

use std::collections::HashMap;
use std::sync::Arc;

use crate::message::{AssistantMessage, CallId, Message, ReturnStatus, ToolCall, ToolReturn};

/// Adds an `Interrupted` return right after the reply for each unanswered call, moves stray returns to their
/// call, keeps the first of duplicates and drops returns without a call. Works anywhere in the list. Messages
/// that need no repair are returned as the same `Arc`, not copied.
pub fn patch_dangling_tool_calls(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut found: HashMap<&CallId, &ToolReturn> = HashMap::new();
    for message in messages {
        if let Message::ToolReturns { returns } = message.as_ref() {
            for one in returns {
                found.entry(&one.call).or_insert(one);
            }
        }
    }
    let mut patched = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        match message.as_ref() {
            Message::ToolReturns { .. } => {}
            Message::User { .. } => patched.push(Arc::clone(message)),
            Message::Assistant(reply) => {
                patched.push(Arc::clone(message));
                patched.extend(answers(reply, messages.get(at + 1), &mut found));
            }
        }
    }
    patched
}

/// Builds the returns of a reply; reuses the next message if it already contains exactly them.
fn answers(
    reply: &AssistantMessage,
    next: Option<&Arc<Message>>,
    found: &mut HashMap<&CallId, &ToolReturn>,
) -> Option<Arc<Message>> {
    let of_calls: Vec<Option<&ToolReturn>> = reply.calls().map(|call| found.remove(&call.id)).collect();
    if of_calls.is_empty() {
        return None;
    }
    let is_sound = |returns: &[ToolReturn]| {
        let same = |(known, one): (&Option<&ToolReturn>, &ToolReturn)| {
            known.is_some_and(|known| std::ptr::eq(known, one))
        };
        returns.len() == of_calls.len() && of_calls.iter().zip(returns).all(same)
    };
    match next {
        Some(next) if matches!(next.as_ref(), Message::ToolReturns { returns } if is_sound(returns)) => {
            Some(Arc::clone(next))
        }
        Some(_) | None => {
            let answer = |(call, known): (&ToolCall, Option<&ToolReturn>)| {
                known.cloned().unwrap_or_else(|| interrupted_return(&call.id))
            };
            let returns = reply.calls().zip(of_calls).map(answer).collect();
            Some(Arc::new(Message::ToolReturns { returns }))
        }
    }
}

fn interrupted_return(call: &CallId) -> ToolReturn {
    ToolReturn::program(
        call.clone(),
        ReturnStatus::Interrupted,
        "Interrupted: this call has no recorded result. Look before you rely on it or repeat it.",
    )
}
