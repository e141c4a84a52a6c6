//! Which sessions a retention removes, and their removal.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, params};

use super::index::summary;
use super::statements::Statements as _;
use super::{SessionSummary, Store, StoreError, search};
use crate::history::{Durability, SessionId};

/// How long and how much is kept. Sessions with undecided requests, or with decisions that they have not taken, are kept in
/// any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Sessions that were last used before this moment go.
    pub before: Option<Timestamp>,
    /// Beyond this size of the database in bytes the oldest go.
    pub max_bytes: Option<u64>,
}

/// The fate of the requests of a deleted session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestRetention {
    /// Its requests go with it.
    Deleted,
    /// Nothing is deleted while a request is undecided, or a decision is not taken.
    Kept,
}

/// The requests that keep a session.
const OPEN: &str = "state IN ('waiting', 'later', 'approved', 'edited', 'replaced', 'denied')";

impl Store {
    /// Returns the sessions that go, the oldest first. Reads the size of each record only if the database is too large.
    pub async fn beyond(&self, retention: Retention) -> Result<Vec<SessionSummary>, StoreError> {
        self.read(move |reader| beyond(reader, retention)).await
    }

    /// Returns the retention that applies unasked, which follows [`times_of_use`].
    pub async fn after_leap(&self, wanted: Retention) -> Result<Retention, StoreError> {
        let Some(before) = wanted.before else { return Ok(wanted) };
        let times = times_of_use(self.inner.clock.now(), before).map(Timestamp::as_millisecond);
        let any = "SELECT EXISTS (SELECT 1 FROM sessions WHERE updated >= ?1 AND updated < ?2)";
        let used = self.read(move |reader| Ok(reader.one(any, times, |row| row.get(0))?));
        Ok(if used.await? { wanted } else { Retention { before: None, ..wanted } })
    }

    /// Deletes a session with its records, requests and usage; the audit keeps its rows. Returns whether it was deleted.
    /// The caller must own the session.
    pub async fn delete_session(
        &self,
        session: &SessionId,
        requests: RequestRetention,
    ) -> Result<bool, StoreError> {
        let session = session.clone();
        self.transact(Durability::Synced, move |write| {
            let open = format!("SELECT count(*) FROM approvals WHERE session = ?1 AND {OPEN}");
            let open: i64 = write.sql.query_row(&open, [&session.0], |row| row.get(0))?;
            if open > 0 && requests == RequestRetention::Kept {
                return Ok(false);
            }
            search::forget(&write.sql, &session)?;
            for table in ["usage", "approvals", "records"] {
                let delete = format!("DELETE FROM {table} WHERE session = ?1");
                write.sql.execute(&delete, [&session.0])?;
            }
            write.news.set(true);
            write.sql.execute("DELETE FROM sessions WHERE id = ?1", [&session.0])?;
            Ok(true)
        })
        .await
    }

    /// Returns the space of deleted rows to the file system; it takes as long as copying the database.
    pub async fn compact(&self) -> Result<(), StoreError> {
        self.write(|writer| Ok(writer.connection().execute_batch("VACUUM")?)).await
    }
}

/// Returns a beginning and an end: unasked, nothing older than `before` goes unless something was used between them. If
/// everything is too old, save for what was used within a day, the clock has leapt ahead, or the user was away. A day
/// later old things go as set.
#[must_use]
pub fn times_of_use(now: Timestamp, before: Timestamp) -> [Timestamp; 2] {
    let day = SignedDuration::from_hours(24).min(now.duration_since(before) / 2);
    [before, now - day]
}

fn beyond(sql: &Connection, retention: Retention) -> Result<Vec<SessionSummary>, StoreError> {
    let before = retention.before.map(Timestamp::as_millisecond);
    let used = match retention.max_bytes {
        Some(_) => used_bytes(sql)?,
        None => 0,
    };
    let excess = used.saturating_sub(retention.max_bytes.unwrap_or(used));
    let select = |condition: &str, size: &str| {
        format!(
            "SELECT id, workspace, title, created, updated, turns, last_end, 0, {size} FROM sessions s
             WHERE {condition} AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.session = s.id AND a.{OPEN})
             ORDER BY updated, id"
        )
    };
    if excess == 0 {
        return Ok(sql.all(&select("updated < ?1", "0"), [before], summary)?);
    }
    let size = "(SELECT coalesce(sum(octet_length(json)), 0) FROM records r WHERE r.session = s.id)";
    let all = "SELECT coalesce(sum(octet_length(json)), 0) FROM records";
    let all: u64 = sql.one(all, [], |row| row.get(0))?;
    let mut rows = sql.prepare(&select("(?1 IS NULL OR TRUE)", size))?;
    let rows = rows.query_map(params![before], |row| Ok((summary(row)?, row.get::<_, u64>(8)?)))?;
    // Each takes the share of the file that its records have of all records: indexes and requests grow with them.
    let (mut freed, mut found) = (0, Vec::new());
    for row in rows {
        let (session, bytes) = row?;
        let is_old = retention.before.is_some_and(|before| session.updated < before);
        if !is_old && freed >= excess {
            break;
        }
        freed += u64::try_from(u128::from(bytes) * u128::from(used) / u128::from(all.max(1))).unwrap_or(used);
        found.push(session);
    }
    Ok(found)
}

/// Returns the bytes of a database that hold something.
pub fn used_bytes(sql: &Connection) -> rusqlite::Result<u64> {
    let number = |name: &str| sql.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
    let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
    Ok(pages.saturating_mul(number("page_size")?))
}
