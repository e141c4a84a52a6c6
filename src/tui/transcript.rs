//! The transcript: its cells, the part of it on the screen, and the scroll position.
//!
//! Positions are a cell and a line in it, never a sum of heights, so that only visible cells are laid out and
//! appended text does not move the text being read. Called by `update`; `view` draws what
//! [`Transcript::layout`] found visible. `turn.rs` changes the cells of the running turn, `place.rs` maps
//! between screen and text positions.

mod place;
mod turn;

pub use self::place::{Bookmark, Hit, TextPosition, columns};
use super::cells::{Cell, RenderContext};
use super::line::Line;
use super::markdown::Languages;
use super::theme::Glyphs;

/// The number of cells on either side of the screen whose lines are kept.
const KEPT_AROUND: usize = 40;

/// Cells of the rule between the notice of new lines and the edge.
pub const PILL_TO_EDGE: usize = 2;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    cells: Vec<Cell>,
    scroll: Scroll,
    /// Lines added since the end was scrolled out of sight.
    pub unseen: usize,
    /// The last cell while the end was on the screen, and its lines.
    seen_to: (usize, usize),
    /// The last part of the reply, and its lines that were seen: output of the user's own commands may stand below it
    /// while it grows out of sight.
    part: Option<(usize, usize)>,
    /// Lines that it grew by since.
    grown: usize,
    /// Lines drawn after the last cell: the card.
    card: Vec<Line>,
    visible: Vec<VisibleBlock>,
    /// The range of cells that may hold lines.
    cached: (usize, usize),
    /// The width of the last layout.
    width: usize,
    /// The first cell that the running turn may change.
    fresh: usize,
    /// Earlier cells that may still change: calls without an outcome, a running command.
    open: Vec<usize>,
    /// Incremented when cells are removed, which makes older positions invalid.
    pub shape: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Scroll {
    /// The end is on the screen and stays there.
    #[default]
    Follow,
    /// This place is at the top.
    At(BlockLine),
}

/// A line of a block: a cell with the gap before it. The card is the block after the last cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BlockLine {
    block: usize,
    line: usize,
}

/// A block on the screen: its first visible line, and the number of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct VisibleBlock {
    block: usize,
    from: usize,
    count: usize,
}

