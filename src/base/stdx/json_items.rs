//! Splitter for a sequence of JSON values: takes bytes split at any position, returns values, does no I/O.
//!
//! It treats lines of JSON (NDJSON) and the items of one long array alike: it returns each complete object
//! and skips the separators (white space, commas, the array's brackets). The codecs interpret the items. It
//! holds the bytes of at most one unfinished item and examines each byte once.

use memchr::memchr2;

/// Splits a body into its items: call [`feed`](Self::feed) with received bytes, then take all items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonItems {
    bytes: Vec<u8>,
    /// The index at which the next item begins; bytes before it were already taken.
    start: usize,
    /// The number of bytes already examined.
    seen: usize,
    /// The number of open objects and arrays inside the item.
    depth: usize,
    text: Text,
    limit: usize,
}

/// The state of the reader with regard to strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Outside,
    Inside,
    Escaped,
}

/// Why a body cannot be read any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    #[error("the server sent one item of more than {limit} bytes")]
    TooLong { limit: usize },
    #[error("the server sent invalid JSON")]
    Foreign,
}

impl Default for JsonItems {
    fn default() -> Self {
        Self::with_limit(crate::stdx::sse::DEFAULT_LIMIT)
    }
}

impl JsonItems {
    /// Returns a reader that fails on an item of more than `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, seen: 0, depth: 0, text: Text::Outside, limit }
    }

    /// Takes the next bytes of the body. They may end anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the number of bytes held.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Whether an item has begun and not ended.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.depth > 0
    }

    /// Returns the next complete item, or `None` until more bytes are fed.
    pub fn next_item(&mut self) -> Result<Option<Vec<u8>>, ItemError> {
        if self.depth == 0 {
            self.skip_between()?;
        }
        while let Some(byte) = self.next_byte() {
            if self.look_at(byte) {
                let item = self.bytes.get(self.start..self.seen).unwrap_or_default().to_vec();
                self.start = self.seen;
                return Ok(Some(item));
            }
        }
        // Taken bytes are removed once for all items that arrived together.
        self.bytes.drain(..self.start);
        self.seen -= self.start;
        self.start = 0;
        if self.bytes.len() > self.limit {
            return Err(ItemError::TooLong { limit: self.limit });
        }
        Ok(None)
    }

    /// Returns the next byte that can affect where the item ends.
    fn next_byte(&mut self) -> Option<u8> {
        if self.text == Text::Inside {
            let rest = self.bytes.get(self.seen..)?;
            self.seen += memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        }
        let byte = self.bytes.get(self.seen).copied()?;
        self.seen += 1;
        Some(byte)
    }

    /// Skips the separators before the next item.
    fn skip_between(&mut self) -> Result<(), ItemError> {
        let between = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'[' | b']');
        let rest = self.bytes.get(self.start..).unwrap_or_default();
        self.start += rest.iter().position(|byte| !between(byte)).unwrap_or(rest.len());
        self.seen = self.start;
        match self.bytes.get(self.start) {
            None | Some(b'{') => Ok(()),
            Some(_) => Err(ItemError::Foreign),
        }
    }

    /// Processes one byte; returns whether it ends the item.
    fn look_at(&mut self, byte: u8) -> bool {
        match (self.text, byte) {
            (Text::Escaped, _) => self.text = Text::Inside,
            (Text::Inside, b'\\') => self.text = Text::Escaped,
            (Text::Inside, b'"') => self.text = Text::Outside,
            (Text::Outside, b'"') => self.text = Text::Inside,
            (Text::Outside, b'{' | b'[') => self.depth += 1,
            (Text::Outside, b'}' | b']') => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            (Text::Inside | Text::Outside, _) => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(chunks: &[&[u8]]) -> (Vec<String>, Result<(), ItemError>) {
        let (mut reader, mut items) = (JsonItems::with_limit(64), Vec::new());
        for chunk in chunks {
            reader.feed(chunk);
            loop {
                match reader.next_item() {
                    Ok(Some(item)) => items.push(String::from_utf8(item).unwrap()),
                    Ok(None) => break,
                    Err(error) => return (items, Err(error)),
                }
            }
        }
        (items, Ok(()))
    }

    #[test]
    fn lines_and_arrays_are_cut_into_items() {
        let long = format!("{{\"a\":\"{}\"", "x".repeat(80));
        let cases: Vec<(&str, Vec<&str>, Result<(), ItemError>)> = vec![
            ("{\"a\":1}\n{\"b\":[{}]}\n", vec!["{\"a\":1}", "{\"b\":[{}]}"], Ok(())),
            ("[{\"a\": \"}]\\\\\\\"{\"}\n,\r\n{}]", vec!["{\"a\": \"}]\\\\\\\"{\"}", "{}"], Ok(())),
            ("{\"é\":\"é\"}{\"half\":", vec!["{\"é\":\"é\"}"], Ok(())),
            ("{}<html>", vec!["{}"], Err(ItemError::Foreign)),
            (&long, vec![], Err(ItemError::TooLong { limit: 64 })),
            ("", vec![], Ok(())),
        ];
        for (body, expected, end) in cases {
            assert_eq!(
                items(&[body.as_bytes()]),
                (expected.iter().map(ToString::to_string).collect(), end.clone()),
                "{body}"
            );
            let bytes: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
            assert_eq!(items(&bytes).0, expected, "{body}, byte by byte");
        }
    }
}
