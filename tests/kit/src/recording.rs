//! `RecordingFrontend`: the front end of tests. It records every event and answers requests from a script.
//!
//! Deterministic: an answer is given as soon as its request was shown, in the order of showing. A request
//! that no line of the script matches is left waiting, as if a user were watching. It is in the kit so that
//! every test of a turn uses the same double.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::Notify;

use co_engine::agent::port::{Closed, Event, Frontend, Op};
use co_engine::approval::{Approval, Request};
use co_engine::message::ToolName;

/// The requests that a line of a script answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matches {
    Any,
    Tool(ToolName),
    /// The plan's summary contains this text.
    Summary(String),
}

impl Matches {
    /// Matches requests of the tool with this name.
    pub fn tool(name: &str) -> Self {
        Self::Tool(ToolName::new(name))
    }

    fn covers(&self, request: &Request) -> bool {
        match self {
            Self::Any => true,
            Self::Tool(name) => request.tool == *name,
            Self::Summary(words) => request.plan.summary.contains(words),
        }
    }
}

/// The operations that a front end performs on an event, in order.
type Reaction = Box<dyn FnMut(&Event) -> Vec<Op> + Send>;

/// A front end that records events and answers requests.
pub struct RecordingFrontend {
    state: Mutex<State>,
    spoken: Notify,
    audience: Audience,
}

struct State {
    events: Vec<Event>,
    answers: Vec<(Matches, Approval)>,
    reaction: Reaction,
    ops: VecDeque<Op>,
    /// The number of events after which it is closed; `None` = it never closes.
    closes_after: Option<usize>,
}

#[derive(Clone, Copy)]
enum Audience {
    Present,
    Absent,
}

impl RecordingFrontend {
    /// Creates a front end whose user watches and answers nothing.
    #[must_use]
    pub fn watching() -> Self {
        Self::new(Audience::Present)
    }

    /// Creates a front end without a user: requests cannot be answered, and it sends no operations.
    #[must_use]
    pub fn absent() -> Self {
        Self::new(Audience::Absent)
    }

    /// Creates a front end that answers each request with the first matching line; each line is used once.
    #[must_use]
    pub fn answering(answers: Vec<(Matches, Approval)>) -> Self {
        let this = Self::watching();
        this.lock().answers = answers;
        this
    }

    /// Creates a front end that performs the operations returned by `reaction`: answers, steers, interrupts.
    #[must_use]
    pub fn reacting(reaction: impl FnMut(&Event) -> Vec<Op> + Send + 'static) -> Self {
        let this = Self::watching();
        this.lock().reaction = Box::new(reaction);
        this
    }

    /// Closes the front end after `events` events: from then on `show` errs.
    #[must_use]
    pub fn closing_after(self, events: usize) -> Self {
        self.lock().closes_after = Some(events);
        self
    }

    fn new(audience: Audience) -> Self {
        let state = State {
            events: Vec::new(),
            answers: Vec::new(),
            reaction: Box::new(|_| Vec::new()),
            ops: VecDeque::new(),
            closes_after: None,
        };
        Self { state: Mutex::new(state), spoken: Notify::new(), audience }
    }

    /// Sends an operation that is no reaction to an event.
    pub fn say(&self, op: Op) {
        self.lock().ops.push_back(op);
        self.spoken.notify_one();
    }

    /// Returns everything that was shown, in order.
    pub fn events(&self) -> Vec<Event> {
        self.lock().events.clone()
    }

    /// Returns the requests that were shown, in order, including answered ones.
    pub fn requests(&self) -> Vec<Request> {
        let asked = |event: &Event| match event {
            Event::ApprovalNeeded { request } => Some(request.clone()),
            Event::Prompted { .. }
            | Event::TextDelta { .. }
            | Event::TextCommitted { .. }
            | Event::ThinkingDelta { .. }
            | Event::ThinkingCommitted { .. }
            | Event::ToolArgs { .. }
            | Event::ToolCall { .. }
            | Event::ToolPlanned { .. }
            | Event::ToolRunning { .. }
            | Event::ToolProgress { .. }
            | Event::ToolReturn { .. }
            | Event::ApprovalSettled { .. }
            | Event::Retry { .. }
            | Event::FellBack { .. }
            | Event::Refused { .. }
            | Event::PartialReset
            | Event::Usage { .. }
            | Event::CapReached { .. }
            | Event::CapAnswered { .. }
            | Event::Compacting { .. }
            | Event::Compacted { .. }
            | Event::DecisionsLost { .. }
            | Event::Status { .. }
            | Event::TurnEnded { .. } => None,
        };
        self.lock().events.iter().filter_map(asked).collect()
    }

    /// Returns all committed text, in order.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for event in &self.lock().events {
            if let Event::TextCommitted { text: part } = event {
                text.push_str(part);
            }
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_in(&mut self, event: Event) -> Result<(), Closed> {
        if self.closes_after.is_some_and(|most| self.events.len() >= most) {
            return Err(Closed);
        }
        if let Event::ApprovalNeeded { request } = &event
            && let Some(at) = self.answers.iter().position(|(matches, _)| matches.covers(request))
        {
            let (_, approval) = self.answers.remove(at);
            self.ops.push_back(Op::decide(request.id.clone(), approval));
        }
        self.ops.extend((self.reaction)(&event));
        self.events.push(event);
        Ok(())
    }
}

impl Frontend for RecordingFrontend {
    fn show(&self, event: Event) -> BoxFuture<'_, Result<(), Closed>> {
        Box::pin(async move {
            let shown = self.lock().take_in(event);
            self.spoken.notify_one();
            shown
        })
    }

    fn next_op(&self) -> BoxFuture<'_, Op> {
        Box::pin(async move {
            loop {
                let spoken = self.spoken.notified();
                if let Some(op) = self.lock().ops.pop_front() {
                    return op;
                }
                spoken.await;
            }
        })
    }

    fn can_approve(&self) -> bool {
        match self.audience {
            Audience::Present => true,
            Audience::Absent => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn status(text: &str) -> Event {
        Event::Status { text: text.to_owned() }
    }

    #[tokio::test]
    async fn it_keeps_reacts_and_closes() {
        let front = RecordingFrontend::reacting(|event| {
            if *event == status("two") { vec![Op::Interrupt, Op::Close] } else { Vec::new() }
        })
        .closing_after(2);
        assert!(front.next_op().now_or_never().is_none(), "nothing was said yet");
        front.say(Op::RetryNow);
        let shown = [front.show(status("one")).await, front.show(status("two")).await];
        assert_eq!(shown, [Ok(()), Ok(())]);
        assert_eq!(front.show(status("three")).await, Err(Closed));
        assert_eq!(front.events(), [status("one"), status("two")]);
        let ops = [front.next_op().await, front.next_op().await, front.next_op().await];
        assert_eq!(ops, [Op::RetryNow, Op::Interrupt, Op::Close]);
        assert!(front.can_approve());
        assert!(!RecordingFrontend::absent().can_approve());
    }
}
