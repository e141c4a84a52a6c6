//! Verification: whether each audit row is as it was written, and whether the last rows still exist.

use rusqlite::{Connection, Row};

use super::super::statements::Statements as _;
use super::super::{Store, StoreError};
use super::chain::{Columns, NOTHING};
use super::head::{self, AuditHead};
use super::{AuditKind, PrunedRange, TRIGGERS};

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct AuditCheck {
    /// Number of rows that were read and are intact.
    pub rows: u64,
    /// Number of pruned rows before them.
    pub pruned: u64,
    pub head: Option<AuditHead>,
    /// The first problem found.
    pub finding: Option<AuditFinding>,
}

/// A problem found in the audit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, serde::Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum AuditFinding {
    #[error("row {no} was changed: its content does not match its hash")]
    Changed { no: u64 },
    #[error("{} removed without a pruning record", rows(*.from, *.to))]
    Removed { from: u64, to: u64 },
    #[error(
        "row {no} does not follow the row before it: rows were swapped, inserted or rewritten from there on"
    )]
    Moved { no: u64 },
    #[error("the end was cut off: row {} was written, but the last one is {}", kept, last.map_or("none".to_owned(), |no| no.to_string()))]
    Cut { kept: u64, last: Option<u64> },
    #[error("row {no} does not match audit.head: the rows up to it were rewritten")]
    Replaced { no: u64 },
    #[error(
        "{} missing; a row says that they were pruned, but audit.pruned, which records pruning, does not",
        rows(1, *to)
    )]
    NotPruned { to: u64 },
    #[error(
        "all rows are valid, but the triggers that protect rows from changes are missing in the database; \
         `co doctor` restores them"
    )]
    Unprotected,
    #[error("no row has a hash that begins with `{hash}`: the rows up to that one were removed or rewritten")]
    NotThere { hash: String },
    #[error(
        "all rows are valid, but the stored head, audit.head, is missing or cannot be read, so it is unknown whether \
         the end was cut off. `co audit verify HEAD` checks it with a head that you noted"
    )]
    NoHead,
}

fn rows(from: u64, to: u64) -> String {
    if from == to { format!("row {from} was") } else { format!("rows {from} to {to} were") }
}

impl Store {
    /// Reads the whole audit and verifies it. `expected` is the beginning of a hash that was the head at an
    /// earlier time; the head kept beside the database is always compared.
    pub async fn verify_audit(&self, expected: Option<String>) -> Result<AuditCheck, StoreError> {
        let data = self.inner.data.clone();
        self.read(move |reader| {
            // Read before the rows: otherwise rows added meanwhile would look as if they had been cut off.
            let kept = head::read(&head::file(&data));
            let pruned = head::read(&head::pruned_file(&data)).map_or(0, |last| last.no);
            let unwitnessed = kept.is_none() && expected.is_none();
            let mut walk = Walk { pruned, kept, expected, unwitnessed, ..Walk::default() };
            walk.all(reader)?;
            Ok(walk.outcome(is_protected(reader)?))
        })
        .await
    }
}

/// Whether the triggers on the audit exist with exactly the expected text.
fn is_protected(reader: &Connection) -> Result<bool, StoreError> {
    let plain =
        |text: &str| text.replace("IF NOT EXISTS ", "").split_whitespace().collect::<Vec<_>>().join(" ");
    let select = "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'audit'";
    let there = reader.all(select, [], |row| row.get::<_, String>(0).map(|text| plain(&text)))?;
    let mut wanted = TRIGGERS
        .split_inclusive("END;")
        .filter_map(|one| one.split_once("CREATE "))
        .map(|(_, one)| plain(&format!("CREATE {}", one.trim_end_matches(';'))));
    Ok(wanted.all(|one| there.contains(&one)))
}

/// The state of a walk over the rows.
#[derive(Default)]
struct Walk {
    /// The last row known to have been pruned.
    pruned: u64,
    kept: Option<AuditHead>,
    expected: Option<String>,
    /// Whether neither a kept head nor an expected hash says where the end was.
    unwitnessed: bool,
    first: Option<(u64, String)>,
    last: Option<AuditHead>,
    rows: u64,
    prunings: Vec<PrunedRange>,
    finding: Option<AuditFinding>,
}

