//! The inbox: sessions with their requests below, and the chosen one beside or below the list.
//!
//! Only the rows on the screen are made; what they say was told by the owner.

use std::path::Path;

use super::boxed::{Boxed, column};
use crate::frontend::protocol::InboxLine;
use crate::message::ToolName;
use crate::stdx::text::one_line_summary;
use crate::store::RequestState;
use crate::tui::cells::card::{fitting, keys_line};
use crate::tui::cells::list::{
    Columns, detail as request, detail_frame, mark, reason, reason_keys, risk_role,
};
use crate::tui::composer::{Editor, Rows};
use crate::tui::inbox::{Detail, DetailPlace, Inbox, InboxRow, InboxShape, Listing, View, advice};
use crate::tui::keys::{Action, Context, Hint, InboxKey, Nav};
use crate::tui::line::{Ink, Line, Margin, Span, wrap_spans};
use crate::tui::list::ListStage;
use crate::tui::model::Model;
use crate::tui::theme::Role;

/// Cells of an age and of a moment.
const AGE: usize = 6;
const EXPIRES: usize = 9;

/// Below this width of the list there is no column for moments, and names are shorter.
const NARROW: usize = 60;

/// How it works, for who has nothing to decide.
const EMPTY: &str = "What a call would change waits here until you decide: of every session, here or in another \
                     terminal, now or tomorrow. A yes lets it run once, when its session goes on.";

pub fn lines(model: &Model, inbox: &Inbox, rows: usize) -> Vec<Line> {
    let shape = shape(model, inbox, rows);
    let mut boxed = Boxed::new(model, usize::from(model.columns), title(model, inbox), count(inbox));
    if shape.filter > 0 {
        let shown = Rows::of(&inbox.filter, shape.room.saturating_sub(2));
        boxed.push(Line::of("/ ", Role::Key).joined(shown.line(&inbox.filter, shown.cursor.row)));
    }
    match shape.place {
        DetailPlace::Alone => detail(model, inbox, &shape).into_iter().for_each(|line| boxed.push(line)),
        DetailPlace::Below => {
            list(model, inbox, &shape).into_iter().for_each(|line| boxed.push(line));
            if shape.detail_rows > 0 {
                boxed.push(Line::of(model.glyphs.rule.repeat(shape.room), Role::Dim));
                detail(model, inbox, &shape).into_iter().for_each(|line| boxed.push(line));
            }
        }
        DetailPlace::Beside => {
            let side = Line::of(format!(" {} ", model.glyphs.side), Role::Dim);
            for (left, right) in list(model, inbox, &shape).into_iter().zip(detail(model, inbox, &shape)) {
                boxed.push(column(left, shape.list_width).joined(side.clone()).joined(right));
            }
        }
    }
    foot(model, inbox, shape.room).into_iter().take(shape.foot).for_each(|line| boxed.push(line));
    boxed.end(keys(model, inbox, shape.room), Line::new())
}

fn shape(model: &Model, inbox: &Inbox, rows: usize) -> InboxShape {
    InboxShape::of(inbox, model.dialogue.is_approved_once(), usize::from(model.columns), rows)
}

/// Where the cursor stands, from the pane's corner, while something is written.
pub fn cursor(model: &Model, inbox: &Inbox, rows: usize) -> Option<(usize, usize)> {
    let shape = shape(model, inbox, rows);
    let column = |editor: &Editor| 4 + Rows::of(editor, shape.room.saturating_sub(2)).cursor.column;
    match &inbox.list.stage {
        ListStage::Filtering => Some((1, column(&inbox.filter))),
        ListStage::Reason { editor, .. } => Some((rows.saturating_sub(2), column(editor))),
        ListStage::Choosing => None,
    }
}

/// The words of the rule above the composer while it is open.
pub fn mode(inbox: &Inbox) -> &'static str {
    if inbox.list.is_refusing() { "saying no" } else { "the inbox has the keys" }
}

fn title(model: &Model, inbox: &Inbox) -> Line {
    match inbox.chosen().filter(|_| inbox.view == View::Whole) {
        Some(line) => Line::of(format!("{} ", model.glyphs.waiting), Role::Waiting)
            .joined(heading(model, line))
            .with(format!(" {} ", model.glyphs.dot), Role::Dim)
            .with(one_line_summary(&line.title, 40), Role::Heading),
        None => Line::of(format!("{} waiting for you", model.glyphs.waiting), Role::Waiting),
    }
}

/// What asks, and how risky it is.
fn heading(model: &Model, line: &InboxLine) -> Line {
    let taint = if line.tainted { format!(" {}", model.glyphs.taint) } else { String::new() };
    Line::of(line.tool.as_str(), Role::Tool)
        .with(format!(" {}", line.risk.word()), risk_role(line.risk))
        .with(taint, Role::Waiting)
}

