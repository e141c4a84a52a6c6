//! Several requests as one list: a row each with its mark, and the one under the cursor in detail.
//!
//! Wide panes show list and detail side by side, others one above the other. What does not fit scrolls inside, and says
//! so. It shows, it never decides. Called by the layout.

use super::card::{
    BODY, Drawn, Frame, Holds, LOW, NARROW, OutOfSight, Sheet, WIDEST, decide, facts, fitting, hint,
    keys_line, more, sources, taint_mark, whole_words,
};
use super::{Fold, call, diff};
use crate::approval::RequestId;
use crate::config::Mode;
use crate::stdx::text::one_line_summary;
use crate::tool::{Preview, Risk, Undo};
use crate::tui::batch::{After, Batch, Round, Row, notes, numbers};
use crate::tui::cards::{Card, Mark, Stage};
use crate::tui::composer::{Editor, Rows};
use crate::tui::keys::{Action, BatchKey, CardKey, Context, Hint, Keymap};
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::model::ListView;
use crate::tui::theme::{Glyphs, Role};

/// From this width on the detail stands beside the list.
const SPLIT: usize = 120;

/// Cells of the names of tools, and of what comes after, at most.
const TOOL: usize = 13;
const AFTER: usize = 25;

/// Notes on dependencies that are shown.
const NOTES: usize = 3;

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub struct List<'a> {
    pub rows: &'a [Row<'a>],
    /// Index of the row that is shown in detail.
    pub cursor: usize,
    pub batch: &'a Batch,
}

impl List<'_> {
    fn card(&self) -> &Card {
        self.rows[self.cursor].card
    }

    fn marked(&self) -> usize {
        self.rows.iter().filter(|row| row.card.mark == Mark::On).count()
    }
}

pub fn draw(list: &List<'_>, frame: &Frame<'_>) -> Drawn {
    if list.rows.is_empty() {
        return Drawn::default();
    }
    let shape = Shape::of(frame);
    let mut sheet = Sheet::new(frame, shape.width);
    let foot = foot(list, frame.keymap, sheet.inner);
    let above = 2 + foot.lines.len();
    sheet.border(&title(list, frame), &badge(list), 0);
    let mut view = match shape.side {
        Some(_) => beside(&mut sheet, list, &shape, frame.rows.saturating_sub(above)),
        None => stacked(&mut sheet, list, &shape, frame.rows.saturating_sub(above)),
    };
    view.line += 1;
    sheet.drawn.list = view;
    if let Some((line, editor)) = foot.editor {
        let first = sheet.drawn.lines.len() + line;
        let column = Rows::of(editor, sheet.inner - 4).cursor.column;
        sheet.drawn.cursor = Some(sheet.place(first, 2 + column));
    }
    for line in foot.lines {
        sheet.put(line);
    }
    sheet.border(&keys(list, frame, shape.width), &Line::new(), 2);
    sheet.drawn
}

/// How the width is shared out.
struct Shape {
    width: usize,
    /// Cells of the list, where the detail stands beside it.
    side: Option<usize>,
    /// Cells of the detail.
    detail: usize,
}

impl Shape {
    fn of(frame: &Frame<'_>) -> Self {
        if frame.columns >= SPLIT && frame.rows >= LOW {
            let side = (frame.columns - 4) * 11 / 20;
            return Self { width: frame.columns, side: Some(side), detail: frame.columns - 4 - side - 3 };
        }
        let width = frame.look.width.min(WIDEST);
        let detail = width.saturating_sub(if width < NARROW { 2 } else { 4 });
        Self { width, side: None, detail }
    }
}

/// Which rows carry another's words, and where those came from.
fn whose_words(list: &List<'_>, glyphs: &Glyphs) -> Option<String> {
    let tainted = |at: &usize| !list.rows[*at].card.request.taint.is_empty();
    let rows: Vec<usize> = (0..list.rows.len()).filter(tainted).collect();
    let from = sources(rows.iter().flat_map(|at| &list.rows[*at].card.request.taint));
    let verb = if rows.len() == 1 { "carries" } else { "carry" };
    (!rows.is_empty())
        .then(|| format!("{} {} {verb} words from {}", glyphs.taint, numbers(&rows), from.join(", ")))
}

