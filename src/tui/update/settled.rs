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
use crate::message::{ReturnStatus, ToolCall, ToolName};
use crate::stdx::moment::moment;
use crate::stdx::text::one_line_summary;
use crate::store::PastDecision;
use crate::tool::builtin::{AskUser, TypedTool};
use crate::tui::batch::awaited;
use crate::tui::cards::{Card, CardStage};
use crate::tui::cells::{CallState, Cell, CellKind, call};
use crate::tui::model::{Focus, Model};

/// Most calls named in such a line.
const NAMED: usize = 2;

/// Most cells of untrusted words in such a line.
const WORDS: usize = 80;

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
    let mut words = match approval {
        Approval::Approve { .. } if call.name.as_str() == AskUser::NAME => format!("answered{}", whose(by)),
        Approval::Approve { .. } | Approval::Deny { .. } | Approval::Later => {
            decision(&asked, approval, by).0
        }
    };
    if let (Decider::Tui, Approval::Approve { .. }) = (by, approval) {
        let (word, rest) = words.split_once(' ').unwrap_or((&words, ""));
        words = format!("{word} by you {rest}").trim_end().to_owned();
    }
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
    match settled {
        Settlement::Decided { approval, by } => decision(&asked, approval, by),
        Settlement::Withdrawn => ("withdrawn: the turn was stopped".to_owned(), Tone::Warning),
        Settlement::Detached => ("waiting in the inbox".to_owned(), Tone::Warning),
        Settlement::Superseded => ("replaced by a new request".to_owned(), Tone::Warning),
        Settlement::Expired => {
            (format!("expired, not run{}", crossed(&asked, &Decider::Expiry)), Tone::Warning)
        }
    }
}

fn decision(asked: &DecisionSubject<'_>, approval: &Approval, by: &Decider) -> (String, Tone) {
    match approval {
        Approval::Approve { remember, note, rule, .. } => {
            let mut words = match (remember, by) {
                (Remember::Session | Remember::Rule, Decider::Tui | Decider::Plain) => {
                    format!("allowed{} {}", whose(by), coverage(asked, *remember, rule.as_deref()))
                }
                (Remember::Once | Remember::Session | Remember::Rule, _) => {
                    approved(&approval.verdict(asked.request), *remember, by)
                }
            };
            if note.is_some() {
                words.push_str(", with a note to the model");
            }
            (words + &crossed(asked, by), Tone::Plain)
        }
        Approval::Deny { reason } => {
            let why = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            let who = if *by == Decider::Tui { " by you".to_owned() } else { whose(by) };
            (format!("denied{who}{}{why}", crossed(asked, by)), Tone::Error)
        }
        Approval::Later => ("postponed".to_owned(), Tone::Warning),
    }
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
        (Remember::Once | Remember::Rule, _) => "by a rule".to_owned(),
    }
}

/// Describes an approval: what, by whom, and for how long.
fn approved(verdict: &str, remember: Remember, by: &Decider) -> String {
    let what_at = verdict.find(' ').unwrap_or(verdict.len());
    let (word, what) = verdict.split_at(what_at);
    let long = match (remember, by) {
        (Remember::Once, _) => "",
        (Remember::Session, _) => " for this session",
        // The name of the rule already says so.
        (Remember::Rule, Decider::Rule { .. }) => "",
        (Remember::Rule, _) => ", and what its rule matches",
    };
    // The answer to a question is what the row shows.
    if *by == Decider::Tui && what.is_empty() && long.is_empty() {
        return call::APPROVED.to_owned();
    }
    let verb = if by.is_person() { word } else { "allowed" };
    format!("{verb}{}{what}{long}", whose(by))
}

/// Names the decider, if it was not this front end.
fn whose(by: &Decider) -> String {
    if *by == Decider::Tui {
        String::new()
    } else if by.is_person() {
        format!(" {}", by.word())
    } else {
        format!(" by {}", one_line_summary(&by.who(), WORDS))
    }
}

/// Describes the decision made here that came too late, if any.
fn crossed(asked: &DecisionSubject<'_>, by: &Decider) -> String {
    match (asked.stage, by) {
        (Some(CardStage::Deciding(word)), by) if *by != Decider::Tui => {
            format!(" before your {} arrived", word.split(',').next().unwrap_or(word))
        }
        _ => String::new(),
    }
}
