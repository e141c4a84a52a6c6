//! Marking and copying in the transcript, by keys.

use crate::tui::keys::SelectKey;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;

pub fn act(_model: &mut Model, _key: SelectKey, _cmds: &mut Vec<Cmd>) {}