/// Cells at which the details are to be laid out.
pub fn detail_width(frame: &Frame<'_>) -> usize {
    Shape::of(frame).detail
}

/// Lines that the longest detail of all would take: the list keeps its height while the cursor moves.
fn tallest(list: &List<'_>, frame: &Frame<'_>, shape: &Shape) -> usize {
    let one = |row: &Row<'_>| {
        let facts = if frame.rows < LOW { 0 } else { facts(row.card, frame, shape.detail).len() };
        row.card.body.lines().len() + facts
    };
    list.rows.iter().map(one).max().unwrap_or(1)
}

fn stacked(sheet: &mut Sheet<'_>, list: &List<'_>, shape: &Shape, room: usize) -> ListView {
    let frame = sheet.frame;
    let low = frame.rows < LOW;
    let notes = if low { Vec::new() } else { notes_lines(list, sheet.inner, frame.look.glyphs) };
    let head = usize::from(!low);
    let room = room.saturating_sub(2 * head + notes.len());
    let least = if low { 3 } else { (room / 2).max(4) };
    let most = match list.card().whole {
        Fold::Folded => room.saturating_sub(least),
        Fold::Open => 1,
    };
    let window = Window::of(list, most);
    let cap = match list.card().whole {
        Fold::Folded => BODY,
        Fold::Open => usize::MAX,
    };
    let space = room.saturating_sub(window.count).min(tallest(list, frame, shape)).min(cap).max(1);
    let table = Table::of(list, sheet.inner, frame);
    if !low {
        sheet.put(table.head(list, &window));
    }
    let view = ListView { line: sheet.drawn.lines.len() - 1, from: window.from, count: window.count };
    for index in window.range() {
        sheet.put(table.row(list, index, frame));
    }
    if !low {
        sheet.put(Line::new());
    }
    for line in detail(sheet, list.card(), shape.detail, space) {
        sheet.put(line);
    }
    for line in notes {
        sheet.put(line);
    }
    view
}

fn beside(sheet: &mut Sheet<'_>, list: &List<'_>, shape: &Shape, room: usize) -> ListView {
    let frame = sheet.frame;
    let side = shape.side.unwrap_or(shape.width);
    let notes = notes_lines(list, side, frame.look.glyphs);
    let below = if notes.is_empty() { 0 } else { notes.len() + 1 };
    let window = Window::of(list, room.saturating_sub(1 + below));
    let table = Table::of(list, side, frame);
    let mut left = vec![table.head(list, &window)];
    left.extend(window.range().map(|index| table.row(list, index, frame)));
    if !notes.is_empty() {
        left.push(Line::new());
        left.extend(notes);
    }
    let card = list.card();
    let space = tallest(list, frame, shape).clamp(1, room.saturating_sub(2).max(1));
    let mut right = vec![detail_title(list, shape.detail, frame.look.glyphs), Line::new()];
    right.extend(detail(sheet, card, shape.detail, space));
    for at in 0..left.len().max(right.len()) {
        let mut line = left.get(at).cloned().unwrap_or_default().cut(side);
        line.pad_to(side);
        line = line.with(format!(" {} ", frame.look.glyphs.side), Role::Dim);
        sheet.put(line.joined(right.get(at).cloned().unwrap_or_default()));
    }
    ListView { line: 1, from: window.from, count: window.count }
}

/// The rows that are drawn, where there are too many.
struct Window {
    from: usize,
    count: usize,
}

impl Window {
    /// As many as there is room for, with the cursor's among them.
    fn of(list: &List<'_>, room: usize) -> Self {
        let count = list.rows.len().min(room).max(1);
        let from = list.cursor.saturating_sub(count / 2).min(list.rows.len() - count);
        Self { from, count }
    }

    fn range(&self) -> std::ops::Range<usize> {
        self.from..self.from + self.count
    }
}

