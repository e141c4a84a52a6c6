//! Shows the outcome of a request in one line: on the row of its call, or else in a line of its own. Called for every
//! settlement; decides nothing.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::auto_focus;
use super::turn::rest;
use crate::agent::port::Settlement;
use crate::approval::{Approval, Decider, DecisionKind, RequestId};
use crate::frontend::protocol::Tone;
use crate::frontend::sentences::{self, DecisionSentence};
use crate::message::{ReturnStatus, ToolCall};
use crate::stdx::moment::moment;
use crate::store::PastDecision;
use crate::tool::builtin::{AskUser, TypedTool};
use crate::tui::batch::awaited_cards;
use crate::tui::cards::{Card, CardStage};
use crate::tui::cells::{CallState, Cell, CellKind, call};
use crate::tui::model::{Focus, Model};

/// Most calls named in such a line.
const NAMED: usize = 2;

const HERE: Decider = Decider::Tui;

pub fn take(model: &mut Model, id: &RequestId, settled: &Settlement) {
    // A postponed request is still pending: its card stays and is hidden.
    if settled.is_postponed() {
        model.cards.postpone(id);
        return rest(model);
    }
    let Some(card) = model.cards.remove(id) else { return };
    // Keys that were meant for what was new must not reach what was postponed.
    if !card.was_postponed && model.cards.current().is_some_and(|next| next.was_postponed) {
        auto_focus::leave(model);
        if model.focus == Focus::Card {
            model.focus = Focus::Composer;
        }
    }
    let (mut outcome, tone) = drop_outcome(model, &card, settled).unwrap_or_else(|| outcome(&card, settled));
    let runs_after = runs_after(model, &card, settled);
    match model.transcript.call_mut(&card.request.call) {
        Some(row) => {
            if let Some(file) = row.rule_file.take() {
                outcome.add_fact(&format!("rule saved in {file}"));
            }
            row.decision = Some(outcome);
            row.runs_after = runs_after;
            if row.state == CallState::Waiting {
                row.state = match settled {
                    Settlement::Decided { approval: Approval::Deny { .. }, .. } => {
                        CallState::Done(ReturnStatus::Denied)
                    }
                    Settlement::Withdrawn => CallState::Done(ReturnStatus::Interrupted),
                    Settlement::Expired | Settlement::Superseded => CallState::Done(ReturnStatus::Undecided),
                    Settlement::Decided { .. } | Settlement::Late => CallState::Planned,
                };
            }
        }
        None => {
            let tool = card.request.tool.as_str().to_owned();
            let (subject, outcome) = (call::subject(&card.request.args), outcome.to_string());
            model.transcript.push(Cell::new(CellKind::Settled { tool, subject, outcome, tone }));
        }
    }
    rest(model);
}

/// Returns the outcome of a call that was dropped because of another one.
fn drop_outcome(model: &Model, card: &Card, settled: &Settlement) -> Option<(DecisionSentence, Tone)> {
    let stops = model.turn.as_ref().is_some_and(|turn| turn.stop_asked);
    let is_dropped = *settled == Settlement::Withdrawn && !stops && !card.after.is_empty();
    let sentence = || DecisionSentence::of("cancelled: the call it runs after did not run");
    is_dropped.then(|| (sentence(), Tone::Warning))
}

/// Names the undecided calls that an approved call waits for.
fn runs_after(model: &Model, card: &Card, settled: &Settlement) -> Option<String> {
    let Settlement::Decided { approval: Approval::Approve { .. }, .. } = settled else { return None };
    let name = |card: &Card| format!("{} {}", card.request.tool, call::subject(&card.request.args));
    let before: Vec<String> =
        awaited_cards(&model.cards, card).into_iter().map(|card| name(card).trim().to_owned()).collect();
    let more = match before.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!before.is_empty()).then(|| format!("{}{more}", before[..before.len().min(NAMED)].join(", ")))
}

/// Describes an earlier decision on a call, with its time.
pub fn past(call: &ToolCall, one: &PastDecision, now: Timestamp, zone: &TimeZone) -> DecisionSentence {
    let PastDecision { approval, by, .. } = one;
    let coverage = sentences::coverage(Some((&call.name, &call.args)), approval);
    let mut sentence = sentences::decision(None, approval, by, Some(&HERE), coverage);
    if call.name.as_str() == AskUser::NAME && matches!(approval, Approval::Approve { .. }) {
        sentence.kind = Some(DecisionKind::Answered);
    }
    sentence.add(&format!(" ({})", moment(one.at, now, zone)));
    sentence
}

fn outcome(card: &Card, settled: &Settlement) -> (DecisionSentence, Tone) {
    let Card { request, stage, .. } = card;
    let tone = match settled {
        Settlement::Decided { approval: Approval::Approve { .. }, .. } => Tone::Plain,
        Settlement::Decided { approval: Approval::Deny { .. }, .. } => Tone::Error,
        Settlement::Decided { approval: Approval::Later, .. }
        | Settlement::Withdrawn
        | Settlement::Late
        | Settlement::Superseded
        | Settlement::Expired => Tone::Warning,
    };
    let (mut sentence, by) = match settled {
        Settlement::Decided { approval, by } => {
            let coverage = match (stage, sentences::coverage(None, approval)) {
                (CardStage::Rule(form), Some(_)) if *by == HERE => Some(form.coverage()),
                _ => None,
            };
            (sentences::decision(Some(request), approval, by, Some(&HERE), coverage), Some(by))
        }
        _ => {
            let sentence = DecisionSentence::of(sentences::settlement(Some(request), settled, Some(&HERE)));
            (sentence, (*settled == Settlement::Expired).then_some(&Decider::Expiry))
        }
    };
    // The decision made here came too late.
    if let (CardStage::Deciding(sent), Some(by)) = (stage, by)
        && *by != HERE
    {
        sentence.add(&format!("; your {} came too late", sent.word()));
    }
    (sentence, tone)
}
