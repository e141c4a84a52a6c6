//! Caps on tokens and money: whether the next request may be sent, and the question to the user if not. Pure.
//!
//! They never stop a running request: a reply's cost is known only once it is complete, so a cap may be
//! exceeded by one reply. Checked by the turn before each request, with figures that the driver gathers.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Cap, Scope, Unit};
use crate::history::UsageTotals;
use crate::message::{Usage, Usd};
use crate::provider::{ModelRequest, Price};
use crate::stdx::text::group_digits;

use super::context;

/// Output tokens assumed for a request before it is sent, unless its own limit is lower: a long answer or a
/// few calls. The real number is counted afterwards.
pub const OUTPUT_ALLOWANCE: u64 = 1_000;

/// The share of a cap, in hundredths, from which on the user is warned.
const WARN_FROM: u64 = 80;
/// The user is warned again each time another such share, in hundredths, is used.
const WARN_EVERY: u64 = 10;

/// The use so far, and the addition of the next request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    pub session: UsageTotals,
    pub day: UsageTotals,
    pub next: Estimate,
    /// The model that would be asked.
    pub model: String,
}

/// The estimated usage of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    pub tokens: u64,
    /// `None` = the price is unknown.
    pub usd: Option<Usd>,
}

impl Estimate {
    /// Estimates the whole input at the full price, as if nothing were cached, plus [`OUTPUT_ALLOWANCE`].
    pub fn of(request: &ModelRequest, price: Option<&Price>) -> Self {
        let input = context::estimated_request(request);
        let limit = request.max_output_tokens.map_or(OUTPUT_ALLOWANCE, u64::from);
        let output = OUTPUT_ALLOWANCE.min(limit);
        let usage = Usage { input: Some(input), output: Some(output), ..Usage::default() };
        Self { tokens: input.saturating_add(output), usd: price.map(|price| price.cost(&usage)) }
    }
}

/// The caps of a session: the values that were set, the user's raises, and the warnings given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caps {
    set: BTreeMap<Cap, u64>,
    raised: BTreeMap<Cap, u64>,
    /// The share of the cap, in hundredths, at the last warning.
    warned: BTreeMap<Cap, u64>,
    /// Models whose unknown price was reported to the user.
    unkept: BTreeSet<String>,
}

/// Asks the user because the next request would exceed a cap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapQuestion {
    pub cap: Cap,
    /// The use so far; a lower bound if `unpriced` requests have an unknown cost.
    pub spent: u64,
    pub limit: u64,
    /// The estimate of what the next request would add; `None` = its price is unknown.
    pub adds: Option<u64>,
    pub unpriced: u32,
    /// The value to which a raise would set the cap.
    pub raised: u64,
    pub model: String,
}

/// The user's answer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CapAnswer {
    /// Send this one request.
    GoOn,
    /// Raise the cap for its scope: this turn, this session, or this day until `co` is restarted.
    Raise,
    /// End the turn here; it can be resumed.
    Stop,
}

/// The report and the question before the next request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CapReport {
    pub said: Vec<String>,
    pub question: Option<CapQuestion>,
}

impl Caps {
    pub fn new(set: impl IntoIterator<Item = (Cap, u64)>) -> Self {
        Self { set: set.into_iter().collect(), ..Self::default() }
    }

