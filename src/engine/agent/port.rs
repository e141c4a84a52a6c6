//! The core's port to front ends: what they show and how they answer.
//!
//! All front ends are equal: they implement [`Frontend`], and the core does not know which one is used.

use std::time::Duration;

use futures::future::BoxFuture;

use super::caps::{CapAnswer, CapQuestion};
use super::context::CompactionReport;
use crate::approval::{Approval, Decider, Request, RequestId};
use crate::config::Cap;
use crate::history::{Record, TurnEnd};
use crate::message::{ToolCall, ToolReturn, Usage, Usd, UserPart};
use crate::provider::ErrorClass;
use crate::tool::{CallPlan, Progress};

/// Shows a turn and receives the user's operations.
pub trait Frontend: Send + Sync {
    /// Shows one event. Awaiting it is the back-pressure: text deltas may be merged, other events are
    /// bounded. `Err` means that the front end is closed: what runs is interrupted, what waits is deferred.
    fn show(&self, event: Event) -> BoxFuture<'_, Result<(), Closed>>;

    /// Returns the user's next operation on the running turn. Cancel-safe; also polled while `show` waits.
    /// Never resolves if the front end takes no input.
    fn next_op(&self) -> BoxFuture<'_, Op> {
        Box::pin(std::future::pending())
    }

    /// Whether a user can answer a request now.
    fn can_approve(&self) -> bool {
        false
    }
}

/// The front end is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the front end is closed")]
pub struct Closed;

/// One thing to show. Not extensible: every front end matches all variants.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The turn accepted this: the prompt, a steered prompt, a note.
    Prompted {
        parts: Vec<UserPart>,
    },
    TextDelta {
        text: String,
    },
    /// The text part is complete; `text` is all of it.
    TextCommitted {
        text: String,
    },
    ThinkingDelta {
        text: String,
    },
    ThinkingCommitted {
        text: String,
    },
    /// A piece of a call's arguments as they stream; for previews only, never executed.
    ToolArgs {
        index: usize,
        name: String,
        delta: String,
    },
    /// A call of a committed reply.
    ToolCall {
        call: ToolCall,
    },
    /// A call was planned: what it would do.
    ToolPlanned {
        call: ToolCall,
        plan: CallPlan,
    },
    /// A call runs now.
    ToolRunning {
        call: ToolCall,
    },
    ToolProgress {
        progress: Progress,
    },
    ToolReturn {
        call: ToolCall,
        returned: ToolReturn,
    },
    /// A request is in the store and waits.
    ApprovalNeeded {
        request: Request,
    },
    /// A request was settled here or in another process, or was withdrawn.
    ApprovalSettled {
        request: RequestId,
        settled: Settlement,
    },
    /// The request failed and is sent again after `wait`.
    Retry {
        class: ErrorClass,
        message: String,
        wait: Duration,
        attempt: u32,
        of: u32,
        /// The model that is asked if no retry helps, as `provider/model`.
        then: Option<String>,
    },
    /// A model was given up for the rest of this turn, and another one continues.
    FellBack {
        /// Both as `provider/model`.
        from: String,
        to: String,
        class: ErrorClass,
        why: String,
    },
    /// The output shown of this reply is void; the reply starts again.
    PartialReset,
    /// The usage of a reply; `cost` is `None` if unknown.
    Usage {
        usage: Usage,
        model: String,
        cost: Option<Usd>,
    },
    /// The next request would exceed a cap. If a user can answer, the turn awaits [`Op::Cap`]; else it ends.
    CapReached {
        question: CapQuestion,
    },
    /// The question about a cap is answered.
    CapAnswered {
        question: CapQuestion,
        answer: CapAnswer,
    },
    /// A model is asked for a summary of this many older messages.
    Compacting {
        messages: usize,
    },
    /// Older messages were replaced.
    Compacted {
        compacted: CompactionReport,
    },
    /// The model refused, or the provider's filter stopped it; earlier output stays. Not a failure.
    Refused {
        why: String,
    },
    /// Decisions of [`Op::Decide`] on these requests did not count; `text` says in a sentence how many and why.
    DecisionsLost {
        requests: Vec<RequestId>,
        text: String,
    },
    /// One line worth showing once.
    Status {
        text: String,
    },
    TurnEnded {
        end: TurnEnd,
    },
}

impl Event {
    /// The event for a record that [`Session::consume_decisions`](crate::session::Session::consume_decisions) returned.
    pub fn of_settlement(record: &Record) -> Option<Self> {
        let (request, settled) = match record {
            Record::Decided { request, approval, by, .. } => {
                (request, Settlement::Decided { approval: approval.clone(), by: by.clone() })
            }
            Record::Expired { request, .. } => (request, Settlement::Expired),
            _ => return None,
        };
        Some(Self::ApprovalSettled { request: request.clone(), settled })
    }

    /// Appends a delta to a waiting one of its kind, up to about `limit` bytes; returns what does not join.
    pub fn join(&mut self, next: Self, limit: usize) -> Option<Self> {
        match (self, &next) {
            (Self::TextDelta { text }, Self::TextDelta { text: more })
            | (Self::ThinkingDelta { text }, Self::ThinkingDelta { text: more })
                if text.len() < limit =>
            {
                text.push_str(more);
                None
            }
            _ => Some(next),
        }
    }
}

/// How a request was settled.
#[derive(Debug, Clone, PartialEq)]
pub enum Settlement {
    Decided {
        approval: Approval,
        by: Decider,
    },
    /// The turn was interrupted before a decision.
    Withdrawn,
    /// The turn goes on without it, and it stays in the inbox: its call is late from now on.
    Late,
    /// It was asked again as another request.
    Superseded,
    /// It timed out undecided.
    Expired,
}

impl Settlement {
    /// Whether the request is still pending, but postponed.
    pub fn is_postponed(&self) -> bool {
        matches!(self, Self::Decided { approval: Approval::Later, .. } | Self::Late)
    }
}

/// A user's operation on the running turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Decides requests, which may be other sessions', in this order and in one transaction.
    Decide {
        decisions: Vec<(RequestId, Approval)>,
    },
    /// Takes back what the approval of this request allowed for the session.
    Revoke {
        request: RequestId,
    },
    /// A prompt typed while the turn runs.
    Steer {
        parts: Vec<UserPart>,
    },
    /// Removes this queued prompt, to be edited. Its text identifies it; its images need not be passed.
    TakeBack {
        parts: Vec<UserPart>,
    },
    Interrupt,
    /// Postpone everything that waits.
    Defer,
    /// Do not wait for the back-off.
    RetryNow,
    /// The answer to a cap that was reached.
    Cap {
        cap: Cap,
        answer: CapAnswer,
    },
    /// The composer's current text, kept across a crash.
    Draft {
        text: String,
    },
    /// The output of the user's own command, for the next prompt.
    Noted {
        text: String,
    },
    /// The front end closes: running calls are interrupted, waiting ones deferred.
    Close,
}

impl Op {
    /// Returns the same decision on all of these.
    pub fn decide_alike(requests: &[RequestId], approval: &Approval) -> Self {
        Self::Decide { decisions: requests.iter().map(|id| (id.clone(), approval.clone())).collect() }
    }

    /// Returns the decision on one request.
    pub fn decide(request: RequestId, approval: Approval) -> Self {
        Self::Decide { decisions: vec![(request, approval)] }
    }
}
