//! Requests of a turn: when one is sent, and how each is recorded.

use super::{NextStep, Phase, StopState, Turn, TurnKind};
use crate::agent::assemble::Assembler;
use crate::agent::budget::Allowance;
use crate::agent::effect::Effect;
use crate::agent::loop_guard;
use crate::agent::port::Event;
use crate::history::{DependencyState, Durability, Limit, OpenCall, Record, TurnEnd};
use crate::message::{Message, NoteKind, Usage, Usd};
use crate::provider::{ErrorClass, Price, RequestKind, ToolChoice};

impl Turn {
    /// Prepares the next request: settles late calls first, so that the request contains their outcomes.
    pub(super) fn request(&mut self, out: &mut Vec<Effect>) {
        self.calls.next_reply();
        self.phase = Phase::TakingLate;
        out.push(Effect::TakeLate);
    }

    /// Runs late calls. Without any, sends queued prompts and the request if the budget and the caps allow
    /// it.
    pub(super) fn on_late(&mut self, late: &[(OpenCall, DependencyState)], out: &mut Vec<Effect>) {
        let Phase::TakingLate = self.phase else { return };
        if !late.is_empty() {
            self.phase = Phase::Working;
            self.calls.take_late(late, &self.setup.rules, out);
            return self.go_on(out);
        }
        match self.kind {
            TurnKind::LateCalls => return self.end(TurnEnd::Completed, out),
            TurnKind::Prompt | TurnKind::Compaction => {}
        }
        match self.budget.allowance() {
            Allowance::Spent(limit) => {
                self.say_queued(out);
                self.end(TurnEnd::LimitReached { limit }, out);
            }
            Allowance::Free | Allowance::Last => self.weigh(out),
        }
    }

    /// Sends the request, with prompts that were queued while the user was asked.
    pub(super) fn dispatch(&mut self, out: &mut Vec<Effect>) {
        self.say_queued(out);
        let choice = match self.budget.allowance() {
            Allowance::Spent(limit) => return self.end(TurnEnd::LimitReached { limit }, out),
            Allowance::Free => ToolChoice::Auto,
            Allowance::Last => {
                let text = "This is the last request this turn may make. Answer now with what you have.";
                self.say(Message::note(NoteKind::Budget, text), out);
                ToolChoice::None
            }
        };
        self.attempt += 1;
        let prefix = format!("{}/{}.{}", self.setup.session, self.number, self.attempt);
        self.phase = Phase::Streaming(Box::new(Assembler::new(prefix, self.wire_ids.clone())));
        out.push(Effect::CallModel { attempt: self.attempt, choice, who: self.who });
    }

    pub(super) fn say_queued(&mut self, out: &mut Vec<Effect>) {
        if self.queued.is_empty() {
            return;
        }
        // All in one commit: a prompt is always either queued or in the conversation.
        let prompts = std::mem::take(&mut self.queued);
        let mut records: Vec<Record> =
            prompts.iter().map(|parts| Record::said(Message::User { parts: parts.clone() })).collect();
        records.push(Record::Queued { prompts: Vec::new() });
        out.push(Effect::Commit(records, Durability::Written));
        out.extend(prompts.into_iter().map(|parts| Effect::Show(Event::Prompted { parts })));
    }

    pub(super) fn say(&self, message: Message, out: &mut Vec<Effect>) {
        if let Message::User { parts } = &message {
            let parts = parts.clone();
            out.push(Effect::Commit(vec![Record::said(message)], Durability::Written));
            out.push(Effect::Show(Event::Prompted { parts }));
        }
    }

    /// Records one request, complete or failed, and counts it.
    pub(super) fn count_request(
        &mut self,
        usage: Option<Usage>,
        error: Option<ErrorClass>,
        out: &mut Vec<Effect>,
    ) {
        self.budget.used.count(usage, self.cost(usage), error);
        let record = self.end_record(usage, error);
        out.push(Effect::Commit(vec![record], Durability::Written));
    }

