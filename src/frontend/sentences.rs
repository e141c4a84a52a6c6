//! The sentences about what happens in a turn, so that an event reads the same in each front end.
//!
//! They begin in lower case and have no full stop: each front end puts them into a row, a cell or a line of its own. Untrusted
//! text in them is one sanitized line.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::agent::caps::{CapAnswer, CapQuestion};
use crate::agent::context::{CompactionReport, Summary};
use crate::agent::port::Settlement;
use crate::approval::rules::{RuleScope, RuleSet, RuleSource};
use crate::approval::{Approval, Decider, DecisionKind, Grants, Remember, Request};
pub(crate) use crate::approval::{EXPIRED, SUPERSEDED, WITHDRAWN};
use crate::history::{Limit, TurnEnd};
use crate::message::{ReturnStatus, Source, ToolName};
use crate::provider::ErrorClass;
use crate::stdx::moment;
use crate::stdx::text::{group_digits, one_line_summary, sanitize_line};

/// Width of untrusted text, in cells.
const WIDTH: usize = 200;

/// Width of the name of a decider or a source, in cells.
const NAME: usize = 80;

/// The decider in its own front end.
const YOU: &str = "you";

/// Why a request is not approved yet.
pub(crate) const UNREAD: &str = "part of it is still unread";

/// Which requests may be approved before all of them was read.
pub(crate) const MAY_BE_UNREAD: &str = "only file contents are approved unread, never HIGH or untrusted text";

/// An answer within the guard time of its question.
pub(crate) const TOO_SOON: &str = "that came too soon to count as an answer: type it again";

/// A decision that was sent and not stored.
pub(crate) const NOT_RECORDED: &str = "the decision was not recorded; still waiting";

/// The output of a reply is void, and the reply starts again.
pub(crate) const STARTS_AGAIN: &str = "the reply was cut off and starts again";

/// The text of a reply ends before the reply does.
pub(crate) const CUT_OFF: &str = "the reply was cut off here";

/// Why there is nothing to approve of a change.
pub(crate) const NOTHING_LEFT: &str = "every hunk is skipped, nothing left to apply";

pub(crate) const STOPPED: &str = "stopped";

/// The end of a turn whose changes were shown and not made.
pub(crate) const PLANNED: &str =
    "nothing was changed: /go carries the plan out in mode ask, /go auto in mode auto";

/// Describes where text came from.
pub(crate) fn source(source: &Source) -> String {
    let named = |what: &str, name: &str| format!("{what} {}", one_line_summary(name, NAME));
    match source {
        Source::Program => "a note or summary with untrusted text".to_owned(),
        Source::File { path } => named("file", path),
        Source::Command { command } => format!("output of `{}`", one_line_summary(command, NAME)),
        Source::Tool { name } => named("tool", name.as_str()),
        Source::Web { url } => named("web page", url),
        Source::Server { name } => named("tool server", name),
    }
}

/// Describes how a call ended.
pub(crate) fn status(status: ReturnStatus) -> &'static str {
    match status {
        ReturnStatus::Ok => "done",
        ReturnStatus::Failed => "failed",
        ReturnStatus::Denied => "denied",
        ReturnStatus::Undecided => "undecided",
        ReturnStatus::Interrupted => STOPPED,
        ReturnStatus::Unknown => "outcome unknown",
    }
}

/// The same as a sentence about a call.
pub(crate) fn outcome(status: ReturnStatus) -> &'static str {
    match status {
        ReturnStatus::Ok => "it ran",
        ReturnStatus::Failed => "it failed",
        ReturnStatus::Denied => "it did not run",
        ReturnStatus::Undecided => "it has not run yet",
        ReturnStatus::Interrupted => "it was stopped",
        ReturnStatus::Unknown => "it may have run: its outcome is unknown",
    }
}

/// Describes how a request was settled, from the view of the front end `here`.
pub(crate) fn settlement(request: Option<&Request>, settled: &Settlement, here: Option<&Decider>) -> String {
    match settled {
        Settlement::Decided { approval, by } => decision(request, approval, by, here, None).to_string(),
        Settlement::Withdrawn => WITHDRAWN.to_owned(),
        Settlement::Late => "still waiting; the conversation continues without it".to_owned(),
        Settlement::Superseded => SUPERSEDED.to_owned(),
        Settlement::Expired => EXPIRED.to_owned(),
    }
}

/// The sentence about a decision, in its parts: what, by whom, and for how long or what else it covers, with what the user
/// said. A sentence of another kind is the last part alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DecisionSentence {
    pub kind: Option<DecisionKind>,
    who: String,
    rest: String,
}

impl DecisionSentence {
    pub fn of(text: impl Into<String>) -> Self {
        Self { rest: text.into(), ..Self::default() }
    }

    pub fn add(&mut self, text: &str) {
        self.rest.push_str(text);
    }

    /// Adds a fact, after a comma if there is something before it.
    pub fn add_fact(&mut self, text: &str) {
        let comma = if self.kind.is_none() && self.rest.is_empty() { "" } else { ", " };
        self.rest.extend([comma, text]);
    }

