//! Open calls, late calls (their turn went on without them), and the states of calls that others depend on. Part of the
//! fold.

use std::collections::BTreeMap;

use serde_json::Value;

use super::RecordedState;
use crate::approval::{Approval, Decider, Request};
use crate::message::{CallId, ReturnStatus, ToolCall, ToolName, ToolReturn};

/// A call of the last reply.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCall {
    pub call: ToolCall,
    pub known: RecordedState,
    /// Who decided, once it is decided.
    pub by: Option<Decider>,
    /// The latest request for it; none once it is a late call.
    pub request: Option<Request>,
    /// Whether the user chose later.
    pub later: bool,
    pub returned: Option<ToolReturn>,
}

impl OpenCall {
    pub(super) fn new(call: &ToolCall) -> Self {
        Self {
            call: call.clone(),
            known: RecordedState::NotStarted,
            by: None,
            request: None,
            later: false,
            returned: None,
        }
    }
}

/// A call whose turn went on without it; its request stays in the inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct LateCall {
    pub call: ToolCall,
    pub known: RecordedState,
    /// Who decided, once it is decided.
    pub by: Option<Decider>,
    pub request: Request,
    /// The call that ran instead of the one that was asked, if the user replaced it.
    pub ran: Option<(ToolName, Value)>,
    /// The span of the turn that it was a part of, if it was recorded.
    pub trace: Option<String>,
}

impl LateCall {
    /// The call as one that is open, where something can be done with it now: it is decided or over, and what it runs
    /// after has ended, as `state` says.
    pub(super) fn can_settle(&self, state: DependencyState) -> bool {
        match (&self.known, state) {
            (
                RecordedState::MayHaveRun
                | RecordedState::Expired
                | RecordedState::Decided(Approval::Deny { .. }),
                _,
            )
            | (RecordedState::Waiting | RecordedState::Decided(_), DependencyState::Failed)
            | (RecordedState::Decided(Approval::Approve { .. }), DependencyState::Succeeded) => true,
            (RecordedState::Decided(Approval::Approve { .. }), DependencyState::Open)
            | (
                RecordedState::Decided(Approval::Later) | RecordedState::Waiting,
                DependencyState::Open | DependencyState::Succeeded,
            )
            | (RecordedState::NotStarted | RecordedState::Returned, _) => false,
        }
    }

    pub(super) fn as_open(&self) -> OpenCall {
        OpenCall {
            call: self.call.clone(),
            known: self.known.clone(),
            by: self.by.clone(),
            request: Some(self.request.clone()),
            later: false,
            returned: None,
        }
    }

    /// Updates what is known of the call. When it starts, keeps the replacement chosen by the user.
    pub(super) fn know(&mut self, known: RecordedState) {
        if let (RecordedState::MayHaveRun, RecordedState::Decided(Approval::Approve { instead, .. })) =
            (&known, &self.known)
        {
            self.ran.clone_from(instead);
        }
        self.known = known;
    }
}

/// The state of a call that others depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DependencyState {
    /// Not ended yet.
    Open,
    /// It succeeded.
    Succeeded,
    /// It failed, was denied, or timed out without a decision.
    Failed,
}

/// The late calls, in the order in which the model made them.
#[derive(Debug, Clone, Default)]
pub(super) struct LateCalls {
    pub calls: Vec<LateCall>,
    /// The state of every call that some request depends on.
    dependencies: BTreeMap<CallId, DependencyState>,
}

impl LateCalls {
    pub fn position(&self, call: &CallId) -> Option<usize> {
        self.calls.iter().position(|one| one.call.id == *call)
    }

    pub fn find(&mut self, call: &CallId) -> Option<&mut LateCall> {
        self.calls.iter_mut().find(|one| one.call.id == *call)
    }

    /// Adds a late call of the current reply; `behind` are the reply's calls after it.
    pub fn add(&mut self, one: LateCall, behind: &[OpenCall]) {
        let is_behind = |late: &LateCall| behind.iter().any(|open| open.call.id == late.call.id);
        let at = self.calls.iter().position(is_behind).unwrap_or(self.calls.len());
        self.calls.insert(at, one);
    }

    /// Starts to track the state of the calls that this request depends on.
    pub fn watch(&mut self, request: &Request, open: &[OpenCall]) {
        for call in &request.depends {
            let so_far = open.iter().find(|one| one.call.id == *call).and_then(|one| one.returned.as_ref());
            let state = so_far.map_or(DependencyState::Open, |returned| state_after(returned.status));
            self.dependencies.entry(call.clone()).or_insert(state);
        }
    }

    pub fn on_end(&mut self, call: &CallId, state: DependencyState) {
        if let Some(known) = self.dependencies.get_mut(call) {
            *known = state;
        }
    }

    /// The state of a call that others may depend on. One that is not tracked blocks nothing.
    pub fn state_of(&self, call: &CallId) -> DependencyState {
        self.dependencies.get(call).copied().unwrap_or(DependencyState::Succeeded)
    }
}

/// The state after a return. An undecided return leaves it open; the fold handles returns that are final.
fn state_after(status: ReturnStatus) -> DependencyState {
    match status {
        ReturnStatus::Ok => DependencyState::Succeeded,
        ReturnStatus::Undecided => DependencyState::Open,
        ReturnStatus::Failed | ReturnStatus::Denied | ReturnStatus::Interrupted | ReturnStatus::Unknown => {
            DependencyState::Failed
        }
    }
}

/// The state of a call that will not go on, for the calls that depend on it.
pub(super) fn final_state(status: ReturnStatus) -> DependencyState {
    if status == ReturnStatus::Ok { DependencyState::Succeeded } else { DependencyState::Failed }
}

/// The note for the model about the outcome of a late call.
pub(super) fn outcome(done: &LateCall, returned: &ToolReturn) -> String {
    let word = match (returned.status, &done.known) {
        (ReturnStatus::Ok, _) => "was approved later and ran",
        (ReturnStatus::Failed, RecordedState::MayHaveRun) => "was approved later and failed",
        (ReturnStatus::Failed, RecordedState::Decided(_)) => "was approved later and could not run",
        (ReturnStatus::Failed, _) => "will not run",
        (ReturnStatus::Denied, _) => "was denied later",
        (ReturnStatus::Undecided, _) => "was not decided in time",
        (ReturnStatus::Interrupted, _) => "was cut off",
        (ReturnStatus::Unknown, _) => "started, and its outcome is unknown",
    };
    let (tool, summary) = (&done.request.tool, &done.request.plan.summary);
    let instead = done.ran.as_ref().map(|(tool, args)| format!(", changed by the user to {tool} {args},"));
    let instead = instead.unwrap_or_default();
    format!("The earlier call {tool} ({summary}){instead} {word}.\n{}", returned.text())
}