/// Exactly `space` lines: what the request would do, scrolled, and what is to be known beside.
fn detail(sheet: &mut Sheet<'_>, card: &Card, width: usize, space: usize) -> Vec<Line> {
    let body = card.body.lines();
    let mut beside = if sheet.frame.rows < LOW { Vec::new() } else { facts(card, sheet.frame, width) };
    // What would happen goes before what is to be known beside it, and before a blank line between the two.
    let least = 1 + usize::from(card.request.again.is_some());
    let room = space.saturating_sub(body.len()).max(least);
    if beside.len() > room && !beside.is_empty() {
        beside.remove(0);
    }
    beside.truncate(room);
    let room = space - beside.len();
    let clipped = body.len() > room || card.body.more() > 0;
    let room = if clipped { room.saturating_sub(1).max(1).min(body.len()) } else { body.len() };
    let from = card.scroll.min(body.len().saturating_sub(room));
    let left = body.len() - from - room;
    sheet.drawn.body_width = width;
    sheet.drawn.body_room = room;
    sheet.drawn.body_total = body.len();
    let mut lines: Vec<Line> = body.iter().skip(from).take(room).cloned().collect();
    if clipped {
        let keys = more(card, sheet.frame.keymap, Context::Batch, Action::Batch(BatchKey::Whole));
        let out = OutOfSight { above: from, below: left, bytes: card.body.more() };
        lines.push(hint(&out, &keys, width));
    }
    lines.extend(beside);
    lines.resize(space.max(lines.len()), Line::new());
    lines
}

/// Above the detail that stands beside the list.
fn detail_title(list: &List<'_>, width: usize, glyphs: &Glyphs) -> Line {
    let card = list.card();
    let left = Line::of(format!("{} ", list.cursor + 1), Role::Text)
        .with(card.request.tool.as_str(), Role::Tool)
        .joined(taint_mark(card, glyphs));
    let right = Line::of(card.request.risk.word(), risk_role(card.request.risk));
    Line::spread(left, right, width)
}

fn notes_lines(list: &List<'_>, width: usize, glyphs: &Glyphs) -> Vec<Line> {
    let mut notes = notes(list.rows);
    notes.splice(0..0, whose_words(list, glyphs));
    if notes.len() > NOTES {
        let more = notes.len() + 1 - NOTES;
        notes.truncate(NOTES - 1);
        notes.push(format!("{more} more links between these"));
    }
    notes.iter().map(|note| Line::of(note, Role::Waiting).cut(width)).collect()
}

fn title(list: &List<'_>, frame: &Frame<'_>) -> Line {
    let (waiting, count) = (frame.look.glyphs.waiting, list.rows.len());
    let words = if list.rows.iter().all(|row| is_of_plan(row.card)) {
        format!("{waiting} plan: {count} actions ({})", Mode::DryRun.word())
    } else {
        format!("{waiting} {count} actions")
    };
    Line::of(words, Role::Waiting)
}

/// Whether it was only shown to the model: the mode is the first word of why it asks.
fn is_of_plan(card: &Card) -> bool {
    card.request.why.iter().any(|why| why.split(' ').next() == Some(Mode::DryRun.word()))
}

fn badge(list: &List<'_>) -> Line {
    match list.marked() {
        0 => Line::of("none marked", Role::Dim),
        marked => Line::of(format!("{marked} marked"), Role::Waiting),
    }
}

fn risk_role(risk: Risk) -> Role {
    match risk {
        Risk::High => Role::High,
        Risk::Low | Risk::Medium => Role::Dim,
    }
}

/// The columns of the list.
struct Table {
    width: usize,
    digits: usize,
    risk: usize,
    tool: usize,
    /// Of the mark of another's words, where any row has it.
    taint: usize,
    after: usize,
}

impl Table {
    fn of(list: &List<'_>, width: usize, frame: &Frame<'_>) -> Self {
        let narrow = width < NARROW - 4;
        let tool = list.rows.iter().map(|row| crate::stdx::text::width(row.card.request.tool.as_str())).max();
        let after = list.rows.iter().map(|row| after(row, frame).width()).max().unwrap_or(0);
        Self {
            width,
            digits: list.rows.len().to_string().len(),
            risk: if narrow { 4 } else { 6 },
            taint: if list.rows.iter().any(|row| !row.card.request.taint.is_empty()) { 2 } else { 0 },
            tool: tool.unwrap_or(0).clamp(4, if narrow { 10 } else { TOOL }),
            after: if narrow { 0 } else { after.min(AFTER) },
        }
    }

