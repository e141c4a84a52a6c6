//! Applies a turn's events to the transcript and the status.

use super::settled;
use super::turn::{end_live, end_turn, keep, note, phase, rest};
use crate::agent::context::{CompactionReport, Summary};
use crate::agent::port::Event;
use crate::frontend::protocol::Tone;
use crate::frontend::sentences;
use crate::history::TurnEnd;
use crate::message::{ToolCall, ToolReturn, Usd, UserPart};
use crate::stdx::text::group_digits;
use crate::tool::TODO;
use crate::tui::batch;
use crate::tui::cap;
use crate::tui::cells::{Answer, CallDraft, CallRow, CallState, Cell, CellKind, Thinking, conversation};
use crate::tui::keys::{Action, Context};
use crate::tui::model::{Focus, Model, Phase, Retry};
use crate::tui::steps;

pub fn take(model: &mut Model, event: Event) {
    if let Some(turn) = &mut model.turn {
        turn.last_event_ms = model.now_ms;
    }
    match event {
        Event::Prompted { parts } => on_prompt(model, &parts),
        Event::TextDelta { text } => on_text_delta(model, &text),
        Event::TextCommitted { text } => on_text_commit(model, text),
        Event::ThinkingDelta { text } => on_thinking_delta(model, &text),
        Event::ThinkingCommitted { text } => on_thinking_commit(model, &text),
        Event::ToolArgs { index, name, delta } => on_tool_args(model, index, name, &delta),
        Event::ToolCall { call } => on_tool_call(model, &call),
        Event::ToolPlanned { call, plan: _ } => {
            if let Some(row) = model.transcript.call_mut(&call.id) {
                row.becomes(&call.name, &call.args);
            }
        }
        Event::ToolRunning { call } => on_tool_start(model, &call),
        Event::ToolProgress { progress } => {
            if let Some(row) = model.transcript.call_mut(&progress.call) {
                row.push(&progress.text);
            }
        }
        Event::ToolReturn { call, returned } => on_tool_return(model, &call, &returned),
        Event::ApprovalNeeded { request } => {
            if let Some(row) = model.transcript.call_mut(&request.call) {
                row.wait(&request.args);
            }
            model.cards.add(request);
            if model.focus != Focus::Card || model.auto_focus.is_on {
                // The user has not moved the cursor: it starts at the first row, whatever was planned first.
                model.cards.go_to(None);
            }
            batch::keys::name(model);
            rest(model);
        }
        Event::ApprovalSettled { request, settled } => settled::take(model, &request, &settled),
        Event::Retry { class, message, wait, attempt, of, then } => {
            let since_ms = model.now_ms;
            model.retry = Some(Retry { class, message, since_ms, wait, attempt, of, then, sent: false });
        }
        Event::FellBack { from, to, class: _, why } => on_fallback(model, &from, to, &why),
        Event::Refused { why } => {
            let title = "no answer".to_owned();
            model.transcript.push(Cell::new(CellKind::Local { title, text: why, tone: Tone::Warning }));
        }
        Event::PartialReset => {
            // It stays on the screen until something takes its place.
            if let Some(turn) = &mut model.turn {
                turn.shows_failed_text = true;
            }
            end_live(model);
            phase(model, Phase::Asking);
        }
        Event::CapReached { question } => cap::keys::on_cap(model, question),
        Event::CapAnswered { question, answer } => cap::keys::on_answer(model, &question, answer),
        Event::Usage { usage, model: _, cost } => {
            if let Some(turn) = &mut model.turn {
                turn.used.count(Some(usage), cost, None);
            }
            if let (Some(turn), Some(output)) = (&mut model.turn, usage.output) {
                turn.tokens = Some(turn.tokens.unwrap_or(0) + output);
                turn.streamed = 0;
            }
        }
        Event::Compacting { messages } => note(model, &sentences::compaction_start(messages)),
        Event::Compacted { compacted } => on_compaction(model, &compacted),
        Event::Status { text } => note(model, &text),
        Event::DecisionsLost { requests, text } => {
            if let Some(panel) = &mut model.panel {
                panel.state_mut().on_decisions_lost(&requests, &text);
            }
            note(model, &text);
        }
        Event::TurnEnded { end } => on_turn_end(model, end),
    }
}

/// Shows the boundary in the transcript: what is above is known to the model by the summary only.
fn on_compaction(model: &mut Model, compacted: &CompactionReport) {
    let line = sentences::compaction(compacted);
    match &compacted.summary {
        Summary::None { .. } => note(model, &line),
        Summary::Written { text, .. } => {
            let text = format!("{line}. `/compact undo` brings them back to the model.\n\n{text}");
            let title = "compacted".to_owned();
            model.transcript.push(Cell::new(CellKind::Local { title, text, tone: Tone::Plain }));
        }
    }
}

