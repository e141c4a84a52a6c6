//! The kinds of audit rows.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};

use crate::stdx::names::names;

/// The kind of an audit row. Stored: variants may only be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditKind {
    /// A call became a request.
    Asked,
    /// A call was settled without the user.
    Judged,
    /// The user, a rule, a mode or a hook answered a request.
    Decided,
    /// A request timed out without a decision.
    Expired,
    /// A request ended without an answer, or its answer was refused.
    Withdrawn,
    /// A request was replaced by a new request for the same call.
    Superseded,
    /// A side effect began.
    Started,
    /// A call returned.
    Finished,
    RuleSaved,
    RuleRevoked,
    FolderTrusted,
    FolderUntrusted,
    HookTrusted,
    HookUntrusted,
    /// A mode or yolo was turned on or off.
    Stance,
    /// Earlier rows were removed on purpose.
    Pruned,
}

names! {
    AuditKind, all {
        Asked = "asked",
        Judged = "judged",
        Decided = "decided",
        Expired = "expired",
        Withdrawn = "withdrawn",
        Superseded = "superseded",
        Started = "started",
        Finished = "finished",
        RuleSaved = "rule_saved",
        RuleRevoked = "rule_revoked",
        FolderTrusted = "folder_trusted",
        FolderUntrusted = "folder_untrusted",
        HookTrusted = "hook_trusted",
        HookUntrusted = "hook_untrusted",
        Stance = "stance",
        Pruned = "pruned",
    }
}

impl FromSql for AuditKind {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::named(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
}
