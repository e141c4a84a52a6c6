//! Prepared statements: a statement, its parameters, and how its rows are read, with the errors of the store.

use rusqlite::{Connection, OptionalExtension as _, Params, Row};

use super::StoreError;

/// What is done with a statement. It stays prepared for the next time.
pub(super) trait Statements {
    fn connection(&self) -> &Connection;

    /// Changes rows; returns how many.
    fn change(&self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        Ok(self.connection().prepare_cached(sql)?.execute(params)?)
    }

    /// Reads each row.
    fn all<T, E: Into<StoreError>>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T, E>,
    ) -> Result<Vec<T>, StoreError> {
        let mut select = self.connection().prepare_cached(sql)?;
        let mut rows = select.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(row).map_err(Into::into)?);
        }
        Ok(found)
    }

    /// Reads the first row, if there is one.
    fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.connection().prepare_cached(sql)?.query_row(params, read).optional()?)
    }

    /// Reads the first row, without which it is an error.
    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        Ok(self.connection().prepare_cached(sql)?.query_row(params, read)?)
    }
}

impl Statements for Connection {
    fn connection(&self) -> &Connection {
        self
    }
}
