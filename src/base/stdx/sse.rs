//! Parser for server-sent events: takes bytes split at any position, returns events, does no I/O.
//!
//! It does framing only: the codecs interpret an event's data, including `[DONE]`. Called by `provider/http`
//! and by the tests that replay recorded bytes. It holds the bytes of at most one unfinished event and never
//! fails on invalid UTF-8: complete lines are decoded with replacement characters.

use std::collections::VecDeque;

use memchr::{memchr, memchr2};

/// The maximum size of one event, in bytes: far above any reply, and still harmless to hold in memory.
pub const DEFAULT_LIMIT: usize = 16 * 1024 * 1024;

/// One item of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseItem {
    /// A complete event. Several `data` lines are joined by `\n`.
    Event { event: Option<String>, data: String },
    /// A comment line: it has no content, but shows that the connection is alive.
    Comment,
    /// A field line `error: …` outside any event's data, which some servers send before they close.
    ErrorField(String),
}

/// Why a stream cannot be read any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("the server sent one event of more than {limit} bytes")]
    TooLong { limit: usize },
}

/// The parser of one stream: call [`feed`](Self::feed) with received bytes, then take all items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseReader {
    /// The start of a line whose end has not been received.
    partial: Vec<u8>,
    /// Whether the last byte was a CR: a LF that follows belongs to it.
    after_cr: bool,
    /// Whether the first line was read: a byte order mark is only valid at the very start.
    begun: bool,
    event: Option<String>,
    data: Option<String>,
    items: VecDeque<SseItem>,
    limit: usize,
    failed: bool,
}

impl Default for SseReader {
    fn default() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }
}

