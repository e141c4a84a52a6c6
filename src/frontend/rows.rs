//! One-line rows for headless front ends. Untrusted text in them is sanitized.

use crate::agent::context::{CompactionReport, Summary};
use crate::agent::port::Settlement;
use crate::approval::{Approval, Request};
use crate::history::Limit;
use crate::message::ReturnStatus;
use crate::stdx::text::{grouped, one_line_summary, sanitize_line};

/// Width of a row's free text, in cells.
const WIDTH: usize = 100;

/// Returns the row of a return: a glyph, with a word for every outcome but success.
pub(super) fn returned(status: ReturnStatus, tool: &str, summary: &str, content: &str) -> String {
    let (glyph, word) = match status {
        ReturnStatus::Ok => ("✓", ""),
        ReturnStatus::Failed => ("✗", " failed"),
        ReturnStatus::Denied => ("✗", " denied"),
        ReturnStatus::Undecided => ("◇", " undecided"),
        ReturnStatus::Interrupted => ("✗", " interrupted"),
        ReturnStatus::Unknown => ("?", " outcome unknown"),
    };
    let what = one_line_summary(if summary.is_empty() { content } else { summary }, WIDTH);
    let mut row = format!("{glyph} {}{word}: {what}", sanitize_line(tool));
    if status == ReturnStatus::Failed && !summary.is_empty() {
        row.push_str(&format!(": {}", one_line_summary(content, WIDTH)));
    }
    row
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

/// Returns the row of a waiting request.
pub(super) fn waiting(request: &Request) -> String {
    let (id, tool) = (sanitize_line(&request.id.0), sanitize_line(request.tool.as_str()));
    let what = one_line_summary(&request.plan.summary, WIDTH);
    let mark = if request.taint.is_empty() { "" } else { " ▲" };
    format!("◇ {tool} ({}) waiting for you: {what}{mark} [{id}]", request.risk.word())
}

/// Describes how a request was settled.
pub(super) fn settled(request: Option<&Request>, settled: &Settlement) -> String {
    match settled {
        Settlement::Decided { approval, by } => {
            let reason = match approval {
                Approval::Deny { reason: Some(reason) } => format!(" ({})", one_line_summary(reason, WIDTH)),
                Approval::Deny { reason: None } | Approval::Approve { .. } | Approval::Later => String::new(),
            };
            format!("{}{reason} {}", sanitize_line(&approval.verdict(request)), by.word())
        }
        Settlement::Withdrawn => "withdrawn: the turn was interrupted".to_owned(),
        Settlement::Detached => "still waiting; the conversation continues without it".to_owned(),
        Settlement::Superseded => "replaced by a new request".to_owned(),
        Settlement::Expired => "expired".to_owned(),
    }
}

/// Describes the limit that ended a turn, and how to go on.
pub(crate) fn limit(limit: Limit) -> String {
    match limit {
        Limit::Requests => "the turn reached its request limit; send \"continue\" to go on".to_owned(),
        Limit::Tokens => "the turn reached its token limit; send \"continue\" to go on".to_owned(),
        Limit::Repetition => {
            "stopped: the model kept repeating a call with the same result; tell it what to do instead"
                .to_owned()
        }
        Limit::Output => {
            "the reply was cut off at the model's output limit; send \"continue\" to go on".to_owned()
        }
        Limit::Cap(cap) => {
            format!("the turn stopped at {}; send \"continue\" to be asked again", cap.setting())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::Decider;

    #[test]
    fn rows_are_one_harmless_line() {
        for (status, tool, summary, content, expected) in [
            (ReturnStatus::Ok, "read_file", "read a\u{1b}[2J", "text", "✓ read_file: read a␛[2J"),
            (ReturnStatus::Failed, "x", "", "no such tool\nmore", "✗ x failed: no such tool …"),
            (ReturnStatus::Failed, "x", "do it", "it broke", "✗ x failed: do it: it broke"),
            (ReturnStatus::Denied, "a\nb", "do it", "", "✗ a␊b denied: do it"),
            (ReturnStatus::Undecided, "x", "do it", "", "◇ x undecided: do it"),
            (ReturnStatus::Interrupted, "x", "do it", "", "✗ x interrupted: do it"),
            (ReturnStatus::Unknown, "x", "do it", "", "? x outcome unknown: do it"),
        ] {
            assert_eq!(returned(status, tool, summary, content), expected);
        }
    }

    #[test]
    fn a_request_that_carries_words_of_others_is_marked() {
        use crate::approval::{RequestId, Taint};
        use crate::message::{CallId, Source, ToolName};
        use crate::tool::{Access, CallPlan, Effect, Preview, Risk, Undo};
        let plan = CallPlan {
            summary: "mail\u{1b}dana".to_owned(),
            preview: Preview::None,
            risk: Risk::High,
            access: Access::Nothing,
            basis: Vec::new(),
            undo: Undo::None,
            effect: Effect::OfTool,
            question: None,
            needs_person: None,
        };
        let mut request = Request {
            id: RequestId("8c2f".to_owned()),
            call: CallId("s/1.1.0".to_owned()),
            tool: ToolName::new("mail_send"),
            args: serde_json::json!({}),
            plan,
            risk: Risk::High,
            why: Vec::new(),
            after: Vec::new(),
            depends: Vec::new(),
            taint: Vec::new(),
            expires: None,
            again: None,
            parameters: None,
        };
        assert_eq!(waiting(&request), "◇ mail_send (HIGH) waiting for you: mail␛dana [8c2f]");
        let (arg, words) = ("/to".to_owned(), "dana@x.example".to_owned());
        request.taint.push(Taint { arg, words, source: Source::Program, from: None });
        assert_eq!(waiting(&request), "◇ mail_send (HIGH) waiting for you: mail␛dana ▲ [8c2f]");
    }

    #[test]
    fn ends_are_named_with_who() {
        let denied = Approval::Deny { reason: Some("no\u{202e}pe".to_owned()) };
        for (end, expected) in [
            (
                Settlement::Decided { approval: Approval::yes(), by: Decider::Cli },
                "approved with co approvals",
            ),
            (
                Settlement::Decided { approval: denied, by: Decider::Tui },
                "denied (no<U+202E>pe) in the full screen",
            ),
            (Settlement::Decided { approval: Approval::Later, by: Decider::Script }, "postponed by a script"),
            (Settlement::Withdrawn, "withdrawn: the turn was interrupted"),
            (Settlement::Detached, "still waiting; the conversation continues without it"),
            (Settlement::Superseded, "replaced by a new request"),
        ] {
            assert_eq!(settled(None, &end), expected);
        }
    }
}