/// Shows the failover in the transcript, and in the header until the turn ends.
fn on_fallback(model: &mut Model, from: &str, to: String, why: &str) {
    model.retry = None;
    note(model, &sentences::failover(from, &to, why));
    if let Some(turn) = &mut model.turn {
        turn.stand_in = Some(to);
    }
}

/// Records streamed data; the request was answered, so a retry is over.
fn on_stream(model: &mut Model, bytes: usize, phase: Phase) {
    drop_failed_text(model);
    model.retry = None;
    if let Some(turn) = &mut model.turn {
        turn.streamed += bytes;
        turn.phase = phase;
    }
}

fn on_prompt(model: &mut Model, parts: &[UserPart]) {
    keep(model);
    for part in parts {
        if let UserPart::Text { text } = part
            && let Some(at) = model.queue.iter().position(|queued| queued.trim() == text.trim())
        {
            model.queue.remove(at);
        }
    }
    for mut cell in conversation::user_cells(parts) {
        if let CellKind::User { text, short } = &mut cell.kind {
            *short = model.sent_short.take_if(|(sent, _)| sent == text.trim()).map(|(_, short)| short);
        }
        model.transcript.push(cell);
    }
    phase(model, Phase::Asking);
}

/// Removes what was shown of a reply that starts again.
fn drop_failed_text(model: &mut Model) {
    if let Some(turn) = &mut model.turn
        && std::mem::take(&mut turn.shows_failed_text)
    {
        model.transcript.retain(|cell| !cell.provisional);
    }
}

fn on_text_delta(model: &mut Model, text: &str) {
    on_stream(model, text.len(), Phase::Answering);
    end_thinking(model);
    let live = |cell: &&mut Cell| matches!(&cell.kind, CellKind::Answer(answer) if answer.is_live());
    if model.transcript.part_mut().filter(live).is_none() {
        model.transcript.push(Cell::provisional(CellKind::Answer(Box::new(Answer::live()))));
    }
    if let Some(Cell { kind: CellKind::Answer(answer), .. }) = model.transcript.part_mut() {
        answer.push(text);
    }
}

fn on_text_commit(model: &mut Model, text: String) {
    on_stream(model, 0, Phase::Answering);
    end_thinking(model);
    model.last_answer = Some(text.clone());
    let live =
        model.transcript.newest_mut(|kind| matches!(kind, CellKind::Answer(answer) if answer.is_live()));
    match live {
        Some(Cell { kind: CellKind::Answer(answer), .. }) => answer.commit(text),
        Some(_) | None => {
            let answer = Box::new(Answer::committed(text));
            model.transcript.push(Cell::provisional(CellKind::Answer(answer)));
        }
    }
}

fn on_thinking_delta(model: &mut Model, text: &str) {
    on_stream(model, text.len(), Phase::Thinking);
    let now = model.now_ms;
    let live = |cell: &&mut Cell| matches!(&cell.kind, CellKind::Thinking(thinking) if thinking.is_live());
    if model.transcript.part_mut().filter(live).is_none() {
        model.transcript.push(Cell::provisional(CellKind::Thinking(Thinking::live(now))));
    }
    if let Some(cell) = model.transcript.part_mut()
        && let CellKind::Thinking(thinking) = &mut cell.kind
    {
        thinking.push(text);
        cell.touch();
    }
}

fn live_thinking(model: &mut Model) -> Option<&mut Thinking> {
    let cell = model
        .transcript
        .newest_mut(|kind| matches!(kind, CellKind::Thinking(thinking) if thinking.is_live()))?;
    if let CellKind::Thinking(thinking) = &mut cell.kind { Some(thinking) } else { None }
}

fn on_thinking_commit(model: &mut Model, text: &str) {
    drop_failed_text(model);
    let now = model.now_ms;
    match live_thinking(model) {
        Some(thinking) => thinking.commit(Some(text), now),
        // The deltas were shown and folded already, or there were none.
        None if text.trim().is_empty() => {}
        None => {
            let shown = |kind: &CellKind| matches!(kind, CellKind::Thinking(_));
            let folded =
                model.transcript.fresh_cells().iter().any(|cell| cell.provisional && shown(&cell.kind));
            if !folded {
                model.transcript.push(Cell::provisional(CellKind::Thinking(Thinking::committed(text))));
            }
        }
    }
}

