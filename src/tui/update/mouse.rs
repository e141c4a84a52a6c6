//! What the mouse does: scroll, mark, give a card the keys.

use crate::tui::model::Model;
use crate::tui::msg::{Cmd, Mouse};

pub fn take(_model: &mut Model, _mouse: Mouse, _cmds: &mut Vec<Cmd>) {}
