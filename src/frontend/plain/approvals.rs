//! The requests that wait for the person, asked one after another, and where the open question stands.
//!
//! Plain data: it prints nothing and decides nothing. A request is never lost: one that is put off stays here, counted,
//! until it is settled.

use std::path::PathBuf;

use crate::approval::{Approval, Request, RequestId};
use crate::frontend::dialogue::{Dialogue, Seen};

/// Lines that may come too soon before the question is given up.
pub(super) const MOST_HASTY: usize = 10;

/// Rows of details that are printed at once; what is longer comes in pages of as many.
pub(super) const PAGE: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Approvals {
    list: Vec<AskedRequest>,
    pub(super) open: Option<OpenQuestion>,
    /// Questions of this round so far, answered ones included.
    round: usize,
}

#[derive(Debug)]
pub(super) struct AskedRequest {
    pub(super) request: Request,
    /// In its round, from 1.
    pub(super) number: usize,
    pub(super) state: State,
    pub(super) origin: Origin,
}

/// Whose request it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Own,
    /// Of another session: asked about once, and not kept when it is put off.
    Elsewhere {
        title: String,
        folder: PathBuf,
    },
}

/// How far a request has been dealt with here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// To be asked.
    New,
    /// Put off: asked again when the person wants it.
    Aside,
    /// Answered; the owner says how it was settled.
    Sent,
}

/// The question that is asked just now.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub(super) request: Request,
    pub(super) number: usize,
    pub(super) stage: QuestionStage,
    /// What it would do, then everything else there is to know.
    pub(super) rows: Vec<String>,
    /// How many of the rows say what it would do.
    pub(super) body: usize,
    /// Rows printed so far, without a gap from the first.
    pub(super) printed: usize,
    /// It is shown once the question is out.
    pub(super) dialogue: Dialogue<(), Approval>,
    /// Lines that came too soon to be answers.
    pub(super) hasty: usize,
    /// Empty lines that were answered.
    pub(super) repeated: usize,
}

/// What the next line means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionStage {
    Choice,
    /// HIGH: a `yes` sends what was approved once.
    Confirm,
    Reason,
    Edit,
}

impl OpenQuestion {
    /// How much of what it would do was printed.
    pub(super) fn seen(&self) -> Seen {
        if self.printed >= self.body { Seen::All } else { Seen::UpTo(self.printed) }
    }

    /// Whether a line that comes now may be an answer.
    pub(super) fn takes_answers(&self, now_ms: u64) -> bool {
        match self.stage {
            // Only a no comes of it.
            QuestionStage::Reason => true,
            QuestionStage::Choice | QuestionStage::Confirm | QuestionStage::Edit => {
                self.dialogue.is_armed(now_ms)
            }
        }
    }

    /// The rows of the next page, which count as printed; after the last one the first again.
    pub(super) fn page(&mut self) -> Vec<String> {
        let from = if self.printed >= self.rows.len() { 0 } else { self.printed };
        // What stands there already is read again with the rest where it is short.
        let from = if self.rows.len() <= PAGE { 0 } else { from };
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

    /// A request came, or came back, and is to be asked.
    pub(super) fn add(&mut self, request: Request) {
        self.add_from(request, Origin::Own);
    }

    pub(super) fn add_from(&mut self, request: Request, origin: Origin) {
        self.list.retain(|entry| entry.request.id != request.id);
        self.round += 1;
        self.list.push(AskedRequest { request, number: self.round, state: State::New, origin });
    }

    /// One that was put off is asked again.
    pub(super) fn bring_back_one(&mut self, id: &RequestId) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.request.id == *id)
            && entry.state == State::Aside
        {
            self.round += 1;
            (entry.state, entry.number) = (State::New, self.round);
        }
    }

    /// Exactly these wait; gives the numbers of those that do not any more. New ones wait until they are asked for.
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
                self.list.push(AskedRequest { request, number: 0, state: State::Aside, origin: Origin::Own });
            }
        }
        numbers
    }

    /// It is settled; gives what was known of it.
    pub(super) fn remove(&mut self, id: &RequestId) -> Option<AskedRequest> {
        self.withdraw(id);
        let at = self.list.iter().position(|entry| entry.request.id == *id)?;
        Some(self.list.remove(at))
    }

    /// It still waits, but is not asked any more.
    pub(super) fn put_off(&mut self, id: &RequestId) {
        self.withdraw(id);
        self.mark(id, State::Aside);
    }

    pub(super) fn put_all_off(&mut self) {
        self.open = None;
        self.list.retain(|entry| entry.origin == Origin::Own);
        for entry in &mut self.list {
            entry.state = State::Aside;
        }
    }

    pub(super) fn mark(&mut self, id: &RequestId, state: State) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.request.id == *id) {
            entry.state = state;
        }
    }

    fn withdraw(&mut self, id: &RequestId) {
        if self.open.as_ref().is_some_and(|open| open.request.id == *id) {
            self.open = None;
        }
    }

    /// Starts a round with everything that was put off; how many those are.
    pub(super) fn bring_back(&mut self) -> usize {
        let mut count = 0;
        for entry in self.list.iter_mut().filter(|entry| entry.state == State::Aside) {
            count += 1;
            self.round += 1;
            (entry.state, entry.number) = (State::New, self.round);
        }
        count
    }

    /// What was sent and not settled is put off: the decision did not count. The numbers of those.
    pub(super) fn undecide(&mut self) -> Vec<usize> {
        let sent = self.list.iter_mut().filter(|entry| entry.state == State::Sent);
        sent.map(|entry| {
            entry.state = State::Aside;
            entry.number
        })
        .collect()
    }

    /// The next request to ask, where none is open; with none left the round is over.
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

    /// Questions of this round.
    pub(super) fn round(&self) -> usize {
        self.round
    }

    /// Whether something is asked or about to be.
    pub(super) fn asks(&self) -> bool {
        self.open.is_some() || self.count(State::New) > 0
    }
}
