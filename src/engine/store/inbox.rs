//! Queries for requests: lists, one by its prefix, and changes since a number.
//!
//! Read-only. Called by front ends (`co approvals`, the inbox) and by session owners after a wake-up.

use jiff::Timestamp;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{Connection, Params, Row, params};

use super::decide::{decision, parse};
use super::statements::{Statements as _, to_signed};
use super::{IdKind, Store, StoreError};
use crate::approval::{Approval, Decider, Request, RequestId, SUPERSEDED, WITHDRAWN};
use crate::history::SessionId;
use crate::message::CallId;
use crate::stdx::names::names;

/// The state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// Undecided.
    Waiting,
    /// The user chose to decide later.
    Later,
    /// Approved; its session has not consumed the decision yet.
    Approved,
    /// As approved, with changed arguments.
    Edited,
    /// As approved, with another call instead.
    Replaced,
    Denied,
    /// Its session consumed the decision, or the call was answered without one.
    Consumed,
    /// Its turn was interrupted before a decision.
    Withdrawn,
    /// Replaced by a new request for the same call.
    Superseded,
    /// It timed out without a decision.
    Expired,
}

names! {
    RequestState, all {
        Waiting = "waiting",
        Later = "later",
        Approved = "approved",
        Edited = "edited",
        Replaced = "replaced",
        Denied = "denied",
        Consumed = "consumed",
        Withdrawn = "withdrawn",
        Superseded = "superseded",
        Expired = "expired",
    }
}

impl RequestState {
    /// Whether a user can still decide.
    pub fn is_undecided(self) -> bool {
        matches!(self, Self::Waiting | Self::Later)
    }

    /// Whether the request can still take effect: undecided, or decided and not consumed.
    pub fn is_open(self) -> bool {
        let is_decided = matches!(self, Self::Approved | Self::Edited | Self::Replaced | Self::Denied);
        self.is_undecided() || is_decided
    }

    /// Says why a request in this state can no longer be decided, to follow its name.
    pub(crate) fn describe_closed(self, is_question: bool) -> String {
        match self {
            Self::Withdrawn if is_question => {
                "was withdrawn: the server that asked does not wait for the answer any more".to_owned()
            }
            Self::Withdrawn => format!("was {WITHDRAWN}, and can no longer be decided"),
            Self::Superseded => format!("was {SUPERSEDED}; `co approvals` lists it"),
            Self::Consumed => "was closed without a decision when its session continued".to_owned(),
            Self::Expired => "has expired and can no longer be decided".to_owned(),
            Self::Waiting | Self::Later | Self::Approved | Self::Edited | Self::Replaced | Self::Denied => {
                "can no longer be decided".to_owned()
            }
        }
    }
}

impl std::fmt::Display for RequestState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl FromSql for RequestState {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::named(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
}

/// Whether the turn that asked still waits for the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallTiming {
    #[serde(rename = "attached")]
    InTurn,
    /// The conversation went on. If approved, the call runs once and its outcome becomes a note.
    #[serde(rename = "detached")]
    Late,
}

/// A request with its session and state.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRequest {
    pub request: Request,
    pub session: SessionId,
    /// The session's title, if it has one.
    pub title: Option<String>,
    pub workspace: std::path::PathBuf,
    /// The number of the turn that asked, from 1.
    pub turn: u32,
    /// Hash of the request as stored; 32 hexadecimal digits.
    pub args_hash: String,
    pub state: RequestState,
    pub timing: CallTiming,
    pub decision: Option<(Approval, Decider)>,
    pub created: Timestamp,
    pub decided_at: Option<Timestamp>,
    /// The number of its latest change, unique in the store.
    pub seq: u64,
}

/// The decision on a call, and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct PastDecision {
    pub call: CallId,
    pub approval: Approval,
    pub by: Decider,
    pub at: Timestamp,
}

/// Which requests to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestFilter {
    /// Undecided requests of every session.
    Undecided,
    /// Undecided requests of one session.
    UndecidedOf(SessionId),
    /// All requests of one session, settled ones included.
    Of(SessionId),
    /// All requests ever made, newest first.
    All,
}

impl Store {
    /// Returns requests, oldest first (newest first for [`RequestFilter::All`]), at most `limit`.
    pub async fn requests(
        &self,
        filter: RequestFilter,
        limit: usize,
    ) -> Result<Vec<StoredRequest>, StoreError> {
        const OLDEST: &str = "a.created, a.seq";
        // Each condition names `?2`, which is bound in every query.
        let (condition, order, session) = match filter {
            RequestFilter::Undecided => ("a.state IN ('waiting', 'later') AND ?2 IS NULL", OLDEST, None),
            RequestFilter::UndecidedOf(id) => {
                ("a.state IN ('waiting', 'later') AND a.session = ?2", OLDEST, Some(id.0))
            }
            RequestFilter::Of(id) => ("a.session = ?2", OLDEST, Some(id.0)),
            RequestFilter::All => ("?2 IS NULL", "a.created DESC, a.seq DESC", None),
        };
        let tail = format!("WHERE {condition} ORDER BY {order} LIMIT ?1");
        self.read(move |reader| select(reader, &tail, params![to_signed(limit), session])).await
    }

