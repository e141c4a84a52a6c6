//! The completion popup, drawn upward from the composer over the transcript.

use crate::tui::line::Line;
use crate::tui::model::Model;

/// Its lines, at most `rows`; none while it is closed.
pub fn lines(_model: &Model, _rows: usize) -> Vec<Line> {
    Vec::new()
}
