//! State changes of a request's row in its session: asked, superseded, withdrawn, late, expired, closed.
//!
//! Each change takes the next number of the store-wide sequence, and is recorded in the audit if it decides
//! something. These functions run inside the transaction of the record that implies them. For deciding and
//! consuming see `decide`.

use rusqlite::params;
use serde_json::{Value, json};

use super::audit::AuditKind;
use super::audit::chain;
use super::audit::entry::Entry;
use super::decide::parse;
use super::encode::{DecisionRow, RequestInsert, ReturnEffect};
use super::inbox::moment;
use super::redact::to_json;
use super::request_rows::{RequestRow, of_call, request_row, request_rows};
use super::statements::Statements as _;
use super::writer::Write;
use super::{IdKind, RequestState, StoreError};
use crate::approval::{Approval, Decider, Request, RequestId};
use crate::history::SessionId;
use crate::message::CallId;

pub(super) fn ask(write: &Write<'_>, session: &SessionId, ask: &RequestInsert) -> Result<(), StoreError> {
    let earlier = of_call(write, session, &ask.call)?;
    for row in &earlier {
        if row.state.is_open() {
            set_state(write, &row.id, RequestState::Superseded)?;
            tell(write, row, AuditKind::Superseded, &json!({ "instead": ask.request }))?;
        } else {
            pass_over(write, row)?;
        }
    }
    if request_row(write, &ask.request)?.is_some() {
        return Err(StoreError::RequestIdTaken { id: ask.request.clone() });
    }
    // A late call stays one when it is asked again.
    let is_late = earlier.iter().any(|row| row.is_late);
    insert(write, session, ask, is_late)?;
    chain::append(write, Some(session), &ask.audit)
}

fn insert(
    write: &Write<'_>,
    session: &SessionId,
    ask: &RequestInsert,
    is_late: bool,
) -> Result<(), StoreError> {
    let seq = write.next_seq()?;
    let insert = "INSERT INTO approvals (id, session, call, turn, tool, args_hash, summary, risk, tainted,
             request, state, detached, created, expires, seq)
         VALUES (?1, ?2, ?3, (SELECT turns FROM sessions WHERE id = ?2), ?4, ?5, ?6, ?7, ?8, ?9, 'waiting',
             ?10, ?11, ?12, ?13)";
    let columns = params![
        ask.request.0,
        session.0,
        ask.call.0,
        ask.tool,
        ask.args_hash,
        ask.summary,
        ask.risk,
        ask.tainted,
        ask.json,
        is_late,
        write.now,
        ask.expires,
        seq
    ];
    write.sql.change(insert, columns)?;
    Ok(())
}

/// Records a decision that the session itself made, without the inbox. Allowed only while the request is
/// undecided and not expired. Setting an already settled request to later changes nothing and is no error:
/// the earlier decision is consumed as usual.
pub(super) fn settle(write: &Write<'_>, verdict: &DecisionRow) -> Result<(), StoreError> {
    let id = &verdict.request;
    let row = request_row(write, id)?
        .ok_or_else(|| StoreError::NotFound { what: IdKind::Request, prefix: id.0.clone() })?;
    let refused = |state| Err(StoreError::NotDecidable { id: id.clone(), state });
    if !row.state.is_undecided() {
        return if verdict.state == RequestState::Later { Ok(()) } else { refused(row.state) };
    }
    if verdict.state != RequestState::Later && row.is_over(write.now) {
        return refused(RequestState::Expired);
    }
    write_decision(write, &row, verdict)?;
    take(write, id, verdict.state)
}

/// Writes who decided what; the row then waits for its session to consume it.
pub(super) fn write_decision(
    write: &Write<'_>,
    row: &RequestRow,
    verdict: &DecisionRow,
) -> Result<(), StoreError> {
    let DecisionRow { request, state, tool, approval, by } = verdict;
    let asked = "SELECT request FROM approvals WHERE id = ?1";
    let json: String = write.sql.one(asked, [&request.0], |row| row.get(0))?;
    let seq = write.next_seq()?;
    write.sql.change(
        "UPDATE approvals SET state = CASE WHEN tool <> ?7 THEN 'replaced' ELSE ?2 END,
             decision = ?3, decided_by = ?4, decided_at = ?5, seq = ?6
         WHERE id = ?1",
        params![request.0, state.word(), approval, by, write.now, seq, tool],
    )?;
    let (approval, by): (Approval, Decider) = (parse(approval)?, parse(by)?);
    let stored: Request = parse(&json)?;
    chain::append(write, Some(&row.session), &Entry::decided(&stored, &approval, &by)?)
}

/// Marks the row as consumed: the session's records now contain the decision or expiry with state `decided`.
pub(super) fn take(write: &Write<'_>, request: &RequestId, decided: RequestState) -> Result<(), StoreError> {
    match decided {
        RequestState::Later => {
            set_flag(write, request, "UPDATE approvals SET later_noted = 1, seq = ?2 WHERE id = ?1")
        }
        RequestState::Expired => {
            set_flag(write, request, "UPDATE approvals SET expiry_noted = 1, seq = ?2 WHERE id = ?1")
        }
        RequestState::Waiting
        | RequestState::Approved
        | RequestState::Edited
        | RequestState::Replaced
        | RequestState::Denied
        | RequestState::Consumed
        | RequestState::Withdrawn
        | RequestState::Superseded => set_state(write, request, RequestState::Consumed),
    }
}

