//! The calls of one reply, from proposal to return. Pure; part of the turn machine.
//!
//! Each call is planned, passed to hooks, decided, asked about if needed, and run; each ends with exactly one
//! return. `schedule` says which may start when; `lifecycle` moves a call.

mod asking;
mod deciding;
mod ending;
mod intake;
mod lifecycle;
mod open;
mod planning;
mod preview;
mod reasons;
mod schedule;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

pub(in crate::agent) use self::deciding::PolicyDecision;
pub use self::open::close_open;
pub use self::schedule::conflict;
use super::loop_guard::RepeatDetector;
use crate::approval::{Decision, Grants, Policy, Provenance, Request, Taint, Verdict, Workspace};
use crate::history::Record;
use crate::hook::HookVerdict;
use crate::message::{ToolCall, ToolName, ToolReturn};
use crate::sandbox::Isolation;
use crate::tool::{Access, CallPlan, SeenVersions, ToolSpec};

/// Calls of one reply that are accepted; the model is asked to send the rest again.
const MOST_CALLS: usize = 200;

/// The data that decides about calls in this turn.
#[derive(Debug, Clone)]
pub struct Rules {
    pub policy: Policy,
    pub grants: Grants,
    pub specs: Arc<BTreeMap<ToolName, ToolSpec>>,
    /// Tools that some hook subscribes to.
    pub hooked: BTreeSet<ToolName>,
    pub isolation: Isolation,
    pub place: Workspace,
    /// Everything the model has received, by origin.
    pub provenance: Provenance,
    /// The time that was reported last.
    pub now: Timestamp,
    /// How long a request can be decided; `None` = without limit.
    pub expiry: Option<Duration>,
    /// How often the model may correct wrong arguments of one tool in a turn.
    pub tool_retries: u32,
}

impl Rules {
    fn policy_now(&self) -> Cow<'_, Policy> {
        policy_at(&self.policy, self.now)
    }

    /// Returns when a request that is made now expires.
    fn expires(&self) -> Option<Timestamp> {
        expires(self.expiry, self.now)
    }
}

/// Returns when a request made at `now` expires.
fn expires(expiry: Option<Duration>, now: Timestamp) -> Option<Timestamp> {
    expiry.map(|expiry| now.saturating_add(expiry).unwrap_or(Timestamp::MAX))
}

/// Returns the policy without expired rules.
fn policy_at(policy: &Policy, now: Timestamp) -> Cow<'_, Policy> {
    if policy.rules.rules.iter().all(|rule| rule.expires.is_none()) {
        return Cow::Borrowed(policy);
    }
    Cow::Owned(Policy { rules: Arc::new(policy.rules.at(now)), ..policy.clone() })
}

impl Rules {
    /// Counts a use of a rule or grant with limited uses, also for the other calls of the reply.
    fn count_use(&mut self, decision: &Decision) {
        self.policy.count(&decision.by);
        self.grants.count(&decision.by);
    }
}

/// All calls of one reply.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    calls: Vec<TrackedCall>,
    stage: Stage,
    /// Versions that this turn's own calls have written: they do not invalidate an approval by themselves.
    own_writes: SeenVersions,
    /// Counts ends and decisions; a plan older than the last one is checked again before its call runs.
    moves: u64,
    /// Wrong arguments so far in this turn, by tool.
    misuses: BTreeMap<ToolName, u32>,
    /// Calls of this turn that gave the same result again.
    repeats: RepeatDetector,
    /// Records of early calls, committed with the reply and never before it.
    early_records: Vec<Record>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    /// The reply still streams: only calls without side effects may start, and nothing is recorded.
    #[default]
    Early,
    /// The reply is in the store.
    Committed,
    /// The turn of these calls went on without them: they were approved or settled later.
    Late,
}

