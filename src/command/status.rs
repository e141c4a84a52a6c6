//! `/status`: shows the state of this program and session, or the prompt that the next turn sends.

use super::{Command, CommandEffect, CommandView, Commands, Needs, Say, code};
use crate::agent::prompt::PromptPart;
use crate::stdx::text::{grouped, sanitize};

pub(super) fn command() -> Command {
    Command::new(
        "status",
        "[prompt]",
        "show model, folder, sandbox and store, or the prompt",
        Needs::Status,
        decide,
    )
}

fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    match args {
        "" => {
            let rows: Vec<String> =
                view.status.iter().map(|(name, value)| format!("- {name}: {}", code(value))).collect();
            CommandEffect::Say(Say::plain("status", rows.join("\n")))
        }
        "prompt" => CommandEffect::Say(Say::plain("prompt", prompt(&view.prompt))),
        other => {
            let text = format!("{} is unknown: write `/status` or `/status prompt`.", code(other));
            CommandEffect::Say(Say::warning("status", text))
        }
    }
}

fn prompt(parts: &[PromptPart]) -> String {
    let whole: u64 = parts.iter().map(|part| part.tokens).sum();
    let mut text = format!(
        "The prompt of the next turn has about {} tokens besides the conversation. A change in the prefix makes the \
         provider read the conversation anew; one at the tail does not.\n",
        grouped(whole)
    );
    for PromptPart { name, place, source, tokens, text: words } in parts {
        let (place, tokens) = (place.word(), grouped(*tokens));
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
