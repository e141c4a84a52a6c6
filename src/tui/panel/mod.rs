//! What lies over the transcript: at most one panel, which has the keys.
//!
//! A panel is a file of its own: its state, what keys do to it, its drawing and its hints. All of it is
//! behind [`PanelState`]. A new panel is a file here, a variant with its two arms below, and rows in the table of keys.
//!
//! A panel changes itself, the dialogue and the status line. What it wants of the rest of the screen it returns as
//! [`Then`]. Called by `update::panel` and by the view.

mod help;
mod inbox;
mod login;
mod pick;
mod screen;

pub use self::help::Help;
pub use self::inbox::Inbox;
pub use self::login::Login;
pub use self::pick::{Pick, Purpose};
pub use self::screen::{PanelContext, Screen};
use super::batch::Question;
use super::keys::{Action, Context, Keymap, Nav};
use super::line::Line;
use crate::approval::RequestId;
use crate::frontend::protocol::{ServerMessage, ServiceLine};
use crate::history::SessionId;

/// The open panel.
#[derive(Debug, Clone, PartialEq)]
pub enum Panel {
    /// The list of keys.
    Help(Help),
    /// A list to pick from: earlier lines, sessions, services, models.
    Pick(Box<Pick>),
    /// The form of a service that is set up.
    Login(Box<Login>),
    /// The requests that wait in all sessions.
    Inbox(Box<Inbox>),
}

/// What follows from what a panel did.
#[derive(Debug, Clone, PartialEq)]
pub enum Then {
    Stay,
    Close,
    /// This panel takes its place.
    Replace(Panel),
    /// The form of this service, picked from the list, takes its place.
    SetUp {
        service: ServiceLine,
        list: Box<Pick>,
    },
    /// It closes, and this action of a context is done.
    Run(Context, Action),
    /// It closes, and the text replaces that of the composer.
    Write(String),
    /// It closes, and this session is opened in place of the one at hand.
    OpenSession(SessionId),
    /// It closes, and the card of this request gets the keys.
    ToCard(RequestId),
}

/// What every panel can do. Where nothing is said here of a panel, it ignores keys and messages of that kind.
pub trait PanelState {
    /// Returns the contexts that are asked what a key does, in order.
    fn contexts(&self) -> &'static [Context];

    /// Returns what a key would answer.
    fn question(&self) -> Question {
        Question::Nothing
    }

    /// Asks the owner for what it shows.
    fn opened(&mut self, _cx: &mut PanelContext<'_>) {}

    /// Does an action; returns `None` if the action has nothing to do with the panel.
    fn act(&mut self, action: Action, cx: &mut PanelContext<'_>) -> Option<Then>;

    /// Takes a typed character that is no key.
    fn typed(&mut self, c: char, cx: &mut PanelContext<'_>);

    /// Takes a pasted text; all texts of panels are one line.
    fn paste(&mut self, _text: &str, _cx: &mut PanelContext<'_>) {}

    /// Takes an answer of the owner; one that is for another panel is dropped.
    fn tell(&mut self, _message: ServerMessage, _cx: &mut PanelContext<'_>) -> Then {
        Then::Stay
    }

    /// Shows the owner's words, if the panel hides where the transcript has them.
    fn overhear(&mut self, _text: &str) {}

    /// Returns the moves of one step of the wheel; `step` goes to another row, `line` moves by a line.
    fn wheel(&self, step: Nav, _line: Nav) -> Vec<Nav> {
        vec![step]
    }

    /// The screen has another size.
    fn resized(&mut self) {}

    /// Lays out what the next frame will show.
    fn lay_out(&mut self, _screen: &Screen<'_>) {}

    /// Returns the lines of the pane.
    fn draw(&self, screen: &Screen<'_>) -> Vec<Line>;

    /// Returns the cursor's row and column in the pane, if a text is written.
    fn cursor(&self, _screen: &Screen<'_>) -> Option<(usize, usize)> {
        None
    }

    /// Returns the hints of the status line.
    fn hints(&self, keymap: &Keymap) -> String;

    /// Returns the words for it in the rule above the composer.
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
        }
    }

    pub fn state_mut(&mut self) -> &mut dyn PanelState {
        match self {
            Self::Help(help) => help,
            Self::Pick(pick) => pick.as_mut(),
            Self::Login(login) => login.as_mut(),
            Self::Inbox(inbox) => inbox.as_mut(),
        }
    }
}
