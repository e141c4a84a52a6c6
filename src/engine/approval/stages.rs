//! The stages of a decision, in their fixed order. The first stage that decides ends it.
//!
//! Pure. A decision is the end of its explanation, so that the two match. A stage that does not
//! decide gives the reason why.

use super::rules::{Fit, Rule, RuleEffect, RuleScope, RulesHealth};
use super::{AutoApprove, CallFacts, Decider, Decision, Grants, Policy, Repetition, Verdict, WorkspaceKind};
use crate::config::Mode;
use crate::hook::HookVerdict;
use crate::stdx::names::names;
use crate::tool::{Access, Risk};

/// A stage of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    DenyRule,
    PlanMode,
    HookDeny,
    DeferAll,
    DryRun,
    HookAsk,
    BrokenRules,
    AskRule,
    Question,
    NeedsPerson,
    Repetition,
    Taint,
    AllowRule,
    Grant,
    HookAllow,
    Yolo,
    AutoMode,
    Risk,
}

names! {
    Stage, all {
        DenyRule = "deny rules",
        PlanMode = "plan mode",
        HookDeny = "hook denies",
        DeferAll = "defer-all mode",
        DryRun = "dry-run mode",
        HookAsk = "hook asks",
        BrokenRules = "rules sound",
        AskRule = "ask rules",
        Question = "question",
        NeedsPerson = "needs a person",
        Repetition = "repetition",
        Taint = "untrusted text",
        AllowRule = "allow rules",
        Grant = "session grants",
        HookAllow = "hook allows",
        Yolo = "yolo",
        AutoMode = "auto mode",
        Risk = "risk",
    }
}

/// A stage and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub stage: Stage,
    pub found: StageOutcome,
}

/// Whether a stage decided.
#[derive(Debug, Clone, PartialEq)]
pub enum StageOutcome {
    /// It did not; the text says why.
    Passed(String),
    Decided(Decision),
}

/// Maximum number of rules named when none of them applies.
const NAMED: usize = 3;

impl Policy {
    /// Decides one call: the first stage that decides ends the walk. A walk without a decision asks.
    pub fn decide(&self, grants: &Grants, call: &CallFacts<'_>) -> Decision {
        let ask = |because| Decision { verdict: Verdict::Ask, risk: call.risk(), because, by: Decider::Risk };
        match self.explain(grants, call).pop().map(|step| step.found) {
            Some(StageOutcome::Decided(decision)) => decision,
            Some(StageOutcome::Passed(because)) => ask(vec![because]),
            None => ask(Vec::new()),
        }
    }

    /// Returns the stages of [`Policy::decide`] up to the one that decides, in order.
    pub fn explain(&self, grants: &Grants, call: &CallFacts<'_>) -> Vec<Step> {
        let weighing = StageInput { policy: self, grants, call, risk: call.risk() };
        let mut steps = Vec::new();
        for stage in Stage::ALL {
            let found = weighing.look(stage);
            let ends = matches!(found, StageOutcome::Decided(_));
            steps.push(Step { stage, found });
            if ends {
                break;
            }
        }
        steps
    }
}

struct StageInput<'a> {
    policy: &'a Policy,
    grants: &'a Grants,
    call: &'a CallFacts<'a>,
    risk: Risk,
}

