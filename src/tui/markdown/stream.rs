//! Renders Markdown that streams in: finished blocks are rendered once, only the open block is parsed again.
//!
//! The work is linear in the text: CommonMark closes blocks line by line and never reopens one, so everything
//! before the last top-level block is final, and so are all items but the last of an open list. The rest is
//! parsed again only when it has grown by a quarter. In an open fence every line is final at once. The result
//! equals the full rendering (a property test); where link or footnote definitions make that impossible, the
//! full text is rendered once at the end. Called by the live answer cell, which pushes at any time and calls
//! [`StreamMarkdown::advance`] once a frame.

use std::borrow::Cow;

use super::fence::Fence;
use super::highlight::Highlighter;
use super::languages::{Language, Languages};
use super::parse::{self, Block, Gap, gap_before};
use super::raw::RawTail;
use super::{Page, layout, render};
use crate::tui::line::{Line, Margin};

/// An open block longer than this many bytes is drawn in full only when it has grown by an eighth; in
/// between, its newest text is shown unformatted.
const BIG_BLOCK: usize = 16 * 1024;

/// In an open block longer than this many bytes code is not highlighted until the block is final, unless the
/// block is itself code.
const COLOURED: usize = 4 * 1024;

/// An unfinished line of code longer than this many bytes is shown unformatted.
const LONG_LINE: usize = 1024;

/// A growing Markdown text and its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamMarkdown {
    /// The text, with line ends as `\n`.
    source: String,
    /// Whether the last piece ended with a `\r`; the next may begin with its `\n`.
    holds_carriage: bool,
    pub page: Page,
    frozen: Vec<Line>,
    /// Bytes of `source` that `frozen` shows; always at the start of a line.
    frozen_to: usize,
    /// The offset after the last line end.
    whole_lines: usize,
    /// Finished blocks are not looked for until `whole_lines` reaches this offset.
    next_look: usize,
    tail: TailStart,
    defines_references: bool,
    /// The languages that fences have named.
    pub named: Languages,
    live: Vec<Line>,
    /// The byte range of `source` that the live lines show.
    live_span: (usize, usize),
    /// The text after that range.
    raw: RawTail,
}

/// How the text after the frozen part begins.
#[derive(Debug, Clone, PartialEq)]
enum TailStart {
    /// With a block.
    Block,
    /// With the next item of a list whose other items are frozen: its number, and the gap before it.
    Item { number: Option<u64>, gap: Gap },
    /// With a line of an open top-level fence.
    Fence(OpenFence),
}

#[derive(Debug, Clone, PartialEq)]
struct OpenFence {
    fence: Fence,
    code: Highlighter,
    /// Lines shown so far.
    lines: usize,
}

