//! User input that is not a prompt: dispatch of entered lines, and the slash commands.
//!
//! A command only decides and has no side effects: it reads a [`CommandView`] and returns a
//! [`CommandEffect`], which `app` carries out. Nothing here awaits, prints, or calls a model. Called by the
//! owner of an interactive session; the composer also uses the list of names for completion.

mod custom;
mod dispatch;
mod export;
mod fork;
mod go;
mod view;

mod approvals;
mod cache;
mod compact;
mod context;
mod cost;
mod help;
mod history;
mod init;
mod mcp;
mod memory;
mod mode;
mod model;
mod personality;
mod rename;
mod rules;
mod stats;
mod status;
mod tasks;
mod thinking;
mod tools;
mod trust;
mod undo;
mod yolo;

#[cfg(test)]
mod tests;

pub use self::custom::CommandFile;
pub use self::dispatch::{Entry, Privacy, UNSANDBOXED, dispatch};
pub use self::mode::about as about_mode;
pub use self::rename::TITLE_WIDTH;
pub use self::status::wanted_turn;
pub use self::view::{
    CommandEffect, CommandView, ContextView, ConversationSize, CostPart, ExportForm, FileRestore, ModelLine,
    Notice, RuleLine, STOP_FIRST, SessionChange, TURN_RUNS, Tone, TrustAction,
};

use std::sync::Arc;

pub use crate::stdx::text::code;
use crate::stdx::text::{nearest, sanitize_line};

/// The part of a [`CommandView`] that a command reads beyond its cheap facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandNeed {
    Nothing,
    Status,
    Tools,
    Tasks,
    Cache,
    Servers,
    Conversation,
    Cost,
    Stats,
    Context,
    Prompts,
    Approvals,
    Rules,
    Personality,
    Guide,
}

/// The source of commands that are part of the program.
const BUILTIN: &str = "built-in";

type Decide = dyn Fn(&str, &Commands, &CommandView) -> CommandEffect + Send + Sync;

/// One slash command.
#[derive(Clone)]
pub struct Command {
    /// The name without the slash, in lower case.
    pub name: String,
    /// The arguments it accepts, as shown by help; empty if none.
    pub usage: String,
    /// A one-line description for lists.
    pub about: String,
    /// `built-in`, or what is shown of the file that it comes from.
    pub source: String,
    pub needs: CommandNeed,
    decide: Arc<Decide>,
}

impl Command {
    /// Creates a command; `decide` returns its effect, given the text after its name, trimmed.
    pub fn new<D>(name: &str, usage: &str, about: &str, needs: CommandNeed, decide: D) -> Self
    where
        D: Fn(&str, &Commands, &CommandView) -> CommandEffect + Send + Sync + 'static,
    {
        let (name, usage, about) = (name.to_owned(), usage.to_owned(), about.to_owned());
        Self { name, usage, about, source: BUILTIN.to_owned(), needs, decide: Arc::new(decide) }
    }

    /// The same from a file.
    fn from(self, source: &str) -> Self {
        Self { source: source.to_owned(), ..self }
    }

    /// Whether it is part of the program.
    pub fn is_builtin(&self) -> bool {
        self.source == BUILTIN
    }

    /// Returns the possible arguments if its usage lists them all, as in `[on|off]`.
    pub fn choices(&self) -> impl Iterator<Item = &str> {
        let inner = self.usage.strip_prefix('[').and_then(|usage| usage.strip_suffix(']'));
        inner.filter(|words| words.contains('|')).into_iter().flat_map(|words| words.split('|'))
    }
}

/// A built-in command: its name, its usage, what it is about, what it needs, and its decision.
type Builtin = (
    &'static str,
    &'static str,
    &'static str,
    CommandNeed,
    fn(&str, &Commands, &CommandView) -> CommandEffect,
);

