//! The list of sessions, and the input history.
//!
//! Called by front ends: the session picker, `co -c`, `co resume`, `co sessions`, the composer's history.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Connection, Row, params};

use super::inbox::{moment, unique};
use super::records::MAX_CLOCK_LEAD;
use super::statements::{Statements as _, to_signed};
use super::{IdKind, Store, StoreError};
use crate::history::{Durability, Record, SessionId, TurnEnd};
use crate::message::images;

/// Number of input lines kept; older ones are removed.
const INPUTS_KEPT: i64 = 10_000;

/// A session in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    pub id: SessionId,
    pub workspace: PathBuf,
    /// The name the user gave it, or the beginning of its first prompt.
    pub title: Option<String>,
    pub created: Timestamp,
    /// When its last record was stored.
    pub updated: Timestamp,
    /// Number of turns started.
    pub turns: u32,
    /// How the last turn ended; `None` before the first turn, during a turn and after a turn was cut off.
    pub last_end: Option<TurnEnd>,
    /// Number of its undecided requests.
    pub waiting: usize,
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionFilter {
    All,
    /// Sessions started in this folder.
    Folder(PathBuf),
    /// Sessions with undecided requests.
    Waiting,
}

/// Which input lines to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputScope {
    All,
    /// Lines typed in this folder.
    Folder(PathBuf),
}

/// A line of the input history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedLine {
    pub text: String,
    pub workspace: PathBuf,
}

impl Store {
    /// Returns sessions, most recently used first, at most `limit`.
    pub async fn sessions(
        &self,
        filter: SessionFilter,
        limit: usize,
    ) -> Result<Vec<SessionSummary>, StoreError> {
        let now = self.inner.clock.now();
        self.read(move |reader| list(reader, &filter, limit, now)).await
    }

    /// Does the same for lists that people read: each has a title, and those in which nothing was written are left out.
    pub async fn listed_sessions(
        &self,
        filter: SessionFilter,
        limit: usize,
    ) -> Result<Vec<SessionSummary>, StoreError> {
        let now = self.inner.clock.now();
        self.read(move |reader| {
            let mut listed = Vec::new();
            for mut one in list(reader, &filter, usize::MAX, now)? {
                if listed.len() == limit {
                    break;
                }
                one.title = list_title(reader, &one)?;
                if one.title.is_some() {
                    listed.push(one);
                }
            }
            Ok(listed)
        })
        .await
    }

    /// Returns the most recently used session of this folder in which something was written.
    pub async fn latest_session(&self, workspace: &Path) -> Result<Option<SessionId>, StoreError> {
        let found = self.listed_sessions(SessionFilter::Folder(workspace.to_owned()), 1).await?;
        Ok(found.into_iter().next().map(|session| session.id))
    }

    /// Returns the session whose id is `prefix`, or is the only one that begins with it.
    pub async fn find_session(&self, prefix: &str) -> Result<SessionId, StoreError> {
        let prefix = prefix.to_ascii_lowercase();
        self.read(move |reader| unique(reader, IdKind::Session, &prefix).map(SessionId)).await
    }

    /// Adds a line to the input history; the same line twice in a row is stored once.
    pub async fn remember_input(&self, workspace: &Path, text: &str) -> Result<(), StoreError> {
        let workspace = workspace.to_string_lossy().into_owned();
        let text = self.inner.redactor.text(text).into_owned();
        self.transact(Durability::Written, move |write| {
            let last = "SELECT text FROM input_history ORDER BY no DESC LIMIT 1";
            let last: Option<String> = write.sql.first(last, [], |row| row.get(0))?;
            if last.as_deref() == Some(text.as_str()) {
                return Ok(());
            }
            let insert = "INSERT INTO input_history (workspace, text, at) VALUES (?1, ?2, ?3)";
            write.sql.change(insert, params![workspace, text, write.now])?;
            let oldest = write.sql.last_insert_rowid() - INPUTS_KEPT;
            write.sql.change("DELETE FROM input_history WHERE no <= ?1", [oldest])?;
            Ok(())
        })
        .await
    }

