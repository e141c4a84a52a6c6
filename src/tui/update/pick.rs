//! The keys of lists to pick from.

use crate::tui::keys::PickKey;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;

pub fn act(_model: &mut Model, _key: PickKey, _cmds: &mut Vec<Cmd>) {}
