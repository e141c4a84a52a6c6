//! Requests of users: by call, by turn, back to a message, and again.

use std::path::PathBuf;
use std::sync::Arc;

use super::file::{EntryFilter, UndoEntry};
use super::{Direction, UndoError, UndoLog, text};

/// The changes to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoTarget {
    /// The last change.
    Last,
    /// All changes of the last turn that changed something.
    Turn,
    /// The change of this number.
    Entry(i64),
    /// The changes of these calls, by their ids.
    Calls(Vec<String>),
    /// Does again what was taken back last.
    Redo,
}

/// Whose changes are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoScope {
    Session(String),
    /// Those of all sessions in a folder.
    Folder(PathBuf),
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoOutcome {
    /// It was done.
    Done(String),
    /// Why nothing was changed.
    Refused(String),
    /// These changes would be made: the user has to agree.
    Asks { text: String, ids: Vec<i64> },
}

impl UndoLog {
    /// Takes back, or does again, if nothing speaks against it; `agreed` is that the user saw the list of a change that asks.
    pub fn carry_out(
        &self,
        scope: &UndoScope,
        what: &UndoTarget,
        agreed: bool,
        own: &Arc<[PathBuf]>,
    ) -> Result<UndoOutcome, UndoError> {
        let id = if let UndoTarget::Entry(id) = what { Some(*id) } else { None };
        let filter = match scope {
            UndoScope::Session(session) => {
                EntryFilter { session: Some(session.clone()), id, ..EntryFilter::default() }
            }
            UndoScope::Folder(path) => {
                EntryFilter { workspace: Some(path.clone()), id, ..EntryFilter::default() }
            }
        };
        let all = self.entries(&filter)?;
        let chosen = match chosen_numbers(&all, what) {
            Ok(chosen) => chosen,
            Err(why) if matches!(what, UndoTarget::Calls(_)) => return Ok(UndoOutcome::Done(why)),
            Err(why) => return Ok(UndoOutcome::Refused(self.with_reason(why))),
        };
        let direction = if *what == UndoTarget::Redo { Direction::Redo } else { Direction::Undo };
        let restoration = self.restoration(direction, &chosen, own)?;
        if let Some(refusal) = restoration.refusal() {
            return Ok(UndoOutcome::Refused(refusal));
        }
        if restoration.needs_confirmation() && !agreed && !restoration.steps.is_empty() {
            return Ok(UndoOutcome::Asks { text: restoration.question(), ids: chosen });
        }
        restoration.apply(&text::note_for_model(&restoration))?;
        let mut text = text::restoration(&restoration);
        if let (UndoTarget::Last, Some(last)) = (what, restoration.entries.first()) {
            let more = all
                .iter()
                .filter(|one| one.undone.is_none() && one.id != last.id && one.turn() == last.turn());
            text.push_str(&text::more_of_turn(more.count()));
        }
        Ok(UndoOutcome::Done(text))
    }

    fn with_reason(&self, why: String) -> String {
        match self.fault() {
            Some(reason) => format!("{why} Nothing is kept at the moment: {reason}."),
            None => why,
        }
    }
}

/// Returns the numbers of the changes that are meant; errs with a sentence.
fn chosen_numbers(all: &[UndoEntry], what: &UndoTarget) -> Result<Vec<i64>, String> {
    let ids = |wanted: &dyn Fn(&&UndoEntry) -> bool| -> Vec<i64> {
        all.iter().filter(|one| one.undone.is_none()).filter(wanted).map(|one| one.id).collect()
    };
    let last = all.iter().find(|one| one.undone.is_none());
    let (found, missing) = match what {
        UndoTarget::Last => {
            (last.map(|last| vec![last.id]).unwrap_or_default(), "There is nothing to take back.".to_owned())
        }
        UndoTarget::Turn => {
            let turn = last.map(UndoEntry::turn);
            (ids(&|one| Some(one.turn()) == turn), "There is nothing to take back.".to_owned())
        }
        UndoTarget::Entry(id) => match all.first() {
            Some(one) if one.undone.is_some() => (Vec::new(), format!("Change {id} was taken back already.")),
            Some(_) => (vec![*id], String::new()),
            None => (Vec::new(), format!("There is no change {id} here. `/undo list` shows them.")),
        },
        UndoTarget::Calls(calls) => {
            (ids(&|one| calls.contains(&one.call)), "Nothing changed files since then.".to_owned())
        }
        UndoTarget::Redo => {
            let latest = all.iter().filter_map(|one| one.undone).max();
            let mut again: Vec<i64> = all
                .iter()
                .filter(|one| one.undone.is_some() && one.undone == latest)
                .map(|one| one.id)
                .collect();
            again.reverse();
            (again, "There is nothing to do again.".to_owned())
        }
    };
    if found.is_empty() { Err(missing) } else { Ok(found) }
}
