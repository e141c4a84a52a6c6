//! The model's view of a conversation. Pure; the records stay whole.
//!
//! Applied to each request in this order: old tool outputs are trimmed, the window is cut, repeated outputs are
//! elided, old images are dropped. What is cut moves in steps: between two steps each request begins with the
//! bytes of the one before, so that services can serve it from their cache.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::{Message, MessagePiece, NoteKind, ReturnPart, images};
use crate::stdx::text::{group_digits, head_tail};

/// The newest messages whose tool outputs are never trimmed.
const FRESH: usize = 10;

/// Messages by which the trimming of outputs moves on.
const TRIM_STEP: usize = 20;

/// The share of the window by which it moves on: one in this many.
const WINDOW_STEP: usize = 4;

/// The shortest tool output that is elided when it is repeated, in bytes.
const REPEATED: usize = 1_000;

/// The maximum number of images sent with a request, and by how many the oldest are dropped: services refuse
/// requests with more than 20 to 100 images.
const IMAGES: usize = 20;
const IMAGE_STEP: usize = 10;

/// How much of a conversation the model sees. Zero means all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ViewLimits {
    /// Bytes kept of each old tool output.
    pub tool_output: usize,
    /// Messages sent with a request.
    pub messages: usize,
}

/// [`ViewLimits`] as far as they are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ViewSettings {
    pub tool_output: Option<u32>,
    pub messages: Option<u32>,
    /// The percent of the model's window that descriptions of servers' tools may take; `None`: any.
    pub server_tools: Option<u8>,
}

impl ViewSettings {
    /// Returns the limits that apply; what is not set is `usual`.
    #[must_use]
    pub fn or(self, usual: ViewLimits) -> ViewLimits {
        let set =
            |set: Option<u32>, usual| set.map_or(usual, |set| usize::try_from(set).unwrap_or(usize::MAX));
        ViewLimits {
            tool_output: set(self.tool_output, usual.tool_output),
            messages: set(self.messages, usual.messages),
        }
    }
}

impl ViewLimits {
    /// The limits for a model whose window is unknown (seed 004).
    pub const UNKNOWN_WINDOW: Self = Self { tool_output: 2_000, messages: 40 };
}

/// The parts of a conversation that a request shortens or omits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Omission {
    /// The middle of old tool outputs.
    OldOutputs,
    /// Messages between the first exchange and the newest ones.
    OldMessages,
    RepeatedOutputs,
    OldImages,
    /// Images, because the model takes none.
    Images,
}

/// Returns the messages that the model sees, and what is left out. A call is never separated from its return.
#[must_use]
pub fn view(messages: &[Arc<Message>], limits: ViewLimits) -> (Vec<Arc<Message>>, Vec<Omission>) {
    let trimmed = trim_outputs(messages, limits.tool_output);
    let windowed = limit_messages(trimmed.clone(), limits.messages);
    let unrepeated = without_repeats(&windowed);
    let seen = without_old_images(unrepeated.clone());
    let steps = [
        (Omission::OldOutputs, are_same(messages, &trimmed)),
        (Omission::OldMessages, are_same(&trimmed, &windowed)),
        (Omission::RepeatedOutputs, are_same(&windowed, &unrepeated)),
        (Omission::OldImages, are_same(&unrepeated, &seen)),
    ];
    let left_out = steps.into_iter().filter(|(_, are_same)| !are_same).map(|(step, _)| step).collect();
    (seen, left_out)
}

fn are_same(one: &[Arc<Message>], other: &[Arc<Message>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other))
}

fn trim_outputs(messages: &[Arc<Message>], most: usize) -> Vec<Arc<Message>> {
    let old = messages.len().saturating_sub(FRESH) / TRIM_STEP * TRIM_STEP;
    let old = if most == 0 { 0 } else { old };
    let trim = |text: &str| {
        let cut = head_tail(text, most);
        let dropped = group_digits(cut.dropped_bytes);
        (cut.dropped_bytes > 0)
            .then(|| format!("{}\n[{dropped} bytes of this old output are left out]\n{}", cut.head, cut.tail))
    };
    let (older, newer) = messages.split_at(old);
    older.iter().map(|message| with_outputs(message, trim)).chain(newer.iter().cloned()).collect()
}