impl Walk {
    fn all(&mut self, reader: &Connection) -> Result<(), StoreError> {
        let mut select = reader.prepare_cached(
            "SELECT no, at, session, call, request, tool, kind, decider, details, prev, hash FROM audit
             ORDER BY no",
        )?;
        let mut rows = select.query([])?;
        while self.finding.is_none()
            && let Some(row) = rows.next()?
        {
            self.finding = self.step(row)?;
        }
        Ok(())
    }

    fn step(&mut self, row: &Row<'_>) -> rusqlite::Result<Option<AuditFinding>> {
        let text = |at: usize| -> rusqlite::Result<Option<&str>> { Ok(row.get_ref(at)?.as_str_or_null()?) };
        let no = row.get(0)?;
        let (prev, hash) = (text(9)?.unwrap_or_default(), text(10)?.unwrap_or_default());
        let columns = Columns {
            no,
            at: row.get(1)?,
            session: text(2)?,
            call: text(3)?,
            request: text(4)?,
            tool: text(5)?,
            kind: text(6)?.unwrap_or_default(),
            decider: text(7)?,
            details: text(8)?.unwrap_or_default(),
        };
        if let Some(last) = &self.last
            && no != last.no + 1
        {
            return Ok(Some(AuditFinding::Removed { from: last.no + 1, to: no.saturating_sub(1) }));
        }
        if columns.hash(prev) != hash {
            return Ok(Some(AuditFinding::Changed { no }));
        }
        if self.last.as_ref().is_some_and(|last| last.hash != prev) {
            return Ok(Some(AuditFinding::Moved { no }));
        }
        if self.kept.as_ref().is_some_and(|kept| kept.no == no && kept.hash != hash) {
            return Ok(Some(AuditFinding::Replaced { no }));
        }
        if columns.kind == AuditKind::Pruned.word() {
            self.prunings.extend(serde_json::from_str::<PrunedRange>(columns.details));
        }
        if self.expected.as_ref().is_some_and(|expected| hash.starts_with(expected.as_str())) {
            self.expected = None;
        }
        self.first.get_or_insert_with(|| (no, prev.to_owned()));
        self.last = Some(AuditHead { no, hash: hash.to_owned() });
        self.rows += 1;
        Ok(None)
    }

    fn outcome(mut self, is_protected: bool) -> AuditCheck {
        let finding = self.finding.take().or_else(|| self.beginning()).or_else(|| self.end());
        let finding = finding.or((!is_protected).then_some(AuditFinding::Unprotected));
        let pruned = self.first.as_ref().map_or(0, |(no, _)| no - 1);
        AuditCheck { rows: self.rows, pruned, head: self.last, finding }
    }

    /// Checks that the first row is number 1 or follows the pruned rows.
    fn beginning(&self) -> Option<AuditFinding> {
        let (first, prev) = self.first.as_ref()?;
        if *first == 1 {
            return (prev != NOTHING).then_some(AuditFinding::Moved { no: 1 });
        }
        let to = first - 1;
        match self.prunings.iter().max_by_key(|pruned| pruned.to) {
            Some(pruned) if pruned.to == to && pruned.hash == *prev => {
                (self.pruned < to).then_some(AuditFinding::NotPruned { to })
            }
            Some(pruned) if pruned.to == to => Some(AuditFinding::Moved { no: *first }),
            Some(pruned) if pruned.to < to => Some(AuditFinding::Removed { from: pruned.to + 1, to }),
            Some(_) => Some(AuditFinding::Moved { no: *first }),
            None => Some(AuditFinding::Removed { from: 1, to }),
        }
    }

    /// Checks that no row known to have existed is missing at the end.
    fn end(&self) -> Option<AuditFinding> {
        let last = self.last.as_ref().map(|last| last.no);
        if let Some(kept) = &self.kept
            && last.is_none_or(|last| last < kept.no)
        {
            return Some(AuditFinding::Cut { kept: kept.no, last });
        }
        if self.unwitnessed && last.is_some() {
            return Some(AuditFinding::NoHead);
        }
        let hash = self.expected.as_ref()?;
        // The hash of the last pruned row is still known.
        let pruned = self.prunings.iter().any(|pruned| pruned.hash.starts_with(hash.as_str()));
        (!pruned).then(|| AuditFinding::NotThere { hash: hash.clone() })
    }
}
