//! A list of several requests: a row for each with its mark, and the current one in detail. Wide panes show list and
//! detail side by side, others one above the other. Only draws; called by the layout.

use std::ops::Range;

use crate::config::Mode;
use crate::stdx::text::one_line_summary;
use crate::tool::Preview;
use crate::tui::batch::{BatchRow, Dependency, dropped_rows, notes, numbers};
use crate::tui::bordered_box::column;
use crate::tui::cards::{Card, CardStage};
use crate::tui::cells::call;
use crate::tui::cells::card::{
    BODY, CardLayout, LOW, ListView, NARROW, Sheet, WIDEST, decide, facts, fitting, keys_line, more, sources,
};
use crate::tui::cells::diff;
use crate::tui::cells::list::{
    CardFooter, Columns, ListRow, WIDE, decision_hints, detail, heading, join_columns, reason_keys, split,
};
use crate::tui::completion::window;
use crate::tui::keys::{Action, Context, Hint, ListKey};
use crate::tui::line::Line;
use crate::tui::list::{RequestList, RowMark};
use crate::tui::screen::{CardFocus, Screen};
use crate::tui::theme::{Glyphs, Role};

/// The widest column of dependencies and undo, in cells.
const AFTER: usize = 25;

/// Most notes on dependencies shown.
const NOTES: usize = 3;

/// The drawn list.
#[derive(Debug, Clone, Copy)]
pub struct BatchView<'a> {
    pub rows: &'a [BatchRow<'a>],
    /// Index of the row shown in detail.
    pub cursor: usize,
    pub list: &'a RequestList,
}

impl BatchView<'_> {
    fn card(&self) -> &Card {
        self.rows[self.cursor].card
    }

    fn marked_count(&self) -> usize {
        self.rows.iter().filter(|row| row.mark == RowMark::On).count()
    }
}

pub fn draw(list: &BatchView<'_>, screen: &Screen<'_>) -> CardLayout {
    if list.rows.is_empty() {
        return CardLayout::default();
    }
    let shape = BatchShape::of(screen);
    let mut sheet = Sheet::new(screen, shape.width);
    let foot = foot(list, screen, sheet.inner);
    let above = 2 + foot.lines.len();
    sheet.border(&title(list, screen), &badge(list), 0);
    let mut view = match shape.side {
        Some(side) => side_by_side(&mut sheet, list, &shape, side, screen.rows.saturating_sub(above)),
        None => stacked_view(&mut sheet, list, &shape, screen.rows.saturating_sub(above)),
    };
    view.line += 1;
    sheet.drawn.view.list = view;
    sheet.drawn.view.cursor = foot.cursor.map(|column| sheet.place(sheet.drawn.lines.len() + 1, column));
    sheet.put_all(foot.lines);
    sheet.end(&keys(list, screen, shape.width, sheet.keys_room()));
    sheet.drawn
}

/// The division of the width.
struct BatchShape {
    width: usize,
    /// Cells of the list, if the detail is beside it.
    side: Option<usize>,
    /// Cells of the detail.
    detail: usize,
}

impl BatchShape {
    fn of(screen: &Screen<'_>) -> Self {
        if screen.columns >= WIDE && screen.rows >= LOW {
            let (side, detail) = split(screen.columns - 4);
            return Self { width: screen.columns, side: Some(side), detail };
        }
        let width = screen.context.width.min(WIDEST);
        let detail = width.saturating_sub(if width < NARROW { 2 } else { 4 });
        Self { width, side: None, detail }
    }
}

/// Names the rows with tainted arguments, and the sources.
fn whose_words(list: &BatchView<'_>, glyphs: &Glyphs) -> Option<String> {
    let tainted = |at: &usize| !list.rows[*at].card.request.taint.is_empty();
    let rows: Vec<usize> = (0..list.rows.len()).filter(tainted).collect();
    let from = sources(rows.iter().flat_map(|at| &list.rows[*at].card.request.taint));
    let verb = if rows.len() == 1 { "contains" } else { "contain" };
    (!rows.is_empty())
        .then(|| format!("{} {} {verb} text from {}", glyphs.taint, numbers(&rows), from.join(", ")))
}

/// Returns the cells for the details.
pub fn detail_width(screen: &Screen<'_>) -> usize {
    BatchShape::of(screen).detail
}

/// Returns the lines of the longest detail, so that the list keeps its height while the cursor moves.
fn tallest(list: &BatchView<'_>, screen: &Screen<'_>, shape: &BatchShape) -> usize {
    let one = |row: &BatchRow<'_>| {
        let facts = if screen.rows < LOW { 0 } else { facts(row.card, screen, shape.detail).len() };
        row.card.body.lines().len() + facts
    };
    list.rows.iter().map(one).max().unwrap_or(1)
}

