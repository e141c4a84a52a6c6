//! Several requests as one list with marks, decided in one round. Plain data: the question on the screen and the
//! dependencies between rows. Keys are handled by `keys`, drawing by `draw`.

pub mod draw;
pub mod keys;

use super::cards::{Card, CardStage, Cards, SentDecision};
use super::list::{RequestList, RowMark};
use crate::agent::calls::conflict;
use crate::approval::RequestId;
use crate::config::Cap;
use crate::tool::Access;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    pub list: RequestList,
    /// The request that was opened from the list as a card of its own.
    pub opened: Option<RequestId>,
    /// The requests for which a text was being written at the last check.
    pub writing: Vec<RequestId>,
}

/// The question that a key would answer. When it changes, no key counts for a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    Nothing,
    Card(RequestId),
    List(Vec<RequestId>),
    /// The question at this cap, which is no request.
    Cap(Cap),
    Inbox,
}

/// A row of the list and the calls it runs after.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchRow<'a> {
    pub card: &'a Card,
    pub mark: RowMark,
    pub after: Vec<Dependency>,
}

/// A call that runs first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dependency {
    /// The row with this index.
    Row(usize),
    /// A call outside the list, by the label of its model.
    Label(String),
}

/// Returns the rows of the list, in the order of their requests.
pub fn rows<'a>(cards: &'a Cards, list: &RequestList) -> Vec<BatchRow<'a>> {
    let shown: Vec<&Card> = cards.visible().collect();
    let after = |card: &Card| {
        let needed = |(_, other): &(usize, &&Card)| is_needed(other, card);
        let mut after: Vec<Dependency> =
            shown.iter().enumerate().filter(needed).map(|(index, _)| Dependency::Row(index)).collect();
        let is_no_row = |label: &&String| !shown.iter().any(|other| is_called(other, label, card));
        after.extend(card.request.after.iter().filter(is_no_row).cloned().map(Dependency::Label));
        after
    };
    let mark = |card: &Card| if card.is_decided() { RowMark::Decided } else { list.mark(&card.request.id) };
    shown.iter().map(|card| BatchRow { card, mark: mark(card), after: after(card) }).collect()
}

/// Returns the pending cards that run before this one: first those it needs, then those it must not overtake.
pub fn awaited_cards<'a>(cards: &'a Cards, card: &Card) -> Vec<&'a Card> {
    let needed = cards.iter().filter(|other| is_needed(other, card));
    let others = cards.iter().filter(|other| !is_needed(other, card) && is_overtaken(other, card));
    needed.chain(others).collect()
}

/// Whether `card` runs only if `other` succeeded.
fn is_needed(other: &Card, card: &Card) -> bool {
    card.request.depends.contains(&other.request.call)
        || card.request.after.iter().any(|label| is_called(other, label, card))
}

/// Whether `other` is an earlier call of the same reply that touches what `card` touches. Read-only calls are not
/// ordered this way.
fn is_overtaken(other: &Card, card: &Card) -> bool {
    let is_read_only = match &card.request.plan.access {
        Access::Paths { writes, .. } => writes.is_empty(),
        Access::External { .. } | Access::Anything => false,
        Access::Nothing | Access::Web { .. } => true,
    };
    other.request.precedes(&card.request)
        && !is_read_only
        && conflict(&other.request.plan.access, &card.request.plan.access)
}

/// Whether `card` refers to `other` by `label`: labels are unique within one reply.
fn is_called(other: &Card, label: &str, card: &Card) -> bool {
    other.label.as_deref() == Some(label)
        && other.request.place_in_reply().0 == card.request.place_in_reply().0
}

/// Returns the rows that cannot run any more once `denied` are denied, without these themselves.
pub fn dropped_rows(rows: &[BatchRow<'_>], denied: &[usize]) -> Vec<usize> {
    let mut gone: Vec<usize> = denied.to_vec();
    loop {
        let lost = |row: &BatchRow<'_>| {
            row.after.iter().any(|after| matches!(after, Dependency::Row(at) if gone.contains(at)))
        };
        match (0..rows.len()).find(|index| !gone.contains(index) && lost(&rows[*index])) {
            Some(index) => gone.push(index),
            None => break,
        }
    }
    gone.retain(|index| !denied.contains(index));
    gone.sort_unstable();
    gone
}

/// Formats row numbers, counted from 1.
pub fn numbers(indices: &[usize]) -> String {
    indices.iter().map(|index| (index + 1).to_string()).collect::<Vec<_>>().join(", ")
}

/// Describes the effect of dependencies on a decision, one line each.
pub fn notes(rows: &[BatchRow<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.mark == RowMark::On) {
        let missing: Vec<usize> = row
            .after
            .iter()
            .filter_map(|after| if let Dependency::Row(at) = after { Some(*at) } else { None })
            .filter(|at| rows[*at].mark == RowMark::Off)
            .collect();
        if !missing.is_empty() {
            let (row, missing) = (index + 1, numbers(&missing));
            notes.push(format!("{row} runs only after {missing}, which is not marked"));
        }
    }
    for (index, row) in rows.iter().enumerate() {
        let lost = dropped_rows(rows, &[index]);
        if lost.is_empty() {
            continue;
        }
        match row.card.stage {
            CardStage::Deciding(SentDecision::Deny) => {
                notes.push(format!("{} is denied: {} cannot run", index + 1, numbers(&lost)));
            }
            CardStage::Deciding(_) => {}
            CardStage::Asking | CardStage::Reason(_) | CardStage::Editing(_) | CardStage::Rule(_) => {
                let needs = if lost.len() == 1 { "needs" } else { "need" };
                let words = numbers(&lost);
                notes.push(format!("{words} {needs} {0}: denying {0} cancels {words}", index + 1));
            }
        }
    }
    notes
}