    /// Whether it says no more than that the user approved the call here.
    pub fn is_plain_approval(&self) -> bool {
        *self == Self { kind: Some(DecisionKind::Approved), who: YOU.to_owned(), rest: String::new() }
    }

    /// Returns the sentence beside a mark that says that the call was approved.
    pub fn beside_mark(&self) -> String {
        match self.kind {
            Some(DecisionKind::Approved) => format!("{}{}", self.who, self.rest),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for DecisionSentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = &self.kind {
            write!(f, "{} by {}", sanitize_line(&kind.to_string()), self.who)?;
        }
        f.write_str(&self.rest)
    }
}

/// Describes a decision. `coverage` replaces what follows from the request.
pub(crate) fn decision(
    request: Option<&Request>,
    approval: &Approval,
    by: &Decider,
    here: Option<&Decider>,
    coverage: Option<String>,
) -> DecisionSentence {
    let coverage = coverage
        .or_else(|| self::coverage(request.map(|request| (&request.tool, &request.args)), approval))
        .filter(|_| by.is_person());
    let kind = match approval.verdict(request) {
        DecisionKind::Approved if coverage.is_some() => DecisionKind::Allowed,
        DecisionKind::Approved | DecisionKind::Edited | DecisionKind::Replaced(_) if !by.is_person() => {
            DecisionKind::Allowed
        }
        kind => kind,
    };
    let mut rest = coverage.map_or_else(String::new, |coverage| format!(" {coverage}"));
    match approval {
        Approval::Approve { note: Some(note), .. } => {
            rest.push_str(&format!(", with the note “{}”", sanitize_line(note)));
        }
        Approval::Deny { reason: Some(why) } => rest.push_str(&format!(": {}", sanitize_line(why))),
        Approval::Approve { note: None, .. } | Approval::Deny { reason: None } | Approval::Later => {}
    }
    DecisionSentence { kind: Some(kind), who: decider(by, here), rest }
}

/// Describes for how long an approval in this session lasts and what it covers beside this call; `None` if it is for this
/// call alone.
pub(crate) fn coverage(call: Option<(&ToolName, &Value)>, approval: &Approval) -> Option<String> {
    coverage_in(RuleScope::Session.words(), call, approval)
}

/// The same of an approval in the session of these words.
pub(crate) fn coverage_in(
    session: &str,
    call: Option<(&ToolName, &Value)>,
    approval: &Approval,
) -> Option<String> {
    let Approval::Approve { instead, remember, rule, .. } = approval else { return None };
    match remember {
        Remember::Once => None,
        Remember::Rule => Some("with a rule".to_owned()),
        Remember::Session => {
            let rules = rule.as_ref().map(|text| RuleSet::parse(text, &RuleSource::Session, None));
            let call = instead.as_ref().map(|(tool, args)| (tool, args)).or(call);
            let what = match rules.unwrap_or_else(|| Ok(Vec::new())).unwrap_or_default().first() {
                Some(rule) => Some(rule.coverage()),
                None => call.map(|(tool, args)| Grants::coverage(tool, args)),
            };
            let what = what.map_or_else(String::new, |what| format!(": {}", sanitize_line(&what)));
            Some(format!("{session}{what}"))
        }
    }
}

/// Names the decider.
pub(crate) fn decider(by: &Decider, here: Option<&Decider>) -> String {
    if here == Some(by) { YOU.to_owned() } else { one_line_summary(&by.who(), NAME) }
}

/// Says that a summary is being written.
pub(crate) fn compaction_start(messages: usize) -> String {
    format!("Summarising {} older messages", group_digits(messages))
}

/// Describes a compaction in one line.
pub(crate) fn compaction(compacted: &CompactionReport) -> String {
    let messages = group_digits(compacted.messages);
    match &compacted.summary {
        Summary::Written { by, .. } => {
            format!("{messages} older messages were replaced by a summary of {}", sanitize_line(by))
        }
        Summary::None { why: None } => {
            format!("{messages} older messages were left out to fit the context window")
        }
        Summary::None { why: Some(why) } => format!(
            "{messages} older messages were left out to fit the context window; no summary ({})",
            one_line_summary(why, WIDTH)
        ),
    }
}

/// Says in a word or two how a turn ended that waits for nothing.
pub(crate) fn turn_end(end: &TurnEnd) -> &'static str {
    match end {
        TurnEnd::Completed => status(ReturnStatus::Ok),
        TurnEnd::Deferred => "decided",
        TurnEnd::Interrupted => STOPPED,
        TurnEnd::LimitReached { limit } => limit_name(*limit),
        TurnEnd::Failed { .. } => status(ReturnStatus::Failed),
    }
}

fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::Requests => "request limit",
        Limit::Tokens => "token limit",
        Limit::Repetition => "repetition",
        Limit::Output => "output limit",
        Limit::Cap(cap) => cap.setting(),
    }
}

/// Describes the limit that ended a turn.
pub(crate) fn limit(limit: Limit) -> String {
    match limit {
        Limit::Requests | Limit::Tokens => format!("the turn reached its {}", limit_name(limit)),
        Limit::Repetition => "the model kept repeating a call with the same result".to_owned(),
        Limit::Output => "the reply was cut off at the model's output limit".to_owned(),
        Limit::Cap(cap) => format!("the turn stopped at {}", cap.setting()),
    }
}

