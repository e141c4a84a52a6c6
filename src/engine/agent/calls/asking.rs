//! Requests of calls: created, previewed, postponed, repeated, answered, expired.
//!
//! A request is in the store before it is shown.

use super::reasons::{EXPIRED, denial, denied_by};
use super::{Calls, ChangedBy, Consent, Purpose, Rules, Stage, State, preview};
use crate::agent::effect::Effect;
use crate::agent::links::without_links;
use crate::agent::port::{Event, Settlement};
use crate::approval::{Approval, Decider, RequestId, Verdict};
use crate::history::{Durability, Record};
use crate::message::ReturnStatus;

/// Records to commit together, and the effects that show them afterwards.
#[derive(Default)]
struct Batch {
    records: Vec<Record>,
    shows: Vec<Effect>,
}

impl Batch {
    fn show(&mut self, event: Event) {
        self.shows.push(Effect::Show(event));
    }

    fn push_to(self, out: &mut Vec<Effect>) {
        if !self.records.is_empty() {
            out.push(Effect::Commit(self.records, Durability::Written));
            out.extend(self.shows);
        }
    }
}

impl Calls {
    /// Records and shows all new requests in one commit; returns whether a call was previewed, so that others
    /// may move.
    pub(super) fn ask_undecided(&mut self, rules: &Rules, out: &mut Vec<Effect>) -> bool {
        if self.stage == Stage::Early {
            return false;
        }
        let mut batch = Batch::default();
        let mut previewed = false;
        for at in 0..self.calls.len() {
            let State::Undecided = self.calls[at].state else { continue };
            if self.verdict(at) == Some(Verdict::Preview) && self.stage != Stage::Late {
                self.preview(at, rules, &mut batch);
                previewed = true;
            } else {
                self.ask(at, None, rules, &mut batch);
            }
        }
        batch.push_to(out);
        previewed
    }

    fn verdict(&self, at: usize) -> Option<Verdict> {
        self.calls[at].decision.as_ref().map(|decision| decision.verdict)
    }

    /// Creates a waiting request; if a hook put the call off, the request is for later.
    fn ask(&mut self, at: usize, again: Option<String>, rules: &Rules, batch: &mut Batch) {
        let Some(request) = self.new_request(at, again, rules) else { return };
        let one = &mut self.calls[at];
        let (id, call) = (request.id.clone(), one.call.clone());
        batch.records.push(Record::Asked { call, request: Box::new(request.clone()) });
        batch.show(Event::ApprovalNeeded { request });
        if let Some(decision) = one.decision.as_ref().filter(|decision| decision.verdict == Verdict::Later) {
            let (approval, by) = (Approval::Later, decision.by.clone());
            one.later = true;
            batch.records.push(Record::Decided {
                request: id.clone(),
                call: one.call.id.clone(),
                approval: approval.clone(),
                by: by.clone(),
            });
            batch.show(Event::ApprovalSettled { request: id, settled: Settlement::Decided { approval, by } });
        }
    }

    /// Puts the request into the inbox and gives the call its return immediately: what it would have done.
    fn preview(&mut self, at: usize, rules: &Rules, batch: &mut Batch) {
        let judged = self.judgement_record(at);
        let Some(request) = self.new_request(at, None, rules) else { return };
        let one = &mut self.calls[at];
        let Some(spec) = &one.spec else { return };
        let mut returned = preview::tool_return(&request, spec);
        returned.content.extend(self.repeats.count(&one.tool, &one.args, &returned));
        self.moves += 1;
        let id = request.id.clone();
        batch.records.extend(judged);
        batch.records.push(Record::Asked { call: one.call.clone(), request: Box::new(request.clone()) });
        batch.records.push(Record::ToolFinished { returned: returned.clone() });
        batch.show(Event::ApprovalNeeded { request });
        batch.show(Event::ApprovalSettled { request: id, settled: Settlement::Late });
        batch.show(Event::ToolReturn { call: one.effective(), returned: returned.clone() });
        one.previewed = true;
        one.state = State::Done(returned);
    }

    pub(super) fn ask_again(&mut self, at: usize, because: String, rules: &Rules, out: &mut Vec<Effect>) {
        let old = self.calls[at].request.as_ref().map(|request| request.id.clone());
        self.calls[at].consent = Consent::NotGiven;
        let mut batch = Batch::default();
        if let Some(request) = old {
            batch.show(Event::ApprovalSettled { request, settled: Settlement::Superseded });
        }
        self.ask(at, Some(because), rules, &mut batch);
        batch.push_to(out);
    }

    /// Withdraws the shown request of a call, if one waits.
    pub(super) fn withdraw(&mut self, at: usize, out: &mut Vec<Effect>) {
        if let (State::Waiting, Some(request)) = (&self.calls[at].state, &self.calls[at].request) {
            let request = request.id.clone();
            out.push(Effect::Show(Event::ApprovalSettled { request, settled: Settlement::Withdrawn }));
        }
    }

    /// Applies a decision; its record is in the store already.
    pub(in crate::agent) fn on_decision(
        &mut self,
        request: &RequestId,
        approval: &Approval,
        by: &Decider,
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) {
        let Some(at) = self.waiting_index(request) else { return };
        let settled = Settlement::Decided { approval: approval.clone(), by: by.clone() };
        out.push(Effect::Show(Event::ApprovalSettled { request: request.clone(), settled }));
        self.apply_approval(at, approval, Some(by), rules, out);
    }

    /// Applies a timeout; its record is in the store already.
    pub(in crate::agent) fn on_expiry(&mut self, request: &RequestId, out: &mut Vec<Effect>) {
        if let Some(at) = self.waiting_index(request) {
            self.end_expired(at, out);
        }
    }

    pub(super) fn end_expired(&mut self, at: usize, out: &mut Vec<Effect>) {
        if let Some(request) = self.calls[at].request.as_ref().map(|request| request.id.clone()) {
            out.push(Effect::Show(Event::ApprovalSettled { request, settled: Settlement::Expired }));
        }
        self.finish_unless_done(at, ReturnStatus::Undecided, EXPIRED.to_owned(), out);
    }

    fn waiting_index(&self, request: &RequestId) -> Option<usize> {
        self.calls.iter().position(|one| {
            matches!(one.state, State::Waiting)
                && one.request.as_ref().is_some_and(|asked| asked.id == *request)
        })
    }

    pub(super) fn apply_approval(
        &mut self,
        at: usize,
        approval: &Approval,
        by: Option<&Decider>,
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) {
        match approval {
            Approval::Later => self.calls[at].later = true,
            Approval::Deny { reason } => {
                let texts = (denial(reason.as_deref(), by), denied_by(by, reason.as_deref()));
                self.finish_denied(at, texts, None, out);
            }
            Approval::Approve { instead, note, .. } => {
                self.moves += 1;
                let one = &mut self.calls[at];
                let by_person = by.is_none_or(Decider::is_person);
                one.consent = if by_person { Consent::Given } else { Consent::ByPolicy };
                one.note.clone_from(note);
                if let Some((tool, args)) = instead {
                    one.tool = tool.clone();
                    one.args = without_links(args);
                    one.changed_by = Some(ChangedBy::Person);
                }
                if by_person {
                    self.repeats.on_approval(&one.tool, &one.args);
                }
                match instead {
                    Some(_) => self.start_plan(at, Purpose::Edited, rules, out),
                    None => self.calls[at].state = State::Ready,
                }
            }
        }
    }
}
