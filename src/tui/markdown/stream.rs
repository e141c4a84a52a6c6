//! Markdown that streams in: finished blocks are rendered once, only the open block is parsed again.
//!
//! Linear in the text: CommonMark closes blocks line by line and never reopens one, so everything before the last
//! top-level block is final; the open block is looked at again only when it has grown by a quarter, and in an open
//! fence every line is final at once. The result equals the whole rendering (a property test); where link
//! definitions make that impossible, the whole is rendered once at the end. Called by the live answer cell, which
//! pushes at will and calls [`StreamMarkdown::advance`] once a frame.

use std::borrow::Cow;

use super::{Page, layout, parse, render};
use crate::tui::line::{Line, Margin};

/// An open block longer than this many bytes is drawn in full only when it has grown by a sixteenth; in between,
/// its newest text is shown as it came.
const BIG_BLOCK: usize = 16 * 1024;

/// A growing Markdown text and its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamMarkdown {
    /// With line ends as `\n`.
    source: String,
    /// A `\r` at the end of the last piece: the next may begin with its `\n`.
    carriage: Carriage,
    page: Page,
    frozen: Vec<Line>,
    /// Bytes of `source` that `frozen` shows; always at the start of a line.
    frozen_to: usize,
    /// One past the last line end.
    whole_lines: usize,
    /// No look for finished blocks before there are this many whole-line bytes.
    next_look: usize,
    fence: Option<Fence>,
    references: References,
    live: Vec<Line>,
    /// Bytes of `source` the live lines were made from.
    live_to: usize,
    /// Raw lines of what came after `live_to`.
    raw: Vec<Line>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Carriage {
    None,
    Held,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum References {
    None,
    Defined,
}

/// An open code fence at the top level.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fence {
    mark: char,
    length: usize,
    /// Lines shown so far.
    lines: usize,
}

