//! Mouse actions: scroll, mark, fold, move the focus. No press decides anything: a click on a card only focuses it.

use super::{Direction, card, panel, select};
use crate::frontend::Lifecycle;
use crate::tui::cells::Cell;
use crate::tui::composer::{Position, Rows};
use crate::tui::keys::{Action, Context, Nav};
use crate::tui::line::cells;
use crate::tui::model::{Focus, Model};
use crate::tui::msg::{Cmd, Mouse, MouseMode, PointerEvent};
use crate::tui::selection::{Clicks, Press, SelectedRange, SelectionUnit};
use crate::tui::transcript::{Hit, PILL_TO_EDGE, TextPosition};

/// Lines per step of the wheel.
const STEP: usize = 3;

/// Two presses at the same place within this time are a double click, in milliseconds.
const DOUBLE_MS: u64 = 400;

/// Rows of the header above the pane.
const ABOVE: usize = 2;

pub fn take(model: &mut Model, mouse: Mouse, cmds: &mut Vec<Cmd>) {
    // A terminal that keeps its mouse sends arrows for the wheel; the shell distinguishes these from keys.
    let is_wheel = matches!(mouse.what, PointerEvent::WheelUp | PointerEvent::WheelDown);
    let is_handled = is_wheel || model.mouse == MouseMode::Ours;
    if model.life != Lifecycle::Open || model.is_too_small() || !is_handled {
        return;
    }
    match mouse.what {
        PointerEvent::WheelUp => wheel(model, mouse, Direction::Up, cmds),
        PointerEvent::WheelDown => wheel(model, mouse, Direction::Down, cmds),
        PointerEvent::Press => press(model, mouse),
        PointerEvent::Drag => drag(model, mouse),
        PointerEvent::Release => release(model, mouse, cmds),
    }
}

/// The area under the mouse.
enum MouseArea {
    /// A row of the pane.
    Pane(usize),
    /// A row of the composer.
    Composer(usize),
    Elsewhere,
}

fn area(model: &Model, mouse: Mouse) -> MouseArea {
    let (row, column) = (usize::from(mouse.row), usize::from(mouse.column));
    let areas = model.areas();
    let composer = usize::from(model.rows).saturating_sub(areas.composer + 1);
    if (ABOVE..ABOVE + areas.pane).contains(&row)
        && column < usize::from(model.columns) - model.panel_columns()
    {
        MouseArea::Pane(row - ABOVE)
    } else if (composer..composer + areas.composer).contains(&row) {
        MouseArea::Composer(row - composer)
    } else {
        MouseArea::Elsewhere
    }
}

fn wheel(model: &mut Model, mouse: Mouse, to: Direction, cmds: &mut Vec<Cmd>) {
    let (step, line) = match to {
        Direction::Up => (Nav::Up, Nav::LineUp),
        Direction::Down => (Nav::Down, Nav::LineDown),
    };
    if let Some(panel) = &model.panel {
        for nav in panel.state().wheel(step, line) {
            panel::act(model, Action::Nav(nav), cmds);
        }
        return;
    }
    let context = model.context();
    let over_card = match area(model, mouse) {
        MouseArea::Pane(row) => {
            matches!(model.transcript.hit(row, usize::from(mouse.column)), Hit::Card(_))
        }
        MouseArea::Composer(_) | MouseArea::Elsewhere => false,
    };
    match to {
        _ if over_card && model.card_view.body_total > model.card_view.body_room => {
            (0..STEP).for_each(|_| card::navigate(model, line));
        }
        Direction::Up => model.transcript.up(STEP, &context),
        Direction::Down => model.transcript.down(STEP, &context),
    }
}

fn press(model: &mut Model, mouse: Mouse) {
    select::drop_mark(model);
    model.selection.press = None;
    if model.panel.is_some() {
        return;
    }
    match area(model, mouse) {
        MouseArea::Pane(row) if is_on_popup(model, row, mouse) => press_popup(model, row),
        MouseArea::Pane(row) => {
            let column = usize::from(mouse.column);
            if let Hit::Card(line) = model.transcript.hit(row, column) {
                return card::click(model, line);
            }
            if let Some(position) = model.transcript.nearest(row, column) {
                press_text(model, position);
            }
        }
        MouseArea::Composer(row) => press_composer(model, row, usize::from(mouse.column)),
        MouseArea::Elsewhere if is_on_pill(model, mouse) => {
            let (context, rows) = (model.context(), model.areas().pane);
            model.transcript.to_new(&context, rows);
        }
        MouseArea::Elsewhere => {}
    }
}

