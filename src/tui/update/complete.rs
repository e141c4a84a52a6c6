//! The keys of the completion popup, and what opens it.

use crate::tui::keys::CompleteKey;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;

pub fn act(_model: &mut Model, _key: CompleteKey, _cmds: &mut Vec<Cmd>) {}
