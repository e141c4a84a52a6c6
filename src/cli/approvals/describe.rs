//! Descriptions of requests and their outcomes. They are sanitized where they are printed.

use crate::approval::Approval;
use crate::frontend::sentences;
use crate::message::ReturnStatus;
use crate::store::{RequestState, StoredRequest};

/// The outcome of a call so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallProgress {
    Nothing,
    Started,
    Returned(ReturnStatus),
}

/// Describes the decision of a request, if there is one.
pub(super) fn decision(one: &StoredRequest) -> Option<String> {
    let (approval, by) = one.decision.as_ref()?;
    let coverage = coverage(one, approval);
    Some(sentences::decision(Some(&one.request), approval, by, None, coverage).to_string())
}

/// Describes what an approval covers beside its call. These commands run in none of the sessions that they show.
pub(super) fn coverage(one: &StoredRequest, approval: &Approval) -> Option<String> {
    sentences::coverage_in("for that session", Some((&one.request.tool, &one.request.args)), approval)
}

/// Returns the note that the user gave with a decision.
pub(super) fn note(approval: &Approval) -> Option<&str> {
    match approval {
        Approval::Approve { note, .. } => note.as_deref(),
        Approval::Deny { reason } => reason.as_deref(),
        Approval::Later => None,
    }
}

/// Describes a request's whole state.
pub(super) fn state(one: &StoredRequest, progress: CallProgress) -> String {
    match (one.state, decision(one)) {
        (RequestState::Consumed, Some(decided)) if one.request.is_question() => {
            format!("{decided}; the answer went to the server")
        }
        (RequestState::Withdrawn, _) if one.request.is_question() => {
            "withdrawn: the server that asked does not wait for the answer any more".to_owned()
        }
        (RequestState::Waiting, _) => "waiting for your decision".to_owned(),
        (RequestState::Later, _) => "postponed; still waiting for your decision".to_owned(),
        (
            RequestState::Approved | RequestState::Edited | RequestState::Replaced | RequestState::Denied,
            Some(decided),
        ) => format!("{decided}; its session has not continued yet"),
        (RequestState::Consumed, Some(decided)) => format!("{decided}; {}", outcome(progress)),
        (RequestState::Consumed, None) => "closed without a decision: its session continued".to_owned(),
        (RequestState::Withdrawn, _) => sentences::WITHDRAWN.to_owned(),
        (RequestState::Superseded, _) => sentences::SUPERSEDED.to_owned(),
        (RequestState::Expired, _) => sentences::EXPIRED.to_owned(),
        (state, None) => state.to_string(),
    }
}

/// Describes the outcome of a call.
pub(super) fn outcome(progress: CallProgress) -> &'static str {
    match progress {
        CallProgress::Nothing => "it has not run yet",
        CallProgress::Started => "it is running, or was cut off",
        CallProgress::Returned(status) => sentences::outcome(status),
    }
}
