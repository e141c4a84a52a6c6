//! Reads a prompt: the argument, followed by piped input.

use std::io::{self, IsTerminal as _, Read as _};

use super::error::{CliError, Result};
use crate::frontend::images::Prompt;
use crate::message::images::mentions;
use crate::stdx::text::binary_size;

/// The most bytes of piped input; more would fit no model.
const MOST: u64 = 8 * 1024 * 1024;

/// Which standard streams are terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terminals {
    pub stdin: bool,
    pub stdout: bool,
}

impl Terminals {
    pub fn of_process() -> Self {
        Self { stdin: io::stdin().is_terminal(), stdout: io::stdout().is_terminal() }
    }

    /// Whether a screen can be drawn and keys can be read.
    pub fn interactive(self) -> bool {
        self.stdin && self.stdout
    }
}

/// Returns the whole prompt; only the typed words can name files, never piped input. Errors if the prompt is
/// empty.
pub(super) fn prompt(words: &str, at: Terminals) -> Result<Prompt> {
    let piped = if at.stdin { String::new() } else { read_all()? };
    let text = join(words, &piped);
    if text.is_empty() {
        let error = CliError::usage("the prompt is empty");
        return Err(error.hint("`co -p \"your prompt\"`, or pipe a text into `co -p`"));
    }
    Ok(Prompt { text, named: mentions(words) })
}

fn read_all() -> Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        let message = format!("the piped input is larger than {}", binary_size(MOST));
        let hint = "write it to a file in this folder and name that in the prompt";
        return Err(CliError::usage(message).hint(hint));
    }
    String::from_utf8(bytes).map_err(|_| {
        let error = CliError::usage("the piped input is not UTF-8 text");
        error.hint("convert it first, e.g. with `iconv -f latin1 -t utf8`")
    })
}

/// Joins the words and the piped text.
fn join(words: &str, piped: &str) -> String {
    match (words.trim(), piped.trim_end()) {
        ("", piped) => piped.trim().to_owned(),
        (words, "") => words.to_owned(),
        (words, piped) => format!("{words}\n\n{piped}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_before_what_was_piped() {
        for (words, piped, prompt) in [
            ("do it", "", "do it"),
            ("", " text \n", "text"),
            (" do it ", "  a\n  b\n", "do it\n\n  a\n  b"),
            (" ", "\n", ""),
        ] {
            assert_eq!(join(words, piped), prompt);
        }
    }
}
