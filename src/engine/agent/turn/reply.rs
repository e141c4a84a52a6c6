//! One reply: its events as they stream, and the consequences of its end.

use super::{NextStep, Overflow, Phase, Turn};
use crate::agent::assemble::Step;
use crate::agent::effect::Effect;
use crate::agent::port::Event;
use crate::agent::statuses;
use crate::history::{Durability, Limit, Record, TurnEnd};
use crate::message::{AssistantMessage, StopKind, StopReason, ToolCall, Usage};
use crate::provider::StreamEvent;

/// The stop word if the window, not the output limit, cut the reply off (`wire.md` §0).
const WINDOW_EXCEEDED: &str = "model_context_window_exceeded";

impl Turn {
    pub(super) fn on_event(&mut self, event: StreamEvent, out: &mut Vec<Effect>) {
        let Phase::Streaming(assembler) = &mut self.phase else { return };
        if let StreamEvent::Started { model } = &event {
            self.model.clone_from(model);
        }
        let step = match assembler.apply(event) {
            Ok(step) => step,
            Err(error) => {
                out.push(Effect::CancelModel);
                return self.on_failure(&error, out);
            }
        };
        match step {
            Step::Nothing => {}
            Step::Text(text) => out.push(Effect::Show(Event::TextDelta { text })),
            Step::Thinking(text) => out.push(Effect::Show(Event::ThinkingDelta { text })),
            Step::TextDone(text) => out.push(Effect::Show(Event::TextCommitted { text })),
            Step::ThinkingDone(text) => out.push(Effect::Show(Event::ThinkingCommitted { text })),
            Step::Args { index, name, delta } => {
                out.push(Effect::Show(Event::ToolArgs { index, name, delta }));
            }
            Step::CallClosed(call) => {
                self.calls.add_early(call, &self.setup.rules);
                self.calls.advance(&mut self.setup.rules, out);
            }
            Step::Notice(text) => self.on_notice(text, out),
            Step::Finished(stop, usage) => self.on_finished(&stop, usage, out),
        }
    }

    /// Shows a provider's notice, once per turn.
    fn on_notice(&mut self, text: String, out: &mut Vec<Effect>) {
        if self.noticed.as_ref() != Some(&text) {
            out.push(Effect::status(&*text));
            self.noticed = Some(text);
        }
    }

    pub(super) fn on_checkpoint(&mut self, out: &mut Vec<Effect>) {
        let Phase::Streaming(assembler) = &mut self.phase else { return };
        if let Some(text) = assembler.fresh_text() {
            let record = Record::Partial { attempt: self.attempt, text };
            out.push(Effect::Commit(vec![record], Durability::Written));
        }
    }

    fn on_finished(&mut self, stop: &StopReason, usage: Usage, out: &mut Vec<Effect>) {
        let phase = std::mem::replace(&mut self.phase, Phase::Working);
        let Phase::Streaming(assembler) = phase else { return };
        self.failures = 0;
        self.compactions = 0;
        self.passed.clear();
        let shown = assembler.has_output();
        let cost = self.cost(Some(usage));
        out.push(Effect::Show(Event::Usage { usage, model: self.model.clone(), cost }));
        let Some(message) = assembler.finish(self.asked.name(), stop.clone()) else {
            return self.on_empty(stop, usage, out);
        };
        let calls: Vec<ToolCall> = message.calls().cloned().collect();
        if calls.is_empty() && self.retries_after_window(stop) {
            self.count_request(Some(usage), None, out);
            if shown {
                out.push(Effect::Show(Event::PartialReset));
            }
            return self.drain(NextStep::Compact(Overflow::Cut), out);
        }
        self.commit_reply(message, usage, out);
        if calls.is_empty() {
            return self.on_last_word(stop, out);
        }
        self.wire_ids.extend(calls.iter().map(|call| call.wire_id.clone()));
        self.calls.commit(calls, &self.setup.rules, out);
        self.go_on(out);
    }

