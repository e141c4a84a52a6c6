//! Selects a range of numbered lines from a stream of bytes; memory is bounded by the result's size. Pure.

use std::fmt::Write as _;

use crate::tool::ToolError;
use crate::tool::builtin::work::misuse;

/// The maximum bytes to show of one line; a longer one is cut and marked.
const MAX_LINE: usize = 2000;

/// Which lines to show.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineRange {
    /// Counted from 1.
    pub first: u64,
    /// Inclusive.
    pub last: u64,
    /// The maximum bytes of text to show; at least one line is shown.
    pub room: usize,
}

/// The state between two chunks.
#[derive(Default)]
pub struct Lines {
    wanted: LineRange,
    text: String,
    /// The number of complete lines so far.
    ended: u64,
    /// The first bytes and the length of the line that is not complete yet.
    line: Vec<u8>,
    length: usize,
    shown_to: u64,
    full: bool,
    invalid: bool,
    crlf: bool,
}

impl Lines {
    pub fn new(wanted: LineRange) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Whether no further line can be shown.
    pub fn is_done(&self) -> bool {
        self.full || self.ended >= self.wanted.last
    }

    pub fn feed(&mut self, chunk: &[u8]) {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let (content, ends) = match piece.split_last() {
                Some((b'\n', content)) => (content, true),
                Some(_) | None => (piece, false),
            };
            self.length += content.len();
            if self.is_wanted() {
                // One byte more than shown, for a carriage return.
                let room = (MAX_LINE + 1).saturating_sub(self.line.len());
                self.line.extend(content.iter().take(room));
            }
            if ends {
                self.end_line();
            }
        }
    }

    /// Ends the stream; returns the number of lines in everything that was fed.
    fn finish(&mut self) -> u64 {
        if self.length > 0 {
            self.end_line();
        }
        self.ended
    }

    /// Returns the lines, and notes on anything unusual. `length` is the file's number of lines, if known.
    fn text(self, length: Option<u64>) -> String {
        let mut text = self.text;
        if length == Some(0) {
            text.push_str("[the file is empty]\n");
        }
        let next = self.shown_to + 1;
        match length {
            Some(length) if self.shown_to < length => {
                let _ = writeln!(text, "[{length} lines in all; go on with offset {next}]");
            }
            Some(_) => {}
            None => {
                let _ =
                    writeln!(text, "[the file is very large; if there is more, go on with offset {next}]");
            }
        }
        if self.invalid {
            text.push_str("[bytes that are not UTF-8 are shown as \u{fffd}]\n");
        }
        if self.crlf {
            text.push_str("[lines end in CR LF]\n");
        }
        text
    }

    /// Ends the stream, and returns the lines; errs if the wanted ones are past the end of everything that was fed.
    pub fn finished_text(mut self, shown: &str, is_whole: bool) -> Result<String, ToolError> {
        let (length, first) = (self.finish(), self.wanted.first);
        match is_whole {
            true if first > length.max(1) => {
                Err(misuse(format!("{shown} has {length} lines; offset {first} is past its end")))
            }
            true => Ok(self.text(Some(length))),
            false => Ok(self.text(None)),
        }
    }

    fn is_wanted(&self) -> bool {
        let number = self.ended + 1;
        !self.full && (self.wanted.first..=self.wanted.last).contains(&number)
    }

    fn end_line(&mut self) {
        if self.is_wanted() {
            self.show_line();
        }
        self.ended += 1;
        self.line.clear();
        self.length = 0;
    }

    fn show_line(&mut self) {
        let mut bytes = self.line.as_slice();
        if self.length == bytes.len()
            && let Some((b'\r', rest)) = bytes.split_last()
        {
            bytes = rest;
            self.crlf = true;
        }
        let cut = bytes.len() > MAX_LINE;
        let shown = if cut { super::super::output::without_torn_end(&bytes[..MAX_LINE]) } else { bytes };
        let line = String::from_utf8_lossy(shown);
        let number = self.ended + 1;
        let rest = self.length - shown.len();
        let note = if cut { format!(" [+{rest} bytes]") } else { String::new() };
        let entry = format!("{number:>6}\t{line}{note}\n");
        if !self.text.is_empty() && self.text.len() + entry.len() > self.wanted.room {
            self.full = true;
            return;
        }
        self.invalid |= std::str::from_utf8(shown).is_err();
        self.text.push_str(&entry);
        self.shown_to = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], first: u64, last: u64, room: usize, step: usize) -> String {
        let mut lines = Lines::new(LineRange { first, last, room });
        bytes.chunks(step).for_each(|chunk| lines.feed(chunk));
        let length = lines.finish();
        lines.text(Some(length))
    }

    #[test]
    fn lines_are_the_same_however_they_arrive() {
        let long = [b"x".repeat(MAX_LINE), "é\n".as_bytes().to_vec()].concat();
        let long_shown = format!("     1\t{} [+2 bytes]\n", "x".repeat(MAX_LINE));
        let cases: [(&[u8], u64, u64, usize, &str); 9] = [
            (b"", 1, 9, 99, "[the file is empty]\n"),
            (b"a", 1, 9, 99, "     1\ta\n"),
            (b"a\n\nb\n", 1, 9, 99, "     1\ta\n     2\t\n     3\tb\n"),
            (b"a\nb\nc\n", 2, 2, 99, "     2\tb\n[3 lines in all; go on with offset 3]\n"),
            (b"a\nb\nc", 3, 3, 99, "     3\tc\n"),
            (b"a\nb\nc\n", 1, 9, 20, "     1\ta\n     2\tb\n[3 lines in all; go on with offset 3]\n"),
            (b"a\r\nb\r\n", 1, 9, 99, "     1\ta\n     2\tb\n[lines end in CR LF]\n"),
            (b"\xff\n", 1, 9, 99, "     1\t\u{fffd}\n[bytes that are not UTF-8 are shown as \u{fffd}]\n"),
            (&long, 1, 9, 9999, &long_shown),
        ];
        for (bytes, first, last, room, expected) in cases {
            for step in [1, 2, 3, 1000, 100_000] {
                assert_eq!(read(bytes, first, last, room, step), expected, "{step}");
            }
        }
    }
}
