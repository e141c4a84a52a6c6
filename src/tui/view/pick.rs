//! The lists to pick from.

use crate::tui::line::Line;
use crate::tui::model::Model;
use crate::tui::pick::Pick;

pub fn lines(_model: &Model, pick: &Pick, _rows: usize) -> Vec<Line> {
    match *pick {}
}
