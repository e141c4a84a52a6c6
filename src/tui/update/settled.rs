//! Shows the outcome of a request in one line: on the row of its call, or else in a line of its own. Called for every
//! settlement; decides nothing.

use super::auto_focus;
use super::turn::rest;
use crate::agent::port::Settled;
use crate::approval::rules::{RuleSet, RuleSource};
use crate::approval::{Approval, Decider, Grants, Remember, RequestId};
use crate::frontend::protocol::Tone;
use crate::message::{ReturnStatus, ToolName};
use crate::stdx::text::one_line_summary;
use crate::tui::batch::awaited;
use crate::tui::cards::{Card, CardStage};
use crate::tui::cells::{CallState, Cell, CellKind, call};
use crate::tui::model::{Focus, Model, Stop};

/// Most calls named in such a line.
const NAMED: usize = 2;

/// Most cells of untrusted words in such a line.
const WORDS: usize = 80;

pub fn take(model: &mut Model, id: &RequestId, settled: &Settled) {
    // A postponed request is still pending: its card stays, put aside.
    if settled.is_put_off() {
        model.cards.put_off(id);
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
                    Settled::Decided { approval: Approval::Deny { .. }, .. } => {
                        CallState::Done(ReturnStatus::Denied)
                    }
                    Settled::Withdrawn => CallState::Done(ReturnStatus::Interrupted),
                    Settled::Expired | Settled::Superseded => CallState::Done(ReturnStatus::Undecided),
                    Settled::Decided { .. } | Settled::Detached => CallState::Planned,
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
fn dropped(model: &Model, card: &Card, settled: &Settled) -> Option<(String, Tone)> {
    let stops = model.turn.as_ref().is_some_and(|turn| turn.stop == Stop::Asked);
    let is_dropped = *settled == Settled::Withdrawn && !stops && !card.after.is_empty();
    is_dropped.then(|| ("cancelled: the call it runs after did not run".to_owned(), Tone::Warning))
}

/// Names the undecided calls that an approved call waits for.
fn runs_after(model: &Model, card: &Card, settled: &Settled) -> Option<String> {
    let Settled::Decided { approval: Approval::Approve { .. }, .. } = settled else { return None };
    let name = |card: &Card| format!("{} {}", card.request.tool, call::subject(&card.request.args));
    let before: Vec<String> =
        awaited(&model.cards, card).into_iter().map(|card| name(card).trim().to_owned()).collect();
    let more = match before.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!before.is_empty()).then(|| format!("{}{more}", before[..before.len().min(NAMED)].join(", ")))
}

fn outcome(card: &Card, settled: &Settled) -> (String, Tone) {
    match settled {
        Settled::Decided { approval: Approval::Approve { instead, remember, note, rule }, by } => {
            let mut words = match (remember, by) {
                (Remember::Session | Remember::Rule, Decider::Tui | Decider::Plain) => {
                    format!("allowed{} {}", whose(by), coverage(card, *remember, rule.as_deref()))
                }
                (Remember::Once | Remember::Session | Remember::Rule, _) => {
                    approved(card, instead.as_ref().map(|(tool, _)| tool), *remember, by)
                }
            };
            if note.is_some() {
                words.push_str(", with a note to the model");
            }
            (words + &crossed(card, by), Tone::Plain)
        }
        Settled::Decided { approval: Approval::Deny { reason }, by } => {
            let why = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            let who = if *by == Decider::Tui { " by you".to_owned() } else { whose(by) };
            (format!("denied{who}{}{why}", crossed(card, by)), Tone::Error)
        }
        Settled::Decided { approval: Approval::Later, .. } => ("postponed".to_owned(), Tone::Warning),
        Settled::Withdrawn => ("withdrawn: the turn was stopped".to_owned(), Tone::Warning),
        Settled::Detached => ("waiting in the inbox".to_owned(), Tone::Warning),
        Settled::Superseded => ("replaced by a new request".to_owned(), Tone::Warning),
        Settled::Expired => (format!("expired, not run{}", crossed(card, &Decider::Expiry)), Tone::Warning),
    }
}

/// Describes what a lasting approval covers, and for how long.
fn coverage(card: &Card, remember: Remember, rule: Option<&str>) -> String {
    if let CardStage::Rule(form) = &card.stage {
        return form.coverage();
    }
    let rules = rule.map(|text| RuleSet::parse(text, &RuleSource::Session, None).unwrap_or_default());
    match (remember, rules.as_deref()) {
        (Remember::Session, Some([rule, ..])) => format!("for this session: {}", rule.coverage()),
        (Remember::Session, _) => {
            format!("for this session: {}", Grants::coverage(&card.request.tool, &card.request.args))
        }
        (Remember::Once | Remember::Rule, _) => "by a rule".to_owned(),
    }
}

/// Describes an approval: what, by whom, and for how long.
fn approved(card: &Card, instead: Option<&ToolName>, remember: Remember, by: &Decider) -> String {
    let what = match instead {
        Some(tool) if *tool != card.request.tool => format!(" as another call, {tool}"),
        // The answer to a question is what the row shows.
        Some(_) if card.request.plan.question.is_some() => String::new(),
        Some(_) => call::CHANGED.to_owned(),
        None => String::new(),
    };
    let long = match (remember, by) {
        (Remember::Once, _) => "",
        (Remember::Session, _) => " for this session",
        // The name of the rule already says so.
        (Remember::Rule, Decider::Rule { .. }) => "",
        (Remember::Rule, _) => ", and what its rule matches",
    };
    if *by == Decider::Tui && what.is_empty() && long.is_empty() {
        return call::APPROVED.to_owned();
    }
    let verb = if by.is_person() { "approved" } else { "allowed" };
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
fn crossed(card: &Card, by: &Decider) -> String {
    let word = match (&card.stage, by) {
        (_, Decider::Tui) => return String::new(),
        (CardStage::Deciding(word), _) => word.split(',').next().unwrap_or(word),
        (CardStage::Asking | CardStage::Reason(_) | CardStage::Editing(_) | CardStage::Rule(_), _) => {
            return String::new();
        }
    };
    format!(" before your {word} arrived")
}
