//! How a call moves: held → planned → hooked → decided → asked → run → returned.
//!
//! A person's yes settles an ask, never a deny. Whatever happened since a plan was made is looked at
//! again just before the call runs.

use super::schedule::{self, Dependencies};
use super::{Calls, ChangedBy, Consent, Purpose, Rules, Stage, State, decide, permitted};
use crate::agent::port::{Event, Settled};
use crate::agent::turn::Effect;
use crate::approval::{Approval, Decider, RequestId, Verdict};
use crate::history::{Durability, Record, SEEN};
use crate::hook::HookVerdict;
use crate::message::{CallId, ReturnPart, ReturnStatus, ToolReturn};
use crate::tool::{CallPlan, Resource, ToolError, Version};

/// Moves by themselves.
impl Calls {
    pub(super) fn step_held(
        &mut self,
        at: usize,
        held: &[bool],
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) -> bool {
        if !self.may_move_now(at, rules) {
            return false;
        }
        match schedule::dependencies(&self.calls, at, held) {
            Dependencies::Failed => self.fail_dependency(at, out),
            Dependencies::Moving => return false,
            Dependencies::WaitForPerson if self.calls[at].unplannable => return false,
            // Presented together with what it waits for; planned again before it runs.
            Dependencies::WaitForPerson | Dependencies::Met => {
                self.start_plan(at, Purpose::First, rules, out);
            }
        }
        true
    }

    pub(super) fn step_ready(&mut self, at: usize, held: &[bool], out: &mut Vec<Effect>) -> bool {
        match schedule::dependencies(&self.calls, at, held) {
            Dependencies::Failed => {
                self.fail_dependency(at, out);
                return true;
            }
            Dependencies::Moving | Dependencies::WaitForPerson => return false,
            Dependencies::Met => {}
        }
        if schedule::blocked(&self.calls, at, held) {
            return false;
        }
        let one = &self.calls[at];
        if one.is_read() || one.planned_at == self.moves {
            self.start(at, out);
        } else {
            self.plan_again(at, Purpose::Recheck, out);
        }
        true
    }

    pub(super) fn drop_if_dependency_failed(
        &mut self,
        at: usize,
        held: &[bool],
        out: &mut Vec<Effect>,
    ) -> bool {
        let failed = schedule::dependencies(&self.calls, at, held) == Dependencies::Failed;
        if failed {
            self.withdraw(at, out);
            self.fail_dependency(at, out);
        }
        failed
    }

    fn fail_dependency(&mut self, at: usize, out: &mut Vec<Effect>) {
        let text = "Not run: dependency. A call it runs after failed, was denied or was not decided.";
        self.finish_unless_done(at, ReturnStatus::Failed, text.to_owned(), out);
    }

    fn start_plan(&mut self, at: usize, purpose: Purpose, rules: &Rules, out: &mut Vec<Effect>) {
        let one = &mut self.calls[at];
        one.spec = rules.specs.get(&one.tool).cloned();
        let problem = if one.spec.is_none() {
            let names: Vec<&str> = rules.specs.keys().map(crate::message::ToolName::as_str).collect();
            Some(format!("There is no tool `{}`. Tools: {}.", one.tool, names.join(", ")))
        } else if !one.args.is_object() {
            Some("The arguments are not a JSON object. Call again with valid JSON.".to_owned())
        } else if self.misuses.get(&one.tool).copied().unwrap_or(0) > rules.tool_retries {
            Some(format!(
                "Not run: `{}` got wrong arguments too often in this turn. Go on without it.",
                one.tool
            ))
        } else {
            None
        };
        match problem {
            Some(hint) => self.plan_failed(at, purpose, &ToolError::Misuse { hint }, rules, out),
            None => self.plan_again(at, purpose, out),
        }
    }

    fn plan_again(&mut self, at: usize, purpose: Purpose, out: &mut Vec<Effect>) {
        let one = &mut self.calls[at];
        one.round += 1;
        one.planned_at = self.moves;
        one.state = State::Planning(purpose);
        out.push(Effect::Plan { call: one.effective(), round: one.round });
    }

    /// Records the start where the world is about to change, then starts.
    fn start(&mut self, at: usize, out: &mut Vec<Effect>) {
        let one = &mut self.calls[at];
        one.state = State::Running;
        if !one.is_read() {
            let started = Record::ToolStarted { call: one.call.id.clone() };
            out.push(Effect::Commit(vec![started], Durability::Synced));
        }
        let call = one.effective();
        if self.stage == Stage::Committed {
            out.push(Effect::Show(Event::ToolRunning { call: call.clone() }));
        }
        out.push(Effect::StartTool { call });
    }
}

