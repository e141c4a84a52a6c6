//! `/history`: shows the length of the conversation.

use super::{CommandEffect, CommandView, Commands};
use crate::stdx::text::count;

pub(super) fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let totals = &view.totals;
    let messages = totals.user + totals.assistant + totals.returns;
    let mut text = format!(
        "{}, {}: {} from you, {}, {}.",
        count(totals.turns as usize, "turn"),
        count(messages, "message"),
        totals.user,
        count(totals.assistant, "reply"),
        count(totals.returns, "tool answer"),
    );
    if totals.queued > 0 {
        text.push_str(&format!(" {} in the queue.", count(totals.queued, "prompt")));
    }
    if let (Some(input), Some(output)) = (totals.usage.input, totals.usage.output) {
        text.push_str(&format!(" Since this start: {input} tokens in, {output} out."));
    }
    CommandEffect::plain("history", text)
}
