//! Repair of foreign or torn conversations: every call gets its return, every return has its call.
//!
//! Our own records cannot dangle by construction; what was imported or cut by an older program can.
//! Idempotent. Called when a request is put together.

use std::collections::HashMap;

use crate::message::{CallId, Message, ReturnStatus, ToolReturn};

/// Gives each unanswered call an `Interrupted` return right after its reply, moves stray returns to
/// their call, keeps the first of duplicates and drops returns without a call. Works anywhere in the
/// list; a sound list comes back unchanged.
pub fn patch_dangling_tool_calls(messages: Vec<Message>) -> Vec<Message> {
    let mut returns: HashMap<CallId, ToolReturn> = HashMap::new();
    for message in &messages {
        if let Message::ToolReturns { returns: found } = message {
            for one in found {
                returns.entry(one.call.clone()).or_insert_with(|| one.clone());
            }
        }
    }
    let mut patched = Vec::with_capacity(messages.len());
    for message in messages {
        match message {
            Message::ToolReturns { .. } => {}
            Message::User { .. } => patched.push(message),
            Message::Assistant(reply) => {
                let answers: Vec<ToolReturn> = reply
                    .calls()
                    .map(|call| returns.remove(&call.id).unwrap_or_else(|| interrupted(&call.id)))
                    .collect();
                patched.push(Message::Assistant(reply));
                if !answers.is_empty() {
                    patched.push(Message::ToolReturns { returns: answers });
                }
            }
        }
    }
    patched
}

fn interrupted(call: &CallId) -> ToolReturn {
    ToolReturn::program(
        call.clone(),
        ReturnStatus::Interrupted,
        "Interrupted: this call has no recorded result. Look before you rely on it or repeat it.",
    )
}
