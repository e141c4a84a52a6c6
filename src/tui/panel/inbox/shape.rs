//! The division of the inbox between list, detail and the lines below. Pure.

use super::Inbox;
use crate::tui::cells::list::{CardFooter, WIDE, split};
use crate::tui::completion::window;
use crate::tui::list::ListStage;
use crate::tui::panel::Screen;

/// With fewer rows inside the border only the list is shown.
const ROOMY: usize = 10;

/// Below this height there are no column names.
const NAMED: usize = 14;

/// The layout, in rows and cells inside the border.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxShape {
    /// Cells between the sides.
    pub room: usize,
    /// Rows of the filter.
    pub filter: usize,
    /// Rows of the column names.
    pub head: usize,
    /// Cells of the list, and its visible rows.
    pub list_width: usize,
    pub list: std::ops::Range<usize>,
    pub list_rows: usize,
    /// Cells and rows of the detail; no rows if there is none.
    pub detail_width: usize,
    pub detail_rows: usize,
    /// Rows of the heading above the detail.
    pub detail_head: usize,
    pub place: DetailPosition,
    /// The text or advice below.
    pub foot: CardFooter,
}

/// The place of the detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailPosition {
    Right,
    Below,
    Alone,
}

impl InboxShape {
    pub fn of(inbox: &Inbox, screen: &Screen<'_>) -> Self {
        let &Screen { columns, rows, .. } = screen;
        let room = columns.saturating_sub(4);
        let inside = rows.saturating_sub(2);
        let filter = usize::from(inbox.list.stage == ListStage::Filtering || !inbox.filter.text().is_empty());
        let due = screen.approved_once.then(|| inbox.open_rows());
        let denied = match inbox.list.refused_ids().len() {
            0 | 1 => String::new(),
            many => format!(" {many} requests"),
        };
        let foot = CardFooter::of(&inbox.list, due, &denied, None, screen.keymap, room);
        let body = inside.saturating_sub(filter + foot.lines.len()).max(1);
        let shape = |list_width, list_rows: usize, detail_width, detail_rows, place, head| {
            let list = window(inbox.rows.len(), inbox.at, list_rows);
            let detail_head = if place == DetailPosition::Right { 2.min(detail_rows) } else { 0 };
            let detail_rows = detail_rows - detail_head;
            Self {
                room,
                filter,
                head,
                list_width,
                list,
                list_rows,
                detail_width,
                detail_rows,
                detail_head,
                place,
                foot,
            }
        };
        if inbox.is_whole {
            return shape(0, 0, room, body, DetailPosition::Alone, 0);
        }
        let head = usize::from(body >= NAMED);
        let list = body - head;
        if inbox.rows.is_empty() {
            return shape(room, list.max(1), room, 0, DetailPosition::Below, 0);
        }
        if columns >= WIDE {
            let (side, detail) = split(room);
            return shape(side, list.max(1), detail, body, DetailPosition::Right, head);
        }
        if body < ROOMY {
            return shape(room, list.max(1), room, 0, DetailPosition::Below, head);
        }
        // A line separates the two. The detail gets what a short list leaves.
        let detail = (list * 9 / 20).max(list.saturating_sub(1 + inbox.longest()));
        shape(room, list - detail - 1, room, detail, DetailPosition::Below, head)
    }
}