/// Answers from outside.
impl Calls {
    /// A plan came back. Stale and unexpected ones are ignored.
    pub(in crate::agent) fn planned(
        &mut self,
        call: &CallId,
        round: u32,
        result: Result<CallPlan, ToolError>,
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) {
        let Some(at) = self.position(call).filter(|&at| self.calls[at].round == round) else { return };
        let State::Planning(purpose) = self.calls[at].state else { return };
        match result {
            Err(error) => self.plan_failed(at, purpose, &error, rules, out),
            Ok(plan) => self.plan_made(at, purpose, &plan, rules, out),
        }
    }

    fn plan_failed(
        &mut self,
        at: usize,
        purpose: Purpose,
        error: &ToolError,
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) {
        if purpose == Purpose::Edited {
            self.take_back_edit(at, rules);
            return self.ask_again(at, format!("the edited call does not work: {error}"), out);
        }
        let open_dependencies = self.calls[at].after.iter().any(|&dep| !self.calls[dep].is_done());
        if open_dependencies {
            self.calls[at].unplannable = true;
            self.calls[at].state = State::Held;
            return;
        }
        if let ToolError::Misuse { .. } = error {
            *self.misuses.entry(self.calls[at].tool.clone()).or_insert(0) += 1;
        }
        self.finish_unless_done(at, ReturnStatus::Failed, error.to_string(), out);
    }

    /// What was asked before stands again.
    fn take_back_edit(&mut self, at: usize, rules: &Rules) {
        let one = &mut self.calls[at];
        let Some(request) = &one.request else { return };
        one.tool = request.tool.clone();
        one.args = request.args.clone();
        one.plan = Some(request.plan.clone());
        one.spec = rules.specs.get(&one.tool).cloned();
        let as_written = super::intake::strip(&one.call.args).0;
        if one.tool == one.call.name && one.args == as_written {
            one.changed_by = None;
        }
    }

    fn plan_made(
        &mut self,
        at: usize,
        purpose: Purpose,
        plan: &CallPlan,
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) {
        let before = self.calls[at].plan.replace(plan.clone());
        let fresh = match purpose {
            Purpose::First => rules.hooked.contains(&self.calls[at].tool) && self.calls[at].hook.is_none(),
            // Hooks see edited arguments once.
            Purpose::Edited => rules.hooked.contains(&self.calls[at].tool),
            Purpose::Rewritten | Purpose::Recheck => false,
        };
        if fresh {
            self.calls[at].state = State::Hooking;
            out.push(Effect::Hook { call: self.calls[at].effective(), round: self.calls[at].round });
            return;
        }
        match (purpose, before) {
            (Purpose::Recheck, Some(before)) => self.rechecked(at, &before, plan, rules, out),
            (Purpose::First | Purpose::Rewritten | Purpose::Edited, _) | (Purpose::Recheck, None) => {
                self.settle(at, purpose, rules, out);
            }
        }
    }

    /// Looked at again just before it runs: nothing moved, or only we moved it, or ask again.
    fn rechecked(
        &mut self,
        at: usize,
        before: &CallPlan,
        now: &CallPlan,
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) {
        let unmoved = before.basis == now.basis;
        let ours = now.basis.iter().all(|(resource, version)| {
            before.basis.contains(&(resource.clone(), version.clone()))
                || self.own_writes.get(resource) == Some(version)
        });
        let same = before.preview.changed_lines() == now.preview.changed_lines() && before.risk == now.risk;
        let consent_holds = unmoved || (ours && same);
        if self.calls[at].consent == Consent::Given && !consent_holds {
            self.calls[at].consent = Consent::NotGiven;
            let decision = self.redecide(at, rules);
            if decision.is_some_and(|verdict| verdict == Verdict::Ask) {
                return self.ask_again(
                    at,
                    "what it would change has changed since you were asked".into(),
                    out,
                );
            }
        }
        self.settle(at, Purpose::Recheck, rules, out);
    }

    fn redecide(&mut self, at: usize, rules: &Rules) -> Option<Verdict> {
        let one = &self.calls[at];
        let decision = decide(one, one.spec.as_ref()?, one.plan.as_ref()?, rules);
        let verdict = decision.verdict;
        self.calls[at].decision = Some(decision);
        Some(verdict)
    }