/// One call and its state.
#[derive(Debug, Clone)]
struct TrackedCall {
    /// As the model wrote it.
    call: ToolCall,
    /// The call that would run: without `label` and `after`, edited or rewritten.
    tool: ToolName,
    args: Value,
    /// The calls of this reply that it runs after.
    after: Vec<usize>,
    after_labels: Vec<String>,
    state: State,
    spec: Option<ToolSpec>,
    plan: Option<CallPlan>,
    decision: Option<Decision>,
    request: Option<Request>,
    /// Untrusted words in the arguments as planned.
    taint: Vec<Taint>,
    consent: Consent,
    /// The user's note on their approval, for the model.
    note: Option<String>,
    hook: Option<HookVerdict>,
    /// Numbers the plans of this call; an answer for an older one is stale.
    round: u32,
    /// [`Calls::moves`] when the plan was made.
    planned_at: u64,
    /// Planning failed while its dependencies were open: it is not tried again before they end.
    unplannable: bool,
    /// Set if what ran is not what the model wrote.
    changed_by: Option<ChangedBy>,
    /// The user or a hook put it off.
    later: bool,
    /// It has its return, but its request goes on without this turn: calls after it are previewed too.
    previewed: bool,
}

#[derive(Debug, Clone)]
enum State {
    /// Not planned yet.
    Held,
    Planning(Purpose),
    Hooking,
    /// Needs a user's decision or a preview, and the reply is not committed yet.
    Undecided,
    /// A request is in the store.
    Waiting,
    /// May run as soon as the schedule permits.
    Ready,
    Running,
    Done(ToolReturn),
}

/// Why a call is being planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    First,
    /// A hook changed the arguments.
    Rewritten,
    /// The user changed the arguments.
    Edited,
    /// Something changed since it was planned.
    Recheck,
}

/// Whether the planned call has been approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    NotGiven,
    /// The policy answered the request instead of the user: it counts as long as the policy says so.
    ByPolicy,
    Given,
    /// Given to another plan than the current one.
    Overtaken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangedBy {
    Person,
    Hook,
}

impl TrackedCall {
    fn is_done(&self) -> bool {
        matches!(self.state, State::Done(_))
    }

    fn is_read(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.side_effect.is_none())
    }

    fn access(&self) -> Option<&Access> {
        self.plan.as_ref().map(|plan| &plan.access)
    }

    /// Returns the call as it would run.
    fn effective(&self) -> ToolCall {
        ToolCall { name: self.tool.clone(), args: self.args.clone(), ..self.call.clone() }
    }
}

/// Queries of the turn about its calls.
impl Calls {
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub fn all_done(&self) -> bool {
        self.calls.iter().all(TrackedCall::is_done)
    }

    /// Whether a tool runs now.
    pub fn any_running(&self) -> bool {
        self.calls.iter().any(|one| matches!(one.state, State::Running))
    }

    pub fn any_waiting(&self) -> bool {
        self.calls.iter().any(|one| matches!(one.state, State::Waiting))
    }

    /// Whether the user postponed everything that waits.
    pub fn all_waiting_later(&self) -> bool {
        self.calls.iter().all(|one| !matches!(one.state, State::Waiting) || one.later)
    }

    /// Whether these are late calls, which no reply of this turn waits for.
    pub fn are_late(&self) -> bool {
        self.stage == Stage::Late
    }

    pub fn waiting_requests(&self) -> Vec<Request> {
        self.calls
            .iter()
            .filter(|one| matches!(one.state, State::Waiting))
            .filter_map(|one| one.request.clone())
            .collect()
    }

    /// Whether the turn has repeated itself for too long.
    pub fn repeats_itself(&self) -> bool {
        self.repeats.is_over()
    }
}

/// Whether a decision lets a call run without asking again: an approval settles an ask, never a denial.
fn is_permitted(decision: &Decision, consent: Consent) -> bool {
    match (decision.verdict, consent) {
        (Verdict::Allow, Consent::NotGiven | Consent::ByPolicy)
        | (Verdict::Allow | Verdict::Ask | Verdict::Later | Verdict::Preview, Consent::Given) => true,
        (Verdict::Ask | Verdict::Later | Verdict::Preview, Consent::NotGiven | Consent::ByPolicy)
        | (Verdict::Allow | Verdict::Ask | Verdict::Later | Verdict::Preview, Consent::Overtaken)
        | (Verdict::Deny, Consent::Given | Consent::ByPolicy | Consent::NotGiven | Consent::Overtaken) => {
            false
        }
    }
}
