//! Several requests as one list with marks, decided in one round.
//!
//! Plain data and what can be read from it: which of the queue is on the screen, how the rows of the list depend on
//! each other. What keys do to it is `update::batch`, how it looks is `cells::batch`. It never decides anything.

use super::cards::{Card, Cards, Mark, Stage, place_in_reply};
use super::composer::Editor;
use super::model::{Model, Overlay};
use crate::agent::calls::conflict;
use crate::approval::RequestId;
use crate::config::Cap;
use crate::tool::Access;

/// The list's own state; marks are with the cards.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    pub round: Round,
    /// The one that was opened from the list as a card of its own.
    pub opened: Option<RequestId>,
    /// Why the last key did nothing, or what it led to.
    pub advice: Option<String>,
    /// Whose words were being written when it was last looked at.
    pub writing: Vec<RequestId>,
}

/// Where the decision on what is marked stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Round {
    #[default]
    Marking,
    /// HIGH ones are among these, and `y` was pressed once.
    Confirming(Vec<RequestId>),
    /// `n` was pressed: one reason for all of these is being written.
    Reason { editor: Editor, of: Vec<RequestId> },
}

/// What of the queue is on the screen. When it changes, no key counts for a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Face {
    #[default]
    Nothing,
    One(RequestId),
    List(Vec<RequestId>),
    /// The question at this cap, which is none of the queue.
    Cap(Cap),
}

/// A row of the list and what it runs after.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    pub card: &'a Card,
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
pub fn rows(cards: &Cards) -> Vec<Row<'_>> {
    let shown: Vec<&Card> = cards.shown().collect();
    let after = |card: &Card| {
        let needed = |(_, other): &(usize, &&Card)| is_needed(other, card);
        let mut after: Vec<After> =
            shown.iter().enumerate().filter(needed).map(|(index, _)| After::Row(index)).collect();
        let is_no_row = |label: &&String| !shown.iter().any(|other| is_called(other, label, card));
        after.extend(card.request.after.iter().filter(is_no_row).cloned().map(After::Label));
        after
    };
    shown.iter().map(|card| Row { card, after: after(card) }).collect()
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

/// Whether `other` is an earlier call of the same reply that touches what `card` touches: calls that only look are
/// never in that order.
fn is_overtaken(other: &Card, card: &Card) -> bool {
    let ((reply, place), (other_reply, other_place)) =
        (place_in_reply(&card.request), place_in_reply(&other.request));
    let looks = match &card.request.plan.access {
        Access::Paths { writes, .. } => writes.is_empty(),
        Access::Anything => false,
        Access::Nothing => true,
    };
    reply == other_reply
        && other_place < place
        && !looks
        && conflict(&other.request.plan.access, &card.request.plan.access)
}

/// Whether `other` is what `card` calls `label`: labels count within one reply.
fn is_called(other: &Card, label: &str, card: &Card) -> bool {
    other.label.as_deref() == Some(label)
        && place_in_reply(&other.request).0 == place_in_reply(&card.request).0
}

/// The rows that cannot run any more once `denied` are denied, without these themselves.
pub fn dropped(rows: &[Row<'_>], denied: &[usize]) -> Vec<usize> {
    let mut gone: Vec<usize> = denied.to_vec();
    loop {
        let lost = |row: &Row<'_>| {
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
pub fn notes(rows: &[Row<'_>]) -> Vec<String> {
    let open = |card: &Card| !matches!(card.stage, Stage::Deciding(_));
    let mut notes = Vec::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.card.mark == Mark::On) {
        let missing: Vec<usize> = row
            .after
            .iter()
            .filter_map(|after| if let After::Row(at) = after { Some(*at) } else { None })
            .filter(|at| rows[*at].card.mark == Mark::Off && open(rows[*at].card))
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
            Stage::Deciding(word) if word.starts_with("no") => {
                notes.push(format!(
                    "{} is denied: {} cannot run and will be dropped",
                    index + 1,
                    numbers(&lost)
                ));
            }
            Stage::Deciding(_) => {}
            Stage::Asking | Stage::Confirming(_) | Stage::Reason(_) | Stage::Editing(_) | Stage::Rule(_) => {
                let needs = if lost.len() == 1 { "needs" } else { "need" };
                let words = numbers(&lost);
                notes.push(format!("{words} {needs} {0}: denying {0} drops {words}", index + 1));
            }
        }
    }
    notes
}

impl Model {
    /// What of the queue is on the screen: one card, or two and more as a list.
    pub fn face(&self) -> Face {
        if self.overlay != Overlay::None || self.is_too_small() {
            return Face::Nothing;
        }
        if let Some(cap) = self.cap.as_ref().filter(|_| self.asks_cap()) {
            return Face::Cap(cap.question.cap);
        }
        let Some(current) = self.cards.current() else { return Face::Nothing };
        if self.is_list() {
            Face::List(self.cards.shown().map(|card| card.request.id.clone()).collect())
        } else {
            Face::One(current.request.id.clone())
        }
    }

    /// Whether the requests are drawn as one list. What is being written is never taken off the screen.
    pub fn is_list(&self) -> bool {
        if self.asks_cap() {
            return false;
        }
        let Some(current) = self.cards.current() else { return false };
        if let Round::Reason { .. } = self.batch.round {
            return true;
        }
        let single = current.is_written_to() || self.batch.opened.as_ref() == Some(&current.request.id);
        !single && self.cards.shown().nth(1).is_some()
    }
}
