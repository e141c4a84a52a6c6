//! How a call ends: its return is recorded and shown; for early calls after their reply is committed.

use serde_json::Value;

use super::reasons::person_note;
use super::{Calls, ChangedBy, Stage, State, TrackedCall};
use crate::agent::effect::Effect;
use crate::agent::port::Event;
use crate::history::{Durability, Record, SEEN};
use crate::message::{CallId, CallReport, ReturnPart, ReturnStatus, ToolCall, ToolReturn};
use crate::tool::{DiffLine, Preview, Resource, SeenVersions, Version, hunks};

impl Calls {
    /// Handles the end of a tool; `seen` are the versions that its output showed or its run wrote, `state` is what the
    /// tool keeps in the session.
    pub(in crate::agent) fn on_tool_end(
        &mut self,
        mut returned: ToolReturn,
        (seen, state): (Vec<(Resource, Version)>, Option<Value>),
        out: &mut Vec<Effect>,
    ) {
        let Some(at) = self.position(&returned.call) else { return };
        let State::Running = self.calls[at].state else { return };
        self.moves += 1;
        let mut records = Vec::new();
        let one = &self.calls[at];
        if one.is_read() {
            records.extend(self.judgement_record(at));
        } else {
            self.own_writes.extend(seen.iter().cloned());
        }
        if !seen.is_empty() {
            let seen: SeenVersions = seen.into_iter().collect();
            if let Ok(value) = serde_json::to_value(seen) {
                records.push(Record::State { tool: SEEN.to_owned(), value });
            }
        }
        let one = &self.calls[at];
        if let Some(value) = state {
            records.push(Record::State { tool: one.tool.0.clone(), value });
        }
        returned.done = call_report(one, &mut returned);
        if let Some(changed_by) = one.changed_by {
            returned.content.insert(0, ReturnPart::Text { text: what_ran(changed_by, &one.effective()) });
        }
        self.end_with(at, returned, records, out);
    }

    pub(super) fn finish_unless_done(
        &mut self,
        at: usize,
        status: ReturnStatus,
        text: String,
        out: &mut Vec<Effect>,
    ) {
        let returned = ToolReturn::program(self.calls[at].call.id.clone(), status, text);
        self.finish_as(at, returned, None, out);
    }

    /// Ends a call that was denied; `words` name who denied it and why, for people.
    pub(super) fn finish_denied(
        &mut self,
        at: usize,
        (text, words): (String, String),
        judged: Option<Record>,
        out: &mut Vec<Effect>,
    ) {
        let id = self.calls[at].call.id.clone();
        let returned = ToolReturn::program(id, ReturnStatus::Denied, text);
        self.finish_as(at, ToolReturn { done: CallReport::from_words(words), ..returned }, judged, out);
    }

    /// Ends a call that plan mode only shows.
    pub(super) fn finish_planned(
        &mut self,
        at: usize,
        text: String,
        judged: Option<Record>,
        out: &mut Vec<Effect>,
    ) {
        let one = &self.calls[at];
        let change = planned_change(one).unwrap_or_default().to_vec();
        let returned = ToolReturn::program(one.call.id.clone(), ReturnStatus::Denied, text);
        let done = Some(Box::new(CallReport { change, is_planned: true, ..CallReport::default() }));
        self.finish_as(at, ToolReturn { done, ..returned }, judged, out);
    }

    /// Ends a call, with its record for the audit.
    fn finish_as(&mut self, at: usize, returned: ToolReturn, judged: Option<Record>, out: &mut Vec<Effect>) {
        if self.calls[at].is_done() {
            return;
        }
        self.moves += 1;
        self.end_with(at, returned, judged.into_iter().collect(), out);
    }

