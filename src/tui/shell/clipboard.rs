//! Reads the clipboard with the desktop's program for it; an image takes precedence over text.
//!
//! The program is a child process that is killed after a timeout, and its output is limited to the usable
//! size. The clipboard is read only after the user pressed the key for it. Called by `background_jobs`.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use crate::frontend::images::LARGEST;
use crate::stdx::text::size;

/// The timeout for all programs together.
const PATIENCE: Duration = Duration::from_secs(3);
/// The longest text, in bytes.
const LONGEST_TEXT: usize = 1_000_000;
/// Image types that models accept, best first.
const KINDS: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];
/// Names that clipboards use for text.
const TEXTS: [&str; 4] = ["text/plain", "UTF8_STRING", "STRING", "TEXT"];

/// The clipboard's content; an image as its bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum ClipboardContent {
    Image(Vec<u8>),
    Text(String),
}

/// A program that lists the clipboard's types and returns the content of one.
struct Reader {
    program: &'static str,
    list: &'static [&'static str],
    /// The arguments before the type.
    image: &'static [&'static str],
    text: &'static [&'static str],
}

const READERS: &[Reader] = &[
    Reader {
        program: "wl-paste",
        list: &["--list-types"],
        image: &["--no-newline", "--type"],
        text: &["--no-newline", "--type", "text"],
    },
    Reader {
        program: "xclip",
        list: &["-selection", "clipboard", "-out", "-target", "TARGETS"],
        image: &["-selection", "clipboard", "-out", "-target"],
        text: &["-selection", "clipboard", "-out"],
    },
];

/// Prints the clipboard's PNG as `«data PNGf89504E…»`.
const APPLE_SCRIPT: &str = "get the clipboard as «class PNGf»";

/// Reads the clipboard; an error is a message for the user.
pub async fn read() -> Result<ClipboardContent, String> {
    match tokio::time::timeout(PATIENCE, look()).await {
        Ok(found) => found,
        Err(_overdue) => Err("the clipboard did not answer within 3 seconds".to_owned()),
    }
}

/// The outcome of a program.
enum ReaderOutput {
    Bytes(Vec<u8>),
    /// It returned nothing: no content of that type, or no display.
    Nothing,
    TooMuch,
    NotThere,
}

async fn look() -> Result<ClipboardContent, String> {
    let mut asked = false;
    for reader in READERS {
        match run(reader.program, reader.list, LONGEST_TEXT).await {
            ReaderOutput::NotThere => {}
            ReaderOutput::Nothing | ReaderOutput::TooMuch => asked = true,
            ReaderOutput::Bytes(kinds) => {
                asked = true;
                if let Some(found) = reader.read(&String::from_utf8_lossy(&kinds)).await? {
                    return Ok(found);
                }
            }
        }
    }
    let apple = [("pngpaste", &["-"] as &[&str]), ("osascript", &["-e", APPLE_SCRIPT])];
    for (program, args) in apple {
        match run(program, args, 2 * LARGEST + 100).await {
            ReaderOutput::NotThere => {}
            ReaderOutput::Nothing => asked = true,
            ReaderOutput::TooMuch => return Err(too_large()),
            ReaderOutput::Bytes(bytes) => return Ok(ClipboardContent::Image(decode_hex(bytes))),
        }
    }
    if let ReaderOutput::Bytes(bytes) = run("pbpaste", &[], LONGEST_TEXT).await {
        return text(bytes);
    }
    if asked {
        return Err("the clipboard has no image or text".to_owned());
    }
    Err("no clipboard tool found: install wl-clipboard, xclip or pngpaste".to_owned())
}

impl Reader {
    async fn read(&self, kinds: &str) -> Result<Option<ClipboardContent>, String> {
        let offered: Vec<&str> = kinds.lines().map(str::trim).collect();
        if let Some(kind) = KINDS.into_iter().find(|kind| offered.contains(kind)) {
            let args: Vec<&str> = self.image.iter().copied().chain([kind]).collect();
            return match run(self.program, &args, LARGEST).await {
                ReaderOutput::Bytes(bytes) => Ok(Some(ClipboardContent::Image(bytes))),
                ReaderOutput::TooMuch => Err(too_large()),
                ReaderOutput::Nothing | ReaderOutput::NotThere => Ok(None),
            };
        }
        let is_text = |kind: &&str| TEXTS.iter().any(|text| kind.starts_with(text));
        if !offered.iter().any(is_text) {
            return Ok(None);
        }
        match run(self.program, self.text, LONGEST_TEXT).await {
            ReaderOutput::Bytes(bytes) => text(bytes).map(Some),
            ReaderOutput::TooMuch => Err("the clipboard text is too large: put it in a file".to_owned()),
            ReaderOutput::Nothing | ReaderOutput::NotThere => Ok(None),
        }
    }
}

fn too_large() -> String {
    format!("the clipboard image is larger than {}: shrink it first", size(LARGEST))
}

fn text(bytes: Vec<u8>) -> Result<ClipboardContent, String> {
    let text = String::from_utf8(bytes).map_err(|_| "the clipboard text is not UTF-8".to_owned())?;
    Ok(ClipboardContent::Text(text))
}

/// Decodes the bytes in `«data PNGf…»`; returns the input if it has another form.
fn decode_hex(bytes: Vec<u8>) -> Vec<u8> {
    let text = String::from_utf8_lossy(&bytes);
    let Some(digits) = text.trim().strip_prefix("«data PNGf").and_then(|rest| rest.strip_suffix('»'))
    else {
        return bytes;
    };
    let pairs = digits.as_bytes().chunks(2).map(std::str::from_utf8);
    let decoded: Option<Vec<u8>> = pairs.map(|pair| u8::from_str_radix(pair.ok()?, 16).ok()).collect();
    decoded.unwrap_or_default()
}

/// Returns the output of a program, at most `limit` bytes of it.
async fn run(program: &str, args: &[&str], limit: usize) -> ReaderOutput {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return ReaderOutput::NotThere,
        Err(_) => return ReaderOutput::Nothing,
    };
    let Some(out) = child.stdout.take() else { return ReaderOutput::Nothing };
    let mut bytes = Vec::new();
    let room = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    if out.take(room).read_to_end(&mut bytes).await.is_err() {
        return ReaderOutput::Nothing;
    }
    if bytes.len() > limit {
        return ReaderOutput::TooMuch;
    }
    match child.wait().await {
        Ok(status) if status.success() && !bytes.is_empty() => ReaderOutput::Bytes(bytes),
        Ok(_) | Err(_) => ReaderOutput::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_prints_is_undone() {
        let cases: &[(&str, &[u8])] =
            &[("«data PNGf89504E47»\n", b"\x89PNG"), ("«data PNGf8950zz»", b""), ("plain", b"plain")];
        for (printed, bytes) in cases {
            assert_eq!(decode_hex(printed.as_bytes().to_vec()), *bytes, "{printed:?}");
        }
    }
}
