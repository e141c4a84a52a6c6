//! Panels over the transcript: at most one, which has the keys.
//!
//! Each panel has a file with its state, keys, drawing and hints, behind [`PanelState`]. A new panel needs a file, and
//! its variant and keys below. A panel changes itself, the dialogue and the status line, and returns other effects as
//! [`PanelEffect`].

mod access;
mod help;
mod inbox;
mod login;
mod pager;
mod pick;
mod servers;

use std::sync::LazyLock;

pub use self::access::{PanelContext, stop_first};
pub use self::help::Help;
pub use self::inbox::Inbox;
pub use self::login::Login;
pub use self::pager::Pager;
pub use self::pick::{Picker, Purpose};
pub use self::servers::ToolServers;
use super::batch::Question;
use super::cards::Cards;
use super::composer::Editor;
use super::keys::{Action, Context, KeyTable, Keymap, Nav};
use super::line::Line;
pub use super::screen::Screen;
use crate::approval::RequestId;
use crate::frontend::protocol::{ClientQuery, QueryAnswer, ServerMessage};
use crate::history::SessionId;

/// The open panel.
#[derive(Debug, Clone, PartialEq)]
pub enum Panel {
    /// The list of keys.
    Help(Help),
    /// A list to pick from: earlier lines, sessions, services, models.
    Pick(Box<Picker>),
    /// The form of a service that is set up.
    Login(Box<Login>),
    /// The pending requests of all sessions.
    Inbox(Box<Inbox>),
    /// Requests of this session on the whole pane.
    Pager(Box<Pager>),
    Servers(Box<ToolServers>),
}

/// The table of keys, with those of all panels in the order of lists.
pub static KEY_TABLE: LazyLock<KeyTable> = LazyLock::new(|| {
    KeyTable::with(&[inbox::KEYS, pager::KEYS, pick::KEYS, servers::KEYS, login::KEYS, help::KEYS])
});

impl Default for Keymap {
    fn default() -> Self {
        Self::of(&KEY_TABLE)
    }
}

/// The effect of a panel's action.
#[derive(Debug, Clone, PartialEq)]
pub enum PanelEffect {
    Stay,
    Close,
    /// This panel replaces it.
    Replace(Panel),
    /// It closes, and this action of a context is executed.
    Run(Context, Action),
    /// It closes, and the text replaces that of the composer.
    Write(String),
    /// It closes, and this session is opened in place of the current one.
    OpenSession(SessionId),
    /// It closes, and the card of this request gets the keys.
    ToCard(RequestId),
    /// It closes; approvals of these requests were sent.
    Approved(Vec<RequestId>),
}

/// The behaviour of a panel. The default methods ignore the key or message.
pub trait PanelState {
    /// Returns the context whose layer binds keys.
    fn context(&self) -> Context;

    /// Returns the question that a key would answer.
    fn question(&self) -> Question {
        Question::Nothing
    }

    /// Requests the panel's data from the owner.
    fn on_open(&mut self, _cx: &mut PanelContext<'_>) {}

    /// Executes an action; returns `None` if it does not concern the panel.
    fn act(&mut self, action: Action, cx: &mut PanelContext<'_>) -> Option<PanelEffect>;

    /// Returns the text that is written.
    fn editor(&mut self) -> Option<&mut Editor> {
        None
    }

    /// Handles a change of that text.
    fn on_change(&mut self, _cx: &mut PanelContext<'_>) {}

    /// Handles a key of that text; returns whether there is one.
    fn write(&mut self, action: Action, cx: &mut PanelContext<'_>) -> bool {
        let width = cx.screen.columns;
        match (action, self.editor()) {
            (Action::Edit(edit), Some(editor)) => {
                editor.edit(edit);
                self.on_change(cx);
            }
            (Action::Move(to), Some(editor)) => {
                editor.step(to, width);
            }
            _ => return false,
        }
        true
    }

    /// Inserts a text that was typed or pasted.
    fn insert(&mut self, text: &str, cx: &mut PanelContext<'_>) {
        if let Some(editor) = self.editor() {
            editor.insert(text);
            self.on_change(cx);
        }
    }

    /// Handles a typed character that is bound to no key.
    fn on_char(&mut self, c: char, cx: &mut PanelContext<'_>) {
        self.insert(c.encode_utf8(&mut [0; 4]), cx);
    }

    /// Handles a pasted text; all texts of panels are one line.
    fn paste(&mut self, text: &str, cx: &mut PanelContext<'_>) {
        self.insert(text.lines().next().unwrap_or_default(), cx);
    }

    /// Handles a message of the owner.
    fn tell(&mut self, _message: ServerMessage, _cx: &mut PanelContext<'_>) -> PanelEffect {
        PanelEffect::Stay
    }

    /// Handles the owner's answer to a query; the panel that asked may be closed.
    fn answer(&mut self, _query: ClientQuery, _answer: QueryAnswer, _cx: &mut PanelContext<'_>) {}

    /// Shows a message of the owner, if the panel hides the transcript that has it.
    fn observe_message(&mut self, _text: &str) {}

    /// Shows that the decisions which were sent on these requests did not count.
    fn on_decisions_lost(&mut self, _requests: &[RequestId], text: &str) {
        self.observe_message(text);
    }

    /// Returns the moves of one step of the wheel; `step` goes to another row, `line` moves by a line.
    fn wheel(&self, step: Nav, _line: Nav) -> Vec<Nav> {
        vec![step]
    }

    /// Handles a change of the screen's size.
    fn on_resize(&mut self) {}

    /// Lays out the next frame, and records what it shows of the requests.
    fn lay_out(&mut self, _screen: &Screen<'_>, _cards: &mut Cards) {}

    /// Returns the lines of the pane.
    fn draw(&self, screen: &Screen<'_>) -> Vec<Line>;

    /// Returns the cursor's row and column in the pane, if a text is written.
    fn cursor(&self, _screen: &Screen<'_>) -> Option<(usize, usize)> {
        None
    }

    /// Returns the hints of the status line.
    fn hints(&self, keymap: &Keymap) -> String;

    /// Returns its name for the rule above the composer.
    fn title(&self) -> Option<&'static str> {
        None
    }
}

impl Panel {
    pub fn state(&self) -> &dyn PanelState {
        match self {
            Self::Help(help) => help,
            Self::Pick(pick) => pick.as_ref(),
            Self::Login(login) => login.as_ref(),
            Self::Inbox(inbox) => inbox.as_ref(),
            Self::Pager(pager) => pager.as_ref(),
            Self::Servers(servers) => servers.as_ref(),
        }
    }

    pub fn state_mut(&mut self) -> &mut dyn PanelState {
        match self {
            Self::Help(help) => help,
            Self::Pick(pick) => pick.as_mut(),
            Self::Login(login) => login.as_mut(),
            Self::Inbox(inbox) => inbox.as_mut(),
            Self::Pager(pager) => pager.as_mut(),
            Self::Servers(servers) => servers.as_mut(),
        }
    }
}
