//! Images in prompts: how a text mentions them, and the text shown in their place.
//!
//! An image is a separate part after the text that mentions it as `@path`; the text is kept as typed, so that
//! it can be searched, recalled and sent again. Pure; reads no file. Called by code that attaches images and
//! by every front end.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Message, MessagePiece, ReturnPart, UserPart};
use crate::stdx::image::{Fault, Size, look};

/// Characters that end a sentence rather than a file name.
const ENDS: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"'];

/// Extensions that indicate an image.
const ENDINGS: &[&str] = &["png", "jpg", "jpeg", "gif", "webp"];

/// Numbers of base64 bytes to decode for a header: most headers fit in the first, nearly all in the second.
const HEADS: [usize; 2] = [4 * 1024, 256 * 1024];

/// A file mentioned in a text: `@path`, or `@"path"` if it contains spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The byte range in the searched text, including the mark.
    pub at: Range<usize>,
    pub path: String,
}

impl Mention {
    /// Whether the path's extension indicates an image; only the file's bytes determine what it is.
    pub fn promises_image(&self) -> bool {
        let ending = self.path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        ending.is_some_and(|ending| ENDINGS.contains(&&*ending))
    }

    /// Returns the last part of the path.
    pub fn name(&self) -> &str {
        let path = self.path.trim_end_matches('/');
        path.rsplit_once('/').map_or(path, |(_, name)| name)
    }
}

/// Formats a path as a mention; `None` if it cannot be written as one.
pub fn mention(path: &str) -> Option<String> {
    let plain = !path.is_empty() && !path.contains(|c: char| c == '"' || c.is_control());
    plain.then(|| format!("@\"{path}\""))
}

/// Returns the files mentioned in a text, in order. An `@` within a word (an address) is no mention, unless a
/// quote follows it.
pub fn mentions(text: &str) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    for (at, _) in text.match_indices('@') {
        let (before, behind) = text.split_at(at);
        if found.last().is_some_and(|last| at < last.at.end) {
            continue;
        }
        let starts = before.chars().next_back().is_none_or(|c| c.is_whitespace() || "([{".contains(c));
        if let Some((path, length)) = mention_path(behind, starts) {
            found.push(Mention { at: at..at + length, path: path.to_owned() });
        }
    }
    found
}

/// Returns the path of a text that begins with `@`, and the length of the mention in bytes.
fn mention_path(text: &str, starts_a_word: bool) -> Option<(&str, usize)> {
    let word = text.strip_prefix('@')?;
    let (path, marks) = match word.strip_prefix('"') {
        Some(quoted) => {
            let (path, _) = quoted.split_once('"')?;
            (path, 3)
        }
        None if starts_a_word => {
            let word = word.split(char::is_whitespace).next().unwrap_or_default();
            (word.trim_end_matches(ENDS), 1)
        }
        None => return None,
    };
    let sound = !path.is_empty() && !path.contains('\n');
    sound.then_some((path, path.len() + marks))
}

/// Formats a label, `[image 1 · 1280×800 · x.png]`, omitting what is not known.
pub fn label(number: usize, size: Option<Size>, name: Option<&str>) -> String {
    let size = size.map(|size| format!(" · {}×{}", size.width, size.height)).unwrap_or_default();
    let name = name.map(|name| format!(" · {name}")).unwrap_or_default();
    format!("[image {number}{size}{name}]")
}

/// Returns the size of an image from its base64 data.
pub fn size_of(data: &str) -> Option<Size> {
    for bytes in HEADS.into_iter().chain([data.len()]) {
        let bytes = bytes.min(data.len());
        let whole = bytes == data.len();
        let head = data.get(..if whole { bytes } else { bytes / 4 * 4 })?;
        match look(&STANDARD.decode(head).ok()?) {
            Ok(image) => return Some(image.size),
            Err(Fault::Other) => return None,
            Err(Fault::Broken) if whole => return None,
            Err(Fault::Broken) => {}
        }
    }
    None
}

/// The known properties of one image of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptImage {
    pub size: Option<Size>,
    /// The file's name, if the text gives it.
    pub name: Option<String>,
}

/// Returns the images of a prompt, in order.
pub fn prompt_images(parts: &[UserPart]) -> Vec<PromptImage> {
    let text = typed_text(parts);
    let mut names = pointed_at(&text, count(parts)).into_iter().map(|one| one.name().to_owned());
    let picture = |part: &UserPart| match part {
        UserPart::Image { data, .. } => Some(PromptImage { size: size_of(data), name: names.next() }),
        UserPart::Text { .. } | UserPart::Note { .. } => None,
    };
    parts.iter().filter_map(picture).collect()
}

