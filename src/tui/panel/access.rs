//! The state that a panel may read and change besides its own.

use crate::frontend::dialogue::Dialogue;
use crate::frontend::protocol::{ClientQuery, ClientRequest};
use crate::tui::batch::Question;
use crate::tui::cards::Cards;
use crate::tui::keys::{Action, Context, Keymap};
use crate::tui::msg::Cmd;
use crate::tui::screen::Screen;

/// The context of a panel while it handles a key or a message.
pub struct PanelContext<'a> {
    pub screen: Screen<'a>,
    pub now_ms: u64,
    /// Whether a turn runs in the current session.
    pub turn_runs: bool,
    pub cards: &'a Cards,
    pub dialogue: &'a mut Dialogue<Question, ClientRequest>,
    /// A text for the status line, if there is one to show.
    pub flash: Option<String>,
    pub cmds: &'a mut Vec<Cmd>,
}

impl PanelContext<'_> {
    pub fn send(&mut self, request: ClientRequest) {
        self.cmds.push(Cmd::Send(request));
    }

    pub fn ask(&mut self, query: ClientQuery) {
        self.cmds.push(Cmd::Ask(query));
    }

    pub fn flash(&mut self, text: impl Into<String>) {
        self.flash = Some(text.into());
    }
}

/// Returns the advice to stop the running turn before another session is opened.
pub fn stop_first(keymap: &Keymap) -> String {
    let key = keymap.key_label(Context::Global, Action::Escape);
    format!("a turn is running: stop it first ({key}, {key})")
}
