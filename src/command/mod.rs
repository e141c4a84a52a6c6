//! User input that is not a prompt: dispatch of entered lines, and the slash commands.
//!
//! A command only decides and has no side effects: it reads a [`CommandView`] and returns a
//! [`CommandEffect`], which `app` carries out. Nothing here awaits, prints, or calls a model. Called by the
//! owner of an interactive session; the composer also uses the list of names for completion.

mod dispatch;
mod view;
mod words;

mod approvals;
mod clear;
mod cost;
mod help;
mod history;
mod keys;
mod login;
mod mode;
mod model;
mod quit;
mod resume;
mod rules;
mod status;
mod tools;
mod trust;
mod yolo;

#[cfg(test)]
mod tests;

pub use self::dispatch::{Entry, Privacy, dispatch};
pub use self::mode::about as about_mode;
pub use self::view::{
    Activity, CommandEffect, CommandView, CostPart, ModelLine, RuleLine, Say, Tone, Totals, Trusting,
};
pub use self::words::code;

use crate::stdx::text::{nearest, sanitize_line};

/// One slash command.
#[derive(Clone, Copy)]
pub struct Command {
    /// The name without the slash, in lower case.
    pub name: &'static str,
    /// The arguments it accepts, as shown by help; empty if none.
    pub usage: &'static str,
    /// A one-line description for lists.
    pub about: &'static str,
    /// Returns the effect of the command, given the text after its name, trimmed.
    pub decide: fn(&str, &Commands, &CommandView) -> CommandEffect,
}

impl Command {
    /// Returns the possible arguments if its usage lists them all, as in `[on|off]`.
    pub fn choices(&self) -> impl Iterator<Item = &'static str> {
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
                help::COMMAND,
                keys::COMMAND,
                clear::COMMAND,
                status::COMMAND,
                cost::COMMAND,
                tools::COMMAND,
                trust::COMMAND,
                history::COMMAND,
                model::COMMAND,
                mode::COMMAND,
                login::COMMAND,
                yolo::COMMAND,
                approvals::COMMAND,
                rules::COMMAND,
                resume::COMMAND,
                resume::SESSIONS,
                quit::COMMAND,
            ],
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Command> {
        self.all.iter()
    }

    /// Returns the effect of `/name args`. An unknown name is answered here and never sent to a model.
    #[must_use]
    pub fn decide(&self, name: &str, args: &str, view: &CommandView) -> CommandEffect {
        let wanted = name.to_lowercase();
        match self.all.iter().find(|command| command.name == wanted) {
            Some(command) => (command.decide)(args.trim(), self, view),
            None => self.unknown(&wanted),
        }
    }

    fn unknown(&self, name: &str) -> CommandEffect {
        let shown = code(&format!("/{}", sanitize_line(name)));
        let mut text = format!("{shown} is not a command");
        match nearest(name, self.all.iter().map(|command| command.name)) {
            Some(nearest) => text.push_str(&format!("; did you mean `/{nearest}`?")),
            None => text.push_str("; `/help` lists them."),
        }
        text.push_str(" Nothing was sent. A prompt that begins with `/` needs a space before it.");
        CommandEffect::Say(Say::warning("unknown command", text))
    }
}
