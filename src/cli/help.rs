//! `co help`, `co completions` and `co man`: the reference of the program.
//!
//! Tables are made from those that the program itself uses: settings, keys, slash commands, services. Everything
//! else is text in `help/`. A topic has at most [`WIDTH`] columns.

use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;

use super::args::Args;
use super::console::Console;
use super::error::{CliError, Kind};
use super::keys::names;
use super::table::{WIDTH, columns};
use crate::approval::rules::EXAMPLE;
use crate::command::Commands;
use crate::config::{INERT, ProjectTrust, SETTINGS};
use crate::provider::catalog::{KeyNeed, PRESETS};
use crate::stdx::text::{nearest, sanitize_line, wrap};
use crate::tui::keys::Keymap;

/// One topic of the reference.
pub(super) struct Topic {
    pub name: &'static str,
    /// What it is about, for the list of topics.
    about: &'static str,
    text: &'static str,
    /// Returns what follows the text.
    table: fn() -> String,
}

/// All topics, in the order in which help lists them.
#[rustfmt::skip]
pub(super) const TOPICS: [Topic; 12] = [
    topic("approvals", "decide what waits, at once or later, here or elsewhere", include_str!("help/approvals.txt"), String::new),
    topic("policy", "who decides about a call, and the modes", include_str!("help/policy.txt"), String::new),
    topic("rules", "what runs, asks or is denied by rules of your own", include_str!("help/rules.txt"), || EXAMPLE.to_owned()),
    topic("hooks", "programs of your own that see what happens", include_str!("help/hooks.txt"), String::new),
    topic("audit", "the record of decisions, and copies of the database", include_str!("help/audit.txt"), String::new),
    topic("models", "services, their keys, models, retries", include_str!("help/models.txt"), services),
    topic("money", "tokens, prices and caps", include_str!("help/money.txt"), String::new),
    topic("settings", "every setting", include_str!("help/settings.txt"), settings),
    topic("keys", "every key of the screen", include_str!("help/keys.txt"), keys),
    topic("commands", "slash commands and other lines that are no prompts", include_str!("help/commands.txt"), commands),
    topic("plain", "the conversation in lines of text", include_str!("help/plain.txt"), String::new),
    topic("exit-codes", "exit codes and output for scripts", include_str!("help/exit-codes.txt"), String::new),
];

const fn topic(name: &'static str, about: &'static str, text: &'static str, table: fn() -> String) -> Topic {
    Topic { name, about, text, table }
}

impl Topic {
    /// Returns the whole text, in lines of at most [`WIDTH`] columns.
    pub fn whole(&self) -> String {
        format!("{}{}", self.text, (self.table)())
    }
}

/// Returns what the help of the program says below its options.
pub(super) fn after() -> String {
    let rows: Vec<_> = TOPICS.iter().map(|topic| [topic.name, topic.about].map(str::to_owned)).collect();
    format!("{}\nTopics of `co help TOPIC`:\n{}", include_str!("examples.txt"), columns(&rows).trim_end())
}

/// Prints a topic, the help of a command, or both if both have that name. Fails if neither has.
pub(super) fn run(words: &[String], console: &mut Console) -> Result<(), CliError> {
    let mut root = Args::command();
    root.build();
    let name = words.join(" ");
    let commands = root.clone();
    let topic = TOPICS.iter().find(|topic| topic.name == name);
    let command = words.iter().try_fold(&mut root, |at, word| at.find_subcommand_mut(word));
    let text = match (topic, command) {
        (Some(topic), None) => topic.whole(),
        (Some(topic), Some(command)) => {
            format!("{}\n-- The command co {name} --\n\n{}", topic.whole(), command.render_long_help())
        }
        (None, Some(command)) => command.render_long_help().to_string(),
        (None, None) => {
            let commands = commands.get_subcommands().map(Command::get_name);
            let like = nearest(&name, commands.chain(TOPICS.iter().map(|topic| topic.name)))
                .map_or_else(String::new, |like| format!(" (did you mean `{like}`?)"));
            let words = format!("`{}` is neither a topic nor a command{like}", sanitize_line(&name));
            return Err(CliError::message(Kind::Usage, words).hint("`co help` lists topics and commands"));
        }
    };
    console.out(&text)
}

