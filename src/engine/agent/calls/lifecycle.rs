//! How a call moves by itself: held → planned → hooked → decided → asked → run → returned.
//!
//! Changes since the plan was made are checked again just before the call runs. Planning is in `planning`,
//! deciding in `deciding`, asking in `asking`, ending in `ending`.

use super::reasons::{DEPENDENCY, RUNS_LATER, TOO_LATE};
use super::schedule::{self, DependenciesState, ScheduleWalk};
use super::{Calls, Consent, MOST_CALLS, Purpose, Rules, Stage, State, is_permitted};
use crate::agent::effect::Effect;
use crate::agent::port::Event;
use crate::approval::Verdict;
use crate::history::{Durability, Record};
use crate::message::ReturnStatus;

impl Calls {
    /// Whether every unfinished call waits for the user.
    pub fn only_persons_can_move(&self) -> bool {
        let held = schedule::held_by_person(&self.calls);
        self.any_waiting()
            && self.calls.iter().zip(held).all(|(one, held_by_person)| one.is_done() || held_by_person)
    }

    /// Moves every call as far as possible without input.
    pub(in crate::agent) fn advance(&mut self, rules: &mut Rules, out: &mut Vec<Effect>) {
        loop {
            while self.step(rules, out) {}
            if !self.ask_undecided(rules, out) {
                break;
            }
        }
    }

    /// Makes one pass over all calls in schedule order; returns whether anything moved.
    fn step(&mut self, rules: &mut Rules, out: &mut Vec<Effect>) -> bool {
        let mut moved = false;
        let mut walk = ScheduleWalk::over(&self.calls);
        for at in schedule::order(&self.calls) {
            moved |= match self.calls[at].state {
                State::Held => self.step_held(at, &walk.held, rules, out),
                State::Ready => self.step_ready(at, &walk, rules, out),
                State::Undecided | State::Waiting => self.drop_if_dependency_failed(at, &walk.held, out),
                State::Planning(_) | State::Hooking | State::Running | State::Done(_) => false,
            };
            walk.pass(&self.calls, at);
        }
        moved
    }

    /// Before the commit only unhooked calls without side effects and dependencies may move.
    fn may_move_now(&self, at: usize, rules: &Rules) -> bool {
        let one = &self.calls[at];
        match self.stage {
            Stage::Committed | Stage::Late => true,
            // A call without arguments may still turn out to be truncated by the output limit.
            Stage::Early => {
                let is_taken = at < MOST_CALLS;
                let has_arguments = one.args.as_object().is_some_and(|args| !args.is_empty());
                is_taken
                    && has_arguments
                    && one.is_read()
                    && one.after.is_empty()
                    && !rules.hooked.contains(&one.tool)
            }
        }
    }

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
            DependenciesState::Failed => self.fail_dependency(at, out),
            DependenciesState::Moving => return false,
            DependenciesState::WaitForPerson if self.calls[at].unplannable => return false,
            // Presented together with the call it waits for; planned again before it runs.
            DependenciesState::WaitForPerson | DependenciesState::Previewed | DependenciesState::Met => {
                self.start_plan(at, Purpose::First, rules, out);
            }
        }
        true
    }

    pub(super) fn step_ready(
        &mut self,
        at: usize,
        walk: &ScheduleWalk,
        rules: &mut Rules,
        out: &mut Vec<Effect>,
    ) -> bool {
        match schedule::dependencies(&self.calls, at, &walk.held) {
            DependenciesState::Failed => {
                self.fail_dependency(at, out);
                return true;
            }
            DependenciesState::Moving | DependenciesState::WaitForPerson => return false,
            DependenciesState::Previewed => {
                self.follow_preview(at, rules, out);
                return true;
            }
            DependenciesState::Met => {}
        }
        if walk.blocks(&self.calls[at]) {
            return false;
        }
        let one = &self.calls[at];
        if one.is_read() || one.planned_at == self.moves {
            self.last_look(at, rules, out);
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
        let failed = schedule::dependencies(&self.calls, at, held) == DependenciesState::Failed;
        if failed {
            self.withdraw(at, out);
            self.fail_dependency(at, out);
        }
        failed
    }

    pub(super) fn fail_dependency(&mut self, at: usize, out: &mut Vec<Effect>) {
        self.finish_unless_done(at, ReturnStatus::Failed, DEPENDENCY.to_owned(), out);
    }

    /// Previews a call like the one it runs after. An approval it already has is kept for the later run.
    fn follow_preview(&mut self, at: usize, rules: &Rules, out: &mut Vec<Effect>) {
        if self.calls[at].consent == Consent::Given {
            self.calls[at].previewed = true;
            return self.finish_unless_done(at, ReturnStatus::Undecided, RUNS_LATER.to_owned(), out);
        }
        let _verdict = self.decide(at, rules);
        self.needs_a_person(at);
    }

    /// Decides once more just before the start: the policy or the time may have changed since.
    fn last_look(&mut self, at: usize, rules: &mut Rules, out: &mut Vec<Effect>) {
        let one = &self.calls[at];
        let expires = one.request.as_ref().and_then(|request| request.expires);
        if one.consent == Consent::Given && expires.is_some_and(|expires| expires <= rules.now) {
            return self.ask_again(at, TOO_LATE.to_owned(), rules, out);
        }
        let Some(decision) = self.decide(at, rules) else { return };
        if decision.verdict == Verdict::Deny {
            self.deny(at, &decision, out);
        } else if is_permitted(&decision, self.calls[at].consent) {
            if self.calls[at].consent != Consent::Given {
                rules.count_use(&decision);
            }
            self.start(at, out);
        } else {
            self.ask_a_person(at, decision.verdict, rules, out);
        }
    }

    /// Records the start, and why it was allowed, if the call has side effects; then starts it.
    fn start(&mut self, at: usize, out: &mut Vec<Effect>) {
        let judged = self.judgement_record(at);
        let one = &mut self.calls[at];
        one.state = State::Running;
        if !one.is_read() {
            let started = Record::ToolStarted { call: one.call.id.clone() };
            out.push(Effect::Commit(judged.into_iter().chain([started]).collect(), Durability::Synced));
        }
        let call = one.effective();
        if self.stage != Stage::Early {
            out.push(Effect::Show(Event::ToolRunning { call: call.clone() }));
        }
        let basis = self.calls[at].plan.as_ref().map(|plan| plan.basis.clone()).unwrap_or_default();
        out.push(Effect::StartTool { call, basis });
    }
}