    /// Returns when a request was made, and when it was decided if it is; `None` if there is none of this id.
    pub async fn times_of(
        &self,
        id: &RequestId,
    ) -> Result<Option<(Timestamp, Option<Timestamp>)>, StoreError> {
        let id = id.0.clone();
        self.read(move |reader| {
            let sql = "SELECT created, decided_at FROM approvals WHERE id = ?1";
            let times = |row: &Row<'_>| Ok((moment(row.get(0)?), row.get::<_, Option<i64>>(1)?.map(moment)));
            Ok(reader.first(sql, [id], times)?)
        })
        .await
    }

    /// Returns the decisions on the calls of a session, the last one of a call last.
    pub async fn decisions(&self, session: &SessionId) -> Result<Vec<PastDecision>, StoreError> {
        let session = session.0.clone();
        self.read(move |reader| {
            let select = "SELECT call, decision, decided_by, decided_at FROM approvals
                WHERE session = ?1 AND decision IS NOT NULL AND decided_at IS NOT NULL ORDER BY seq";
            reader.all(select, [session], |row| {
                Ok::<_, StoreError>(PastDecision {
                    call: CallId(row.get(0)?),
                    approval: parse(&row.get::<_, String>(1)?)?,
                    by: parse(&row.get::<_, String>(2)?)?,
                    at: moment(row.get(3)?),
                })
            })
        })
        .await
    }

    /// Returns the requests changed after the change numbered `seq`, in the order of changes; each once, as
    /// it is now.
    pub async fn changes_since(&self, seq: u64) -> Result<Vec<StoredRequest>, StoreError> {
        self.read(move |reader| select(reader, "WHERE a.seq > ?1 ORDER BY a.seq", [seq])).await
    }

    /// Returns the number of the latest change of any request; 0 before the first.
    pub async fn latest_change(&self) -> Result<u64, StoreError> {
        self.read(|reader| Ok(reader.one("SELECT seq FROM store_seq", [], |row| row.get(0))?)).await
    }

    /// Returns the request whose id is `prefix`, or is the only one that begins with it.
    pub async fn find_request(&self, prefix: &str) -> Result<StoredRequest, StoreError> {
        let prefix = prefix.to_ascii_lowercase();
        self.read(move |reader| {
            let id = unique(reader, IdKind::Request, &prefix)?;
            let found = select(reader, "WHERE a.id = ?1", [id])?;
            found.into_iter().next().ok_or(StoreError::NotFound { what: IdKind::Request, prefix })
        })
        .await
    }

    /// Returns the number of undecided requests of all sessions.
    pub async fn waiting_count(&self) -> Result<usize, StoreError> {
        self.read(|reader| {
            let count = "SELECT count(*) FROM approvals WHERE state IN ('waiting', 'later')";
            Ok(reader.one(count, [], |row| row.get(0))?)
        })
        .await
    }
}

/// Returns the id that is `prefix`, or the only one that begins with it.
pub(super) fn unique(reader: &Connection, what: IdKind, prefix: &str) -> Result<String, StoreError> {
    let table = match what {
        IdKind::Session => "sessions",
        IdKind::Request => "approvals",
    };
    let select = format!(
        "SELECT id FROM {table} WHERE substr(id, 1, length(?1)) = ?1 AND ?1 <> '' ORDER BY id LIMIT 9"
    );
    let mut found: Vec<String> = reader.all(&select, [prefix], |row| row.get(0))?;
    let prefix = prefix.to_owned();
    match found.iter().position(|id| *id == prefix) {
        Some(at) => Ok(found.swap_remove(at)),
        None if found.len() > 1 => Err(StoreError::Ambiguous { what, prefix, candidates: found }),
        None => found.pop().ok_or(StoreError::NotFound { what, prefix }),
    }
}

fn select(reader: &Connection, tail: &str, params: impl Params) -> Result<Vec<StoredRequest>, StoreError> {
    let select = format!(
        "SELECT a.request, a.session, s.title, s.workspace, a.turn, a.args_hash, a.state, a.detached,
             a.decision, a.decided_by, a.created, a.decided_at, a.seq
         FROM approvals a JOIN sessions s ON s.id = a.session {tail}"
    );
    reader.all(&select, params, stored_request)
}

fn stored_request(row: &Row<'_>) -> Result<StoredRequest, StoreError> {
    let is_late: bool = row.get(7)?;
    let decided_at: Option<i64> = row.get(11)?;
    Ok(StoredRequest {
        request: parse(&row.get::<_, String>(0)?)?,
        session: SessionId(row.get(1)?),
        title: row.get(2)?,
        workspace: row.get::<_, String>(3)?.into(),
        turn: row.get(4)?,
        args_hash: row.get(5)?,
        state: row.get(6)?,
        timing: if is_late { CallTiming::Late } else { CallTiming::InTurn },
        decision: decision(row, 8)?,
        created: moment(row.get(10)?),
        decided_at: decided_at.map(moment),
        seq: row.get(12)?,
    })
}

/// Converts a stored time; one out of range becomes the start of 1970.
pub(super) fn moment(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl StoredRequest {
    pub fn id(&self) -> &RequestId {
        &self.request.id
    }
}
