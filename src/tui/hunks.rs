//! The hunks of a card's diff: which are skipped, which one the person is at, and how they are laid out.
//!
//! Plain data. What a call without some of them would do is `tool::hunks`; a skipped hunk is never a decision.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::approval::Request;
use crate::tool::hunks::Parts;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hunks {
    /// What can be left out; `None` where nothing can.
    parts: Option<Parts>,
    /// From 1.
    skipped: BTreeSet<usize>,
    pub sides: Sides,
    /// Lines of the body at which hunks begin, as it was last laid out.
    pub rows: Vec<usize>,
    /// Index of the hunk that the person is at.
    at: usize,
}

/// How old and new stand on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sides {
    /// Side by side where there is room for it.
    #[default]
    Fitting,
    /// One below the other.
    Unified,
    /// Side by side.
    Split,
}

/// What is left of a change.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    All,
    Nothing,
    /// The arguments that do just this.
    Some(Value),
}

impl Hunks {
    pub fn of(request: &Request) -> Self {
        Self { parts: Parts::of(&request.tool, &request.args, &request.plan), ..Self::default() }
    }

    /// How many can be skipped, the first nine by a digit each.
    pub fn count(&self) -> usize {
        self.parts.as_ref().map_or(0, Parts::count)
    }

    /// The hunk that the person is at, from 1.
    pub fn here(&self) -> usize {
        self.at + 1
    }

    /// Goes to the hunk of this number. Gives the line of the body at which it begins, where there is one.
    pub fn go_to(&mut self, hunk: usize) -> Option<usize> {
        let at = hunk.checked_sub(1)?;
        let row = self.rows.get(at).copied()?;
        self.at = at;
        Some(row)
    }

    /// The body was scrolled: where the person was at a hunk that is out of sight now, it is another one.
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

    pub fn skipped(&self) -> usize {
        self.skipped.len()
    }

    /// Those that are skipped, in order.
    pub fn skips(&self) -> impl Iterator<Item = usize> {
        self.skipped.iter().copied()
    }

    /// Whether this hunk is skipped; `None` where that is no choice.
    pub fn is_skipped(&self, hunk: usize) -> Option<bool> {
        (1..=self.count()).contains(&hunk).then(|| self.skipped.contains(&hunk))
    }

    /// Skips a hunk, or keeps it after all. Whether there is such a choice.
    pub fn turn(&mut self, hunk: usize) -> bool {
        let Some(skipped) = self.is_skipped(hunk) else { return false };
        if skipped { self.skipped.remove(&hunk) } else { self.skipped.insert(hunk) }
    }

    pub fn kept(&self, args: &Value) -> Kept {
        match &self.parts {
            None => Kept::All,
            Some(_) if self.skipped.is_empty() => Kept::All,
            Some(parts) if self.skipped.len() == parts.count() => Kept::Nothing,
            Some(parts) => Kept::Some(parts.without(&self.skipped, args)),
        }
    }
}
