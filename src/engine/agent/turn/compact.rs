//! Compaction within a turn, and as a turn of its own: older messages are replaced by a summary.
//!
//! The plan comes from the driver, the summary from a model. Its request is counted like any other, can be
//! interrupted, and follows the table of failures; after three failures the messages are left out without a
//! summary. The records of the request and of the compaction are one commit.

use super::{NextStep, Overflow, Phase, Turn, TurnKind};
use crate::agent::assemble::{Assembler, Step};
use crate::agent::budget::Allowance;
use crate::agent::context::{CompactionPlan, CompactionReport, Summary};
use crate::agent::effect::{CompactionReason, Effect, ModelRole};
use crate::agent::port::Event;
use crate::agent::statuses;
use crate::history::{Durability, Record, TurnEnd};
use crate::message::{StopKind, StopReason, Usage};
use crate::provider::{ErrorClass, ProviderError, Recovery, StreamEvent};

/// Failed summaries after which messages are left out without one.
const MOST_FAILURES: u32 = 3;

/// A compaction in progress.
#[derive(Debug)]
pub(super) struct RunningCompaction {
    why: Overflow,
    plan: Box<CompactionPlan>,
    failures: u32,
    /// The model that writes the summary.
    who: ModelRole,
}

impl Turn {
    /// Begins a compaction: the driver plans it.
    pub(super) fn compact(&mut self, why: Overflow, out: &mut Vec<Effect>) {
        let reason = match why {
            Overflow::Refused(_) | Overflow::Cut => CompactionReason::Refused,
            Overflow::Estimated => CompactionReason::Estimated,
            Overflow::Asked => CompactionReason::Asked,
        };
        self.phase = Phase::PlanningCompaction(why);
        out.push(Effect::PlanCompaction { why: reason, who: self.who });
    }

    pub(super) fn on_compaction_planned(
        &mut self,
        plan: Option<Box<CompactionPlan>>,
        summarizer: bool,
        prevented: Option<String>,
        out: &mut Vec<Effect>,
    ) {
        let Phase::PlanningCompaction(why) = &self.phase else { return };
        let why = why.clone();
        self.phase = Phase::Weighing;
        let Some(plan) = plan.filter(|plan| why != Overflow::Asked || plan.is_worth_a_summary()) else {
            return self.nothing_to_compact(why, prevented, out);
        };
        let who = if summarizer { ModelRole::Summarizer } else { self.who };
        self.failures = 0;
        let compacting = RunningCompaction { why, plan, failures: 0, who };
        // A summary that did not make the conversation fit is not summarised again for the same request.
        let again = self.compactions > 0;
        self.compactions += 1;
        let affordable = self.kind == TurnKind::Compaction || self.budget.allowance() == Allowance::Free;
        if again || !affordable {
            return self.leave_out(compacting, None, Vec::new(), out);
        }
        let messages = compacting.plan.messages;
        out.push(Effect::Show(Event::Compacting { messages }));
        self.summarize(compacting, out);
    }

    /// Asks a model for the summary.
    pub(super) fn summarize(&mut self, compacting: RunningCompaction, out: &mut Vec<Effect>) {
        self.attempt += 1;
        out.push(Effect::Summarize { who: compacting.who, quoted: compacting.plan.quoted.clone() });
        let assembler = Assembler::new(String::new(), std::collections::BTreeSet::new());
        self.phase = Phase::Summarizing(Box::new(assembler), Box::new(compacting));
    }

    /// Handles an event of a summary's request; none of it is shown.
    pub(super) fn on_summary_event(&mut self, event: StreamEvent, out: &mut Vec<Effect>) {
        let Phase::Summarizing(assembler, _) = &mut self.phase else { return };
        if let StreamEvent::Started { model } = &event {
            self.model.clone_from(model);
        }
        match assembler.apply(event) {
            Ok(Step::Finished(stop, usage)) => self.on_summary(&stop, usage, out),
            Ok(
                Step::Nothing
                | Step::Text(_)
                | Step::Thinking(_)
                | Step::TextDone(_)
                | Step::ThinkingDone(_)
                | Step::Args { .. }
                | Step::CallClosed(_)
                | Step::Notice(_),
            ) => {}
            Err(error) => {
                out.push(Effect::CancelModel);
                self.on_summary_failure(&error, out);
            }
        }
    }

    fn on_summary(&mut self, stop: &StopReason, usage: Usage, out: &mut Vec<Effect>) {
        let Phase::Summarizing(assembler, mut compacting) =
            std::mem::replace(&mut self.phase, Phase::Weighing)
        else {
            return;
        };
        self.failures = 0;
        let cost = self.cost(Some(usage));
        out.push(Effect::Show(Event::Usage { usage, model: self.model.clone(), cost }));
        let by = self.asked.name();
        let message = assembler.finish(by.clone(), stop.clone());
        let text = message.map(|message| message.text()).unwrap_or_default();
        let accepted = match stop.kind {
            StopKind::MaxTokens => Err("it was cut off at the model's output limit"),
            StopKind::Refusal => Err("the model refused"),
            StopKind::EndTurn
            | StopKind::ToolUse
            | StopKind::StopSequence
            | StopKind::PauseTurn
            | StopKind::Interrupted
            | StopKind::Other => compacting.plan.summary_record(&text, &by),
        };
        self.budget.used.count(Some(usage), cost, None);
        let ended = self.summary_end_record(Some(usage), None);
        match accepted {
            Ok(record) => {
                let summary = Summary::Written { by, text: text.trim().to_owned() };
                let compacted = CompactionReport { messages: compacting.plan.messages, summary };
                out.push(Effect::Commit(vec![ended, record], Durability::Written));
                out.push(Effect::Show(Event::Compacted { compacted }));
                self.after_compaction(&compacting.why, out);
            }
            Err(why) => {
                compacting.failures += 1;
                let why = format!("the summary of {by} was not used: {why}");
                if compacting.failures >= MOST_FAILURES {
                    return self.without_summary(*compacting, why, vec![ended], out);
                }
                out.push(Effect::Commit(vec![ended], Durability::Written));
                self.summarize(*compacting, out);
            }
        }
    }