impl SseReader {
    /// Returns a parser that fails on an event of more than `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            partial: Vec::new(),
            after_cr: false,
            begun: false,
            event: None,
            data: None,
            items: VecDeque::new(),
            limit,
            failed: false,
        }
    }

    /// Takes the next bytes of the stream. They may end anywhere, inside a character or between CR and LF.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !self.failed && !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) {
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                self.keep(rest);
                return;
            };
            let (line, after) = rest.split_at(end);
            self.after_cr = after.first() == Some(&b'\r');
            rest = after.get(1..).unwrap_or_default();
            self.end_line(line);
        }
    }

    /// Marks the end of the stream: an event without its closing blank line counts as complete.
    pub fn finish(&mut self) {
        if self.failed {
            return;
        }
        if !self.partial.is_empty() {
            self.end_line(b"");
        }
        self.dispatch();
    }

    /// Returns the number of bytes held: those of the unfinished event and of the items not taken yet.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let item = |item: &SseItem| match item {
            SseItem::Event { event, data } => event.as_ref().map_or(0, String::len) + data.len(),
            SseItem::Comment => 0,
            SseItem::ErrorField(text) => text.len(),
        };
        let open = [&self.event, &self.data].into_iter().flatten().map(String::len).sum::<usize>();
        self.partial.len() + open + self.items.iter().map(item).sum::<usize>()
    }

    /// Stores the start of a line.
    fn keep(&mut self, bytes: &[u8]) {
        if self.partial.len() + bytes.len() > self.limit {
            self.failed = true;
            return;
        }
        self.partial.extend_from_slice(bytes);
    }

    /// Processes a line that these bytes complete. It is copied only if it was received in several pieces.
    fn end_line(&mut self, rest: &[u8]) {
        if !self.partial.is_empty() {
            self.keep(rest);
            let whole = std::mem::take(&mut self.partial);
            if !self.failed {
                self.first_or_later(&whole);
            }
        } else if rest.len() > self.limit {
            self.failed = true;
        } else {
            self.first_or_later(rest);
        }
    }

    fn first_or_later(&mut self, line: &[u8]) {
        let first = !std::mem::replace(&mut self.begun, true);
        let line = if first { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
        self.line(line);
    }

    /// Returns the next item in stream order, or `None` until more bytes are fed. After an error it returns
    /// the same error on every call and reads nothing more.
    pub fn next_item(&mut self) -> Result<Option<SseItem>, SseError> {
        match self.items.pop_front() {
            Some(item) => Ok(Some(item)),
            None if self.failed => Err(SseError::TooLong { limit: self.limit }),
            None => Ok(None),
        }
    }

    fn line(&mut self, line: &[u8]) {
        if line.is_empty() {
            self.dispatch();
            return;
        }
        let (field, value) = match memchr(b':', line) {
            Some(colon) => {
                let (field, value) = line.split_at(colon);
                let value = value.get(1..).unwrap_or_default();
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, b"".as_slice()),
        };
        let text = || String::from_utf8_lossy(value);
        match field {
            b"" => self.items.push_back(SseItem::Comment),
            b"event" => self.event = Some(text().into_owned()),
            b"data" => self.append(&text()),
            b"error" => {
                let text = text().into_owned();
                self.dispatch();
                self.items.push_back(SseItem::ErrorField(text));
            }
            _ => {}
        }
    }

    fn append(&mut self, value: &str) {
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) if data.len() + value.len() >= self.limit => self.failed = true,
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
        }
    }

    fn dispatch(&mut self) {
        let event = self.event.take();
        if let Some(data) = self.data.take() {
            self.items.push_back(SseItem::Event { event, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: &[&[u8]], limit: usize) -> (Vec<SseItem>, Result<(), SseError>) {
        let mut reader = SseReader::with_limit(limit);
        let mut items = Vec::new();
        let mut drain = |reader: &mut SseReader| -> Result<(), SseError> {
            while let Some(item) = reader.next_item()? {
                items.push(item);
            }
            Ok(())
        };
        for chunk in chunks {
            reader.feed(chunk);
            if let Err(error) = drain(&mut reader) {
                return (items, Err(error));
            }
        }
        reader.finish();
        let end = drain(&mut reader);
        (items, end)
    }

    fn event(data: &str) -> SseItem {
        SseItem::Event { event: None, data: data.into() }
    }

    fn named(name: &str, data: &str) -> SseItem {
        SseItem::Event { event: Some(name.into()), data: data.into() }
    }

    #[test]
    fn streams_become_items() {
        let error = |text: &str| SseItem::ErrorField(text.into());
        let cases: Vec<(&[u8], Vec<SseItem>)> = vec![
            (b"", vec![]),
            (b"data: a\n\ndata:b\n\n", vec![event("a"), event("b")]),
            (b"data: a\r\n\r\ndata: b\r\n\r\n", vec![event("a"), event("b")]),
            (b"data: a\r\rdata: b\r\r", vec![event("a"), event("b")]),
            (b"\xEF\xBB\xBFdata: a\n\n", vec![event("a")]),
            (b"data: \xEF\xBB\xBF\n\n", vec![event("\u{feff}")]),
            (b"event: ping\ndata: {}\n\n", vec![named("ping", "{}")]),
            (b"event: ping\n\ndata: x\n\n", vec![event("x")]),
            (b"data: one\ndata: two\ndata\n\n", vec![event("one\ntwo\n")]),
            (b"data:  two spaces\n\n", vec![event(" two spaces")]),
            (
                b": OPENROUTER PROCESSING\n\n:\ndata: x\n\n",
                vec![SseItem::Comment, SseItem::Comment, event("x")],
            ),
            (b"id: 7\nretry: 10\nodd line\ndata: x\n\n", vec![event("x")]),
            (b"error: {\"code\":500}\n", vec![error("{\"code\":500}")]),
            (b"data: x\n\nerror: boom", vec![event("x"), error("boom")]),
            (b"data: x\nerror:boom\n\n", vec![event("x"), error("boom")]),
            (b"data: unterminated", vec![event("unterminated")]),
            (b"event: e\ndata: x\n", vec![named("e", "x")]),
            (b"data: \xFF\xC3\n\n", vec![event("\u{fffd}\u{fffd}")]),
            ("data: 日本\u{85}\u{2028}é\n\n".as_bytes(), vec![event("日本\u{85}\u{2028}é")]),
            (b"data: [DONE]\n\n\n\n", vec![event("[DONE]")]),
        ];
        for (bytes, expected) in cases {
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(read(&[bytes], DEFAULT_LIMIT), (expected.clone(), Ok(())), "whole: {shown:?}");
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read(&single, DEFAULT_LIMIT), (expected, Ok(())), "byte by byte: {shown:?}");
        }
    }

    #[test]
    fn an_endless_event_is_an_error_after_what_came_before() {
        let too_long = Err(SseError::TooLong { limit: 16 });
        let endless_line = [b"data: ok\n\ndata: ".as_slice(), &[b'x'; 64]].concat();
        let endless_event = [b"data: ok\n\n".as_slice(), &b"data: 123\n".repeat(9)].concat();
        for bytes in [endless_line, endless_event] {
            assert_eq!(read(&[&bytes], 16), (vec![event("ok")], too_long.clone()));
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read(&single, 16), (vec![event("ok")], too_long.clone()));
        }
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(
            lines in proptest::collection::vec("(data|data:|data: |event: |error: |: |id:)?[a-zé日:]{0,6}", 0..20),
            ends in proptest::collection::vec(proptest::sample::select(vec!["\n", "\r\n", "\r"]), 20),
            cuts in proptest::collection::vec(1usize..9, 0..40),
        ) {
            let bytes: Vec<u8> = lines.iter().zip(&ends).flat_map(|(line, end)| [line.as_bytes(), end.as_bytes()].concat()).collect();
            let mut chunks = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts {
                let (chunk, after) = rest.split_at(cut.min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            chunks.push(rest);
            prop_assert_eq!(read(&chunks, 40), read(&[&bytes], 40));
        }
    }
}
