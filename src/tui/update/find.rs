//! The keys of the search in the transcript.

use crate::tui::keys::FindKey;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;

pub fn act(_model: &mut Model, _key: FindKey, _cmds: &mut Vec<Cmd>) {}
