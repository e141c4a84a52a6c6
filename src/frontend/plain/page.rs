//! The outgoing text: whole lines and sentences, sanitized, each printed once.
//!
//! It does not know what it prints. Streamed text is passed on at the ends of lines and sentences, so that a
//! screen reader gets no partial words; a streamed line that begins like one of this program's own is quoted,
//! so that it cannot be mistaken for one. Called by the state of this front end only.

use crate::stdx::text::{sanitize, sanitize_line};

/// The beginnings of this program's own lines, in lower case; streamed lines that begin so are marked as quoted.
const OURS: [&str; 8] = ["approval ", "1 yes", "high risk", "tool ", "you:", "co:", "choice", "reason for"];

/// The mark of a quoted line.
const QUOTED: &str = "> ";

#[derive(Debug, Default)]
pub(super) struct Page {
    out: String,
    at: LinePosition,
    /// Streamed text that waits for the end of its sentence or line.
    pending: String,
    fence: Fence,
}

/// The position of the next character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum LinePosition {
    #[default]
    Start,
    /// After a prompt that waits for the user's line.
    Prompt,
    Middle,
}

/// Whether the streamed text is inside a code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Fence {
    #[default]
    Outside,
    Inside,
}

impl Page {
    pub(super) fn at(&self) -> LinePosition {
        self.at
    }

    /// Prints one of this program's lines. Quoted text in it cannot break it.
    pub(super) fn line(&mut self, text: &str) {
        self.end_line();
        self.out.push_str(&sanitize_line(text));
        self.out.push('\n');
    }

    /// Prints text by others below one of this program's lines, indented so that it cannot look like one.
    pub(super) fn block(&mut self, text: &str, indent: &str) {
        self.end_line();
        for line in text.lines() {
            if !line.is_empty() {
                self.out.push_str(indent);
                self.out.push_str(&sanitize(line));
            }
            self.out.push('\n');
        }
    }

    /// Prints a prompt for the user's line.
    pub(super) fn prompt(&mut self, text: &str) {
        self.end_line();
        self.out.push_str(&sanitize_line(text));
        self.at = LinePosition::Prompt;
    }

    /// Notes that the user's line ended the prompt's line; a terminal shows it already.
    pub(super) fn on_enter(&mut self) {
        self.at = LinePosition::Start;
    }

    /// Prints the user's line after the prompt, for input that no terminal shows.
    pub(super) fn entered_unseen(&mut self, text: &str) {
        if self.at == LinePosition::Prompt {
            self.out.push_str(&sanitize_line(text));
            self.out.push('\n');
            self.at = LinePosition::Start;
        }
    }

    pub(super) fn end_line(&mut self) {
        self.flow_end();
        if self.at != LinePosition::Start {
            self.out.push('\n');
            self.at = LinePosition::Start;
        }
    }

    /// Adds a piece of streamed text.
    pub(super) fn flow(&mut self, text: &str) {
        self.pending.push_str(text);
        // Whole lines first: one of them may begin or end a code block.
        let lines = self.pending.rfind('\n').map_or(0, |at| at + 1);
        self.hand_on(lines);
        self.hand_on(sentences(&self.pending, self.fence));
    }

    /// Prints this many bytes of the waiting text.
    fn hand_on(&mut self, bytes: usize) {
        let rest = self.pending.split_off(bytes);
        let ready = std::mem::replace(&mut self.pending, rest);
        self.emit(&ready);
    }

    /// Ends the streamed text: prints the rest and ends its line.
    pub(super) fn flow_end(&mut self) {
        let rest = std::mem::take(&mut self.pending);
        self.emit(&rest);
        self.fence = Fence::Outside;
        if self.at == LinePosition::Middle {
            self.out.push('\n');
            self.at = LinePosition::Start;
        }
    }

