//! Calls across turns and processes: requests, resuming, interrupting, closing open calls.

use sha2::{Digest, Sha256};

use super::reasons::{EXPIRED, NOT_RUN, OUTCOME_UNKNOWN, STILL_WAITING};
use super::{Calls, ChangedBy, Rules, Stage, State};
use crate::agent::effect::Effect;
use crate::agent::links::without_links;
use crate::agent::loop_guard::RepeatDetector;
use crate::agent::port::{Event, Settlement};
use crate::approval::{Approval, Decider, Decision, Request, RequestId, Verdict};
use crate::history::{DependencyState, Durability, OpenCall, Record, RecordedState};
use crate::message::{ReturnStatus, ToolReturn};
use crate::tool::Origin;

impl Calls {
    /// Builds the request for a decided call. `again` says why it is asked again.
    pub(super) fn new_request(&mut self, at: usize, again: Option<String>, rules: &Rules) -> Option<Request> {
        let depends = self.calls[at].after.iter().map(|&dep| self.calls[dep].call.id.clone()).collect();
        let unfinished = |dep: usize| !self.calls[dep].is_done() || self.calls[dep].previewed;
        let after = self.calls[at]
            .after
            .iter()
            .zip(&self.calls[at].after_labels)
            .filter(|(dep, _)| unfinished(**dep))
            .map(|(_, label)| label.clone())
            .collect();
        let one = &mut self.calls[at];
        let plan = one.plan.clone()?;
        let before = one.request.as_ref();
        let Decision { risk, because, .. } = one.decision.clone()?;
        let request = Request {
            id: request_id(&one.call.id.0, before.map_or("", |request| request.id.0.as_str())),
            call: one.call.id.clone(),
            tool: one.tool.clone(),
            args: one.args.clone(),
            plan,
            risk,
            why: because,
            after,
            depends,
            taint: one.taint.clone(),
            expires: rules.expires(),
            again,
            parameters: one.spec.as_ref().and_then(|spec| match spec.origin {
                Origin::Server(_) => Some(Box::new(spec.parameters.clone())),
                Origin::Builtin => None,
            }),
        };
        one.state = State::Waiting;
        one.later = false;
        one.request = Some(request.clone());
        Some(request)
    }

    /// Restores the calls of a deferred or cut-off reply from their records.
    pub(in crate::agent) fn resume(
        open: &[OpenCall],
        repeats: RepeatDetector,
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) -> Self {
        let mut calls = Self { stage: Stage::Committed, repeats, ..Self::default() };
        for one in open {
            let at = calls.add(one.call.clone(), rules);
            calls.restore(at, one, rules);
            if one.returned.is_none() {
                out.push(Effect::Show(Event::ToolCall { call: one.call.clone() }));
            }
        }
        calls.link(out);
        for (at, one) in open.iter().enumerate() {
            calls.take_up(at, one, rules, out);
        }
        calls
    }

    /// Takes over late calls that can be settled, with how their dependencies ended. Must be empty before.
    pub(in crate::agent) fn take_late(
        &mut self,
        late: &[(OpenCall, DependencyState)],
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) {
        self.stage = Stage::Late;
        for (one, state) in late {
            let at = self.add(one.call.clone(), rules);
            // The calls that it runs after have ended; `state` says how.
            self.calls[at].after.clear();
            self.calls[at].after_labels.clear();
            self.restore(at, one, rules);
            match (state, &one.known) {
                (
                    DependencyState::Failed,
                    RecordedState::Waiting
                    | RecordedState::Decided(Approval::Approve { .. } | Approval::Later),
                ) => {
                    if one.known == RecordedState::Waiting {
                        self.withdraw(at, out);
                    }
                    self.fail_dependency(at, out);
                }
                (DependencyState::Failed | DependencyState::Open | DependencyState::Succeeded, _) => {
                    self.take_up(at, one, rules, out);
                }
            }
        }
    }

    /// Drops late calls that have not ended: their approvals stay in the store.
    pub(in crate::agent) fn forget_late(&mut self) {
        if self.are_late() {
            self.calls.clear();
        }
    }

