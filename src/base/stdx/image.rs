//! Detection of an image's format and size from its header, never from a file name.
//!
//! Pure. It knows the four formats that models accept and decodes no pixels. Called by code that attaches
//! images and by code that displays their presence. `imagesize` in its place fails the tests below: it accepts broken headers
//! and misreads sound ones.

/// An image format that models accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl Format {
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }

    /// Returns the usual file name extension.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Gif => "gif",
            Self::WebP => "webp",
        }
    }
}

/// The format and size stated by an image's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Image {
    pub format: Format,
    pub size: Size,
}

/// Width and height in pixels, both above 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub width: u32,
    pub height: u32,
}

/// Why bytes are not a usable image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// They do not begin like any of the four formats.
    Other,
    /// They begin like one of them, but the header is truncated or invalid.
    Broken,
}

/// Reads the header. The bytes may be only a part of the image; [`Fault::Broken`] may then mean too few.
pub fn look(bytes: &[u8]) -> Result<Image, Fault> {
    let format = format(bytes).ok_or(Fault::Other)?;
    let size = match format {
        Format::Png => png(bytes),
        Format::Jpeg => jpeg(bytes),
        Format::Gif => gif(bytes),
        Format::WebP => webp(bytes),
    };
    let size = size.filter(|size| size.width > 0 && size.height > 0).ok_or(Fault::Broken)?;
    Ok(Image { format, size })
}

fn format(bytes: &[u8]) -> Option<Format> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some(Format::Png);
    }
    if bytes.starts_with(b"\xff\xd8\xff") {
        return Some(Format::Jpeg);
    }
    if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        return Some(Format::Gif);
    }
    let riff = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    riff.then_some(Format::WebP)
}

/// Reads the size of a PNG, whose header chunk must come first.
fn png(bytes: &[u8]) -> Option<Size> {
    if bytes.get(12..16)? != b"IHDR" {
        return None;
    }
    Some(Size { width: be32(bytes, 16)?, height: be32(bytes, 20)? })
}

fn gif(bytes: &[u8]) -> Option<Size> {
    Some(Size { width: le16(bytes, 6)?, height: le16(bytes, 8)? })
}

/// Reads the size of a WebP, whose first chunk is lossy, lossless or extended.
fn webp(bytes: &[u8]) -> Option<Size> {
    match bytes.get(12..16)? {
        b"VP8 " => {
            let key_frame = bytes.get(23..26)? == b"\x9d\x01\x2a";
            // The upper two bits are a display scale.
            let size = Size { width: le16(bytes, 26)? & 0x3fff, height: le16(bytes, 28)? & 0x3fff };
            key_frame.then_some(size)
        }
        b"VP8L" => {
            let bits = le16(bytes, 21)? | le16(bytes, 23)? << 16;
            let size = Size { width: (bits & 0x3fff) + 1, height: (bits >> 14 & 0x3fff) + 1 };
            (bytes.get(20)? == &0x2f).then_some(size)
        }
        b"VP8X" => Some(Size { width: le24(bytes, 24)? + 1, height: le24(bytes, 27)? + 1 }),
        _ => None,
    }
}

/// Skips segments up to the frame header.
fn jpeg(bytes: &[u8]) -> Option<Size> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        match marker {
            // A fill byte.
            0xff => at += 1,
            // Markers without a length.
            0x01 | 0xd0..=0xd7 => at += 2,
            // Segments that define codes and coding tables, not frames.
            0xc4 | 0xc8 | 0xcc => at += 2 + length(bytes, at)?,
            0xc0..=0xcf => {
                return Some(Size { width: be16(bytes, at + 7)?, height: be16(bytes, at + 5)? });
            }
            // Pixel data or the end of the image before any frame.
            0xd8..=0xda => return None,
            _ => at += 2 + length(bytes, at)?,
        }
    }
}

/// Returns the length of the segment whose marker is at `at`, including its own two length bytes.
fn length(bytes: &[u8], at: usize) -> Option<usize> {
    let length = usize::try_from(be16(bytes, at + 2)?).ok()?;
    (length >= 2).then_some(length)
}

