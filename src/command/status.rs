//! `/status`: shows the state of this program and session, or the prompt that the next turn sends or an earlier one sent.

use super::{CommandEffect, CommandView, Commands, Notice, code};
use crate::agent::prompt::{PromptPart, SentPrompt};
use crate::stdx::text::{group_digits, sanitize};

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    if let Some(sent) = &view.sent {
        return CommandEffect::Say(match sent {
            Ok(sent) => Notice::plain("prompt", sent.iter().map(sent_prompt).collect::<Vec<_>>().join("\n")),
            Err(error) => Notice::warning("status", format!("Nothing can be shown: {error}.")),
        });
    }
    match args {
        "" => {
            let rows: Vec<String> =
                view.status.iter().map(|(name, value)| format!("- {name}: {}", code(value))).collect();
            CommandEffect::plain("status", rows.join("\n"))
        }
        "prompt" => CommandEffect::plain("prompt", prompt(&view.prompt)),
        other => {
            let text = format!(
                "{} is unknown: write `/status`, `/status prompt`, `/status prompt 2` for what turn 2 sent, or \
                 `/status prompt 2 1` for its first request with the conversation.",
                code(other)
            );
            CommandEffect::warning("status", text)
        }
    }
}

/// Returns the turn whose prompt is wanted, and which of its requests.
#[must_use]
pub fn wanted_turn(args: &str) -> Option<(u32, Option<usize>)> {
    let words = args.strip_prefix("prompt ")?.trim();
    match words.split_once(' ') {
        Some((turn, request)) => Some((turn.parse().ok()?, Some(request.trim().parse().ok()?))),
        None => Some((words.parse().ok()?, None)),
    }
}

fn sent_prompt(sent: &SentPrompt) -> String {
    let (what, left_out) = match &sent.conversation {
        Some(conversation) => ("with", conversation.left_out.as_slice()),
        None => ("besides", Default::default()),
    };
    let tokens = group_digits(sent.tokens());
    let mut head =
        format!("To {} were sent about {tokens} tokens {what} the conversation.\n", code(&sent.model));
    head.extend(left_out.iter().flat_map(|text| [text, "\n"]));
    with_parts(head, &sent.parts)
}

fn prompt(parts: &[PromptPart]) -> String {
    let whole: u64 = parts.iter().map(|part| part.tokens).sum();
    let head = format!(
        "The prompt of the next turn has about {} tokens besides the conversation. A change in the prefix makes the \
         provider read the conversation anew; one at the tail does not.\n",
        group_digits(whole)
    );
    with_parts(head, parts)
}

fn with_parts(mut text: String, parts: &[PromptPart]) -> String {
    for PromptPart { name, place, source, tokens, text: words } in parts {
        let (place, tokens) = (place.word(), group_digits(*tokens));
        text.push_str(&format!("\n**{}** ({place}, {tokens} tokens) from {}\n", code(name), code(source)));
        // Longer than any fence in the text.
        let fence = "~".repeat(longest_run(words).max(2) + 1);
        text.push_str(&format!("\n{fence}text\n{}\n{fence}\n", sanitize(words)));
    }
    text
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '~').map(str::len).max().unwrap_or_default()
}
