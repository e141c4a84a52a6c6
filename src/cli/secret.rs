//! Reads lines from the user: plain ones, and a key without echo.
//!
//! Standard input is read byte by byte, so that none of the following input is consumed.

use std::io::{self, Read as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use super::error::{CliError, Kind, Result};
use super::input::Terminals;
use crate::config::Secret;

/// The most bytes of a key, and of a line.
const LONGEST: usize = 16 * 1024;

/// Keys as a terminal sends them.
const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const BACKSPACE: [u8; 2] = [8, 127];
const CTRL_U: u8 = 21;

/// Reads the key of a service: from the terminal without echo, otherwise all of standard input.
pub(super) fn key(service: &str) -> Result<Secret> {
    let prompt = format!("Key for {service} (it is not shown): ");
    let text = if Terminals::of_process().stdin { unseen(&prompt)? } else { read_piped()? };
    let key = text.trim();
    if key.is_empty() {
        let error = CliError::usage("no key was entered, so nothing was changed");
        return Err(error.hint("type it when asked, or pipe it in: `co auth add NAME < file`"));
    }
    if key.contains(|c: char| c.is_whitespace() || c.is_control()) {
        let words = "the input contains white space or control characters; keys never do";
        return Err(CliError::usage(words).hint("copy the whole key and nothing else"));
    }
    Ok(Secret::new(key.to_owned()))
}

fn read_piped() -> Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
    let too_long = || CliError::usage("the piped input is not a key");
    if bytes.len() > LONGEST { Err(too_long()) } else { String::from_utf8(bytes).map_err(|_| too_long()) }
}

/// Reads one line of standard input, without its end; `None` at the end of the input.
pub(super) fn line(prompt: &str) -> Result<Option<String>> {
    show(prompt)?;
    let mut line = Vec::new();
    while let Some(byte) = byte()? {
        if byte == b'\n' {
            return Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()));
        }
        if line.len() < LONGEST {
            line.push(byte);
        }
    }
    show("\n")?;
    Ok(None)
}

/// Said where the user did not agree.
pub(super) const UNCHANGED: &str = "Nothing was changed.\n";

/// Returns whether the user agrees; `--yes` answers the question. Errors if there is no terminal to ask on.
pub(super) fn confirm(yes: bool, question: &str) -> Result<bool> {
    if yes {
        return Ok(true);
    }
    if Terminals::of_process().interactive() {
        return Ok(matches!(line(question)?.as_deref(), Some("y" | "Y" | "yes")));
    }
    let words = "no terminal to confirm on, so nothing was changed";
    Err(CliError::usage(words).hint("`--yes` skips the confirmation"))
}

/// Reads one line from the terminal without echo.
fn unseen(prompt: &str) -> Result<String> {
    let _quiet = EchoGuard::begin()?;
    show(prompt)?;
    let mut line = Vec::new();
    loop {
        match byte()? {
            None | Some(b'\r' | b'\n' | CTRL_D) => break,
            Some(CTRL_C) => {
                show("\n")?;
                return Err(CliError::message(Kind::Interrupted(2), "nothing was changed"));
            }
            Some(CTRL_U) => line.clear(),
            Some(byte) if BACKSPACE.contains(&byte) => {
                line.pop();
            }
            Some(byte) if line.len() < LONGEST => line.push(byte),
            Some(_) => {}
        }
    }
    show("\n")?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn byte() -> Result<Option<u8>> {
    let mut one = [0];
    loop {
        match rustix::io::read(io::stdin(), &mut one) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(one[0])),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
}

/// Prints a question to standard error, so that redirected output does not contain it.
fn show(text: &str) -> Result<()> {
    let mut out = io::stderr().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Turns the terminal's echo off until dropped.
struct EchoGuard {
    before: Termios,
}

impl EchoGuard {
    fn begin() -> Result<Self> {
        let before = tcgetattr(io::stdin()).map_err(io::Error::from)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Discards input typed before the question.
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet).map_err(io::Error::from)?;
        Ok(Self { before })
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        // A failure cannot be handled here.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
