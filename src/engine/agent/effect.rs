//! The interface between the turn machine and its driver: inputs in, effects out.

use std::time::Duration;

use serde_json::Value;

use super::caps::{CapAnswer, Caps, Figures};
use super::context::CompactionPlan;
use super::port::Event;
use crate::approval::{Approval, Decider, Policy, RequestId};
use crate::config::Cap;
use crate::history::{DependencyState, Durability, OpenCall, Record, TurnEnd};
use crate::hook::HookVerdict;
use crate::message::{CallId, ToolCall, ToolReturn, UserPart};
use crate::provider::{ProviderError, StreamEvent, ToolChoice};
use crate::tool::{CallPlan, Resource, ToolError, Version};

/// An external event for a turn.
#[derive(Debug, Clone)]
pub enum Input {
    /// The next event of the running request, or its failure.
    Stream(Result<StreamEvent, ProviderError>),
    Planned {
        call: CallId,
        round: u32,
        result: Result<CallPlan, ToolError>,
    },
    Hooked {
        call: CallId,
        round: u32,
        verdict: HookVerdict,
    },
    /// The hooks' verdict on the final reply, requested by [`Effect::HookStop`].
    StopHooked {
        verdict: HookVerdict,
    },
    /// A decision was made; its record is in the store.
    Decided {
        request: RequestId,
        approval: Approval,
        by: Decider,
    },
    /// A request expired undecided; the record is in the store.
    Expired {
        request: RequestId,
    },
    ToolDone {
        returned: ToolReturn,
        seen: Vec<(Resource, Version)>,
        /// The state that the tool keeps in the session.
        state: Option<Value>,
    },
    Steer {
        parts: Vec<UserPart>,
    },
    TakeBack {
        parts: Vec<UserPart>,
    },
    /// The user takes back what the approval of this request allowed for the session.
    Revoked {
        request: RequestId,
    },
    /// The wait is over, or the user cut it short.
    BackoffElapsed,
    /// The messages that can be compacted; `None` if none can. `summarizer`: a model for summaries is set.
    CompactionPlanned {
        plan: Option<Box<CompactionPlan>>,
        summarizer: bool,
        /// Why nothing may be, where a hook says so.
        prevented: Option<String>,
    },
    /// The answer to [`Effect::Weigh`]; figures are there if they were wanted.
    Weighed {
        fit: Fit,
        figures: Option<Figures>,
    },
    /// The user's answer to a cap that was reached.
    CapAnswered {
        cap: Cap,
        answer: CapAnswer,
    },
    /// Late calls that can be settled, for [`Effect::TakeLate`], and how the calls they run after ended.
    Late {
        calls: Vec<(OpenCall, DependencyState)>,
    },
    /// A second of streaming has passed: save the text so far.
    Checkpoint,
    /// The mode, the rules or yolo changed; applies to all later decisions.
    Policy(Policy),
    Defer,
    Interrupt,
    /// The front end is closed: running calls are interrupted, waiting ones deferred.
    Close,
}

/// An action of the driver; actions are executed in order.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "effects are few at a time and carried out at once")]
pub enum Effect {
    CallModel {
        attempt: u32,
        choice: ToolChoice,
        who: ModelRole,
    },
    /// Drop the running request and ignore its remaining events.
    CancelModel,
    Commit(Vec<Record>, Durability),
    Plan {
        call: ToolCall,
        round: u32,
    },
    Hook {
        call: ToolCall,
        round: u32,
    },
    /// Ask hooks whether the turn may end with its final reply.
    HookStop,
    StartTool {
        call: ToolCall,
        /// The state that its plan depends on.
        basis: Vec<(Resource, Version)>,
    },
    /// Cancel everything that runs and drop plans and hooks; each running call still ends with `ToolDone`.
    CancelTools,
    Wait(Duration),
    /// Find what can be compacted; answered with [`Input::CompactionPlanned`].
    PlanCompaction {
        why: CompactionReason,
        who: ModelRole,
    },
    /// Ask a model for a summary of these quoted messages; its reply comes as [`Input::Stream`].
    Summarize {
        who: ModelRole,
        quoted: String,
    },
    /// Look up late calls that can be settled: they run before the next request.
    TakeLate,
    /// Estimate whether the conversation fits the model; look up the usage that the caps limit, if wanted.
    Weigh {
        who: ModelRole,
        what: EstimateScope,
    },
    /// Keep these caps for later turns: some were raised, or warned about.
    KeepCaps(Caps),
    Show(Event),
    /// Exactly once, and last.
    End(TurnEnd),
}

impl Effect {
    /// Shows a line about the turn: one of [`statuses`](super::statuses), or a notice of the provider.
    pub fn status(text: impl Into<String>) -> Self {
        Self::Show(Event::Status { text: text.into() })
    }
}

/// Joins commits between which something is only shown, because each waits for the store; what is shown between them is
/// shown after both.
pub fn with_joined_commits(effects: Vec<Effect>) -> Vec<Effect> {
    let mut out: Vec<Effect> = Vec::with_capacity(effects.len());
    let mut last = None;
    for effect in effects {
        match effect {
            Effect::Commit(more, wanted) => {
                if let Some(Effect::Commit(records, durability)) = last.and_then(|at: usize| out.get_mut(at))
                {
                    records.extend(more);
                    *durability = wanted.max(*durability);
                } else {
                    last = Some(out.len());
                    out.push(Effect::Commit(more, wanted));
                }
            }
            Effect::Show(_) => out.push(effect),
            effect => {
                last = None;
                out.push(effect);
            }
        }
    }
    out
}

/// The purpose of weighing a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EstimateScope {
    Size,
    SizeAndUsage,
}

/// Whether a conversation fits its model, by an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    Fits,
    TooLong,
}

/// Why a conversation is to be compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionReason {
    /// By our estimate; hooks can prevent it.
    Estimated,
    /// The user asked for it; hooks can prevent it.
    Asked,
    /// By the provider.
    Refused,
}

/// Which model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelRole {
    /// The model that the user chose. Every turn begins with it.
    Primary,
    /// The model that replaces it until the end of the turn.
    Fallback,
    /// The model that is set for summaries.
    Summarizer,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_joined_unless_something_is_done_between_them() {
        let record = |text: &str| Record::Draft { text: text.to_owned() };
        let commit = |text, durability| Effect::Commit(vec![record(text)], durability);
        let show = |text: &str| Effect::status(text);
        let joined = Effect::Commit(vec![record("1"), record("2")], Durability::Synced);
        let effects = vec![
            show("a"),
            commit("1", Durability::Written),
            show("b"),
            commit("2", Durability::Synced),
            show("c"),
            Effect::CancelTools,
            commit("3", Durability::Written),
        ];
        let expected = vec![
            show("a"),
            joined,
            show("b"),
            show("c"),
            Effect::CancelTools,
            commit("3", Durability::Written),
        ];
        assert_eq!(with_joined_commits(effects), expected);
    }
}