/// Returns the message with the texts of its returns replaced where `replaced` has another text.
fn with_outputs(message: &Arc<Message>, mut replaced: impl FnMut(&str) -> Option<String>) -> Arc<Message> {
    let Message::ToolReturns { returns } = &**message else { return Arc::clone(message) };
    let mut texts = |part: &ReturnPart| match part {
        ReturnPart::Text { text } => replaced(text),
        ReturnPart::Image { .. } => None,
    };
    let parts = returns.iter().flat_map(|one| &one.content);
    let new: Vec<Option<String>> = parts.map(&mut texts).collect();
    if new.iter().all(Option::is_none) {
        return Arc::clone(message);
    }
    let mut returns = returns.clone();
    let parts = returns.iter_mut().flat_map(|one| &mut one.content);
    for (part, text) in parts.zip(new).filter_map(|(part, text)| Some((part, text?))) {
        *part = ReturnPart::Text { text };
    }
    Arc::new(Message::ToolReturns { returns })
}

/// Keeps the first exchange and the newest messages.
fn limit_messages(messages: Vec<Arc<Message>>, most: usize) -> Vec<Arc<Message>> {
    if most == 0 || messages.len() <= most {
        return messages;
    }
    let step = (most / WINDOW_STEP).max(1);
    let wanted = (messages.len() - most).div_ceil(step) * step;
    let pinned = pinned_count(&messages);
    let is_start = |at: &usize| !matches!(*messages[*at], Message::ToolReturns { .. });
    // The newest prompt or reply is always sent.
    let start = (wanted.max(pinned)..messages.len())
        .find(is_start)
        .or_else(|| (pinned..messages.len()).rev().find(is_start));
    let Some(start) = start.filter(|start| *start > pinned) else { return messages };
    let text = format!("{} older messages of this conversation are not shown here.", start - pinned);
    let note = Arc::new(Message::note(NoteKind::Summary, text));
    let head = messages[..pinned].iter().cloned();
    head.chain([note]).chain(messages[start..].iter().cloned()).collect()
}

/// Returns how many messages the first exchange has: the first prompt, and the reply to it if it has no calls.
fn pinned_count(messages: &[Arc<Message>]) -> usize {
    match messages.get(1).map(Arc::as_ref) {
        Some(Message::Assistant(reply)) if reply.calls().next().is_none() => 2,
        Some(_) | None => 1,
    }
}

/// Replaces outputs that stand in the conversation already. The first one stays, so that the beginning of the
/// conversation does not change.
fn without_repeats(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut seen = HashSet::new();
    let mut repeated = |text: &str| {
        let is_repeated = text.len() >= REPEATED && !seen.insert(text.to_owned());
        is_repeated.then(|| {
            let size = group_digits(text.len());
            format!("[the same {size} bytes as an earlier output of this conversation, unchanged]")
        })
    };
    messages.iter().map(|message| with_outputs(message, &mut repeated)).collect()
}

fn without_old_images(messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    let images: usize = messages.iter().map(|message| count_images(message)).sum();
    let mut left = images.saturating_sub(IMAGES).div_ceil(IMAGE_STEP) * IMAGE_STEP;
    let drop_old = |message: Arc<Message>| {
        if left == 0 {
            return message;
        }
        let drop_one = || {
            let drops = left > 0;
            left -= usize::from(drops);
            drops
        };
        images::without(&message, DROPPED, drop_one).map_or(message, Arc::new)
    };
    messages.into_iter().map(drop_old).collect()
}

const DROPPED: &str = "[an older image is left out]";

