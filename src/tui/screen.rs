//! The state of the screen that cards, lists and panels are drawn with.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::cells::RenderContext;
use super::keys::Keymap;
use crate::frontend::protocol::Header;

/// The screen that a card, a list or a panel is drawn on.
#[derive(Clone, Copy)]
pub struct Screen<'a> {
    /// Columns for the drawing: those of the pane, for a panel or a wide card those of the whole screen. A card is at most
    /// [`RenderContext::width`] wide, a list may be wider.
    pub columns: usize,
    /// Rows of the pane.
    pub rows: usize,
    pub context: RenderContext,
    pub keymap: &'a Keymap,
    /// Names the folder in which commands would run.
    pub header: Option<&'a Header>,
    /// The time zone in which times are shown.
    pub zone: &'a TimeZone,
    pub now: Timestamp,
    /// Whether a high-risk request was approved once and needs a second key.
    pub approved_once: bool,
    pub focus: CardFocus,
    pub delay: CardDelay,
    /// The number of the current card, from 1, and of all.
    pub position: (usize, usize),
}

/// Whether the card has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardFocus {
    Keys,
    /// It took them by itself: only some of its keys work.
    KeysByItself,
    Nothing,
}

/// Why the card that has the keys does not answer at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardDelay {
    Nothing,
    /// The guard time, of which this many percent are over.
    Guard(u64),
    /// This key is executed if no other one follows.
    Key(char),
}
