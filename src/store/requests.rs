//! The life of a request's row while its session goes on: asked, replaced, withdrawn, detached, closed.
//!
//! Each change takes the next number of the store-wide sequence. These run inside the transaction of the record that
//! implies them; deciding and consuming are in `decide`.

use rusqlite::params;

use super::encode::{Ask, Closing, Verdict};
use super::error::SqlResult as _;
use super::num::Num;
use super::writer::Write;
use super::{Listed, RequestState, StoreError};
use crate::approval::RequestId;
use crate::history::SessionId;
use crate::message::CallId;

/// The columns that say how far a row is.
pub(super) struct Standing {
    pub id: RequestId,
    pub state: RequestState,
    detached: bool,
    later_noted: bool,
}

pub(super) fn ask(write: &Write<'_>, session: &SessionId, ask: &Ask) -> Result<(), StoreError> {
    let earlier = of_call(write, session, &ask.call)?;
    for row in earlier.iter().filter(|row| row.state.is_open()) {
        set_state(write, &row.id, RequestState::Superseded)?;
    }
    if exists(write, &ask.request)? {
        return Err(StoreError::RequestIdTaken { id: ask.request.clone() });
    }
    // Whether the conversation went on without a call does not change when it is asked for again.
    let detached = earlier.iter().any(|row| row.detached);
    let seq = write.next_seq()?;
    write
        .sql
        .prepare_cached(
            "INSERT INTO approvals (id, session, call, turn, tool, args_hash, summary, risk, request, state,
                 detached, created, seq)
             VALUES (?1, ?2, ?3, (SELECT turns FROM sessions WHERE id = ?2), ?4, ?5, ?6, ?7, ?8, 'waiting',
                 ?9, ?10, ?11)",
        )
        .sql()?
        .execute(params![
            ask.request.0,
            session.0,
            ask.call.0,
            ask.tool,
            ask.args_hash,
            ask.summary,
            ask.risk,
            ask.json,
            detached,
            write.now,
            Num(seq)
        ])
        .sql()
        .map(drop)
}

/// A decision that its own session records without a stop in the inbox: only while nobody has decided.
pub(super) fn settle(write: &Write<'_>, verdict: &Verdict) -> Result<(), StoreError> {
    let id = &verdict.request;
    let state = state_of(write, id)?
        .ok_or_else(|| StoreError::NotFound { what: Listed::Request, prefix: id.0.clone() })?;
    match state {
        RequestState::Waiting | RequestState::Later => {}
        RequestState::Approved
        | RequestState::Edited
        | RequestState::Replaced
        | RequestState::Denied
        | RequestState::Consumed
        | RequestState::Withdrawn
        | RequestState::Superseded
        | RequestState::Expired => {
            return Err(StoreError::NotDecidable { id: id.clone(), state });
        }
    }
    write_decision(write, verdict)?;
    take(write, id, verdict.state)
}

/// Writes who decided what; the row then waits for its session.
pub(super) fn write_decision(write: &Write<'_>, verdict: &Verdict) -> Result<(), StoreError> {
    let Verdict { request, state, tool, approval, by } = verdict;
    let seq = write.next_seq()?;
    write
        .sql
        .prepare_cached(
            "UPDATE approvals SET state = CASE WHEN tool <> ?7 THEN 'replaced' ELSE ?2 END,
                 decision = ?3, decided_by = ?4, decided_at = ?5, seq = ?6
             WHERE id = ?1",
        )
        .sql()?
        .execute(params![request.0, state.as_str(), approval, by, write.now, Num(seq), tool])
        .sql()
        .map(drop)
}

/// The session's records now hold the decision that made the row `decided`.
pub(super) fn take(write: &Write<'_>, request: &RequestId, decided: RequestState) -> Result<(), StoreError> {
    if decided == RequestState::Later {
        return set_flag(write, request, "UPDATE approvals SET later_noted = 1, seq = ?2 WHERE id = ?1");
    }
    set_state(write, request, RequestState::Consumed)
}

/// What a call's return makes of its row. The fold does the same from the records alone: a call that the session
/// knows to be for later outlives its turn, whatever its return says of the interrupt.
pub(super) fn finish(
    write: &Write<'_>,
    session: &SessionId,
    call: &CallId,
    how: Closing,
) -> Result<(), StoreError> {
    for row in of_call(write, session, call)?.iter().filter(|row| row.state.is_open()) {
        match how {
            Closing::Withdraw if row.later_noted => detach(write, row)?,
            Closing::Withdraw => set_state(write, &row.id, RequestState::Withdrawn)?,
            Closing::Detach => detach(write, row)?,
            Closing::Consume => set_state(write, &row.id, RequestState::Consumed)?,
        }
    }
    Ok(())
}

pub(super) fn detach_all(write: &Write<'_>, session: &SessionId) -> Result<(), StoreError> {
    let rows = standings(
        write,
        "SELECT id, state, detached, later_noted FROM approvals WHERE session = ?1",
        &[&session.0],
    )?;
    rows.iter().filter(|row| row.state.is_open()).try_for_each(|row| detach(write, row))
}

fn detach(write: &Write<'_>, row: &Standing) -> Result<(), StoreError> {
    if row.detached {
        return Ok(());
    }
    set_flag(write, &row.id, "UPDATE approvals SET detached = 1, seq = ?2 WHERE id = ?1")
}

fn set_state(write: &Write<'_>, request: &RequestId, state: RequestState) -> Result<(), StoreError> {
    let seq = write.next_seq()?;
    write
        .sql
        .prepare_cached("UPDATE approvals SET state = ?2, seq = ?3 WHERE id = ?1")
        .sql()?
        .execute(params![request.0, state.as_str(), Num(seq)])
        .sql()
        .map(drop)
}

fn set_flag(write: &Write<'_>, request: &RequestId, update: &str) -> Result<(), StoreError> {
    let seq = write.next_seq()?;
    write.sql.prepare_cached(update).sql()?.execute(params![request.0, Num(seq)]).sql().map(drop)
}

fn exists(write: &Write<'_>, request: &RequestId) -> Result<bool, StoreError> {
    Ok(state_of(write, request)?.is_some())
}

fn state_of(write: &Write<'_>, request: &RequestId) -> Result<Option<RequestState>, StoreError> {
    let rows = standings(
        write,
        "SELECT id, state, detached, later_noted FROM approvals WHERE id = ?1",
        &[&request.0],
    )?;
    Ok(rows.first().map(|row| row.state))
}

/// The rows of one call, oldest first.
fn of_call(write: &Write<'_>, session: &SessionId, call: &CallId) -> Result<Vec<Standing>, StoreError> {
    standings(
        write,
        "SELECT id, state, detached, later_noted FROM approvals WHERE session = ?1 AND call = ?2 ORDER BY created",
        &[&session.0, &call.0],
    )
}

fn standings(
    write: &Write<'_>,
    select: &str,
    params: &[&dyn rusqlite::ToSql],
) -> Result<Vec<Standing>, StoreError> {
    let mut select = write.sql.prepare_cached(select).sql()?;
    let rows = select
        .query_map(params, |row| {
            Ok(Standing {
                id: RequestId(row.get(0)?),
                state: row.get(1)?,
                detached: row.get(2)?,
                later_noted: row.get(3)?,
            })
        })
        .sql()?;
    rows.collect::<rusqlite::Result<_>>().sql()
}
