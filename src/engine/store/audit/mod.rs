//! The audit: who or what decided each call, what ran, and its result. Append-only and hash-chained.
//!
//! A row is written in the same transaction as the event it records, so that neither exists without the
//! other. `entry` builds rows from records, `chain` appends them, `head` keeps the last row's hash beside the
//! database, `verify` detects tampering. The audit decides nothing. Called by the rest of `store`, and by
//! front ends that list rows.

pub(super) mod chain;
pub(super) mod entry;
pub(super) mod head;
mod kind;
mod list;
mod past;
mod prune;
mod verify;

#[cfg(test)]
mod tests;

use serde_json::json;

pub use self::head::AuditHead;
pub use self::kind::AuditKind;
pub use self::list::{AuditFilter, AuditRow};
pub use self::past::{PastCall, PastOutcome};
pub use self::prune::PrunedRange;
pub use self::verify::{AuditCheck, AuditFinding};

use std::path::Path;

use rusqlite::Connection;

use self::entry::Entry;
use super::statements::Statements as _;
use super::{Store, StoreError};
use crate::history::Durability;

/// The triggers that prevent rows from being changed or removed.
pub(super) const TRIGGERS: &str = include_str!("triggers.sql");

/// Whether this data folder has ever had an audit.
pub(super) fn is_known(data: &Path) -> bool {
    head::file(data).exists()
}

/// Saves in the pruning file what an older `co` pruned, which only a row records.
pub(super) fn witness_pruning(connection: &Connection, data: &Path) -> Result<(), StoreError> {
    let last = "SELECT details FROM audit WHERE kind = 'pruned' ORDER BY no DESC LIMIT 1";
    let details: Option<String> = connection.first(last, [], |row| row.get(0))?;
    let Some(PrunedRange { to, hash, .. }) = details.and_then(|details| serde_json::from_str(&details).ok())
    else {
        return Ok(());
    };
    head::keep(data, &head::pruned_file(data), &AuditHead { no: to, hash })
        .map_err(|error| StoreError::file(data, &error))
}

/// An event recorded in the audit that belongs to no session's records.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditNote {
    RuleSaved {
        rule: String,
        text: String,
    },
    RuleRevoked {
        rule: String,
    },
    FolderTrusted {
        folder: std::path::PathBuf,
    },
    FolderUntrusted {
        folder: std::path::PathBuf,
    },
    HookTrusted {
        name: String,
        hash: String,
    },
    HookUntrusted {
        name: String,
    },
    /// `/yolo` or a mode, turned on or off by the user.
    Stance {
        text: String,
    },
}

impl Store {
    /// Adds a note to the audit and wakes every process, because rules, trust or mode may have changed.
    pub async fn note(&self, note: AuditNote) -> Result<(), StoreError> {
        let (kind, details) = match note {
            AuditNote::RuleSaved { rule, text } => {
                (AuditKind::RuleSaved, json!({ "rule": rule, "text": text }))
            }
            AuditNote::RuleRevoked { rule } => (AuditKind::RuleRevoked, json!({ "rule": rule })),
            AuditNote::FolderTrusted { folder } => {
                (AuditKind::FolderTrusted, json!({ "folder": folder.to_string_lossy() }))
            }
            AuditNote::FolderUntrusted { folder } => {
                (AuditKind::FolderUntrusted, json!({ "folder": folder.to_string_lossy() }))
            }
            AuditNote::HookUntrusted { name } => (AuditKind::HookUntrusted, json!({ "name": name })),
            AuditNote::HookTrusted { name, hash } => {
                (AuditKind::HookTrusted, json!({ "name": name, "hash": hash }))
            }
            AuditNote::Stance { text } => (AuditKind::Stance, json!({ "text": text })),
        };
        let entry = Entry::about_nothing(kind, self.inner.redactor.json(&details)?);
        self.transact(Durability::Synced, move |write| {
            write.news.set(true);
            chain::append(write, None, &entry)
        })
        .await
    }
}
