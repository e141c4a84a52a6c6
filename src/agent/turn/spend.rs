//! Caps before a request: the usage is looked up, and at a cap the user is asked.

use super::{Audience, Phase, Turn};
use crate::agent::caps::{CapAnswer, CapQuestion, Figures};
use crate::agent::effect::Effect;
use crate::agent::port::Event;
use crate::config::Cap;
use crate::history::{Limit, TurnEnd};

/// A request that waits for the user's answer about a cap.
#[derive(Debug)]
pub(super) struct Capped {
    question: CapQuestion,
    figures: Figures,
}

impl Turn {
    /// Sends the next request unless a cap prevents it.
    pub(super) fn weigh(&mut self, out: &mut Vec<Effect>) {
        if self.setup.caps.is_empty() {
            return self.dispatch(out);
        }
        self.phase = Phase::Weighing;
        out.push(Effect::Weigh { who: self.who });
    }

    pub(super) fn on_weighed(&mut self, figures: Figures, out: &mut Vec<Effect>) {
        if let Phase::Weighing = self.phase {
            self.judge(figures, out);
        }
    }

    fn judge(&mut self, figures: Figures, out: &mut Vec<Effect>) {
        let before = self.setup.caps.clone();
        let judged = self.setup.caps.judge(&self.budget.used, &figures, &self.passed);
        if self.setup.caps != before {
            out.push(Effect::KeepCaps(self.setup.caps.clone()));
        }
        out.extend(judged.said.into_iter().map(|text| Effect::Show(Event::Status { text })));
        let Some(question) = judged.question else { return self.dispatch(out) };
        let limit = Limit::Cap(question.cap);
        out.push(Effect::Show(Event::CapReached { question: question.clone() }));
        match self.setup.audience {
            Audience::Absent => self.end(TurnEnd::LimitReached { limit }, out),
            Audience::Present => self.phase = Phase::Capped(Box::new(Capped { question, figures })),
        }
    }

    /// Handles the user's answer about a cap. One about another cap than was asked about is stale: ignored.
    pub(super) fn on_cap_answer(&mut self, cap: Cap, answer: CapAnswer, out: &mut Vec<Effect>) {
        let asked = matches!(&self.phase, Phase::Capped(capped) if capped.question.cap == cap);
        if !asked {
            return;
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Weighing);
        let Phase::Capped(capped) = phase else { return };
        let Capped { question, figures } = *capped;
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
        self.judge(figures, out);
    }
}

impl Capped {
    /// Returns how the turn ends if the request is not sent.
    pub(super) fn end(&self) -> TurnEnd {
        TurnEnd::LimitReached { limit: Limit::Cap(self.question.cap) }
    }
}
