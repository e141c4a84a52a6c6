//! The sentences about what happens in a turn, so that an event reads the same in each front end.
//!
//! They begin in lower case and have no full stop: each front end puts them into a row, a cell or a line of its own. Untrusted
//! text in them is one sanitized line.

use std::time::Duration;

use crate::agent::caps::{CapAnswer, CapQuestion};
use crate::agent::context::{CompactionReport, Summary};
use crate::agent::port::Settlement;
use crate::approval::{Approval, Decider, Remember, Request};
pub(crate) use crate::approval::{EXPIRED, SUPERSEDED, WITHDRAWN};
use crate::history::Limit;
use crate::message::{ReturnStatus, Source};
use crate::provider::ErrorClass;
use crate::stdx::moment;
use crate::stdx::text::{grouped, one_line_summary, sanitize_line};

/// Width of untrusted text, in cells.
const WIDTH: usize = 200;

/// Width of the name of a decider or a source, in cells.
const NAME: usize = 80;

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

/// Describes how a request was settled, as told by the front end `here`.
pub(crate) fn settled(request: Option<&Request>, settled: &Settlement, here: Option<&Decider>) -> String {
    match settled {
        Settlement::Decided { approval, by } => decision(request, approval, by, here, None),
        Settlement::Withdrawn => WITHDRAWN.to_owned(),
        Settlement::Detached => "still waiting; the conversation continues without it".to_owned(),
        Settlement::Superseded => SUPERSEDED.to_owned(),
        Settlement::Expired => EXPIRED.to_owned(),
    }
}

/// Describes a decision: what, by whom, for how long or what else it covers, and what the user said with it.
pub(crate) fn decision(
    request: Option<&Request>,
    approval: &Approval,
    by: &Decider,
    here: Option<&Decider>,
    coverage: Option<&str>,
) -> String {
    let (verdict, who) = (approval.verdict(request), decider(by, here));
    let verdict = sanitize_line(&verdict);
    match approval {
        Approval::Approve { remember, note, .. } => {
            let note = note
                .as_ref()
                .map_or_else(String::new, |note| format!(", with the note “{}”", sanitize_line(note)));
            if let Some(coverage) = coverage {
                return format!("allowed{who} {coverage}{note}");
            }
            let verdict = if by.is_person() { &verdict } else { "allowed" };
            let long = match (remember, by) {
                // The name of the rule already says so.
                (Remember::Once, _) | (Remember::Rule, Decider::Rule { .. }) => "",
                (Remember::Session, _) => " for this session",
                (Remember::Rule, _) => ", and what its rule matches",
            };
            format!("{verdict}{who}{long}{note}")
        }
        Approval::Deny { reason } => {
            let why = reason.as_ref().map_or_else(String::new, |why| format!(": {}", sanitize_line(why)));
            format!("{verdict}{who}{why}")
        }
        Approval::Later => format!("{verdict}{who}"),
    }
}

/// Names the decider after a verdict, with a space before it.
pub(crate) fn decider(by: &Decider, here: Option<&Decider>) -> String {
    if here == Some(by) { " by you".to_owned() } else { format!(" by {}", one_line_summary(&by.who(), NAME)) }
}

/// Says that a summary is being written.
pub(crate) fn compacting(messages: usize) -> String {
    format!("Summarising {} older messages", grouped(messages))
}

/// Describes a compaction in one line.
pub(crate) fn compacted(compacted: &CompactionReport) -> String {
    let messages = grouped(compacted.messages);
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

/// Describes the limit that ended a turn.
pub(crate) fn limit(limit: Limit) -> String {
    match limit {
        Limit::Requests => "the turn reached its request limit".to_owned(),
        Limit::Tokens => "the turn reached its token limit".to_owned(),
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
pub(crate) fn cap_answered(question: &CapQuestion, answer: CapAnswer) -> Option<String> {
    let (cap, setting) = (question.cap, question.cap.setting());
    match answer {
        CapAnswer::Stop => None,
        CapAnswer::GoOn => Some(format!("continued for this request beyond {setting}")),
        CapAnswer::Raise => Some(format!("the limit {setting} is now {}", cap.words(question.raised))),
    }
}

/// Says that a turn waits for the user, who decides by these means or with `co approvals`.
pub(crate) fn deferred(means: &str) -> String {
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
    let (what, why, wait) = (class.words(), one_line_summary(message, WIDTH), moment::wait(wait));
    let then = then.map_or_else(String::new, |then| format!(", then {}", sanitize_line(then)));
    format!("{what}: {why}; retry {attempt} of {of} in {wait}{then}")
}

/// Describes a failover to another model.
pub(crate) fn fell_back(from: &str, to: &str, why: &str) -> String {
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
            (decided(Approval::for_session(), Decider::Tui), "approved by you for this session"),
            (decided(Approval::yes(), rule()), "allowed by rule user:3"),
            (decided(denied(), Decider::Plain), "denied by you (plain): no<U+202E>pe"),
            (decided(denied(), Decider::Tui), "denied by you: no<U+202E>pe"),
            (decided(Approval::Later, Decider::Script), "postponed by a script"),
            (Settlement::Withdrawn, "withdrawn because the turn was stopped"),
            (Settlement::Detached, "still waiting; the conversation continues without it"),
            (Settlement::Superseded, "replaced by a new request"),
            (Settlement::Expired, "expired, not run"),
        ] {
            assert_eq!(settled(None, &end, Some(&Decider::Tui)), expected);
        }
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
    }
}
