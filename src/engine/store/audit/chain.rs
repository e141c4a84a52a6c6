//! The hash chain of the audit: each row's hash covers the whole row and the hash of the previous row.
//!
//! A row is appended in the transaction of the event it records. Verification uses the same hash function.

use std::borrow::Cow;

use rusqlite::params;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::super::StoreError;
use super::super::statements::Statements as _;
use super::super::writer::{CopiedRow, Write};
use super::entry::Entry;
use super::head::AuditHead;
use crate::history::SessionId;

/// Domain separator of these hashes; the number is the version of the format.
const DOMAIN: &[u8] = b"co audit 1\0";

/// The previous hash of the first row.
pub const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The columns that a row's hash covers, besides the previous hash.
pub struct Columns<'a> {
    pub no: u64,
    pub at: i64,
    pub session: Option<&'a str>,
    pub call: Option<&'a str>,
    pub request: Option<&'a str>,
    pub tool: Option<&'a str>,
    pub kind: &'a str,
    pub decider: Option<&'a str>,
    pub details: &'a str,
}

impl Columns<'_> {
    /// Returns 64 hexadecimal digits. Every column is prefixed with its length, so that columns cannot be
    /// shifted into each other, and a missing column differs from an empty one.
    pub fn hash(&self, prev: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update(self.no.to_be_bytes());
        hash.update(self.at.to_be_bytes());
        let texts = [
            Some(prev),
            self.session,
            self.call,
            self.request,
            self.tool,
            Some(self.kind),
            self.decider,
            Some(self.details),
        ];
        for text in texts {
            match text {
                Some(text) => {
                    hash.update([1]);
                    hash.update((text.len() as u64).to_be_bytes());
                    hash.update(text.as_bytes());
                }
                None => hash.update([0]),
            }
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Appends one row. A row about a call that has no tool gets the tool of the call's previous row; without such a row
/// (the call failed before anything was decided) tool and arguments as the model wrote them.
pub fn append(write: &Write<'_>, session: Option<&SessionId>, entry: &Entry) -> Result<(), StoreError> {
    let last = last(write)?;
    let no = last.as_ref().map_or(1, |last| last.no + 1);
    let prev = last.map_or_else(|| NOTHING.to_owned(), |last| last.hash);
    let session = session.map(|session| session.0.as_str());
    let mut details = Cow::Borrowed(entry.details.as_str());
    let tool = match (&entry.tool, &entry.call, session) {
        (None, Some(call), Some(session)) => match tool_before(write, &call.0, session)? {
            Some(tool) => Some(tool),
            None => as_written(write, &call.0, session)?.map(|(tool, args)| {
                details = Cow::Owned(with_args(&entry.details, args));
                tool
            }),
        },
        (tool, _, _) => tool.clone(),
    };
    let columns = Columns {
        no,
        at: write.now,
        session,
        call: entry.call.as_ref().map(|call| call.0.as_str()),
        request: entry.request.as_ref().map(|request| request.0.as_str()),
        tool: tool.as_deref(),
        kind: entry.kind.word(),
        decider: entry.decider.as_deref(),
        details: &details,
    };
    let hash = columns.hash(&prev);
    let Columns { no, at, session, call, request, tool, kind, decider, details } = columns;
    if let Some(copies) = &write.copies {
        let session = session.map(|id| SessionId(id.to_owned()));
        copies.borrow_mut().push(CopiedRow { session, entry: entry.hashed(tool, details) });
    }
    write.sql.change(
        "INSERT INTO audit (no, at, session, call, request, tool, kind, decider, details, prev, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![no, at, session, call, request, tool, kind, decider, details, prev, hash],
    )?;
    write.audited.replace(Some(AuditHead { no, hash }));
    Ok(())
}

/// Returns the last row. Rows added by this transaction are cached and need no query.
fn last(write: &Write<'_>) -> Result<Option<AuditHead>, StoreError> {
    let own = write.audited.borrow().clone();
    if own.is_some() { Ok(own) } else { AuditHead::last(&write.sql) }
}

fn tool_before(write: &Write<'_>, call: &str, session: &str) -> Result<Option<String>, StoreError> {
    let select = "SELECT tool FROM audit WHERE call = ?1 AND session = ?2 AND tool IS NOT NULL
        ORDER BY no DESC LIMIT 1";
    Ok(write.sql.first(select, [call, session], |row| row.get(0))?)
}

/// Tool and arguments of a call as its reply has them, in the session's latest messages.
fn as_written(write: &Write<'_>, call: &str, session: &str) -> Result<Option<(String, Value)>, StoreError> {
    let mut messages = write.sql.prepare_cached(
        "SELECT json FROM records WHERE session = ?1 AND kind = 'said' ORDER BY no DESC LIMIT 16",
    )?;
    let mut rows = messages.query([session])?;
    while let Some(row) = rows.next()? {
        let json: String = row.get(0)?;
        let record: Value = serde_json::from_str(&json).unwrap_or_default();
        if let Some(found) = call_in(&record, call) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The tool call with this id anywhere in a record.
fn call_in(value: &Value, call: &str) -> Option<(String, Value)> {
    match value {
        Value::Object(fields) => {
            if let (Some(Value::String(id)), Some(Value::String(name)), Some(args)) =
                (fields.get("id"), fields.get("name"), fields.get("args"))
                && id == call
            {
                return Some((name.clone(), args.clone()));
            }
            fields.values().find_map(|field| call_in(field, call))
        }
        Value::Array(items) => items.iter().find_map(|item| call_in(item, call)),
        _ => None,
    }
}

fn with_args(details: &str, args: Value) -> String {
    let mut details: Value = serde_json::from_str(details).unwrap_or_default();
    if let Value::Object(fields) = &mut details {
        fields.insert("args".to_owned(), args);
    }
    details.to_string()
}
