//! `/fork`: goes on in a copy of the session; `/rewind`: goes back to before a prompt.

use super::{CommandEffect, CommandView, Commands, FileRestore, SessionChange};
use crate::stdx::text::{code, one_line_summary};

/// Prompts that `/rewind` lists.
const LISTED: usize = 20;

pub(super) fn fork(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let message = (!args.is_empty()).then(|| args.to_owned());
    view.change("fork", SessionChange::Fork { message })
}

pub(super) fn back(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let warning = |text: String| CommandEffect::warning("rewind", text);
    let refused = view.owner_refusal("rewind", "rewind this session. `/fork` copies it");
    if let Some(refused) = refused.or_else(|| view.busy("rewind")) {
        return refused;
    }
    if view.prompts.is_empty() {
        return warning("There is no prompt to go back to.".to_owned());
    }
    if args.is_empty() {
        return CommandEffect::plain("rewind", list(view));
    }
    let (number, files) = match args.split_once(' ').map(|(number, rest)| (number, rest.trim())) {
        None => (args, FileRestore::Stay),
        Some((number, "files")) => (number, FileRestore::TakenBack),
        Some((number, "files yes")) => (number, FileRestore::Agreed),
        Some(_) => {
            return warning(format!(
                "{} is not `NUMBER` or `NUMBER files`. Nothing was changed.",
                code(args)
            ));
        }
    };
    let number = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    match number.and_then(|number| view.prompts.iter().rev().nth(number)) {
        Some((before, text)) => {
            CommandEffect::Change(SessionChange::Rewind { before: *before, text: text.clone(), files })
        }
        None => warning(format!("There is no prompt {}. Nothing was changed.", code(args))),
    }
}

fn list(view: &CommandView) -> String {
    let line = |(number, (_, text)): (usize, &(_, String))| {
        format!("{number}. {}\n", code(&one_line_summary(text, 70)))
    };
    let newest: String = (1..).zip(view.prompts.iter().rev().take(LISTED)).map(line).collect();
    format!(
        "Your prompts, the newest first:\n\n{newest}\n`/rewind NUMBER` goes back to before that prompt and puts it \
         into the composer. `/rewind NUMBER files` also takes back what calls did to files since. Other effects are not \
         undone; `/fork` keeps this session and goes on in a copy."
    )
}
