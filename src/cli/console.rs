//! Standard output and standard error of the headless commands.
//!
//! Everything printed here is either the program's own text or sanitized. Colour is used only on a terminal.

use std::io::{self, IsTerminal as _, Write as _};

use super::error::{CliError, Kind, Result};
use crate::stdx::text::sanitize;

/// Writes to standard output and standard error.
pub(super) struct Console {
    colour: Colour,
}

#[derive(Clone, Copy)]
enum Colour {
    Never,
    OnErrors,
}

impl Console {
    pub fn of_process() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let colour = if wanted && io::stderr().is_terminal() { Colour::OnErrors } else { Colour::Never };
        Self { colour }
    }

    /// Writes a text to standard output, sanitized.
    #[expect(clippy::unused_self, reason = "the console is the leave to print")]
    pub fn out(&mut self, text: &str) -> Result<()> {
        write(&sanitize(text))
    }

    /// Writes a text whose parts are sanitized already, with colours between them.
    #[expect(clippy::unused_self, reason = "the console is the leave to print")]
    pub fn out_styled(&mut self, text: &str) -> Result<()> {
        write(text)
    }

    /// Writes JSON to standard output; control and formatting characters in it are escaped.
    #[expect(clippy::unused_self, reason = "the console is the leave to print")]
    pub fn json(&mut self, value: &impl serde::Serialize) -> Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        write(&format!("{}\n", escaped(&text)))
    }

    /// Writes JSON on one line, for consumers that read line by line.
    #[expect(clippy::unused_self, reason = "the console is the leave to print")]
    pub fn json_line(&mut self, value: &impl serde::Serialize) -> Result<()> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        write(&format!("{}\n", escaped(&text)))
    }

    /// Writes a sanitized line to standard error. A failure to write is ignored.
    #[expect(clippy::unused_self, reason = "the console is the leave to print")]
    pub fn note(&mut self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", sanitize(line));
    }

    /// Prints an error with its hints and returns its exit code.
    pub fn fail(&mut self, error: &CliError) -> u8 {
        match error.kind {
            Kind::BrokenPipe => {}
            Kind::Waiting | Kind::Interrupted(_) => self.note(&format!("co: {}", error.source)),
            Kind::Error | Kind::Usage | Kind::Provider | Kind::Budget | Kind::TurnLimit | Kind::Regressed => {
                let message = error.source.to_string();
                let word = match self.colour {
                    Colour::Never => "error:".to_owned(),
                    Colour::OnErrors => "\u{1b}[1;31merror:\u{1b}[0m".to_owned(),
                };
                let _ = writeln!(io::stderr().lock(), "co: {word} {}", sanitize(&message));
            }
        }
        for hint in &error.hints {
            self.note(&format!("    {hint}"));
        }
        error.kind.code()
    }
}

fn write(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Escapes characters beyond ASCII that act on a terminal or hide text, which JSON leaves as they are. They
/// occur in strings only, where an escape means the same.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        let mut buffer = [0; 4];
        let harmless = (c.is_ascii() && c != '\u{7f}')
            || sanitize(c.encode_utf8(&mut buffer)) == *c.encode_utf8(&mut [0; 4]);
        if harmless {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_meaning_and_acts_on_no_terminal() {
        for text in ["plain é 🚀", "\u{9b}31m", "\u{202e}x", "\u{e0041}", "a\u{200b}b\u{1b}"] {
            let json = serde_json::to_string(text).unwrap();
            let shown = escaped(&json);
            assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
            assert_eq!(sanitize(&shown), shown);
        }
        assert_eq!(escaped("\"é🚀\""), "\"é🚀\"");
    }
}
