//! Plans and hooks of a call: requested, answered, failed.
//!
//! Edited and rewritten arguments are planned like any others; a hook never receives its own rewrite.

use super::reasons::edit_failed;
use super::{Calls, ChangedBy, Consent, Purpose, Rules, State};
use crate::agent::effect::Effect;
use crate::agent::links::without_links;
use crate::hook::HookVerdict;
use crate::message::{CallId, ReturnStatus, ToolName};
use crate::tool::{CallPlan, ToolError};

impl Calls {
    pub(super) fn start_plan(&mut self, at: usize, purpose: Purpose, rules: &Rules, out: &mut Vec<Effect>) {
        let one = &mut self.calls[at];
        one.spec = rules.specs.get(&one.tool).cloned();
        let problem = if one.spec.is_none() {
            let names: Vec<&str> = rules.specs.keys().map(ToolName::as_str).collect();
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
            Some(hint) => self.on_plan_failure(at, purpose, &ToolError::Misuse(hint), rules, out),
            None => self.plan_again(at, purpose, out),
        }
    }

    pub(super) fn plan_again(&mut self, at: usize, purpose: Purpose, out: &mut Vec<Effect>) {
        let one = &mut self.calls[at];
        one.round += 1;
        one.planned_at = self.moves;
        one.state = State::Planning(purpose);
        out.push(Effect::Plan { call: one.effective(), round: one.round });
    }

    /// Handles a finished plan. Stale and unexpected ones are ignored.
    pub(in crate::agent) fn on_plan(
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
            Err(error) => self.on_plan_failure(at, purpose, &error, rules, out),
            Ok(plan) => self.on_plan_success(at, purpose, plan, rules, out),
        }
    }

    fn on_plan_failure(
        &mut self,
        at: usize,
        purpose: Purpose,
        error: &ToolError,
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) {
        if purpose == Purpose::Edited {
            self.take_back_edit(at, rules);
            return self.ask_again(at, edit_failed(error), rules, out);
        }
        let open_dependencies = self.calls[at].after.iter().any(|&dep| !self.calls[dep].is_done());
        if open_dependencies {
            self.calls[at].unplannable = true;
            self.calls[at].state = State::Held;
            return;
        }
        if self.runs_after_preview(at) {
            let text = format!("Not previewed, because what it runs after was not done yet: {error}");
            return self.finish_unless_done(at, ReturnStatus::Failed, text, out);
        }
        if let ToolError::Misuse(_) = error {
            *self.misuses.entry(self.calls[at].tool.clone()).or_insert(0) += 1;
        }
        self.finish_unless_done(at, ReturnStatus::Failed, error.to_string(), out);
    }

    /// Restores the call as it was asked about before the edit.
    fn take_back_edit(&mut self, at: usize, rules: &Rules) {
        let one = &mut self.calls[at];
        one.note = None;
        let Some(request) = &one.request else { return };
        one.tool = request.tool.clone();
        one.args = request.args.clone();
        one.plan = Some(request.plan.clone());
        one.taint.clone_from(&request.taint);
        one.spec = rules.specs.get(&one.tool).cloned();
        let as_written = without_links(&one.call.args);
        if one.tool == one.call.name && one.args == as_written {
            one.changed_by = None;
        }
    }

    fn on_plan_success(
        &mut self,
        at: usize,
        purpose: Purpose,
        plan: CallPlan,
        rules: &Rules,
        out: &mut Vec<Effect>,
    ) {
        let before = self.calls[at].plan.replace(plan);
        if purpose != Purpose::Recheck {
            self.trace_words(at, rules);
        }
        let fresh = match purpose {
            Purpose::First => rules.hooked.contains(&self.calls[at].tool) && self.calls[at].hook.is_none(),
            // Hooks run once on edited arguments.
            Purpose::Edited => rules.hooked.contains(&self.calls[at].tool),
            Purpose::Rewritten | Purpose::Recheck => false,
        };
        if fresh {
            self.calls[at].state = State::Hooking;
            out.push(Effect::Hook { call: self.calls[at].effective(), round: self.calls[at].round });
            return;
        }
        match (purpose, before) {
            (Purpose::Recheck, Some(before)) => self.on_recheck(at, &before, rules, out),
            (Purpose::First | Purpose::Rewritten | Purpose::Edited, _) | (Purpose::Recheck, None) => {
                self.settle(at, purpose, rules, out);
            }
        }
    }

    /// Handles a hook's verdict on the call.
    pub(in crate::agent) fn on_hook_verdict(
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
            // The user approved something else than what would run now.
            one.consent = Consent::Overtaken;
        }
        self.start_plan(at, Purpose::Rewritten, rules, out);
    }
}
