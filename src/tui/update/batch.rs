//! The keys of several requests shown as one list.

use crate::tui::keys::BatchKey;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;

pub fn act(_model: &mut Model, _key: BatchKey, _cmds: &mut Vec<Cmd>) {}
