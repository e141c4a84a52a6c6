//! The state columns of requests, as used by the functions that change them.

use rusqlite::ToSql;

use super::statements::Statements as _;
use super::writer::Write;
use super::{RequestState, StoreError};
use crate::approval::RequestId;
use crate::history::SessionId;
use crate::message::CallId;

/// Tolerance for a clock that is earlier than a request's creation, in milliseconds.
const SLACK: i64 = 60_000;

/// The state of a request's row, and its session and call.
pub(super) struct RequestRow {
    pub id: RequestId,
    pub session: SessionId,
    pub call: CallId,
    pub tool: String,
    pub state: RequestState,
    pub is_late: bool,
    pub later_noted: bool,
    pub expires: Option<i64>,
    created: i64,
    expiry_noted: bool,
}

impl RequestRow {
    /// Whether the request can no longer be decided. If the clock is far before the creation of the request,
    /// the remaining time is unknown, and the request counts as over.
    pub fn is_over(&self, now: i64) -> bool {
        self.expires.is_some_and(|expires| expires <= now || now < self.created.saturating_sub(SLACK))
    }

    /// Whether it expired and its session has not recorded that yet.
    pub fn is_unreported(&self) -> bool {
        self.state == RequestState::Expired && !self.expiry_noted
    }
}

pub(super) fn request_row(write: &Write<'_>, request: &RequestId) -> Result<Option<RequestRow>, StoreError> {
    Ok(request_rows(write, "WHERE id = ?1", &[&request.0])?.pop())
}

/// Returns the rows of one call, oldest first.
pub(super) fn of_call(
    write: &Write<'_>,
    session: &SessionId,
    call: &CallId,
) -> Result<Vec<RequestRow>, StoreError> {
    request_rows(write, "WHERE session = ?1 AND call = ?2 ORDER BY created", &[&session.0, &call.0])
}

pub(super) fn request_rows(
    write: &Write<'_>,
    which: &str,
    params: &[&dyn ToSql],
) -> Result<Vec<RequestRow>, StoreError> {
    let select = format!(
        "SELECT id, session, call, tool, state, created, expires, detached, later_noted, expiry_noted
         FROM approvals {which}"
    );
    write.sql.all(&select, params, |row| {
        Ok(RequestRow {
            id: RequestId(row.get(0)?),
            session: SessionId(row.get(1)?),
            call: CallId(row.get(2)?),
            tool: row.get(3)?,
            state: row.get(4)?,
            created: row.get(5)?,
            expires: row.get(6)?,
            is_late: row.get(7)?,
            later_noted: row.get(8)?,
            expiry_noted: row.get(9)?,
        })
    })
}