    /// Decides a planned call and moves it on.
    fn settle(&mut self, at: usize, purpose: Purpose, rules: &Rules, out: &mut Vec<Effect>) {
        let one = &self.calls[at];
        let (Some(spec), Some(plan)) = (&one.spec, &one.plan) else { return };
        let decision = decide(one, spec, plan, rules);
        let call = one.effective();
        let risen = match (&one.request, one.changed_by) {
            (Some(request), Some(_)) => decision.risk > request.risk,
            (Some(_) | None, None) | (None, Some(_)) => false,
        };
        if self.stage == Stage::Committed && purpose != Purpose::Recheck {
            out.push(Effect::Show(Event::ToolPlanned { call, plan: plan.clone() }));
        }
        self.calls[at].decision = Some(decision.clone());
        if decision.verdict == Verdict::Deny {
            let text = format!("Denied by policy, not run: {}.", decision.because.join("; "));
            self.withdraw(at, out);
            self.finish_unless_done(at, ReturnStatus::Denied, text, out);
        } else if risen && self.calls[at].consent == Consent::Given {
            self.calls[at].consent = Consent::NotGiven;
            self.ask_again(at, "the change raises the risk".to_owned(), out);
        } else if self.calls[at].consent == Consent::Overtaken {
            self.ask_again(at, "a hook changed what you said yes to".to_owned(), out);
        } else if permitted(&decision, self.calls[at].consent) {
            self.calls[at].state = State::Ready;
        } else {
            self.calls[at].state = State::Undecided;
        }
    }

    /// A hook looked at the call.
    pub(in crate::agent) fn hooked(
        &mut self,
        call: &CallId,
        round: u32,
        verdict: HookVerdict,
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) {
        let Some(at) = self.position(call).filter(|&at| self.calls[at].round == round) else { return };
        let State::Hooking = self.calls[at].state else { return };
        self.calls[at].hook = Some(verdict.clone());
        let HookVerdict::Rewrite { args } = verdict else {
            return self.settle(at, Purpose::First, rules, out);
        };
        let one = &mut self.calls[at];
        one.args = args;
        one.changed_by = Some(ChangedBy::Hook);
        if one.consent == Consent::Given {
            // What a person said yes to is not what would run now.
            one.consent = Consent::Overtaken;
        }
        self.start_plan(at, Purpose::Rewritten, rules, out);
    }

    /// A person decided; the record is in the store already.
    pub(in crate::agent) fn decided(
        &mut self,
        request: &RequestId,
        approval: &Approval,
        by: &Decider,
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) {
        let found = self.calls.iter().position(|one| {
            matches!(one.state, State::Waiting)
                && one.request.as_ref().is_some_and(|asked| asked.id == *request)
        });
        let Some(at) = found else { return };
        let settled = Settled::Decided { approval: approval.clone(), by: by.clone() };
        out.push(Effect::Show(Event::ApprovalSettled { request: request.clone(), settled }));
        self.apply_approval(at, approval, rules, out);
    }

    pub(super) fn apply_approval(
        &mut self,
        at: usize,
        approval: &Approval,
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) {
        match approval {
            Approval::Later => self.calls[at].later = true,
            Approval::Deny { reason } => {
                self.moves += 1;
                let text = match reason {
                    Some(reason) => format!("The user said no, it did not run. Reason: {reason}"),
                    None => "The user said no, it did not run.".to_owned(),
                };
                self.finish_unless_done(at, ReturnStatus::Denied, text, out);
            }
            Approval::Approve { instead: None, .. } => {
                self.moves += 1;
                self.calls[at].consent = Consent::Given;
                self.calls[at].state = State::Ready;
            }
            Approval::Approve { instead: Some((tool, args)), .. } => {
                self.moves += 1;
                let one = &mut self.calls[at];
                one.tool = tool.clone();
                one.args = super::intake::strip(args).0;
                one.consent = Consent::Given;
                one.changed_by = Some(ChangedBy::Person);
                self.start_plan(at, Purpose::Edited, rules, out);
            }
        }
    }

    /// A tool ended; `seen` are the versions its output showed or its run wrote.
    pub(in crate::agent) fn tool_done(
        &mut self,
        mut returned: ToolReturn,
        seen: Vec<(Resource, Version)>,
        out: &mut Vec<Effect>,
    ) {
        let Some(at) = self.position(&returned.call) else { return };
        let State::Running = self.calls[at].state else { return };
        self.moves += 1;
        let one = &self.calls[at];
        if let Some(changed_by) = one.changed_by {
            returned.content.insert(0, ReturnPart::Text { text: what_ran(changed_by, one) });
        }
        if !one.is_read() {
            self.own_writes.extend(seen.iter().cloned());
        }
        let mut records = vec![Record::ToolFinished { returned: returned.clone() }];
        if !seen.is_empty() {
            let seen: crate::tool::Seen = seen.into_iter().collect();
            if let Ok(value) = serde_json::to_value(seen) {
                records.insert(0, Record::State { tool: SEEN.to_owned(), value });
            }
        }
        self.end_with(at, returned, records, out);
    }
}

