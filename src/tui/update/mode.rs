//! The key that cycles through the modes. It never turns on yolo.

use crate::command::about_mode;
use crate::config::Mode;
use crate::frontend::protocol::ClientRequest;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;

/// Switches to the next mode before the owner confirms it. Does nothing behind a panel, which hides the rule that shows
/// the mode.
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
