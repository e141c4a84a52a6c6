//! Scripted replies of a model, as values and as lines of text.
//!
//! It only describes replies; its callers serve them (in process or over HTTP). A script never sleeps: where
//! a test must check a state, it names a gate. Called by the turn scripts' runner, by
//! [`ReplayProvider`](super::ReplayProvider) and by the loopback server.
//!
//! ```text
//! reply                          starts a reply; its steps are indented
//!   model NAME                   the model's name as the provider sends it (default: as requested)
//!   thinking TEXT | sig=abc      a piece of a thinking part; `| sig=` only on a part's last piece
//!   text TEXT                    a piece of a text part; pieces in a row belong to one part
//!   text "a\n"                   a JSON string where spaces or line ends matter
//!   text*1000 "x"                the same piece many times
//!   text <<<                     lines up to `>>>`, less the indent of the first (also thinking, call NAME)
//!   call NAME {"a":1} | id=c1    a whole call; `| raw` sends arguments that are no JSON, `| open` cuts them
//!   native {"type":"…"}          an item that only the provider understands
//!   part                         ends the open part, so that the next piece starts another
//!   gate NAME                    waits here until it is released
//!   usage IN OUT [CACHED]        tokens (default 10 5); `| cost=0.05`: dollars, as the provider reports them
//!   stop KIND [words]            end_turn tool_use max_tokens stop_sequence refusal pause_turn or the
//!                                provider's own word (default: tool_use if there are calls, else end_turn)
//!   error 429 CODE words | retry-after=2 should-retry=false
//!                                as the first step a refused request, later an error within the stream
//!   cut                          the connection ends without the protocol's end
//!   hang                         no more data is sent
//! ```
//! Empty lines and lines that start with `#` are skipped.

mod parse;

use std::time::Duration;

use serde_json::Value;

pub use self::parse::{ScriptError, parse_replies, parse_reply};
use co_engine::message::{StopKind, StopReason, Usage};

/// One scripted reply to one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The name of the model that the provider sends; `None` = as requested.
    pub model: Option<String>,
    pub steps: Vec<Step>,
    pub usage: Usage,
    pub end: End,
}

impl Reply {
    /// Whether there is any output before the end: an error without it is a refused request.
    pub fn says_something(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Thinking { .. } | Step::Text { .. } | Step::Call { .. } | Step::Native { .. } => true,
            Step::Part | Step::Gate { .. } => false,
        })
    }

    /// Returns the reply without signatures, as a wire without them sends it.
    #[must_use]
    pub fn unsigned(&self) -> Self {
        let mut reply = self.clone();
        for step in &mut reply.steps {
            if let Step::Thinking { signature, .. } = step {
                *signature = None;
            }
        }
        reply
    }
}

/// One step of a reply, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Thinking {
        text: String,
        signature: Option<String>,
    },
    /// `text`, sent `times` times, each time as a separate delta.
    Text {
        text: String,
        times: usize,
    },
    Call {
        /// `None` = generated from the positions of request and call; empty = the provider sends none.
        wire_id: Option<String>,
        name: String,
        /// JSON text, sent unchanged.
        args: String,
        ending: CallEnding,
    },
    /// The whole item, as its provider would send it.
    Native {
        data: Value,
    },
    Part,
    Gate {
        name: String,
    },
}

/// Whether a call's arguments are complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnding {
    Closed,
    /// Truncated in the arguments.
    Open,
}

/// How a reply ends.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    Stop(StopReason),
    Error(ScriptedError),
    /// The connection ends without the protocol's own end.
    Cut,
    /// No more data is sent, and the connection stays open.
    Hang,
}

/// A failure as the provider would report it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedError {
    pub status: u16,
    pub code: String,
    pub message: String,
    pub retry_after: Option<Duration>,
    pub should_retry: Option<bool>,
}

/// Returns the wire's word for a stop kind; [`StopKind::Other`] has none.
pub fn stop_word(kind: StopKind) -> Option<&'static str> {
    match kind {
        StopKind::EndTurn => Some("end_turn"),
        StopKind::ToolUse => Some("tool_use"),
        StopKind::MaxTokens => Some("max_tokens"),
        StopKind::StopSequence => Some("stop_sequence"),
        StopKind::Refusal => Some("refusal"),
        StopKind::PauseTurn => Some("pause_turn"),
        StopKind::Interrupted | StopKind::Other => None,
    }
}

#[cfg(test)]
mod tests;
