//! The result of a server's tool, as a return for the model.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::names::line;
use crate::message::ReturnPart;

/// The kinds of images that models take.
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The most base64 characters of an image.
const LARGEST_IMAGE: usize = 7 << 20;

/// Returns the text and the images of a result. What cannot be shown to a model is named.
pub fn parts(result: &CallToolResult) -> (String, Vec<ReturnPart>) {
    match (&result.content[..], &result.structured_content) {
        ([], Some(value)) => (serde_json::to_string_pretty(value).unwrap_or_default(), Vec::new()),
        (content, _) => self::content(content),
    }
}

/// Returns the text and the images of some content.
pub fn content(blocks: &[ContentBlock]) -> (String, Vec<ReturnPart>) {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            ContentBlock::Text(text) => texts.push(text.text.clone()),
            ContentBlock::Image(image) => match self::image(&image.mime_type, &image.data) {
                Some(image) => images.push(image),
                None => texts.push(not_shown("an image", &image.mime_type, &image.data)),
            },
            ContentBlock::Audio(audio) => texts.push(not_shown("a sound", &audio.mime_type, &audio.data)),
            ContentBlock::Resource(embedded) => {
                let (text, image) = resource(&embedded.resource);
                texts.push(text);
                images.extend(image);
            }
            ContentBlock::ResourceLink(link) => {
                texts.push(format!("[a resource: {} ({})]", line(&link.uri), line(&link.name)));
            }
            _ => texts.push("[content of an unknown kind]".to_owned()),
        }
    }
    if texts.is_empty() && images.is_empty() {
        texts.push("[no output]".to_owned());
    }
    (texts.join("\n"), images)
}

/// Returns a resource as a text that names it, and as an image if it is one.
pub fn resource(contents: &ResourceContents) -> (String, Option<ReturnPart>) {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            (format!("[{}]\n{text}", line(uri)), None)
        }
        ResourceContents::BlobResourceContents { uri, blob, mime_type, .. } => {
            let (uri, kind) = (line(uri), mime_type.as_deref().unwrap_or_default());
            match image(kind, blob) {
                Some(image) => (format!("[{uri}]"), Some(image)),
                None => (format!("[{uri}: {} bytes that are not text]", blob.len() / 4 * 3), None),
            }
        }
        _ => ("[a resource of an unknown kind]".to_owned(), None),
    }
}

fn image(media_type: &str, data: &str) -> Option<ReturnPart> {
    let is_shown = IMAGES.contains(&media_type) && data.len() <= LARGEST_IMAGE;
    is_shown.then(|| ReturnPart::Image { media_type: media_type.to_owned(), data: data.to_owned() })
}

fn not_shown(what: &str, media_type: &str, data: &str) -> String {
    format!("[{what} that cannot be given to you: {}, {} bytes]", line(media_type), data.len() / 4 * 3)
}
