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
mod clear;
mod compact;
mod context;
mod cost;
mod help;
mod history;
mod init;
mod keys;
mod login;
mod mcp;
mod memory;
mod mode;
mod model;
mod personality;
mod quit;
mod rename;
mod resume;
mod retry;
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
    Activity, CommandEffect, CommandView, ContextView, CostPart, ExportForm, FilesToo, ModelLine, RuleLine,
    Say, SessionChange, Tone, Totals, Trusting,
};

use std::sync::Arc;

pub use crate::stdx::text::code;
use crate::stdx::text::{nearest, sanitize_line};

/// What a command reads of a [`CommandView`] beyond its cheap facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    Status,
    Tools,
    Tasks,
    Cache,
    Servers,
    Models,
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
    pub needs: Needs,
    decide: Arc<Decide>,
}

impl Command {
    /// Creates a command; `decide` returns its effect, given the text after its name, trimmed.
    pub fn new<D>(name: &str, usage: &str, about: &str, needs: Needs, decide: D) -> Self
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
            all: vec![
                help::command(),
                keys::command(),
                clear::command(),
                clear::new(),
                status::command(),
                cost::command(),
                stats::command(),
                context::command(),
                compact::command(),
                tools::command(),
                tasks::command(),
                cache::command(),
                mcp::command(),
                trust::command(),
                history::command(),
                model::command(),
                thinking::command(),
                personality::command(),
                init::command(),
                retry::command(),
                mode::command(),
                go::command(),
                login::command(),
                yolo::command(),
                approvals::command(),
                rules::command(),
                rename::command(),
                export::command(),
                fork::command(),
                fork::rewind(),
                memory::command(),
                memory::forget(),
                undo::command(),
                undo::redo(),
                resume::command(),
                resume::sessions(),
                quit::command(),
                quit::exit(),
            ],
        }
    }

    /// Adds a command; one of the same name stays as it is. Returns whether it was added.
    pub fn add(&mut self, command: Command) -> bool {
        let is_new = self.named(&command.name).is_none();
        if is_new {
            self.all.push(command);
        }
        is_new
    }

    /// Returns the command of this name, in any case.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Command> {
        let wanted = name.to_lowercase();
        self.all.iter().find(|command| command.name == wanted)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Command> {
        self.all.iter()
    }

    /// Returns the effect of `/name args`. An unknown name is answered here and never sent to a model.
    #[must_use]
    pub fn decide(&self, name: &str, args: &str, view: &CommandView) -> CommandEffect {
        match self.named(name) {
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
        CommandEffect::Say(Say::warning("unknown command", text))
    }
}
