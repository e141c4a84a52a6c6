//! Unsigned numbers in columns: SQLite integers are signed.

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};

/// A record number, a count or a sequence number; at most 2^63 - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Num(pub u64);

impl Num {
    /// Converts an in-memory count.
    pub(super) fn of(count: usize) -> Self {
        Self(count as u64)
    }

    pub(super) fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl ToSql for Num {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(i64::try_from(self.0).unwrap_or(i64::MAX)))
    }
}

impl FromSql for Num {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let signed = value.as_i64()?;
        u64::try_from(signed).map(Self).map_err(|_negative| FromSqlError::OutOfRange(signed))
    }
}
