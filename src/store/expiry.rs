//! Requests whose time is over: marked, told, and the next moment at which there will be one.
//!
//! A request that nobody decided in time is never allowed, and never denied by anybody: it is undecided for good once its
//! session was told. Until then a clock that was ahead for a while is found out, and the request waits again. Called by
//! whoever has a timer; any process may do it for all.

use jiff::Timestamp;

use super::error::SqlResult as _;
use super::inbox::moment;
use super::{Store, StoreError, requests, standing};
use crate::history::Durability;

impl Store {
    /// Marks what nobody decided in time as expired, in all sessions; says how many. Writes nothing where there is none.
    pub async fn expire_due(&self) -> Result<usize, StoreError> {
        let now = self.inner.clock.now().as_millisecond();
        let any = self.read(move |reader| {
            let exists =
                "SELECT EXISTS (SELECT 1 FROM approvals WHERE state IN ('waiting', 'later') AND expires <= ?1)
                 OR EXISTS (SELECT 1 FROM approvals WHERE state = 'expired' AND expiry_noted = 0 AND expires > ?1)";
            reader.connection.prepare_cached(exists).sql()?.query_row([now], |row| row.get(0)).sql()
        });
        if self.inner.writer.is_none() || !any.await? {
            return Ok(0);
        }
        self.write(|writer| {
            writer.transaction(Durability::Synced, |write| {
                requests::reopen(write)?;
                // Somebody else may have been faster.
                let due = standing::due(write)?;
                due.iter().try_for_each(|row| requests::end_undecided(write, row))?;
                Ok(due.len())
            })
        })
        .await
    }

    /// When the next undecided request expires; `None` where none ever does.
    pub async fn next_expiry(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(|reader| {
            let select = "SELECT min(expires) FROM approvals WHERE state IN ('waiting', 'later')";
            let next: Option<i64> =
                reader.connection.prepare_cached(select).sql()?.query_row([], |row| row.get(0)).sql()?;
            Ok(next.map(moment))
        })
        .await
    }
}
