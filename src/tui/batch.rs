//! Several requests as one list with marks, decided in one round.
//!
//! Plain data and what can be read from it: which of the queue is on the screen, how the rows of the list depend on
//! each other. What keys do to it is `update::batch`, how it looks is `cells::batch`. It never decides anything.

use super::cards::{Card, CardStage, Cards, place_in_reply};
use super::list::{Mark, RequestList};
use crate::agent::calls::conflict;
use crate::approval::RequestId;
use crate::config::Cap;
use crate::tool::Access;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    pub list: RequestList,
    /// The one that was opened from the list as a card of its own.
    pub opened: Option<RequestId>,
    /// The requests to which something was being written when it was last looked at.
    pub writing: Vec<RequestId>,
}

/// What a key on the screen would answer. When it changes, no key counts for a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    Nothing,
    Card(RequestId),
    List(Vec<RequestId>),
    /// The question at this cap, which is no request.
    Cap(Cap),
    Inbox,
}

/// A row of the list and what it runs after.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchRow<'a> {
    pub card: &'a Card,
    pub mark: Mark,
    pub after: Vec<After>,
}

/// A call that is to be done first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// The row with this index.
    Row(usize),
    /// One that is not in the list, by the label its model gave it.
    Label(String),
}

/// The rows of the list, in the order in which their requests came.
pub fn rows<'a>(cards: &'a Cards, list: &RequestList) -> Vec<BatchRow<'a>> {
    let shown: Vec<&Card> = cards.shown().collect();
    let after = |card: &Card| {
        let needed = |(_, other): &(usize, &&Card)| is_needed(other, card);
        let mut after: Vec<After> =
            shown.iter().enumerate().filter(needed).map(|(index, _)| After::Row(index)).collect();
        let is_no_row = |label: &&String| !shown.iter().any(|other| is_called(other, label, card));
        after.extend(card.request.after.iter().filter(is_no_row).cloned().map(After::Label));
        after
    };
    let mark = |card: &Card| if card.is_decided() { Mark::Decided } else { list.mark(&card.request.id) };
    shown.iter().map(|card| BatchRow { card, mark: mark(card), after: after(card) }).collect()
}

/// What still waits and is done before this card's call: what it needs, and behind that what it must not overtake.
pub fn awaited<'a>(cards: &'a Cards, card: &Card) -> Vec<&'a Card> {
    let needed = cards.iter().filter(|other| is_needed(other, card));
    let others = cards.iter().filter(|other| !is_needed(other, card) && is_overtaken(other, card));
    needed.chain(others).collect()
}

/// Whether `card` runs only when `other` was done well.
fn is_needed(other: &Card, card: &Card) -> bool {
    card.request.depends.contains(&other.request.call)
        || card.request.after.iter().any(|label| is_called(other, label, card))
}

/// Whether `other` is an earlier call of the same reply that touches what `card` touches: read-only calls are
/// never in that order.
fn is_overtaken(other: &Card, card: &Card) -> bool {
    let ((reply, place), (other_reply, other_place)) =
        (place_in_reply(&card.request), place_in_reply(&other.request));
    let is_read_only = match &card.request.plan.access {
        Access::Paths { writes, .. } => writes.is_empty(),
        Access::Anything => false,
        Access::Nothing => true,
    };
    reply == other_reply
        && other_place < place
        && !is_read_only
        && conflict(&other.request.plan.access, &card.request.plan.access)
}

/// Whether `other` is what `card` calls `label`: labels count within one reply.
fn is_called(other: &Card, label: &str, card: &Card) -> bool {
    other.label.as_deref() == Some(label)
        && place_in_reply(&other.request).0 == place_in_reply(&card.request).0
}

/// The rows that cannot run any more once `denied` are denied, without these themselves.
pub fn dropped(rows: &[BatchRow<'_>], denied: &[usize]) -> Vec<usize> {
    let mut gone: Vec<usize> = denied.to_vec();
    loop {
        let lost = |row: &BatchRow<'_>| {
            row.after.iter().any(|after| matches!(after, After::Row(at) if gone.contains(at)))
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

/// Row numbers as people count.
pub fn numbers(indices: &[usize]) -> String {
    indices.iter().map(|index| (index + 1).to_string()).collect::<Vec<_>>().join(", ")
}

/// What the links between the rows mean for a decision, one line each.
pub fn notes(rows: &[BatchRow<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.mark == Mark::On) {
        let missing: Vec<usize> = row
            .after
            .iter()
            .filter_map(|after| if let After::Row(at) = after { Some(*at) } else { None })
            .filter(|at| rows[*at].mark == Mark::Off)
            .collect();
        if !missing.is_empty() {
            let (row, missing) = (index + 1, numbers(&missing));
            notes.push(format!("{row} is marked without {missing}: it runs only after that"));
        }
    }
    for (index, row) in rows.iter().enumerate() {
        let lost = dropped(rows, &[index]);
        if lost.is_empty() {
            continue;
        }
        match row.card.stage {
            CardStage::Deciding(word) if word.starts_with("no") => {
                notes.push(format!(
                    "{} is denied: {} cannot run and will be dropped",
                    index + 1,
                    numbers(&lost)
                ));
            }
            CardStage::Deciding(_) => {}
            CardStage::Asking | CardStage::Reason(_) | CardStage::Editing(_) | CardStage::Rule(_) => {
                let needs = if lost.len() == 1 { "needs" } else { "need" };
                let words = numbers(&lost);
                notes.push(format!("{words} {needs} {0}: denying {0} drops {words}", index + 1));
            }
        }
    }
    notes
}
