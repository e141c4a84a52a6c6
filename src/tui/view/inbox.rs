//! The inbox: sessions with their requests below, and the chosen one beside or below the list.
//!
//! Only the rows on the screen are made; what they say was told by the owner.

use std::path::Path;

use super::boxed::{Boxed, column};
use crate::frontend::link::{Holder, InboxLine};
use crate::stdx::text::one_line_summary;
use crate::store::RequestState;
use crate::tool::Risk;
use crate::tui::cells::card::{fitting, keys_line};
use crate::tui::cells::inbox::{Space, lines as request};
use crate::tui::composer::{Editor, Rows};
use crate::tui::inbox::{Detail, Inbox, Place, Round, Row, Shape, Told, View, advice};
use crate::tui::keys::{Action, CardKey, Context, Hint, InboxKey};
use crate::tui::line::{Ink, Line, Margin, Span, wrap_spans};
use crate::tui::model::Model;
use crate::tui::theme::Role;

/// Cells of a tool's name, of an age and of a moment.
const TOOL: usize = 13;
const AGE: usize = 6;
const EXPIRES: usize = 9;

/// Below this width of the list there is no column for moments, and names are shorter.
const NARROW: usize = 60;

/// How it works, for who has nothing to decide.
const EMPTY: &str = "What a call would change waits here until you decide: of every session, here or in another \
                     terminal, now or tomorrow. A yes lets it run once, when its session goes on.";

pub fn lines(model: &Model, inbox: &Inbox, rows: usize) -> Vec<Line> {
    let shape = Shape::of(inbox, usize::from(model.columns), rows);
    let mut boxed = Boxed::new(model, usize::from(model.columns), title(model, inbox), count(inbox));
    if shape.filter > 0 {
        let shown = Rows::of(&inbox.filter, shape.room.saturating_sub(2));
        boxed.push(Line::of("/ ", Role::Key).joined(shown.line(&inbox.filter, shown.cursor.row)));
    }
    match shape.place {
        Place::Alone => detail(model, inbox, &shape).into_iter().for_each(|line| boxed.push(line)),
        Place::Below => {
            list(model, inbox, &shape).into_iter().for_each(|line| boxed.push(line));
            if shape.detail_rows > 0 {
                boxed.push(Line::of(model.glyphs.rule.repeat(shape.room), Role::Dim));
                detail(model, inbox, &shape).into_iter().for_each(|line| boxed.push(line));
            }
        }
        Place::Beside => {
            let side = Line::of(format!(" {} ", model.glyphs.side), Role::Dim);
            for (left, right) in list(model, inbox, &shape).into_iter().zip(detail(model, inbox, &shape)) {
                boxed.push(column(left, shape.list_width).joined(side.clone()).joined(right));
            }
        }
    }
    foot(model, inbox, shape.room).into_iter().take(shape.foot).for_each(|line| boxed.push(line));
    boxed.end(keys(model, inbox, shape.room), Line::new())
}

/// Where the cursor stands, from the pane's corner, while something is written.
pub fn cursor(model: &Model, inbox: &Inbox, rows: usize) -> Option<(usize, usize)> {
    let shape = Shape::of(inbox, usize::from(model.columns), rows);
    let column = |editor: &Editor| 4 + Rows::of(editor, shape.room.saturating_sub(2)).cursor.column;
    match &inbox.round {
        Round::Filtering => Some((1, column(&inbox.filter))),
        Round::Reason { editor, .. } => Some((rows.saturating_sub(2), column(editor))),
        Round::Choosing | Round::Confirming(_) => None,
    }
}

