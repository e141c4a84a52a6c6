//! Lists rows of the audit, for users and scripts.

use jiff::Timestamp;
use rusqlite::types::Value as Param;
use rusqlite::{Row, params_from_iter};
use serde::Serialize;
use serde_json::Value;

use super::super::decide::parse;
use super::super::inbox::moment;
use super::super::statements::{Statements as _, to_signed};
use super::super::{Store, StoreError};
use super::AuditKind;
use crate::approval::{Decider, RequestId};
use crate::history::SessionId;
use crate::message::{CallId, ToolName};

/// One row of the audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditRow {
    pub no: u64,
    pub at: Timestamp,
    pub session: Option<SessionId>,
    /// The session's title, if it has one.
    pub title: Option<String>,
    pub call: Option<CallId>,
    pub request: Option<RequestId>,
    pub tool: Option<ToolName>,
    pub kind: AuditKind,
    /// Who or what decided, for rows about a decision.
    #[serde(rename = "by")]
    pub decider: Option<Decider>,
    /// Details, by kind: arguments before and after, risk, reasons, provenance, result.
    pub details: Value,
    pub hash: String,
}

/// Which rows to list: those that match every field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// A tool's name; `*` and `?` are wildcards as in file names.
    pub tool: Option<String>,
    pub session: Option<SessionId>,
    /// Only rows from this moment on.
    pub since: Option<Timestamp>,
    /// The id of the call or request, or the beginning of it.
    pub about: Option<String>,
    pub kind: Option<AuditKind>,
    /// The row's number.
    pub no: Option<u64>,
}

impl Store {
    /// Returns the latest rows that match, at most `limit`, oldest first.
    pub async fn audit_rows(&self, filter: AuditFilter, limit: usize) -> Result<Vec<AuditRow>, StoreError> {
        self.read(move |reader| {
            let (conditions, params) = conditions(filter, limit);
            let select = format!(
                "SELECT a.no, a.at, a.session, s.title, a.call, a.request, a.tool, a.kind, a.decider, a.details, a.hash
                 FROM audit a LEFT JOIN sessions s ON s.id = a.session
                 WHERE {conditions} ORDER BY a.no DESC LIMIT ?1"
            );
            let mut found = reader.all(&select, params_from_iter(params), audit_row)?;
            found.reverse();
            Ok(found)
        })
        .await
    }
}

fn conditions(filter: AuditFilter, limit: usize) -> (String, Vec<Param>) {
    let AuditFilter { tool, session, since, about, kind, no } = filter;
    let wanted = [
        ("a.tool GLOB ?", tool.map(Param::Text)),
        ("a.session = ?", session.map(|session| Param::Text(session.0))),
        ("a.at >= ?", since.map(|since| Param::Integer(since.as_millisecond()))),
        ("(substr(a.call, 1, length(?)) = ? OR substr(a.request, 1, length(?)) = ?)", about.map(Param::Text)),
        ("a.kind = ?", kind.map(|kind| Param::Text(kind.word().to_owned()))),
        ("a.no = ?", no.map(|no| Param::Integer(i64::try_from(no).unwrap_or(i64::MAX)))),
    ];
    let mut params = vec![Param::Integer(to_signed(limit))];
    let mut terms = vec!["true".to_owned()];
    for (term, param) in wanted.into_iter().filter_map(|(term, param)| Some((term, param?))) {
        params.push(param);
        terms.push(term.replace('?', &format!("?{}", params.len())));
    }
    (terms.join(" AND "), params)
}

fn audit_row(row: &Row<'_>) -> Result<AuditRow, StoreError> {
    let decider: Option<String> = row.get(8)?;
    Ok(AuditRow {
        no: row.get(0)?,
        at: moment(row.get(1)?),
        session: row.get::<_, Option<String>>(2)?.map(SessionId),
        title: row.get(3)?,
        call: row.get::<_, Option<String>>(4)?.map(CallId),
        request: row.get::<_, Option<String>>(5)?.map(RequestId),
        tool: row.get::<_, Option<String>>(6)?.map(ToolName),
        kind: row.get(7)?,
        decider: decider.map(|json| parse(&json)).transpose()?,
        details: parse(&row.get::<_, String>(9)?)?,
        hash: row.get(10)?,
    })
}
