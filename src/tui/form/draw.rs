//! The form of a card: its fields or its JSON text, errors, and beside it the changes. At most as high as the pane; the
//! field with the cursor is always visible. Only draws; `update` also uses it for the width of texts.

use crate::approval::Taint;
use crate::stdx::text::{one_line_summary, size};
use crate::tool::schema::value_text;
use crate::tui::cards::Card;
use crate::tui::cells::card::{
    CardLayout, Sheet, WIDEST, argument_of, inner, keys_line, sources, taint_mark,
};
use crate::tui::cells::diff::{DiffCode, Layout, counts};
use crate::tui::cells::split;
use crate::tui::composer::{Editor, Rows};
use crate::tui::form::{Field, FieldEntry, Form, Mode};
use crate::tui::hunks::Hunks;
use crate::tui::keys::{Action, CardKey, Context, FormKey, Keymap, Nav};
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::screen::Screen;
use crate::tui::theme::{Glyphs, Role};

/// From this width on a second pane shows the changes.
const TWO_PANES: usize = 120;

/// From this width on hints are at the right of the fields.
const HINTED: usize = 66;

/// Rows of a field without the cursor.
const UNFOCUSED: usize = 3;

/// Most lines of each message below the fields.
const MOST_SAID: usize = 3;

/// Below this height of the pane, only the essentials for writing are shown.
const LOW: usize = 12;

/// Cells before the text of the note.
const NOTE: usize = 4;

/// Cells of the parts of a field's line.
struct Columns {
    name: usize,
    value: usize,
    hint: usize,
}

/// A line of the fields.
struct FormRow {
    line: Line,
    /// The column of the cursor, if it is in this line.
    cursor: Option<usize>,
}

/// Returns the cells for the text with the cursor, in a pane of `columns`.
pub fn text_width(form: &Form, columns: usize) -> usize {
    let inner = inner(width(columns));
    match form.mode {
        Mode::Fields if form.is_in_note() => inner.saturating_sub(NOTE + 1),
        Mode::Fields => Columns::of(form, inner).value,
        Mode::Raw => inner.saturating_sub(1),
    }
}

fn width(columns: usize) -> usize {
    if columns >= TWO_PANES { columns / 2 } else { columns.min(WIDEST) }
}

/// Prepares what is drawn in so many columns.
pub fn prepare(form: &mut Form, columns: usize) {
    if columns >= TWO_PANES {
        form.compare();
    }
}

pub fn draw(card: &Card, form: &Form, screen: &Screen<'_>) -> CardLayout {
    let mut left = sheet(card, form, screen, 0);
    if screen.columns >= TWO_PANES {
        let (right, side_scroll) = changes(form, screen, left.lines.len());
        if left.lines.len() < right.len() {
            left = sheet(card, form, screen, right.len());
        }
        left.view.side_scroll = side_scroll;
        for (line, right) in left.lines.iter_mut().zip(right) {
            *line = std::mem::take(line).joined(right);
        }
    }
    left
}

/// Draws the form, at least `height` lines high.
fn sheet(card: &Card, form: &Form, screen: &Screen<'_>, height: usize) -> CardLayout {
    let mut sheet = Sheet::new(screen, width(screen.columns));
    let glyphs = screen.context.glyphs;
    let title = Line::of(format!("{} edit ", glyphs.waiting), Role::Waiting)
        .with(card.request.tool.as_str(), Role::Tool)
        .joined(taint_mark(card.is_tainted(), glyphs));
    sheet.border(&title, &badge(card, form, glyphs.dot), 0);
    let rows = match form.mode {
        Mode::Fields => fields(&sheet, card, form),
        Mode::Raw => text(&form.raw, sheet.inner.saturating_sub(1)),
    };
    let foot = foot(&sheet, card, form);
    let room = screen.rows.saturating_sub(2 + foot.len()).max(1);
    let cursor = rows.iter().position(|row| row.cursor.is_some()).unwrap_or(0);
    let from = (cursor + 1).saturating_sub(room).min(rows.len().saturating_sub(room));
    let left = rows.len().saturating_sub(from + room);
    for row in rows.into_iter().skip(from).take(room) {
        if let Some(column) = row.cursor {
            sheet.drawn.view.cursor = Some(sheet.place(sheet.drawn.lines.len(), column));
        }
        sheet.put(row.line);
    }
    while sheet.drawn.lines.len() + foot.len() + 1 < height {
        sheet.put(Line::new());
    }
    sheet.put_all(foot);
    let more = match (from, left) {
        (0, 0) => Line::new(),
        (above, below) => Line::of(format!("{above} above, {below} below"), Role::Waiting),
    };
    let keys = screen.keymap.hints(&keys(form.mode));
    sheet.border(&keys_line(&keys, glyphs.dot), &more, 2);
    sheet.drawn
}

