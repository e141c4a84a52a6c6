//! Requests as shown in lists: read from columns only, so that ten thousand of them load quickly.

use jiff::Timestamp;
use rusqlite::{Connection, Row};

use super::inbox::moment;
use super::statements::Statements as _;
use super::{CallTiming, RequestState, Store, StoreError};
use crate::approval::RequestId;
use crate::history::SessionId;
use crate::message::ToolName;
use crate::tool::Risk;

/// One request, without its arguments and plan.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRow {
    pub id: RequestId,
    pub session: SessionId,
    /// The session's title, if it has one.
    pub title: Option<String>,
    pub workspace: std::path::PathBuf,
    pub risk: Risk,
    pub tool: ToolName,
    pub summary: String,
    /// Whether its arguments are tainted by untrusted text.
    pub tainted: bool,
    pub state: RequestState,
    pub timing: CallTiming,
    pub created: Timestamp,
    pub expires: Option<Timestamp>,
}

/// Covered by an index in this order; only the sessions are sorted afterwards.
pub(super) const UNDECIDED: &str =
    "SELECT id, session, risk, tool, summary, tainted, state, detached, created, expires
    FROM approvals INDEXED BY approvals_inbox
    WHERE state IN ('waiting', 'later') ORDER BY session, created, seq";

/// The first condition is that of its index.
pub(super) const APPROVED: &str =
    "SELECT id, session, risk, tool, summary, tainted, state, detached, created, expires FROM approvals
    WHERE (state IN ('approved', 'edited', 'replaced', 'denied') OR (state = 'later' AND later_noted = 0)
        OR (state = 'expired' AND expiry_noted = 0)) AND state IN ('approved', 'edited', 'replaced')
    ORDER BY session, seq";

impl Store {
    /// Returns the approved requests, at most `limit`, that their sessions have not consumed yet.
    pub async fn approved_rows(&self, limit: usize) -> Result<Vec<RequestRow>, StoreError> {
        self.read(move |reader| {
            let snapshot = reader.unchecked_transaction()?;
            Ok(groups(&snapshot, APPROVED)?.into_iter().flatten().take(limit).collect())
        })
        .await
    }

    /// Returns the undecided requests of all sessions, at most `limit`; sessions with the oldest request
    /// first.
    pub async fn undecided_rows(&self, limit: usize) -> Result<Vec<RequestRow>, StoreError> {
        self.read(move |reader| {
            // A transaction, so that both queries see the same state while other processes write.
            let snapshot = reader.unchecked_transaction()?;
            let mut groups = groups(&snapshot, UNDECIDED)?;
            groups.sort_by(|one, other| {
                let age = |group: &[RequestRow]| group.first().map(|row| row.created);
                age(one).cmp(&age(other))
            });
            Ok(groups.into_iter().flatten().take(limit).collect())
        })
        .await
    }

    /// Returns the number of undecided requests of all sessions except this one.
    pub async fn waiting_elsewhere(&self, session: &SessionId) -> Result<usize, StoreError> {
        let session = session.clone();
        self.read(move |reader| {
            let select =
                "SELECT count(*) FROM approvals WHERE state IN ('waiting', 'later') AND session <> ?1";
            Ok(reader.one(select, [&session.0], |row| row.get(0))?)
        })
        .await
    }
}

/// Returns the rows that a query selects, by session.
fn groups(connection: &Connection, select: &str) -> Result<Vec<Vec<RequestRow>>, StoreError> {
    let place = "SELECT title, workspace FROM sessions WHERE id = ?1";
    let mut select = connection.prepare_cached(select)?;
    let mut rows = select.query([])?;
    let mut groups: Vec<Vec<RequestRow>> = Vec::new();
    while let Some(row) = rows.next()? {
        let session: String = row.get(1)?;
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| last.session.0 == session) => {
                let like = group.last().map(|last| (last.title.clone(), last.workspace.clone()));
                group.push(request_row(row, session, like.unwrap_or_default())?);
            }
            Some(_) | None => {
                let at = connection
                    .first(place, [&session], |row| Ok((row.get(0)?, row.get::<_, String>(1)?.into())))?;
                // A request whose session is missing must not hide all others.
                groups.extend(at.map(|at| request_row(row, session, at)).transpose()?.map(|row| vec![row]));
            }
        }
    }
    Ok(groups)
}

fn request_row(
    row: &Row<'_>,
    session: String,
    (title, workspace): (Option<String>, std::path::PathBuf),
) -> Result<RequestRow, StoreError> {
    let risk = row.get_ref(2)?.as_str().unwrap_or_default();
    let is_late: bool = row.get(7)?;
    let expires: Option<i64> = row.get(9)?;
    Ok(RequestRow {
        id: RequestId(row.get(0)?),
        session: SessionId(session),
        title,
        workspace,
        // An unknown risk of a newer version counts as the highest.
        risk: [Risk::Low, Risk::Medium].into_iter().find(|one| one.word() == risk).unwrap_or(Risk::High),
        tool: ToolName(row.get(3)?),
        summary: row.get(4)?,
        tainted: row.get(5)?,
        state: row.get(6)?,
        timing: if is_late { CallTiming::Late } else { CallTiming::InTurn },
        created: moment(row.get(8)?),
        expires: expires.map(moment),
    })
}
