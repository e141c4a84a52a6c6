//! The keys of the search in the transcript.

use super::{CurrentMatch, Find, FindStage, Hit};
use crate::tui::keys::FindKey;
use crate::tui::model::{Focus, Model};

pub fn act(model: &mut Model, key: FindKey) {
    match (key, &mut model.find) {
        (FindKey::Open, None) => {
            model.focus = Focus::Composer;
            model.find = Some(Find::new(&model.transcript));
        }
        (FindKey::Open | FindKey::Edit, Some(find)) => {
            find.stage = FindStage::Writing;
            model.focus = Focus::Composer;
        }
        (FindKey::Tools, Some(find)) => {
            find.in_tools = !find.in_tools;
            recount(model);
        }
        (FindKey::Edit | FindKey::Tools, None) | (FindKey::Next | FindKey::Previous, _) => {}
    }
}

/// Goes to the next or the previous match.
pub fn step(model: &mut Model, to: fn(&Find) -> Option<CurrentMatch>) {
    let Some(find) = &mut model.find else { return };
    find.stage = FindStage::Walking;
    let to = to(find);
    go(model, to);
}

/// Handles a change of the query.
pub fn on_change(model: &mut Model) {
    let Some(find) = &mut model.find else { return };
    find.count(model.transcript.cells());
    let (first, start) = (find.first(), find.start);
    match first {
        Some(_) => model.transcript.look_from(start),
        None => model.transcript.go_back(start),
    }
    go(model, first);
}

/// Counts again after a change of the scope; the current match stays if possible.
fn recount(model: &mut Model) {
    let Some(find) = &mut model.find else { return };
    find.count(model.transcript.cells());
    let stays = |current: &CurrentMatch| find.hit(current.cell).is_some_and(|hit| current.nth < hit.count());
    let to = find.current.filter(stays).or_else(|| find.first());
    go(model, to);
}

/// Counts the new text of the running turn since the last frame.
pub fn refresh(model: &mut Model) {
    let Some(find) = &mut model.find else { return };
    let shape = model.transcript.shape;
    if find.shape == shape {
        find.recount(model.transcript.cells());
    } else {
        find.count(model.transcript.cells());
    }
    find.shape = shape;
    if let Some(current) = find.current {
        let count = find.hit(current.cell).map_or(0, Hit::count);
        find.current = (count > 0).then(|| CurrentMatch { nth: current.nth.min(count - 1), ..current });
    }
}

/// Goes to a match: unfolds its cell if needed, and scrolls to it.
fn go(model: &mut Model, to: Option<CurrentMatch>) {
    let (context, rows) = (model.context(), model.areas().pane);
    let Some(find) = &mut model.find else { return };
    find.current = to;
    let Some(to) = to else { return };
    let hidden = find.hit(to.cell).is_some_and(|hit| to.nth >= hit.shown);
    if let Some(cell) = model.transcript.cell_mut(to.cell)
        && hidden
        && cell.is_folded(&context)
    {
        model.transcript.hold();
        if let Some(cell) = model.transcript.cell_mut(to.cell) {
            cell.unfold();
        }
    }
    model.transcript.lines_of(to.cell, &context);
    let (Some(find), Some(cell)) = (&model.find, model.transcript.cells().get(to.cell)) else { return };
    let places = find.places(to.cell, cell);
    let place = places.get(to.nth.min(places.len().saturating_sub(1))).and_then(|place| place.first());
    let line = place.map_or(0, |piece| piece.line);
    model.transcript.reveal(to.cell, line, &context, rows);
}
