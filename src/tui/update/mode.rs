//! The key that goes through the modes. It never leads to where nothing asks.

use crate::command::about_mode;
use crate::config::Mode;
use crate::frontend::protocol::ClientRequest;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;

/// The next mode, at once: the owner's word follows. What lies over the transcript hides the rule that says so.
pub fn next(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if model.panel.is_some() {
        return;
    }
    let Some(header) = &mut model.header else { return };
    let mode: Mode = header.mode.next();
    header.mode = mode;
    cmds.push(Cmd::Send(ClientRequest::SetMode { mode }));
    model.say(&format!("{}: {}", mode.word(), about_mode(mode)));
}
