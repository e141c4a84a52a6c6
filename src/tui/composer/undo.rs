//! The undo history of an editor's text. It stores the changes, never whole copies.
//!
//! A group of changes is undone as one. Called by the editor, which makes every change through
//! [`Undo::change`].

use std::ops::Range;

use super::item::Item;

/// The greatest number of groups that can be undone.
const DEEPEST: usize = 100;

/// One change: `added` items at `at` replaced the `removed` ones.
#[derive(Debug, Clone, PartialEq)]
struct UndoStep {
    at: usize,
    removed: Vec<Item>,
    added: usize,
}

#[derive(Debug, Clone, PartialEq)]
struct Group {
    steps: Vec<UndoStep>,
    /// The cursor before the group.
    cursor: usize,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Undo {
    done: Vec<Group>,
    undone: Vec<Group>,
}

impl Undo {
    /// Begins a group: changes from here on are undone as one.
    pub fn begin(&mut self, cursor: usize) {
        self.undone.clear();
        self.done.push(Group { steps: Vec::new(), cursor });
        if self.done.len() > DEEPEST {
            self.done.remove(0);
        }
    }

    /// Replaces a range of `items` by `new`; returns the removed items.
    pub fn change(&mut self, items: &mut Vec<Item>, range: Range<usize>, new: Vec<Item>) -> Vec<Item> {
        let (at, added) = (range.start, new.len());
        let removed: Vec<Item> = items.splice(range, new).collect();
        if let Some(group) = self.done.last_mut() {
            match group.steps.last_mut() {
                // A run of typing is one change.
                Some(last) if removed.is_empty() && last.at + last.added == at => last.added += added,
                Some(_) | None => group.steps.push(UndoStep { at, removed: removed.clone(), added }),
            }
        }
        removed
    }

    /// Undoes the newest group; returns the cursor position.
    pub fn undo(&mut self, items: &mut Vec<Item>, cursor: usize) -> Option<usize> {
        revert(items, &mut self.done, &mut self.undone, cursor)
    }

    /// Redoes the last undone group; returns the cursor position.
    pub fn redo(&mut self, items: &mut Vec<Item>, cursor: usize) -> Option<usize> {
        revert(items, &mut self.undone, &mut self.done, cursor)
    }
}

/// Reverts the newest group with changes, and adds the group that reverts this to `reverse`. Returns the cursor from
/// before the group.
fn revert(
    items: &mut Vec<Item>,
    groups: &mut Vec<Group>,
    reverse: &mut Vec<Group>,
    cursor: usize,
) -> Option<usize> {
    let group = std::iter::from_fn(|| groups.pop()).find(|group| !group.steps.is_empty())?;
    let back = |step: UndoStep| {
        let added = step.removed.len();
        let removed = items.splice(step.at..step.at + step.added, step.removed).collect();
        UndoStep { at: step.at, removed, added }
    };
    reverse.push(Group { steps: group.steps.into_iter().rev().map(back).collect(), cursor });
    Some(group.cursor)
}