fn keys(mode: Mode) -> [(Context, Action, &'static str); 3] {
    let (approve, back) = (Action::Card(CardKey::ApproveEdited), (Context::Global, Action::Escape, "back"));
    match mode {
        Mode::Fields => [
            (Context::Form, approve, "approve edited"),
            (Context::Form, Action::Form(FormKey::ResetField), "reset field"),
            back,
        ],
        Mode::Raw => [
            (Context::Arguments, approve, "approve edited"),
            (Context::Arguments, Action::Form(FormKey::Raw), "fields"),
            back,
        ],
    }
}

fn badge(card: &Card, form: &Form, dot: &str) -> Line {
    let mut line = Line::new();
    if card.is_high() {
        line = line.with("HIGH", Role::High).with(format!(" {dot} "), Role::Dim);
    }
    if form.mode == Mode::Raw {
        line = line.with(format!("raw JSON {dot} "), Role::Dim);
    }
    match form.changed_count() {
        0 => line.with("unchanged", Role::Dim),
        1 => line.with("1 field changed", Role::Waiting),
        count => line.with(format!("{count} fields changed"), Role::Waiting),
    }
}

/// Returns the description of the field, and the errors or their absence.
fn foot(sheet: &Sheet<'_>, card: &Card, form: &Form) -> Vec<Line> {
    let glyphs = sheet.screen.context.glyphs;
    let mut lines = Vec::new();
    let mut say = |text: String, role| {
        lines.extend(
            wrap_spans(&[Span::new(text, role)], sheet.inner, &Margin::default()).into_iter().take(MOST_SAID),
        );
    };
    let is_low = sheet.screen.rows < LOW;
    // Fields without a description reserve the same space, so that the form does not jump.
    let says = form.fields.iter().any(|field| !field.about.is_empty());
    if form.mode == Mode::Fields && !is_low {
        say(String::new(), Role::Text);
    }
    if let Some(field) = form.field().filter(|_| says && !is_low) {
        let is_silent = field.about.is_empty();
        say(if is_silent { String::new() } else { format!("{}: {}", field.name, field.about) }, Role::Dim);
    }
    for fault in form.others.iter().skip(1).take(if is_low { 0 } else { 4 }) {
        say(format!("{} {fault}", glyphs.fail), Role::Fail);
    }
    match &form.check {
        Err(problem) => say(format!("{} {problem}", glyphs.fail), Role::Fail),
        Ok(_) if form.schema.is_none() => {
            say(format!("{} valid JSON; the tool's fields are unknown", glyphs.ok), Role::Ok);
        }
        Ok(_) => {
            let required = form.mode == Mode::Fields && form.fields.iter().any(|field| field.required);
            let legend = if required { " · * required" } else { "" };
            say(format!("{} valid{legend}", glyphs.ok), Role::Ok);
        }
    }
    if form.mode == Mode::Raw
        && let Some(note) = form.note_text()
    {
        say(format!("note to the model: {}", one_line_summary(&note, 200)), Role::Dim);
    }
    if let Some(advice) = &card.advice {
        say(format!("! {advice}"), Role::Waiting);
    }
    // The last lines say whether it can be sent; the fields need room too.
    let most = (sheet.screen.rows / 2).max(1);
    lines.split_off(lines.len().saturating_sub(most))
}

/// Returns an editor's rows, the cursor in one of them.
fn text(editor: &Editor, width: usize) -> Vec<FormRow> {
    let rows = Rows::of(editor, width);
    (0..rows.height())
        .map(|row| FormRow {
            line: rows.line(editor, row),
            cursor: (row == rows.cursor.row).then_some(rows.cursor.column),
        })
        .collect()
}

fn fields(sheet: &Sheet<'_>, card: &Card, form: &Form) -> Vec<FormRow> {
    let columns = Columns::of(form, sheet.inner);
    let most = (sheet.screen.rows / 2).max(UNFOCUSED);
    let mut rows = Vec::new();
    for (at, field) in form.fields.iter().enumerate() {
        let is_at = at == form.at;
        let keymap = sheet.screen.keymap;
        let value = if is_at {
            focused_rows(field, keymap, columns.value, most)
        } else {
            resting(field, keymap, columns.value)
        };
        let hint = hint(card, field, sheet.screen.context.glyphs);
        for (index, row) in value.into_iter().enumerate() {
            let head = if index == 0 { name(sheet, field, is_at, &columns) } else { columns.blank() };
            let start = head.width();
            let mut line = head.joined(row.line);
            if index == 0 && columns.hint > 0 {
                line.pad_to(start + columns.value + 2);
                line = line.joined(hint.clone().cut(columns.hint));
            }
            rows.push(FormRow { line, cursor: row.cursor.map(|column| start + column) });
        }
        if columns.hint == 0 && (is_at || field.is_changed() || is_tainted(card, field)) {
            rows.push(FormRow { line: columns.blank().joined(hint), cursor: None });
        }
        for fault in &field.faults {
            let line =
                columns.blank().with(format!("{} {fault}", sheet.screen.context.glyphs.fail), Role::Fail);
            rows.push(FormRow { line, cursor: None });
        }
    }
    rows.extend(note(sheet, form));
    rows
}

/// Returns the user's note to the model, below the fields. On a low screen an empty note is shown only with the cursor.
fn note(sheet: &Sheet<'_>, form: &Form) -> Vec<FormRow> {
    let is_at = form.is_in_note();
    let low = sheet.screen.rows < LOW;
    if low && !is_at && form.note.is_empty() {
        return Vec::new();
    }
    let role = if is_at { Role::Key } else { Role::Dim };
    let mark = if is_at { sheet.screen.context.glyphs.folded } else { " " };
    let head = Line::of(mark, Role::Key).with(" note to the model (optional)", role);
    let mut rows: Vec<FormRow> =
        if low { Vec::new() } else { vec![FormRow { line: Line::new(), cursor: None }] };
    rows.push(FormRow { line: head, cursor: None });
    let written = text(&form.note, sheet.inner.saturating_sub(NOTE + 1));
    for (index, row) in written.into_iter().enumerate() {
        let before = if index == 0 { "  > " } else { "    " };
        let line = Line::of(before, Role::Waiting).joined(row.line);
        rows.push(FormRow { line, cursor: row.cursor.filter(|_| is_at).map(|column| NOTE + column) });
    }
    rows
}

impl Columns {
    fn of(form: &Form, inner: usize) -> Self {
        let longest = form.fields.iter().map(|field| Line::of(&field.name, Role::Text).width() + 1).max();
        let name = longest.unwrap_or(0).min((inner / 4).max(6));
        let hint = if inner >= HINTED { (inner / 3).min(30) } else { 0 };
        let taken = 2 + name + 1 + hint + if hint > 0 { 2 } else { 0 };
        Self { name, value: inner.saturating_sub(taken).max(4), hint }
    }

    fn blank(&self) -> Line {
        Line::of(" ".repeat(2 + self.name + 1), Role::Text)
    }
}

/// Returns a mark and the field's name.
fn name(sheet: &Sheet<'_>, field: &Field, is_at: bool, columns: &Columns) -> Line {
    let (mark, role) = match (is_at, field.is_changed()) {
        (true, _) => (sheet.screen.context.glyphs.folded, Role::Key),
        (false, true) => ("~", Role::Waiting),
        (false, false) => (" ", Role::Text),
    };
    let need = if field.required { "*" } else { "" };
    let name = Line::of(&field.name, if is_at { Role::Key } else { Role::Dim });
    let name = name.cut(columns.name.saturating_sub(need.len())).with(need, Role::Dim);
    let mut line = Line::of(mark, role).with(" ", Role::Text).joined(name);
    line.pad_to(2 + columns.name + 1);
    line
}

fn is_tainted(card: &Card, field: &Field) -> bool {
    field_taints(card, field).next().is_some()
}

fn field_taints<'a>(card: &'a Card, field: &'a Field) -> impl Iterator<Item = &'a Taint> {
    card.request.taint.iter().filter(|taint| argument_of(&taint.arg) == field.name)
}

/// Returns the original value of a changed field; else the source of its taint, or what it accepts.
fn hint(card: &Card, field: &Field, glyphs: &Glyphs) -> Line {
    if field.is_changed() {
        Line::of(format!("was {}", one_line_summary(&field.was(), 80)), Role::Waiting)
    } else if is_tainted(card, field) {
        let from = sources(field_taints(card, field)).join(", ");
        Line::of(format!("{} from {from}", glyphs.taint), Role::Waiting)
    } else {
        Line::of(&field.hint, Role::Dim)
    }
}

/// Returns the field with the cursor: a window of its rows.
fn focused_rows(field: &Field, keymap: &Keymap, width: usize, most: usize) -> Vec<FormRow> {
    match &field.entry {
        FieldEntry::Text(editor) => {
            let rows = text(editor, width);
            let cursor = rows.iter().position(|row| row.cursor.is_some()).unwrap_or(0);
            let from = (cursor + 1).saturating_sub(most);
            rows.into_iter().skip(from).take(most).collect()
        }
        FieldEntry::Pick { .. } | FieldEntry::Long(_) => {
            vec![FormRow { line: single(field, keymap, "< ", " >").cut(width), cursor: Some(0) }]
        }
    }
}

fn resting(field: &Field, keymap: &Keymap, width: usize) -> Vec<FormRow> {
    let FieldEntry::Text(editor) = &field.entry else {
        return vec![FormRow { line: single(field, keymap, "", "").cut(width), cursor: None }];
    };
    let rows = Rows::of(editor, width);
    let shown = if rows.height() > UNFOCUSED { UNFOCUSED - 1 } else { rows.height() };
    let mut lines: Vec<Line> = (0..shown).map(|row| rows.line(editor, row)).collect();
    if rows.height() > shown {
        lines.push(Line::of(format!("… {} more lines", rows.height() - shown), Role::Dim).cut(width));
    }
    lines.into_iter().map(|line| FormRow { line, cursor: None }).collect()
}

/// Returns a value that is chosen rather than written.
fn single(field: &Field, keymap: &Keymap, before: &str, after: &str) -> Line {
    match &field.entry {
        FieldEntry::Pick { choices, at } => {
            let chosen = choices.get(*at).and_then(Option::as_ref);
            let (text, role) =
                chosen.map_or(("not set".to_owned(), Role::Dim), |choice| (value_text(choice), Role::Text));
            Line::of(before, Role::Key).with(text, role).with(after, Role::Key)
        }
        FieldEntry::Long(bytes) => {
            let edits = (Context::Text, Action::EditOutside, "edit in $EDITOR");
            Line::of(keymap.with_hints(&size(*bytes), &[edits]), Role::Dim)
        }
        FieldEntry::Text(_) => Line::new(),
    }
}

/// Returns the pane of changes from the requested to the edited call, and by how many lines it can scroll.
fn changes(form: &Form, screen: &Screen<'_>, height: usize) -> (Vec<Line>, usize) {
    let mut sheet = Sheet::new(screen, screen.columns - width(screen.columns));
    let changes = form.changes.as_deref().unwrap_or_default();
    sheet.border(&Line::of("changes", Role::Heading), &counts(changes), 0);
    let half = (sheet.inner.saturating_sub(3)) / 2;
    let mut lines = Vec::new();
    if form.check.is_err() {
        lines.push(Line::of("shown once the arguments are valid", Role::Dim));
    } else if changes.is_empty() {
        lines.push(Line::of("none: runs as requested", Role::Dim));
    } else {
        let mut head = Line::of("  requested", Role::Dim);
        head.pad_to(half + 3);
        lines.push(head.with("  will run", Role::Dim));
        lines.push(Line::new());
        let hunks = Hunks::default();
        let glyphs = screen.context.glyphs;
        let layout = Layout { width: sheet.inner, hunks: &hunks, glyphs, code: DiffCode::PLAIN };
        lines.extend(split::bare(changes, &layout));
    }
    let room = screen.rows.saturating_sub(2).max(1);
    let most = lines.len().saturating_sub(room);
    let from = form.scroll.min(most);
    sheet.put_all(lines.into_iter().skip(from).take(room));
    while sheet.drawn.lines.len() + 1 < height {
        sheet.put(Line::new());
    }
    let scrolls = [(Context::Global, Action::Nav(Nav::PageDown), "")];
    let keys = if most > 0 { screen.keymap.hints(&scrolls) } else { Vec::new() };
    let more = match most - from {
        0 if most == 0 => Line::new(),
        0 => Line::of(format!("end, {from} lines above"), Role::Waiting),
        below => Line::of(format!("{below} more lines"), Role::Waiting),
    };
    sheet.border(&keys_line(&keys, screen.context.glyphs.dot), &more, 2);
    (sheet.drawn.lines, most)
}
