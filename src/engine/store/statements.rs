//! Prepared statements: a statement, its parameters, and how its rows are read.

use rusqlite::{Connection, OptionalExtension as _, Params, Row};

/// Executes statements, which stay prepared for the next time.
pub trait Statements {
    fn connection(&self) -> &Connection;

    /// Changes rows; returns how many.
    fn change(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        self.connection().prepare_cached(sql)?.execute(params)
    }

    /// Reads each row.
    fn all<T, E: From<rusqlite::Error>>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let mut select = self.connection().prepare_cached(sql)?;
        let mut rows = select.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(row)?);
        }
        Ok(found)
    }

    /// Reads the first row, if there is one.
    fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        self.one(sql, params, read).optional()
    }

    /// Reads the first row, without which it is an error.
    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.connection().prepare_cached(sql)?.query_row(params, read)
    }
}

impl Statements for Connection {
    fn connection(&self) -> &Connection {
        self
    }
}

/// A count as a parameter: SQLite integers are signed.
pub(super) fn to_signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
