//! Who decides a planned call: the policy, with all that is known about the call, and the user's approval.
//!
//! An approval settles an ask, never a denial. What was settled without a user is recorded for the audit.

use super::reasons::{MOVED, OVERRULED, REWRITTEN, denied_by, denied_by_policy};
use super::{Calls, ChangedBy, Consent, Purpose, Rules, State, TrackedCall, is_permitted};
use crate::agent::effect::Effect;
use crate::agent::links::without_links;
use crate::agent::port::Event;
use crate::approval::{
    Approval, CallFacts, Decider, Decision, Judgement, Reach, Repetition, RequestId, Verdict, Workspace,
};
use crate::config::Mode;
use crate::history::Record;
use crate::tool::{Access, CallPlan, Category, SideEffect, ToolSpec};

/// A decision on a request without the user.
pub(in crate::agent) type PolicyDecision = (RequestId, Approval, Decider);

impl Calls {
    /// Asks the policy about a planned call and keeps its decision.
    pub(super) fn decide(&mut self, at: usize, rules: &Rules) -> Option<Decision> {
        let decision = self.judge(at, rules);
        self.calls[at].decision.clone_from(&decision);
        decision
    }

    fn judge(&self, at: usize, rules: &Rules) -> Option<Decision> {
        let one = &self.calls[at];
        let repetition = self.repeats.of_call(&one.tool, &one.args);
        let facts = CallFacts { taint: &one.taint, repetition, ..facts(one, rules)? };
        let decision = rules.policy_now().decide(&rules.grants, &facts);
        if !self.runs_after_preview(at) {
            return Some(decision);
        }
        Some(match decision.verdict {
            Verdict::Deny | Verdict::Preview => decision,
            Verdict::Allow | Verdict::Ask | Verdict::Later => Decision {
                verdict: Verdict::Preview,
                because: vec!["it runs after a call that was only previewed".to_owned()],
                by: Decider::Mode { mode: Mode::DryRun },
                ..decision
            },
        })
    }

    pub(super) fn runs_after_preview(&self, at: usize) -> bool {
        self.calls[at].after.iter().any(|&dep| self.calls[dep].previewed)
    }

    /// Finds untrusted words in the arguments of a call that is not read-only.
    pub(super) fn trace_words(&mut self, at: usize, rules: &Rules) {
        let one = &self.calls[at];
        let (Some(facts), Some(spec), Some(plan)) = (facts(one, rules), &one.spec, &one.plan) else { return };
        let mut taint = if facts.may_be_tainted() {
            Vec::new()
        } else {
            rules.provenance.taints(&one.args, reach(spec, plan, &rules.place))
        };
        // A memory affects later sessions, and a model may paraphrase untrusted text that asked it to remember something.
        if taint.is_empty() && spec.category == Category::Memory && !facts.only_looks() {
            taint.extend(rules.provenance.read_in_turn());
        }
        self.calls[at].taint = taint;
    }

    /// Checks the new plan just before the run: an approval still counts if only own calls changed anything.
    pub(super) fn on_recheck(&mut self, at: usize, before: &CallPlan, rules: &Rules, out: &mut Vec<Effect>) {
        let Some(now) = &self.calls[at].plan else { return };
        let unmoved = before.basis == now.basis;
        let ours = now.basis.iter().all(|(resource, version)| {
            before.basis.contains(&(resource.clone(), version.clone()))
                || self.own_writes.get(resource) == Some(version)
        });
        let same = before.preview.changed_lines() == now.preview.changed_lines() && before.risk == now.risk;
        let consent_holds = unmoved || (ours && same);
        if self.calls[at].consent == Consent::Given && !consent_holds {
            self.calls[at].consent = Consent::NotGiven;
            let asks = |decision: Decision| match decision.verdict {
                Verdict::Ask | Verdict::Later | Verdict::Preview => true,
                Verdict::Allow | Verdict::Deny => false,
            };
            if self.decide(at, rules).is_some_and(asks) {
                return self.ask_again(at, MOVED.to_owned(), rules, out);
            }
        }
        self.settle(at, Purpose::Recheck, rules, out);
    }

    /// Decides a planned call and moves it on.
    pub(super) fn settle(&mut self, at: usize, purpose: Purpose, rules: &Rules, out: &mut Vec<Effect>) {
        let Some(decision) = self.decide(at, rules) else { return };
        let one = &self.calls[at];
        let looked_at_anew = one.changed_by.is_some() || self.stage == super::Stage::Late;
        let risen = looked_at_anew && one.request.as_ref().is_some_and(|asked| decision.risk > asked.risk);
        if self.stage != super::Stage::Early
            && purpose != Purpose::Recheck
            && let Some(plan) = one.plan.clone()
        {
            out.push(Effect::Show(Event::ToolPlanned { call: one.effective(), plan }));
        }
        if decision.verdict == Verdict::Deny {
            self.deny(at, &decision, out);
        } else if risen && self.calls[at].consent == Consent::Given {
            let because = match self.calls[at].changed_by {
                Some(_) => "the change raises the risk",
                None => "its risk is higher than when it was requested",
            };
            self.ask_again(at, because.to_owned(), rules, out);
        } else if self.calls[at].consent == Consent::Overtaken {
            self.ask_again(at, REWRITTEN.to_owned(), rules, out);
        } else if is_permitted(&decision, self.calls[at].consent) {
            self.calls[at].state = State::Ready;
        } else {
            self.ask_a_person(at, decision.verdict, rules, out);
        }
    }

