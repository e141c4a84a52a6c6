//! The topics of `co help`, without the arguments of the program.
//!
//! Tables are made from those that the program itself uses: settings, keys, slash commands, services. Everything
//! else is text beside this file. A topic has at most [`WIDTH`] columns.

use crate::app::builtin_tools;
use crate::approval::rules::EXAMPLE;
use crate::cli::table::{WIDTH, columns};
use crate::command::{Command, Commands};
use crate::config::{INERT, ProjectTrust, SETTINGS};
use crate::provider::catalog::PRESETS;
use crate::stdx::text::{one_line_summary, wrap};
use crate::tool::{Origin, ToolSpec};
use crate::tui::keys::Keymap;

/// One topic of the reference.
pub(in crate::cli) struct Topic {
    pub name: &'static str,
    /// Its subject, for the list of topics.
    about: &'static str,
    text: &'static str,
    /// Returns what follows the text.
    table: fn() -> String,
}

/// All topics, in the order in which help lists them.
#[rustfmt::skip]
pub(in crate::cli) const TOPICS: [Topic; 20] = [
    topic("approvals", "decide requests, now or later, here or elsewhere", include_str!("approvals.txt"), String::new),
    topic("policy", "what decides each call, and the modes", include_str!("policy.txt"), String::new),
    topic("rules", "your rules for what runs, asks or is denied", include_str!("rules.txt"), || EXAMPLE.to_owned()),
    topic("tools", "what the model may call, and undo", include_str!("tools.txt"), tools),
    topic("memory", "what is kept beyond a session", include_str!("memory.txt"), String::new),
    topic("sandbox", "what commands can reach, and what was tried", include_str!("sandbox.txt"), || include_str!("sandbox_table.txt").to_owned()),
    topic("hooks", "your own programs that check or observe calls", include_str!("hooks.txt"), String::new),
    topic("mcp", "tools of other programs: servers, logins, approvals", include_str!("mcp.txt"), String::new),
    topic("audit", "the record of decisions, and database backups", include_str!("audit.txt"), String::new),
    topic("models", "services, their keys, models, retries", include_str!("models.txt"), services),
    topic("prompts", "what models are told, personalities, your own commands", include_str!("prompts.txt"), String::new),
    topic("money", "tokens, prices and caps", include_str!("money.txt"), String::new),
    topic("spans", "what turns did: traces, statistics, collectors, logs", include_str!("spans.txt"), String::new),
    topic("eval", "score how a model calls tools", include_str!("eval.txt"), String::new),
    topic("settings", "every setting", include_str!("settings.txt"), settings),
    topic("keys", "every key of the screen", include_str!("keys.txt"), keys),
    topic("commands", "slash commands and other special lines", include_str!("commands.txt"), commands),
    topic("plain", "plain mode: the conversation as lines of text", include_str!("plain.txt"), String::new),
    topic("limits", "what co does not protect against yet", include_str!("limits.txt"), String::new),
    topic("exit-codes", "exit codes and output for scripts", include_str!("exit-codes.txt"), String::new),
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
pub(in crate::cli) fn after() -> String {
    let rows = TOPICS.iter().map(|topic| [topic.name, topic.about].map(str::to_owned));
    format!("{}\nTopics of `co help TOPIC`:\n{}", include_str!("../examples.txt"), columns(rows).trim_end())
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
        let why = row.no_effect().map(|why| format!("No effect: {why}.{}", variables(row.env)));
        entry(&row.names().collect::<Vec<_>>().join(", "), [row.doc, &why.unwrap_or_default()])
    });
    let head = "\nReserved, without effect yet; `co` warns about each one that is set:\n\n";
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
        let key = match (one.key_envs, one.needs_key) {
            ([], _) => "none needed".to_owned(),
            (envs, true) => match one.keys_url {
                Some(url) => format!("{}, made at {url}", envs.join(", ")),
                None => envs.join(", "),
            },
            (envs, false) => format!("{}, if it wants one", envs.join(", ")),
        };
        let model = match (one.default_model, one.local) {
            (Some(model), _) => model,
            (None, Some(_)) => "the first one it lists",
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

fn tools() -> String {
    let all = builtin_tools();
    let rows = all.iter().map(|spec| {
        let [name, category, risk, about] = tool_cells(spec);
        [name, format!("{category}, {risk}"), about]
    });
    columns(rows)
}

/// The width of a description, in terminal cells.
const TOOL_ABOUT: usize = 200;

/// Returns the cells of a tool.
pub(in crate::cli) fn tool_cells(spec: &ToolSpec) -> [String; 4] {
    let about = format!("{} ({})", spec.about().trim_end_matches('.'), spec.asks());
    let category = match &spec.origin {
        Origin::Builtin => spec.category.word().to_owned(),
        Origin::Server(name) => format!("server {name}"),
    };
    [spec.name.to_string(), category, spec.risk.word().to_owned(), one_line_summary(&about, TOOL_ABOUT)]
}

fn keys() -> String {
    let keymap = Keymap::default();
    let rows: Vec<_> = keymap.by_context().collect();
    let contexts = rows.chunk_by(|a, b| a.binding.context == b.binding.context).map(|rows| {
        let cells = rows.iter().map(|row| {
            let keys: Vec<String> = row.keys.iter().map(ToString::to_string).collect();
            [row.binding.path(), row.binding.label(), keys.join("  ")]
        });
        let about = rows.first().map_or("", |row| row.binding.context.about());
        format!("\n{about}:\n{}", columns(cells))
    });
    contexts.collect()
}

fn commands() -> String {
    let row =
        |one: &Command| [format!("/{} {}", one.name, one.usage).trim_end().to_owned(), one.about.clone()];
    columns(Commands::builtin().iter().map(row))
}

/// A head, and below it texts that are indented and wrapped.
fn entry(head: &str, texts: [&str; 2]) -> String {
    let head = wrap(head, WIDTH).join("\n    ");
    format!("{head}\n{}", columns(texts.map(|text| [String::new(), text.to_owned()])))
}
