//! The records of a session and their fold.
//!
//! A session is an append-only sequence of [`Record`]s; [`History`] is the state folded from them. The
//! conversation changes only by [`History::apply`], live and on replay. Nothing here does I/O.

mod copy;
mod fold;
mod late;
mod repair;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::copy::{Conversation, CopyOf};
pub use self::fold::{History, MeasuredRequest, RunningTurn, SEEN};
pub use self::late::{DependencyState, LateCall, OpenCall};
pub use self::repair::patch_dangling_tool_calls;
use crate::approval::{Approval, Decider, DeferredToolRequests, Judgement, Request, RequestId};
use crate::config::Cap;
use crate::message::{
    AssistantMessage, CallId, Message, NoteKind, ToolCall, ToolReturn, Usage, Usd, UserPart,
};
use crate::provider::{ErrorClass, ProviderError, RequestKind};

/// A session's id: a time-ordered UUID in text form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub String);

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The failures that a commit must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Written to the database: survives a killed process.
    Written,
    /// Synced to disk: survives a power cut. Used only before a side effect and after a decision.
    Synced,
}

/// A record's number in its session: from 1, without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordNo(pub u64);

/// One event of a session. Stored permanently: variants and fields may only be added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// Always the first record.
    Opened {
        workspace: PathBuf,
    },
    /// `turn` counts from 1 in the session.
    TurnStarted {
        turn: u32,
        limits: Limits,
        /// The span of the turn, as a W3C `traceparent`: a resumed turn continues its trace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<String>,
    },
    /// A message. Never [`Message::ToolReturns`]: the fold builds those when the last call of a reply
    /// returns.
    Said {
        message: Arc<Message>,
    },
    /// A request to a model ended or failed; the budget is folded from these records.
    RequestEnded {
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// The provider; empty in old records, which did not keep it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        provider: String,
        /// The model, as the provider named it.
        model: String,
        /// The cost at the prices of that day; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Usd>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorClass>,
        #[serde(default, skip_serializing_if = "RequestKind::is_answer")]
        purpose: RequestKind,
    },
    /// More text of a streamed reply; void once a later attempt or its `Said` is recorded.
    Partial {
        attempt: u32,
        text: String,
    },
    /// A call waits for the user. Asking again for the same call replaces the earlier request.
    Asked {
        call: ToolCall,
        request: Box<Request>,
    },
    Decided {
        request: RequestId,
        call: CallId,
        approval: Approval,
        by: Decider,
    },
    /// A call was settled without the user: allowed, denied, or only previewed.
    Judged {
        call: CallId,
        judgement: Box<Judgement>,
    },
    /// Ends the permission for the session that the approval of this request gave.
    Revoked {
        request: RequestId,
    },
    /// The request timed out without a decision.
    Expired {
        request: RequestId,
        call: CallId,
    },
    /// Synced before a side effect begins; not written for read-only calls.
    ToolStarted {
        call: CallId,
    },
    ToolFinished {
        returned: ToolReturn,
    },
    /// The turn ends and waits for these requests.
    Deferred {
        waiting: DeferredToolRequests,
    },
    TurnEnded {
        end: TurnEnd,
    },
    /// The whole queue of typed prompts; replaces the earlier queue.
    Queued {
        prompts: Vec<Vec<UserPart>>,
    },
    /// The composer's text, kept for the next start.
    Draft {
        text: String,
    },
    /// A note that the next user message will contain.
    Noted {
        kind: NoteKind,
        text: String,
    },
    /// Messages before `kept_from` are replaced by `summary`.
    Compacted {
        summary: String,
        kept_from: RecordNo,
        /// The model that wrote the summary, as `provider/model`; absent if messages were only left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The session is a copy: the records before are those of its original. `started`: calls that had a side effect
    /// there.
    Copied {
        of: CopyOf,
        started: Vec<CallId>,
    },
    /// The user went back: this message and those after it are no longer in the conversation.
    Rewound {
        before: RecordNo,
    },
    /// The last compaction is undone: its summary is replaced by the messages that it replaced.
    Uncompacted,
    /// The conversation is cleared; open calls become late calls.
    Cleared,
    Renamed {
        title: String,
    },
    /// Replaces a stored record that is damaged or missing; never stored itself.
    #[serde(skip)]
    Damaged {
        no: u64,
    },
    /// State that a tool keeps in the session; only the latest value per tool is used.
    State {
        tool: String,
        value: Value,
    },
}