    /// Returns input lines, latest first, at most `limit`.
    pub async fn inputs(&self, scope: InputScope, limit: usize) -> Result<Vec<String>, StoreError> {
        let lines = self.typed_lines(scope, limit).await?;
        Ok(lines.into_iter().map(|line| line.text).collect())
    }

    /// Like [`Store::inputs`], with the folder of each line.
    pub async fn typed_lines(&self, scope: InputScope, limit: usize) -> Result<Vec<TypedLine>, StoreError> {
        let folder = match scope {
            InputScope::All => None,
            InputScope::Folder(folder) => Some(folder.to_string_lossy().into_owned()),
        };
        self.read(move |reader| {
            let select = "SELECT text, workspace FROM input_history WHERE ?1 IS NULL OR workspace = ?1
                 ORDER BY no DESC LIMIT ?2";
            reader.all(select, params![folder, to_signed(limit)], |row| {
                let workspace = row.get::<_, String>(1)?.into();
                Ok(TypedLine { text: row.get(0)?, workspace })
            })
        })
        .await
    }
}

/// Those last used by a clock that was far ahead come last: they are not the latest.
fn list(
    reader: &Connection,
    filter: &SessionFilter,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<SessionSummary>, StoreError> {
    let (condition, folder) = match filter {
        SessionFilter::All => ("?1 IS NULL", None),
        SessionFilter::Folder(folder) => ("workspace = ?1", Some(folder.to_string_lossy())),
        SessionFilter::Waiting => ("?1 IS NULL AND waiting > 0", None),
    };
    let select = format!(
        "SELECT id, workspace, title, created, updated, turns, last_end,
             (SELECT count(*) FROM approvals a WHERE a.session = s.id AND a.state IN ('waiting', 'later')) AS waiting
         FROM sessions s WHERE {condition} ORDER BY updated DESC, id DESC LIMIT ?2"
    );
    let mut found = reader.all(&select, params![folder, to_signed(limit)], summary)?;
    let latest = now.as_millisecond().saturating_add(MAX_CLOCK_LEAD);
    let ahead = found.iter().take_while(|one| one.updated.as_millisecond() > latest).count();
    found.rotate_left(ahead);
    Ok(found)
}

/// Returns the title for lists: without a prompt, what was written and not sent; `None` if there is nothing.
fn list_title(reader: &Connection, one: &SessionSummary) -> Result<Option<String>, StoreError> {
    if one.title.is_some() {
        return Ok(one.title.clone());
    }
    if one.turns > 0 || one.waiting > 0 {
        return Ok(Some("untitled".to_owned()));
    }
    let select = "SELECT json FROM records WHERE session = ?1 AND kind IN ('draft', 'queued')
        AND no IN (SELECT max(no) FROM records WHERE session = ?1 GROUP BY kind)";
    let kept = reader.all(select, [&one.id.0], |row| row.get::<_, String>(0))?;
    // A record of a newer version names nothing; opening the session is refused.
    let mut words = kept.iter().filter_map(|json| prompt_words(&serde_json::from_str(json).ok()?));
    Ok(words.find(|words| !words.trim().is_empty()))
}

/// Returns the words of a prompt in the queue or of a draft.
fn prompt_words(record: &Record) -> Option<String> {
    if let Record::Draft { text } = record {
        return (!text.trim().is_empty()).then(|| format!("draft: {text}"));
    }
    let Record::Queued { prompts } = record else { return None };
    prompts.first().map(|parts| images::in_short(parts))
}

pub(super) fn summary(row: &Row<'_>) -> rusqlite::Result<SessionSummary> {
    let end: Option<String> = row.get(6)?;
    Ok(SessionSummary {
        id: SessionId(row.get(0)?),
        workspace: row.get::<_, String>(1)?.into(),
        title: row.get(2)?,
        created: moment(row.get(3)?),
        updated: moment(row.get(4)?),
        turns: row.get(5)?,
        // A turn end of a newer version is shown as none; opening the session is refused.
        last_end: end.and_then(|json| serde_json::from_str(&json).ok()),
        waiting: row.get(7)?,
    })
}
