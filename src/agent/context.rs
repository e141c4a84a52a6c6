//! What is left out when a conversation no longer fits its model. Pure.
//!
//! A marked trim of the oldest turns; it never parts a call from its return. A summary takes its place
//! in a later capability.

use crate::history::{History, Record};
use crate::message::{Message, NoteKind, PartKind, ReturnPart, UserPart};
use crate::provider::ModelRequest;

/// Bytes of text that count as one token; a rough mean over languages and code.
const BYTES_PER_TOKEN: u64 = 4;

/// Tokens of one image, whatever its size. Services count by tiles or by pixels after they have made it smaller: 85 to
/// about 1,600 tokens. The upper end is taken, for too much is left out rather than a request refused.
const TOKENS_PER_IMAGE: usize = 1_600;
const BYTES_PER_IMAGE: usize = TOKENS_PER_IMAGE * 4;

/// The conversation's size in tokens, estimated from its text and the number of its images. The system prompt is not
/// counted.
pub fn estimated_tokens(history: &History) -> u64 {
    let bytes: usize = history.messages().map(text_bytes).sum();
    u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_PER_TOKEN
}

/// A whole request's size in tokens, estimated in the same way: conversation, system prompt and tools.
pub fn estimated_request(request: &ModelRequest) -> u64 {
    let said: usize = request.conversation().map(text_bytes).sum();
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len())
        .sum();
    u64::try_from(said + tools + request.system.len()).unwrap_or(u64::MAX) / BYTES_PER_TOKEN
}

/// Bytes of text, or what counts as so many.
fn text_bytes(message: &Message) -> usize {
    match message {
        Message::User { parts } => parts
            .iter()
            .map(|part| match part {
                UserPart::Text { text } | UserPart::Note { text, .. } => text.len(),
                UserPart::Image { .. } => BYTES_PER_IMAGE,
            })
            .sum(),
        Message::Assistant(reply) => reply
            .parts
            .iter()
            .map(|part| match &part.kind {
                PartKind::Text { text } | PartKind::Thinking { text } => text.len(),
                PartKind::ToolCall(call) => call.args.to_string().len(),
                PartKind::Native => 0,
            })
            .sum(),
        Message::ToolReturns { returns } => returns
            .iter()
            .flat_map(|returned| &returned.content)
            .map(|part| match part {
                ReturnPart::Text { text } => text.len(),
                ReturnPart::Image { .. } => BYTES_PER_IMAGE,
            })
            .sum(),
    }
}

/// Leaves out about the older half of the conversation. `None` where nothing older can go; else the
/// record to commit and how many messages it drops.
pub fn trim(history: &History) -> Option<(Record, usize)> {
    let entries = history.entries();
    let half = entries.len().div_ceil(2);
    let at = cut_before_prompt(history, half).or_else(|| cut_within_turn(history, half))?;
    let only_an_older_summary = at == 1 && is_summary(&entries.first()?.1);
    if only_an_older_summary {
        return None;
    }
    let kept_from = entries.get(at)?.0;
    let prompt = last_prompt(history).filter(|&prompt| prompt < at);
    let mut summary = format!("{at} older messages were left out here because they no longer fit the model.");
    if let Some(text) = prompt.and_then(|at| prompt_text(&entries[at].1)) {
        summary.push_str(&format!(" The user's request was: {text}"));
    }
    Some((Record::Compacted { summary, kept_from }, at))
}

/// The first prompt at or after the middle, else the last one before it.
fn cut_before_prompt(history: &History, half: usize) -> Option<usize> {
    let prompts: Vec<usize> = prompts(history).filter(|&at| at > 0).collect();
    prompts.iter().copied().find(|&at| at >= half).or_else(|| prompts.last().copied())
}

/// Within one long turn: before a reply whose predecessors are all answered.
fn cut_within_turn(history: &History, half: usize) -> Option<usize> {
    let entries = history.entries();
    let last = entries.len().checked_sub(1)?;
    (half.max(1)..=last).find(|&at| {
        matches!(*entries[at].1, Message::Assistant(_))
            && matches!(*entries[at - 1].1, Message::ToolReturns { .. })
    })
}

fn prompts(history: &History) -> impl Iterator<Item = usize> {
    history
        .entries()
        .iter()
        .enumerate()
        .filter(|(_, (_, message))| prompt_text(message).is_some())
        .map(|(at, _)| at)
}

fn last_prompt(history: &History) -> Option<usize> {
    prompts(history).last()
}

fn is_summary(message: &Message) -> bool {
    let Message::User { parts } = message else { return false };
    parts.iter().all(|part| matches!(part, UserPart::Note { kind: NoteKind::Summary, .. }))
}

/// The person's own words in a message, where there are any.
fn prompt_text(message: &Message) -> Option<String> {
    let Message::User { parts } = message else { return None };
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            UserPart::Text { text } => Some(text.as_str()),
            UserPart::Image { .. } | UserPart::Note { .. } => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_counts_by_a_rough_figure_and_not_by_its_bytes() {
        let image = UserPart::Image { media_type: "image/png".into(), data: "A".repeat(100_000) };
        let text = UserPart::Text { text: "12345678".into() };
        let message = Message::User { parts: vec![text, image.clone(), image] };
        assert_eq!(text_bytes(&message) as u64 / BYTES_PER_TOKEN, 2 + 2 * TOKENS_PER_IMAGE as u64);
    }
}
