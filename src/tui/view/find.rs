//! The rule above the composer while something is searched for in the transcript.

use crate::tui::find::Find;
use crate::tui::line::Line;
use crate::tui::model::Model;

pub fn rule(_model: &Model, _find: &Find) -> Line {
    Line::new()
}