    fn head(&self, list: &List<'_>, window: &Window) -> Line {
        let mut line = Line::of(" ".repeat(6 + self.digits), Role::Dim);
        for (name, cells) in [("risk", self.risk), ("tool", self.tool)] {
            line = line.with(format!("{name:<cells$} "), Role::Dim);
        }
        line = line.with("what", Role::Dim);
        if window.count < list.rows.len() {
            let rows = format!(" {}-{} of {}", window.from + 1, window.from + window.count, list.rows.len());
            line = line.with(rows, Role::Waiting);
        }
        let mut right = Line::of("after", Role::Dim);
        right.pad_to(self.after);
        if self.after == 0 { line } else { Line::spread(line, right, self.width) }
    }

    fn row(&self, list: &List<'_>, index: usize, frame: &Frame<'_>) -> Line {
        let row = &list.rows[index];
        let request = &row.card.request;
        let glyphs = frame.look.glyphs;
        let cursor = if index == list.cursor { glyphs.folded } else { " " };
        let (mark, mark_role) = match (&row.card.stage, row.card.mark) {
            (Stage::Deciding(_), _) => (format!(" {} ", glyphs.still), Role::Waiting),
            (_, Mark::On) => ("[x]".to_owned(), Role::Waiting),
            (_, Mark::Off) => ("[ ]".to_owned(), Role::Dim),
        };
        let risk = match request.risk {
            Risk::Medium if self.risk < 6 => "med",
            Risk::Low | Risk::Medium | Risk::High => request.risk.word(),
        };
        let mut tool = Line::of(request.tool.as_str(), Role::Tool).cut(self.tool);
        tool.pad_to(self.tool + 1);
        let left = Line::of(cursor, Role::Waiting)
            .with(mark, mark_role)
            .with(format!(" {:>1$} ", index + 1, self.digits), Role::Text)
            .with(format!("{risk:<0$} ", self.risk), risk_role(request.risk))
            .joined(tool);
        let mut mark = match (self.taint, request.taint.is_empty()) {
            (1.., false) => Line::of(glyphs.taint, Role::Waiting),
            (0, _) | (_, true) => Line::new(),
        };
        mark.pad_to(self.taint);
        if self.after == 0 {
            // There is no room at the right: the mark stands before the words.
            return left.joined(mark).joined(what(row.card)).cut(self.width);
        }
        let left = left.joined(what(row.card));
        let mut right = mark.joined(after(row, frame).cut(self.after));
        right.pad_to(self.taint + self.after);
        Line::spread(left, right, self.width)
    }
}

/// The argument that says most, or the plan's own words; and how much of a file changes.
fn what(card: &Card) -> Line {
    let request = &card.request;
    let subject = call::subject(&request.args);
    let words = if subject.is_empty() { one_line_summary(&request.plan.summary, 200) } else { subject };
    let line = Line::of(words, Role::Text);
    match &request.plan.preview {
        Preview::Diff { lines, .. } => {
            let counts = diff::counts(lines);
            line.with(format!("  +{}", counts.added), Role::Added)
                .with(format!(" -{}", counts.removed), Role::Removed)
        }
        Preview::None | Preview::Text { .. } | Preview::Fields { .. } => line,
    }
}

/// What comes after a yes, and what must come before it.
fn after(row: &Row<'_>, frame: &Frame<'_>) -> Line {
    if let Stage::Deciding(word) = row.card.stage {
        return Line::of(format!("{word}: deciding…"), Role::Waiting);
    }
    let undo = match row.card.request.plan.undo {
        Undo::Exact => "undo: yes",
        Undo::Compensating => "undo: in part",
        Undo::Hold => "held first",
        Undo::None => "undo: no",
    };
    let mut line = Line::of(undo, Role::Dim);
    for after in &row.after {
        let name = match after {
            After::Row(index) => (index + 1).to_string(),
            After::Label(label) => one_line_summary(label, 8),
        };
        line = line.with(format!(" {} after {name}", frame.look.glyphs.dot), Role::Waiting);
    }
    line
}

