//! `/rules`: lists the rules on what runs without asking, what always asks and what never runs.

use super::{CommandEffect, CommandView, Commands, code};

pub(super) fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let mut text: String =
        view.rules.iter().map(|rule| format!("- {} {}\n", code(&rule.id), code(&rule.text))).collect();
    if text.is_empty() {
        text.push_str("No rules: the mode and the sandbox decide what asks.\n");
    }
    if let Some(broken) = &view.rules_broken {
        text.push_str(&format!("\nEverything asks until an error is fixed: {}\n", code(broken)));
    }
    text.push_str(
        "\n`r` on a request makes one; `co rules` checks, explains and revokes them, `co rules suggest` proposes some.\n",
    );
    CommandEffect::plain("rules", text)
}
