//! Whether the server read all of a conversation.
//!
//! It drops what does not fit into its context, oldest first, and says nothing; only the number of tokens it read
//! tells. Cautious: what is said here must be true, so a conversation is counted as the fewest tokens it can be.

use crate::message::{Message, Piece, Usage};
use crate::provider::ModelRequest;

/// Bytes of text that a token holds at most, on average over a whole conversation: prose holds about 4. Runs of one
/// character, of which a token can hold many more, are counted once.
const MOST_BYTES_A_TOKEN: usize = 8;

/// What the person should know of the context, if there is anything.
pub fn notice(request: &ModelRequest, usage: &Usage, num_ctx: u32) -> Option<String> {
    let read = usage.input?;
    let context = u64::from(num_ctx);
    if read < least_tokens(request) {
        return Some(format!(
            "Ollama read only a part of this conversation: it does not fit into its context (num_ctx = {num_ctx}), so the \
             oldest of it was left out. Set a larger num_ctx, or start afresh with /clear."
        ));
    }
    // A service that reads more than was asked for keeps a context of its own.
    if read <= context && read.saturating_add(usage.output.unwrap_or(0)) >= context {
        return Some(format!(
            "The conversation fills Ollama's context (num_ctx = {num_ctx}): answers are cut off, or the oldest of it is \
             left out. Set a larger num_ctx, or start afresh with /clear."
        ));
    }
    None
}

/// The fewest tokens that a request can be: its texts alone, because templates leave out what they do not know.
fn least_tokens(request: &ModelRequest) -> u64 {
    let said: usize = request.conversation().map(text_bytes).sum();
    u64::try_from((distinct(&request.system) + said) / MOST_BYTES_A_TOKEN).unwrap_or(u64::MAX)
}

fn text_bytes(message: &Message) -> usize {
    message.weight(|piece| match piece {
        Piece::Said(text) => distinct(text),
        Piece::Thought(_) | Piece::Call(_) | Piece::Image => 0,
    })
}

/// The bytes of a text that are not the same as the byte before.
fn distinct(text: &str) -> usize {
    let bytes = text.as_bytes();
    let changes = bytes.iter().zip(bytes.iter().skip(1)).filter(|(one, next)| one != next).count();
    changes + usize::from(!bytes.is_empty())
}
