//! Draws the inbox: sessions with their requests, and the chosen one beside or below the list. Only visible rows are
//! made.

use super::details::Detail;
use super::shape::{DetailPosition, InboxShape};
use super::{APPROVED, CONTEXT, FILTER_CONTEXT, FILTERED, Inbox, InboxRow, LATER, LoadState, RESUME};
use crate::frontend::protocol::{Header, InboxLine};
use crate::message::ToolName;
use crate::stdx::moment::{age, deadline};
use crate::stdx::text::{one_line_summary, short_path};
use crate::store::RequestState;
use crate::tui::bordered_box::{BorderedBox, column};
use crate::tui::cells::card::{LOW, fitting};
use crate::tui::cells::list::{
    Columns, ListRow, decision_hints, detail as request, heading, join_columns, reason_keys,
};
use crate::tui::composer::Rows;
use crate::tui::keys::{Action, Context, Hint, ListKey, Nav};
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::list::{ListStage, SHOWS_MORE};
use crate::tui::panel::Screen;
use crate::tui::theme::Role;

/// Cells of an age and of an expiry time.
const AGE: usize = 6;
const EXPIRES: usize = 9;

/// Below this width of the list there is no expiry column, and names are shorter.
const NARROW: usize = 60;

/// The explanation shown while nothing is pending.
const EMPTY: &str = "Requests from every session wait here until you decide, here or in another \
                     terminal, now or later. An approved call runs once, when its session continues.";

/// The explanation shown while the list could not be read.
const FAILED: &str = "The list could not be read; the transcript says why. It is read again when a request changes, or \
                      when you open it again.";

pub fn lines(screen: &Screen<'_>, inbox: &Inbox) -> Vec<Line> {
    let shape = InboxShape::of(inbox, screen);
    let mut boxed =
        BorderedBox::new(screen.context.glyphs, screen.columns, title(screen, inbox), count(inbox));
    if shape.filter > 0 {
        let shown = Rows::of(&inbox.filter, shape.room.saturating_sub(2));
        boxed.push(Line::of("/ ", Role::Key).joined(shown.line(&inbox.filter, shown.cursor.row)));
    }
    match shape.place {
        DetailPosition::Alone => detail(screen, inbox, &shape).into_iter().for_each(|line| boxed.push(line)),
        DetailPosition::Below => {
            list(screen, inbox, &shape).into_iter().for_each(|line| boxed.push(line));
            if shape.detail_rows > 0 {
                boxed.push(Line::of(screen.context.glyphs.rule.repeat(shape.room), Role::Dim));
                detail(screen, inbox, &shape).into_iter().for_each(|line| boxed.push(line));
            }
        }
        DetailPosition::Right => {
            let (list, detail) = (list(screen, inbox, &shape), detail(screen, inbox, &shape));
            let lines = join_columns(list, detail, shape.list_width, screen.context.glyphs);
            lines.into_iter().for_each(|line| boxed.push(line));
        }
    }
    shape.foot.lines.into_iter().for_each(|line| boxed.push(line));
    boxed.end(keys(screen, inbox, shape.room), Line::new())
}

/// Returns the cursor's row and column in the pane while a text is written.
pub fn cursor(screen: &Screen<'_>, inbox: &Inbox) -> Option<(usize, usize)> {
    let shape = InboxShape::of(inbox, screen);
    if inbox.list.stage == ListStage::Filtering {
        return Some((1, 4 + Rows::of(&inbox.filter, shape.room.saturating_sub(2)).cursor.column));
    }
    shape.foot.cursor.map(|column| (screen.rows.saturating_sub(shape.foot.lines.len()), 2 + column))
}

fn title(screen: &Screen<'_>, inbox: &Inbox) -> Line {
    match inbox.chosen_line().filter(|_| inbox.is_whole) {
        Some(line) => Line::of(format!("{} ", screen.context.glyphs.waiting), Role::Waiting)
            .joined(heading(&line.row.tool, line.row.risk, line.row.tainted, screen.context.glyphs))
            .with(format!(" {} ", screen.context.glyphs.dot), Role::Dim)
            .with(one_line_summary(line.title(), 40), Role::Heading),
        None => Line::of(format!("{} waiting for you", screen.context.glyphs.waiting), Role::Waiting),
    }
}

