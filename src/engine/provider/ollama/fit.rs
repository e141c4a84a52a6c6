//! Detects whether the server read the whole conversation.
//!
//! The server silently drops what does not fit into its context, oldest first; only the reported number of
//! input tokens reveals it. A notice must never be wrong, so a conversation's size is estimated as the fewest
//! tokens possible.

use crate::message::{Message, MessagePiece, Usage};
use crate::provider::ModelRequest;

/// The most bytes of text per token, on average over a whole conversation: prose has about 4. Runs of one
/// character, of which a token can hold many more, are counted once.
const MOST_BYTES_A_TOKEN: usize = 8;

/// Returns a notice for the user where the context was too small.
pub fn notice(request: &ModelRequest, usage: &Usage, num_ctx: u32) -> Option<String> {
    let read = usage.input?;
    let context = u64::from(num_ctx);
    if read < least_tokens(request) {
        return Some(format!(
            "Ollama read only part of this conversation: it does not fit in its context (num_ctx = {num_ctx}), so the \
             oldest part was left out. Set a larger num_ctx, or start over with /clear."
        ));
    }
    // A server that read more than requested uses its own context size.
    if read <= context && read.saturating_add(usage.output.unwrap_or(0)) >= context {
        return Some(format!(
            "The conversation fills Ollama's context (num_ctx = {num_ctx}): answers are cut off, or the oldest part is \
             left out. Set a larger num_ctx, or start over with /clear."
        ));
    }
    None
}

/// Returns the fewest tokens of a request: its texts alone, because templates drop fields that they do not
/// know.
fn least_tokens(request: &ModelRequest) -> u64 {
    let said: usize = request.conversation().map(text_bytes).sum();
    u64::try_from((distinct(&request.system) + said) / MOST_BYTES_A_TOKEN).unwrap_or(u64::MAX)
}

fn text_bytes(message: &Message) -> usize {
    let bytes = message.pieces().map(|piece| match piece {
        MessagePiece::Prompt(text)
        | MessagePiece::Note(_, text)
        | MessagePiece::Answer(text)
        | MessagePiece::Output(text) => distinct(text),
        MessagePiece::Thought(_) | MessagePiece::Call(_) | MessagePiece::Native | MessagePiece::Image(_) => 0,
    });
    bytes.sum()
}

/// Counts the bytes of a text that differ from the byte before.
fn distinct(text: &str) -> usize {
    let bytes = text.as_bytes();
    let changes = bytes.iter().zip(bytes.iter().skip(1)).filter(|(one, next)| one != next).count();
    changes + usize::from(!bytes.is_empty())
}