    /// Sends the call to the user; no approval counts now. A request that a rule had answered is repeated.
    pub(super) fn ask_a_person(&mut self, at: usize, verdict: Verdict, rules: &Rules, out: &mut Vec<Effect>) {
        let one = &self.calls[at];
        if verdict == Verdict::Ask && one.consent == Consent::ByPolicy && one.request.is_some() {
            return self.ask_again(at, OVERRULED.to_owned(), rules, out);
        }
        self.needs_a_person(at);
    }

    pub(super) fn needs_a_person(&mut self, at: usize) {
        self.calls[at].consent = Consent::NotGiven;
        self.calls[at].state = State::Undecided;
    }

    pub(super) fn deny(&mut self, at: usize, decision: &Decision, out: &mut Vec<Effect>) {
        self.withdraw(at, out);
        let judged = self.judgement_record(at);
        let because = decision.because.join("; ");
        if decision.by == (Decider::Mode { mode: Mode::Plan }) {
            return self.finish_planned(at, denied_by_policy(&because), judged, out);
        }
        let texts = (denied_by_policy(&because), denied_by(Some(&decision.by), Some(&because)));
        self.finish_denied(at, texts, judged, out);
    }

    /// Returns the audit's record of a call that no user decided.
    pub(super) fn judgement_record(&self, at: usize) -> Option<Record> {
        let one = &self.calls[at];
        let Decision { verdict, risk, because, by } = one.decision.clone()?;
        match (one.consent, verdict) {
            (Consent::NotGiven | Consent::ByPolicy, _) | (_, Verdict::Deny) => {}
            (Consent::Given | Consent::Overtaken, _) => return None,
        }
        let written = || (one.call.name.clone(), without_links(&one.call.args));
        let judgement = Judgement {
            tool: one.tool.clone(),
            args: one.args.clone(),
            before: (one.changed_by == Some(ChangedBy::Hook)).then(written),
            verdict,
            risk,
            because,
            by,
            taint: one.taint.clone(),
        };
        Some(Record::Judged { call: one.call.id.clone(), judgement: Box::new(judgement) })
    }

    /// Returns the requests that the policy answers by now. The verdict of a hook in another process is
    /// unknown here, so such calls need the user's approval. A mode answers no request that was asked before
    /// it: one key cycles through all modes, and passing one must neither run nor end what waits.
    pub(in crate::agent) fn policy_decisions(&self, rules: &Rules) -> Vec<PolicyDecision> {
        let waiting = |at: &usize| matches!(self.calls[*at].state, State::Waiting);
        let cover = |at: usize| {
            let one = &self.calls[at];
            let request = one.request.as_ref()?.id.clone();
            let decision = self.judge(at, rules)?;
            let is_hook_pending = one.hook.is_none() && rules.hooked.contains(&one.tool);
            if let Decider::Mode { .. } = decision.by {
                return None;
            }
            // That an address is named later, in whatever way, is no answer to what was asked.
            if decision.by == Decider::Risk && decision.verdict == Verdict::Allow {
                return None;
            }
            match decision.verdict {
                Verdict::Allow if !is_hook_pending => Some((request, Approval::yes(), decision.by)),
                Verdict::Deny => {
                    let reason = Some(decision.because.join("; "));
                    Some((request, Approval::Deny { reason }, decision.by))
                }
                Verdict::Allow | Verdict::Ask | Verdict::Later | Verdict::Preview => None,
            }
        };
        (0..self.calls.len()).filter(waiting).filter_map(cover).collect()
    }
}

/// Returns what is known about a planned call by itself.
fn facts<'a>(one: &'a TrackedCall, rules: &'a Rules) -> Option<CallFacts<'a>> {
    let plan = one.plan.as_ref()?;
    let is_named = match &plan.access {
        Access::Web { url: Some(url), .. } => rules.provenance.names(url),
        Access::Web { url: None, .. }
        | Access::Paths { .. }
        | Access::External { .. }
        | Access::Anything
        | Access::Nothing => false,
    };
    Some(CallFacts {
        spec: one.spec.as_ref()?,
        plan,
        is_named,
        args: &one.args,
        taint: &[],
        isolation: rules.isolation,
        place: &rules.place,
        hook: one.hook.as_ref(),
        repetition: Repetition::No,
    })
}

/// Returns how far the effect of a planned call reaches.
fn reach(spec: &ToolSpec, plan: &CallPlan, place: &Workspace) -> Reach {
    let inside = match &plan.access {
        Access::Paths { writes, .. } => writes.iter().all(|path| path.starts_with(&place.folder)),
        Access::External { .. } | Access::Web { .. } | Access::Anything | Access::Nothing => false,
    };
    if inside && spec.side_effect == SideEffect::Local { Reach::Workspace } else { Reach::Beyond }
}