fn four(bytes: &[u8], at: usize) -> Option<[u8; 4]> {
    bytes.get(at..at + 4)?.try_into().ok()
}

fn two(bytes: &[u8], at: usize) -> Option<[u8; 2]> {
    bytes.get(at..at + 2)?.try_into().ok()
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    four(bytes, at).map(u32::from_be_bytes)
}

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    two(bytes, at).map(|two| u16::from_be_bytes(two).into())
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    two(bytes, at).map(|two| u16::from_le_bytes(two).into())
}

fn le24(bytes: &[u8], at: usize) -> Option<u32> {
    Some(le16(bytes, at)? | u32::from(*bytes.get(at + 2)?) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x03\x20\x08\x06\0\0\0";
    const JPEG: &[u8] =
        b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x03x\xff\x01\xff\xc2\0\x0b\x08\x03\x20\x05\0\x03";
    const GIF: &[u8] = b"GIF89a\0\x05\x20\x03\xf7\0\0";
    const LOSSY: &[u8] = b"RIFF\x1a\0\0\0WEBPVP8 \x0e\0\0\0\x30\x01\0\x9d\x01\x2a\0\x45\x20\x43";
    const LOSSLESS: &[u8] = b"RIFF\x1a\0\0\0WEBPVP8L\x0e\0\0\0\x2f\xff\xc4\xc7\x10";
    const EXTENDED: &[u8] = b"RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\xff\x04\0\x1f\x03\0";

    #[test]
    fn headers_say_what_they_are_of_and_how_large() {
        let size = Size { width: 1280, height: 800 };
        let all = [
            (PNG, Format::Png),
            (JPEG, Format::Jpeg),
            (GIF, Format::Gif),
            (LOSSY, Format::WebP),
            (LOSSLESS, Format::WebP),
            (EXTENDED, Format::WebP),
        ];
        for (bytes, format) in all {
            assert_eq!(look(bytes), Ok(Image { format, size }), "{format:?}");
        }
    }

    #[test]
    fn a_header_cut_anywhere_is_told_from_a_whole_one() {
        for bytes in [PNG, JPEG, GIF, LOSSY, LOSSLESS, EXTENDED] {
            let whole = look(bytes).unwrap();
            for end in 0..bytes.len() {
                match look(&bytes[..end]) {
                    Ok(image) => assert_eq!(image, whole, "{end} of {bytes:?}"),
                    Err(Fault::Broken | Fault::Other) => {}
                }
            }
            assert_eq!(look(&bytes[..16.min(bytes.len() - 4)]).map(|_| ()), Err(Fault::Broken), "{bytes:?}");
        }
    }

    #[test]
    fn what_only_looks_like_a_picture_is_none() {
        let cases: &[(&[u8], Fault)] = &[
            (b"", Fault::Other),
            (b"# a text called x.png", Fault::Other),
            (b"<svg xmlns=", Fault::Other),
            (b"BM\x36\0\0\0", Fault::Other),
            (b"GIF88a\0\x05\x20\x03", Fault::Other),
            (b"RIFF\x1a\0\0\0WAVEfmt ", Fault::Other),
            // No width.
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\x03\x20", Fault::Broken),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIDAT\0\0\x05\0\0\0\x03\x20", Fault::Broken),
            // Segments of zero length would loop forever.
            (b"\xff\xd8\xff\xe0\0\0\xff\xe0\0\0", Fault::Broken),
            (b"\xff\xd8\xff\xda\0\x04ab", Fault::Broken),
            (b"\xff\xd8\xff\xe0\0\x04abXX", Fault::Broken),
            (b"RIFF\x1a\0\0\0WEBPALPH\0\0\0\0", Fault::Broken),
            (b"RIFF\x1a\0\0\0WEBPVP8L\x0e\0\0\0\x2e\xff\xc4\xc7\x10", Fault::Broken),
        ];
        for (bytes, fault) in cases {
            assert_eq!(look(bytes), Err(*fault), "{bytes:?}");
        }
    }
}
