//! One request of the inbox whole: what it would do, and what is to be known beside.
//!
//! It shows, it never decides. Laid out by `update::inbox`, which notes what was seen; drawn by `view::inbox`.

use super::Look;
use jiff::tz::TimeZone;

use super::card::{Frame, Holds, LOW, OutOfSight, facts, hint, prepare_detail};
use crate::frontend::link::Header;
use crate::tui::cards::Card;
use crate::tui::inbox::Place;
use crate::tui::keys::{Action, Context, InboxKey, Keymap, Nav};
use crate::tui::line::Line;

/// Where it stands.
#[derive(Debug, Clone, Copy)]
pub struct Space<'a> {
    pub look: &'a Look,
    pub keymap: &'a Keymap,
    /// As it would stand over its session.
    pub header: Option<&'a Header>,
    /// In whose time moments are told.
    pub zone: &'a TimeZone,
    pub width: usize,
    pub rows: usize,
    pub place: Place,
}

impl<'a> Space<'a> {
    fn frame(&self) -> Frame<'a> {
        Frame {
            look: self.look,
            keymap: self.keymap,
            holds: Holds::Keys,
            // What is to be known beside is left out on the lowest screens only.
            rows: self.rows.max(LOW),
            columns: self.width,
            position: (1, 1),
            header: self.header,
            zone: self.zone,
        }
    }
}

/// How the rows are shared out between what it would do and the rest.
struct Parts {
    beside: Vec<Line>,
    /// Lines of what it would do that are shown.
    room: usize,
    clipped: bool,
}

fn parts(card: &Card, space: &Space<'_>) -> Parts {
    let body = card.body.lines().len();
    let mut beside = facts(card, &space.frame(), space.width);
    // What would happen goes before what is to be known beside it, and before a blank line between the two.
    let least = 1 + usize::from(card.request.again.is_some());
    let left = space.rows.saturating_sub(body).max(least.min(space.rows.saturating_sub(1)));
    if beside.len() > left && !beside.is_empty() {
        beside.remove(0);
    }
    beside.truncate(left);
    let room = space.rows.saturating_sub(beside.len()).max(1);
    let clipped = body > room;
    let room = if clipped { room.saturating_sub(1).max(1) } else { body };
    Parts { beside, room, clipped }
}

/// Brings the request up to date, and notes what of it stands on the screen.
pub fn lay_out(card: &mut Card, space: &Space<'_>) {
    prepare_detail(card, &space.frame(), space.width);
    let Parts { room, .. } = parts(card, space);
    let total = card.body.lines().len();
    card.scroll = card.scroll.min(total.saturating_sub(room));
    card.saw(space.width, room, total);
}

/// Its lines, at most as many as there are rows.
pub fn lines(card: &Card, space: &Space<'_>) -> Vec<Line> {
    let Parts { beside, room, clipped } = parts(card, space);
    let body = card.body.lines();
    let from = card.scroll.min(body.len().saturating_sub(room));
    let mut lines: Vec<Line> = body.iter().skip(from).take(room).cloned().collect();
    if clipped {
        let keys = match space.place {
            Place::Alone => vec![(Context::Global, Action::Nav(Nav::PageDown), "")],
            Place::Beside | Place::Below => vec![
                (Context::Global, Action::Nav(Nav::LineDown), ""),
                (Context::Inbox, Action::Inbox(InboxKey::Open), "whole"),
            ],
        };
        let below = body.len().saturating_sub(from + room);
        let out = OutOfSight { above: from, below, bytes: card.body.more() };
        lines.push(hint(&out, &space.keymap.row(&keys), space.width));
    }
    lines.extend(beside);
    lines.truncate(space.rows);
    lines
}
