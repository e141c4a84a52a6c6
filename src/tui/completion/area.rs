//! The area of the completion popup: over the last rows of the pane, starting at its left edge.
//!
//! Called by `view::popup`, which draws it there, and by `update::mouse`, which must not reach the text below
//! it.

use std::ops::Range;

use super::Popup;

/// Rows of a popup if there is room for them.
const MOST: usize = 8;

/// From this width on a command's usage has its own column.
pub const ROOMY: usize = 100;

/// The greatest width of the popup on narrower screens.
const NARROW: usize = 66;

/// The popup's box, in cells of the pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// The pane row of its upper edge.
    pub top: usize,
    /// Its height in rows, including both edges.
    pub height: usize,
    pub width: usize,
    /// The rows of the popup that are shown.
    pub shown: Range<usize>,
}

impl Area {
    /// Returns the area of a popup in a pane of `rows` rows and `pane` cells.
    pub fn of(popup: &Popup, pane: usize, rows: usize) -> Self {
        let width = pane.min(if pane >= ROOMY { ROOMY } else { NARROW });
        let room = rows.saturating_sub(3).clamp(1, MOST);
        let shown = window(popup.rows.len(), popup.chosen, room);
        let height = 2 + shown.len() + usize::from(popup.is_loading);
        Self { top: rows.saturating_sub(height), height, width, shown }
    }

    /// Whether it contains a cell of the pane.
    pub fn holds(&self, row: usize, column: usize) -> bool {
        (self.top..self.top + self.height).contains(&row) && column < self.width
    }

    /// Returns the popup row at a row of the pane.
    pub fn row_at(&self, row: usize) -> Option<usize> {
        let at = self.shown.start + row.checked_sub(self.top + 1)?;
        self.shown.contains(&at).then_some(at)
    }
}

/// Returns which of `count` rows are shown in `room` rows so that `chosen` is among them.
pub fn window(count: usize, chosen: usize, room: usize) -> Range<usize> {
    let from = (chosen + 1).saturating_sub(room).min(count.saturating_sub(room));
    from..count.min(from + room)
}
