//! Classifies an entered line: quit, nothing, shell command, slash command, or prompt. The first match wins.
//!
//! Pure, and total: every line is one of these. Headless prompts (`co -p`) do not pass through here.

use crate::sandbox::Confinement;

/// A classified line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Quit,
    /// Blank.
    Nothing,
    /// `!command`; empty if nothing follows the mark.
    Shell {
        command: String,
        privacy: Privacy,
        confinement: Confinement,
    },
    /// `/name args`.
    Command {
        name: String,
        args: String,
    },
    Prompt {
        text: String,
    },
}

/// Whether the model receives a shell command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// `!`: its output is sent with the next prompt.
    Shared,
    /// `!!`: the model never receives it.
    Private,
}

/// The word before a command of the user's that is to run outside of the sandbox.
pub const UNSANDBOXED: &str = "unsandboxed";

fn shell(command: &str, privacy: Privacy) -> Entry {
    let command = command.trim();
    let outside = command.strip_prefix(UNSANDBOXED).filter(|rest| rest.starts_with(char::is_whitespace));
    let confinement = if outside.is_some() { Confinement::Unsandboxed } else { Confinement::Network };
    Entry::Shell { command: outside.unwrap_or(command).trim().to_owned(), privacy, confinement }
}

/// Classifies a line. A space before `!` or `/` makes the line a prompt.
#[must_use]
pub fn dispatch(line: &str) -> Entry {
    let trimmed = line.trim();
    if trimmed.eq_ignore_ascii_case("exit") || trimmed.eq_ignore_ascii_case("quit") {
        return Entry::Quit;
    }
    if trimmed.is_empty() {
        return Entry::Nothing;
    }
    if let Some(command) = line.strip_prefix("!!") {
        return shell(command, Privacy::Private);
    }
    if let Some(command) = line.strip_prefix('!') {
        return shell(command, Privacy::Shared);
    }
    if let Some(command) = line.strip_prefix('/') {
        let (name, args) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        return Entry::Command { name: name.to_owned(), args: args.trim().to_owned() };
    }
    Entry::Prompt { text: trimmed.to_owned() }
}
