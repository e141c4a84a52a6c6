//! Deciding, from any process, and consuming, by the session's owner.
//!
//! Deciding runs nothing: it writes the row, and the first answer wins. Consuming hands the decision to the session
//! in the same transaction that marks the row, so that it can happen once only.

use std::sync::Arc;

use rusqlite::{OptionalExtension as _, params};

use super::encode::{self, Verdict};
use super::error::SqlResult as _;
use super::redact::Redactor;
use super::requests::{take, write_decision};
use super::writer::{Reader, Write};
use super::{RequestState, Store, StoreError, records};
use crate::approval::{Approval, Decider, RequestId};
use crate::history::{Durability, Record, SessionId};
use crate::message::CallId;

/// What became of a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum DecideOutcome {
    /// It counts, and is on the disk.
    Recorded,
    /// Somebody was faster.
    AlreadyDecided { approval: Approval, by: Decider },
    /// The request ended without a person's decision.
    NotOpen { state: RequestState },
    /// There is no such request.
    Unknown,
}

/// Decisions that the session's records do not hold yet.
const UNCONSUMED: &str = "session = ?1 AND (state IN ('approved', 'edited', 'replaced', 'denied') OR (state = 'later' AND later_noted = 0))";

impl Store {
    /// Decides a request: the first yes or no wins, in one synced transaction. A request set to later can still be
    /// decided; to set it to later again changes nothing.
    pub async fn decide(
        &self,
        request: &RequestId,
        approval: Approval,
        by: Decider,
    ) -> Result<DecideOutcome, StoreError> {
        let verdict = encode::verdict(request, &approval, &by, &self.inner.redactor)?;
        self.write(move |writer| writer.transaction(Durability::Synced, |write| decide(write, &verdict)))
            .await
    }

    /// Takes every decision of a session that its records do not hold yet, appends a [`Record::Decided`] for each (in
    /// the order of deciding) after the `after` records it has, in one synced transaction, and returns them. Only the
    /// session's owner calls this. Without such decisions nothing is written.
    pub async fn consume(&self, session: &SessionId, after: u64) -> Result<Vec<Record>, StoreError> {
        let session = session.clone();
        let asked = session.clone();
        if !self.read(move |reader| anything_to_consume(reader, &asked)).await? {
            return Ok(Vec::new());
        }
        let redactor = Arc::clone(&self.inner.redactor);
        self.write(move |writer| {
            writer.transaction(Durability::Synced, |write| consume(write, &session, after, &redactor))
        })
        .await
    }
}

fn decide(write: &Write<'_>, verdict: &Verdict) -> Result<DecideOutcome, StoreError> {
    let found = write
        .sql
        .prepare_cached("SELECT state, decision, decided_by FROM approvals WHERE id = ?1")
        .sql()?
        .query_row([&verdict.request.0], |row| {
            Ok((
                row.get::<_, RequestState>(0)?,
                row.get::<_, Option<String>>(1)?,
                row.get::<_, Option<String>>(2)?,
            ))
        })
        .optional()
        .sql()?;
    let Some((state, decision, decided_by)) = found else { return Ok(DecideOutcome::Unknown) };
    match state {
        RequestState::Later if verdict.state == RequestState::Later => Ok(DecideOutcome::Recorded),
        RequestState::Waiting | RequestState::Later => {
            write_decision(write, verdict)?;
            Ok(DecideOutcome::Recorded)
        }
        RequestState::Approved
        | RequestState::Edited
        | RequestState::Replaced
        | RequestState::Denied
        | RequestState::Consumed => match (decision, decided_by) {
            (Some(decision), Some(by)) => {
                Ok(DecideOutcome::AlreadyDecided { approval: parse(&decision)?, by: parse(&by)? })
            }
            (None, _) | (_, None) => Ok(DecideOutcome::NotOpen { state }),
        },
        RequestState::Withdrawn | RequestState::Superseded | RequestState::Expired => {
            Ok(DecideOutcome::NotOpen { state })
        }
    }
}

fn consume(
    write: &Write<'_>,
    session: &SessionId,
    after: u64,
    redactor: &Redactor,
) -> Result<Vec<Record>, StoreError> {
    let decided = unconsumed(write, session)?;
    let mut records = Vec::with_capacity(decided.len());
    for Unconsumed { request, call, state, approval, by } in decided {
        take(write, &request, state)?;
        records.push(Record::Decided { request, call, approval, by });
    }
    let mut rows = encode::rows(&records, redactor)?;
    for row in &mut rows {
        // The rows of the requests are marked already.
        row.implied = None;
    }
    records::append(write, session, after, &rows)?;
    Ok(records)
}

fn anything_to_consume(reader: &mut Reader, session: &SessionId) -> Result<bool, StoreError> {
    let select = format!("SELECT EXISTS (SELECT 1 FROM approvals WHERE {UNCONSUMED})");
    reader.connection.prepare_cached(&select).sql()?.query_row([&session.0], |row| row.get(0)).sql()
}

struct Unconsumed {
    request: RequestId,
    call: CallId,
    state: RequestState,
    approval: Approval,
    by: Decider,
}

fn unconsumed(write: &Write<'_>, session: &SessionId) -> Result<Vec<Unconsumed>, StoreError> {
    let select = format!(
        "SELECT id, call, decision, decided_by, state FROM approvals WHERE {UNCONSUMED} ORDER BY seq"
    );
    let mut select = write.sql.prepare_cached(&select).sql()?;
    let mut rows = select.query(params![session.0]).sql()?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().sql()? {
        let (decision, by): (String, String) = (row.get(2).sql()?, row.get(3).sql()?);
        found.push(Unconsumed {
            request: RequestId(row.get(0).sql()?),
            call: CallId(row.get(1).sql()?),
            state: row.get(4).sql()?,
            approval: parse(&decision)?,
            by: parse(&by)?,
        });
    }
    Ok(found)
}

/// A stored decision or decider, perhaps of a newer version.
pub(super) fn parse<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Failed {
        folder: std::path::PathBuf::new(),
        detail: format!("an approval that this co cannot read ({error}); a newer co wrote it: use that one"),
    })
}