/// One row of the pane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Row<'a> {
    Blank,
    /// A line of a cell, with the indices of both.
    Text(usize, usize, &'a Line),
    /// A line of the card, with its index.
    Card(usize, &'a Line),
}

impl Transcript {
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub fn follows(&self) -> bool {
        self.scroll == Scroll::Follow
    }

    pub fn push(&mut self, cell: Cell) {
        self.cells.push(cell);
    }

    /// Returns the languages of the code on the screen.
    pub fn named_languages(&self) -> Languages {
        let shown = self.visible.iter().filter_map(|visible| self.cells.get(visible.block));
        shown.fold(Languages::NONE, |all, cell| all | cell.named_languages())
    }

    /// Determines the content of `rows` rows, with `card` after the last cell.
    pub fn layout(&mut self, context: &RenderContext, rows: usize, card: Vec<Line>) {
        self.card = card;
        self.keep_place(context);
        self.visible = match self.scroll {
            Scroll::Follow => self.at_bottom(context, rows),
            Scroll::At(place) => self.at_place(context, rows, place),
        };
        self.count_unseen(context);
        self.forget_far();
    }

    /// Counts the lines below those that were seen. Each cell is laid out for it once; only the last one may grow.
    fn count_unseen(&mut self, context: &RenderContext) {
        let Some(last) = self.cells.len().checked_sub(1) else { return };
        self.count_grown(context);
        if self.follows() {
            self.seen_to = (last, self.known_lines(last, context));
            self.unseen = 0;
            return;
        }
        let (from, seen) = self.seen_to;
        let lines: usize = (from..=last).map(|at| self.known_lines(at, context)).sum();
        self.unseen = lines.saturating_sub(seen);
    }

    /// Counts the lines of the reply's last part that were added out of sight, above what is counted as unseen.
    fn count_grown(&mut self, context: &RenderContext) {
        let newest = (self.fresh..self.cells.len()).rev().find(|at| self.cells[*at].kind.is_of_reply());
        let Some(at) = newest.or(self.part.map(|(at, _)| at)).filter(|at| *at < self.cells.len()) else {
            return;
        };
        let lines = self.known_lines(at, context);
        let ends = |it: &VisibleBlock| it.block == at && it.from + it.count >= lines + self.gap(at);
        let is_counted = !self.follows() && at >= self.seen_to.0;
        let seen = match self.part {
            Some((known, seen)) if known == at && !is_counted && !self.visible.iter().any(ends) => seen,
            Some(_) | None => lines,
        };
        self.part = Some((at, seen));
        self.grown = lines.saturating_sub(seen);
    }

    fn known_lines(&mut self, cell: usize, context: &RenderContext) -> usize {
        self.cells[cell].height.unwrap_or_else(|| self.lines_of(cell, context))
    }

    /// After a change of width, keeps the cell at the top and roughly the same part of it.
    fn keep_place(&mut self, context: &RenderContext) {
        if self.width != context.width {
            // Its lines are others now.
            self.part = None;
        }
        if let Scroll::At(place) = self.scroll
            && self.width != context.width
            && let Some(cell) = self.cells.get(place.block)
        {
            let before = cell.lines_from(0).count() + self.gap(place.block);
            let now = self.height(place.block, context);
            if let Some(line) = (place.line * now).checked_div(before) {
                self.scroll = Scroll::At(BlockLine { block: place.block, line });
            }
        }
        self.width = context.width;
    }

    /// Returns the current height of a block.
    fn height(&mut self, block: usize, context: &RenderContext) -> usize {
        let gap = self.gap(block);
        if block < self.cells.len() {
            let (from, to) = self.cached;
            self.cached = if from == to { (block, block + 1) } else { (from.min(block), to.max(block + 1)) };
        }
        match self.cells.get_mut(block) {
            Some(cell) => gap + cell.refresh(context),
            None if self.card.is_empty() => 0,
            None => gap + self.card.len(),
        }
    }

    fn gap(&self, block: usize) -> usize {
        let Some(before) = block.checked_sub(1).and_then(|at| self.cells.get(at)) else { return 0 };
        self.cells.get(block).map_or(1, |cell| cell.gap_after(before))
    }

    fn blocks(&self) -> usize {
        self.cells.len() + usize::from(!self.card.is_empty())
    }

    fn at_bottom(&mut self, context: &RenderContext, rows: usize) -> Vec<VisibleBlock> {
        let mut room = rows;
        let mut visible = Vec::new();
        for block in (0..self.blocks()).rev() {
            let height = self.height(block, context);
            let count = height.min(room);
            visible.push(VisibleBlock { block, from: height - count, count });
            room -= count;
            if room == 0 {
                break;
            }
        }
        visible.reverse();
        visible
    }

    fn at_place(&mut self, context: &RenderContext, rows: usize, place: BlockLine) -> Vec<VisibleBlock> {
        let mut room = rows;
        let mut visible = Vec::new();
        for block in place.block..self.blocks() {
            let height = self.height(block, context);
            let from = if block == place.block { place.line.min(height.saturating_sub(1)) } else { 0 };
            let count = (height - from.min(height)).min(room);
            visible.push(VisibleBlock { block, from, count });
            room -= count;
            if room == 0 {
                break;
            }
        }
        let at_end = visible.last().is_none_or(|last| {
            last.block + 1 >= self.blocks() && last.from + last.count >= self.height(last.block, context)
        });
        if room > 0 || at_end {
            self.follow();
            return self.at_bottom(context, rows);
        }
        visible
    }

    /// Scrolls to the end and stays there.
    pub fn follow(&mut self) {
        self.scroll = Scroll::Follow;
        self.unseen = 0;
    }

    /// Returns the notice shown while the end, or the end of the reply, is out of sight: how many lines were added since.
    /// `bottom` is the key that scrolls to the end.
    pub fn pill(&self, glyphs: &Glyphs, bottom: &str) -> Option<String> {
        let top = self.visible.first().map(|first| first.block);
        let is_above = self.grown > 0 && self.part.map(|(at, _)| at) < top;
        let way = if is_above { glyphs.up } else { glyphs.down };
        match (self.scroll, self.unseen + self.grown) {
            (Scroll::Follow, 0) => None,
            (Scroll::At(_), 0) => Some(format!(" {way} {bottom} ")),
            (_, 1) => Some(format!(" {way} 1 new line ")),
            (_, unseen) => Some(format!(" {way} {unseen} new lines ")),
        }
    }

    /// Scrolls to the content that the notice announces, in a pane of `rows` rows.
    pub fn to_new(&mut self, context: &RenderContext, rows: usize) {
        if let (Scroll::Follow, 1.., Some((at, _))) = (self.scroll, self.grown, self.part) {
            let lines = self.lines_of(at, context);
            return self.reveal(at, lines.saturating_sub(1), context, rows);
        }
        self.follow();
    }

    pub fn to_top(&mut self) {
        self.scroll = Scroll::At(BlockLine { block: 0, line: 0 });
    }

    /// Scrolls up by `by` lines.
    pub fn up(&mut self, by: usize, context: &RenderContext) {
        if let Some(top) = self.top() {
            self.scroll = Scroll::At(self.above(top, by, context));
        }
    }

    /// Returns the place `by` lines above another one, or the start.
    fn above(&mut self, mut place: BlockLine, by: usize, context: &RenderContext) -> BlockLine {
        let mut left = by;
        while left > place.line {
            let Some(block) = place.block.checked_sub(1) else { return BlockLine { block: 0, line: 0 } };
            left -= place.line;
            place = BlockLine { block, line: self.height(block, context) };
        }
        place.line -= left;
        place
    }

    /// Scrolls down by `by` lines; the layout determines whether that is the end.
    pub fn down(&mut self, by: usize, context: &RenderContext) {
        if self.follows() {
            return;
        }
        let Some(mut place) = self.top() else { return };
        let mut left = by;
        while place.block < self.blocks() {
            let rest = self.height(place.block, context).saturating_sub(place.line);
            if left < rest {
                break;
            }
            left -= rest;
            place = BlockLine { block: place.block + 1, line: 0 };
        }
        place.line += if place.block < self.blocks() { left } else { 0 };
        self.scroll = Scroll::At(place);
    }

    /// Returns the place at the top, or the one of the next frame.
    fn top(&self) -> Option<BlockLine> {
        if let Scroll::At(place) = self.scroll {
            return Some(place);
        }
        self.visible.first().map(|visible| BlockLine { block: visible.block, line: visible.from })
    }

    fn forget_far(&mut self) {
        let (Some(first), Some(last)) = (self.visible.first(), self.visible.last()) else { return };
        let keep = first.block.saturating_sub(KEPT_AROUND)..last.block + KEPT_AROUND;
        let (from, to) = self.cached;
        for block in from..to.min(self.cells.len()) {
            if !keep.contains(&block) {
                self.cells[block].forget_lines();
            }
        }
        self.cached = (keep.start, keep.end);
    }

    /// Yields the rows on the screen, top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.visible.iter().flat_map(move |visible| {
            let gap = self.gap(visible.block);
            let blanks = gap.saturating_sub(visible.from);
            let from = visible.from.saturating_sub(gap);
            let lines: Box<dyn Iterator<Item = Row<'_>>> = match self.cells.get(visible.block) {
                Some(cell) => Box::new(
                    cell.lines_from(from)
                        .enumerate()
                        .map(move |(at, line)| Row::Text(visible.block, from + at, line)),
                ),
                None => Box::new(
                    self.card.iter().enumerate().skip(from).map(|(index, line)| Row::Card(index, line)),
                ),
            };
            std::iter::repeat_n(Row::Blank, blanks).chain(lines).take(visible.count)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tui::cells::{CellKind, Fold, Motion};

    fn context(width: usize) -> RenderContext {
        RenderContext {
            width,
            rows: 24,
            glyphs: &Glyphs::UNICODE,
            details: Fold::Folded,
            thinking: Fold::Folded,
            now_ms: 0,
            motion: Motion::Full,
            languages: Languages::NONE,
            details_key: None,
            stop_key: None,
        }
    }

    fn note(number: usize, lines: usize) -> Cell {
        let text: Vec<String> = (0..lines).map(|line| format!("c{number}l{line}")).collect();
        Cell::new(CellKind::Note { text: text.join("\n"), more: String::new() })
    }

    fn screen(transcript: &mut Transcript, rows: usize) -> Vec<String> {
        transcript.layout(&context(40), rows, Vec::new());
        transcript
            .rows()
            .map(|row| match row {
                Row::Blank => String::new(),
                Row::Text(_, _, line) | Row::Card(_, line) => line.text().trim().to_owned(),
            })
            .collect()
    }

    #[test]
    fn it_follows_scrolls_and_comes_back() {
        let mut transcript = Transcript::default();
        (0..4).for_each(|number| transcript.push(note(number, 2)));
        assert_eq!(screen(&mut transcript, 4), ["c2l1", "", "· c3l0", "c3l1"]);
        transcript.up(3, &context(40));
        assert_eq!(screen(&mut transcript, 4), ["c1l1", "", "· c2l0", "c2l1"]);
        transcript.push(note(4, 1));
        assert_eq!(screen(&mut transcript, 4), ["c1l1", "", "· c2l0", "c2l1"]);
        assert_eq!((transcript.follows(), transcript.unseen), (false, 1));
        transcript.up(99, &context(40));
        assert_eq!(screen(&mut transcript, 2), ["· c0l0", "c0l1"]);
        transcript.down(99, &context(40));
        assert_eq!(screen(&mut transcript, 2), ["", "· c4l0"]);
        assert_eq!((transcript.follows(), transcript.unseen), (true, 0));
    }

    #[test]
    fn what_fits_stands_at_the_top_and_follows() {
        let mut transcript = Transcript::default();
        transcript.push(note(0, 1));
        transcript.layout(&context(40), 5, Vec::new());
        transcript.up(3, &context(40));
        assert_eq!(screen(&mut transcript, 5), ["· c0l0"]);
        assert!(transcript.follows());
    }

    #[test]
    fn another_width_keeps_the_cell_at_the_top() {
        let mut transcript = Transcript::default();
        for number in 0..9 {
            transcript.push(Cell::new(CellKind::Note {
                text: format!("c{number} {}", "word ".repeat(60)),
                more: String::new(),
            }));
        }
        transcript.layout(&context(40), 6, Vec::new());
        transcript.up(23, &context(40));
        transcript.layout(&context(40), 6, Vec::new());
        let top = transcript.top().map(|place| place.block);
        for width in [60, 100, 40, 25, 40] {
            transcript.layout(&context(width), 6, Vec::new());
            assert_eq!(transcript.top().map(|place| place.block), top, "at {width}");
        }
    }

    #[test]
    fn a_long_transcript_is_laid_out_where_it_is_seen() {
        let mut transcript = Transcript::default();
        transcript.replace((0..10_000).map(|number| note(number, 2)).collect());
        let laid_out =
            |transcript: &Transcript| transcript.cells.iter().filter(|cell| cell.holds_lines()).count();
        transcript.layout(&context(40), 30, Vec::new());
        assert!(laid_out(&transcript) <= 30);
        transcript.to_top();
        transcript.layout(&context(40), 30, Vec::new());
        transcript.reveal(5_000, 1, &context(40), 30);
        transcript.layout(&context(40), 30, Vec::new());
        for _ in 0..500 {
            transcript.up(3, &context(40));
            transcript.layout(&context(40), 30, Vec::new());
        }
        assert!(laid_out(&transcript) <= 30 + 2 * KEPT_AROUND, "{}", laid_out(&transcript));
    }

    #[test]
    fn only_what_may_change_is_looked_through() {
        let mut transcript = Transcript::default();
        let draft =
            || Cell::provisional(CellKind::CallDraft(crate::tui::cells::CallDraft::new(0, "x".into())));
        (0..3).for_each(|number| transcript.push(note(number, 1)));
        transcript.settle();
        transcript.push(draft());
        assert_eq!((transcript.cells().len(), transcript.fresh_cells().len()), (4, 1));
        assert!(transcript.newest_mut(|kind| matches!(kind, CellKind::Note { .. })).is_none());
        transcript.retain(|_| false);
        assert_eq!((transcript.cells().len(), transcript.shape), (3, 1));
    }

    proptest! {
        #[test]
        fn appends_do_not_move_what_is_read(
            heights in proptest::collection::vec(1usize..6, 6..20),
            rows in 2usize..9,
            up in 1usize..30,
            more in proptest::collection::vec(1usize..6, 1..6),
        ) {
            let mut transcript = Transcript::default();
            for (number, height) in heights.iter().enumerate() {
                transcript.push(note(number, *height));
            }
            screen(&mut transcript, rows);
            transcript.up(up, &context(40));
            let before = screen(&mut transcript, rows);
            prop_assume!(!transcript.follows());
            for (number, height) in more.iter().enumerate() {
                transcript.push(note(100 + number, *height));
                prop_assert_eq!(&screen(&mut transcript, rows), &before);
            }
        }

        #[test]
        fn up_and_down_by_the_same_come_back(
            heights in proptest::collection::vec(1usize..6, 10..20),
            rows in 2usize..6,
            up in 6usize..12,
            by in 1usize..6,
        ) {
            let mut transcript = Transcript::default();
            for (number, height) in heights.iter().enumerate() {
                transcript.push(note(number, *height));
            }
            screen(&mut transcript, rows);
            transcript.up(up + by, &context(40));
            screen(&mut transcript, rows);
            transcript.down(by, &context(40));
            let there = screen(&mut transcript, rows);
            transcript.up(by, &context(40));
            screen(&mut transcript, rows);
            transcript.down(by, &context(40));
            prop_assert_eq!(screen(&mut transcript, rows), there);
        }
    }
}
