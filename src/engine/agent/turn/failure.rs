//! The steps after a failed request: reflection, a wait, compaction, another model, or the end.
//!
//! The table of failures is in [`ProviderError::recovery`] and [`ProviderError::fallback`]; this file applies
//! it. Called by the turn for each `Err` of a stream.

use std::time::Duration;

use super::{NextStep, Overflow, Phase, RetryPolicy, Turn};
use crate::agent::budget::{backoff, retries_within};
use crate::agent::effect::{Effect, ModelRole};
use crate::agent::port::Event;
use crate::history::TurnEnd;
use crate::message::{Message, NoteKind};
use crate::provider::error::LONGEST_WAIT_BEFORE_FALLBACK;
use crate::provider::{ErrorClass, Fallback, ProviderError, Recovery};

impl Turn {
    /// Handles the failure of the running request.
    pub(super) fn on_failure(&mut self, error: &ProviderError, out: &mut Vec<Effect>) {
        let Phase::Streaming(assembler) = &self.phase else { return };
        let shown = assembler.has_output();
        let usage = assembler.usage();
        self.count_request(usage, Some(error.class), out);
        if shown {
            out.push(Effect::Show(Event::PartialReset));
        }
        let next = self.after_failure(error, out);
        self.drain(next, out);
    }

    pub(super) fn after_failure(&mut self, error: &ProviderError, out: &mut Vec<Effect>) -> NextStep {
        match error.recovery() {
            Recovery::Abort => self.give_up(error, out),
            Recovery::Compact if !self.compacted_after_refusal => {
                self.compacted_after_refusal = true;
                NextStep::Compact(Overflow::Refused(error.clone()))
            }
            Recovery::Compact => self.give_up(error, out),
            Recovery::Reflect if self.failures >= self.retries(error) => self.give_up(error, out),
            Recovery::Reflect => {
                self.failures += 1;
                let text = format!("The provider refused the last request: {}", error.message);
                self.say(Message::note(NoteKind::Reflection, text), out);
                NextStep::Request
            }
            Recovery::Once => self.wait_and_retry(error, error.retry_after, out),
            Recovery::Backoff(wait) => self.wait_and_retry(error, wait, out),
        }
    }

    fn wait_and_retry(
        &mut self,
        error: &ProviderError,
        wait: Option<Duration>,
        out: &mut Vec<Effect>,
    ) -> NextStep {
        let of = self.retries(error);
        let wait = wait.unwrap_or_else(|| backoff(self.failures + 1, self.setup.seed));
        let too_long = self.falls_back_from(error) && wait > LONGEST_WAIT_BEFORE_FALLBACK;
        if self.failures >= of || too_long {
            return self.give_up(error, out);
        }
        self.failures += 1;
        let then = self.asked.fallback.clone().filter(|_| self.falls_back_from(error));
        out.push(Effect::Show(Event::Retry {
            class: error.class,
            message: error.to_string(),
            wait,
            attempt: self.failures,
            of,
            then,
        }));
        NextStep::Wait(wait)
    }

    /// Returns how often a request that failed in this way is sent again.
    fn retries(&self, error: &ProviderError) -> u32 {
        let set = if matches!(error.recovery(), Recovery::Once) {
            self.setup.retries.min(1)
        } else {
            self.setup.retries
        };
        if !self.falls_back_from(error) {
            let outlasts = error.class == ErrorClass::Overloaded && set > 0;
            return if outlasts { set.max(self.retries_of_overload(error)) } else { set };
        }
        match (self.setup.patience, error.fallback()) {
            (RetryPolicy::Short, _) => 0,
            (RetryPolicy::Usual, Fallback::AfterOneRetry) => set.min(1),
            (RetryPolicy::Usual, Fallback::AfterRetries | Fallback::Never) => set,
        }
    }

    /// Returns the retries that outlast an overload of the usual length.
    fn retries_of_overload(&self, error: &ProviderError) -> u32 {
        let wait = |retry| error.retry_after.unwrap_or_default().max(backoff(retry, self.setup.seed));
        retries_within(self.setup.overload_wait, wait)
    }

    fn falls_back_from(&self, error: &ProviderError) -> bool {
        self.asked.fallback.is_some() && error.fallback() != Fallback::Never
    }

    /// Gives the model up: the other model takes over, or the turn ends.
    fn give_up(&mut self, error: &ProviderError, out: &mut Vec<Effect>) -> NextStep {
        let Some(to) = self.asked.fallback.take().filter(|_| error.fallback() != Fallback::Never) else {
            return NextStep::End(TurnEnd::Failed { error: self.with_the_first(error) });
        };
        let from = self.asked.name();
        self.given_up = Some(format!("{from}: {error}"));
        self.who = ModelRole::Fallback;
        self.failures = 0;
        out.push(Effect::Show(Event::FellBack { from, to, class: error.class, why: error.describe() }));
        NextStep::Request
    }

    /// Returns the error that ends the turn; if two models failed, it names both.
    pub(super) fn with_the_first(&self, error: &ProviderError) -> ProviderError {
        let Some(given_up) = self.given_up.as_ref().filter(|_| self.who == ModelRole::Fallback) else {
            return error.clone();
        };
        let message = format!("{}: {error}; before it {given_up}", self.asked.name());
        ProviderError { message, ..error.clone() }
    }
}
