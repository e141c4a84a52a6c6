//! Pruning: removes old rows and appends a row with their numbers and last hash, so that the rest can be
//! verified.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::redact::to_json;
use super::super::statements::Statements as _;
use super::super::writer::Write;
use super::super::{Store, StoreError};
use super::entry::Entry;
use super::head::{self, AuditHead};
use super::{AuditKind, chain};
use crate::history::Durability;

/// Which rows were pruned. Stored as the details of an audit row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrunedRange {
    pub from: u64,
    pub to: u64,
    /// The hash of the last pruned row.
    pub hash: String,
}

impl Store {
    /// Removes rows from the beginning of the audit up to the first one that is not older than `before`, but
    /// never the last row. Returns which; `None` if there was nothing to remove (then nothing is written).
    pub async fn prune_audit(&self, before: Timestamp) -> Result<Option<PrunedRange>, StoreError> {
        let before = before.as_millisecond();
        let data = self.inner.data.clone();
        self.transact(Durability::Synced, move |write| {
            let pruned = prune(write, before)?;
            // Saved before the rows are deleted: saving it too early is harmless.
            if let Some(PrunedRange { to, hash, .. }) = &pruned {
                let last = AuditHead { no: *to, hash: hash.clone() };
                head::keep(&data, &head::pruned_file(&data), &last)
                    .map_err(|error| StoreError::file(&data, &error))?;
            }
            Ok(pruned)
        })
        .await
    }
}

fn prune(write: &Write<'_>, before: i64) -> Result<Option<PrunedRange>, StoreError> {
    let number =
        |select: &str, param: i64| write.sql.query_row(select, [param], |row| row.get::<_, Option<u64>>(0));
    let Some(from) = number("SELECT min(no) FROM audit WHERE ?1 IS NOT NULL", 0)? else { return Ok(None) };
    // If the clock stepped back, a younger row protects all rows after it.
    let keep = number("SELECT min(no) FROM audit WHERE at >= ?1", before)?;
    let last = number("SELECT max(no) FROM audit WHERE ?1 IS NOT NULL", 0)?;
    let keep = keep.into_iter().chain(last).min().unwrap_or(from);
    let last = "SELECT no, hash FROM audit WHERE no < ?1 ORDER BY no DESC LIMIT 1";
    let found = write.sql.first(last, [keep], AuditHead::of_row)?;
    let Some(AuditHead { no: to, hash }) = found else { return Ok(None) };
    let pruned = PrunedRange { from, to, hash };
    chain::append(write, None, &Entry::about_nothing(AuditKind::Pruned, to_json(&pruned)?))?;
    write.sql.execute("UPDATE audit_guard SET prunable = ?1", [to])?;
    write.sql.execute("DELETE FROM audit WHERE no <= ?1", [to])?;
    write.sql.execute("UPDATE audit_guard SET prunable = 0", [])?;
    Ok(Some(pruned))
}