/// Applies an expiry that the session records. A decision made in the meantime is kept.
pub(super) fn expire(write: &Write<'_>, request: &RequestId) -> Result<(), StoreError> {
    let row = request_row(write, request)?
        .ok_or_else(|| StoreError::NotFound { what: IdKind::Request, prefix: request.0.clone() })?;
    match row.state {
        RequestState::Waiting | RequestState::Later => {
            end_undecided(write, &row)?;
            take(write, request, RequestState::Expired)
        }
        RequestState::Expired => pass_over(write, &row),
        // Consumed after its time was over: the answer is void, and the audit records that.
        RequestState::Consumed => tell_expired(write, &row),
        RequestState::Approved
        | RequestState::Edited
        | RequestState::Replaced
        | RequestState::Denied
        | RequestState::Withdrawn
        | RequestState::Superseded => Ok(()),
    }
}

/// Marks the request as expired; its session must still record that.
pub(super) fn end_undecided(write: &Write<'_>, row: &RequestRow) -> Result<(), StoreError> {
    set_state(write, &row.id, RequestState::Expired)?;
    tell_expired(write, row)
}

/// Reopens requests that expired because the clock was ahead, if their sessions have not recorded the expiry.
pub(super) fn reopen(write: &Write<'_>) -> Result<(), StoreError> {
    let select = "WHERE state = 'expired' AND expiry_noted = 0 AND expires > ?1 ORDER BY expires, seq";
    // By the current clock their time is not over.
    for row in request_rows(write, select, &[&write.now])?.iter().filter(|row| !row.is_over(write.now)) {
        let state = if row.later_noted { RequestState::Later } else { RequestState::Waiting };
        set_state(write, &row.id, state)?;
        tell(write, row, AuditKind::Asked, &json!({ "because": "the clock was ahead" }))?;
    }
    Ok(())
}

/// Withdraws a request whose row no longer matches what was asked: any decision about it is void.
pub(super) fn refuse_changed(write: &Write<'_>, row: &RequestRow) -> Result<(), StoreError> {
    withdraw(write, row, "changed")
}

/// Applies a call's return to its rows. The fold derives the same from the records alone: a call that the
/// session has recorded as later outlives its turn, even if its return says that it was interrupted.
pub(super) fn finish(
    write: &Write<'_>,
    session: &SessionId,
    call: &CallId,
    how: ReturnEffect,
) -> Result<(), StoreError> {
    let rows = of_call(write, session, call)?;
    if !rows.is_empty() {
        // Observers of decisions also want the outcome.
        write.news.set(true);
    }
    for row in rows {
        let stays = match how {
            ReturnEffect::Withdraw => row.later_noted,
            ReturnEffect::MakeLate => true,
            ReturnEffect::Consume => false,
        };
        match (row.state.is_open(), row.is_unreported()) {
            (true, _) | (_, true) if stays => make_late(write, &row)?,
            (true, _) if how == ReturnEffect::Withdraw => withdraw(write, &row, "interrupted")?,
            (true, _) => set_state(write, &row.id, RequestState::Consumed)?,
            (false, _) => pass_over(write, &row)?,
        }
    }
    Ok(())
}

pub(super) fn make_all_late(write: &Write<'_>, session: &SessionId) -> Result<(), StoreError> {
    let rows = request_rows(write, "WHERE session = ?1", &[&session.0])?;
    rows.iter()
        .filter(|row| row.state.is_open() || row.is_unreported())
        .try_for_each(|row| make_late(write, row))
}

pub(super) fn withdraw(write: &Write<'_>, row: &RequestRow, because: &str) -> Result<(), StoreError> {
    set_state(write, &row.id, RequestState::Withdrawn)?;
    tell(write, row, AuditKind::Withdrawn, &json!({ "because": because }))
}

fn make_late(write: &Write<'_>, row: &RequestRow) -> Result<(), StoreError> {
    if row.is_late {
        return Ok(());
    }
    set_flag(write, &row.id, "UPDATE approvals SET detached = 1, seq = ?2 WHERE id = ?1")
}

/// If the request expired, marks the expiry as noted, because the session no longer needs to record it.
fn pass_over(write: &Write<'_>, row: &RequestRow) -> Result<(), StoreError> {
    if row.is_unreported() { take(write, &row.id, RequestState::Expired) } else { Ok(()) }
}

fn tell_expired(write: &Write<'_>, row: &RequestRow) -> Result<(), StoreError> {
    let details = json!({ "expires": row.expires.map(moment) });
    chain::append(
        write,
        Some(&row.session),
        &Entry { decider: Some(to_json(&Decider::Expiry)?), ..entry(row, AuditKind::Expired, &details) },
    )
}

fn tell(write: &Write<'_>, row: &RequestRow, kind: AuditKind, details: &Value) -> Result<(), StoreError> {
    chain::append(write, Some(&row.session), &entry(row, kind, details))
}

fn entry(row: &RequestRow, kind: AuditKind, details: &Value) -> Entry {
    Entry::of_request(kind, (&row.id, &row.call, &row.tool), details)
}

fn set_state(write: &Write<'_>, request: &RequestId, state: RequestState) -> Result<(), StoreError> {
    let seq = write.next_seq()?;
    let update = "UPDATE approvals SET state = ?2, seq = ?3 WHERE id = ?1";
    write.sql.change(update, params![request.0, state.word(), seq])?;
    Ok(())
}

fn set_flag(write: &Write<'_>, request: &RequestId, update: &str) -> Result<(), StoreError> {
    let seq = write.next_seq()?;
    write.sql.change(update, params![request.0, seq])?;
    Ok(())
}