/// Returns the user's text with a label in place of each image's mention; other labels are appended.
pub fn labelled_text(parts: &[UserPart]) -> String {
    let pictures = prompt_images(parts);
    let label = |at: usize| {
        let one = pictures.get(at);
        label(at + 1, one.and_then(|one| one.size), one.and_then(|one| one.name.as_deref()))
    };
    replace_mentions(&typed_text(parts), pictures.len(), "\n", label)
}

/// Like [`labelled_text`], with `[image]` for each image, for use where space is short.
pub fn in_short(parts: &[UserPart]) -> String {
    replace_mentions(&typed_text(parts), count(parts), " ", |_| "[image]".to_owned())
}

/// Returns the user's own text, as typed.
pub fn typed_text(parts: &[UserPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        UserPart::Text { text } => Some(text.as_str()),
        UserPart::Image { .. } | UserPart::Note { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns a message's prompt without the notes that were delivered with it; `None` if it has none.
pub fn prompt_parts(parts: &[UserPart]) -> Option<Vec<UserPart>> {
    let own = parts.iter().filter(|part| !matches!(part, UserPart::Note { .. }));
    let own: Vec<UserPart> = own.cloned().collect();
    (!own.is_empty()).then_some(own)
}

pub fn count(parts: &[UserPart]) -> usize {
    parts.iter().filter(|part| matches!(part, UserPart::Image { .. })).count()
}

/// Returns the message with each image replaced by a note that it is missing; `None` without images.
pub fn left_out(message: &Message) -> Option<Message> {
    without(message, "[an image was left out here: this model sees none]", || true)
}

/// Returns the message with `words` in place of each image for which `drops` is true, which is asked in order;
/// `None` without images.
pub fn without(message: &Message, words: &str, mut drops: impl FnMut() -> bool) -> Option<Message> {
    message.pieces().find(|piece| matches!(piece, MessagePiece::Image(_)))?;
    let mut message = message.clone();
    match &mut message {
        Message::User { parts } => {
            for part in parts.iter_mut().filter(|part| matches!(part, UserPart::Image { .. }) && drops()) {
                *part = UserPart::Text { text: words.to_owned() };
            }
        }
        Message::ToolReturns { returns } => {
            let content = returns.iter_mut().flat_map(|returned| &mut returned.content);
            for part in content.filter(|part| matches!(part, ReturnPart::Image { .. }) && drops()) {
                *part = ReturnPart::Text { text: words.to_owned() };
            }
        }
        Message::Assistant(_) => {}
    }
    Some(message)
}

/// Returns the mentions that correspond to the images: those with an image extension if their number matches,
/// else all mentions if theirs does, else none. Each file counts once, as it is attached once.
fn pointed_at(text: &str, images: usize) -> Vec<Mention> {
    let mut all: Vec<Mention> = Vec::new();
    for mention in mentions(text) {
        if all.iter().all(|known| known.path != mention.path) {
            all.push(mention);
        }
    }
    let promising: Vec<Mention> = all.iter().filter(|one| one.promises_image()).cloned().collect();
    [promising, all].into_iter().find(|found| found.len() == images).unwrap_or_default()
}

fn replace_mentions(text: &str, images: usize, gap: &str, label: impl Fn(usize) -> String) -> String {
    let known = pointed_at(text, images);
    let mut out = String::new();
    let mut from = 0;
    for mention in mentions(text) {
        if let Some(at) = known.iter().position(|one| one.path == mention.path) {
            out.push_str(text.get(from..mention.at.start).unwrap_or_default());
            out.push_str(&label(at));
            from = mention.at.end;
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
    for at in known.len()..images {
        if !out.is_empty() {
            out.push_str(gap);
        }
        out.push_str(&label(at));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PNG header with this size in pixels.
    fn png(width: u32, height: u32) -> UserPart {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        UserPart::Image { media_type: "image/png".into(), data: STANDARD.encode(bytes) }
    }

    fn said(text: &str, images: impl IntoIterator<Item = UserPart>) -> Vec<UserPart> {
        [UserPart::Text { text: text.into() }].into_iter().chain(images).collect()
    }

    #[test]
    fn files_are_named_by_a_mark() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("", &[]),
            ("no file", &[]),
            ("see @x.png", &[("@x.png", "x.png")]),
            ("@x.png, @b/y.jpg?", &[("@x.png", "x.png"), ("@b/y.jpg", "b/y.jpg")]),
            ("(@x.png)", &[("@x.png", "x.png")]),
            ("a\n@~/x.png\nb", &[("@~/x.png", "~/x.png")]),
            ("dana@north.png", &[]),
            ("@ x", &[]),
            ("@", &[]),
            ("@\"my x.png\"and", &[("@\"my x.png\"", "my x.png")]),
            ("see@\"/a b.png\"", &[("@\"/a b.png\"", "/a b.png")]),
            ("@\"open", &[]),
            ("@\"a\nb\"", &[]),
            ("@\"a@b.png\" @c", &[("@\"a@b.png\"", "a@b.png"), ("@c", "c")]),
            ("ü @ä.png ß", &[("@ä.png", "ä.png")]),
        ];
        for (text, expected) in cases {
            let found = mentions(text);
            let found: Vec<(&str, &str)> =
                found.iter().map(|one| (text.get(one.at.clone()).unwrap(), &*one.path)).collect();
            assert_eq!(&found, expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_written_for_a_path_names_it() {
        for path in ["x.png", "/a/b c.png", "~/ü.png", "a@b"] {
            let written = mention(path).unwrap();
            assert_eq!(mentions(&format!("see{written}x"))[0].path, path);
        }
        for path in ["", "a\"b", "a\nb"] {
            assert_eq!(mention(path), None, "{path:?}");
        }
    }

    #[test]
    fn labels_stand_where_images_are_named() {
        let one = || png(1280, 800);
        let cases = [
            (said("hi", []), "hi", "hi"),
            (said("see @d/x.png!", [one()]), "see [image 1 · 1280×800 · x.png]!", "see [image]!"),
            (
                said("@a.png and @main.rs, @b.gif", [one(), png(1, 2)]),
                "[image 1 · 1280×800 · a.png] and @main.rs, [image 2 · 1×2 · b.gif]",
                "[image] and @main.rs, [image]",
            ),
            // The same file mentioned twice is one image.
            (
                said("@a.png @a.png", [one()]),
                "[image 1 · 1280×800 · a.png] [image 1 · 1280×800 · a.png]",
                "[image] [image]",
            ),
            // The extension does not indicate an image, but there is no other candidate.
            (said("see @shot", [one()]), "see [image 1 · 1280×800 · shot]", "see [image]"),
            // It is unknown which image the mention refers to.
            (
                said("see @a.png", [one(), png(1, 2)]),
                "see @a.png\n[image 1 · 1280×800]\n[image 2 · 1×2]",
                "see @a.png [image] [image]",
            ),
            (vec![one()], "[image 1 · 1280×800]", "[image]"),
            (
                said("@a.png", [UserPart::Image { media_type: "image/png".into(), data: "QUJD".into() }]),
                "[image 1 · a.png]",
                "[image]",
            ),
        ];
        for (parts, long, short) in cases {
            assert_eq!(labelled_text(&parts), long);
            assert_eq!(in_short(&parts), short);
        }
    }

    #[test]
    fn images_that_a_model_does_not_see_are_said_to_be_missing() {
        let message = Message::User { parts: said("see @a.png", [png(1, 1)]) };
        let Some(Message::User { parts }) = left_out(&message) else { panic!("there was an image") };
        assert_eq!((count(&parts), parts.len()), (0, 2));
        assert_eq!(typed_text(&parts), "see @a.png\n[an image was left out here: this model sees none]");
        assert_eq!(left_out(&Message::user("hi")), None);
        let content = vec![ReturnPart::Image { media_type: "image/png".into(), data: "QUJD".into() }];
        let call = crate::message::CallId("s/1.1.1".into());
        let mut returned = crate::message::ToolReturn::program(call, crate::message::ReturnStatus::Ok, "");
        returned.content = content;
        let Some(Message::ToolReturns { returns }) =
            left_out(&Message::ToolReturns { returns: vec![returned] })
        else {
            panic!("there was an image")
        };
        assert!(returns[0].text().contains("left out"));
    }

    #[test]
    fn a_header_far_from_the_start_is_found() {
        let mut jpeg = b"\xff\xd8".to_vec();
        for _ in 0..9 {
            jpeg.extend(b"\xff\xe1\xff\xff");
            jpeg.extend(vec![0; 0xfffd]);
        }
        jpeg.extend(b"\xff\xc0\0\x0b\x08\x03\x20\x05\0\x03\0\0\0");
        assert_eq!(size_of(&STANDARD.encode(&jpeg)), Some(Size { width: 1280, height: 800 }));
        assert_eq!(size_of(&STANDARD.encode(&jpeg[..300_000])), None);
        assert_eq!(size_of("no base64 ß"), None);
    }
}
