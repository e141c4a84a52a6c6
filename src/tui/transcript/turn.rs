//! Changes to the transcript by the running turn.
//!
//! Nothing here iterates over the cells of earlier turns: those are final, except the few that still wait for
//! an outcome.

use super::{Scroll, Transcript};
use crate::message::CallId;
use crate::tui::cells::{CallRow, Cell, CellKind};

impl Transcript {
    /// Returns the last part of the reply that streams, mutably. Output of the user's own commands may follow it.
    pub fn part_mut(&mut self) -> Option<&mut Cell> {
        let part = self.cells[self.fresh..].iter_mut().rev().find(|cell| cell.kind.is_of_reply());
        part.map(Cell::revise)
    }

    /// Returns the cells that the running turn may change, mutably.
    pub fn fresh_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Cell> {
        self.cells[self.fresh..].iter_mut().map(Cell::revise)
    }

    /// Returns the cells that the running turn may change.
    pub fn fresh_cells(&self) -> &[Cell] {
        &self.cells[self.fresh..]
    }

    /// Returns the newest cell that can still change and for which `is` holds, mutably.
    pub fn newest_mut(&mut self, is: impl Fn(&CellKind) -> bool) -> Option<&mut Cell> {
        let is = |at: &usize| is(&self.cells[*at].kind);
        let found = (self.fresh..self.cells.len()).rev().find(is);
        let at = found.or_else(|| self.open.iter().rev().copied().find(is))?;
        let cell = &mut self.cells[at];
        cell.touch();
        Some(cell.revise())
    }

    /// Returns the row of a call of this turn, or of an earlier one whose outcome is open.
    pub fn call(&self, id: &CallId) -> Option<&CallRow> {
        let fresh = (self.fresh..self.cells.len()).rev();
        let mut cells = fresh.chain(self.open.iter().rev().copied()).filter_map(|at| self.cells.get(at));
        cells.find_map(|cell| {
            if let CellKind::Call(row) = &cell.kind { Some(&**row).filter(|row| row.id == *id) } else { None }
        })
    }

    /// Like [`Self::call`], mutably.
    pub fn call_mut(&mut self, id: &CallId) -> Option<&mut CallRow> {
        let cell = self.newest_mut(|kind| matches!(kind, CellKind::Call(row) if row.id == *id))?;
        if let CellKind::Call(row) = &mut cell.kind { Some(row) } else { None }
    }

    /// Ends the turn: its cells become final, except those with an open outcome.
    pub fn settle(&mut self) {
        let older = std::mem::take(&mut self.open);
        let candidates = older.into_iter().chain(self.fresh..self.cells.len());
        self.open = candidates.filter(|at| may_change(&self.cells[*at].kind)).collect();
        self.fresh = self.cells.len();
    }

    /// Replaces all cells.
    pub fn replace(&mut self, cells: Vec<Cell>) {
        *self = Self { cells, shape: self.shape + 1, ..Self::default() };
        self.settle();
    }

    /// Keeps only those of the running turn's cells for which `keep` holds; the scroll position stays if
    /// possible.
    pub fn retain(&mut self, keep: impl Fn(&Cell) -> bool) {
        let fresh = self.cells.split_off(self.fresh);
        let before = fresh.len();
        if let Scroll::At(place) = &mut self.scroll {
            let above = place.block.saturating_sub(self.fresh);
            place.block -= fresh.iter().take(above).filter(|cell| !keep(cell)).count();
        }
        self.cells.extend(fresh.into_iter().filter(keep));
        if self.cells.len() < self.fresh + before {
            self.shape += 1;
            self.part = None;
            self.visible.clear();
        }
    }

    /// Drops the separate folding of all cells for which `which` holds.
    pub fn fold_alike(&mut self, which: impl Fn(&Cell) -> bool) {
        self.cells.iter_mut().filter(|cell| which(cell)).for_each(Cell::fold_with_all);
    }
}

fn may_change(kind: &CellKind) -> bool {
    if let CellKind::Call(row) = kind {
        row.is_open()
    } else if let CellKind::Shell(shell) = kind {
        shell.is_running()
    } else {
        matches!(kind, CellKind::Waits { .. })
    }
}
