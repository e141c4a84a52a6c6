//! Checks before a request: whether the conversation fits the model, and caps, at which the user is asked.

use super::{Audience, Overflow, Phase, Turn, TurnKind};
use crate::agent::caps::{CapAnswer, Figures};
use crate::agent::effect::{Effect, EstimateScope, Fit};
use crate::agent::port::Event;
use crate::config::Cap;
use crate::history::{Limit, TurnEnd};

/// Compactions in a row for one request.
const MOST_ROUNDS: u32 = 8;

impl Turn {
    /// Sends the next request, shortened if it does not fit, unless a cap prevents it.
    pub(super) fn weigh(&mut self, out: &mut Vec<Effect>) {
        match self.kind {
            TurnKind::Prompt => self.say_queued(out),
            TurnKind::LateCalls | TurnKind::Compaction => {}
        }
        self.phase = Phase::Weighing;
        let what = if self.setup.caps.is_empty() { EstimateScope::Size } else { EstimateScope::SizeAndUsage };
        out.push(Effect::Weigh { who: self.who, what });
    }

    pub(super) fn on_weighed(&mut self, fit: Fit, figures: Option<Figures>, out: &mut Vec<Effect>) {
        let Phase::Weighing = self.phase else { return };
        if figures.is_some_and(|figures| self.caps_prevent(&figures, out)) {
            return;
        }
        match (self.kind, fit) {
            (TurnKind::Compaction, _) => self.compact(Overflow::Asked, out),
            (TurnKind::Prompt | TurnKind::LateCalls, Fit::TooLong) if self.compactions < MOST_ROUNDS => {
                self.compact(Overflow::Estimated, out);
            }
            // The provider refuses a conversation that is still too long.
            (TurnKind::Prompt | TurnKind::LateCalls, Fit::TooLong | Fit::Fits) => self.dispatch(out),
        }
    }

    /// Whether a cap prevents the next request: the turn then waits for the user's answer, or has ended.
    fn caps_prevent(&mut self, figures: &Figures, out: &mut Vec<Effect>) -> bool {
        let before = self.setup.caps.clone();
        let judged = self.setup.caps.judge(&self.budget.used, figures, &self.passed);
        if self.setup.caps != before {
            out.push(Effect::KeepCaps(self.setup.caps.clone()));
        }
        out.extend(judged.said.into_iter().map(Effect::status));
        let Some(question) = judged.question else { return false };
        let limit = Limit::Cap(question.cap);
        out.push(Effect::Show(Event::CapReached { question: question.clone() }));
        match self.setup.audience {
            Audience::Absent => self.end(TurnEnd::LimitReached { limit }, out),
            Audience::Present => self.phase = Phase::Capped(question),
        }
        true
    }

    /// Handles the user's answer about a cap. One about another cap than was asked about is stale: ignored.
    pub(super) fn on_cap_answer(&mut self, cap: Cap, answer: CapAnswer, out: &mut Vec<Effect>) {
        let Phase::Capped(question) = &self.phase else { return };
        if question.cap != cap {
            return;
        }
        let question = question.clone();
        out.push(Effect::Show(Event::CapAnswered { question: question.clone(), answer }));
        match answer {
            CapAnswer::Stop => {
                return self.end(TurnEnd::LimitReached { limit: Limit::Cap(cap) }, out);
            }
            CapAnswer::GoOn => drop(self.passed.insert(cap)),
            CapAnswer::Raise => {
                self.setup.caps.raise(&question);
                out.push(Effect::KeepCaps(self.setup.caps.clone()));
            }
        }
        // The model and the queue may have changed while the user was asked.
        self.weigh(out);
    }
}
