//! The text of a PDF document, by `pdftotext` where it is installed.
//!
//! A PDF is untrusted: the program runs in the sandbox, held to reading, without the environment, and gets the bytes on its
//! standard input and no name. It is ended when it takes too long, says too much, or the call is cancelled.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::sandbox::{Command, Confinement, Exit, Sandbox};
use crate::stdx::moment::duration;
use crate::tool::ToolError;
use crate::tool::builtin::typed::RunContext;
use crate::tool::builtin::work::{collect_output, interrupted_error, terminal};

const SCRIPT: &str = "exec pdftotext -layout -enc UTF-8 - - 2>/dev/null";

const TIMEOUT: Duration = Duration::from_secs(20);

/// The most bytes of text.
const MOST_TEXT: usize = 8 * 1024 * 1024;

/// The code of a shell that finds no program.
const NOT_FOUND: i32 = 127;

/// Runs `pdftotext`.
pub struct PdfReader {
    pub sandbox: Arc<dyn Sandbox>,
    /// Where programs are found.
    pub path: String,
}

/// The outcome of reading it.
pub enum PdfText {
    /// The pages.
    Pages {
        text: String,
        is_whole: bool,
    },
    NotInstalled,
}

impl PdfReader {
    /// Returns the text of the document, with a line before each page. Errs if it takes too long or cannot be read.
    pub async fn read(&self, mut file: File, shown: &str, cx: &RunContext) -> Result<PdfText, ToolError> {
        let failed = |why: String| terminal(format!("the text of {shown} cannot be read: {why}"));
        let (input, mut pipe) = io::pipe().map_err(|error| failed(error.to_string()))?;
        // A program that ends early closes the pipe, which ends the copying.
        tokio::task::spawn_blocking(move || io::copy(&mut file, &mut pipe));
        let command = Command {
            script: SCRIPT.to_owned(),
            cwd: cx.place.workspace.clone(),
            env: vec![("PATH".to_owned(), self.path.clone())],
            timeout: TIMEOUT,
            confinement: Confinement::ReadOnly,
            input: Some(Arc::new(input)),
            ..Command::default()
        };
        let run = collect_output(&*self.sandbox, command, &cx.cancel, MOST_TEXT).await;
        let (mut bytes, exit) = run.map_err(|error| failed(error.to_string()))?;
        if bytes.len() > MOST_TEXT {
            bytes.truncate(MOST_TEXT);
            return Ok(PdfText::Pages { text: pages(&bytes), is_whole: false });
        }
        match exit {
            Some(Exit::Code(0)) => Ok(PdfText::Pages { text: pages(&bytes), is_whole: true }),
            Some(Exit::Code(NOT_FOUND)) => Ok(PdfText::NotInstalled),
            Some(Exit::Code(code)) => {
                Err(failed(format!("pdftotext ended with exit {code}; it is damaged, or needs a password")))
            }
            Some(Exit::Signal(signal)) => Err(failed(format!("pdftotext was ended by signal {signal}"))),
            Some(Exit::TimedOut) => Err(failed(format!(
                "pdftotext took more than {}; take a part of it with a command",
                duration(TIMEOUT)
            ))),
            Some(Exit::Cancelled) => Err(interrupted_error()),
            None => Err(failed("the sandbox did not report how pdftotext ended".to_owned())),
        }
    }
}

/// Returns the pages, each below a line with its number; empty if there is no text.
fn pages(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.trim().is_empty() {
        return String::new();
    }
    let mut pages = String::new();
    for (number, page) in (1..).zip(text.trim_end_matches('\u{c}').split('\u{c}')) {
        pages.push_str(&format!("[page {number}]\n{}\n", page.trim_end()));
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_numbered() {
        for (bytes, expected) in [
            (&b"one\n\x0c two\n\n\x0c"[..], "[page 1]\none\n[page 2]\n two\n"),
            (b"a\xff", "[page 1]\na\u{fffd}\n"),
            (b" \n\x0c\x0c", ""),
            (b"", ""),
        ] {
            assert_eq!(pages(bytes), expected);
        }
    }
}
