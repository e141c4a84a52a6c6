//! `co help`, `co completions` and `co man`: the reference of the program.

pub(super) mod topics;

use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;

use self::topics::TOPICS;
use super::args::Args;
use super::console;
use super::error::{CliError, Result};
use crate::stdx::text::{nearest, sanitize_line};

/// Prints a topic, the help of a command, or both if both have that name. Fails if neither has.
pub(super) fn run(words: &[String]) -> Result<()> {
    let root = whole_command();
    let name = words.join(" ");
    let topic = TOPICS.iter().find(|topic| topic.name == name);
    let command = words.iter().try_fold(&root, |at, word| at.find_subcommand(word));
    let text = match (topic, command) {
        (Some(topic), None) => topic.whole(),
        (Some(topic), Some(command)) => {
            format!("{}\n-- The command co {name} --\n\n{}", topic.whole(), command_help(command))
        }
        (None, Some(command)) => command_help(command),
        (None, None) => {
            let commands = root.get_subcommands().map(Command::get_name);
            let like = nearest(&name, commands.chain(TOPICS.iter().map(|topic| topic.name)))
                .map_or_else(String::new, |like| format!(" (did you mean `{like}`?)"));
            let words = format!("`{}` is not a topic or command{like}", sanitize_line(&name));
            return Err(CliError::usage(words).hint("`co help` lists topics and commands"));
        }
    };
    console::out(&text)
}

/// The command line with what each of its commands takes, which is otherwise built only for the command in use.
fn whole_command() -> Command {
    let mut root = Args::command();
    root.build();
    root
}

fn command_help(command: &Command) -> String {
    command.clone().render_long_help().to_string()
}

/// Prints the completions of a shell; `co help` is completed by the topics where the shell's script can do that.
pub(super) fn completions(shell: Shell) -> Result<()> {
    let names = TOPICS.map(|topic| topic.name);
    let mut root = whole_command()
        .mut_subcommand("help", |help| help.mut_arg("words", |words| words.value_parser(names)));
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut root, "co", &mut script);
    console::out(&String::from_utf8_lossy(&script))
}

/// Prints the manual page, or writes it and one page for each command into a folder, which is made if it is missing.
pub(super) fn man(folder: Option<&Path>) -> Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(whole_command()).render(&mut page)?;
    // Examples and topics keep their lines.
    let page = String::from_utf8_lossy(&page).replace(".SH EXTRA\n", ".SH EXAMPLES\n.nf\n");
    let Some(folder) = folder else { return console::out(&page) };
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(whole_command(), folder))
        .and_then(|()| std::fs::write(folder.join("co.1"), page));
    written.map_err(|error| {
        CliError::error(format!("{}: {error}", sanitize_line(&folder.display().to_string())))
    })
}