/// Folds live thinking when the answer or a call begins.
fn end_thinking(model: &mut Model) {
    if let Some(cell) = model.transcript.part_mut()
        && let CellKind::Thinking(thinking) = &mut cell.kind
        && thinking.is_live()
    {
        thinking.commit(None, model.now_ms);
        cell.touch();
    }
}

fn on_tool_args(model: &mut Model, index: usize, name: String, delta: &str) {
    on_stream(model, delta.len(), Phase::Answering);
    end_thinking(model);
    let is_it = |kind: &CellKind| matches!(kind, CellKind::CallDraft(draft) if draft.index == index);
    if model.transcript.newest_mut(is_it).is_none() {
        model.transcript.push(Cell::provisional(CellKind::CallDraft(CallDraft::new(index, name))));
    }
    if let Some(Cell { kind: CellKind::CallDraft(draft), .. }) = model.transcript.newest_mut(is_it) {
        draft.push(delta);
    }
}

fn on_tool_call(model: &mut Model, call: &ToolCall) {
    drop_failed_text(model);
    end_live(model);
    keep(model);
    // A resumed turn names its open calls again.
    if model.transcript.call_mut(&call.id).is_some() {
        return;
    }
    let row = |preview| CellKind::Call(Box::new(CallRow::new(call).with_preview(preview)));
    // Drafts and calls arrive in the same order, so the oldest draft belongs to this call.
    for cell in model.transcript.fresh_mut() {
        if let CellKind::CallDraft(draft) = &cell.kind {
            let preview = draft.preview_of(call);
            return cell.replace(row(preview));
        }
    }
    model.transcript.push(Cell::new(row(None)));
}

fn on_tool_start(model: &mut Model, call: &ToolCall) {
    let now = model.now_ms;
    if model.transcript.call_mut(&call.id).is_none() {
        on_tool_call(model, call);
    }
    if let Some(row) = model.transcript.call_mut(&call.id) {
        row.becomes(&call.name, &call.args);
        row.run(now);
    }
    if let Some(turn) = &mut model.turn {
        turn.running += 1;
        turn.phase = Phase::Tools;
    }
}

fn on_tool_return(model: &mut Model, call: &ToolCall, returned: &ToolReturn) {
    let now = model.now_ms;
    if call.name.as_str() == TODO
        && let Some(steps) = steps::of_return(returned)
    {
        model.steps = steps;
    }
    if model.transcript.call_mut(&call.id).is_none() {
        on_tool_call(model, call);
    }
    let Some(row) = model.transcript.call_mut(&call.id) else { return };
    let ran = row.state == CallState::Running;
    row.finish(returned, Some(now));
    if let Some(turn) = &mut model.turn {
        turn.has_plan |= returned.done.as_ref().is_some_and(|done| done.is_planned);
        turn.running -= usize::from(ran && turn.running > 0);
    }
    rest(model);
}

fn on_turn_end(model: &mut Model, end: TurnEnd) {
    let used = model.turn.as_ref().map(|turn| turn.used).unwrap_or_default();
    let has_plan = model.turn.as_ref().is_some_and(|turn| turn.has_plan);
    let is_part = |cell: &Cell| cell.provisional && cell.kind.is_of_reply();
    let is_cut = model.transcript.fresh_cells().iter().any(is_part);
    end_turn(model);
    if is_cut && matches!(end, TurnEnd::Failed { .. }) {
        note(model, sentences::CUT_OFF);
    }
    if used.usd > Usd(0) {
        let at_least = if used.unpriced > 0 { "at least " } else { "" };
        let tokens = group_digits(used.tokens);
        note(model, &format!("this turn cost {at_least}{} for {tokens} tokens", used.usd));
    }
    match end {
        TurnEnd::Completed if has_plan => {
            note(model, sentences::PLANNED);
        }
        TurnEnd::Completed => {}
        TurnEnd::Deferred => {
            let key = model.keymap.around(" (", Context::Global, Action::FocusCard, ")");
            let text = sentences::deferral(&format!("here{key}"));
            model.transcript.push(Cell::new(CellKind::Waits { text }));
        }
        TurnEnd::Interrupted => note(model, sentences::STOPPED),
        TurnEnd::LimitReached { limit } => note(model, &sentences::limit_with_advice(limit)),
        TurnEnd::Failed { error } => {
            let (message, advice) = (error.describe(), error.advice());
            model.transcript.push(Cell::new(CellKind::Failure { message, advice }));
        }
    }
}
