//! Expiry of requests: marks those whose time is over, records it in the audit, and finds the next expiry.
//!
//! An expired request is neither allowed nor denied. It becomes final once its session has recorded the
//! expiry. Until then, a request that expired because the clock was temporarily ahead is reopened. Called by
//! anything with a timer; any process may do it for all sessions.

use jiff::Timestamp;

use super::inbox::moment;
use super::request_rows::request_rows;
use super::statements::Statements as _;
use super::{Store, StoreError, requests};
use crate::history::Durability;

impl Store {
    /// Marks the undecided requests of all sessions whose time is over as expired. Returns how many; writes
    /// nothing if there are none.
    pub async fn expire_due(&self) -> Result<usize, StoreError> {
        let now = self.inner.clock.now().as_millisecond();
        let any = self.read(move |reader| {
            let exists =
                "SELECT EXISTS (SELECT 1 FROM approvals WHERE state IN ('waiting', 'later') AND expires <= ?1)
                 OR EXISTS (SELECT 1 FROM approvals WHERE state = 'expired' AND expiry_noted = 0 AND expires > ?1)";
            Ok(reader.one(exists, [now], |row| row.get(0))?)
        });
        if self.inner.writer.is_none() || !any.await? {
            return Ok(0);
        }
        self.transact(Durability::Synced, |write| {
            requests::reopen(write)?;
            // Another process may have marked them first.
            let due = "WHERE state IN ('waiting', 'later') AND expires <= ?1 ORDER BY expires, seq";
            let due = request_rows(write, due, &[&write.now])?;
            due.iter().try_for_each(|row| requests::end_undecided(write, row))?;
            Ok(due.len())
        })
        .await
    }

    /// Returns when the next undecided request expires; `None` if none ever does.
    pub async fn next_expiry(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(|reader| {
            let select = "SELECT min(expires) FROM approvals WHERE state IN ('waiting', 'later')";
            Ok(reader.one(select, [], |row| row.get::<_, Option<i64>>(0))?.map(moment))
        })
        .await
    }
}
