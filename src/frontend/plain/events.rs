//! Events of the running turn, as lines. Called by the state for events that do not wait behind a question.

use std::time::Duration;

use super::approvals::{Origin, State};
use super::describe;
use super::state::{GATHER_MS, Plain};
use crate::agent::context::Summary;
use crate::agent::port::{Event, Settlement};
use crate::approval::{Decider, RequestId};
use crate::frontend::sentences;
use crate::history::TurnEnd;
use crate::message::{ToolCall, ToolReturn, UserPart, images};
use crate::stdx::moment::duration;

impl Plain {
    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Prompted { parts } => self.on_prompt(&parts),
            Event::TextDelta { text } => {
                self.end_thinking();
                self.page.flow(&text);
            }
            Event::TextCommitted { .. } => {
                self.end_thinking();
                self.page.flow_end();
            }
            Event::ThinkingDelta { text } => self.on_thinking(&text),
            Event::ThinkingCommitted { .. } => self.end_thinking(),
            Event::ToolArgs { index, name, delta } => {
                if let Some(line) = self.arguments.take(index, &name, &delta) {
                    self.end_thinking();
                    self.page.line(&line);
                }
            }
            Event::ToolProgress { .. } | Event::Usage { .. } => {}
            Event::ToolCall { call } => {
                self.end_thinking();
                self.arguments.clear();
                self.calls.entry(call.id).or_default();
            }
            Event::ToolPlanned { call, plan } => {
                self.calls.entry(call.id).or_default().summary = plan.summary;
            }
            Event::ToolRunning { call } => self.on_tool_start(&call),
            Event::ToolReturn { call, returned } => self.on_return(&call, &returned),
            Event::ApprovalNeeded { request } => {
                self.end_thinking();
                let known = self.calls.entry(request.call.clone()).or_default();
                known.summary.clone_from(&request.plan.summary);
                known.start_unprinted = true;
                self.approvals.add(request, Origin::Own);
                self.ask_at = self.now_ms + GATHER_MS;
            }
            Event::ApprovalSettled { request, settled } => self.on_settlement(&request, &settled),
            Event::Retry { class, message, wait, attempt, of, then } => {
                let text = sentences::retry(class, &message, wait, (attempt, of), then.as_deref());
                self.tell(&text);
            }
            Event::FellBack { from, to, class: _, why } => {
                self.page.line(&format!("{}.", sentences::failover(&from, &to, &why)));
            }
            Event::PartialReset => {
                self.page.flow_end();
                self.arguments.clear();
                self.thinking_since = None;
                self.tell(sentences::STARTS_AGAIN);
            }
            Event::Compacting { messages } => self.tell(&sentences::compaction_start(messages)),
            Event::Compacted { compacted } => {
                self.tell(&sentences::compaction(&compacted));
                if let Summary::Written { text, .. } = &compacted.summary {
                    self.page.block(text, "  ");
                }
            }
            Event::CapReached { question } => {
                self.end_thinking();
                self.cap_reached(question);
            }
            Event::CapAnswered { question, answer } => {
                self.cap = None;
                if let Some(text) = sentences::cap_answer_effect(&question, answer) {
                    self.tell(&text);
                }
            }
            Event::Status { text } | Event::Refused { why: text } | Event::DecisionsLost { text, .. } => {
                self.page.line(&text);
            }
            Event::TurnEnded { end } => self.on_turn_end(&end),
        }
    }

    /// Prints what several front ends say.
    pub(super) fn tell(&mut self, text: &str) {
        self.page.line(&describe::sentence(text));
    }

    pub(super) fn on_prompt(&mut self, parts: &[UserPart]) {
        let mut pictures = (1..).zip(images::prompt_images(parts));
        for part in parts {
            match part {
                UserPart::Text { text } if self.echoed.as_deref().map(str::trim) == Some(text.trim()) => {
                    self.echoed = None;
                }
                UserPart::Text { text } => self.print_user_text(text),
                UserPart::Image { .. } => {
                    if let Some((number, picture)) = pictures.next() {
                        self.page.line(&describe::picture(number, &picture));
                    }
                }
                UserPart::Note { kind, text } => {
                    if let Some(line) = describe::note(kind, text) {
                        self.page.line(&line);
                    }
                }
            }
        }
    }

    /// Prints the user's text, of one or several lines.
    fn print_user_text(&mut self, text: &str) {
        let mut lines = text.trim_end().split('\n');
        self.page.line(&format!("You: {}", lines.next().unwrap_or_default()));
        lines.for_each(|line| self.page.block(&format!("{line}\n"), "  "));
    }

    fn on_thinking(&mut self, text: &str) {
        if self.thinking_since.is_none() {
            self.thinking_since = Some(self.now_ms);
            self.page.line("Thinking.");
        }
        if self.setup.shows_thoughts {
            self.page.flow(text);
        }
    }

    fn end_thinking(&mut self) {
        if let Some(since) = self.thinking_since.take() {
            let took = Duration::from_millis(self.now_ms.saturating_sub(since));
            self.page.line(&format!("Thought for {}.", duration(took)));
        }
    }

    fn on_tool_start(&mut self, call: &ToolCall) {
        let known = self.calls.entry(call.id.clone()).or_default();
        if std::mem::take(&mut known.start_unprinted) {
            let text = format!("{}, started.", describe::tool_of(call.name.as_str(), &known.summary));
            self.page.line(&text);
        }
    }

    fn on_return(&mut self, call: &ToolCall, returned: &ToolReturn) {
        let known = self.calls.remove(&call.id).unwrap_or_default();
        let (line, tail) = describe::return_row(call.name.as_str(), &known.summary, returned);
        self.page.line(&line);
        if let Some(tail) = tail {
            self.page.block(&tail, "  ");
        }
        self.has_plan |= returned.done.as_ref().is_some_and(|done| done.is_planned);
    }

    fn on_settlement(&mut self, id: &RequestId, settled: &Settlement) {
        let Some(entry) = self.approvals.get(id) else { return };
        let (number, sent) = (entry.number, entry.state == State::Sent);
        let text = sentences::settlement(Some(&entry.request), settled, None);
        let stays = settled.is_postponed();
        let was_postponed = stays && entry.state == State::Postponed;
        if stays {
            self.approvals.mark(id, State::Postponed);
        } else {
            self.approvals.remove(id);
        }
        let ours = sent && matches!(settled, Settlement::Decided { by: Decider::Plain, .. });
        if ours || was_postponed {
            return;
        }
        self.page.line(&format!("Approval {}: {text}.", number.max(1)));
    }

    fn on_turn_end(&mut self, end: &TurnEnd) {
        self.end_thinking();
        self.page.flow_end();
        self.arguments.clear();
        self.calls.clear();
        self.cap = None;
        if *end == TurnEnd::Deferred {
            // The line below says it.
            self.reported_waiting =
                self.approvals.count(State::Postponed) + self.approvals.count(State::Sent);
        }
        let closes_pipe = self.input_ended && *end == TurnEnd::Deferred;
        if closes_pipe {
            self.tell(&sentences::deferral("with `co resume`"));
        } else if let Some(text) = describe::turn_end(end) {
            self.page.line(&text);
        }
        if std::mem::take(&mut self.has_plan) && *end == TurnEnd::Completed {
            self.tell(sentences::PLANNED);
        }
    }
}