    /// Builds the record of the request that just ended.
    pub(super) fn end_record(&self, usage: Option<Usage>, error: Option<ErrorClass>) -> Record {
        self.ended_for(RequestKind::Answer, usage, error)
    }

    /// Builds the record of the request for a summary that just ended.
    pub(super) fn summary_end_record(&self, usage: Option<Usage>, error: Option<ErrorClass>) -> Record {
        self.ended_for(RequestKind::Summary, usage, error)
    }

    fn ended_for(&self, purpose: RequestKind, usage: Option<Usage>, error: Option<ErrorClass>) -> Record {
        Record::RequestEnded {
            attempt: self.attempt,
            usage,
            provider: self.asked.provider.clone(),
            model: self.model.clone(),
            cost: self.cost(usage),
            error,
            purpose,
        }
    }

    /// Returns the cost of a request at the price of the model that was asked.
    pub(super) fn cost(&self, usage: Option<Usage>) -> Option<Usd> {
        let price = self.asked.price.as_ref();
        let known = usage.or_else(|| price.is_some_and(Price::is_free).then(Usage::default));
        known.and_then(|usage| Price::of_request(price, &usage))
    }

    /// Lets the early calls of a void attempt end, then goes on with `next`. None of their results is kept.
    pub(super) fn drain(&mut self, next: NextStep, out: &mut Vec<Effect>) {
        self.calls.stop_planning();
        if self.calls.any_running() {
            out.push(Effect::CancelTools);
            self.phase = Phase::Draining(next);
        } else {
            self.proceed(next, out);
        }
    }

    /// Goes on after the early calls have ended.
    pub(super) fn proceed(&mut self, next: NextStep, out: &mut Vec<Effect>) {
        self.calls.next_reply();
        match next {
            NextStep::Request => self.request(out),
            NextStep::Wait(wait) => {
                self.phase = Phase::BackingOff(None);
                out.push(Effect::Wait(wait));
            }
            NextStep::Compact(overflow) => self.compact(overflow, out),
            NextStep::Complete => self.complete(out),
            NextStep::End(end) => self.end(end, out),
        }
    }

    /// Moves calls on, and the turn with them once all have their return.
    pub(super) fn go_on(&mut self, out: &mut Vec<Effect>) {
        match &self.phase {
            Phase::Streaming(_) => self.calls.advance(&mut self.setup.rules, out),
            Phase::Draining(next) => {
                if !self.calls.any_running() {
                    let next = next.clone();
                    self.proceed(next, out);
                }
            }
            Phase::Working => self.work(out),
            Phase::BackingOff(_)
            | Phase::PlanningCompaction(_)
            | Phase::Summarizing(..)
            | Phase::TakingLate
            | Phase::Weighing
            | Phase::Capped(_)
            | Phase::Completing
            | Phase::Ended => {}
        }
    }

    fn work(&mut self, out: &mut Vec<Effect>) {
        match self.stopping {
            StopState::Interrupt | StopState::Close => return self.end_when_quiet(out),
            StopState::No | StopState::Defer => self.calls.advance(&mut self.setup.rules, out),
        }
        if self.calls.all_done() && !self.calls.are_late() && self.calls.repeats_itself() {
            self.say(Message::note(NoteKind::Repetition, loop_guard::STOPPED), out);
            return self.end(TurnEnd::LimitReached { limit: Limit::Repetition }, out);
        }
        let late_at_rest = self.calls.are_late() && self.calls.only_persons_can_move();
        if self.calls.all_done() || late_at_rest {
            return self.request(out);
        }
        let is_unattended = match self.setup.audience {
            super::Audience::Absent => true,
            super::Audience::Present => self.calls.all_waiting_later(),
        };
        if (is_unattended || self.stopping == StopState::Defer) && self.calls.only_persons_can_move() {
            self.end_deferred(out);
        }
    }
}
