//! The screen as seen by a panel, and what a panel may change besides itself.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::frontend::dialogue::Dialogue;
use crate::frontend::protocol::{ClientQuery, ClientRequest, Header};
use crate::tui::batch::Question;
use crate::tui::cards::Cards;
use crate::tui::cells::RenderContext;
use crate::tui::keys::{Action, Context, Keymap};
use crate::tui::msg::Cmd;

/// The screen that a panel is drawn on.
#[derive(Clone, Copy)]
pub struct Screen<'a> {
    /// Columns of the whole screen.
    pub columns: usize,
    /// Rows of the pane.
    pub rows: usize,
    pub context: RenderContext,
    pub keymap: &'a Keymap,
    pub header: Option<&'a Header>,
    /// The time zone in which times are shown.
    pub zone: &'a TimeZone,
    pub now: Timestamp,
    /// Whether a high-risk request was approved once and needs a second key.
    pub approved_once: bool,
}

impl Screen<'_> {
    /// Returns the columns of the preview beside the list of sessions; 0 if there is no room for it.
    pub fn preview_columns(&self) -> usize {
        if self.columns < 120 { 0 } else { self.columns / 2 - 4 }
    }
}

/// The context of a panel while it handles a key or a message.
pub struct PanelContext<'a> {
    pub screen: Screen<'a>,
    pub now_ms: u64,
    /// Whether a turn runs in the current session.
    pub turn_runs: bool,
    pub cards: &'a Cards,
    pub dialogue: &'a mut Dialogue<Question, Vec<ClientRequest>>,
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

    pub fn stop_first(&self) -> String {
        stop_first(self.screen.keymap)
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
