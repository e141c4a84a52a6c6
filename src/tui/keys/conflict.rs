//! Conflicts between the keys of a keymap.
//!
//! A default key may mean one thing in a popup and another behind it, which is no conflict. A conflict arises when the
//! user's keys take the last key of an action.

use std::collections::{HashMap, HashSet};

use super::{Action, Binding, BindingRow, Context, KeyProblem, KeyTable};
use crate::config::Source;
use crate::tui::key::Key;

/// The action of each key in each context.
pub type Owners = HashMap<(Context, Key), &'static Binding>;

/// Returns the action of each key; a row that the user set takes precedence.
pub fn owners(bound: &[BindingRow]) -> Owners {
    let mut owners = Owners::with_capacity(bound.len() * 2);
    let (set, usual): (Vec<&BindingRow>, Vec<&BindingRow>) = bound.iter().partition(|row| row.is_set());
    for row in set.into_iter().chain(usual) {
        for key in &row.keys {
            owners.entry((row.binding.context, *key)).or_insert(row.binding);
        }
    }
    owners
}

/// Returns the default action of each key.
pub fn usual(table: &'static KeyTable) -> Owners {
    table.rows().flat_map(|row| row.keys.iter().map(move |key| ((row.context, *key), row))).collect()
}

/// Returns the action of a key in the first of these contexts that binds it.
pub fn first(owners: &Owners, layer: &[Context], key: Key) -> Option<&'static Binding> {
    layer.iter().find_map(|context| owners.get(&(*context, key)).copied())
}

/// Whether some key leads to this action in these contexts.
pub fn reaches(owners: &Owners, layer: &[Context], action: Action) -> bool {
    owners.iter().any(|((context, key), row)| {
        row.action == action && layer.contains(context) && first(owners, layer, *key) == Some(*row)
    })
}

/// Returns keys that the user bound to two actions of one context.
pub fn twice(bound: &[BindingRow]) -> Vec<KeyProblem> {
    let owners = owners(bound);
    let mut problems = Vec::new();
    for row in bound.iter().filter(|row| row.is_set()) {
        for key in &row.keys {
            let Some(has) = owners.get(&(row.binding.context, *key)) else { continue };
            if *has != row.binding {
                let (place, lost) = (row.source.clone(), row.binding);
                problems.push(KeyProblem::Twice { place, key: *key, has, lost });
            }
        }
    }
    problems
}

/// Returns actions that lost their last default key to another one of their own context.
pub fn lost_keys(bound: &[BindingRow]) -> Vec<KeyProblem> {
    let owners = owners(bound);
    let lost = |row: &&BindingRow| !row.is_set() && row.keys.is_empty();
    let problem = |row: &BindingRow| {
        let lost = row.binding;
        let key = *lost.keys.first()?;
        let has = *owners.get(&(lost.context, key))?;
        let place = bound.iter().find(|row| row.binding == has).map(|row| row.source.clone());
        Some(KeyProblem::Taken { place: place.unwrap_or(Source::Default), key, has, lost })
    };
    bound.iter().filter(lost).filter_map(problem).collect()
}

/// Returns actions whose keys are all hidden by other contexts in a place where a default key works.
pub fn shadowed_actions(table: &'static KeyTable, bound: &[BindingRow]) -> Vec<KeyProblem> {
    let (now, usual) = (owners(bound), usual(table));
    let mut problems = Vec::new();
    let mut found = HashSet::new();
    for layer in table.layers() {
        for row in bound.iter().filter(|row| layer.contains(&row.binding.context)) {
            let lost = row.binding;
            if reaches(&now, &layer, lost.action) || !reaches(&usual, &layer, lost.action) {
                continue;
            }
            let masks = row.keys.iter().find_map(|key| Some((*key, first(&now, &layer, *key)?)));
            let Some((key, has)) = masks else { continue };
            if has != lost && found.insert((lost.path(), has.path())) {
                problems.push(KeyProblem::Shadowed { key, has, lost });
            }
        }
    }
    problems
}