fn stacked_view(sheet: &mut Sheet<'_>, list: &BatchView<'_>, shape: &BatchShape, room: usize) -> ListView {
    let screen = sheet.screen;
    let low = screen.rows < LOW;
    let notes = if low { Vec::new() } else { notes_lines(list, sheet.inner, screen.context.glyphs) };
    let head = usize::from(!low);
    let room = room.saturating_sub(2 * head + notes.len());
    let least = if low { 3 } else { (room / 2).max(4) };
    let window = window(list.rows.len(), list.cursor, room.saturating_sub(least).max(1));
    let space = room.saturating_sub(window.len()).min(tallest(list, screen, shape)).clamp(1, BODY);
    let table = BatchTable::of(list, sheet.inner, screen);
    if !low {
        sheet.put(table.head(list, &window));
    }
    let view = ListView { line: sheet.drawn.lines.len() - 1, from: window.start, count: window.len() };
    sheet.put_all(window.map(|index| table.row(list, index, screen)));
    if !low {
        sheet.put(Line::new());
    }
    let detail = detail_lines(sheet, list.card(), shape.detail, space);
    sheet.put_all(detail);
    sheet.put_all(notes);
    view
}

fn side_by_side(
    sheet: &mut Sheet<'_>,
    list: &BatchView<'_>,
    shape: &BatchShape,
    side: usize,
    room: usize,
) -> ListView {
    let screen = sheet.screen;
    let notes = notes_lines(list, side, screen.context.glyphs);
    let below = if notes.is_empty() { 0 } else { notes.len() + 1 };
    let window = window(list.rows.len(), list.cursor, room.saturating_sub(1 + below).max(1));
    let table = BatchTable::of(list, side, screen);
    let mut left = vec![table.head(list, &window)];
    left.extend(window.clone().map(|index| table.row(list, index, screen)));
    if !notes.is_empty() {
        left.push(Line::new());
        left.extend(notes);
    }
    let space = tallest(list, screen, shape).clamp(1, room.saturating_sub(2).max(1));
    let (card, glyphs) = (list.card(), screen.context.glyphs);
    let title = heading(&card.request.tool, card.request.risk, card.is_tainted(), glyphs);
    let title = Line::of(format!("{} ", list.cursor + 1), Role::Text).joined(title);
    let mut right = vec![title, Line::new()];
    right.extend(detail_lines(sheet, card, shape.detail, space));
    sheet.put_all(join_columns(left, right, side, glyphs));
    ListView { line: 1, from: window.start, count: window.len() }
}

/// Returns at least `space` lines: the scrolled body of the request and its facts.
fn detail_lines(sheet: &mut Sheet<'_>, card: &Card, width: usize, space: usize) -> Vec<Line> {
    let keys = more(sheet.screen.keymap, Context::Batch, Action::List(ListKey::Whole));
    let mut detail = detail(card, sheet.screen, width, space, &keys);
    sheet.drawn.body_width = width;
    sheet.drawn.view.body_room = detail.room;
    sheet.drawn.view.body_total = detail.total;
    detail.lines.resize(space.max(detail.lines.len()), Line::new());
    detail.lines
}

fn notes_lines(list: &BatchView<'_>, width: usize, glyphs: &Glyphs) -> Vec<Line> {
    let mut notes = notes(list.rows);
    notes.splice(0..0, whose_words(list, glyphs));
    if notes.len() > NOTES {
        let more = notes.len() + 1 - NOTES;
        notes.truncate(NOTES - 1);
        notes.push(format!("{more} more dependencies"));
    }
    notes.iter().map(|note| Line::of(note, Role::Waiting).cut(width)).collect()
}

fn title(list: &BatchView<'_>, screen: &Screen<'_>) -> Line {
    let (waiting, count) = (screen.context.glyphs.waiting, list.rows.len());
    let words = if list.rows.iter().all(|row| is_of_plan(row.card)) {
        format!("{waiting} plan: {count} actions ({})", Mode::DryRun.word())
    } else {
        format!("{waiting} {count} actions")
    };
    Line::of(words, Role::Waiting)
}

/// Whether the plan was shown to the model only: the reason for asking then begins with the mode's name.
fn is_of_plan(card: &Card) -> bool {
    card.request.why.iter().any(|why| why.split(' ').next() == Some(Mode::DryRun.word()))
}

fn badge(list: &BatchView<'_>) -> Line {
    match list.marked_count() {
        0 => Line::of("none marked", Role::Dim),
        marked => Line::of(format!("{marked} marked"), Role::Waiting),
    }
}

/// The columns of the list.
struct BatchTable {
    columns: Columns,
    after: usize,
}

impl BatchTable {
    fn of(list: &BatchView<'_>, width: usize, screen: &Screen<'_>) -> Self {
        let digits = list.rows.len().to_string().len();
        let tools = list.rows.iter().map(|row| &row.card.request.tool);
        let columns = Columns::of(width, NARROW - 4, digits, tools);
        let after = list.rows.iter().map(|row| after(row, screen).width()).max().unwrap_or(0);
        Self { after: if columns.is_narrow { 0 } else { after.min(AFTER) }, columns }
    }

