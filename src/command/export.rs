//! `/export`: writes the session into a file.

use super::{Command, CommandEffect, CommandView, Commands, Needs, Say};

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExportForm {
    #[default]
    Markdown,
    Json,
    Html,
}

impl ExportForm {
    /// The names, which are also the endings of files.
    pub const NAMES: [&'static str; 3] = ["md", "json", "html"];

    /// Returns the form with that name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "md" | "markdown" => Some(Self::Markdown),
            "json" => Some(Self::Json),
            "html" => Some(Self::Html),
            _ => None,
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Json => "json",
            Self::Html => "html",
        }
    }
}

pub(super) fn command() -> Command {
    let about = "write this session into a file; keys and tokens are masked";
    Command::new("export", "[md|json|html]", about, Needs::Nothing, decide)
}

fn decide(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    match args {
        "" => CommandEffect::Export(ExportForm::default()),
        name => match ExportForm::named(name) {
            Some(form) => CommandEffect::Export(form),
            None => {
                let text = "The forms are `md`, `json` and `html`. Nothing was written.";
                CommandEffect::Say(Say::warning("export", text))
            }
        },
    }
}
