//! The hunks of a card's diff: which are skipped, the current one, and their layout. Plain data: `tool::hunks` computes
//! the call without some of them. Skipping a hunk is no decision.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::approval::Request;
use crate::tool::builtin::text_args;
use crate::tool::hunks::Parts;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hunks {
    /// The parts that can be skipped; `None` if there are none.
    parts: Option<Parts>,
    /// Numbers, from 1.
    skipped: BTreeSet<usize>,
    pub sides: Sides,
    /// Lines of the body at which hunks begin, as last laid out.
    pub rows: Vec<usize>,
    /// Index of the current hunk.
    at: usize,
}

/// The arrangement of old and new text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sides {
    /// Side by side if there is room for it.
    #[default]
    Fitting,
    /// One below the other.
    Unified,
    /// Side by side.
    Split,
}

/// The remainder of a change without skipped hunks.
#[derive(Debug, Clone, PartialEq)]
pub enum RemainingChange {
    All,
    Nothing,
    /// The arguments for the remainder.
    Some(Value),
}

impl Hunks {
    pub fn of(request: &Request) -> Self {
        Self {
            parts: Parts::of(text_args(request.tool.as_str()), &request.args, &request.plan),
            ..Self::default()
        }
    }

    /// Returns how many can be skipped; the first nine have a digit each as key.
    pub fn count(&self) -> usize {
        self.parts.as_ref().map_or(0, Parts::count)
    }

    /// Returns the number of the current hunk, from 1.
    pub fn here(&self) -> usize {
        self.at + 1
    }

    /// Goes to the hunk of this number. Returns the line of the body at which it begins, if laid out.
    pub fn go_to(&mut self, hunk: usize) -> Option<usize> {
        let at = hunk.checked_sub(1)?;
        let row = self.rows.get(at).copied()?;
        self.at = at;
        Some(row)
    }

    /// Handles scrolling: if the current hunk is out of sight, another becomes current.
    pub fn follow(&mut self, from: usize, room: usize) {
        let is_shown = |row: &usize| (from..from + room).contains(row);
        if self.rows.get(self.at).is_some_and(is_shown) {
            return;
        }
        let first = self.rows.iter().position(is_shown);
        let before = self.rows.iter().rposition(|row| *row < from);
        if let Some(at) = first.or(before) {
            self.at = at;
        }
    }

    pub fn skipped_count(&self) -> usize {
        self.skipped.len()
    }

    /// Returns the skipped ones, in order.
    pub fn skips(&self) -> impl Iterator<Item = usize> {
        self.skipped.iter().copied()
    }

    /// Whether this hunk is skipped; `None` if it cannot be.
    pub fn is_skipped(&self, hunk: usize) -> Option<bool> {
        (1..=self.count()).contains(&hunk).then(|| self.skipped.contains(&hunk))
    }

    /// Skips a hunk or includes it again. Returns false if it cannot be skipped.
    pub fn turn(&mut self, hunk: usize) -> bool {
        let Some(skipped) = self.is_skipped(hunk) else { return false };
        if skipped { self.skipped.remove(&hunk) } else { self.skipped.insert(hunk) }
    }

    pub fn remaining_change(&self, args: &Value) -> RemainingChange {
        match &self.parts {
            None => RemainingChange::All,
            Some(_) if self.skipped.is_empty() => RemainingChange::All,
            Some(parts) if self.skipped.len() == parts.count() => RemainingChange::Nothing,
            Some(parts) => RemainingChange::Some(parts.without(&self.skipped, args)),
        }
    }
}