/// What the round asks for, above the keys.
struct Foot<'a> {
    lines: Vec<Line>,
    /// The line that is being written, and the text.
    editor: Option<(usize, &'a Editor)>,
}

fn foot<'a>(list: &List<'a>, keymap: &Keymap, width: usize) -> Foot<'a> {
    let mut foot = Foot { lines: Vec::new(), editor: None };
    let index = |id: &RequestId| list.rows.iter().position(|row| row.card.request.id == *id);
    match &list.batch.round {
        Round::Marking => {}
        Round::Confirming(ids) => {
            let high: Vec<usize> =
                ids.iter().filter_map(index).filter(|at| list.rows[*at].card.is_high()).collect();
            let verb = if high.len() == 1 { "is" } else { "are" };
            let again = format!("once more runs all {}", ids.len());
            let keys = [
                (Context::Batch, Action::Batch(BatchKey::Yes), again.as_str()),
                (Context::Global, Action::Escape, "back"),
            ];
            let words = keymap.told(&format!("{} {verb} HIGH", numbers(&high)), &keys);
            foot.lines.push(Line::of(words, Role::High).cut(width));
        }
        Round::Reason { editor, of } => {
            let of: Vec<usize> = of.iter().filter_map(index).collect();
            let mut words = format!("no to {}: tell the model why (optional)", numbers(&of));
            let lost = crate::tui::batch::dropped(list.rows, &of);
            if !lost.is_empty() {
                words =
                    format!("no to {} drops {}: tell the model why (optional)", numbers(&of), numbers(&lost));
            }
            foot.lines.push(Line::of(words, Role::Text).cut(width));
            foot.editor = Some((foot.lines.len(), editor));
            let rows = Rows::of(editor, width - 4);
            foot.lines.push(Line::of("> ", Role::Waiting).joined(rows.line(editor, rows.cursor.row)));
        }
    }
    let advice = list.batch.advice.as_ref().or(list.card().advice.as_ref());
    if let Some(advice) = advice {
        let spans = [Span::new(format!("! {advice}"), Role::Waiting)];
        foot.lines.extend(wrap_spans(&spans, width, &Margin::default()));
    }
    foot
}

fn keys(list: &List<'_>, frame: &Frame<'_>, width: usize) -> Line {
    let (keymap, dot) = (frame.keymap, frame.look.glyphs.dot);
    if frame.holds == Holds::Nothing {
        return keys_line(&decide(keymap), dot);
    }
    if let Round::Reason { .. } = list.batch.round {
        let keys = [
            (Context::Reason, Action::Card(CardKey::SendNo), "send the no"),
            (Context::Global, Action::Escape, "back"),
        ];
        return keys_line(&keymap.hints(&keys), dot);
    }
    let on = |key, words| (Context::Batch, Action::Batch(key), words);
    let marked = list.marked();
    let (run, deny) = (format!("run {marked} marked"), format!("deny {marked} marked…"));
    let first = match marked {
        0 => [on(BatchKey::Mark, "mark"), on(BatchKey::MarkLow, "mark low"), on(BatchKey::No, "deny this…")],
        _ => [on(BatchKey::Yes, &run), on(BatchKey::No, &deny), on(BatchKey::MarkLow, "mark low")],
    };
    let escape = match list.batch.round {
        Round::Confirming(_) => "back",
        Round::Marking | Round::Reason { .. } => "later",
    };
    let rest = [
        on(BatchKey::Rule, "rule…"),
        on(BatchKey::Edit, "edit"),
        on(BatchKey::Why, "why"),
        on(BatchKey::Open, "open"),
        on(BatchKey::Whole, whole_words(list.card())),
        (Context::Global, Action::Escape, escape),
    ];
    let mut shown = keymap.hints(&first);
    shown.extend(keymap.hints(&rest));
    if width < NARROW {
        let says_itself = |hint: &&mut Hint| {
            !matches!(hint.action, Action::Escape | Action::Batch(BatchKey::Mark | BatchKey::Open))
        };
        shown.iter_mut().filter(says_itself).for_each(|hint| hint.words.clear());
    }
    fitting(shown, dot, width.saturating_sub(6))
}