/// Asking and ending.
impl Calls {
    /// Records and shows every request that came up, in one commit.
    pub(super) fn ask_undecided(&mut self, out: &mut Vec<Effect>) {
        if self.stage == Stage::Early {
            return;
        }
        let mut records = Vec::new();
        let mut shows = Vec::new();
        for at in 0..self.calls.len() {
            if let State::Undecided = self.calls[at].state
                && let Some(request) = self.new_request(at, None)
            {
                records.push(Record::Asked { call: self.calls[at].call.clone(), request: request.clone() });
                shows.push(Effect::Show(Event::ApprovalNeeded { request }));
            }
        }
        if !records.is_empty() {
            out.push(Effect::Commit(records, Durability::Written));
            out.append(&mut shows);
        }
    }

    fn ask_again(&mut self, at: usize, because: String, out: &mut Vec<Effect>) {
        let old = self.calls[at].request.as_ref().map(|request| request.id.clone());
        self.calls[at].consent = Consent::NotGiven;
        let Some(request) = self.new_request(at, Some(because)) else { return };
        let record = Record::Asked { call: self.calls[at].call.clone(), request: request.clone() };
        out.push(Effect::Commit(vec![record], Durability::Written));
        if let Some(request) = old {
            out.push(Effect::Show(Event::ApprovalSettled { request, settled: Settled::Superseded }));
        }
        out.push(Effect::Show(Event::ApprovalNeeded { request }));
    }

    /// Withdraws the shown request of a call, if one waits.
    fn withdraw(&mut self, at: usize, out: &mut Vec<Effect>) {
        if let (State::Waiting, Some(request)) = (&self.calls[at].state, &self.calls[at].request) {
            let request = request.id.clone();
            out.push(Effect::Show(Event::ApprovalSettled { request, settled: Settled::Withdrawn }));
        }
    }

    pub(super) fn finish_unless_done(
        &mut self,
        at: usize,
        status: ReturnStatus,
        text: String,
        out: &mut Vec<Effect>,
    ) {
        if self.calls[at].is_done() {
            return;
        }
        self.moves += 1;
        let returned = ToolReturn::program(self.calls[at].call.id.clone(), status, text);
        let records = vec![Record::ToolFinished { returned: returned.clone() }];
        self.end_with(at, returned, records, out);
    }

    fn end_with(&mut self, at: usize, returned: ToolReturn, records: Vec<Record>, out: &mut Vec<Effect>) {
        let call = self.calls[at].effective();
        self.calls[at].state = State::Done(returned.clone());
        if self.stage == Stage::Committed {
            out.push(Effect::Commit(records, Durability::Written));
            out.push(Effect::Show(Event::ToolReturn { call, returned }));
        } else {
            self.early_records.extend(records);
        }
    }

    /// The reply is in the store: what its early calls did can be recorded and shown.
    pub(super) fn record_early(&mut self, out: &mut Vec<Effect>) {
        let kept: Vec<Record> = std::mem::take(&mut self.early_records)
            .into_iter()
            .filter(|record| {
                let Record::ToolFinished { returned } = record else { return true };
                self.position(&returned.call).is_some()
            })
            .collect();
        if !kept.is_empty() {
            out.push(Effect::Commit(kept, Durability::Written));
        }
        for one in &self.calls {
            let call = one.effective();
            out.push(Effect::Show(Event::ToolCall { call: one.call.clone() }));
            // Planned while the reply still streamed: told now, as every other call's plan is.
            if let Some(plan) = &one.plan {
                out.push(Effect::Show(Event::ToolPlanned { call: call.clone(), plan: plan.clone() }));
            }
            match &one.state {
                State::Running => out.push(Effect::Show(Event::ToolRunning { call })),
                State::Done(returned) => {
                    out.push(Effect::Show(Event::ToolReturn { call, returned: returned.clone() }));
                }
                State::Held
                | State::Planning(_)
                | State::Hooking
                | State::Undecided
                | State::Waiting
                | State::Ready => {}
            }
        }
    }

    pub(super) fn position(&self, call: &CallId) -> Option<usize> {
        self.calls.iter().position(|one| one.call.id == *call)
    }
}

fn what_ran(changed_by: ChangedBy, one: &super::Tracked) -> String {
    let who = match changed_by {
        ChangedBy::Person => "The user changed this call before approving it",
        ChangedBy::Hook => "A hook changed this call",
    };
    format!("[{who}. What really ran: {} {}]", one.tool, one.args)
}
