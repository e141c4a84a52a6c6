//! The pending requests, asked one after another, and the state of the open question. Plain data. A postponed request
//! stays here until it is settled.

use std::path::PathBuf;

use serde_json::Value;

use crate::approval::{Approval, Request, RequestId};
use crate::frontend::dialogue::{Dialogue, SeenPart};

/// Early lines after which the question is given up.
pub(super) const MOST_HASTY: usize = 10;

/// Rows of details per page.
pub(super) const PAGE: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Approvals {
    list: Vec<AskedRequest>,
    pub(super) open: Option<OpenQuestion>,
    /// The number of questions in this round, answered ones included.
    round: usize,
}

#[derive(Debug)]
pub(super) struct AskedRequest {
    pub(super) request: Request,
    /// The number in its round, from 1.
    pub(super) number: usize,
    pub(super) state: State,
    pub(super) origin: Origin,
}

/// The session of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Own,
    /// Another session: asked once, and dropped if it is postponed.
    Elsewhere {
        title: String,
        folder: PathBuf,
    },
}

/// The progress of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not asked yet.
    New,
    /// Postponed: asked again on demand.
    Postponed,
    /// Answered; the owner reports the settlement.
    Sent,
}

/// The open question.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub(super) request: Request,
    pub(super) number: usize,
    pub(super) stage: QuestionStage,
    /// The effect of the request, then all other facts.
    pub(super) rows: Vec<String>,
    /// The number of rows that describe the effect.
    pub(super) body: usize,
    /// Rows printed so far, without a gap from the first.
    pub(super) printed: usize,
    /// Its guard time starts once the question was written.
    pub(super) dialogue: Dialogue<(), Approval>,
    /// The arguments as changed so far.
    pub(super) args: Value,
    /// A text of the editor that holds no arguments.
    pub(super) written: Option<String>,
    /// Lines that came too early.
    pub(super) hasty: usize,
    /// Empty lines that were answered.
    pub(super) repeated: usize,
}

/// The meaning of the next line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionStage {
    Choice,
    /// High risk: a `yes` sends the proposal that was approved once.
    Confirm,
    Reason,
    /// The answer to a question of the model.
    Answer,
    /// A change of the arguments.
    Edit,
    /// The arguments are in the user's editor.
    Away,
    /// A `yes` approves the changed arguments.
    Changed,
}

impl OpenQuestion {
    /// Returns how much of the effect was printed.
    pub(super) fn seen_part(&self) -> SeenPart {
        if self.printed >= self.body { SeenPart::All } else { SeenPart::UpTo(self.printed) }
    }

    /// Returns the rows of the next page and records them as printed; after the last page the first again.
    pub(super) fn page(&mut self) -> Vec<String> {
        let from = if self.printed >= self.rows.len() { 0 } else { self.printed };
        let to = (from + PAGE).min(self.rows.len());
        self.printed = self.printed.max(to);
        let mut rows = self.rows[from..to].to_vec();
        if self.rows.len() > PAGE {
            let more = if to < self.rows.len() { "; 5 prints more" } else { "" };
            rows.push(format!("(lines {} to {to} of {}{more})", from + 1, self.rows.len()));
        }
        rows
    }
}

impl Approvals {
    pub(super) fn get(&self, id: &RequestId) -> Option<&AskedRequest> {
        self.list.iter().find(|entry| entry.request.id == *id)
    }

    /// Adds a request to be asked, or renews it.
    pub(super) fn add(&mut self, request: Request, origin: Origin) {
        self.list.retain(|entry| entry.request.id != request.id);
        self.round += 1;
        let later = |entry: &AskedRequest| entry.state == State::New && request.precedes(&entry.request);
        let at = self.list.iter().position(later).unwrap_or(self.list.len());
        self.list.insert(at, AskedRequest { request, number: self.round, state: State::New, origin });
        self.renumber();
    }

