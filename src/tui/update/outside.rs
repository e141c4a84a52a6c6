//! Text that is written in the person's own editor, and comes back.

use crate::tui::model::Model;
use crate::tui::msg::{Cmd, Edited};

pub fn open(_model: &mut Model, _cmds: &mut Vec<Cmd>) {}

pub fn take(_model: &mut Model, _edited: Edited) {}
