//! `/tasks`: lists and ends the commands that run in the background.

use super::{CommandEffect, CommandView, Commands, code};

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let words: Vec<&str> = args.split_whitespace().collect();
    match words.as_slice() {
        [] => CommandEffect::plain("tasks", list(view)),
        ["end", number] => match number.parse() {
            Ok(number) => CommandEffect::EndTask(number),
            Err(_) => CommandEffect::warning("tasks", "A task has a number: `/tasks end 1`."),
        },
        _ => CommandEffect::warning("tasks", "`/tasks` lists them, `/tasks end 1` ends one."),
    }
}

fn list(view: &CommandView) -> String {
    if view.tasks.is_empty() {
        return "Nothing runs in the background. While a command runs, Ctrl+B lets it go on there."
            .to_owned();
    }
    let line = |(task, file): &(crate::sandbox::tasks::Task, String)| {
        format!("- {}: {}, {}; output in {}", task.number, code(&task.command), task.state(), code(file))
    };
    view.tasks.iter().map(line).collect::<Vec<_>>().join("\n")
}
