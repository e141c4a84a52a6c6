//! Requests of a turn: when one is sent, and what follows from a failed one.

use std::time::Duration;

use super::{Compaction, Effect, Next, Phase, Stopping, Turn};
use crate::agent::assemble::Assembler;
use crate::agent::budget::{Allowance, backoff};
use crate::agent::port::Event;
use crate::history::{Durability, Record, TurnEnd};
use crate::message::{Message, NoteKind};
use crate::provider::{ErrorClass, ProviderError, Recovery, ToolChoice};

impl Turn {
    /// Sends the next request, queued prompts first, if the budget allows one.
    pub(super) fn request(&mut self, out: &mut Vec<Effect>) {
        self.calls.next_reply();
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
        out.push(Effect::CallModel { attempt: self.attempt, choice });
    }

    fn say_queued(&mut self, out: &mut Vec<Effect>) {
        if self.queued.is_empty() {
            return;
        }
        // All in one commit: a prompt is queued or said, at every moment.
        let prompts = std::mem::take(&mut self.queued);
        let mut records: Vec<Record> = prompts
            .iter()
            .map(|parts| Record::Said { message: Message::User { parts: parts.clone() } })
            .collect();
        records.push(Record::Queued { prompts: Vec::new() });
        out.push(Effect::Commit(records, Durability::Written));
        out.extend(prompts.into_iter().map(|parts| Effect::Show(Event::Prompted { parts })));
    }

    pub(super) fn say(&self, message: Message, out: &mut Vec<Effect>) {
        if let Message::User { parts } = &message {
            let parts = parts.clone();
            out.push(Effect::Commit(vec![Record::Said { message }], Durability::Written));
            out.push(Effect::Show(Event::Prompted { parts }));
        }
    }

    /// The running request failed.
    pub(super) fn on_failure(&mut self, error: &ProviderError, out: &mut Vec<Effect>) {
        let Phase::Streaming(assembler) = &self.phase else { return };
        let shown = assembler.has_output();
        self.count_request(None, Some(error.class), out);
        if shown {
            out.push(Effect::Show(Event::PartialReset));
        }
        let next = self.after_failure(error, out);
        self.drain(next, out);
    }

    /// What follows from a failure; the one table is [`ProviderError::recovery`].
    fn after_failure(&mut self, error: &ProviderError, out: &mut Vec<Effect>) -> Next {
        let failed = || Next::End(TurnEnd::Failed { error: error.clone() });
        match error.recovery() {
            Recovery::Abort => failed(),
            Recovery::Compact if self.compaction == Compaction::Unused => {
                self.compaction = Compaction::Used;
                Next::Compact
            }
            Recovery::Compact => failed(),
            Recovery::Reflect | Recovery::Backoff(_) if self.failures >= self.setup.retries => failed(),
            Recovery::Reflect => {
                self.failures += 1;
                let text = format!("The provider refused the last request: {}", error.message);
                self.say(Message::note(NoteKind::Reflection, text), out);
                Next::Request
            }
            Recovery::Backoff(wait) => {
                self.failures += 1;
                let wait = wait.unwrap_or_else(|| backoff(self.failures, self.setup.seed));
                self.show_retry(error, wait, out);
                Next::Wait(wait)
            }
        }
    }

    fn show_retry(&self, error: &ProviderError, wait: Duration, out: &mut Vec<Effect>) {
        out.push(Effect::Show(Event::Retry {
            class: error.class,
            message: error.to_string(),
            wait,
            attempt: self.failures,
            of: self.setup.retries,
        }));
    }

    /// Records one request, whole or failed, and counts it.
    pub(super) fn count_request(
        &mut self,
        usage: Option<crate::message::Usage>,
        error: Option<ErrorClass>,
        out: &mut Vec<Effect>,
    ) {
        self.budget.count(usage);
        let record = Record::RequestEnded { attempt: self.attempt, usage, model: self.model.clone(), error };
        out.push(Effect::Commit(vec![record], Durability::Written));
    }

    /// Lets the early calls of a void attempt end, then goes on with `next`. Nothing of them is kept.
    pub(super) fn drain(&mut self, next: Next, out: &mut Vec<Effect>) {
        self.calls.stop_planning();
        if self.calls.any_running() {
            out.push(Effect::CancelTools);
            self.phase = Phase::Draining(next);
        } else {
            self.proceed(next, out);
        }
    }

    /// The early calls have ended.
    pub(super) fn proceed(&mut self, next: Next, out: &mut Vec<Effect>) {
        self.calls.next_reply();
        match next {
            Next::Request => self.request(out),
            Next::Wait(wait) => {
                self.phase = Phase::BackingOff;
                out.push(Effect::Wait(wait));
            }
            Next::Compact => {
                self.phase = Phase::Compacting;
                out.push(Effect::Compact);
            }
            Next::End(end) => self.end(end, out),
        }
    }

    pub(super) fn on_compacted(&mut self, dropped: usize, out: &mut Vec<Effect>) {
        let Phase::Compacting = self.phase else { return };
        if dropped == 0 {
            let error = ProviderError::new(
                ErrorClass::ContextOverflow,
                "the conversation does not fit the model, and nothing older is left to drop",
            );
            return self.end(TurnEnd::Failed { error }, out);
        }
        out.push(Effect::Show(Event::Compacted { dropped }));
        self.request(out);
    }

    /// Moves calls on, and the turn with them once all have their return.
    pub(super) fn go_on(&mut self, out: &mut Vec<Effect>) {
        match &self.phase {
            Phase::Streaming(_) => self.calls.advance(&self.setup.rules, out),
            Phase::Draining(next) => {
                if !self.calls.any_running() {
                    let next = next.clone();
                    self.proceed(next, out);
                }
            }
            Phase::Working => self.work(out),
            Phase::BackingOff | Phase::Compacting | Phase::Ended => {}
        }
    }

    fn work(&mut self, out: &mut Vec<Effect>) {
        match self.stopping {
            Stopping::Interrupt | Stopping::Close => return self.end_when_quiet(out),
            Stopping::No | Stopping::Defer => self.calls.advance(&self.setup.rules, out),
        }
        if self.calls.all_done() {
            return self.request(out);
        }
        let nobody = match self.setup.audience {
            super::Audience::Absent => true,
            super::Audience::Present => self.calls.all_waiting_later(),
        };
        if (nobody || self.stopping == Stopping::Defer) && self.calls.only_persons_can_move() {
            self.end_deferred(out);
        }
    }
}
