//! The keys of the form in which arguments are edited.

use crate::tui::keys::FormKey;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;

pub fn act(_model: &mut Model, _key: FormKey, _cmds: &mut Vec<Cmd>) {}
