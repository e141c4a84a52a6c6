//! Distinguishes text from binary data by the first bytes of a file. Pure.

/// Kinds that are read after all.
pub const PDF: &str = "a PDF document";
pub const UTF_16: &str = "UTF-16 text";

/// Signatures of common formats.
const SIGNATURES: [(&[u8], &str); 14] = [
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF file (WebP, WAV or AVI)"),
    (b"%PDF-", PDF),
    (b"PK\x03\x04", "a ZIP archive (or an office document, or a JAR)"),
    (b"\x1f\x8b", "gzip data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"BZh", "bzip2 data"),
    (b"\x7fELF", "an ELF program or library"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
];

/// The number of bytes to search for a NUL byte.
const PROBE: usize = 8192;

/// Returns the kind of a file that begins with these bytes, or `None` if it is text.
pub fn binary(start: &[u8]) -> Option<&'static str> {
    let known = SIGNATURES.iter().find(|(signature, _)| start.starts_with(signature));
    // A text may begin with the letters of a signature; only a byte that no text contains proves binary data.
    let probe = start.get(..PROBE).unwrap_or(start);
    let is_binary = probe.contains(&0) || std::str::from_utf8(probe).is_err_and(|e| e.error_len().is_some());
    match known {
        Some((_, name)) if is_binary => Some(name),
        Some(_) | None if probe.contains(&0) => Some("binary data"),
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_binary_are_told_apart() {
        let cases: [(&[u8], Option<&str>); 9] = [
            (b"", None),
            (b"plain\n", None),
            (b"GIF8 is how a GIF begins", None),
            (b"%PDF- in a text", None),
            (b"caf\xe9 in Latin-1", None),
            ("grün".as_bytes(), None),
            (b"\x89PNG\r\n\x1a\n\x00\x00", Some("a PNG image")),
            (b"\xff\xfeh\x00i\x00", Some("UTF-16 text")),
            (b"a\x00b", Some("binary data")),
        ];
        for (bytes, expected) in cases {
            assert_eq!(binary(bytes), expected, "{bytes:?}");
        }
    }
}