fn count(inbox: &Inbox) -> Line {
    let (requests, sessions) = inbox.listed();
    let marked = inbox.marked();
    let mut words = match inbox.listing {
        Listing::NotLoaded => "looking…".to_owned(),
        Listing::Loaded | Listing::Outdated if inbox.total() == 0 => "nothing".to_owned(),
        Listing::Loaded | Listing::Outdated if requests < inbox.total() => {
            format!("{requests} of {}", inbox.total())
        }
        Listing::Loaded | Listing::Outdated if sessions == 1 => format!("{requests} in this session"),
        Listing::Loaded | Listing::Outdated => format!("{requests} in {sessions} sessions"),
    };
    if sessions == 1 && requests == inbox.total() {
        words = requests.to_string();
    }
    match marked {
        0 => Line::of(words, Role::Dim),
        marked => Line::of(format!("{words} · "), Role::Dim).with(format!("{marked} marked"), Role::Waiting),
    }
}

/// The list in exactly its rows.
fn list(model: &Model, inbox: &Inbox, shape: &InboxShape) -> Vec<Line> {
    let rows = shape.head + shape.list_rows;
    let mut lines = Vec::with_capacity(rows);
    if inbox.rows.is_empty() {
        lines = nothing(model, inbox, shape.list_width);
    } else {
        let table = InboxTable::of(inbox, shape);
        if shape.head > 0 {
            lines.push(table.head());
        }
        for at in shape.list.clone() {
            lines.push(match inbox.rows[at] {
                InboxRow::Session(line) => session(model, inbox.line(line), table.columns.width),
                InboxRow::Request(index) => table.row(model, inbox, inbox.line(index), at == inbox.at()),
            });
        }
    }
    lines.truncate(rows);
    lines.resize(rows, Line::new());
    lines
}

fn nothing(model: &Model, inbox: &Inbox, width: usize) -> Vec<Line> {
    let even = Margin::even(Line::of("  ", Role::Text));
    let text = |text: &str, role| wrap_spans(&[Span::new(text, role)], width.min(76), &even);
    if inbox.listing == Listing::NotLoaded {
        return text("looking…", Role::Dim);
    }
    if inbox.total() > 0 {
        let key = model.keymap.shown(Context::Global, Action::Escape);
        return text(&format!("Nothing of what waits matches. {key} takes the filter away."), Role::Dim);
    }
    let mut lines = vec![Line::new()];
    lines.extend(text("Nothing waits for you.", Role::Text));
    lines.push(Line::new());
    lines.extend(text(EMPTY, Role::Dim));
    lines.push(Line::new());
    lines.extend(text("co approvals   lists and decides the same in any terminal", Role::Dim));
    lines
}

/// The line of a session, above its requests.
fn session(model: &Model, line: &InboxLine, width: usize) -> Line {
    let right = Line::of(line.holder.words(), Role::Dim);
    let room = width.saturating_sub(right.width() + 2);
    let title = Line::of(one_line_summary(&line.title, 40), Role::Heading);
    let place = format!(" {} {}", model.glyphs.dot, folder(&line.workspace));
    Line::spread(title.with(place, Role::Dim).cut(room), right, width)
}

/// A folder, its last parts if it is long.
fn folder(path: &Path) -> String {
    let shown = path.display().to_string();
    let parts: Vec<&str> = shown.split('/').collect();
    match parts.as_slice() {
        [.., above, folder] if shown.chars().count() > 30 => {
            one_line_summary(&format!("…/{above}/{folder}"), 40)
        }
        _ => one_line_summary(&shown, 40),
    }
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
                InboxRow::Request(index) => Some(inbox.line(index)),
                InboxRow::Session(_) => None,
            })
        };
        let tools = visible().map(|line| -> &ToolName { &line.tool });
        let columns = Columns::of(shape.list_width, NARROW, 6, tools);
        let has_moments = !columns.is_narrow && visible().any(|line| line.expires.is_some());
        Self { columns, expires: if has_moments { EXPIRES + 2 } else { 0 } }
    }

    fn head(&self) -> Line {
        let mut right = column(Line::of(format!("{:>AGE$}", "age"), Role::Dim), AGE);
        if self.expires > 0 {
            right = right.with(format!("  {:<EXPIRES$}", "until"), Role::Dim);
        }
        self.columns.head("", right)
    }

    fn row(&self, model: &Model, inbox: &Inbox, line: &InboxLine, is_chosen: bool) -> Line {
        let glyphs = model.glyphs;
        let cursor = if is_chosen { glyphs.folded } else { " " };
        let mut lead = Line::of(cursor, Role::Waiting).with(" ", Role::Text);
        lead.push(mark(inbox.mark(line), glyphs));
        let right = self.right(line, inbox.decides(line));
        let taint = if line.tainted { format!(" {}", glyphs.taint) } else { String::new() };
        let room = self.columns.room(right.width() + taint.chars().count() + 1);
        let mut what = Line::of(one_line_summary(&line.summary, 200), Role::Text).cut(room);
        if is_chosen {
            what = what.painted(&(0..room), |ink| Ink { bold: true, ..ink });
        }
        let what = what.with(taint, Role::Waiting);
        self.columns.row(lead.with(" ", Role::Text), line.risk, &line.tool, what, right)
    }

    /// How long it waits and until when, or what is being done about it.
    fn right(&self, line: &InboxLine, word: Option<&'static str>) -> Line {
        let cells = AGE + self.expires;
        let text = match (word, line.state) {
            (Some(word), _) => return Line::of(format!("{:>cells$}", format!("{word}…")), Role::Waiting),
            (None, RequestState::Later) => "later".to_owned(),
            (None, _) => line.age.clone(),
        };
        let mut right = Line::of(format!("{text:>AGE$}"), Role::Dim);
        if self.expires > 0 {
            let until = line.expires.as_deref().unwrap_or_default();
            let role = if until == "expired" { Role::Fail } else { Role::Dim };
            right = right.with(format!("  {until:<EXPIRES$}"), role);
        }
        right
    }
}