    /// Whether nothing is capped.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Judges the next request of a turn that has used `turn`; caps in `passed` were already answered.
    pub fn judge(&mut self, turn: &UsageTotals, figures: &Figures, passed: &BTreeSet<Cap>) -> CapReport {
        let mut judged = CapReport::default();
        for (&cap, &set) in &self.set {
            let limit = self.raised.get(&cap).copied().unwrap_or(set);
            let so_far = match cap.scope() {
                Scope::Turn => turn,
                Scope::Session => &figures.session,
                Scope::Day => &figures.day,
            };
            let (spent, adds, unpriced) = match cap.unit() {
                Unit::Tokens => (so_far.tokens, Some(figures.next.tokens), 0),
                Unit::Usd => (so_far.usd.0, figures.next.usd.map(|usd| usd.0), so_far.unpriced),
            };
            if adds.is_none() && self.unkept.insert(figures.model.clone()) {
                judged.said.push(unkept(cap, &figures.model));
            }
            let after = spent.saturating_add(adds.unwrap_or(0));
            let share = hundredths(spent, limit);
            // Less is used than at the last warning: a new day has begun.
            if self.warned.get(&cap).is_some_and(|&last| share < last) {
                self.warned.remove(&cap);
            }
            if spent >= limit || after > limit {
                if judged.question.is_none() && !passed.contains(&cap) {
                    let raised = set.max(1).saturating_mul(after / set.max(1) + 1);
                    let model = figures.model.clone();
                    judged.question = Some(CapQuestion { cap, spent, limit, adds, unpriced, raised, model });
                }
                continue;
            }
            let last = self.warned.get(&cap).copied();
            if share >= WARN_FROM && last.is_none_or(|last| share >= last + WARN_EVERY) {
                self.warned.insert(cap, share);
                judged.said.push(format!("{} ({}).", usage_text(cap, spent, limit, unpriced), cap.setting()));
            }
        }
        judged
    }

    /// Raises the cap that was asked about. Warnings for it start again.
    pub fn raise(&mut self, question: &CapQuestion) {
        self.raised.insert(question.cap, question.raised);
        self.warned.remove(&question.cap);
    }

    /// Returns the caps for another turn: raises and warnings of the last turn are dropped.
    #[must_use]
    pub fn for_next_turn(mut self) -> Self {
        self.forget(Scope::Turn);
        self
    }

    /// Returns the caps for another session: raises and warnings of the last session and turn are dropped.
    #[must_use]
    pub fn for_next_session(mut self) -> Self {
        self.forget(Scope::Session);
        self.for_next_turn()
    }

    fn forget(&mut self, scope: Scope) {
        self.raised.retain(|cap, _| cap.scope() != scope);
        self.warned.retain(|cap, _| cap.scope() != scope);
    }
}

impl CapQuestion {
    /// Says what was used and what is allowed: `$1.98 of $2.00 used today`.
    pub fn spent_words(&self) -> String {
        usage_text(self.cap, self.spent, self.limit, self.unpriced)
    }

    /// The same without `used`: `$1.98 of $2.00 today`.
    pub fn share_words(&self) -> String {
        self.spent_words().replacen(" used ", " ", 1)
    }

    /// Says about how much the next request would add.
    pub fn adds_words(&self) -> String {
        match self.adds {
            Some(adds) => format!("the next request would add about {}", self.cap.amount_text(adds)),
            None => "the price of the next request is unknown".to_owned(),
        }
    }

    /// Says what a raise does: `raise it to $4.00 until co ends`.
    pub fn raise_words(&self) -> String {
        let until = match self.cap.scope() {
            Scope::Turn => "for this turn",
            Scope::Session => "for this session",
            Scope::Day => "until co exits",
        };
        format!("raise it to {} {until}", self.cap.amount_text(self.raised))
    }

    /// Returns the command-line flag that raises it.
    pub fn flag(&self) -> String {
        format!("--set {}={}", self.cap.setting(), self.cap.setting_text(self.raised))
    }
}

/// Returns `$1.98 of $2.00 used today`, with `at least` if some requests have no price.
fn usage_text(cap: Cap, spent: u64, limit: u64, unpriced: u32) -> String {
    let at_least = if unpriced > 0 { "at least " } else { "" };
    let spent = match cap.unit() {
        Unit::Tokens => group_digits(spent),
        Unit::Usd => cap.amount_text(spent),
    };
    format!("{at_least}{spent} of {} used {}", cap.amount_text(limit), scope_words(cap))
}

fn scope_words(cap: Cap) -> &'static str {
    match cap.scope() {
        Scope::Turn => "in this turn",
        Scope::Session => "in this session",
        Scope::Day => "today",
    }
}

fn unkept(cap: Cap, model: &str) -> String {
    let setting = cap.setting();
    format!(
        "The price of {model} is unknown: {setting} counts only costs its provider reports. Token caps still apply."
    )
}