/// Prints the completions of a shell.
pub(super) fn completions(shell: Shell, console: &mut Console) -> Result<(), CliError> {
    console.out(&script(shell))
}

/// Returns the completions of a shell; `co help` is completed by the topics.
pub(super) fn script(shell: Shell) -> String {
    let names = TOPICS.map(|topic| topic.name);
    let mut root = Args::command()
        .mut_subcommand("help", |help| help.mut_arg("words", |words| words.value_parser(names)));
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut root, "co", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Prints the manual page, or writes it and one page for each command into a folder that exists.
pub(super) fn man(folder: Option<&Path>, console: &mut Console) -> Result<(), CliError> {
    match folder {
        Some(folder) => Ok(clap_mangen::generate_to(Args::command(), folder)?),
        None => console.out(&page()?),
    }
}

/// Returns the manual page of the program, which names every command.
pub(super) fn page() -> Result<String, CliError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Args::command()).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn settings() -> String {
    let rows = SETTINGS.iter().map(|row| {
        let default = if row.default.is_empty() { "unset" } else { row.default };
        let project = match row.project {
            ProjectTrust::Always => "yes",
            ProjectTrust::WhenTrusted => "when trusted",
            ProjectTrust::Never => "no",
        };
        let source = format!("Default: {default}. Project file: {project}.{}", variables(row.env));
        entry(&row.names().chain(row.flag).collect::<Vec<_>>().join(", "), [row.doc, &source])
    });
    let inert = INERT.iter().map(|row| {
        let why = format!("No effect: {}.{}", row.why, variables(row.env));
        entry(&row.names.join(", "), [row.doc, &why])
    });
    let head = "\nKnown, but without effect yet; `co` warns about each that is set:\n\n";
    rows.chain([head.to_owned()]).chain(inert).collect()
}

fn variables(env: &[&str]) -> String {
    if env.is_empty() { String::new() } else { format!(" Environment: {}.", env.join(", ")) }
}

fn services() -> String {
    let rows = PRESETS.iter().map(|one| {
        let elsewhere = match one.codec == one.elsewhere {
            true => String::new(),
            false => format!("; at another address {}", one.elsewhere.title()),
        };
        let address = one.base_url.unwrap_or("the address that you set as `base_url`");
        let key = match (one.key_envs, one.key_need) {
            ([], KeyNeed::Needed | KeyNeed::Optional) => "none needed".to_owned(),
            (envs, KeyNeed::Needed) => envs.join(", "),
            (envs, KeyNeed::Optional) => format!("{}, if it wants one", envs.join(", ")),
        };
        let model = match (one.default_model, one.local) {
            (Some(model), _) => model,
            (None, Some(_)) => "the first that it lists",
            (None, None) => "none; name one",
        };
        let wire = format!("{}{elsewhere}; {address}", one.codec.title());
        entry(&format!("{}: {}", one.name, one.title), [&wire, &format!("Key: {key}. Model: {model}.")])
    });
    rows.chain([entry(
        "offline: the built-in tour",
        ["No language model and no network.", "Key: none needed. Model: tour."],
    )])
    .collect()
}

fn keys() -> String {
    let keymap = Keymap::default();
    let rows: Vec<_> = keymap.by_context().collect();
    let contexts = rows.chunk_by(|a, b| a.binding.context == b.binding.context).map(|rows| {
        let cells =
            rows.iter().map(|row| [row.binding.path(), row.binding.words(), names(&row.keys).join("  ")]);
        let about = rows.first().map_or("", |row| row.binding.context.about());
        format!("\n{about}:\n{}", columns(&cells.collect::<Vec<_>>()))
    });
    contexts.collect()
}

fn commands() -> String {
    let all = Commands::builtin();
    let rows = all
        .iter()
        .map(|one| [format!("/{} {}", one.name, one.usage).trim_end().to_owned(), one.about.to_owned()]);
    columns(&rows.collect::<Vec<_>>())
}

/// A head, and below it texts that are indented and wrapped.
fn entry(head: &str, texts: [&str; 2]) -> String {
    let head = wrap(head, WIDTH).join("\n    ");
    format!("{head}\n{}", columns(&texts.map(|text| [String::new(), text.to_owned()])))
}
