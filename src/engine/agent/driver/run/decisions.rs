//! How requests are decided while their turn runs: through the store, and from there to the machine.
//!
//! Called by the loop of the turn. Decisions made here are handled like all others: the first answer wins,
//! regardless of its origin.

use super::Driver;
use crate::agent::effect::Input;
use crate::agent::port::Event;
use crate::approval::{Approval, Remember, Request, RequestId};
use crate::history::{Record, RecordedState, TurnEnd};
use crate::store::{DecideOutcome, StoreError};

impl Driver<'_> {
    /// Decides `Later` for every waiting request, then lets the turn end.
    pub(super) async fn defer(&mut self) -> Result<Option<TurnEnd>, StoreError> {
        let later = |request: Request| (request.id, Approval::Later, self.env.decider.clone());
        let waiting: Vec<_> = self.turn.waiting_requests().into_iter().map(later).collect();
        let (_, records) = self.session.decide(&waiting).await?;
        if let Some(end) = self.apply_decisions(records).await? {
            return Ok(Some(end));
        }
        self.feed(Input::Defer).await
    }

    /// Writes decisions made at this front end to the store, like all others: the first answer wins.
    pub(super) async fn decide(
        &mut self,
        decisions: Vec<(RequestId, Approval)>,
    ) -> Result<Option<TurnEnd>, StoreError> {
        let ours = |(request, approval)| (request, approval, self.env.decider.clone());
        let decisions: Vec<_> = decisions.into_iter().map(ours).collect();
        let (outcomes, records) = self.session.decide(&decisions).await?;
        let text = DecideOutcome::losses(&outcomes);
        if !text.is_empty() {
            let lost =
                decisions.iter().zip(&outcomes).filter(|(_, outcome)| **outcome != DecideOutcome::Recorded);
            let requests = lost.map(|((request, ..), _)| request.clone()).collect();
            self.show(Event::DecisionsLost { requests, text }).await;
        }
        self.apply_decisions(records).await
    }

    /// Answers requests that a new grant, mode or rule now covers, through the store like any other.
    pub(super) async fn settle_covered(&mut self) -> Result<Option<TurnEnd>, StoreError> {
        self.turn.tell_time(self.env.clock.now());
        let covered = self.turn.policy_decisions();
        let (_, records) = self.session.decide(&covered).await?;
        self.apply_decisions(records).await
    }

    /// Consumes decisions made here or in any process and feeds them to the machine.
    pub(super) async fn take_decisions(&mut self) -> Result<Option<TurnEnd>, StoreError> {
        let records = self.session.consume_decisions().await?;
        self.apply_decisions(records).await
    }

    /// Notes in the trace how requests were answered before this turn went on.
    pub(super) async fn tell_answers(&mut self) {
        if self.spans.turn.is_disabled() {
            return;
        }
        let history = self.session.history();
        let late = history.settleable_late_calls().into_iter().map(|(open, _)| open);
        let calls: Vec<_> = history.open_calls().iter().cloned().chain(late).collect();
        for call in calls {
            let is_answered = matches!(call.known, RecordedState::Decided(_) | RecordedState::Expired);
            let Some(request) = call.request.as_ref().filter(|_| is_answered) else { continue };
            // Times that cannot be read are missing in the trace, and nothing else.
            let times = self.session.store().times_of(&request.id).await.ok().flatten();
            self.spans.on_earlier_answer(&call, times);
        }
    }

    async fn apply_decisions(&mut self, records: Vec<Record>) -> Result<Option<TurnEnd>, StoreError> {
        let mut granted = false;
        self.tell_late(&records).await;
        for record in &records {
            let times = match self.spans.made_elsewhere(record) {
                Some(request) => self.session.store().times_of(&request).await.ok().flatten(),
                None => None,
            };
            self.spans.on_answer(record, times);
        }
        for record in records {
            let input = if let Record::Decided { request, approval, by, .. } = record {
                granted |= matches!(approval, Approval::Approve { remember: Remember::Session, .. });
                Input::Decided { request, approval, by }
            } else if let Record::Expired { request, .. } = record {
                Input::Expired { request }
            } else {
                // No other record is ever consumed.
                continue;
            };
            if let Some(end) = self.feed(input).await? {
                return Ok(Some(end));
            }
        }
        if granted {
            return Box::pin(self.settle_covered()).await;
        }
        Ok(None)
    }

    /// Shows the settlement of requests that this turn does not wait for: their cards are on the screen too,
    /// but the machine does not know them.
    pub(super) async fn tell_late(&mut self, records: &[Record]) {
        let ours: Vec<RequestId> =
            self.turn.waiting_requests().into_iter().map(|request| request.id).collect();
        let settled: Vec<Event> = records.iter().filter_map(Event::of_settlement).collect();
        for event in settled {
            if !matches!(&event, Event::ApprovalSettled { request, .. } if ours.contains(request)) {
                self.show(event).await;
            }
        }
    }
}
