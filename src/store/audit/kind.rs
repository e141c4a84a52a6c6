//! The kinds of audit rows.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};

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

impl AuditKind {
    const ALL: [(Self, &'static str); 16] = [
        (Self::Asked, "asked"),
        (Self::Judged, "judged"),
        (Self::Decided, "decided"),
        (Self::Expired, "expired"),
        (Self::Withdrawn, "withdrawn"),
        (Self::Superseded, "superseded"),
        (Self::Started, "started"),
        (Self::Finished, "finished"),
        (Self::RuleSaved, "rule_saved"),
        (Self::RuleRevoked, "rule_revoked"),
        (Self::FolderTrusted, "folder_trusted"),
        (Self::FolderUntrusted, "folder_untrusted"),
        (Self::HookTrusted, "hook_trusted"),
        (Self::HookUntrusted, "hook_untrusted"),
        (Self::Stance, "stance"),
        (Self::Pruned, "pruned"),
    ];

    /// Returns the stored form.
    pub fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }
}

impl FromSql for AuditKind {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word = value.as_str()?;
        let known = Self::ALL.into_iter().find(|(_, name)| *name == word);
        known.map(|(kind, _)| kind).ok_or(FromSqlError::InvalidType)
    }
}
