//! The transcript: its cells, the part of it that is on the screen, and where it is scrolled to.
//!
//! Positions are a cell and a line in it, never a sum of heights, so that only what is seen is ever laid out and
//! nothing that is appended moves what the person reads. Called by `update`; `view` draws what [`Transcript::layout`]
//! found visible.

use super::cells::{CallRow, Cell, CellKind, Look};
use super::line::Line;
use crate::message::CallId;

/// Cells on either side of the screen whose lines are kept.
const KEPT_AROUND: usize = 40;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    cells: Vec<Cell>,
    scroll: Scroll,
    /// Cells that came since the bottom was left.
    pub unseen: usize,
    /// Lines drawn after the last cell: the card.
    card: Vec<Line>,
    visible: Vec<Visible>,
    /// Range of cells that may hold lines.
    cached: (usize, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Scroll {
    /// The end is on the screen and stays there.
    #[default]
    Follow,
    /// This place is at the top.
    At(Place),
}

/// A line of a block: a cell with the gap before it. The card is the block after the last cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    block: usize,
    line: usize,
}

/// A block on the screen: from which of its lines on, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Visible {
    block: usize,
    from: usize,
    count: usize,
}

/// One row of the pane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Row<'a> {
    Blank,
    Text(&'a Line),
    /// A line of the card, by its index.
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
        if !self.follows() {
            self.unseen += 1;
        }
    }

    pub fn last_mut(&mut self) -> Option<&mut Cell> {
        self.cells.last_mut()
    }

    /// The newest cell of which `is` holds, to be changed.
    pub fn newest_mut(&mut self, is: impl Fn(&CellKind) -> bool) -> Option<&mut Cell> {
        let at = self.cells.iter().rposition(|cell| is(&cell.kind))?;
        let cell = &mut self.cells[at];
        cell.touch();
        Some(cell)
    }

    /// The row of a call, to be changed.
    pub fn call_mut(&mut self, id: &CallId) -> Option<&mut CallRow> {
        let cell = self.newest_mut(|kind| matches!(kind, CellKind::Call(row) if row.id == *id))?;
        if let CellKind::Call(row) = &mut cell.kind { Some(row) } else { None }
    }

    /// All cells, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Cell> {
        self.cells.iter_mut()
    }

    /// Other cells in place of all.
    pub fn replace(&mut self, cells: Vec<Cell>) {
        *self = Self { cells, ..Self::default() };
    }

    /// Drops the cells for which `keep` says so; the place on the screen stays where it can.
    pub fn retain(&mut self, keep: impl Fn(&Cell) -> bool) {
        if let Scroll::At(place) = &mut self.scroll {
            let gone = self.cells.iter().take(place.block).filter(|cell| !keep(cell)).count();
            place.block -= gone;
        }
        self.cells.retain(keep);
        self.visible.clear();
    }

    /// Whether anything on the screen looks different at another moment.
    pub fn moves(&self) -> bool {
        self.visible.iter().any(|visible| self.cells.get(visible.block).is_some_and(Cell::moves))
    }

    /// Finds what `rows` rows show, with `card` after the last cell.
    pub fn layout(&mut self, look: &Look, rows: usize, card: Vec<Line>) {
        self.card = card;
        self.visible = match self.scroll {
            Scroll::Follow => self.at_bottom(look, rows),
            Scroll::At(place) => self.at_place(look, rows, place),
        };
        self.forget_far();
    }

    /// The height of a block as of now.
    fn height(&mut self, block: usize, look: &Look) -> usize {
        let gap = self.gap(block);
        match self.cells.get_mut(block) {
            Some(cell) => gap + cell.refresh(look),
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

    fn at_bottom(&mut self, look: &Look, rows: usize) -> Vec<Visible> {
        let mut room = rows;
        let mut visible = Vec::new();
        for block in (0..self.blocks()).rev() {
            let height = self.height(block, look);
            let count = height.min(room);
            visible.push(Visible { block, from: height - count, count });
            room -= count;
            if room == 0 {
                break;
            }
        }
        visible.reverse();
        visible
    }

    fn at_place(&mut self, look: &Look, rows: usize, place: Place) -> Vec<Visible> {
        let mut room = rows;
        let mut visible = Vec::new();
        for block in place.block..self.blocks() {
            let height = self.height(block, look);
            let from = if block == place.block { place.line.min(height.saturating_sub(1)) } else { 0 };
            let count = (height - from.min(height)).min(room);
            visible.push(Visible { block, from, count });
            room -= count;
            if room == 0 {
                break;
            }
        }
        let at_end = visible.last().is_none_or(|last| {
            last.block + 1 >= self.blocks() && last.from + last.count >= self.height(last.block, look)
        });
        if room > 0 || at_end {
            self.follow();
            return self.at_bottom(look, rows);
        }
        visible
    }

    /// Goes to the end and stays there.
    pub fn follow(&mut self) {
        self.scroll = Scroll::Follow;
        self.unseen = 0;
    }

    pub fn to_top(&mut self) {
        self.scroll = Scroll::At(Place { block: 0, line: 0 });
    }

    /// Moves `by` lines up from what is on the screen.
    pub fn up(&mut self, by: usize, look: &Look) {
        let Some(mut place) = self.top() else { return };
        let mut left = by;
        while left > place.line {
            let Some(block) = place.block.checked_sub(1) else {
                self.scroll = Scroll::At(Place { block: 0, line: 0 });
                return;
            };
            left -= place.line;
            place = Place { block, line: self.height(block, look) };
        }
        place.line -= left;
        self.scroll = Scroll::At(place);
    }

    /// Moves `by` lines down; the layout finds out whether that is the end.
    pub fn down(&mut self, by: usize, look: &Look) {
        if self.follows() {
            return;
        }
        let Some(mut place) = self.top() else { return };
        let mut left = by;
        while place.block < self.blocks() {
            let rest = self.height(place.block, look).saturating_sub(place.line);
            if left < rest {
                break;
            }
            left -= rest;
            place = Place { block: place.block + 1, line: 0 };
        }
        place.line += if place.block < self.blocks() { left } else { 0 };
        self.scroll = Scroll::At(place);
    }

    fn top(&self) -> Option<Place> {
        self.visible.first().map(|visible| Place { block: visible.block, line: visible.from })
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

    /// The rows on the screen, top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.visible.iter().flat_map(move |visible| {
            let gap = self.gap(visible.block);
            let blanks = gap.saturating_sub(visible.from);
            let from = visible.from.saturating_sub(gap);
            let lines: Box<dyn Iterator<Item = Row<'_>>> = match self.cells.get(visible.block) {
                Some(cell) => Box::new(cell.lines_from(from).map(Row::Text)),
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
    use crate::tui::cells::{Fold, Motion};
    use crate::tui::theme::Glyphs;

    fn look(width: usize) -> Look {
        Look {
            width,
            glyphs: &Glyphs::UNICODE,
            details: Fold::Folded,
            thinking: Fold::Folded,
            now_ms: 0,
            motion: Motion::Full,
        }
    }

    fn note(number: usize, lines: usize) -> Cell {
        let text: Vec<String> = (0..lines).map(|line| format!("c{number}l{line}")).collect();
        Cell::new(CellKind::Note { text: text.join("\n") })
    }

    fn screen(transcript: &mut Transcript, rows: usize) -> Vec<String> {
        transcript.layout(&look(40), rows, Vec::new());
        transcript
            .rows()
            .map(|row| match row {
                Row::Blank => String::new(),
                Row::Text(line) | Row::Card(_, line) => line.text().trim().to_owned(),
            })
            .collect()
    }

    #[test]
    fn it_follows_scrolls_and_comes_back() {
        let mut transcript = Transcript::default();
        (0..4).for_each(|number| transcript.push(note(number, 2)));
        assert_eq!(screen(&mut transcript, 4), ["c2l1", "", "· c3l0", "c3l1"]);
        transcript.up(3, &look(40));
        assert_eq!(screen(&mut transcript, 4), ["c1l1", "", "· c2l0", "c2l1"]);
        transcript.push(note(4, 1));
        assert_eq!(screen(&mut transcript, 4), ["c1l1", "", "· c2l0", "c2l1"]);
        assert_eq!((transcript.follows(), transcript.unseen), (false, 1));
        transcript.up(99, &look(40));
        assert_eq!(screen(&mut transcript, 2), ["· c0l0", "c0l1"]);
        transcript.down(99, &look(40));
        assert_eq!(screen(&mut transcript, 2), ["", "· c4l0"]);
        assert_eq!((transcript.follows(), transcript.unseen), (true, 0));
    }

    #[test]
    fn what_fits_stands_at_the_top_and_follows() {
        let mut transcript = Transcript::default();
        transcript.push(note(0, 1));
        transcript.layout(&look(40), 5, Vec::new());
        transcript.up(3, &look(40));
        assert_eq!(screen(&mut transcript, 5), ["· c0l0"]);
        assert!(transcript.follows());
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
            transcript.up(up, &look(40));
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
            transcript.up(up + by, &look(40));
            screen(&mut transcript, rows);
            transcript.down(by, &look(40));
            let there = screen(&mut transcript, rows);
            transcript.up(by, &look(40));
            screen(&mut transcript, rows);
            transcript.down(by, &look(40));
            prop_assert_eq!(screen(&mut transcript, rows), there);
        }
    }
}
