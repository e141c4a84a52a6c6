//! The final reply of a turn, which hooks may reject.

use super::{Phase, Turn};
use crate::agent::budget::Allowance;
use crate::agent::effect::Effect;
use crate::history::TurnEnd;
use crate::hook::HookVerdict;
use crate::message::{Message, NoteKind};

/// Whether hooks check the final reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopHooks {
    Absent,
    /// They check it once per turn.
    Present,
}

impl Turn {
    /// Completes the turn, after hooks have accepted its final reply.
    pub(super) fn complete(&mut self, out: &mut Vec<Effect>) {
        match std::mem::replace(&mut self.setup.stop_hooks, StopHooks::Absent) {
            StopHooks::Absent => self.end(TurnEnd::Completed, out),
            StopHooks::Present => {
                self.phase = Phase::Completing;
                out.push(Effect::HookStop);
            }
        }
    }

    /// If a hook rejects the reply, the model continues, provided that the budget allows a request.
    pub(super) fn on_stop_hooked(&mut self, verdict: HookVerdict, out: &mut Vec<Effect>) {
        let Phase::Completing = self.phase else { return };
        match (verdict, self.budget.allowance()) {
            (HookVerdict::Deny { reason }, Allowance::Free | Allowance::Last) => {
                self.say(Message::note(NoteKind::Hook, reason), out);
                self.request(out);
            }
            (HookVerdict::Deny { .. }, Allowance::Spent(_))
            | (
                HookVerdict::Pass
                | HookVerdict::Allow { .. }
                | HookVerdict::Ask { .. }
                | HookVerdict::Defer { .. }
                | HookVerdict::Rewrite { .. }
                | HookVerdict::Note { .. },
                _,
            ) => self.end(TurnEnd::Completed, out),
        }
    }
}
