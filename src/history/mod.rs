//! The records of a session and their fold.
//!
//! A session is an append-only sequence of [`Record`]s; [`History`] is what they add up to. Live and on
//! replay the conversation changes in one way only, [`History::apply`]. Nothing here does I/O.

mod cap;
mod fold;
mod late;
mod repair;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::cap::{Cap, Scope, Unit, grouped};
pub use self::fold::{History, OpenCall, RunningTurn, SEEN};
pub use self::late::{Detached, Fate};
pub use self::repair::patch_dangling_tool_calls;
use crate::approval::{Approval, Decider, DeferredToolRequests, Judgement, Request, RequestId};
use crate::message::{CallId, Message, NoteKind, ToolCall, ToolReturn, Usage, Usd, UserPart};
use crate::provider::{ErrorClass, ProviderError};

/// A session's id: a time-ordered UUID in text form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub String);

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// How long a commit must outlive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// In the database: survives a killed process.
    Written,
    /// On the disk: survives a power cut. Waited for before a side effect and after a decision only.
    Synced,
}

/// A record's place in its session, dense from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordNo(pub u64);

/// One fact of a session. Stored for good: variants and fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "records are few at a time and live in slices on the heap")]
pub enum Record {
    /// Always the first record.
    Opened {
        workspace: PathBuf,
    },
    /// `turn` counts from 1 in the session.
    TurnStarted {
        turn: u32,
        limits: Limits,
    },
    /// Never [`Message::ToolReturns`]: the fold builds those when the last call of a reply has its return.
    Said {
        message: Message,
    },
    /// One per request sent to a model, failed ones too; the budget is folded from them.
    RequestEnded {
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// The service that was asked; empty in records of before it was kept.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        provider: String,
        /// As the provider named it.
        model: String,
        /// What it cost by the prices of that day; absent where nobody knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Usd>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorClass>,
    },
    /// More text of a reply being streamed; void once a later attempt or its `Said` is recorded.
    Partial {
        attempt: u32,
        text: String,
    },
    /// A call waits for a person. Asking again for the same call replaces the request before.
    Asked {
        call: ToolCall,
        request: Request,
    },
    Decided {
        request: RequestId,
        call: CallId,
        approval: Approval,
        by: Decider,
    },
    /// A call was settled without a person: allowed, denied, or shown only.
    Judged {
        call: CallId,
        judgement: Judgement,
    },
    /// Nobody decided in time.
    Expired {
        request: RequestId,
        call: CallId,
    },
    /// Synced before a side effect begins; read-only calls have none.
    ToolStarted {
        call: CallId,
    },
    ToolFinished {
        returned: ToolReturn,
    },
    /// The turn ends and waits for these.
    Deferred {
        waiting: DeferredToolRequests,
    },
    TurnEnded {
        end: TurnEnd,
    },
    /// The whole queue of typed prompts, replacing what was queued before.
    Queued {
        prompts: Vec<Vec<UserPart>>,
    },
    /// The composer's text, kept for the next start.
    Draft {
        text: String,
    },
    /// A note that the next user message will carry.
    Noted {
        kind: NoteKind,
        text: String,
    },
    /// Messages before `kept_from` are replaced by `summary`.
    Compacted {
        summary: String,
        kept_from: RecordNo,
    },
    /// The conversation starts afresh; open calls become detached.
    Cleared,
    Renamed {
        title: String,
    },
    /// Stands for a stored record that is damaged or missing; never stored itself.
    #[serde(skip)]
    Damaged {
        no: u64,
    },
    /// State a tool keeps in the session; the latest value per tool counts.
    State {
        tool: String,
        value: Value,
    },
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum TurnEnd {
    Completed,
    /// Requests wait for a person; the turn can be resumed.
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
    /// Model requests a turn.
    Requests,
    /// Tokens a turn.
    Tokens,
    /// The model repeated a call whose result did not change.
    Circling,
    /// The model's output limit cut the reply before anything could be done with it.
    Output,
    /// The next request would have gone over a cap, and nobody let it. The turn can be resumed.
    #[serde(untagged)]
    Cap(Cap),
}

/// What one turn may use; it spans approvals, retries, reflections and deferrals.
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

/// What requests have used, folded from their `RequestEnded` records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    pub requests: u32,
    /// Input and output together.
    pub tokens: u64,
    /// Of the requests whose cost is known.
    pub usd: Usd,
    /// Requests that cost something nobody knows.
    pub unpriced: u32,
}

impl Used {
    /// Counts one request, failed ones too.
    pub fn count(&mut self, usage: Option<Usage>, cost: Option<Usd>, error: Option<ErrorClass>) {
        self.requests += 1;
        self.unpriced += u32::from(is_unpriced(usage, cost, error));
        let usage = usage.unwrap_or_default();
        let tokens = usage.input.unwrap_or(0).saturating_add(usage.output.unwrap_or(0));
        self.tokens = self.tokens.saturating_add(tokens);
        self.usd = self.usd.plus(cost.unwrap_or_default());
    }
}

/// Whether a request cost something that nobody knows: tokens without a price, or a reply that broke off before it was
/// counted. A request that was refused cost nothing; one that failed after its reply had begun has a usage, without any
/// count where none was told.
pub fn is_unpriced(usage: Option<Usage>, cost: Option<Usd>, error: Option<ErrorClass>) -> bool {
    match (cost, usage) {
        (Some(_), _) => false,
        (None, Some(usage)) => error.is_some() || usage.input.is_some() || usage.output.is_some(),
        (None, None) => {
            matches!(error, None | Some(ErrorClass::Truncated | ErrorClass::Idle | ErrorClass::Malformed))
        }
    }
}

/// What the records say about a call of the last reply, or of a detached one.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    Returned,
    Waiting,
    /// A person decided and nothing came of it yet.
    Decided(Approval),
    /// Nobody decided in time, and nothing came of it yet.
    Expired,
    NotStarted,
    /// It started and has no return: never run again by itself.
    MayHaveRun,
}