    /// Numbers the requests that were not asked yet in the order in which they are asked.
    fn renumber(&mut self) {
        let open = self.open.as_ref().map(|open| open.request.id.clone());
        let is_new =
            |entry: &&mut AskedRequest| entry.state == State::New && Some(&entry.request.id) != open.as_ref();
        let mut numbers: Vec<usize> = self.list.iter_mut().filter(is_new).map(|entry| entry.number).collect();
        numbers.sort_unstable();
        let unasked = self.list.iter_mut().filter(is_new);
        unasked.zip(numbers).for_each(|(entry, number)| entry.number = number);
    }

    /// Replaces the requests of this session; returns the numbers of those that are gone. New ones are asked on demand.
    pub(super) fn replace(&mut self, requests: Vec<Request>) -> Vec<usize> {
        let gone = |entry: &AskedRequest| {
            entry.origin == Origin::Own && !requests.iter().any(|request| request.id == entry.request.id)
        };
        let asked = |entry: &&AskedRequest| gone(entry) && entry.state == State::New;
        let numbers = self.list.iter().filter(asked).map(|entry| entry.number).collect();
        self.list.retain(|entry| !gone(entry));
        if self.open.as_ref().is_some_and(|open| self.get(&open.request.id).is_none()) {
            self.open = None;
        }
        for request in requests {
            if self.get(&request.id).is_none() {
                self.list.push(AskedRequest {
                    request,
                    number: 0,
                    state: State::Postponed,
                    origin: Origin::Own,
                });
            }
        }
        numbers
    }

    /// Removes a settled request and closes its question.
    pub(super) fn remove(&mut self, id: &RequestId) {
        self.withdraw(id);
        self.list.retain(|entry| entry.request.id != *id);
    }

    pub(super) fn postpone_all(&mut self) {
        self.open = None;
        self.list.retain(|entry| entry.origin == Origin::Own);
        for entry in &mut self.list {
            entry.state = State::Postponed;
        }
    }

    /// Sets the state of a request, whose question is closed.
    pub(super) fn mark(&mut self, id: &RequestId, state: State) {
        self.withdraw(id);
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.request.id == *id) {
            entry.state = state;
        }
    }

    fn withdraw(&mut self, id: &RequestId) {
        if self.open.as_ref().is_some_and(|open| open.request.id == *id) {
            self.open = None;
        }
    }

    /// Asks postponed requests again: this one, or all; returns their number.
    pub(super) fn bring_back(&mut self, only: Option<&RequestId>) -> usize {
        let before = self.round;
        let is_wanted = |entry: &&mut AskedRequest| {
            entry.state == State::Postponed && only.is_none_or(|id| entry.request.id == *id)
        };
        for entry in self.list.iter_mut().filter(is_wanted) {
            self.round += 1;
            (entry.state, entry.number) = (State::New, self.round);
        }
        self.round - before
    }

    /// Postpones requests whose sent decision did not count; returns their numbers.
    pub(super) fn undecide(&mut self) -> Vec<usize> {
        let sent = self.list.iter_mut().filter(|entry| entry.state == State::Sent);
        sent.map(|entry| {
            entry.state = State::Postponed;
            entry.number
        })
        .collect()
    }

    /// Returns the next request to ask, if none is open; with none left the round ends.
    pub(super) fn next(&mut self) -> Option<&AskedRequest> {
        let at = self.list.iter().position(|entry| entry.state == State::New);
        if at.is_none() && self.open.is_none() && self.count(State::Sent) == 0 {
            self.round = 0;
        }
        at.map(|at| &self.list[at])
    }

    pub(super) fn count(&self, state: State) -> usize {
        self.list.iter().filter(|entry| entry.state == state).count()
    }

    /// Returns the number of questions in this round.
    pub(super) fn round(&self) -> usize {
        self.round
    }

    /// Whether a question is open or to be asked.
    pub(super) fn asks(&self) -> bool {
        self.open.is_some() || self.count(State::New) > 0
    }
}