impl StageInput<'_> {
    fn look(&self, stage: Stage) -> StageOutcome {
        let found = match stage {
            Stage::DenyRule => self.by_rules(RuleEffect::Deny, Verdict::Deny, "denies"),
            Stage::PlanMode => self.plan_mode(),
            Stage::HookDeny => self.hook_deny(),
            Stage::DeferAll => self.defer_all(),
            Stage::DryRun => self.dry_run(),
            Stage::HookAsk => self.hook_ask(),
            Stage::BrokenRules => self.broken_rules(),
            Stage::AskRule => self.by_rules(RuleEffect::Ask, Verdict::Ask, "asks about"),
            Stage::Question => self.question(),
            Stage::NeedsPerson => self.needs_person(),
            Stage::Repetition => self.repetition(),
            Stage::Taint => self.taint(),
            Stage::AllowRule if self.is_tainted() => pass(UNTRUSTED),
            Stage::AllowRule => self.by_rules(RuleEffect::Allow, Verdict::Allow, "allows"),
            Stage::Grant => self.grant(),
            Stage::HookAllow => self.hook_allow(),
            Stage::Yolo => self.yolo(),
            Stage::AutoMode => self.auto_mode(),
            Stage::Risk => self.by_risk(),
        };
        self.in_dry_run(found)
    }

    fn decide(&self, verdict: Verdict, by: Decider, because: impl Into<String>) -> StageOutcome {
        StageOutcome::Decided(Decision { verdict, risk: self.risk, because: vec![because.into()], by })
    }

    fn by_mode(&self) -> Decider {
        Decider::Mode { mode: self.policy.mode }
    }

    fn name(&self) -> &str {
        self.call.spec.name.as_str()
    }

    fn is_question(&self) -> bool {
        self.call.plan.question.is_some()
    }

    fn is_tainted(&self) -> bool {
        !self.call.taint.is_empty()
    }

    /// In dry-run mode an ask becomes a preview, except for questions, which only the user can answer.
    fn in_dry_run(&self, found: StageOutcome) -> StageOutcome {
        match found {
            StageOutcome::Decided(mut decision)
                if self.policy.mode == Mode::DryRun
                    && !self.is_question()
                    && matches!(decision.verdict, Verdict::Ask | Verdict::Later) =>
            {
                decision.verdict = Verdict::Preview;
                decision.by = self.by_mode();
                decision.because.push(DRY_RUN.to_owned());
                StageOutcome::Decided(decision)
            }
            found => found,
        }
    }

    /// Decides by the first rule of this effect that applies.
    fn by_rules(&self, effect: RuleEffect, verdict: Verdict, does: &str) -> StageOutcome {
        match self.rule(effect) {
            Ok((rule, doubt)) => {
                let by = Decider::Rule { id: rule.id.clone() };
                self.decide(verdict, by, self.reason_of(rule, does, doubt))
            }
            Err(passed) => StageOutcome::Passed(passed),
        }
    }

    fn plan_mode(&self) -> StageOutcome {
        match self.policy.mode {
            Mode::Plan if !self.call.only_looks() => {
                self.decide(Verdict::Deny, self.by_mode(), "plan mode only reads")
            }
            Mode::Plan => pass("it only reads"),
            Mode::Ask | Mode::Auto | Mode::DryRun | Mode::DeferAll => pass("it is off"),
        }
    }

    fn hook_deny(&self) -> StageOutcome {
        match self.call.hook {
            Some(HookVerdict::Deny { reason }) => {
                self.decide(Verdict::Deny, Decider::Hook, format!("hook: {reason}"))
            }
            Some(_) => pass("no hook denies"),
            None => pass("no hook ran"),
        }
    }

    fn defer_all(&self) -> StageOutcome {
        match self.policy.mode {
            Mode::DeferAll => {
                self.decide(Verdict::Ask, self.by_mode(), "defer-all mode asks about everything")
            }
            Mode::Ask | Mode::Auto | Mode::Plan | Mode::DryRun => pass("it is off"),
        }
    }

    fn dry_run(&self) -> StageOutcome {
        match self.policy.mode {
            Mode::DryRun if self.is_question() => pass("a question changes nothing"),
            Mode::DryRun if !self.call.only_looks() => self.decide(Verdict::Preview, self.by_mode(), DRY_RUN),
            Mode::DryRun => pass("it only reads"),
            Mode::Ask | Mode::Auto | Mode::Plan | Mode::DeferAll => pass("it is off"),
        }
    }

    fn hook_ask(&self) -> StageOutcome {
        match self.call.hook {
            Some(HookVerdict::Ask { reason }) => {
                self.decide(Verdict::Ask, Decider::Hook, format!("hook: {reason}"))
            }
            Some(HookVerdict::Defer { reason }) => {
                self.decide(Verdict::Later, Decider::Hook, format!("hook: {reason}"))
            }
            Some(
                HookVerdict::Pass
                | HookVerdict::Allow { .. }
                | HookVerdict::Deny { .. }
                | HookVerdict::Rewrite { .. }
                | HookVerdict::Note { .. },
            ) => pass("no hook asks"),
            None => pass("no hook ran"),
        }
    }

    fn broken_rules(&self) -> StageOutcome {
        match &self.policy.rules.health {
            RulesHealth::Broken { because } => {
                let because = format!("the rules cannot be read, so everything asks: {because}");
                self.decide(Verdict::Ask, Decider::Risk, because)
            }
            RulesHealth::Sound => pass("they are"),
        }
    }

    /// Only the user can answer a question; no rule, grant or yolo can.
    fn question(&self) -> StageOutcome {
        if self.is_question() {
            return self.decide(Verdict::Ask, Decider::Risk, format!("{} asks you something", self.name()));
        }
        pass("it is not a question")
    }

    /// Asks if the plan requires the user; no rule, grant or yolo replaces that.
    fn needs_person(&self) -> StageOutcome {
        match &self.call.plan.needs_person {
            Some(why) => self.decide(Verdict::Ask, Decider::Risk, format!("only you can allow this: {why}")),
            None => pass("it does not require a person"),
        }
    }

    fn repetition(&self) -> StageOutcome {
        match self.call.repetition {
            Repetition::Times(times) => {
                let because = format!("the same call gave the same result {times} times");
                self.decide(Verdict::Ask, Decider::Risk, because)
            }
            Repetition::No => pass("it is not a repeated call"),
        }
    }

    fn taint(&self) -> StageOutcome {
        match (self.is_tainted(), self.call.may_be_tainted()) {
            (true, false) => self.decide(Verdict::Ask, Decider::Risk, "its arguments contain untrusted text"),
            (true, true) => pass("its arguments contain untrusted text, but it only reads"),
            (false, _) => pass("its arguments contain none"),
        }
    }

    fn grant(&self) -> StageOutcome {
        let CallFacts { spec, args, place, .. } = self.call;
        match self.grants.covering(&spec.name, args, &place.folder) {
            Some(_) if self.is_tainted() => pass(UNTRUSTED),
            Some(_) if self.risk == Risk::High => pass("no grant covers HIGH"),
            Some(grant) => {
                let because = format!("you allowed {grant} {}", RuleScope::Session.words());
                self.decide(Verdict::Allow, Decider::Grant, because)
            }
            None => pass("no session approval covers it"),
        }
    }

    fn hook_allow(&self) -> StageOutcome {
        match self.call.hook {
            Some(HookVerdict::Allow { .. }) if self.is_tainted() => pass(UNTRUSTED),
            Some(HookVerdict::Allow { reason }) => {
                self.decide(Verdict::Allow, Decider::Hook, format!("hook: {reason}"))
            }
            Some(
                HookVerdict::Pass
                | HookVerdict::Ask { .. }
                | HookVerdict::Defer { .. }
                | HookVerdict::Deny { .. }
                | HookVerdict::Rewrite { .. }
                | HookVerdict::Note { .. },
            ) => pass("no hook allows"),
            None => pass("no hook ran"),
        }
    }

    fn yolo(&self) -> StageOutcome {
        match self.policy.auto_approve {
            AutoApprove::Asking => pass("it is off"),
            AutoApprove::Yolo | AutoApprove::YoloUnsandboxed if self.is_tainted() => pass(UNTRUSTED),
            AutoApprove::Yolo if self.call.is_unheld() => {
                pass("it does not cover commands and servers that no sandbox holds")
            }
            AutoApprove::Yolo | AutoApprove::YoloUnsandboxed => {
                self.decide(Verdict::Allow, Decider::Yolo, "yolo is on")
            }
        }
    }

    fn auto_mode(&self) -> StageOutcome {
        match self.policy.mode {
            Mode::Auto if self.call.is_unheld() => {
                StageOutcome::Passed(format!("it {}", self.call.why_unheld()))
            }
            Mode::Auto if self.risk == Risk::High => pass("it is HIGH risk"),
            Mode::Auto if self.call.edits_workspace() => {
                self.decide(Verdict::Allow, self.by_mode(), "auto mode edits files here without asking")
            }
            Mode::Auto if self.is_tainted() && self.call.is_held_command() => pass(UNTRUSTED),
            Mode::Auto if self.call.is_held_command() && self.call.place.kind == WorkspaceKind::Project => {
                self.decide(Verdict::Allow, self.by_mode(), "auto mode runs commands that the sandbox holds")
            }
            Mode::Auto => pass("it does more than edit files in this folder"),
            Mode::Ask | Mode::Plan | Mode::DryRun | Mode::DeferAll => pass("it is off"),
        }
    }

    fn by_risk(&self) -> StageOutcome {
        let ask = |because: String| self.decide(Verdict::Ask, Decider::Risk, because);
        let name = self.name();
        if self.call.is_unheld() {
            return ask(format!("{name} {}", self.call.why_unheld()));
        }
        if !self.call.only_looks() {
            return ask(format!("{name} changes something"));
        }
        if let Access::Web { .. } = self.call.plan.access {
            let because = match self.call.is_named {
                true => "you or a web page named this address".to_owned(),
                false => format!("the settings allow {name}"),
            };
            let allowed = || self.decide(Verdict::Allow, Decider::Risk, because);
            return self.call.why_web_asks().map_or_else(allowed, ask);
        }
        if self.risk > Risk::Low {
            return ask(format!("{name} is {} risk", self.risk.word()));
        }
        match self.call.place.kind {
            WorkspaceKind::HomeOrRoot => ask("reads ask in the home folder and in /".to_owned()),
            WorkspaceKind::Project => {
                self.decide(Verdict::Allow, Decider::Risk, format!("{name} only reads"))
            }
        }
    }

    /// Returns the first rule of this effect that applies (rules of files before those of the session) and
    /// what is in doubt, or why none applies.
    fn rule(&self, effect: RuleEffect) -> Result<(&Rule, Option<String>), String> {
        let subject = self.call.subject();
        let mut near = Vec::new();
        let rules = self.policy.rules.rules.iter().chain(self.grants.rules());
        for rule in rules.filter(|rule| rule.effect == effect) {
            match rule.fit(&subject) {
                Fit::Elsewhere => {}
                Fit::Applies => match rule.falls_short(self.risk) {
                    Some(why) => near.push(format!("{}: {why}", rule.id)),
                    None => return Ok((rule, None)),
                },
                Fit::AppliesInDoubt(doubt) => return Ok((rule, Some(doubt))),
                Fit::Not(because) => near.push(format!("{}: {because}", rule.id)),
            }
        }
        let more = near.len().saturating_sub(NAMED);
        near.truncate(NAMED);
        if more > 0 {
            near.push(format!("and {more} more"));
        }
        if near.is_empty() { Err(format!("none applies to {}", self.name())) } else { Err(near.join("; ")) }
    }

    fn reason_of(&self, rule: &Rule, does: &str, doubt: Option<String>) -> String {
        let mut text = format!("rule {} {does} {}", rule.id, self.name());
        // Of an allow rule the reason says what it covers.
        if let Some(reason) = rule.reason.as_ref().filter(|_| rule.effect != RuleEffect::Allow) {
            text.push_str(&format!(": {reason}"));
        }
        if let Some(doubt) = doubt {
            text.push_str(&format!(" ({doubt})"));
        }
        text
    }
}

const DRY_RUN: &str = "dry-run mode only previews";
const UNTRUSTED: &str = "it does not cover untrusted text";

fn pass(why: &str) -> StageOutcome {
    StageOutcome::Passed(why.to_owned())
}
