//! What lies over the transcript: at most one panel, which has the keys.
//!
//! A panel is a file of its own: its state, what keys do to it, its drawing and its hints. [`Panel`] hands each of these
//! on to the open panel. A new panel is a file here, a variant with its arms below, and rows in the table of keys.
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

impl Panel {
    /// Returns the contexts that are asked what a key does, in order.
    pub fn contexts(&self) -> &'static [Context] {
        match self {
            Self::Help(_) => &[Context::Help, Context::Global],
            Self::Pick(_) => &[Context::Pick, Context::Text, Context::Global],
            Self::Login(_) => &[Context::Login, Context::Text, Context::Global],
            Self::Inbox(inbox) => inbox.contexts(),
        }
    }

    /// Returns what a key would answer.
    pub fn question(&self) -> Question {
        match self {
            Self::Inbox(_) => Question::Inbox,
            Self::Help(_) | Self::Pick(_) | Self::Login(_) => Question::Nothing,
        }
    }

    /// Asks the owner for what it shows.
    pub fn opened(&mut self, cx: &mut PanelContext<'_>) {
        match self {
            Self::Pick(pick) => pick.opened(cx),
            Self::Inbox(_) => Inbox::opened(cx),
            Self::Login(login) => login.opened(cx),
            Self::Help(_) => {}
        }
    }

    /// Does an action; returns `None` if the action has nothing to do with the panel.
    pub fn act(&mut self, action: Action, cx: &mut PanelContext<'_>) -> Option<Then> {
        match self {
            Self::Help(help) => help.act(action, cx),
            Self::Pick(pick) => pick.act(action, cx),
            Self::Login(login) => login.act(action, cx),
            Self::Inbox(inbox) => inbox.act(action, cx),
        }
    }

    /// Takes a typed character that is no key.
    pub fn typed(&mut self, c: char, cx: &mut PanelContext<'_>) {
        match self {
            Self::Help(help) => help.typed(c),
            Self::Pick(pick) => pick.typed(c.encode_utf8(&mut [0; 4]), cx),
            Self::Login(login) => login.typed(c, cx),
            Self::Inbox(inbox) => inbox.typed(c.encode_utf8(&mut [0; 4]), cx),
        }
    }

    /// Takes a pasted text; all texts of panels are one line.
    pub fn paste(&mut self, text: &str, cx: &mut PanelContext<'_>) {
        match self {
            Self::Help(_) => {}
            Self::Pick(pick) => pick.typed(text.lines().next().unwrap_or_default(), cx),
            Self::Login(login) => login.paste(text),
            Self::Inbox(inbox) => inbox.typed(text.lines().next().unwrap_or_default(), cx),
        }
    }

    /// Takes an answer of the owner; one that is for another panel is dropped.
    pub fn tell(&mut self, message: ServerMessage, cx: &mut PanelContext<'_>) -> Then {
        match self {
            Self::Help(_) => {}
            Self::Pick(pick) => pick.tell(message, cx),
            Self::Login(login) => return login.tell(message),
            Self::Inbox(inbox) => inbox.tell(message, cx),
        }
        Then::Stay
    }

    /// Shows the owner's words, if the panel hides the transcript's end where they are added.
    pub fn overhear(&mut self, text: &str) {
        match self {
            Self::Inbox(inbox) => inbox.advise(text.lines().next().unwrap_or_default()),
            Self::Help(_) | Self::Pick(_) | Self::Login(_) => {}
        }
    }

    /// Returns the moves of one step of the wheel; `step` goes to another row, `line` moves by a line.
    pub fn wheel(&self, step: Nav, line: Nav) -> Vec<Nav> {
        match self {
            Self::Help(_) => vec![line; 3],
            Self::Pick(_) | Self::Inbox(_) => vec![step],
            Self::Login(_) => Vec::new(),
        }
    }

    /// The screen has another size.
    pub fn resized(&mut self) {
        match self {
            Self::Inbox(inbox) => inbox.details.unsee_partly(),
            Self::Help(_) | Self::Pick(_) | Self::Login(_) => {}
        }
    }

    /// Lays out what the next frame will show.
    pub fn lay_out(&mut self, screen: &Screen<'_>) {
        match self {
            Self::Pick(pick) => pick.lay_out(screen),
            Self::Inbox(inbox) => inbox.lay_out(screen),
            Self::Help(_) | Self::Login(_) => {}
        }
    }

    /// Returns the lines of the pane.
    pub fn lines(&self, screen: &Screen<'_>) -> Vec<Line> {
        match self {
            Self::Help(help) => help.draw(screen),
            Self::Pick(pick) => pick.draw(screen),
            Self::Login(login) => login.draw(screen),
            Self::Inbox(inbox) => inbox.draw(screen),
        }
    }

    /// Returns the cursor's row and column in the pane, if a text is written.
    pub fn cursor(&self, screen: &Screen<'_>) -> Option<(usize, usize)> {
        match self {
            Self::Help(_) => None,
            Self::Pick(pick) => Some(pick.cursor(screen)),
            Self::Login(login) => login.cursor(screen),
            Self::Inbox(inbox) => inbox.cursor(screen),
        }
    }

    /// Returns the hints of the status line.
    pub fn hints(&self, keymap: &Keymap) -> String {
        match self {
            Self::Help(help) => keymap.status(help.hints()),
            Self::Pick(pick) => keymap.status(pick.hints()),
            Self::Login(login) => login.hints(keymap),
            Self::Inbox(inbox) => keymap.status(inbox.hints()),
        }
    }

    /// Returns the words for it in the rule above the composer.
    pub fn title(&self) -> Option<&'static str> {
        match self {
            Self::Help(_) => None,
            Self::Pick(pick) => Some(pick.title()),
            Self::Login(_) => Some("setting up a service"),
            Self::Inbox(inbox) => Some(inbox.title()),
        }
    }
}