impl StreamMarkdown {
    pub fn new(page: Page) -> Self {
        Self {
            source: String::new(),
            carriage: Carriage::None,
            page,
            frozen: Vec::new(),
            frozen_to: 0,
            whole_lines: 0,
            next_look: 0,
            fence: None,
            references: References::None,
            live: Vec::new(),
            live_to: 0,
            raw: Vec::new(),
        }
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    pub fn page(&self) -> &Page {
        &self.page
    }

    /// Takes the next piece of text; O(length of the piece).
    pub fn push(&mut self, piece: &str) {
        let mut piece = piece;
        if self.carriage == Carriage::Held && !piece.is_empty() {
            self.carriage = Carriage::None;
            self.source.push('\n');
            self.whole_lines = self.source.len();
            piece = piece.strip_prefix('\n').unwrap_or(piece);
        }
        if let Some(before) = piece.strip_suffix('\r') {
            self.carriage = Carriage::Held;
            piece = before;
        }
        let from = self.source.len();
        self.source.push_str(&normal(piece));
        if let Some(at) = self.source.split_at(from).1.rfind('\n') {
            self.whole_lines = from + at + 1;
        }
    }

    /// Brings the lines up to date.
    pub fn advance(&mut self) {
        while self.freeze_more() == Progress::Made {}
        self.draw_live();
    }

    /// The page changed: everything is laid out again, once.
    pub fn turn_page(&mut self, page: Page) {
        if page == self.page {
            return;
        }
        let source = std::mem::take(&mut self.source);
        let carriage = self.carriage;
        *self = Self::new(page);
        self.push(&source);
        self.carriage = carriage;
        self.advance();
    }

    pub fn height(&self) -> usize {
        self.frozen.len() + self.live.len() + self.raw.len()
    }

    /// The lines from `from` on.
    pub fn lines_from(&self, from: usize) -> impl Iterator<Item = &Line> {
        let in_frozen = from.min(self.frozen.len());
        let skipped = from - in_frozen;
        self.frozen[in_frozen..].iter().chain(self.live.iter().chain(&self.raw).skip(skipped))
    }

    /// The text is whole: its final lines, equal to those of [`render`].
    pub fn finish(mut self) -> (String, Vec<Line>) {
        if self.carriage == Carriage::Held {
            // No `\n` followed: the `\r` was a line end of its own.
            self.carriage = Carriage::None;
            self.source.push('\n');
            self.whole_lines = self.source.len();
        }
        while self.freeze_more() == Progress::Made {}
        let rest = self.source.split_off(self.frozen_to);
        match self.fence {
            Some(fence) => {
                if !rest.is_empty() && !fence.closes(&rest) {
                    self.code_line(&rest);
                } else if fence.lines == 0 {
                    self.code_line("");
                }
            }
            None => self.freeze(&rest),
        }
        self.source.push_str(&rest);
        if self.references == References::Defined {
            self.frozen = render(&self.source, &self.page);
        }
        (self.source, self.frozen)
    }

    fn freeze_more(&mut self) -> Progress {
        match self.fence {
            Some(fence) => self.freeze_fence(fence),
            None if self.whole_lines >= self.next_look && self.whole_lines > self.frozen_to => {
                self.freeze_blocks()
            }
            None => Progress::None,
        }
    }

    /// Looks at the whole lines of the tail and makes final what comes before its last block.
    fn freeze_blocks(&mut self) -> Progress {
        let (_, tail) = self.source.split_at(self.frozen_to);
        let (tail, _) = tail.split_at(self.whole_lines - self.frozen_to);
        let blocks = parse::top_level(tail);
        self.next_look = self.whole_lines + (tail.len() / 4).max(1);
        let Some(last) = blocks.last() else { return Progress::None };
        let cut = tail.split_at(last.start).0.rfind('\n').map_or(0, |at| at + 1);
        let (done, open) = tail.split_at(cut);
        let first_line = open.split_inclusive('\n').next().unwrap_or("");
        let fence = Fence::opened_by(first_line);
        if blocks.len() < 2 && fence.is_none() {
            return Progress::None;
        }
        let done = done.to_owned();
        self.frozen_to += cut + if fence.is_some() { first_line.len() } else { 0 };
        self.freeze(&done);
        self.next_look = self.whole_lines + ((self.whole_lines - self.frozen_to) / 4).max(1);
        if fence.is_none() {
            return Progress::None;
        }
        self.fence = fence;
        self.separate();
        Progress::Made
    }

    /// Whole lines of an open fence are final as they come.
    fn freeze_fence(&mut self, mut fence: Fence) -> Progress {
        let (_, tail) = self.source.split_at(self.frozen_to);
        let (tail, _) = tail.split_at(self.whole_lines - self.frozen_to);
        let tail = tail.to_owned();
        for line in tail.split_inclusive('\n') {
            self.frozen_to += line.len();
            if fence.closes(line) {
                if fence.lines == 0 {
                    self.code_line("");
                }
                self.fence = None;
                self.next_look = 0;
                return Progress::Made;
            }
            self.code_line(line);
            fence.lines += 1;
        }
        self.fence = Some(fence);
        Progress::None
    }

    fn freeze(&mut self, piece: &str) {
        let parsed = parse::blocks(piece);
        if parsed.defines_references {
            self.references = References::Defined;
        }
        if parsed.blocks.is_empty() {
            return;
        }
        self.separate();
        let lines = layout::lines(&parsed.blocks, &self.continued());
        self.frozen.extend(lines);
    }

    fn code_line(&mut self, line: &str) {
        let lines = layout::code_lines(line, &self.continued());
        self.frozen.extend(lines);
    }

    /// The blank line before a block that is not the first.
    fn separate(&mut self) {
        if !self.frozen.is_empty() {
            self.frozen.push(self.page.margin.rest.clone());
        }
    }

    /// The page as it is after the lines frozen so far.
    fn continued(&self) -> Page {
        if self.frozen.is_empty() {
            return self.page.clone();
        }
        Page { margin: Margin::even(self.page.margin.rest.clone()), ..self.page.clone() }
    }

    fn draw_live(&mut self) {
        let (_, open) = self.source.split_at(self.frozen_to);
        let grown = self.source.len().saturating_sub(self.live_to.max(self.frozen_to));
        if self.fence.is_none()
            && open.len() > BIG_BLOCK
            && grown < open.len() / 16
            && self.live_to > self.frozen_to
        {
            let (_, fresh) = self.source.split_at(self.live_to);
            self.raw = layout::code_lines(fresh, &self.continued());
            return;
        }
        self.raw.clear();
        self.live_to = self.source.len();
        self.live = match self.fence {
            Some(fence) if open.is_empty() || fence.may_close(open) => Vec::new(),
            Some(_) => layout::code_lines(open, &self.continued()),
            None => {
                let mut lines = layout::lines(&parse::blocks(open).blocks, &self.continued());
                if !lines.is_empty() && !self.frozen.is_empty() {
                    lines.insert(0, self.page.margin.rest.clone());
                }
                lines
            }
        };
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Progress {
    Made,
    None,
}

impl Fence {
    /// The fence that this line opens. Indented fences are left to the parser, which unindents their lines.
    fn opened_by(line: &str) -> Option<Self> {
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        let info = line.trim_start_matches(mark);
        let fences = length >= 3 && !(mark == '`' && info.contains('`'));
        fences.then_some(Self { mark, length, lines: 0 })
    }

    fn closes(&self, line: &str) -> bool {
        let bare = line.trim_start_matches(' ');
        let marks = bare.chars().take_while(|c| *c == self.mark).count();
        line.len() - bare.len() <= 3
            && marks >= self.length
            && bare.trim_start_matches(self.mark).trim_matches([' ', '\t', '\n']).is_empty()
    }

    /// Whether a line that is not whole yet may still become the closing one.
    fn may_close(&self, start: &str) -> bool {
        let bare = start.trim_start_matches(' ');
        start.len() - bare.len() <= 3 && !bare.is_empty() && bare.trim_start_matches(self.mark).is_empty()
    }
}

/// Line ends as `\n`, and no NUL, which Markdown itself replaces.
pub(super) fn normal(text: &str) -> Cow<'_, str> {
    if !text.contains(['\r', '\0']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{FFFD}"))
}

#[cfg(test)]
impl StreamMarkdown {
    pub fn frozen_to(&self) -> usize {
        self.frozen_to
    }
}