fn count(inbox: &Inbox) -> Line {
    let (requests, sessions) = inbox.counts();
    let marked = inbox.marked_count();
    let words = match inbox.load_state {
        LoadState::NotLoaded => "loading…".to_owned(),
        LoadState::Failed => "not loaded".to_owned(),
        LoadState::Loaded | LoadState::Outdated if inbox.lines.is_empty() => "none".to_owned(),
        LoadState::Loaded | LoadState::Outdated if requests < inbox.undecided_count() => {
            format!("{requests} of {}", inbox.undecided_count())
        }
        LoadState::Loaded | LoadState::Outdated if sessions == 1 => requests.to_string(),
        LoadState::Loaded | LoadState::Outdated => format!("{requests} in {sessions} sessions"),
    };
    match marked {
        0 => Line::of(words, Role::Dim),
        marked => Line::of(format!("{words} · "), Role::Dim).with(format!("{marked} marked"), Role::Waiting),
    }
}

/// Returns the list in exactly its rows.
fn list(screen: &Screen<'_>, inbox: &Inbox, shape: &InboxShape) -> Vec<Line> {
    let rows = shape.head + shape.list_rows;
    let mut lines = Vec::with_capacity(rows);
    if inbox.rows.is_empty() {
        lines = nothing(screen, inbox, shape.list_width);
    } else {
        let table = InboxTable::of(inbox, shape);
        if shape.head > 0 {
            lines.push(table.head());
        }
        for at in shape.list.clone() {
            lines.push(match inbox.rows[at] {
                InboxRow::Session(line) => session(screen, &inbox.lines[line], table.columns.width),
                InboxRow::Request(index) => table.row(screen, inbox, &inbox.lines[index], at == inbox.at),
            });
        }
    }
    lines.truncate(rows);
    lines.resize(rows, Line::new());
    lines
}

fn nothing(screen: &Screen<'_>, inbox: &Inbox, width: usize) -> Vec<Line> {
    let even = Margin::even(Line::of("  ", Role::Text));
    let text = |text: &str, role| wrap_spans(&[Span::new(text, role)], width.min(76), &even);
    match inbox.load_state {
        LoadState::NotLoaded => return text("loading…", Role::Dim),
        LoadState::Failed => return text(FAILED, Role::Fail),
        LoadState::Loaded | LoadState::Outdated => {}
    }
    if !inbox.lines.is_empty() {
        let key = screen.keymap.key_label(Context::Global, Action::Escape);
        return text(&format!("No request matches. {key} clears the filter."), Role::Dim);
    }
    let mut lines = vec![Line::new()];
    lines.extend(text("No requests waiting.", Role::Text));
    lines.push(Line::new());
    lines.extend(text(EMPTY, Role::Dim));
    lines.push(Line::new());
    lines.extend(text("co approvals   lists and decides them in any terminal", Role::Dim));
    lines
}

/// Returns the line of a session, above its requests.
fn session(screen: &Screen<'_>, line: &InboxLine, width: usize) -> Line {
    let right = Line::of(line.holder.word(), Role::Dim);
    let room = width.saturating_sub(right.width() + 2);
    let title = Line::of(one_line_summary(line.title(), 40), Role::Heading);
    let place = format!(" {} {}", screen.context.glyphs.dot, short_path(&line.row.workspace, 40));
    Line::spread(title.with(place, Role::Dim).cut(room), right, width)
}

/// The columns of the list.
struct InboxTable {
    columns: Columns,
    expires: usize,
}

impl InboxTable {
    fn of(inbox: &Inbox, shape: &InboxShape) -> Self {
        let visible = || {
            shape.list.clone().filter_map(|at| match inbox.rows[at] {
                InboxRow::Request(index) => Some(&inbox.lines[index]),
                InboxRow::Session(_) => None,
            })
        };
        let tools = visible().map(|line| -> &ToolName { &line.row.tool });
        let columns = Columns::of(shape.list_width, NARROW, 0, tools);
        let has_moments = !columns.is_narrow && visible().any(|line| line.row.expires.is_some());
        Self { columns, expires: if has_moments { EXPIRES + 2 } else { 0 } }
    }

    fn head(&self) -> Line {
        let mut right = column(Line::of(format!("{:>AGE$}", "age"), Role::Dim), AGE);
        if self.expires > 0 {
            right = right.with(format!("  {:<EXPIRES$}", "until"), Role::Dim);
        }
        self.columns.head("", right)
    }

    fn row(&self, screen: &Screen<'_>, inbox: &Inbox, line: &InboxLine, is_chosen: bool) -> Line {
        let row = ListRow {
            is_chosen,
            mark: inbox.mark(line),
            number: 0,
            risk: line.row.risk,
            tool: &line.row.tool,
            what: Line::of(one_line_summary(&line.row.summary, 200), Role::Text),
            is_tainted: line.row.tainted,
            right: self.right(line, inbox.decides(line), screen),
        };
        self.columns.row(row, screen.context.glyphs)
    }

