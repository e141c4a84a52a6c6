//! Reads Google's error details, which are more precise than status and message: which limit, which key.

use serde_json::Value;

use crate::provider::ErrorClass;

/// Reasons that are more precise than the status they come with.
const REASONS: &[(&str, ErrorClass)] = &[
    ("API_KEY_INVALID", ErrorClass::Auth),
    ("API_KEY_EXPIRED", ErrorClass::Auth),
    ("BILLING_DISABLED", ErrorClass::Billing),
];

/// Returns the class that an error object's details name, where it is more precise than the status.
pub(super) fn class(error: &Value) -> Option<ErrorClass> {
    let details: Vec<&Value> = error.get("details").and_then(Value::as_array)?.iter().collect();
    let violations = details.iter().filter_map(|detail| detail.get("violations")?.as_array()).flatten();
    if violations.into_iter().any(is_daily) {
        return Some(ErrorClass::Quota);
    }
    let reasons = details.iter().filter_map(|detail| detail.get("reason")?.as_str());
    reasons
        .into_iter()
        .find_map(|reason| REASONS.iter().find(|(word, _)| *word == reason))
        .map(|(_, class)| *class)
}

/// Whether a quota is daily: waiting does not restore it.
fn is_daily(violation: &Value) -> bool {
    violation.get("quotaId").and_then(Value::as_str).is_some_and(|id| id.contains("PerDay"))
}
