//! What goes between the turn machine and its driver: inputs in, effects out.

use std::time::Duration;

use super::caps::{CapAnswer, Caps, Figures};
use super::port::Event;
use crate::approval::{Approval, Decider, Policy, RequestId};
use crate::config::Cap;
use crate::history::{Durability, Fate, OpenCall, Record, TurnEnd};
use crate::hook::HookVerdict;
use crate::message::{CallId, ToolCall, ToolReturn, UserPart};
use crate::provider::{ProviderError, StreamEvent, ToolChoice};
use crate::tool::{CallPlan, Resource, ToolError, Version};

/// What happens to a turn from outside.
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
    /// What hooks say of the last word, as [`Effect::HookStop`] asked.
    StopHooked {
        verdict: HookVerdict,
    },
    /// A person decided, and the record of it is in the store.
    Decided {
        request: RequestId,
        approval: Approval,
        by: Decider,
    },
    /// Nobody decided in time, and the record of it is in the store.
    Expired {
        request: RequestId,
    },
    ToolDone {
        returned: ToolReturn,
        seen: Vec<(Resource, Version)>,
    },
    Steer {
        parts: Vec<UserPart>,
    },
    TakeBack {
        parts: Vec<UserPart>,
    },
    /// The wait is over, or the person does not want it.
    BackoffElapsed,
    /// Older messages were left out (`dropped` of them), or nothing could be.
    Compacted {
        dropped: usize,
    },
    /// What was used and what the next request would add, as [`Effect::Weigh`] asked.
    Weighed {
        figures: Figures,
    },
    /// The person's word on a cap that was reached.
    CapAnswered {
        cap: Cap,
        answer: CapAnswer,
    },
    /// Late calls that can be settled, as [`Effect::TakeLate`] asked, with how what they run after ended.
    Late {
        calls: Vec<(OpenCall, Fate)>,
    },
    /// A second of streaming has passed: keep what came.
    Checkpoint,
    /// Modes, rules or yolo changed: what is decided from now on.
    Policy(Policy),
    Defer,
    Interrupt,
    /// The front end is gone: what runs is interrupted, what waits is deferred.
    Close,
}

/// What the driver does, in order.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "effects are few at a time and carried out at once")]
pub enum Effect {
    CallModel {
        attempt: u32,
        choice: ToolChoice,
        who: ModelRole,
    },
    /// Drop the running request; none of its events counts any more.
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
    /// Ask hooks whether the turn may end with what was said last.
    HookStop,
    StartTool {
        call: ToolCall,
    },
    /// Fire the cancel of everything that runs and drop plans and hooks; each running call still
    /// ends with `ToolDone`.
    CancelTools,
    Wait(Duration),
    Compact,
    /// Look up late calls that can be settled: they run before the next request.
    TakeLate,
    /// Look up what is used of the caps, and estimate the next request.
    Weigh {
        who: ModelRole,
    },
    /// The caps for the turns to come: some were raised, or told of.
    KeepCaps(Caps),
    Show(Event),
    /// Exactly once, last.
    End(TurnEnd),
}

/// Which of the two models answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelRole {
    /// The one that the person chose. Every turn begins with it.
    Primary,
    /// The one that stands in for it, to the end of the turn.
    Fallback,
}