impl Record {
    /// Creates a [`Record::Said`].
    pub fn said(message: Message) -> Self {
        Self::Said { message: Arc::new(message) }
    }

    /// Returns the message of a [`Record::Said`]; `None` for every other record.
    pub fn message(&self) -> Option<&Message> {
        if let Self::Said { message } = self { Some(message) } else { None }
    }

    /// Returns the model's reply; `None` for every other record.
    pub fn reply(&self) -> Option<&AssistantMessage> {
        if let Some(Message::Assistant(reply)) = self.message() { Some(reply) } else { None }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum TurnEnd {
    Completed,
    /// Requests wait for the user; the turn can be resumed.
    Deferred,
    Interrupted,
    LimitReached {
        limit: Limit,
    },
    Failed {
        error: ProviderError,
    },
}

/// Which limit ended a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The number of model requests per turn.
    Requests,
    /// The number of tokens per turn.
    Tokens,
    /// The model repeated a call whose result did not change.
    #[serde(rename = "circling")]
    Repetition,
    /// The model's output limit cut the reply before it was usable.
    Output,
    /// The next request would have exceeded a cap, and the user did not allow it. The turn can be resumed.
    #[serde(untagged)]
    Cap(Cap),
}

/// The limits of one turn, across its approvals, retries, reflections and deferrals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Model requests; `None` = no limit.
    pub requests: Option<u32>,
    /// Input and output tokens together; `None` = no limit.
    pub tokens: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { requests: Some(25), tokens: None }
    }
}

/// The usage of requests to models, folded from their `RequestEnded` records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageTotals {
    pub requests: u32,
    /// Input and output tokens together.
    pub tokens: u64,
    /// Cost of the requests whose price is known.
    pub usd: Usd,
    /// Number of requests that cost an unknown amount.
    pub unpriced: u32,
}

impl UsageTotals {
    /// Counts one request, including failed ones.
    pub fn count(&mut self, usage: Option<Usage>, cost: Option<Usd>, error: Option<ErrorClass>) {
        self.requests += 1;
        self.unpriced += u32::from(is_unpriced(usage, cost, error));
        let usage = usage.unwrap_or_default();
        let tokens = usage.input.unwrap_or(0).saturating_add(usage.output.unwrap_or(0));
        self.tokens = self.tokens.saturating_add(tokens);
        self.usd = self.usd.plus(cost.unwrap_or_default());
    }
}

/// Whether a request cost an unknown amount: tokens without a price, or a reply that broke off before it was
/// counted. A refused request cost nothing. A request that failed after its reply had begun has a usage,
/// whose counts are empty if the provider reported none.
pub fn is_unpriced(usage: Option<Usage>, cost: Option<Usd>, error: Option<ErrorClass>) -> bool {
    match (cost, usage) {
        (Some(_), _) => false,
        (None, Some(usage)) => error.is_some() || usage.input.is_some() || usage.output.is_some(),
        (None, None) => {
            matches!(error, None | Some(ErrorClass::Truncated | ErrorClass::Idle | ErrorClass::Malformed))
        }
    }
}

/// The state of a call of the last reply, or of a late call, according to the records.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordedState {
    Returned,
    Waiting,
    /// Decided by the user, without a result yet.
    Decided(Approval),
    /// Timed out without a decision, without a result yet.
    Expired,
    NotStarted,
    /// It started and has no return: never rerun automatically.
    MayHaveRun,
}