fn count_images(message: &Message) -> usize {
    message.pieces().filter(|piece| matches!(piece, MessagePiece::Image(_))).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{
        AssistantMessage, AssistantPart, CallId, PartKind, ReturnStatus, StopKind, StopReason, ToolCall,
        ToolName, ToolReturn,
    };

    fn reply(calls: &[String]) -> Message {
        let call = |id: &String| {
            AssistantPart::new(PartKind::ToolCall(ToolCall {
                id: CallId(id.clone()),
                wire_id: id.clone(),
                name: ToolName::new("look"),
                args: serde_json::json!({}),
            }))
        };
        let stop = StopReason::new(StopKind::EndTurn);
        let parts = calls.iter().map(call).collect();
        Message::Assistant(AssistantMessage { parts, asked: String::new(), model: String::new(), stop })
    }

    fn returned(call: &str, content: Vec<ReturnPart>) -> Message {
        let mut one = ToolReturn::program(CallId(call.to_owned()), ReturnStatus::Ok, "");
        one.content = content;
        Message::ToolReturns { returns: vec![one] }
    }

    /// A conversation of one prompt and `calls` calls, each with an output of its own of this size.
    fn conversation(calls: usize, size: usize) -> Vec<Arc<Message>> {
        let mut messages = vec![Arc::new(Message::user("go"))];
        for number in 0..calls {
            let id = format!("c{number}");
            let text = format!("{number}:{}", "x".repeat(size));
            messages.push(Arc::new(reply(std::slice::from_ref(&id))));
            messages.push(Arc::new(returned(&id, vec![ReturnPart::Text { text }])));
        }
        messages
    }

    fn bytes(message: &Message) -> usize {
        let texts = message.pieces().map(|piece| match piece {
            MessagePiece::Prompt(text)
            | MessagePiece::Note(_, text)
            | MessagePiece::Answer(text)
            | MessagePiece::Output(text) => text.len(),
            _ => 0,
        });
        texts.sum()
    }

    #[test]
    fn without_limits_everything_is_shown_as_it_is() {
        let messages = conversation(200, 5_000);
        let (shown, left_out) = view(&messages, ViewLimits::default());
        assert!(are_same(&shown, &messages) && left_out.is_empty());
    }

    #[test]
    fn old_outputs_are_trimmed_in_steps_and_fresh_ones_are_whole() {
        let limits = ViewLimits { tool_output: 100, messages: 0 };
        let sizes = |calls: usize| -> Vec<usize> {
            view(&conversation(calls, 5_000), limits).0.iter().map(|message| bytes(message)).collect()
        };
        assert!(sizes(14).iter().skip(2).step_by(2).all(|size| *size > 5_000), "too early");
        for calls in 15..24 {
            let sizes = sizes(calls);
            let trimmed = sizes.iter().skip(2).step_by(2).filter(|size| **size < 300).count();
            assert_eq!(trimmed, if calls < 15 { 0 } else { 9 }, "{calls} calls: {sizes:?}");
        }
    }

    #[test]
    fn a_window_pins_the_first_prompt_keeps_pairs_and_moves_in_steps() {
        let limits = ViewLimits { tool_output: 0, messages: 40 };
        let mut starts = Vec::new();
        for calls in 1..120 {
            let messages = conversation(calls, 10);
            let (shown, left_out) = view(&messages, limits);
            assert_eq!(left_out.is_empty(), shown.len() == messages.len());
            assert!(shown.len() <= 42, "{calls} calls: {}", shown.len());
            assert!(Arc::ptr_eq(&shown[0], &messages[0]), "the first prompt is pinned");
            let mut open: Vec<CallId> = Vec::new();
            for message in &shown {
                match &**message {
                    Message::Assistant(reply) => open = reply.calls().map(|call| call.id.clone()).collect(),
                    Message::ToolReturns { returns } => {
                        assert_eq!(returns.iter().map(|one| one.call.clone()).collect::<Vec<_>>(), open);
                    }
                    Message::User { .. } => {}
                }
            }
            starts.push(messages.len() - shown.len());
        }
        starts.dedup();
        assert!(starts.len() < 25, "it moved {} times in 119 requests", starts.len());
    }

    #[test]
    fn a_repeated_output_is_elided_where_it_comes_again() {
        let text = |text: &str| vec![ReturnPart::Text { text: text.to_owned() }];
        let long = "y".repeat(REPEATED);
        let mut messages = vec![Arc::new(Message::user("go"))];
        for (id, content) in
            [("a", text(&long)), ("b", text("short")), ("c", text(&long)), ("d", text("short"))]
        {
            messages.push(Arc::new(reply(&[id.to_owned()])));
            messages.push(Arc::new(returned(id, content)));
        }
        let (shown, left_out) = view(&messages, ViewLimits::default());
        assert_eq!(left_out, [Omission::RepeatedOutputs]);
        let changed: Vec<usize> =
            (0..messages.len()).filter(|at| !Arc::ptr_eq(&shown[*at], &messages[*at])).collect();
        assert_eq!(changed, [6]);
        assert!(bytes(&shown[6]) < 100);
    }

    #[test]
    fn old_images_are_dropped_in_steps() {
        let image = || ReturnPart::Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
        for (count, sent) in [(1, 1), (20, 20), (21, 11), (30, 20), (31, 11)] {
            let mut messages = vec![Arc::new(Message::user("go"))];
            for number in 0..count {
                let id = format!("c{number}");
                messages.push(Arc::new(reply(std::slice::from_ref(&id))));
                messages.push(Arc::new(returned(&id, vec![image()])));
            }
            let (shown, left_out) = view(&messages, ViewLimits::default());
            assert_eq!(left_out.contains(&Omission::OldImages), sent < count);
            let images: Vec<usize> = shown.iter().map(|message| count_images(message)).collect();
            assert_eq!(images.iter().sum::<usize>(), sent, "{count} images");
            assert_eq!(images.last(), Some(&1), "the newest is sent");
        }
    }
}
