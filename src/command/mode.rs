//! `/mode`: shows or changes which calls need approval.

use super::{CommandEffect, CommandView, Commands, Notice, Tone};
use crate::config::Mode;

/// The modes that can be entered; modes for evals are set at program start only.
const TYPED: [Mode; 4] = [Mode::Ask, Mode::Auto, Mode::Plan, Mode::DryRun];

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    if args.is_empty() {
        return CommandEffect::plain("mode", mode_list(view.mode));
    }
    match TYPED.into_iter().find(|mode| mode.word() == args.to_lowercase()) {
        Some(mode) => {
            let (title, text) = (format!("mode {}", mode.word()), format!("{}.", about(mode)));
            let tone = if mode == Mode::Auto { Tone::Warning } else { Tone::Plain };
            CommandEffect::SetMode(mode, Notice { title, text, tone })
        }
        None => {
            let text = "The modes are `ask`, `auto`, `plan` and `dry-run`. Nothing was changed.";
            CommandEffect::warning("mode", text)
        }
    }
}

fn mode_list(now: Mode) -> String {
    let mut text = format!("The mode is `{}`: {}.\n\n", now.word(), about(now));
    for mode in TYPED.into_iter().filter(|mode| *mode != now) {
        text.push_str(&format!("- `/mode {}`: {}\n", mode.word(), about(mode)));
    }
    text
}

/// Describes what a mode does.
pub fn about(mode: Mode) -> &'static str {
    match mode {
        Mode::Ask => "reads run; changes and commands ask, unless a rule or the sandbox allows them",
        Mode::Auto => "edits in this folder and sandboxed commands run, other changes ask",
        Mode::Plan => "reads only, nothing is changed",
        Mode::DryRun => "changes are previewed, not made, and wait for you",
        Mode::DeferAll => "every call waits for you, nothing runs",
    }
}
