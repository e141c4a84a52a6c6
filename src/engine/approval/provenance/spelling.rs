//! Normalizes texts for comparison: decodes escapes, folds case, and keeps each character's byte range.
//!
//! Copies differ from their original in line ends, quotes, markup and escapes; none of these may hide a copy.

/// One decoded character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DecodedChar {
    pub c: char,
    /// The range of bytes that encode it.
    pub start: usize,
    pub end: usize,
}

/// Returns the characters of a text, with escapes decoded and case folded.
pub(super) fn decode_chars(text: &str) -> CharDecoder<'_> {
    CharDecoder { text, at: 0, from: 0, folded: None }
}

/// Returns only letters and digits: white space, quotes, markup and invisible characters are left out.
pub(super) fn letters(text: &str) -> impl Iterator<Item = DecodedChar> {
    decode_chars(text).filter(|one| one.c.is_alphanumeric())
}

/// Passes each letter and digit of a text to `give`. Every word of a conversation passes through here for
/// every call, so plain single-byte characters take a fast path.
pub(super) fn each_letter(text: &str, mut give: impl FnMut(char)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match PLAIN[usize::from(*byte)] {
            0 => {
                let mut slow = CharDecoder { text, at, from: at, folded: None };
                let first = slow.next();
                let rest = slow.folded.take().into_iter().flatten();
                at = slow.at.max(at + 1);
                let all = first.into_iter().map(|one| one.c).chain(rest);
                all.filter(|c| c.is_alphanumeric()).for_each(&mut give);
            }
            plain => {
                if plain.is_ascii_alphanumeric() {
                    give(char::from(plain));
                }
                at += 1;
            }
        }
    }
}

/// The meaning of each byte by itself, in lower case; 0 if it needs decoding.
const PLAIN: [u8; 256] = plain();

const fn plain() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 1_u8;
    while byte < 0x80 {
        table[byte as usize] = match byte {
            b'%' | b'&' | b'\\' => 0,
            _ => byte.to_ascii_lowercase(),
        };
        byte += 1;
    }
    table
}

pub(super) struct CharDecoder<'a> {
    text: &'a str,
    at: usize,
    /// The start of the bytes that `folded` was decoded from.
    from: usize,
    /// The remaining characters of one that becomes several when its case is folded.
    folded: Option<CaseFold>,
}

type CaseFold =
    std::iter::FlatMap<std::char::ToUppercase, std::char::ToLowercase, fn(char) -> std::char::ToLowercase>;

impl Iterator for CharDecoder<'_> {
    type Item = DecodedChar;

    fn next(&mut self) -> Option<DecodedChar> {
        let start = self.at;
        if self.folded.is_none()
            && let Some(byte) = self.text.as_bytes().get(start)
            && PLAIN[usize::from(*byte)] != 0
        {
            self.at += 1;
            return Some(DecodedChar { c: char::from(PLAIN[usize::from(*byte)]), start, end: self.at });
        }
        self.slowly()
    }
}

impl CharDecoder<'_> {
    fn slowly(&mut self) -> Option<DecodedChar> {
        if let Some(c) = self.folded.as_mut().and_then(Iterator::next) {
            return Some(DecodedChar { c, start: self.from, end: self.at });
        }
        self.folded = None;
        let bytes = self.text.as_bytes();
        let start = self.at;
        let first = *bytes.get(start)?;
        let (c, length) = match first {
            b'%' => percent(bytes, start).unwrap_or(('%', 1)),
            b'&' => entity(self.text, start).unwrap_or(('&', 1)),
            b'\\' => backslash(bytes, start).unwrap_or(('\\', 1)),
            0..0x80 => (char::from(first), 1),
            0x80.. => {
                let c = self.text.get(start..)?.chars().next()?;
                (c, c.len_utf8())
            }
        };
        self.at += length;
        if c.is_ascii() {
            return Some(DecodedChar { c: c.to_ascii_lowercase(), start, end: self.at });
        }
        // Upper case first: some lower-case letters have two forms and one capital.
        let mut folded: CaseFold = c.to_uppercase().flat_map(char::to_lowercase);
        let c = folded.next().unwrap_or(c);
        (self.from, self.folded) = (start, Some(folded));
        Some(DecodedChar { c, start, end: self.at })
    }
}

/// Decodes `%41`, or several of them if a character needs several bytes.
fn percent(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let byte = |index: usize| -> Option<u8> {
        let escape = bytes.get(at + 3 * index..at + 3 * index + 3)?;
        (escape[0] == b'%').then_some(())?;
        u8::try_from(hex(&escape[1..])?).ok()
    };
    let mut held = [byte(0)?, 0, 0, 0];
    for length in 1..=held.len() {
        if let Ok(text) = std::str::from_utf8(&held[..length]) {
            return Some((text.chars().next()?, 3 * length));
        }
        *held.get_mut(length)? = byte(length)?;
    }
    None
}

/// Decodes `&amp;`, `&#38;`, `&#x26;`.
fn entity(text: &str, at: usize) -> Option<(char, usize)> {
    /// Maximum bytes of an entity.
    const LONGEST: usize = 10;
    let bytes = text.as_bytes().get(at..)?;
    let end = bytes.iter().take(LONGEST).position(|byte| *byte == b';')?;
    let name = bytes.get(1..end)?;
    let c = match name {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        b"nbsp" => ' ',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(hex(digits)?)?,
        [b'#', digits @ ..] => char::from_u32(std::str::from_utf8(digits).ok()?.parse().ok()?)?,
        _ => return None,
    };
    Some((c, end + 1))
}

/// Decodes `\n` as programs write a line end, and `\u00e9`.
fn backslash(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    match bytes.get(at + 1)? {
        b'n' | b'r' | b't' => Some((' ', 2)),
        b'u' => Some((char::from_u32(hex(bytes.get(at + 2..at + 6)?)?)?, 6)),
        _ => None,
    }
}

fn hex(digits: &[u8]) -> Option<u32> {
    let read = |sum: u32, digit: &u8| Some(sum.checked_mul(16)? + char::from(*digit).to_digit(16)?);
    (!digits.is_empty()).then_some(())?;
    digits.iter().try_fold(0, read)
}