/// The chosen request in exactly its rows.
fn detail(model: &Model, inbox: &Inbox, shape: &InboxShape) -> Vec<Line> {
    let look = model.look();
    let head = shape.detail_head;
    let mut lines = match inbox.chosen().map(|line| inbox.details.get(&line.id)) {
        None => Vec::new(),
        Some(None) => vec![Line::of("looking…", Role::Dim)],
        Some(Some(Detail::Gone(text))) => {
            wrap_spans(&[Span::new(text, Role::Fail)], shape.detail_width, &Margin::default())
        }
        Some(Some(Detail::Whole { card, header })) => {
            let frame = detail_frame(&look, &model.keymap, header.as_deref(), &model.zone, shape);
            let keys = model.keymap.row(match shape.place {
                DetailPlace::Alone => &[(Context::Global, Action::Nav(Nav::PageDown), "")],
                DetailPlace::Beside | DetailPlace::Below => &[
                    (Context::Global, Action::Nav(Nav::LineDown), ""),
                    (Context::Inbox, Action::Inbox(InboxKey::Open), "whole"),
                ],
            });
            request(card, &frame, shape.detail_width, shape.detail_rows, &keys).lines
        }
    };
    lines.truncate(shape.detail_rows);
    if let Some(line) = inbox.chosen().filter(|_| head > 0) {
        let title = Line::of(one_line_summary(&line.title, 40), Role::Dim);
        lines.insert(0, Line::spread(heading(model, line), title, shape.detail_width));
        lines.insert(1, Line::new());
    }
    lines.resize(shape.detail_rows + head, Line::new());
    lines
}

/// What a second yes does, what is written, or what there is to say.
fn foot(model: &Model, inbox: &Inbox, room: usize) -> Vec<Line> {
    match &inbox.list.stage {
        ListStage::Choosing | ListStage::Filtering if model.dialogue.is_approved_once() => {
            let keys = [
                (Context::Inbox, Action::Inbox(InboxKey::Yes), "once more to approve"),
                (Context::Global, Action::Escape, "back"),
            ];
            vec![Line::of(model.keymap.told("HIGH", &keys), Role::High)]
        }
        ListStage::Reason { editor, of } => {
            let words = match of.len() {
                1 => "no: tell the model why (optional)".to_owned(),
                many => format!("no to {many}: tell the models why (optional)"),
            };
            reason(words, editor, room.saturating_sub(2)).to_vec()
        }
        ListStage::Choosing | ListStage::Filtering => advice(inbox, room),
    }
}

fn keys(model: &Model, inbox: &Inbox, room: usize) -> Line {
    let (keymap, dot) = (&model.keymap, model.glyphs.dot);
    let escape = |words| (Context::Global, Action::Escape, words);
    let wanted = match &inbox.list.stage {
        ListStage::Reason { .. } => reason_keys(keymap),
        ListStage::Filtering => keymap.hints(&[
            (Context::InboxFilter, Action::Inbox(InboxKey::Filtered), "back to the list"),
            escape("all of it"),
        ]),
        ListStage::Choosing if inbox.rows.is_empty() => keymap.hints(&[escape("close")]),
        ListStage::Choosing => deciding(model, inbox),
    };
    // A space stands at each end of the words in the border.
    let room = room.saturating_sub(2);
    let all = keys_line(&wanted, dot);
    if all.width() <= room { all } else { fitting(wanted, dot, room) }
}

fn deciding(model: &Model, inbox: &Inbox) -> Vec<Hint> {
    let on = |key, words| (Context::Inbox, Action::Inbox(key), words);
    let (yes, no) = match inbox.marked() {
        0 => ("yes".to_owned(), "no…".to_owned()),
        marked => (format!("yes to {marked}"), format!("no to {marked}…")),
    };
    let mut wanted = vec![
        on(InboxKey::Yes, yes.as_str()),
        on(InboxKey::No, &no),
        on(InboxKey::Later, "later"),
        on(InboxKey::Mark, "mark"),
    ];
    let escape = match inbox.view {
        View::Whole => "list",
        View::List => {
            wanted.extend([on(InboxKey::Open, "whole"), on(InboxKey::MarkLow, "low")]);
            "close"
        }
    };
    wanted.extend([on(InboxKey::Why, "why"), (Context::Global, Action::Escape, escape)]);
    model.keymap.hints(&wanted)
}
