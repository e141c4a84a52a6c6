//! A file that fits into memory, as what it is: an image, a notebook, a text in its encoding, or only its kind. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::kind;
use super::lines::{LineRange, Lines};
use super::notebook;
use crate::message::ReturnPart;
use crate::stdx::image::look;
use crate::tool::ToolError;
use crate::tool::builtin::text_file::{Encoding, decode};

/// The largest image that is shown, in bytes: what all services accept.
const MOST_IMAGE: usize = 5_000_000;

/// Part of the report on a file that is not shown.
pub const NO_TEXT: &str = " is not text: ";

/// Part of the report on an image, before its size.
pub const IMAGE: &str = ": image ";

/// The content of a file.
pub enum FileContent {
    Parts(Vec<ReturnPart>),
    /// A PDF document, which another program reads.
    Pdf,
}

impl FileContent {
    pub fn text(text: String) -> Self {
        Self::Parts(vec![ReturnPart::Text { text }])
    }
}

/// Reads the bytes of a whole file. Errs if the wanted lines are past its end.
pub fn read(bytes: &[u8], shown: &str, wanted: LineRange) -> Result<FileContent, ToolError> {
    match kind::binary(bytes) {
        Some(kind::PDF) => Ok(FileContent::Pdf),
        Some(kind::UTF_16) if decode(bytes).is_some() => {
            in_encoding(bytes, shown, wanted).map(FileContent::text)
        }
        Some(kind) => Ok(image(bytes, shown)
            .unwrap_or_else(|| FileContent::text(not_shown(shown, kind, bytes.len() as u64)))),
        None if is_notebook(shown) => in_cells(bytes, shown, wanted).map(FileContent::text),
        None => in_encoding(bytes, shown, wanted).map(FileContent::text),
    }
}

/// Says what a file is whose content is not shown.
pub fn not_shown(shown: &str, kind: &str, bytes: u64) -> String {
    let why = if kind.ends_with("image") && bytes > MOST_IMAGE as u64 {
        "; images of more than 5 MB are not shown; make it smaller with a command first"
    } else {
        "; its content is not shown"
    };
    format!("{shown}{NO_TEXT}{kind}, {bytes} bytes{why}")
}

/// Returns an image whose header is sound.
fn image(bytes: &[u8], shown: &str) -> Option<FileContent> {
    let image = look(bytes).ok().filter(|_| bytes.len() <= MOST_IMAGE)?;
    let media_type = image.format.media_type().to_owned();
    let (size, length) = (image.size, bytes.len());
    let text = format!("{shown}{IMAGE}{}x{}, {media_type}, {length} bytes", size.width, size.height);
    let data = STANDARD.encode(bytes);
    Some(FileContent::Parts(vec![ReturnPart::Text { text }, ReturnPart::Image { media_type, data }]))
}

fn is_notebook(shown: &str) -> bool {
    shown.to_ascii_lowercase().ends_with(".ipynb")
}

fn in_cells(bytes: &[u8], shown: &str, wanted: LineRange) -> Result<String, ToolError> {
    let cells = decode(bytes).map(|(text, _)| notebook::text(&text));
    match cells {
        Some(Ok(cells)) => Ok(number_lines(cells.as_bytes(), shown, wanted)?
            + "[these are its cells, not its lines; change its JSON with a command]\n"),
        Some(Err(error)) => Ok(in_encoding(bytes, shown, wanted)?
            + &format!("[not a notebook that can be shown as cells: {error}]\n")),
        None => in_encoding(bytes, shown, wanted),
    }
}

/// Returns lines of a text in its encoding; what is in none is shown as far as it is UTF-8.
fn in_encoding(bytes: &[u8], shown: &str, wanted: LineRange) -> Result<String, ToolError> {
    let Some((text, encoding)) = decode(bytes) else { return number_lines(bytes, shown, wanted) };
    let lines = number_lines(text.as_bytes(), shown, wanted)?;
    Ok(match encoding {
        Encoding::Utf8 => lines,
        other => format!("{lines}[decoded from {}; changes keep it]\n", other.name()),
    })
}

/// Returns the wanted lines with their numbers. Errs if there are none.
pub fn number_lines(bytes: &[u8], shown: &str, wanted: LineRange) -> Result<String, ToolError> {
    let mut lines = Lines::new(wanted);
    lines.feed(bytes);
    lines.finished_text(shown, true)
}
