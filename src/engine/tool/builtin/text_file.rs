//! How a file keeps its text: its encoding and its line ends, which a change must leave as they are. Pure.
//!
//! Only what can be written back to the byte is decoded: a file whose encoding is not certain has no text here.

use std::borrow::Cow;

use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};

/// An encoding that files keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    /// With a byte order mark.
    Utf8Bom,
    /// With a byte order mark.
    Utf16Le,
    /// With a byte order mark.
    Utf16Be,
    /// Also Latin-1, whose texts are the same in it.
    Windows1252,
}

/// A new text has a character that its file's encoding lacks.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is in {}, which has no `{}`; leave that character out, or convert the file to UTF-8 with a command first",
    encoding.name(), character.escape_default()
)]
pub struct NotEncodable {
    encoding: Encoding,
    character: char,
}

impl Encoding {
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with a byte order mark",
            Self::Utf16Le => "UTF-16 LE",
            Self::Utf16Be => "UTF-16 BE",
            Self::Windows1252 => "Windows-1252",
        }
    }

    /// Returns a new text without the mark, which is the file's.
    pub fn without_mark(self, text: &str) -> &str {
        text.strip_prefix('\u{feff}').filter(|_| !self.mark().is_empty()).unwrap_or(text)
    }

    /// Returns the bytes at the start of the file.
    fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8Bom => b"\xef\xbb\xbf",
            Self::Utf16Le => b"\xff\xfe",
            Self::Utf16Be => b"\xfe\xff",
            Self::Utf8 | Self::Windows1252 => b"",
        }
    }

    /// Returns the bytes of a whole file with this text.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, NotEncodable> {
        let mut bytes = self.mark().to_vec();
        match self {
            Self::Utf8 | Self::Utf8Bom => bytes.extend(text.as_bytes()),
            Self::Utf16Le => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            Self::Utf16Be => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
            Self::Windows1252 => {
                let is_missing = |c: &char| WINDOWS_1252.encode(c.encode_utf8(&mut [0; 4])).2;
                if let Some(character) = text.chars().filter(|c| !c.is_ascii()).find(is_missing) {
                    return Err(NotEncodable { encoding: self, character });
                }
                bytes.extend(WINDOWS_1252.encode(text).0.iter());
            }
        }
        Ok(bytes)
    }
}

/// Returns the text of a whole file, without its mark, and its encoding; `None` if it is not certain.
pub fn decode(bytes: &[u8]) -> Option<(Cow<'_, str>, Encoding)> {
    let marked = [Encoding::Utf8Bom, Encoding::Utf16Le, Encoding::Utf16Be];
    let mark = marked.into_iter().find_map(|one| Some((one, bytes.strip_prefix(one.mark())?)));
    let (encoding, text) = match mark {
        Some((Encoding::Utf16Le, rest)) => (Encoding::Utf16Le, utf16(rest, UTF_16LE)?),
        Some((Encoding::Utf16Be, rest)) => (Encoding::Utf16Be, utf16(rest, UTF_16BE)?),
        Some((_, rest)) => (Encoding::Utf8Bom, Cow::Borrowed(str::from_utf8(rest).ok()?)),
        None => match str::from_utf8(bytes) {
            Ok(text) => (Encoding::Utf8, Cow::Borrowed(text)),
            Err(_) if may_be_windows_1252(bytes) => {
                (Encoding::Windows1252, WINDOWS_1252.decode_without_bom_handling(bytes).0)
            }
            Err(_) => return None,
        },
    };
    Some((text, encoding))
}

/// A NUL is in no text: there it would be data, or UTF-32.
fn utf16<'a>(bytes: &'a [u8], encoding: &'static encoding_rs::Encoding) -> Option<Cow<'a, str>> {
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    (!text.contains('\0')).then_some(text)
}

/// Whether bytes that are not UTF-8 are a text of one byte a character: without control characters, and without any
/// character that is UTF-8, which would show a damaged UTF-8 text.
fn may_be_windows_1252(bytes: &[u8]) -> bool {
    let is_control =
        |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | b'\x0c' | b'\x1b');
    !bytes.iter().any(is_control) && bytes.utf8_chunks().all(|chunk| chunk.valid().is_ascii())
}

/// Returns `piece` with the line ends of `text`, since models write LF regardless of what they read.
pub fn with_ends_of<'a>(text: &str, piece: &'a str) -> Cow<'a, str> {
    if is_crlf(text) && !piece.contains('\r') {
        Cow::Owned(piece.replace('\n', "\r\n"))
    } else {
        Cow::Borrowed(piece)
    }
}

/// Whether all lines end in CR LF.
fn is_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && ends == text.matches("\r\n").count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn encodings_are_told_apart_or_refused() {
        use Encoding::{Utf8, Utf8Bom, Utf16Be, Utf16Le, Windows1252};
        type Case<'a> = (&'a [u8], Option<(&'a str, Encoding)>);
        let cases: &[Case<'_>] = &[
            (b"", Some(("", Utf8))),
            ("grün".as_bytes(), Some(("grün", Utf8))),
            (b"\xef\xbb\xbfa", Some(("a", Utf8Bom))),
            (b"\xef\xbb\xbfa\xff", None),
            (b"\xff\xfea\0\xe9\0", Some(("aé", Utf16Le))),
            (b"\xfe\xff\0a\0\xe9", Some(("aé", Utf16Be))),
            (b"\xff\xfe=\xd8\0\xde", Some(("😀", Utf16Le))),
            (b"\xff\xfea", None),
            (b"\xff\xfe\0\xd8a\0", None),
            (b"\xff\xfe\0\0a\0\0\0", None),
            (b"caf\xe9 \x80\x81", Some(("café €\u{81}", Windows1252))),
            (b"caf\xe9 \xc3\xa9", None),
            (b"caf\xe9\0", None),
            (b"\x01caf\xe9", None),
        ];
        for (bytes, expected) in cases {
            let found = decode(bytes);
            let found = found.as_ref().map(|(text, encoding)| (text.as_ref(), *encoding));
            assert_eq!(found, *expected, "{bytes:?}");
        }
        let refused = Windows1252.encode("é и").unwrap_err().to_string();
        assert!(refused.starts_with("it is in Windows-1252, which has no `\\u{438}`; "), "{refused}");
        for (encoding, expected) in [(Utf16Le, "a"), (Utf8, "\u{feff}a")] {
            assert_eq!(encoding.without_mark("\u{feff}a"), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_decoded_is_written_back_to_the_byte(bytes in proptest::collection::vec(any::<u8>(), 0..40), text in any::<String>(), mark in 0usize..4) {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let all: [&[u8]; 4] = [&bytes, text.as_bytes(), &[b"\xff\xfe", &*units].concat(), &[b"\xef\xbb\xbf", text.as_bytes()].concat()];
            if let Some((text, encoding)) = decode(all[mark]) {
                prop_assert_eq!(encoding.encode(&text).unwrap(), all[mark]);
            }
        }
    }
}