/// The same, and how to go on where a prompt can be entered.
pub(crate) fn limit_with_advice(reached: Limit) -> String {
    let advice = match reached {
        Limit::Requests | Limit::Tokens | Limit::Output => "send \"continue\" to go on",
        Limit::Repetition => "tell it what to do instead",
        Limit::Cap(_) => "send \"continue\" to be asked again",
    };
    format!("{}; {advice}", limit(reached))
}

/// Describes the effect of an answer at a cap; `None` where the end of the turn says it.
pub(crate) fn cap_answer_effect(question: &CapQuestion, answer: CapAnswer) -> Option<String> {
    let (cap, setting) = (question.cap, question.cap.setting());
    match answer {
        CapAnswer::Stop => None,
        CapAnswer::GoOn => Some(format!("continued for this request beyond {setting}")),
        CapAnswer::Raise => Some(format!("the limit {setting} is now {}", cap.amount_text(question.raised))),
    }
}

/// Says that a turn waits for the user, who decides by these means or with `co approvals`.
pub(crate) fn deferral(means: &str) -> String {
    format!("waiting for your decision: {means} or with `co approvals`, now or later")
}

/// Describes a request to a provider that failed and is sent again; `then` is the model that takes over if no retry helps.
pub(crate) fn retry(
    class: ErrorClass,
    message: &str,
    wait: Duration,
    (attempt, of): (u32, u32),
    then: Option<&str>,
) -> String {
    let (what, why, when) = (class.label(), one_line_summary(message, WIDTH), moment::after(wait));
    let then = then.map_or_else(String::new, |then| format!(", then {}", sanitize_line(then)));
    format!("{what}: {why}; retry {attempt} of {of} {when}{then}")
}

/// Describes a failover to another model.
pub(crate) fn failover(from: &str, to: &str, why: &str) -> String {
    let (from, to, why) = (sanitize_line(from), sanitize_line(to), one_line_summary(why, WIDTH));
    format!("{from}: {why}; {to} answers for the rest of this turn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settlements_name_who_decided() {
        let denied = || Approval::Deny { reason: Some("no\u{202e}pe".to_owned()) };
        let rule = || Decider::Rule { id: "user:3".to_owned() };
        let decided = |approval, by| Settlement::Decided { approval, by };
        for (end, expected) in [
            (decided(Approval::yes(), Decider::Cli), "approved by you (co approvals)"),
            (decided(Approval::for_session(), Decider::Tui), "allowed by you for this session"),
            (decided(Approval::yes(), rule()), "allowed by rule user:3"),
            (decided(denied(), Decider::Plain), "denied by you (plain): no<U+202E>pe"),
            (decided(denied(), Decider::Tui), "denied by you: no<U+202E>pe"),
            (decided(Approval::Later, Decider::Script), "postponed by a script"),
            (Settlement::Withdrawn, "withdrawn because the turn was stopped"),
            (Settlement::Late, "still waiting; the conversation continues without it"),
            (Settlement::Superseded, "replaced by a new request"),
            (Settlement::Expired, "expired, not run"),
        ] {
            assert_eq!(settlement(None, &end, Some(&Decider::Tui)), expected);
        }
    }

    #[test]
    fn a_decision_is_said_in_parts() {
        let said = |approval: &Approval, by| {
            let call = (&ToolName::new("shell"), &serde_json::json!({"command": "ls"}));
            decision(None, approval, &by, Some(&Decider::Tui), coverage(Some(call), approval))
        };
        let plain = said(&Approval::yes(), Decider::Tui);
        assert!(plain.is_plain_approval());
        assert_eq!((plain.beside_mark().as_str(), plain.to_string().as_str()), ("you", "approved by you"));
        assert!(!said(&Approval::yes(), Decider::Cli).is_plain_approval());
        let lasting = said(&Approval::for_session(), Decider::Cli).to_string();
        assert_eq!(lasting, "allowed by you (co approvals) for this session: exactly this command");
        let mut words = DecisionSentence::default();
        words.add_fact("1 of 2 hunks applied");
        words.add_fact("rule saved");
        assert_eq!(words.to_string(), "1 of 2 hunks applied, rule saved");
    }

    #[test]
    fn retries_name_their_wait() {
        let wait = Duration::from_secs(20);
        for (class, message, then, words) in [
            (ErrorClass::RateLimited, "slow down", None, "rate limited: slow down; retry 1 of 2 in 20s"),
            (
                ErrorClass::Network,
                "refused\nmore",
                Some("openai/x"),
                "connection failed: refused …; retry 1 of 2 in 20s, then openai/x",
            ),
        ] {
            assert_eq!(retry(class, message, wait, (1, 2), then), words);
        }
        let at_once = retry(ErrorClass::Network, "refused", Duration::ZERO, (1, 2), None);
        assert_eq!(at_once, "connection failed: refused; retry 1 of 2 at once");
    }
}
