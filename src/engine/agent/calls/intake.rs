//! How calls are accepted: `label` and `after` are removed; unknown tools and bad links end immediately.

use super::{Calls, Consent, MOST_CALLS, Rules, Stage, State, TrackedCall};
use crate::agent::effect::Effect;
use crate::agent::links::{label, strip};
use crate::agent::port::Event;
use crate::history::{Durability, Record};
use crate::message::{ReturnStatus, ToolCall, ToolReturn};

impl Calls {
    /// Adds a call that the provider has closed, while the reply still streams.
    pub(in crate::agent) fn add_early(&mut self, call: ToolCall, rules: &Rules) {
        debug_assert_eq!(self.stage, Stage::Early);
        self.add(call, rules);
    }

    /// Sets the calls of the committed reply: other early calls are dropped, new ones added, links resolved.
    /// Returns of early calls are recorded by the effects that follow.
    pub(in crate::agent) fn commit(&mut self, calls: Vec<ToolCall>, rules: &Rules, out: &mut Vec<Effect>) {
        let mut early = std::mem::take(&mut self.calls);
        for call in calls {
            match early.iter().position(|one| one.call.id == call.id) {
                Some(at) => self.calls.push(early.remove(at)),
                None => {
                    self.add(call, rules);
                }
            }
        }
        self.stage = Stage::Committed;
        self.record_early(out);
        self.refuse_surplus(out);
        self.link(out);
    }

    /// Answers the calls beyond the limit of one reply immediately, in one commit.
    fn refuse_surplus(&mut self, out: &mut Vec<Effect>) {
        let all = self.calls.len();
        let Some(surplus) = self.calls.get_mut(MOST_CALLS..).filter(|surplus| !surplus.is_empty()) else {
            return;
        };
        let text = format!(
            "Not run: this reply contains {all} calls; at most {MOST_CALLS} per reply are run. Send fewer calls at once."
        );
        let (mut records, mut shows) = (Vec::new(), Vec::new());
        // Calls that came early may be running, or done.
        let is_over = |one: &TrackedCall| matches!(one.state, State::Running | State::Done(_));
        for one in surplus.iter_mut().filter(|one| !is_over(one)) {
            let returned = ToolReturn::program(one.call.id.clone(), ReturnStatus::Failed, text.clone());
            records.push(Record::ToolFinished { returned: returned.clone() });
            shows.push(Effect::Show(Event::ToolReturn { call: one.effective(), returned: returned.clone() }));
            one.state = State::Done(returned);
        }
        out.push(Effect::Commit(records, Durability::Written));
        out.extend(shows);
    }

    pub(super) fn add(&mut self, call: ToolCall, rules: &Rules) -> usize {
        let (args, after_labels) = strip(&call.args);
        let spec = rules.specs.get(&call.name).cloned();
        let after_early = usize::from(!after_labels.is_empty());
        self.calls.push(TrackedCall {
            tool: call.name.clone(),
            args,
            // Until links are known, a call with `after` depends on itself, so that it cannot start early.
            after: vec![self.calls.len(); after_early],
            after_labels,
            state: State::Held,
            spec,
            plan: None,
            decision: None,
            request: None,
            taint: Vec::new(),
            consent: Consent::NotGiven,
            note: None,
            hook: None,
            round: 0,
            planned_at: 0,
            unplannable: false,
            changed_by: None,
            later: false,
            previewed: false,
            call,
        });
        self.calls.len() - 1
    }

    /// Resolves `after` labels to calls of this reply; unknown ones and cycles fail.
    pub(super) fn link(&mut self, out: &mut Vec<Effect>) {
        let labels: Vec<Option<String>> = self.calls.iter().map(|one| label(&one.call.args)).collect();
        let mut unknown = Vec::new();
        for (at, one) in self.calls.iter_mut().enumerate() {
            one.after.clear();
            for wanted in &one.after_labels {
                match labels.iter().position(|label| label.as_ref() == Some(wanted)) {
                    Some(dep) => one.after.push(dep),
                    None => unknown.push((at, wanted.clone())),
                }
            }
        }
        for (at, wanted) in unknown {
            let known: Vec<&str> = labels.iter().flatten().map(String::as_str).collect();
            let text = format!(
                "Not run: `after` names \"{wanted}\", but no call of this reply has that label. Labels here: {}.",
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            );
            self.finish_unless_done(at, ReturnStatus::Failed, text, out);
        }
        for at in self.in_cycles() {
            let text = "Not run: its `after` leads back to itself. Call again without the cycle.".to_owned();
            self.finish_unless_done(at, ReturnStatus::Failed, text, out);
        }
    }

    /// Returns the calls that cannot be ordered because their `after` links form a cycle.
    fn in_cycles(&self) -> Vec<usize> {
        let mut settled = vec![false; self.calls.len()];
        loop {
            let next = (0..self.calls.len())
                .find(|&at| !settled[at] && self.calls[at].after.iter().all(|&dep| settled[dep]));
            match next {
                Some(at) => settled[at] = true,
                None => break,
            }
        }
        (0..self.calls.len()).filter(|&at| !settled[at] && self.leads_to(at, at)).collect()
    }

    fn leads_to(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.calls.len()];
        let mut ahead = self.calls[from].after.clone();
        while let Some(next) = ahead.pop() {
            if next == to {
                return true;
            }
            if !std::mem::replace(&mut seen[next], true) {
                ahead.extend(&self.calls[next].after);
            }
        }
        false
    }
}
