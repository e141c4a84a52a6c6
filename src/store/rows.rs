//! Requests as a list shows them: columns only, so that ten thousand of them are read in a moment.

use jiff::Timestamp;
use rusqlite::Row;

use super::error::SqlResult as _;
use super::inbox::moment;
use super::num::Num;
use super::{Attachment, RequestState, Store, StoreError};
use crate::approval::RequestId;
use crate::history::SessionId;
use crate::message::ToolName;
use crate::tool::Risk;

/// One request, without its arguments and plan.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRow {
    pub id: RequestId,
    pub session: SessionId,
    /// The session's title, where it has one.
    pub title: Option<String>,
    pub workspace: std::path::PathBuf,
    pub risk: Risk,
    pub tool: ToolName,
    pub summary: String,
    /// Whether its arguments carry untrusted words.
    pub tainted: bool,
    pub state: RequestState,
    pub attachment: Attachment,
    pub created: Timestamp,
    pub expires: Option<Timestamp>,
}

impl Store {
    /// What a person can decide now in all sessions, the sessions in the order of their oldest request, at most `limit`.
    pub async fn undecided_rows(&self, limit: usize) -> Result<Vec<RequestRow>, StoreError> {
        self.read(move |reader| {
            let mut select = reader
                .connection
                .prepare_cached(
                    "SELECT a.id, a.session, s.title, s.workspace, a.risk, a.tool, a.summary, a.tainted, a.state,
                         a.detached, a.created, a.expires
                     FROM approvals a JOIN sessions s ON s.id = a.session
                     WHERE a.state IN ('waiting', 'later')
                     ORDER BY min(a.created) OVER (PARTITION BY a.session), a.session, a.created, a.seq LIMIT ?1",
                )
                .sql()?;
            let mut rows = select.query([Num::of(limit)]).sql()?;
            let mut found = Vec::new();
            while let Some(row) = rows.next().sql()? {
                found.push(listed(row)?);
            }
            Ok(found)
        })
        .await
    }
}

fn listed(row: &Row<'_>) -> Result<RequestRow, StoreError> {
    let risk: String = row.get(4).sql()?;
    let detached: bool = row.get(9).sql()?;
    let expires: Option<i64> = row.get(11).sql()?;
    Ok(RequestRow {
        id: RequestId(row.get(0).sql()?),
        session: SessionId(row.get(1).sql()?),
        title: row.get(2).sql()?,
        workspace: row.get::<_, String>(3).sql()?.into(),
        // A word of a newer version counts as the worst.
        risk: [Risk::Low, Risk::Medium].into_iter().find(|one| one.word() == risk).unwrap_or(Risk::High),
        tool: ToolName(row.get(5).sql()?),
        summary: row.get(6).sql()?,
        tainted: row.get(7).sql()?,
        state: row.get(8).sql()?,
        attachment: if detached { Attachment::Detached } else { Attachment::Attached },
        created: moment(row.get(10).sql()?),
        expires: expires.map(moment),
    })
}