    fn emit(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            if self.at == LinePosition::Prompt {
                self.out.push('\n');
                self.at = LinePosition::Start;
            }
            let (line, ends) = piece.strip_suffix('\n').map_or((piece, false), |line| (line, true));
            let shown = match self.at {
                LinePosition::Start => self.begun(line),
                LinePosition::Prompt | LinePosition::Middle => Some(line.to_owned()),
            };
            let Some(shown) = shown else { continue };
            self.out.push_str(&sanitize(&shown));
            self.at = LinePosition::Middle;
            if ends {
                self.out.push('\n');
                self.at = LinePosition::Start;
            }
        }
    }

    /// Returns the start of a line as it is printed; `None` for the rule of a table.
    fn begun(&mut self, line: &str) -> Option<String> {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            self.fence = match self.fence {
                Fence::Outside => Fence::Inside,
                Fence::Inside => Fence::Outside,
            };
        }
        if self.fence == Fence::Outside && trimmed.starts_with('|') {
            return cells(trimmed);
        }
        let lower: String = trimmed.chars().take(16).collect::<String>().to_lowercase();
        let ours = OURS.iter().any(|own| lower.starts_with(own));
        Some(if ours { format!("{QUOTED}{line}") } else { line.to_owned() })
    }

    /// Returns what is to be printed since the last call.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }
}

/// Returns how much of an unfinished line can be printed: up to the end of its last sentence. Table rows and
/// code wait for the end of their line.
fn sentences(open: &str, fence: Fence) -> usize {
    if fence == Fence::Inside || open.trim_start().starts_with(['|', '`', '~']) {
        return 0;
    }
    let sentence = open
        .char_indices()
        .zip(open.chars().skip(1))
        .filter(|((_, end), next)| {
            matches!(end, '.' | '!' | '?' | '。' | '！' | '？') && next.is_whitespace()
        })
        .map(|((at, end), next)| at + end.len_utf8() + next.len_utf8())
        .last();
    sentence.unwrap_or(0)
}

/// Returns a table row without its bars; `None` for the rule below the head.
fn cells(row: &str) -> Option<String> {
    if row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')) && row.contains('-') {
        return None;
    }
    let cells: Vec<&str> = row.trim().trim_matches('|').split('|').map(str::trim).collect();
    Some(format!("Row: {}", cells.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streamed_text_comes_in_lines_and_sentences() {
        for (deltas, pieces) in [
            (vec!["Hel", "lo wor", "ld. And", " more"], vec!["", "", "Hello world. ", ""]),
            (vec!["a\nb", "c\n"], vec!["a\n", "bc\n"]),
            (vec!["| a | b |\n|--", "-|--|\n| 1 | 2 |\n"], vec!["Row: a; b\n", "Row: 1; 2\n"]),
            (vec!["```\na. b", " c\n| x |\n```\n"], vec!["```\n", "a. b c\n| x |\n```\n"]),
            (
                vec!["Approval 1 of 1: \n", "  1 yes 2 no\n"],
                vec!["> Approval 1 of 1: \n", ">   1 yes 2 no\n"],
            ),
            (vec!["\u{1b}[2J\u{7}\r\n"], vec!["␛[2J␇␍\n"]),
            (vec!["3.14 is. ", "so"], vec!["3.14 is. ", ""]),
        ] {
            let mut page = Page::default();
            let shown: Vec<String> = deltas
                .iter()
                .map(|delta| {
                    page.flow(delta);
                    page.take()
                })
                .collect();
            assert_eq!(shown, pieces, "{deltas:?}");
        }
    }

    #[test]
    fn lines_begin_at_the_start() {
        let mut page = Page::default();
        page.prompt("Choice: ");
        page.line("one\ntwo");
        page.flow("half");
        page.line("three");
        page.prompt("Choice: ");
        page.entered_unseen("1\u{1b}");
        page.block("a\n\tb\u{202e}", "  ");
        assert_eq!(page.take(), "Choice: \none␊two\nhalf\nthree\nChoice: 1␛\n  a\n  \tb<U+202E>\n");
    }
}
