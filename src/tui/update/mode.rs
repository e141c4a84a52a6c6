//! Changes of the mode. No key turns on yolo.

use crate::command::about_mode;
use crate::config::Mode;
use crate::frontend::protocol::ClientRequest;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;

/// Switches to the next mode. Does nothing behind a panel, which hides the rule that shows the mode.
pub fn next(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let (None, Some(header)) = (&model.panel, &model.header) {
        set(model, header.mode.next(), cmds);
    }
}

/// Switches to a mode before the owner confirms it.
pub fn set(model: &mut Model, mode: Mode, cmds: &mut Vec<Cmd>) {
    let Some(header) = &mut model.header else { return };
    header.mode = mode;
    cmds.push(Cmd::Send(ClientRequest::SetMode { mode }));
    model.say(&format!("{}: {}", mode.word(), about_mode(mode)));
}
