//! The texts that the model receives instead of a result, and the reasons why a request is asked again.

use crate::approval::{Decider, DecisionKind};
use crate::tool::ToolError;

pub(super) const RUNS_LATER: &str = "Not done yet: the user said yes, and it runs once the call it runs after has run. Its \
     outcome will be told.";

pub(super) const OUTCOME_UNKNOWN: &str = "Outcome unknown: this call had started when the program \
     ended, and nobody saw how it went. It was not run again. Look at the result before you rely on it or \
     repeat it.";
pub(super) const DEPENDENCY: &str =
    "Not run: dependency. A call it runs after failed, was denied or was not decided.";
pub(super) const EXPIRED: &str = "Nobody decided in time; it did not run.";
pub(super) const STILL_WAITING: &str =
    "Still waiting for the user: undecided. It may run later; its outcome will be told.";
pub(super) const NOT_RUN: &str = "Interrupted by the user before it ran.";

/// Why a request is asked again, within its turn or outside of it.
pub(super) const TOO_LATE: &str = "you approved it, but it expired before it could run";
pub(super) const MOVED: &str = "its target has changed since the request";
pub(super) const OVERRULED: &str = "nothing approves it any more";
pub(super) const REWRITTEN: &str = "a hook changed the call you approved";

/// Returns why a request is asked again whose edit cannot be planned.
pub(super) fn edit_failed(error: &ToolError) -> String {
    format!("the edited call is not valid: {error}")
}

/// Returns the user's note on their approval, as the model receives it.
pub(super) fn person_note(note: &str) -> String {
    format!("[The user says: {note}]")
}
/// Returns the text of the return of a denied call.
pub(super) fn denial(reason: Option<&str>, by: Option<&Decider>) -> String {
    let by_person = by.is_none_or(Decider::is_person);
    match (reason, by_person) {
        (Some(reason), true) => format!("The user said no, it did not run. Reason: {reason}"),
        (None, true) => "The user said no, it did not run.".to_owned(),
        (reason, false) => denied_by_policy(reason.unwrap_or("it is not allowed")),
    }
}

/// Tells people by whom and why a call was denied.
pub(super) fn denied_by(by: Option<&Decider>, reason: Option<&str>) -> String {
    let who = by.map_or_else(|| "you".to_owned(), Decider::who);
    let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    format!("{} by {who}{why}", DecisionKind::Denied)
}

pub(super) fn denied_by_policy(because: &str) -> String {
    format!("Denied by policy, not run: {because}.")
}