    /// Returns the age and expiry of a request, or the decision sent for it.
    fn right(&self, line: &InboxLine, word: Option<&'static str>, screen: &Screen<'_>) -> Line {
        let cells = AGE + self.expires;
        let text = match (word, line.row.state) {
            (Some(APPROVED), _) => {
                let key = screen.keymap.key_label(CONTEXT, RESUME);
                return Line::of(format!("{APPROVED}, {key} resumes"), Role::Ok);
            }
            (Some(word), _) => return Line::of(format!("{:>cells$}", format!("{word}…")), Role::Waiting),
            (None, RequestState::Later) => "later".to_owned(),
            (None, _) => age(line.row.created, screen.now),
        };
        let mut right = Line::of(format!("{text:>AGE$}"), Role::Dim);
        if self.expires > 0 {
            let until = line.row.expires.map_or_else(String::new, |at| deadline(at, screen.now, screen.zone));
            let role = if until == "expired" { Role::Fail } else { Role::Dim };
            right = right.with(format!("  {until:<EXPIRES$}"), role);
        }
        right
    }
}

/// Returns the chosen request in exactly its rows.
fn detail(screen: &Screen<'_>, inbox: &Inbox, shape: &InboxShape) -> Vec<Line> {
    let head = shape.detail_head;
    let mut lines = match inbox.chosen_line().map(|line| inbox.details.known.get(&line.row.id)) {
        None => Vec::new(),
        Some(None) => vec![Line::of("looking…", Role::Dim)],
        Some(Some(Detail::Gone(text))) => {
            wrap_spans(&[Span::new(text, Role::Fail)], shape.detail_width, &Margin::default())
        }
        Some(Some(Detail::Whole { card, header })) => {
            let screen = detail_screen(screen, header.as_deref(), shape);
            let keys = screen.keymap.row(match shape.place {
                DetailPosition::Alone => &[(Context::Global, Action::Nav(Nav::PageDown), "")],
                DetailPosition::Right | DetailPosition::Below => &SHOWS_MORE,
            });
            request(card, &screen, shape.detail_width, shape.detail_rows, &keys).lines
        }
    };
    lines.truncate(shape.detail_rows);
    if let Some(line) = inbox.chosen_line().filter(|_| head > 0) {
        let title = Line::of(one_line_summary(line.title(), 40), Role::Dim);
        let heading = heading(&line.row.tool, line.row.risk, line.row.tainted, screen.context.glyphs);
        lines.insert(0, Line::spread(heading, title, shape.detail_width));
        lines.insert(1, Line::new());
    }
    lines.resize(shape.detail_rows + head, Line::new());
    lines
}

fn keys(screen: &Screen<'_>, inbox: &Inbox, room: usize) -> Line {
    let (keymap, dot) = (screen.keymap, screen.context.glyphs.dot);
    let escape = |words| (Context::Global, Action::Escape, words);
    let wanted = match &inbox.list.stage {
        ListStage::Reason { .. } => reason_keys(keymap),
        ListStage::Filtering => {
            keymap.hints(&[(FILTER_CONTEXT, FILTERED, "back to the list"), escape("whole")])
        }
        ListStage::Choosing if inbox.rows.is_empty() => keymap.hints(&[escape("close")]),
        ListStage::Choosing => deciding(screen, inbox),
    };
    // The words in the border have a space at each end.
    fitting(wanted, dot, room.saturating_sub(2))
}

fn deciding(screen: &Screen<'_>, inbox: &Inbox) -> Vec<Hint> {
    let on = |key, words| (Context::Batch, Action::List(key), words);
    let mut wanted = vec![(CONTEXT, LATER, "later"), on(ListKey::Mark, "mark")];
    if !inbox.is_whole {
        wanted.extend([on(ListKey::Open, "whole"), on(ListKey::MarkLow, "low")]);
    }
    let escape = if inbox.is_whole { "list" } else { "close" };
    wanted.extend([on(ListKey::Why, "why"), (Context::Global, Action::Escape, escape)]);
    let mut shown = decision_hints("", inbox.marked_count(), screen.keymap);
    shown.extend(screen.keymap.hints(&wanted));
    shown
}

/// Returns the screen on which the detail is drawn.
pub fn detail_screen<'a>(screen: &Screen<'a>, header: Option<&'a Header>, shape: &InboxShape) -> Screen<'a> {
    // Facts are left out on the lowest screens only.
    Screen { rows: shape.detail_rows.max(LOW), columns: shape.detail_width, header, ..*screen }
}