/// Whether the press hits the popup, which lies over the pane.
fn is_on_popup(model: &Model, row: usize, mouse: Mouse) -> bool {
    let column = usize::from(mouse.column);
    model.popup(model.areas().pane).is_some_and(|(_, area)| area.holds(row, column))
}

/// Moves to a row of the popup, without accepting it.
fn press_popup(model: &mut Model, row: usize) {
    let at = model.popup(model.areas().pane).and_then(|(_, area)| area.row_at(row));
    if let (Some(at), Some(popup)) = (at, &mut model.completion.popup) {
        popup.choose(at);
    }
}

/// Whether the press hits the notice of new lines, on the rule above the composer.
fn is_on_pill(model: &Model, mouse: Mouse) -> bool {
    if model.find.is_some() {
        return false;
    }
    let bottom = model.keymap.key_label(Context::Global, Action::Bottom);
    let Some(text) = model.transcript.pill(model.glyphs, &bottom) else { return false };
    let end = model.pane_columns().saturating_sub(PILL_TO_EDGE);
    let columns = end.saturating_sub(cells(&text))..end;
    let rule = usize::from(model.rows).saturating_sub(model.areas().composer + 2);
    usize::from(mouse.row) == rule && columns.contains(&usize::from(mouse.column))
}

fn press_text(model: &mut Model, position: TextPosition) {
    let now = model.now_ms;
    let again =
        model.selection.clicks.filter(|clicks| clicks.position == position && now < clicks.at_ms + DOUBLE_MS);
    let count = again.map_or(1, |clicks| clicks.count % 3 + 1);
    model.selection.clicks = Some(Clicks { position, at_ms: now, count });
    model.selection.press = Some(Press { position, moved: false });
    let ends = match count {
        2 => model.transcript.word_at(position),
        3 => model.transcript.paragraph_at(position),
        _ => None,
    };
    if let Some((from, to)) = ends {
        mark(model, from, to);
    }
}

fn mark(model: &mut Model, anchor: TextPosition, head: TextPosition) {
    let shape = model.transcript.shape;
    model.selection.mark = Some(SelectedRange { anchor, head, unit: SelectionUnit::Cells, shape });
}

/// Focuses the composer and moves its cursor.
fn press_composer(model: &mut Model, row: usize, column: usize) {
    model.focus = Focus::Composer;
    if model.find.is_some() {
        return;
    }
    let (width, height) = (model.composer_width(), model.areas().composer);
    let cursor = Rows::of(&model.composer.editor, width).cursor.row;
    let from = (cursor + 1).saturating_sub(height);
    let place = Position { row: from + row, column: column.saturating_sub(3) };
    model.composer.editor.go_to(width, place);
}

/// Extends the mark; beyond the edges of the pane, scrolls.
fn drag(model: &mut Model, mouse: Mouse) {
    let Some(press) = model.selection.press else { return };
    let (row, pane) = (usize::from(mouse.row), model.areas().pane);
    let context = model.context();
    if row < ABOVE {
        model.transcript.up(1, &context);
    } else if row >= ABOVE + pane {
        model.transcript.down(1, &context);
    }
    let at = row.saturating_sub(ABOVE).min(pane.saturating_sub(1));
    let column = usize::from(mouse.column).min(model.pane_columns().saturating_sub(1));
    let Some(position) = model.transcript.nearest(at, column) else { return };
    if position == press.position && !press.moved {
        return;
    }
    model.selection.press = Some(Press { moved: true, ..press });
    let anchor = model.selection.mark.map_or(press.position, |mark| mark.anchor);
    mark(model, anchor, position);
}

/// Copies the marked text; a click on the first line of a foldable cell folds it.
fn release(model: &mut Model, mouse: Mouse, cmds: &mut Vec<Cmd>) {
    let Some(press) = model.selection.press.take() else { return };
    if model.selection.mark.is_some() {
        return select::copy_mark(model, cmds);
    }
    let MouseArea::Pane(row) = area(model, mouse) else { return };
    let under = model.transcript.hit(row, usize::from(mouse.column));
    let folds = |cell: usize| model.transcript.cells().get(cell).is_some_and(Cell::can_fold);
    if let Hit::Text(position) = under
        && position == press.position
        && position.line == 0
        && folds(position.cell)
    {
        select::fold(model, position.cell);
    }
}
