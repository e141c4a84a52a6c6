//! Overlays on the lines of the transcript: the mark, search matches, the focused block.

use std::borrow::Cow;

use crate::tui::copied::SelectedLine;
use crate::tui::find::{Find, Piece};
use crate::tui::line::{Line, TextStyle};
use crate::tui::model::{Focus, Model};
use crate::tui::theme::Role;

pub struct Marks<'a> {
    model: &'a Model,
    /// The matches on the screen.
    found: Vec<MatchPiece>,
}

/// A piece of a match on the screen.
struct MatchPiece {
    cell: usize,
    piece: Piece,
    /// The number of the match if it is the current one.
    current: Option<usize>,
}

impl<'a> Marks<'a> {
    pub fn of(model: &'a Model) -> Self {
        let found = model.find.as_ref().map(|find| match_pieces(model, find)).unwrap_or_default();
        Self { model, found }
    }

    /// Returns a line of a cell with its overlays.
    pub fn line<'b>(&self, cell: usize, at: usize, line: &'b Line) -> Cow<'b, Line> {
        let mut out = Cow::Borrowed(line);
        for found in self.found.iter().filter(|found| found.cell == cell && found.piece.line == at) {
            let paint = |style: TextStyle| match found.current {
                Some(_) => {
                    TextStyle { bold: true, underline: true, reversed: true, role: Role::Waiting, ..style }
                }
                None => TextStyle { reversed: true, ..style },
            };
            out = Cow::Owned(out.painted(&found.piece.columns, paint));
        }
        if let Some(number) = self
            .found
            .iter()
            .find_map(|found| found.current.filter(|_| found.cell == cell && found.piece.line == at))
        {
            out = Cow::Owned(self.with_number(out.into_owned(), number));
        }
        if let Some(mark) = &self.model.selection.mark {
            let columns = SelectedLine { line, columns: mark.columns(cell, at) }.drawn_cells();
            if !columns.is_empty() {
                out = Cow::Owned(out.painted(&columns, |style| TextStyle { reversed: true, ..style }));
            }
        }
        if self.model.focus == Focus::Transcript && self.model.selection.at == cell {
            out = Cow::Owned(out.beginning(Line::of(self.model.glyphs.here, Role::Waiting)));
        }
        out
    }

    /// Adds the number of the match at the right if there is room.
    fn with_number(&self, line: Line, number: usize) -> Line {
        let total = self.model.find.as_ref().map_or(0, Find::total);
        let words = Line::of(format!("{} match {number} of {total}", self.model.glyphs.left), Role::Dim);
        let width = self.model.context().width;
        if line.width() + words.width() + 2 > width {
            return line;
        }
        Line::spread(line, words.with(" ", Role::Text), width)
    }
}

fn match_pieces(model: &Model, find: &Find) -> Vec<MatchPiece> {
    let number = find.number();
    let mut out = Vec::new();
    for at in model.transcript.visible_cells() {
        let Some(cell) = model.transcript.cells().get(at) else { continue };
        let places = find.places(at, cell);
        let current = find.current.filter(|current| current.cell == at).map(|current| current.nth);
        let current = current.map(|nth| nth.min(places.len().saturating_sub(1)));
        for (nth, place) in places.into_iter().enumerate() {
            let number = number.filter(|_| current == Some(nth));
            out.extend(place.into_iter().map(|piece| MatchPiece { cell: at, piece, current: number }));
        }
    }
    out
}
