//! The core's ports: what a front end shows and how it answers.
//!
//! Front ends are equal; they implement [`Frontend`] and nothing of the core knows which one listens.

use std::time::Duration;

use futures::future::BoxFuture;

use super::caps::{CapAnswer, CapQuestion};
use crate::approval::{Approval, Decider, Request, RequestId};
use crate::config::Cap;
use crate::history::TurnEnd;
use crate::message::{ToolCall, ToolReturn, Usage, Usd, UserPart};
use crate::provider::ErrorClass;
use crate::tool::{CallPlan, Progress};

/// Shows a turn and hears the person.
pub trait Frontend: Send + Sync {
    /// Shows one event. The await is the back-pressure: text deltas may coalesce, the rest is bounded.
    /// `Err` means nobody is watching any more: what runs is interrupted, what waits is deferred.
    fn show(&self, event: Event) -> BoxFuture<'_, Result<(), Closed>>;

    /// The user's next word on the running turn. Cancel-safe; heard even while `show` waits. Never
    /// resolves where nobody can speak.
    fn next_op(&self) -> BoxFuture<'_, Op>;

    /// Whether somebody is there to answer a request now.
    fn can_approve(&self) -> bool;
}

/// Nobody is watching any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the front end is closed")]
pub struct Closed;

/// One thing to show. Closed: every front end matches all of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The turn took this up: the prompt, a steered prompt, a note.
    Prompted {
        parts: Vec<UserPart>,
    },
    TextDelta {
        text: String,
    },
    /// The text part is whole; `text` is all of it.
    TextCommitted {
        text: String,
    },
    ThinkingDelta {
        text: String,
    },
    ThinkingCommitted {
        text: String,
    },
    /// A piece of a call's arguments as they stream; for previews only, never acted upon.
    ToolArgs {
        index: usize,
        name: String,
        delta: String,
    },
    /// A call of a committed reply.
    ToolCall {
        call: ToolCall,
    },
    /// It is planned: what it would do.
    ToolPlanned {
        call: ToolCall,
        plan: CallPlan,
    },
    /// It runs now.
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
    /// It is settled: here, in another process, or withdrawn.
    ApprovalSettled {
        request: RequestId,
        settled: Settled,
    },
    /// The request failed and is sent again after `wait`.
    Retry {
        class: ErrorClass,
        message: String,
        wait: Duration,
        attempt: u32,
        of: u32,
        /// Who is asked if no retry helps, as `provider/model`.
        then: Option<String>,
    },
    /// A model was given up for the rest of this turn, and another goes on in its place.
    FellBack {
        /// Both as `provider/model`.
        from: String,
        to: String,
        class: ErrorClass,
        why: String,
    },
    /// What was shown of this reply is void; it starts again.
    PartialReset,
    /// What a reply used; `cost` is `None` where nobody knows.
    Usage {
        usage: Usage,
        model: String,
        cost: Option<Usd>,
    },
    /// The next request would go over a cap. Where somebody can answer, the turn waits for [`Op::Cap`]; else it ends.
    CapReached {
        question: CapQuestion,
    },
    /// The question is answered.
    CapAnswered {
        question: CapQuestion,
        answer: CapAnswer,
    },
    /// Older messages were left out; `dropped` of them.
    Compacted {
        dropped: usize,
    },
    /// The model would not answer, or its provider's filter stopped it; what came before stays. No failure.
    Refused {
        why: String,
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
    /// Appends a delta to one of its kind that waits, up to about `limit` bytes; gives back what does not join.
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

/// How a request came to its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Settled {
    Decided {
        approval: Approval,
        by: Decider,
    },
    /// The turn was interrupted before anybody decided.
    Withdrawn,
    /// The turn goes on without it; it stays in the inbox.
    Detached,
    /// Asked again as another request.
    Superseded,
    /// Nobody decided in time.
    Expired,
}

/// The user's word on the running turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    Decide {
        request: RequestId,
        approval: Approval,
    },
    /// A prompt typed while the turn runs.
    Steer {
        parts: Vec<UserPart>,
    },
    /// The person takes this queued prompt back, to write it anew. Its words say which; images need not be told.
    TakeBack {
        parts: Vec<UserPart>,
    },
    Interrupt,
    /// Everything that waits is for later.
    Defer,
    /// Do not wait for the back-off.
    RetryNow,
    /// What to do at a cap that was reached.
    Cap {
        cap: Cap,
        answer: CapAnswer,
    },
    /// The composer's text as it stands, kept across a crash.
    Draft {
        text: String,
    },
    /// What a command of the person's own gave, for the next prompt.
    Noted {
        text: String,
    },
    /// The front end closes: what runs is interrupted, what waits is deferred.
    Close,
}
