//! The model's view of a conversation, and how large it is. Pure.
//!
//! `view` builds what a request contains; `compaction` replaces older messages by a summary; `ledger` collects what
//! such a summary must not lose; `quoted` writes messages down as data; `parts` says where the tokens go; `tool_budget`
//! leaves out tools of servers for which there is no room.

mod compaction;
mod ledger;
mod parts;
mod quoted;
mod tool_budget;
mod view;

#[cfg(test)]
mod tests;

pub use self::compaction::{CompactionPlan, CompactionReport, Summary};
pub use self::ledger::{calls_since, changed_since};
pub use self::parts::{ContextPart, parts};
pub use self::tool_budget::{OmittedTools, ToolBudget, fit_tools};
pub use self::view::{Omission, ViewLimits, ViewSettings, view};
use crate::history::History;
use crate::message::{Message, MessagePiece};
use crate::provider::ModelRequest;
use crate::provider::tool_list::ToolList;
use crate::stdx::json_texts::json_bytes;

/// Bytes of text that count as one token; a rough mean over languages and code.
const BYTES_PER_TOKEN: u64 = 4;

/// The share of a window, in percent, that a request may fill before older messages are replaced. More is kept free
/// for a reply with a larger length limit, but at most half of the window.
const FULL: u64 = 80;

/// Tokens of one image of any size. Services count tiles or scaled-down pixels: 85 to about 1,600 tokens. The
/// upper end is used, because leaving out too much is better than a refused request.
pub(super) const TOKENS_PER_IMAGE: usize = 1_600;
const BYTES_PER_IMAGE: usize = TOKENS_PER_IMAGE * 4;

/// Estimates the size in tokens of a request that sends all of the conversation, with the texts before it
/// (`preamble` tokens). What the provider has counted is not estimated, unless it is less than half or more than twice
/// what the text suggests.
pub fn estimated_tokens(history: &History, preamble: u64) -> u64 {
    let guess = preamble + history.messages().map(message_tokens).sum::<u64>();
    match history.measured_request() {
        Some(measured) => {
            let since: u64 = history.messages().skip(measured.messages).map(message_tokens).sum();
            (measured.tokens + since).clamp(guess / 2, guess * 2)
        }
        None => guess,
    }
}

/// Maximum bytes of the messages from which a title is made.
const EXCHANGE: usize = 4_000;

/// Returns the first prompt and what was answered to it, as quoted data.
pub fn first_exchange(history: &History) -> String {
    let prompts = history.entries().iter().enumerate().filter(|(_, (_, message))| message.is_prompt());
    let second = prompts.map(|(at, _)| at).nth(1);
    quoted::quote_messages(history, second.unwrap_or(usize::MAX), EXCHANGE)
}

/// Estimates a whole request's size in tokens in the same way: conversation, system prompt and tools.
pub fn estimated_request(request: &ModelRequest) -> u64 {
    let said: usize = request.conversation().map(text_bytes).sum();
    tokens(said + request.system.len() + request.tools.bytes())
}

fn message_tokens(message: &Message) -> u64 {
    tokens(text_bytes(message))
}

/// Estimates the tokens of this many bytes.
fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_PER_TOKEN
}

/// Returns the tokens that a request may have in a model's `window` before older messages are replaced; `reply` is the
/// length limit of a reply.
fn room(window: u32, reply: Option<u32>) -> u64 {
    let window = u64::from(window);
    let reply = reply.map_or(0, u64::from).min(window / 2);
    (window * FULL / 100).min(window - reply)
}

/// Returns the tokens that a request may have before older messages are replaced: as they are set for the conversation, or
/// else by the model's window and the length limit of a reply. `None` = unknown.
pub fn limit(set: Option<u32>, window: Option<u32>, reply: Option<u32>, preamble: u64) -> Option<u64> {
    let set = set.map(|set| u64::from(set) + preamble);
    set.or_else(|| window.map(|window| room(window, reply)))
}

/// Estimates the tokens of a text, rounded up.
pub fn text_tokens(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX).div_ceil(BYTES_PER_TOKEN)
}

/// Estimates the tokens of the texts before the conversation: the system prompt and the tools.
pub fn preamble_tokens(system: &str, tools: &ToolList) -> u64 {
    tokens(system.len() + tools.bytes())
}

/// Returns the bytes of text, or the equivalent for other content.
fn text_bytes(message: &Message) -> usize {
    let bytes = message.pieces().map(|piece| match piece {
        MessagePiece::Prompt(text) | MessagePiece::Note(_, text) | MessagePiece::Output(text) => text.len(),
        MessagePiece::Answer(text) | MessagePiece::Thought(text) => text.len(),
        MessagePiece::Call(call) => json_bytes(&call.args),
        MessagePiece::Image(_) => BYTES_PER_IMAGE,
        MessagePiece::Native => 0,
    });
    bytes.sum()
}