fn hundredths(spent: u64, limit: u64) -> u64 {
    let share = u128::from(spent) * 100 / u128::from(limit.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(spent: u64, adds: Option<u64>) -> Figures {
        let used = UsageTotals { usd: Usd(spent), ..UsageTotals::default() };
        let next = Estimate { tokens: 10, usd: adds.map(Usd) };
        Figures { session: used, day: used, next, model: "m".to_owned() }
    }

    /// Returns what is reported and asked when this much is used of a cap of 100 a day, request by request.
    fn reports(steps: &[(u64, Option<u64>)]) -> Vec<String> {
        let mut caps = Caps::new([(Cap::DayUsd, 100)]);
        let mut lines = Vec::new();
        for &(spent, adds) in steps {
            let judged = caps.judge(&UsageTotals::default(), &figures(spent, adds), &BTreeSet::new());
            let said = judged.said.iter().map(|said| said.split(' ').next().unwrap_or_default().to_owned());
            let asked = judged.question.map(|asked| format!("ask {} raise {}", asked.spent, asked.raised));
            lines.push(said.chain(asked).collect::<Vec<_>>().join(" "));
        }
        lines
    }

    #[test]
    fn a_cap_warns_once_and_then_asks() {
        let (w, none) = ("$0.00000008", String::new());
        for (steps, expected) in [
            (vec![(0, Some(100)), (79, Some(1))], vec![none.clone(), none.clone()]),
            (vec![(0, Some(101))], vec!["ask 0 raise 200".to_owned()]),
            (
                vec![(80, Some(1)), (81, Some(1)), (89, Some(1))],
                vec![format!("{w}0"), none.clone(), none.clone()],
            ),
            (vec![(80, Some(1)), (90, Some(1))], vec![format!("{w}0"), "$0.000000090".to_owned()]),
            // A new day warns again.
            (
                vec![(95, Some(1)), (10, Some(1)), (85, Some(1))],
                vec!["$0.000000095".to_owned(), none.clone(), "$0.000000085".to_owned()],
            ),
            (
                vec![(95, Some(1)), (10, Some(100)), (96, Some(1))],
                vec!["$0.000000095".to_owned(), "ask 10 raise 200".to_owned(), "$0.000000096".to_owned()],
            ),
            (vec![(100, Some(0))], vec!["ask 100 raise 200".to_owned()]),
            (vec![(350, Some(60))], vec!["ask 350 raise 500".to_owned()]),
            (
                vec![(10, None), (10, None), (100, None)],
                vec!["The".to_owned(), none, "ask 100 raise 200".to_owned()],
            ),
        ] {
            assert_eq!(reports(&steps), expected, "{steps:?}");
        }
    }

    #[test]
    fn a_raise_lasts_as_long_as_its_cap_counts() {
        let mut caps = Caps::new([(Cap::TurnTokens, 5), (Cap::SessionUsd, 100), (Cap::DayUsd, 100)]);
        let used = UsageTotals { tokens: 20, ..UsageTotals::default() };
        let mut passed = BTreeSet::new();
        let mut order = Vec::new();
        while let Some(question) = caps.judge(&used, &figures(100, Some(1)), &passed).question {
            order.push((question.cap, question.raised));
            match question.cap {
                Cap::SessionUsd => drop(passed.insert(question.cap)),
                _ => caps.raise(&question),
            }
        }
        // Each cap asks separately; `GoOn` raises nothing.
        assert_eq!(order, [(Cap::TurnTokens, 35), (Cap::SessionUsd, 200), (Cap::DayUsd, 200)]);
        let asks = |caps: &Caps| {
            caps.clone()
                .judge(&used, &figures(100, Some(1)), &BTreeSet::new())
                .question
                .map(|asked| asked.cap)
        };
        assert_eq!(asks(&caps), Some(Cap::SessionUsd));
        assert_eq!(asks(&caps.clone().for_next_turn()), Some(Cap::TurnTokens));
        let next = caps.for_next_session();
        assert_eq!(next.raised.keys().collect::<Vec<_>>(), [&Cap::DayUsd]);
    }
}