    pub(super) fn on_summary_failure(&mut self, error: &ProviderError, out: &mut Vec<Effect>) {
        let Phase::Summarizing(assembler, mut compacting) =
            std::mem::replace(&mut self.phase, Phase::Weighing)
        else {
            return;
        };
        compacting.failures += 1;
        let usage = assembler.usage();
        self.budget.used.count(usage, self.cost(usage), Some(error.class));
        let ended = self.summary_end_record(usage, Some(error.class));
        let why = format!("{}: {error}", self.asked.name());
        if compacting.failures >= MOST_FAILURES {
            return self.without_summary(*compacting, why, vec![ended], out);
        }
        out.push(Effect::Commit(vec![ended], Durability::Written));
        let next = match error.recovery() {
            // The same request would fail again, and there is no other.
            Recovery::Compact | Recovery::Reflect => NextStep::End(TurnEnd::Completed),
            Recovery::Abort | Recovery::Once | Recovery::Backoff(_) => self.after_failure(error, out),
        };
        match next {
            NextStep::Wait(wait) => {
                self.phase = Phase::BackingOff(Some(compacting));
                out.push(Effect::Wait(wait));
            }
            NextStep::Request => {
                compacting.who = self.who;
                self.summarize(*compacting, out);
            }
            NextStep::Compact(_) | NextStep::Complete | NextStep::End(_) => {
                self.without_summary(*compacting, why, Vec::new(), out);
            }
        }
    }

    /// After the last failure of a model: the model in use writes the summary, unless it was that one.
    fn without_summary(
        &mut self,
        compacting: RunningCompaction,
        why: String,
        records: Vec<Record>,
        out: &mut Vec<Effect>,
    ) {
        if compacting.who != ModelRole::Summarizer {
            return self.leave_out(compacting, Some(why), records, out);
        }
        commit(records, out);
        out.push(Effect::status(statuses::other_summarizer(&why)));
        self.failures = 0;
        self.summarize(RunningCompaction { who: self.who, failures: 0, ..compacting }, out);
    }

    /// Leaves the messages out without a summary.
    fn leave_out(
        &mut self,
        compacting: RunningCompaction,
        without: Option<String>,
        mut records: Vec<Record>,
        out: &mut Vec<Effect>,
    ) {
        let RunningCompaction { why, plan, .. } = compacting;
        // The user asked for a summary: without one, nothing is left out.
        if why == Overflow::Asked {
            commit(records, out);
            let why = without.as_deref().unwrap_or("no request may be sent");
            out.push(Effect::status(statuses::not_compacted(why)));
            return self.end(TurnEnd::Completed, out);
        }
        let compacted = CompactionReport { messages: plan.messages, summary: Summary::None { why: without } };
        records.push(plan.trim_record());
        out.push(Effect::Commit(records, Durability::Written));
        out.push(Effect::Show(Event::Compacted { compacted }));
        self.after_compaction(&why, out);
    }

    /// Goes on after the conversation became shorter. Several rounds may be needed by the estimate; after a refusal the
    /// provider says whether it fits now.
    fn after_compaction(&mut self, why: &Overflow, out: &mut Vec<Effect>) {
        self.failures = 0;
        match why {
            Overflow::Asked => self.end(TurnEnd::Completed, out),
            Overflow::Estimated => self.weigh(out),
            Overflow::Refused(_) | Overflow::Cut => self.request(out),
        }
    }

    fn nothing_to_compact(&mut self, why: Overflow, prevented: Option<String>, out: &mut Vec<Effect>) {
        let nothing = "there is nothing older to drop";
        let error = match why {
            Overflow::Estimated => return self.dispatch(out),
            Overflow::Asked => {
                let by_hook = |why| statuses::not_compacted(&format!("a hook prevents it: {why}"));
                let enough = || statuses::NOT_ENOUGH_TO_COMPACT.to_owned();
                out.push(Effect::status(prevented.map_or_else(enough, by_hook)));
                return self.end(TurnEnd::Completed, out);
            }
            Overflow::Refused(error) => {
                ProviderError { message: format!("{}; {nothing}", error.message), ..error }
            }
            Overflow::Cut => ProviderError::new(
                ErrorClass::ContextOverflow,
                format!("the conversation does not fit the context window, and {nothing}"),
            ),
        };
        let error = self.with_the_first(&error);
        self.end(TurnEnd::Failed { error }, out);
    }
}

fn commit(records: Vec<Record>, out: &mut Vec<Effect>) {
    if !records.is_empty() {
        out.push(Effect::Commit(records, Durability::Written));
    }
}
