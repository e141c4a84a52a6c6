//! The part of the transcript that is selected by mouse or keys for copying.
//!
//! Positions are cells and lines, never rows of the screen, so a selection stays in place while text is
//! appended. Changed by `update`; the view draws it.

use std::ops::Range;

use super::transcript::{TextPosition, columns};

/// The selected part, and the block that has the keyboard focus.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selection {
    /// The cell that keys act on while the transcript has the focus.
    pub at: usize,
    pub mark: Option<SelectedRange>,
    /// The press while the button is down.
    pub press: Option<Press>,
    /// The last press, to detect double clicks.
    pub clicks: Option<Clicks>,
}

/// A selected range; both ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectedRange {
    pub anchor: TextPosition,
    pub head: TextPosition,
    pub unit: SelectionUnit,
    /// The transcript's shape when the selection was made.
    pub shape: u64,
}

/// The unit of a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionUnit {
    /// Cells of the screen, with the mouse.
    Cells,
    /// Whole lines, with the keys.
    Lines,
}

/// The place where the button was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Press {
    pub position: TextPosition,
    pub moved: bool,
}

/// Presses at one place in quick succession.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clicks {
    pub position: TextPosition,
    pub at_ms: u64,
    pub count: usize,
}

impl SelectedRange {
    /// Returns the first and last place.
    pub fn span(&self) -> (TextPosition, TextPosition) {
        let (from, to) = (self.anchor.min(self.head), self.anchor.max(self.head));
        match self.unit {
            SelectionUnit::Cells => (from, to),
            SelectionUnit::Lines => {
                (TextPosition { column: 0, ..from }, TextPosition { column: usize::MAX - 1, ..to })
            }
        }
    }

    /// Returns the selected cells of a line.
    pub fn columns(&self, cell: usize, line: usize) -> Range<usize> {
        columns(self.span(), cell, line)
    }

    pub fn touches(&self, cell: usize) -> bool {
        let (from, to) = self.span();
        (from.cell..=to.cell).contains(&cell)
    }
}