/// The built-in commands, in the order in which help lists them.
const BUILTINS: &[Builtin] = &[
    ("help", "", "list the commands", CommandNeed::Nothing, help::decide),
    ("keys", "[words]", "list the keys, or those that match", CommandNeed::Nothing, |args, _, _| {
        CommandEffect::ShowKeys(args.to_owned())
    }),
    ("clear", "", "start a new session; this one stays in /resume", CommandNeed::Nothing, clear),
    ("new", "", "the same as /clear", CommandNeed::Nothing, clear),
    (
        "status",
        "[prompt [turn [request]]]",
        "show model, folder, sandbox and store, or the prompt",
        CommandNeed::Status,
        status::decide,
    ),
    ("cost", "", "show tokens and cost so far", CommandNeed::Cost, cost::decide),
    (
        "stats",
        "",
        "show requests, durations, errors and approvals of the last 30 days",
        CommandNeed::Stats,
        stats::decide,
    ),
    ("context", "", "show where the tokens of the next request go", CommandNeed::Context, context::decide),
    (
        "compact",
        "[FOCUS], preview, undo",
        "replace older messages by a summary that keeps above all what you name",
        CommandNeed::Context,
        compact::decide,
    ),
    ("tools", "", "list the tools and which of them ask", CommandNeed::Tools, tools::decide),
    ("tasks", "[end N]", "list commands in the background, or end one", CommandNeed::Tasks, tasks::decide),
    (
        "cache",
        "[clear [PATTERN]]",
        "list results of tools that are used again for a short time, or drop them",
        CommandNeed::Cache,
        cache::decide,
    ),
    ("mcp", "[reconnect NAME]", "list tool servers, or connect one again", CommandNeed::Servers, mcp::decide),
    (
        "trust",
        "[yes]",
        "show what this folder brings along, and trust it",
        CommandNeed::Nothing,
        trust::decide,
    ),
    ("history", "", "count turns, messages and tokens", CommandNeed::Conversation, history::decide),
    (
        "model",
        "[provider/model]",
        "choose a model, or switch to one directly",
        CommandNeed::Nothing,
        model::decide,
    ),
    (
        "thinking",
        "[default|off|low|medium|high]",
        "show or set how much the model thinks; also a number of tokens",
        CommandNeed::Nothing,
        thinking::decide,
    ),
    (
        "personality",
        "[name]",
        "show or change the tone of the answers",
        CommandNeed::Personality,
        personality::decide,
    ),
    ("init", "", "let the model draft or update this project's AGENTS.md", CommandNeed::Guide, init::decide),
    ("retry", "", "repeat the last prompt", CommandNeed::Nothing, |_, _, view| {
        view.change("retry", SessionChange::Retry)
    }),
    ("mode", "[ask|auto|plan|dry-run]", "show or change the mode", CommandNeed::Nothing, mode::decide),
    ("go", "[ask|auto]", "leave plan mode and carry the plan out", CommandNeed::Nothing, go::decide),
    (
        "login",
        "",
        "set up a model service: pick it, enter its key, choose a model",
        CommandNeed::Nothing,
        |_, _, _| CommandEffect::ListServices,
    ),
    (
        "yolo",
        "[on|off]",
        "approve calls automatically, LOW to HIGH, until turned off or you quit",
        CommandNeed::Nothing,
        yolo::decide,
    ),
    (
        "approvals",
        "[revoke NUMBER]",
        "list waiting requests and what was allowed, or revoke one of these",
        CommandNeed::Approvals,
        approvals::decide,
    ),
    ("rules", "", "list the rules that apply in this session", CommandNeed::Rules, rules::decide),
    ("rename", "TITLE", "give this session a title", CommandNeed::Nothing, rename::decide),
    (
        "export",
        "[md|json|html]",
        "write this session into a file; keys and tokens are masked",
        CommandNeed::Nothing,
        export::decide,
    ),
    (
        "fork",
        "[message]",
        "go on in a copy of this session, which stays as it is",
        CommandNeed::Nothing,
        fork::fork,
    ),
    ("rewind", "[number] [files]", "go back to before one of your prompts", CommandNeed::Prompts, fork::back),
    (
        "memory",
        memory::USAGE,
        "list, search and change what is remembered",
        CommandNeed::Nothing,
        memory::memory,
    ),
    ("forget", "ID", "forget a memory", CommandNeed::Nothing, memory::forget_one),
    ("undo", "[NUMBER], turn, list", "take back changes of files", CommandNeed::Nothing, undo::undo),
    ("redo", "", "do again what was taken back last", CommandNeed::Nothing, undo::again),
    ("resume", "[words]", "continue another session from a list", CommandNeed::Nothing, pick_session),
    ("sessions", "[words]", "the same as /resume", CommandNeed::Nothing, pick_session),
    ("quit", "", "quit; the session is saved", CommandNeed::Nothing, |_, _, _| CommandEffect::Quit),
    ("exit", "", "the same as /quit", CommandNeed::Nothing, |_, _, _| CommandEffect::Quit),
];

/// Returns the entry of a numbered list that the user means.
pub fn by_number<'a, T>(list: &'a [T], number: &str) -> Option<&'a T> {
    list.get(number.trim().parse::<usize>().ok()?.checked_sub(1)?)
}

fn clear(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    view.change("clear", SessionChange::Clear)
}

fn pick_session(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    CommandEffect::ListSessions { query: args.to_owned() }
}

/// The commands of this process, built by `app`.
#[derive(Clone)]
pub struct Commands {
    all: Vec<Command>,
}

impl Commands {
    /// Returns the built-in commands, in the order in which help lists them.
    #[must_use]
    pub fn builtin() -> Self {
        Self {
            all: BUILTINS
                .iter()
                .map(|&(name, usage, about, needs, decide)| Command::new(name, usage, about, needs, decide))
                .collect(),
        }
    }

    /// Adds a command; one of the same name stays as it is. Returns whether it was added.
    pub fn add(&mut self, command: Command) -> bool {
        let is_new = self.by_name(&command.name).is_none();
        if is_new {
            self.all.push(command);
        }
        is_new
    }

    /// Returns the command of this name, in any case.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&Command> {
        let wanted = name.to_lowercase();
        self.all.iter().find(|command| command.name == wanted)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Command> {
        self.all.iter()
    }

    /// Returns the effect of `/name args`. An unknown name is answered here and never sent to a model.
    #[must_use]
    pub fn decide(&self, name: &str, args: &str, view: &CommandView) -> CommandEffect {
        match self.by_name(name) {
            Some(command) => (command.decide)(args.trim(), self, view),
            None => self.unknown(&name.to_lowercase()),
        }
    }

    fn unknown(&self, name: &str) -> CommandEffect {
        let shown = code(&format!("/{}", sanitize_line(name)));
        let mut text = format!("{shown} is not a command");
        match nearest(name, self.all.iter().map(|command| command.name.as_str())) {
            Some(nearest) => text.push_str(&format!("; did you mean `/{nearest}`?")),
            None => text.push_str("; `/help` lists them."),
        }
        text.push_str(" Nothing was sent. A prompt that begins with `/` needs a space before it.");
        CommandEffect::warning("unknown command", text)
    }
}