    fn commit_reply(&mut self, message: AssistantMessage, usage: Usage, out: &mut Vec<Effect>) {
        self.budget.used.count(Some(usage), self.cost(Some(usage)), None);
        let ended = self.end_record(Some(usage), None);
        let said = Record::said(crate::message::Message::Assistant(message));
        out.push(Effect::Commit(vec![ended, said], Durability::Written));
    }

    /// Handles a committed reply without calls: the turn ends, or the same request goes on.
    fn on_last_word(&mut self, stop: &StopReason, out: &mut Vec<Effect>) {
        let end = match stop.kind {
            StopKind::PauseTurn => NextStep::Request,
            StopKind::MaxTokens => {
                out.extend(window_was_full(stop).then(|| Effect::status(statuses::WINDOW_CUT)));
                NextStep::End(TurnEnd::LimitReached { limit: Limit::Output })
            }
            StopKind::Refusal => self.on_refusal(stop, out),
            StopKind::EndTurn
            | StopKind::ToolUse
            | StopKind::StopSequence
            | StopKind::Interrupted
            | StopKind::Other => NextStep::Complete,
        };
        // Calls of a refusal came early and are dropped; those that run must end first.
        self.drain(end, out);
    }

    /// Handles a reply of which nothing can be kept.
    fn on_empty(&mut self, stop: &StopReason, usage: Usage, out: &mut Vec<Effect>) {
        self.count_request(Some(usage), None, out);
        let next = match stop.kind {
            StopKind::MaxTokens if self.retries_after_window(stop) => NextStep::Compact(Overflow::Cut),
            StopKind::MaxTokens => {
                out.extend(window_was_full(stop).then(|| Effect::status(statuses::WINDOW_FULL)));
                NextStep::End(TurnEnd::LimitReached { limit: Limit::Output })
            }
            StopKind::Refusal => self.on_refusal(stop, out),
            StopKind::PauseTurn => NextStep::Request,
            StopKind::EndTurn
            | StopKind::ToolUse
            | StopKind::StopSequence
            | StopKind::Interrupted
            | StopKind::Other => {
                out.push(Effect::status(statuses::NO_ANSWER));
                NextStep::End(TurnEnd::Completed)
            }
        };
        self.drain(next, out);
    }

    fn on_refusal(&mut self, stop: &StopReason, out: &mut Vec<Effect>) -> NextStep {
        out.push(Effect::Show(Event::Refused { why: refusal(stop) }));
        NextStep::End(TurnEnd::Completed)
    }

    /// Whether the request is repeated with fewer messages because the window was full; once per turn.
    fn retries_after_window(&mut self, stop: &StopReason) -> bool {
        let retries = window_was_full(stop) && !self.compacted_after_refusal;
        if retries {
            self.compacted_after_refusal = true;
        }
        retries
    }
}

/// The stop words of a model that refuses by itself; all others are a filter's (`wire.md` §0).
const OWN_WORDS: [&str; 4] = ["refusal", "stop", "end_turn", "completed"];

/// The prefix of the stop word if a filter refused the prompt itself.
const OF_THE_PROMPT: &str = "promptFeedback:";

/// Describes a refusal in a sentence: by the model itself, or by a filter.
fn refusal(stop: &StopReason) -> String {
    let why = stop.detail.as_deref().map(|detail| detail.trim().trim_end_matches('.'));
    let why = why.filter(|why| !why.is_empty());
    let filter = stop.raw.as_deref().filter(|word| !OWN_WORDS.contains(word));
    let who = match filter.map(|word| (word, word.strip_prefix(OF_THE_PROMPT))) {
        None => "The model refused".to_owned(),
        Some((_, Some(word))) => format!("The provider's filter refused the prompt ({word})"),
        Some((word, None)) => format!("The provider's filter stopped the answer ({word})"),
    };
    match (why, filter) {
        (Some(why), _) => format!("{who}: {why}."),
        (None, Some(_)) => format!("{who}."),
        (None, None) => format!("{who} without giving a reason."),
    }
}

/// Whether the model's window, not its output limit, cut the reply off.
fn window_was_full(stop: &StopReason) -> bool {
    stop.raw.as_deref() == Some(WINDOW_EXCEEDED)
}
