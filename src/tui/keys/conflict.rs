//! Where keys of one keymap get into each other's way.
//!
//! By default a key may mean one thing in a popup and another behind it; that is no conflict. One is what a person's
//! own keys took away from an action that had a key there. Called by [`super::Keymap`].

use std::collections::{HashMap, HashSet};

use super::keymap::Bound;
use super::{Action, Binding, Context, KeyProblem, LAYERS, rows};
use crate::config::Source;
use crate::tui::key::Key;

/// What each key does in each context; of two rows the one that the person set comes first.
pub type Owners = HashMap<(Context, Key), Action>;

pub fn owners(bound: &[Bound]) -> Owners {
    let mut owners = Owners::with_capacity(bound.len() * 2);
    let (set, usual): (Vec<&Bound>, Vec<&Bound>) =
        bound.iter().partition(|row| row.source != Source::Default);
    for row in set.into_iter().chain(usual) {
        for key in &row.keys {
            owners.entry((row.binding.context, *key)).or_insert(row.binding.action);
        }
    }
    owners
}

/// What each key does by default.
pub fn usual() -> Owners {
    rows().flat_map(|row| row.keys.iter().map(|key| ((row.context, *key), row.action))).collect()
}

/// Whether some key does this where these contexts are asked.
pub fn reaches(owners: &Owners, layer: &[Context], action: Action) -> bool {
    owners.iter().any(|((context, key), done)| {
        *done == action && layer.contains(context) && first(owners, layer, *key) == Some((*context, action))
    })
}

/// Which context takes a key, and what it does there.
fn first(owners: &Owners, layer: &[Context], key: Key) -> Option<(Context, Action)> {
    layer.iter().find_map(|context| Some((*context, *owners.get(&(*context, key))?)))
}

/// Keys that the person gave to two actions of one context.
pub fn twice(bound: &[Bound]) -> Vec<KeyProblem> {
    let owners = owners(bound);
    let mut problems = Vec::new();
    for row in bound.iter().filter(|row| row.source != Source::Default) {
        for key in &row.keys {
            let Some(has) = owner(&owners, row.binding.context, *key) else { continue };
            if has != row.binding {
                let (place, lost) = (row.source.clone(), row.binding);
                problems.push(KeyProblem::Twice { place, key: *key, has, lost });
            }
        }
    }
    problems
}

/// Actions that lost their last default key to another one of their own context.
pub fn taken(bound: &[Bound]) -> Vec<KeyProblem> {
    let owners = owners(bound);
    let mut problems = Vec::new();
    for row in bound.iter().filter(|row| row.source == Source::Default && row.keys.is_empty()) {
        let binding = row.binding;
        for key in binding.keys.iter().take(1) {
            let Some(has) = owner(&owners, binding.context, *key) else { continue };
            let place = bound.iter().find(|row| row.binding == has).map(|row| row.source.clone());
            let place = place.unwrap_or(Source::Default);
            problems.push(KeyProblem::Taken { place, key: *key, has, lost: binding });
        }
    }
    problems
}

/// Actions that have keys, none of which gets to them in a place where one does by default.
pub fn shadowed(bound: &[Bound]) -> Vec<KeyProblem> {
    let (now, usual) = (owners(bound), usual());
    let mut problems = Vec::new();
    let mut told = HashSet::new();
    for layer in LAYERS {
        for row in bound.iter().filter(|row| layer.contains(&row.binding.context)) {
            let lost = row.binding;
            if reaches(&now, layer, lost.action) || !reaches(&usual, layer, lost.action) {
                continue;
            }
            let masks = row.keys.iter().find_map(|key| {
                let (context, _) = first(&now, layer, *key)?;
                Some((*key, owner(&now, context, *key)?))
            });
            let Some((key, has)) = masks else { continue };
            if has != lost && told.insert((lost.context, lost.action, has.context, has.action)) {
                problems.push(KeyProblem::Shadowed { key, has, lost });
            }
        }
    }
    problems
}

fn owner(owners: &Owners, context: Context, key: Key) -> Option<&'static Binding> {
    let action = *owners.get(&(context, key))?;
    rows().find(|row| row.context == context && row.action == action)
}
