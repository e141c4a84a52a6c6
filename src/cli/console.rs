//! Standard output and standard error of the headless commands.
//!
//! Everything printed here is either the program's own text or sanitized. Colour is used only on a terminal.

use std::io::{self, IsTerminal as _, Write as _};

use super::error::{CliError, Kind, Result};
use crate::stdx::text::sanitize;

/// Writes a text to standard output, sanitized.
pub(super) fn out(text: &str) -> Result<()> {
    write(&sanitize(text))
}

/// Writes JSON to standard output; control and formatting characters in it are escaped.
pub(super) fn json(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
    write(&format!("{}\n", escape(&text)))
}

/// Writes JSON on one line, for consumers that read line by line.
pub(super) fn json_line(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(io::Error::from)?;
    write(&format!("{}\n", escape(&text)))
}

/// Writes a sanitized line to standard error. A failure to write is ignored.
pub(super) fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", sanitize(line));
}

/// Writes lines of this program to standard error.
pub(super) fn notes(lines: impl IntoIterator<Item = impl std::fmt::Display>) {
    lines.into_iter().for_each(|line| note(&format!("co: {line}")));
}

/// Prints an error with its hints and returns its exit code.
pub(super) fn fail(error: &CliError) -> u8 {
    match error.kind {
        Kind::BrokenPipe => {}
        Kind::Waiting | Kind::Interrupted(_) => note(&format!("co: {}", error.source)),
        Kind::Error | Kind::Usage | Kind::Provider | Kind::Budget | Kind::TurnLimit | Kind::Regressed => {
            let message = error.source.to_string();
            let has_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                && io::stderr().is_terminal();
            let word = if has_colour { "\u{1b}[1;31merror:\u{1b}[0m" } else { "error:" };
            let _ = writeln!(io::stderr().lock(), "co: {word} {}", sanitize(&message));
        }
    }
    for hint in &error.hints {
        note(&format!("    {hint}"));
    }
    error.kind.code()
}

/// Writes a text whose parts are sanitized already.
pub(super) fn write(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Escapes characters beyond ASCII that act on a terminal or hide text, which JSON leaves as they are. They
/// occur in strings only, where an escape means the same.
fn escape(json: &str) -> String {
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
            let shown = escape(&json);
            assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
            assert_eq!(sanitize(&shown), shown);
        }
        assert_eq!(escape("\"é🚀\""), "\"é🚀\"");
    }
}
