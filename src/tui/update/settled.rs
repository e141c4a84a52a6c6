//! Shows the outcome of a request in one line: on the row of its call, or else in a line of its own. Called for every
//! settlement; decides nothing.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::auto_focus;
use super::turn::rest;
use crate::agent::port::Settlement;
use crate::approval::rules::{RuleSet, RuleSource};
use crate::approval::{Approval, Decider, Grants, Remember, Request, RequestId};
use crate::frontend::protocol::Tone;
use crate::frontend::sentences;
use crate::message::{ReturnStatus, ToolCall, ToolName};
use crate::stdx::moment::moment;
use crate::store::PastDecision;
use crate::tool::builtin::{AskUser, TypedTool};
use crate::tui::batch::awaited;
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
    let (mut outcome, tone) = dropped(model, &card, settled).unwrap_or_else(|| outcome(&card, settled));
    let runs_after = runs_after(model, &card, settled);
    match model.transcript.call_mut(&card.request.call) {
        Some(row) => {
            if let Some(file) = row.rule_file.take() {
                outcome.push_str(&format!(", rule saved in {file}"));
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
                    Settlement::Decided { .. } | Settlement::Detached => CallState::Planned,
                };
            }
        }
        None => {
            let tool = card.request.tool.as_str().to_owned();
            let subject = call::subject(&card.request.args);
            model.transcript.push(Cell::new(CellKind::Settled { tool, subject, outcome, tone }));
        }
    }
    rest(model);
}

/// Returns the outcome of a call that was dropped because of another one.
fn dropped(model: &Model, card: &Card, settled: &Settlement) -> Option<(String, Tone)> {
    let stops = model.turn.as_ref().is_some_and(|turn| turn.stop_asked);
    let is_dropped = *settled == Settlement::Withdrawn && !stops && !card.after.is_empty();
    is_dropped.then(|| ("cancelled: the call it runs after did not run".to_owned(), Tone::Warning))
}

/// Names the undecided calls that an approved call waits for.
fn runs_after(model: &Model, card: &Card, settled: &Settlement) -> Option<String> {
    let Settlement::Decided { approval: Approval::Approve { .. }, .. } = settled else { return None };
    let name = |card: &Card| format!("{} {}", card.request.tool, call::subject(&card.request.args));
    let before: Vec<String> =
        awaited(&model.cards, card).into_iter().map(|card| name(card).trim().to_owned()).collect();
    let more = match before.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!before.is_empty()).then(|| format!("{}{more}", before[..before.len().min(NAMED)].join(", ")))
}

/// Describes an earlier decision on a call, with its time.
pub fn past(call: &ToolCall, one: &PastDecision, now: Timestamp, zone: &TimeZone) -> String {
    let asked = DecisionSubject { tool: &call.name, args: &call.args, request: None, stage: None };
    let PastDecision { approval, by, .. } = one;
    let words = match approval {
        Approval::Approve { .. } if call.name.as_str() == AskUser::NAME => {
            format!("answered{}", sentences::decider(by, Some(&HERE)))
        }
        Approval::Approve { .. } | Approval::Deny { .. } | Approval::Later => decision(&asked, approval, by),
    };
    format!("{words} ({})", moment(one.at, now, zone))
}

/// What a decision was about, as far as it is known.
struct DecisionSubject<'a> {
    tool: &'a ToolName,
    args: &'a Value,
    request: Option<&'a Request>,
    stage: Option<&'a CardStage>,
}

fn outcome(card: &Card, settled: &Settlement) -> (String, Tone) {
    let Card { request, stage, .. } = card;
    let asked = DecisionSubject {
        tool: &request.tool,
        args: &request.args,
        request: Some(request),
        stage: Some(stage),
    };
    let tone = match settled {
        Settlement::Decided { approval: Approval::Approve { .. }, .. } => Tone::Plain,
        Settlement::Decided { approval: Approval::Deny { .. }, .. } => Tone::Error,
        Settlement::Decided { approval: Approval::Later, .. }
        | Settlement::Withdrawn
        | Settlement::Detached
        | Settlement::Superseded
        | Settlement::Expired => Tone::Warning,
    };
    let words = match settled {
        Settlement::Decided { approval, by } => decision(&asked, approval, by) + &crossed(stage, by),
        Settlement::Expired => sentences::EXPIRED.to_owned() + &crossed(stage, &Decider::Expiry),
        Settlement::Withdrawn | Settlement::Detached | Settlement::Superseded => {
            sentences::settled(Some(request), settled, Some(&HERE))
        }
    };
    (words, tone)
}

fn decision(asked: &DecisionSubject<'_>, approval: &Approval, by: &Decider) -> String {
    let coverage = match (approval, by) {
        (
            Approval::Approve { remember: remember @ (Remember::Session | Remember::Rule), rule, .. },
            Decider::Tui | Decider::Plain,
        ) => Some(coverage(asked, *remember, rule.as_deref())),
        _ => None,
    };
    sentences::decision(asked.request, approval, by, Some(&HERE), coverage.as_deref())
}

/// Describes what a lasting approval covers, and for how long.
fn coverage(asked: &DecisionSubject<'_>, remember: Remember, rule: Option<&str>) -> String {
    if let Some(CardStage::Rule(form)) = asked.stage {
        return form.coverage();
    }
    let rules = rule.map(|text| RuleSet::parse(text, &RuleSource::Session, None).unwrap_or_default());
    match (remember, rules.as_deref()) {
        (Remember::Session, Some([rule, ..])) => format!("for this session: {}", rule.coverage()),
        (Remember::Session, _) => format!("for this session: {}", Grants::coverage(asked.tool, asked.args)),
        (Remember::Once | Remember::Rule, _) => "with a rule".to_owned(),
    }
}

/// Describes the decision made here that came too late, if any.
fn crossed(stage: &CardStage, by: &Decider) -> String {
    match (stage, by) {
        (CardStage::Deciding(word), by) if *by != HERE => {
            format!("; your {} came too late", word.split(',').next().unwrap_or(word))
        }
        _ => String::new(),
    }
}