impl StreamMarkdown {
    pub fn new(page: Page) -> Self {
        Self {
            source: String::new(),
            holds_carriage: false,
            page,
            frozen: Vec::new(),
            frozen_to: 0,
            whole_lines: 0,
            next_look: 0,
            tail: TailStart::Block,
            defines_references: false,
            named: Languages::NONE,
            live: Vec::new(),
            live_span: (0, 0),
            raw: RawTail::default(),
        }
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// Takes the next piece of text; O(length of the piece).
    pub fn push(&mut self, piece: &str) {
        let mut piece = piece;
        if self.holds_carriage && !piece.is_empty() {
            self.holds_carriage = false;
            self.append("\n");
            piece = piece.strip_prefix('\n').unwrap_or(piece);
        }
        if let Some(before) = piece.strip_suffix('\r') {
            self.holds_carriage = true;
            piece = before;
        }
        self.append(&normal(piece));
    }

    fn append(&mut self, piece: &str) {
        let from = self.source.len();
        self.source.push_str(piece);
        let Some(at) = piece.rfind('\n') else { return };
        let (_, whole) = self.source.split_at(self.whole_lines);
        let (whole, _) = whole.split_at(from + at + 1 - self.whole_lines);
        self.named = self.named | Languages::named_in(whole);
        self.whole_lines = from + at + 1;
    }

    /// Brings the lines up to date.
    pub fn advance(&mut self) {
        while self.freeze_more() {}
        self.draw_live();
    }

    /// Changes the page and lays everything out again, once.
    pub fn turn_page(&mut self, page: Page) {
        if page == self.page {
            return;
        }
        let source = std::mem::take(&mut self.source);
        let holds_carriage = self.holds_carriage;
        *self = Self::new(page);
        self.push(&source);
        self.holds_carriage = holds_carriage;
        self.advance();
    }

    pub fn height(&self) -> usize {
        self.frozen.len() + self.live.len() + self.raw.height()
    }

    /// Returns the lines from `from` on.
    pub fn lines_from(&self, from: usize) -> impl Iterator<Item = &Line> {
        let in_frozen = from.min(self.frozen.len());
        let skipped = from - in_frozen;
        self.frozen[in_frozen..].iter().chain(self.live.iter().chain(self.raw.lines()).skip(skipped))
    }

    /// Ends the text and returns it with its final lines, which equal those of [`render`].
    pub fn finish(mut self) -> (String, Vec<Line>) {
        if self.holds_carriage {
            // No `\n` followed, so the `\r` was a line end of its own.
            self.holds_carriage = false;
            self.append("\n");
        }
        while self.freeze_more() {}
        let rest = self.source.split_off(self.frozen_to);
        match std::mem::replace(&mut self.tail, TailStart::Block) {
            TailStart::Fence(mut open) => {
                if !rest.is_empty() && !open.fence.closes(&rest) {
                    self.code_line(&rest, &mut open);
                } else if open.lines == 0 {
                    self.code_line("", &mut open);
                }
            }
            tail @ (TailStart::Block | TailStart::Item { .. }) => {
                self.tail = tail;
                self.freeze(&rest);
            }
        }
        self.source.push_str(&rest);
        if self.defines_references {
            self.frozen = render(&self.source, &self.page);
        }
        (self.source, self.frozen)
    }

    /// Freezes what it can; returns whether there may be more.
    fn freeze_more(&mut self) -> bool {
        match std::mem::replace(&mut self.tail, TailStart::Block) {
            TailStart::Fence(open) => return self.freeze_fence(open),
            tail @ (TailStart::Block | TailStart::Item { .. }) => self.tail = tail,
        }
        if self.whole_lines >= self.next_look && self.whole_lines > self.frozen_to {
            return self.freeze_blocks();
        }
        false
    }

    /// Returns the whole lines that are not frozen.
    fn whole_tail(&self) -> &str {
        let (whole, _) = self.source.split_at(self.whole_lines);
        whole.split_at(self.frozen_to).1
    }

    /// Looks at the whole lines of the tail and freezes everything before its last block, and in a list
    /// everything before its last item. Returns whether there may be more to freeze at once.
    fn freeze_blocks(&mut self) -> bool {
        let tail = self.whole_tail().to_owned();
        let outline = parse::outline(&tail);
        self.look_again();
        let Some(last) = outline.blocks.last() else { return false };
        let (done, open) = tail.split_at(line_start(&tail, *last));
        let first_line = open.split_inclusive('\n').next().unwrap_or("");
        let fence = Fence::opened_by(first_line);
        let (first, items) = outline.last_list.unwrap_or_default();
        if outline.blocks.len() > 1 || items.len() > 1 || fence.is_some() {
            self.freeze(done);
            self.frozen_to += done.len();
        }
        if let Some(fence) = fence {
            self.frozen_to += first_line.len();
            self.open_fence(fence, first_line);
            return true;
        }
        if let [others @ .., last] = items.as_slice()
            && !others.is_empty()
        {
            let (items, _) = open.split_at(line_start(&tail, *last) - done.len());
            self.freeze_items(items, first, others.len() as u64);
        }
        self.look_again();
        false
    }

    /// Schedules the next look for when the tail has grown by a quarter.
    fn look_again(&mut self) {
        self.next_look = self.whole_lines + ((self.whole_lines - self.frozen_to) / 4).max(1);
    }

    fn open_fence(&mut self, fence: Fence, line: &str) {
        let word = parse::fence_word(line);
        let code = Highlighter::new(Language::by_name(&word), self.page.languages);
        self.separate();
        let head = layout::code_head(&word, &self.continued_page());
        self.frozen.extend(head);
        self.tail = TailStart::Fence(OpenFence { fence, code, lines: 0 });
    }

    /// Freezes items that others follow; `first` is the number of the first, if they are numbered.
    fn freeze_items(&mut self, items: &str, first: Option<u64>, count: u64) {
        let first = match self.tail {
            TailStart::Item { number, .. } => number,
            TailStart::Block | TailStart::Fence(_) => first,
        };
        self.freeze(items);
        self.frozen_to += items.len();
        let number = first.map(|first| first.saturating_add(count));
        self.tail = TailStart::Item { number, gap: gap_before(&self.source, self.frozen_to) };
    }

    /// Freezes the whole lines of an open fence as they arrive. Returns whether it closed.
    fn freeze_fence(&mut self, mut open: OpenFence) -> bool {
        let tail = self.whole_tail().to_owned();
        for line in tail.split_inclusive('\n') {
            self.frozen_to += line.len();
            if open.fence.closes(line) {
                if open.lines == 0 {
                    self.code_line("", &mut open);
                }
                self.tail = TailStart::Block;
                self.next_look = 0;
                return true;
            }
            self.code_line(line, &mut open);
        }
        self.tail = TailStart::Fence(open);
        false
    }

    fn freeze(&mut self, piece: &str) {
        let (lines, defines_references) = self.laid_out(piece, &self.continued_page());
        self.defines_references |= defines_references;
        if !lines.is_empty() {
            self.frozen.extend(lines);
            self.tail = TailStart::Block;
        }
    }

    fn code_line(&mut self, line: &str, open: &mut OpenFence) {
        let lines = layout::code_lines(line, &mut open.code, &self.continued_page());
        self.frozen.extend(lines);
        open.lines += 1;
    }

    /// Returns the lines of the text after the frozen part, with the gap before it, and whether it defines references.
    fn laid_out(&self, piece: &str, page: &Page) -> (Vec<Line>, bool) {
        let mut parsed = parse::blocks(piece);
        let mut gap = Gap::BlankLine;
        if let TailStart::Item { number, gap: before } = self.tail
            && let Some(Block::List(list)) = parsed.blocks.first_mut().map(|child| &mut child.block)
        {
            list.first = number;
            gap = before;
        }
        let mut lines = layout::lines(&parsed.blocks, page);
        if !lines.is_empty() && !self.frozen.is_empty() && gap == Gap::BlankLine {
            lines.insert(0, self.page.margin.rest.clone());
        }
        (lines, parsed.defines_references)
    }

    /// Adds the blank line before a block that is not the first.
    fn separate(&mut self) {
        if !self.frozen.is_empty() {
            self.frozen.push(self.page.margin.rest.clone());
        }
    }

    /// Returns the page as it is after the lines frozen so far.
    fn continued_page(&self) -> Page {
        if self.frozen.is_empty() {
            return self.page.clone();
        }
        Page { margin: Margin::even(self.page.margin.rest.clone()), ..self.page.clone() }
    }

    fn draw_live(&mut self) {
        let (_, open) = self.source.split_at(self.frozen_to);
        let (live_from, live_to) = self.live_span;
        let page = self.continued_page();
        if let TailStart::Fence(fence) = &self.tail {
            self.live = match open.len() {
                0 => Vec::new(),
                // Too long to be wrapped again with every frame.
                LONG_LINE.. => {
                    self.live.clear();
                    return self.raw.show(&self.source, self.frozen_to, &page);
                }
                _ if fence.fence.may_close(open) => Vec::new(),
                _ => layout::code_lines(open, &mut fence.code.clone(), &page),
            };
        } else if open.len() > BIG_BLOCK
            && live_from == self.frozen_to
            && self.source.len() - live_to < open.len() / 8
        {
            return self.raw.show(&self.source, live_to, &page);
        } else {
            let languages = if open.len() > COLOURED { Languages::NONE } else { page.languages };
            self.live = self.laid_out(open, &Page { languages, ..page }).0;
        }
        self.raw.clear();
        self.live_span = (self.frozen_to, self.source.len());
    }
}

/// Returns the start of the line that contains `at`.
fn line_start(text: &str, at: usize) -> usize {
    text.split_at(at).0.rfind('\n').map_or(0, |end| end + 1)
}

/// Normalises line ends to `\n` and replaces NUL, as Markdown itself does.
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
