//! Leaves messages out when a conversation no longer fits its model. Pure.
//!
//! It trims the oldest turns and leaves a note; it never separates a call from its return. A summary will
//! replace it in a later capability.

use crate::history::{History, Record};
use crate::message::{Message, NoteKind, Piece, UserPart};
use crate::provider::{ModelRequest, ToolSchema};

/// Bytes of text that count as one token; a rough mean over languages and code.
const BYTES_PER_TOKEN: u64 = 4;

/// The fraction of a window kept free for a reply without a length limit: one in this many. At most half of
/// the window is kept free, whatever the limit of a reply.
const REPLY_SHARE: u64 = 8;

/// Tokens of one image of any size. Services count tiles or scaled-down pixels: 85 to about 1,600 tokens. The
/// upper end is used, because leaving out too much is better than a refused request.
const TOKENS_PER_IMAGE: usize = 1_600;
const BYTES_PER_IMAGE: usize = TOKENS_PER_IMAGE * 4;

/// Estimates the conversation's size in tokens from its text and the number of its images, without the system
/// prompt.
pub fn estimated_tokens(history: &History) -> u64 {
    let bytes: usize = history.messages().map(text_bytes).sum();
    u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_PER_TOKEN
}

/// Estimates a whole request's size in tokens in the same way: conversation, system prompt and tools.
pub fn estimated_request(request: &ModelRequest) -> u64 {
    let said: usize = request.conversation().map(text_bytes).sum();
    let bytes = said + preamble_bytes(&request.system, &request.tools);
    u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_PER_TOKEN
}

/// Returns the tokens that a conversation may have in a model's `window`, besides the system prompt, the
/// tools and a reply (at most `reply`, if set). `None` if leaving messages out would not help.
pub fn room(window: u32, reply: Option<u32>, system: &str, tools: &[ToolSchema]) -> Option<u64> {
    let window = u64::from(window);
    let reply = reply.map_or(window / REPLY_SHARE, u64::from).min(window / 2);
    let preamble = u64::try_from(preamble_bytes(system, tools)).unwrap_or(u64::MAX) / BYTES_PER_TOKEN;
    (window - reply).checked_sub(preamble)
}

fn preamble_bytes(system: &str, tools: &[ToolSchema]) -> usize {
    let tools =
        tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    system.len() + tools.sum::<usize>()
}

/// Returns the bytes of text, or the equivalent for other content.
fn text_bytes(message: &Message) -> usize {
    message.weight(|piece| match piece {
        Piece::Said(text) | Piece::Thought(text) => text.len(),
        Piece::Call(call) => call.args.to_string().len(),
        Piece::Image => BYTES_PER_IMAGE,
    })
}

/// Leaves out about the older half of the conversation. Returns the record to commit and how many messages it
/// drops; `None` if nothing older can be dropped.
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

/// Returns the first prompt at or after the middle, else the last one before it.
fn cut_before_prompt(history: &History, half: usize) -> Option<usize> {
    let prompts: Vec<usize> = prompts(history).filter(|&at| at > 0).collect();
    prompts.iter().copied().find(|&at| at >= half).or_else(|| prompts.last().copied())
}

/// Returns a cut within one long turn: before a reply whose preceding calls all have their returns.
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

/// Returns the user's own text in a message, if there is any.
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

    #[test]
    fn a_window_leaves_room_for_what_stands_before_and_for_the_reply() {
        let system = "x".repeat(400);
        for (window, reply, room_left) in [
            (8_000, None, Some(6_900)),
            (8_000, Some(2_000), Some(5_900)),
            (8_000, Some(64_000), Some(3_900)),
            (100, None, None),
        ] {
            assert_eq!(room(window, reply, &system, &[]), room_left, "{window} {reply:?}");
        }
    }
}