    fn end_with(
        &mut self,
        at: usize,
        mut returned: ToolReturn,
        mut records: Vec<Record>,
        out: &mut Vec<Effect>,
    ) {
        let one = &mut self.calls[at];
        if let Some(note) = one.note.take() {
            returned.content.insert(0, ReturnPart::Text { text: person_note(&note) });
        }
        if self.stage == Stage::Early {
            records.push(Record::ToolFinished { returned: returned.clone() });
            one.state = State::Done(returned);
            self.early_records.extend(records);
            return;
        }
        // Late calls repeat nothing: the model did not make them in this turn.
        if self.stage == Stage::Committed {
            returned.content.extend(self.repeats.count(&one.tool, &one.args, &returned));
        }
        records.push(Record::ToolFinished { returned: returned.clone() });
        one.state = State::Done(returned.clone());
        out.push(Effect::Commit(records, Durability::Written));
        out.push(Effect::Show(Event::ToolReturn { call: one.effective(), returned }));
    }

    /// Counts, records and shows the effects of early calls, now that the reply is in the store.
    pub(super) fn record_early(&mut self, out: &mut Vec<Effect>) {
        let mut kept = Vec::new();
        for mut record in std::mem::take(&mut self.early_records) {
            if let Record::Judged { call, .. } = &record
                && self.position(call).is_none()
            {
                continue;
            }
            if let Record::ToolFinished { returned } = &mut record {
                let Some(at) = self.position(&returned.call) else { continue };
                let one = &mut self.calls[at];
                returned.content.extend(self.repeats.count(&one.tool, &one.args, returned));
                one.state = State::Done(returned.clone());
            }
            kept.push(record);
        }
        if !kept.is_empty() {
            out.push(Effect::Commit(kept, Durability::Written));
        }
        for one in &self.calls {
            let call = one.effective();
            out.push(Effect::Show(Event::ToolCall { call: one.call.clone() }));
            // Planned while the reply still streamed; shown now, like every other call's plan.
            if let Some(plan) = &one.plan {
                out.push(Effect::Show(Event::ToolPlanned { call: call.clone(), plan: plan.clone() }));
            }
            match &one.state {
                State::Running => out.push(Effect::Show(Event::ToolRunning { call })),
                State::Done(returned) => {
                    out.push(Effect::Show(Event::ToolReturn { call, returned: returned.clone() }));
                }
                State::Held
                | State::Planning(_)
                | State::Hooking
                | State::Undecided
                | State::Waiting
                | State::Ready => {}
            }
        }
    }

    pub(super) fn position(&self, call: &CallId) -> Option<usize> {
        self.calls.iter().position(|one| one.call.id == *call)
    }
}

/// Returns what people are shown of a call that ran: the change as planned just before the run.
fn call_report(one: &TrackedCall, returned: &mut ToolReturn) -> Option<Box<CallReport>> {
    let mut done = returned.done.take().unwrap_or_default();
    if returned.status == ReturnStatus::Ok
        && let Some(lines) = planned_change(one)
    {
        lines.clone_into(&mut done.change);
        done.hunks_asked =
            one.request.as_ref().and_then(|asked| hunks::asked_hunks(&asked.plan.preview, lines));
    }
    done.ran = one.changed_by.map(|_| (one.tool.clone(), one.args.clone()));
    (*done != CallReport::default()).then_some(done)
}

/// Returns the lines of the planned change; `None` if the plan is no diff.
fn planned_change(one: &TrackedCall) -> Option<&[DiffLine]> {
    match &one.plan.as_ref()?.preview {
        Preview::Diff { lines, .. } => Some(lines),
        Preview::None | Preview::Text { .. } | Preview::Fields { .. } => None,
    }
}

/// Returns the text that informs the model of the call that ran instead of its own.
fn what_ran(changed_by: ChangedBy, ran: &ToolCall) -> String {
    let who = match changed_by {
        ChangedBy::Person => "The user changed this call before approving it",
        ChangedBy::Hook => "A hook changed this call",
    };
    format!("[{who}. What really ran: {} {}]", ran.name, ran.args)
}
