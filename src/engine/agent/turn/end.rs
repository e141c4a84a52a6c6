//! How a turn ends: completed, deferred, interrupted, closed.

use super::{NextStep, Phase, StopState, Turn, TurnKind};
use crate::agent::effect::Effect;
use crate::agent::port::Event;
use crate::agent::statuses;
use crate::approval::DeferredToolRequests;
use crate::history::{Durability, Limit, Record, TurnEnd};
use crate::message::{Message, NoteKind, StopKind, StopReason, Usage};

const ABORT: &str =
    "The user interrupted the last turn. Work may be half-done; look before you go on with it.";

impl Turn {
    /// Stops the turn, by the user's wish or because the front end closed; it ends once no call runs.
    pub(super) fn stop(&mut self, how: StopState, out: &mut Vec<Effect>) {
        if how == StopState::Defer {
            // A late call that waits again holds up nothing of this turn.
            if !self.calls.any_waiting() || self.calls.are_late() {
                return;
            }
            self.stopping = self.stopping.max_with(how);
            return self.go_on(out);
        }
        match &self.phase {
            Phase::Streaming(_) => self.stop_streaming(how, out),
            Phase::Draining(_) => {
                self.stopping = how;
                self.phase = Phase::Draining(NextStep::End(TurnEnd::Interrupted));
            }
            Phase::Summarizing(assembler, _) => {
                let reported = assembler.usage().filter(|usage| *usage != Usage::default());
                out.push(Effect::CancelModel);
                self.budget.used.count(reported, self.cost(reported), None);
                let ended = self.summary_end_record(reported, None);
                out.push(Effect::Commit(vec![ended], Durability::Written));
                if self.kind == TurnKind::Compaction {
                    out.push(Effect::status(statuses::COMPACTION_STOPPED));
                }
                self.stopping = how;
                self.end(TurnEnd::Interrupted, out);
            }
            Phase::BackingOff(_) | Phase::PlanningCompaction(_) | Phase::TakingLate | Phase::Weighing => {
                self.stopping = how;
                self.end(TurnEnd::Interrupted, out);
            }
            // Nothing is incomplete, since nothing runs: the turn can be resumed.
            Phase::Capped(capped) => {
                let end = TurnEnd::LimitReached { limit: Limit::Cap(capped.cap) };
                self.stopping = how;
                self.end(end, out);
            }
            // The final reply is committed: nothing is incomplete.
            Phase::Completing => {
                self.stopping = how;
                self.end(TurnEnd::Completed, out);
            }
            Phase::Working => self.stop_working(how, out),
            Phase::Ended => {}
        }
    }

    /// Keeps the partial text, but not the calls that were not committed.
    fn stop_streaming(&mut self, how: StopState, out: &mut Vec<Effect>) {
        let phase = std::mem::replace(&mut self.phase, Phase::Working);
        let Phase::Streaming(assembler) = phase else { return };
        self.stopping = how;
        out.push(Effect::CancelModel);
        let reported = assembler.usage().filter(|usage| *usage != Usage::default());
        self.count_request(reported, None, out);
        if how == StopState::Close {
            // A resumed turn repeats the request; a new prompt keeps the partial text.
            let mut assembler = assembler;
            let partial = assembler.fresh_text().map(|text| Record::Partial { attempt: self.attempt, text });
            out.extend(partial.map(|partial| Effect::Commit(vec![partial], Durability::Written)));
        } else if let Some(message) =
            assembler.finish(self.asked.name(), StopReason::new(StopKind::Interrupted))
        {
            let said = Record::said(Message::Assistant(message));
            out.push(Effect::Commit(vec![said], Durability::Written));
        }
        self.drain(NextStep::End(TurnEnd::Interrupted), out);
    }

    fn stop_working(&mut self, how: StopState, out: &mut Vec<Effect>) {
        // If only the user can move the calls, an interrupt puts them off instead of voiding them.
        if how == StopState::Interrupt && self.calls.only_persons_can_move() && self.stopping == StopState::No
        {
            self.stopping = StopState::Defer;
            return self.go_on(out);
        }
        self.stopping = how;
        self.calls.stop_planning();
        if self.calls.any_running() {
            out.push(Effect::CancelTools);
        }
        self.end_when_quiet(out);
    }

    /// Ends a stopped turn once no call runs any more.
    pub(super) fn end_when_quiet(&mut self, out: &mut Vec<Effect>) {
        if self.calls.any_running() {
            return;
        }
        self.calls.forget_late();
        if self.stopping == StopState::Close && self.calls.any_waiting() {
            return self.end_deferred(out);
        }
        self.calls.interrupt(out);
        self.end(TurnEnd::Interrupted, out);
    }

    pub(super) fn end_deferred(&mut self, out: &mut Vec<Effect>) {
        let requests = self.calls.waiting_requests().into_iter().map(|request| request.id).collect();
        let waiting = DeferredToolRequests { requests };
        out.push(Effect::Commit(vec![Record::Deferred { waiting }], Durability::Written));
        self.end(TurnEnd::Deferred, out);
    }

    /// Ends the turn; no other function does.
    pub(super) fn end(&mut self, end: TurnEnd, out: &mut Vec<Effect>) {
        if self.kind != TurnKind::Prompt {
            self.phase = Phase::Ended;
            return out.push(Effect::End(end));
        }
        let mut records = Vec::new();
        if end == TurnEnd::Interrupted {
            records.push(Record::said(Message::note(NoteKind::Abort, ABORT)));
        }
        records.push(Record::TurnEnded { end: end.clone() });
        self.phase = Phase::Ended;
        // The user did not end a turn whose front end closed: it stays open and can be resumed.
        if end != TurnEnd::Interrupted || self.stopping != StopState::Close {
            out.push(Effect::Commit(records, Durability::Written));
        }
        out.push(Effect::Show(Event::TurnEnded { end: end.clone() }));
        out.push(Effect::End(end));
    }
}

impl StopState {
    /// Combines two ways to stop: a weaker one never replaces a stronger one.
    fn max_with(self, wish: Self) -> Self {
        match self {
            Self::No => wish,
            Self::Defer | Self::Interrupt | Self::Close => self,
        }
    }
}
