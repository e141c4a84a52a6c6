//! What of the transcript is marked, by mouse or keys, to be copied.
//!
//! Places are cells and lines, never rows of the screen, so that a mark stays where it is while text is appended.
//! Changed by `update`; the view draws it.

use std::ops::Range;

use super::transcript::{Spot, columns};

/// The marked part, and the block that has the keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selection {
    /// The cell that keys act on while the transcript has them.
    pub at: usize,
    pub mark: Option<Mark>,
    /// The button is down.
    pub press: Option<Press>,
    /// The last press, by which double clicks are known.
    pub clicks: Option<Clicks>,
}

/// From where to where; both ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub anchor: Spot,
    pub head: Spot,
    pub grain: Grain,
    /// How often cells had gone away when it was made.
    pub shape: u64,
}

/// What a mark is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// Cells of the screen: the mouse.
    Cells,
    /// Whole lines: the keys.
    Lines,
}

/// What the button went down on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Press {
    pub spot: Spot,
    pub moved: Moved,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    No,
    Yes,
}

/// Presses at one place, shortly after each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clicks {
    pub spot: Spot,
    pub at_ms: u64,
    pub count: usize,
}

impl Mark {
    /// Its first and last place.
    pub fn span(&self) -> (Spot, Spot) {
        let (from, to) = (self.anchor.min(self.head), self.anchor.max(self.head));
        match self.grain {
            Grain::Cells => (from, to),
            Grain::Lines => (Spot { column: 0, ..from }, Spot { column: usize::MAX - 1, ..to }),
        }
    }

    /// The marked cells of a line.
    pub fn columns(&self, cell: usize, line: usize) -> Range<usize> {
        columns(self.span(), cell, line)
    }

    pub fn touches(&self, cell: usize) -> bool {
        let (from, to) = self.span();
        (from.cell..=to.cell).contains(&cell)
    }
}