/// The words of the rule above the composer while it is open.
pub fn mode(inbox: &Inbox) -> &'static str {
    match inbox.round {
        Round::Reason { .. } => "saying no",
        Round::Choosing | Round::Filtering | Round::Confirming(_) => "the inbox has the keys",
    }
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
    let marked = inbox.marked().count();
    let mut words = match inbox.told {
        Told::Nothing => "looking…".to_owned(),
        Told::All | Told::Before if inbox.total() == 0 => "nothing".to_owned(),
        Told::All | Told::Before if requests < inbox.total() => format!("{requests} of {}", inbox.total()),
        Told::All | Told::Before if sessions == 1 => format!("{requests} in this session"),
        Told::All | Told::Before => format!("{requests} in {sessions} sessions"),
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
fn list(model: &Model, inbox: &Inbox, shape: &Shape) -> Vec<Line> {
    let rows = shape.head + shape.list_rows;
    let mut lines = Vec::with_capacity(rows);
    if inbox.rows.is_empty() {
        lines = nothing(model, inbox, shape.list_width);
    } else {
        let table = Table::of(inbox, shape);
        if shape.head > 0 {
            lines.push(table.head());
        }
        for at in shape.list.clone() {
            lines.push(match inbox.rows[at] {
                Row::Session { line, .. } => session(model, inbox.line(line), table.width),
                Row::Request(index) => table.row(model, inbox, inbox.line(index), at == inbox.at()),
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
    if inbox.told == Told::Nothing {
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
    let holder = match line.holder {
        Holder::Here => "this session",
        Holder::Another => "open in another co",
        Holder::Beside => "goes on now",
        Holder::Nobody => "nobody has it open",
    };
    let right = Line::of(holder, Role::Dim);
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
struct Table {
    width: usize,
    risk: usize,
    tool: usize,
    expires: usize,
}

impl Table {
    fn of(inbox: &Inbox, shape: &Shape) -> Self {
        let narrow = shape.list_width < NARROW;
        let visible = || {
            shape.list.clone().filter_map(|at| match inbox.rows[at] {
                Row::Request(index) => Some(inbox.line(index)),
                Row::Session { .. } => None,
            })
        };
        let tool = visible().map(|line| crate::stdx::text::width(line.tool.as_str())).max().unwrap_or(0);
        let expires = if narrow || visible().all(|line| line.expires.is_none()) { 0 } else { EXPIRES + 2 };
        Self {
            width: shape.list_width,
            risk: if narrow { 4 } else { 6 },
            tool: tool.clamp(4, if narrow { 10 } else { TOOL }),
            expires,
        }
    }

    fn head(&self) -> Line {
        let mut left = Line::of(" ".repeat(6), Role::Dim);
        for (name, cells) in [("risk", self.risk), ("tool", self.tool)] {
            left = left.with(format!("{name:<cells$} "), Role::Dim);
        }
        let mut right = column(Line::of(format!("{:>AGE$}", "age"), Role::Dim), AGE);
        if self.expires > 0 {
            right = right.with(format!("  {:<EXPIRES$}", "until"), Role::Dim);
        }
        Line::spread(left.with("what", Role::Dim), right, self.width)
    }

    fn row(&self, model: &Model, inbox: &Inbox, line: &InboxLine, is_chosen: bool) -> Line {
        let glyphs = model.glyphs;
        let word = inbox.decides(line);
        let (mark, mark_role) = match word {
            Some(_) => (format!(" {} ", glyphs.still), Role::Waiting),
            None if inbox.is_marked(line) => ("[x]".to_owned(), Role::Waiting),
            None => ("[ ]".to_owned(), Role::Dim),
        };
        let risk = match line.risk {
            Risk::Medium if self.risk < 6 => "med",
            Risk::Low | Risk::Medium | Risk::High => line.risk.word(),
        };
        let mut tool = Line::of(line.tool.as_str(), Role::Tool).cut(self.tool);
        tool.pad_to(self.tool + 1);
        let cursor = if is_chosen { glyphs.folded } else { " " };
        let left = Line::of(cursor, Role::Waiting)
            .with(" ", Role::Text)
            .with(mark, mark_role)
            .with(" ", Role::Text)
            .with(format!("{risk:<0$} ", self.risk), risk_role(line.risk))
            .joined(tool);
        let right = self.right(line, word);
        let taint = if line.tainted { format!(" {}", glyphs.taint) } else { String::new() };
        let room = self.width.saturating_sub(left.width() + right.width() + taint.chars().count() + 1);
        let mut what = Line::of(one_line_summary(&line.summary, 200), Role::Text).cut(room);
        if is_chosen {
            what = what.painted(&(0..room), |ink| Ink { bold: true, ..ink });
        }
        Line::spread(left.joined(what).with(taint, Role::Waiting), right, self.width)
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

fn risk_role(risk: Risk) -> Role {
    match risk {
        Risk::High => Role::High,
        Risk::Low | Risk::Medium => Role::Dim,
    }
}

/// The chosen request in exactly its rows.
fn detail(model: &Model, inbox: &Inbox, shape: &Shape) -> Vec<Line> {
    let look = model.look();
    let head = shape.detail_head;
    let mut lines = match inbox.chosen().map(|line| inbox.details.get(&line.id)) {
        None => Vec::new(),
        Some(None) => vec![Line::of("looking…", Role::Dim)],
        Some(Some(Detail::Gone(text))) => {
            wrap_spans(&[Span::new(text, Role::Fail)], shape.detail_width, &Margin::default())
        }
        Some(Some(Detail::Whole { card, header })) => {
            let (width, rows) = (shape.detail_width, shape.detail_rows);
            let (keymap, zone) = (&model.keymap, &model.zone);
            let (header, place) = (header.as_deref(), shape.place);
            request(card, &Space { look: &look, keymap, header, zone, width, rows, place })
        }
    };
    if let Some(line) = inbox.chosen().filter(|_| head > 0) {
        let title = Line::of(one_line_summary(&line.title, 40), Role::Dim);
        lines.insert(0, Line::spread(heading(model, line), title, shape.detail_width));
        lines.insert(1, Line::new());
    }
    lines.resize(shape.detail_rows + head, Line::new());
    lines
}

/// What the round asks for, or what there is to say.
fn foot(model: &Model, inbox: &Inbox, room: usize) -> Vec<Line> {
    match &inbox.round {
        Round::Confirming(_) => {
            let keys = [
                (Context::Inbox, Action::Inbox(InboxKey::Yes), "once more to approve"),
                (Context::Global, Action::Escape, "back"),
            ];
            vec![Line::of(model.keymap.told("HIGH", &keys), Role::High)]
        }
        Round::Reason { editor, of } => {
            let words = match of.len() {
                1 => "no: tell the model why (optional)".to_owned(),
                many => format!("no to {many}: tell the models why (optional)"),
            };
            let rows = Rows::of(editor, room.saturating_sub(2));
            let written = Line::of("> ", Role::Waiting).joined(rows.line(editor, rows.cursor.row));
            vec![Line::of(words, Role::Text), written]
        }
        Round::Choosing | Round::Filtering => advice(inbox, room),
    }
}

fn keys(model: &Model, inbox: &Inbox, room: usize) -> Line {
    let (keymap, dot) = (&model.keymap, model.glyphs.dot);
    let on = |key, words| (Context::Inbox, Action::Inbox(key), words);
    let escape = |words| (Context::Global, Action::Escape, words);
    let wanted = match &inbox.round {
        Round::Reason { .. } => {
            keymap.hints(&[(Context::Reason, Action::Card(CardKey::SendNo), "send the no"), escape("back")])
        }
        Round::Filtering => keymap.hints(&[
            (Context::InboxFilter, Action::Inbox(InboxKey::Filtered), "back to the list"),
            escape("all of it"),
        ]),
        Round::Choosing | Round::Confirming(_) if inbox.rows.is_empty() => keymap.hints(&[escape("close")]),
        Round::Choosing | Round::Confirming(_) => deciding(model, inbox, &on, &escape),
    };
    // A space stands at each end of the words in the border.
    let room = room.saturating_sub(2);
    let all = keys_line(&wanted, dot);
    if all.width() <= room { all } else { fitting(wanted, dot, room) }
}

fn deciding<'a>(
    model: &Model,
    inbox: &Inbox,
    on: &impl Fn(InboxKey, &'a str) -> (Context, Action, &'a str),
    escape: &impl Fn(&'a str) -> (Context, Action, &'a str),
) -> Vec<Hint> {
    let marked = inbox.marked().count();
    let (yes, no) = match marked {
        0 => ("yes".to_owned(), "no…".to_owned()),
        marked => (format!("yes to {marked}"), format!("no to {marked}…")),
    };
    let mut hints = model.keymap.hints(&[
        on(InboxKey::Yes, ""),
        on(InboxKey::No, ""),
        on(InboxKey::Later, "later"),
        on(InboxKey::Mark, "mark"),
        on(InboxKey::Open, "whole"),
        on(InboxKey::MarkLow, "low"),
        on(InboxKey::Why, "why"),
        escape(if inbox.view == View::Whole { "list" } else { "close" }),
    ]);
    if inbox.view == View::Whole {
        hints.retain(|hint| !matches!(hint.action, Action::Inbox(InboxKey::Open | InboxKey::MarkLow)));
    }
    for hint in &mut hints {
        match hint.action {
            Action::Inbox(InboxKey::Yes) => hint.words.clone_from(&yes),
            Action::Inbox(InboxKey::No) => hint.words.clone_from(&no),
            _ => {}
        }
    }
    hints
}