    fn restore(&mut self, at: usize, one: &OpenCall, rules: &Rules) {
        let tracked = &mut self.calls[at];
        tracked.later = one.later;
        if let Some(request) = &one.request {
            tracked.tool = request.tool.clone();
            tracked.args = request.args.clone();
            tracked.spec = rules.specs.get(&request.tool).cloned();
            tracked.plan = Some(request.plan.clone());
            tracked.decision = Some(Decision {
                verdict: Verdict::Ask,
                risk: request.risk,
                because: request.why.clone(),
                by: Decider::Risk,
            });
            tracked.taint.clone_from(&request.taint);
            // A user's edit that was asked about again is reported as a hook's: its author is not recorded.
            if request.tool != tracked.call.name || request.args != without_links(&tracked.call.args) {
                tracked.changed_by = Some(ChangedBy::Hook);
            }
            tracked.request = Some(request.clone());
        }
        // A call that timed out keeps its request here and is not late: it ends with this turn.
        tracked.previewed = one.request.is_none()
            && one.returned.as_ref().is_some_and(|returned| returned.status == ReturnStatus::Undecided);
        match (&one.known, &one.returned) {
            (_, Some(returned)) => tracked.state = State::Done(returned.clone()),
            (RecordedState::Waiting | RecordedState::Expired | RecordedState::Decided(_), None)
                if tracked.request.is_some() =>
            {
                tracked.state = State::Waiting;
            }
            (
                RecordedState::Returned
                | RecordedState::NotStarted
                | RecordedState::MayHaveRun
                | RecordedState::Waiting
                | RecordedState::Expired
                | RecordedState::Decided(_),
                None,
            ) => {}
        }
    }

    fn take_up(&mut self, at: usize, one: &OpenCall, rules: &Rules, out: &mut Vec<Effect>) {
        if self.calls[at].is_done() {
            return;
        }
        match &one.known {
            RecordedState::Waiting => {
                if let Some(request) = self.calls[at].request.clone() {
                    out.push(Effect::Show(Event::ApprovalNeeded { request }));
                }
            }
            RecordedState::Decided(approval) => {
                self.apply_approval(at, approval, one.by.as_ref(), rules, out);
            }
            RecordedState::Expired => self.end_expired(at, out),
            RecordedState::MayHaveRun => {
                self.finish_unless_done(at, ReturnStatus::Unknown, OUTCOME_UNKNOWN.to_owned(), out);
            }
            RecordedState::NotStarted | RecordedState::Returned => {}
        }
    }

    /// Clears the calls for the next reply; this turn's writes and wrong arguments are kept.
    pub(in crate::agent) fn next_reply(&mut self) {
        self.calls.clear();
        self.early_records.clear();
        self.stage = Stage::Early;
    }

    /// Drops plans and hooks in progress; running calls must be awaited.
    pub(in crate::agent) fn stop_planning(&mut self) {
        for one in &mut self.calls {
            if let State::Planning(_) | State::Hooking = one.state {
                // A later answer is stale. A request that it had is decided already.
                one.round += 1;
                one.state = State::Held;
            }
        }
    }

    /// Ends every unfinished call: postponed requests keep waiting in the inbox, all others are void.
    pub(in crate::agent) fn interrupt(&mut self, out: &mut Vec<Effect>) {
        let mut records = Vec::new();
        let mut shows = Vec::new();
        for one in &mut self.calls {
            if one.is_done() {
                continue;
            }
            let is_postponed = one.later && matches!(one.state, State::Waiting);
            if let (State::Waiting, Some(request)) = (&one.state, &one.request) {
                let settled = if is_postponed { Settlement::Late } else { Settlement::Withdrawn };
                shows.push(Event::ApprovalSettled { request: request.id.clone(), settled });
            }
            let returned = if is_postponed {
                ToolReturn::program(one.call.id.clone(), ReturnStatus::Undecided, STILL_WAITING)
            } else {
                ToolReturn::program(one.call.id.clone(), ReturnStatus::Interrupted, NOT_RUN)
            };
            shows.push(Event::ToolReturn { call: one.effective(), returned: returned.clone() });
            records.push(Record::ToolFinished { returned: returned.clone() });
            one.state = State::Done(returned);
        }
        if !records.is_empty() {
            out.push(Effect::Commit(records, Durability::Written));
        }
        out.extend(shows.into_iter().map(Effect::Show));
    }
}

/// Builds the returns that close the open calls of an abandoned turn: what waits or was decided goes on
/// outside of it, what had started has an unknown outcome, and the rest never ran.
pub fn close_open(open: &[OpenCall]) -> Vec<ToolReturn> {
    open.iter()
        .filter(|one| one.returned.is_none())
        .map(|one| {
            let (status, text) = match one.known {
                RecordedState::Waiting | RecordedState::Decided(_) => {
                    (ReturnStatus::Undecided, STILL_WAITING)
                }
                RecordedState::Expired => (ReturnStatus::Undecided, EXPIRED),
                RecordedState::MayHaveRun => (ReturnStatus::Unknown, OUTCOME_UNKNOWN),
                RecordedState::NotStarted | RecordedState::Returned => (ReturnStatus::Interrupted, NOT_RUN),
            };
            ToolReturn::program(one.call.id.clone(), status, text)
        })
        .collect()
}

/// Returns twelve hex digits from the call and the request before it: the same records give the same ids.
fn request_id(call: &str, before: &str) -> RequestId {
    let digest = Sha256::digest(format!("{call}\n{before}").as_bytes());
    RequestId(digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect())
}
