//! The result of a server's tool, as a return for the model.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::names::line;
use crate::message::ReturnPart;

/// The kinds of images that models take.
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The most base64 characters of an image.
const LARGEST_IMAGE: usize = 7 << 20;

/// The text and the images of a result. What cannot be shown to a model is named.
pub fn parts(result: &CallToolResult) -> (String, Vec<ReturnPart>) {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for block in &result.content {
        match block {
            ContentBlock::Text(text) => texts.push(text.text.clone()),
            ContentBlock::Image(image)
                if IMAGES.contains(&image.mime_type.as_str()) && image.data.len() <= LARGEST_IMAGE =>
            {
                images.push(ReturnPart::Image {
                    media_type: image.mime_type.clone(),
                    data: image.data.clone(),
                });
            }
            ContentBlock::Image(image) => texts.push(format!(
                "[an image that cannot be shown: {}, {} bytes]",
                line(&image.mime_type),
                image.data.len() / 4 * 3
            )),
            ContentBlock::Audio(audio) => texts.push(format!(
                "[sound that cannot be heard: {}, {} bytes]",
                line(&audio.mime_type),
                audio.data.len() / 4 * 3
            )),
            ContentBlock::Resource(embedded) => texts.push(match &embedded.resource {
                ResourceContents::TextResourceContents { uri, text, .. } => {
                    format!("[{}]\n{text}", line(uri))
                }
                ResourceContents::BlobResourceContents { uri, blob, .. } => {
                    format!("[{}: {} bytes that are not text]", line(uri), blob.len() / 4 * 3)
                }
                _ => "[a resource of an unknown kind]".to_owned(),
            }),
            ContentBlock::ResourceLink(link) => {
                texts.push(format!("[a resource: {} ({})]", line(&link.uri), line(&link.name)));
            }
            _ => texts.push("[content of an unknown kind]".to_owned()),
        }
    }
    if let (true, Some(value)) = (texts.is_empty(), &result.structured_content) {
        texts.push(serde_json::to_string_pretty(value).unwrap_or_default());
    }
    if texts.is_empty() && images.is_empty() {
        texts.push("[no output]".to_owned());
    }
    (texts.join("\n"), images)
}