    fn head(&self, list: &BatchView<'_>, window: &Range<usize>) -> Line {
        let hidden = if window.len() < list.rows.len() {
            format!(" {}-{} of {}", window.start + 1, window.end, list.rows.len())
        } else {
            String::new()
        };
        let right = if self.after == 0 { Line::new() } else { Line::of("after", Role::Dim) };
        self.columns.head(&hidden, column(right, self.after))
    }

    fn row(&self, list: &BatchView<'_>, index: usize, screen: &Screen<'_>) -> Line {
        let row = &list.rows[index];
        let request = &row.card.request;
        let row = ListRow {
            is_chosen: index == list.cursor,
            mark: row.mark,
            number: index + 1,
            risk: request.risk,
            tool: &request.tool,
            what: what(row.card),
            is_tainted: row.card.is_tainted(),
            right: column(after(row, screen), self.after),
        };
        self.columns.row(row, screen.context.glyphs)
    }
}

/// Returns the most informative argument, or else the plan's summary; and the number of changed lines.
fn what(card: &Card) -> Line {
    let request = &card.request;
    let subject = call::subject(&request.args);
    let words = if subject.is_empty() { one_line_summary(&request.plan.summary, 200) } else { subject };
    let line = Line::of(words, Role::Text);
    match &request.plan.preview {
        Preview::Diff { lines, .. } => line.with("  ", Role::Added).joined(diff::counts(lines)),
        Preview::None | Preview::Text { .. } | Preview::Fields { .. } => line,
    }
}

/// Returns the decision under way, or else whether the call can be undone and which calls it must follow.
fn after(row: &BatchRow<'_>, screen: &Screen<'_>) -> Line {
    if let CardStage::Deciding(sent) = row.card.stage {
        return Line::of(sent.sending(), Role::Waiting);
    }
    let mut line = Line::of(row.card.request.plan.undo.in_short(), Role::Dim);
    for after in &row.after {
        let name = match after {
            Dependency::Row(index) => (index + 1).to_string(),
            Dependency::Label(label) => one_line_summary(label, 8),
        };
        line = line.with(format!(" {} after {name}", screen.context.glyphs.dot), Role::Waiting);
    }
    line
}

fn foot(list: &BatchView<'_>, screen: &Screen<'_>, width: usize) -> CardFooter {
    let open = || list.rows.iter().filter_map(|row| row.card.open()).collect();
    let due = screen.approved_once.then(|| (open(), list.card().open()));
    CardFooter::of(list.list, due, &denial_text(list), list.card().advice.as_ref(), screen.keymap, width)
}

/// Names the rows to be denied, and those that cannot run without them.
fn denial_text(list: &BatchView<'_>) -> String {
    let is_denied = |at: &usize| list.list.refused_ids().contains(&list.rows[*at].card.request.id);
    let denied: Vec<usize> = (0..list.rows.len()).filter(is_denied).collect();
    let lost = match dropped_rows(list.rows, &denied) {
        lost if lost.is_empty() => String::new(),
        lost => format!(" cancels {}", numbers(&lost)),
    };
    format!(" {}{lost}", numbers(&denied))
}

fn keys(list: &BatchView<'_>, screen: &Screen<'_>, width: usize, room: usize) -> Line {
    let (keymap, dot) = (screen.keymap, screen.context.glyphs.dot);
    if screen.focus == CardFocus::Nothing {
        return keys_line(&decide(keymap), dot);
    }
    if list.list.is_refusing() {
        return keys_line(&reason_keys(keymap), dot);
    }
    let on = |key, words| (Context::Batch, Action::List(key), words);
    let mut shown = decision_hints(&format!(" to {}", list.cursor + 1), list.marked_count(), keymap);
    shown.extend(keymap.hints(&[on(ListKey::Whole, "view all")]));
    if screen.focus == CardFocus::KeysByItself {
        let more =
            [(Context::Global, Action::ToggleFocus, "more keys"), (Context::Global, Action::Escape, "later")];
        shown.extend(keymap.hints(&more));
        return fitting(shown, dot, room);
    }
    let escape = if screen.approved_once { "back" } else { "later" };
    let rest = [
        on(ListKey::Mark, "mark"),
        on(ListKey::MarkMost, "mark all"),
        on(ListKey::Rule, "rule…"),
        on(ListKey::Edit, "edit"),
        on(ListKey::Why, "why"),
        on(ListKey::Open, "open"),
        (Context::Global, Action::Escape, escape),
    ];
    shown.extend(keymap.hints(&rest));
    if width < NARROW {
        let says_itself = |hint: &&mut Hint| {
            !matches!(hint.action, Action::Escape | Action::List(ListKey::Mark | ListKey::Open))
        };
        shown.iter_mut().filter(says_itself).for_each(|hint| hint.words.clear());
    }
    fitting(shown, dot, room)
}
