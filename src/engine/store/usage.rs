//! The usage of requests to models: one row each, written with its record, and sums over the rows.
//!
//! Costs use the prices of the day of the request and never change. Called by the turn before each request
//! that is subject to a cap, by `co usage` and by `/cost`.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rusqlite::{Row, ToSql, params, params_from_iter};

use super::records::MAX_CLOCK_LEAD;
use super::statements::{Statements as _, to_signed};
use super::writer::Write;
use super::{Store, StoreError};
use crate::history::{SessionId, UsageTotals, is_unpriced};
use crate::message::{Usage, Usd};
use crate::provider::ErrorClass;

/// Maximum stored value of one number, so that sums stay far below SQLite's integer limit.
const MOST: u64 = 1 << 50;

/// A quarter of an hour. All current time zones differ by whole quarters, so each lies within one day.
const QUARTER_MS: i64 = 900_000;

/// The columns of a new row.
pub(super) struct Spend {
    pub provider: String,
    pub model: String,
    pub usage: Option<Usage>,
    pub cost: Option<Usd>,
    pub error: Option<ErrorClass>,
}

/// The usage of several requests. Tokens that a provider did not report are missing from the sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct StoredUsage {
    pub requests: u64,
    /// Number of failed requests among them.
    pub failed: u64,
    pub input: u64,
    pub cached_input: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
    /// Cost of the requests whose price is known.
    #[serde(rename = "cost_nano_usd")]
    pub cost: Usd,
    /// Number of requests that cost an unknown amount.
    pub unpriced: u64,
}

/// Which requests to sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UsageOf {
    /// All sessions from this moment on.
    Since(Timestamp),
    Session(SessionId),
    /// The last turn of a session.
    Turn(SessionId),
    /// The last request of a session.
    Last(SessionId),
}

/// One model of one provider.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct UsedModel {
    /// Empty if it was not recorded.
    pub provider: String,
    pub model: String,
}

/// One session that used something.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct UsedSession {
    pub id: SessionId,
    pub title: Option<String>,
}

impl StoredUsage {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            failed: self.failed + other.failed,
            input: self.input + other.input,
            cached_input: self.cached_input + other.cached_input,
            cache_write: self.cache_write + other.cache_write,
            output: self.output + other.output,
            reasoning: self.reasoning + other.reasoning,
            cost: self.cost.plus(other.cost),
            unpriced: self.unpriced + other.unpriced,
        }
    }

    /// Returns the cost as text that claims no more than is known: `$1.20`, `unknown`, `at least $1.20 (3
    /// requests of unknown price)`.
    pub fn cost_words(&self) -> String {
        match (self.unpriced, self.cost.0) {
            (0, _) => self.cost.to_string(),
            (_, 0) => "unknown".to_owned(),
            (1, _) => format!("at least {} (1 request of unknown price)", self.cost),
            (many, _) => format!("at least {} ({many} requests of unknown price)", self.cost),
        }
    }
}

const SUMS: &str = "count(*), count(error), coalesce(sum(input), 0), coalesce(sum(cached), 0), \
    coalesce(sum(cache_write), 0), coalesce(sum(output), 0), coalesce(sum(reasoning), 0), coalesce(sum(cost), 0), \
    coalesce(sum(unpriced), 0)";

impl Store {
    /// Returns the usage of all sessions from this moment on, for caps. Reads only an index.
    pub async fn used_since(&self, since: Timestamp) -> Result<UsageTotals, StoreError> {
        // Usage counted by a clock that was far ahead belongs to no day.
        let until = self.inner.clock.now().as_millisecond().saturating_add(MAX_CLOCK_LEAD);
        self.read(move |reader| {
            let select =
                "SELECT count(*), coalesce(sum(input), 0) + coalesce(sum(output), 0), coalesce(sum(cost), 0),
                     coalesce(sum(unpriced), 0) FROM usage WHERE at >= ?1 AND at <= ?2";
            let used = |row: &Row<'_>| {
                let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
                Ok(UsageTotals {
                    requests: small(row.get(0)?),
                    tokens: row.get(1)?,
                    usd: Usd(row.get(2)?),
                    unpriced: small(row.get(3)?),
                })
            };
            Ok(reader.one(select, [since.as_millisecond(), until], used)?)
        })
        .await
    }

    /// Returns the usage by model, highest cost first.
    pub async fn usage_by_model(&self, of: UsageOf) -> Result<Vec<(UsedModel, StoredUsage)>, StoreError> {
        self.read(move |reader| {
            let (condition, values): (&str, Vec<Box<dyn ToSql>>) = match of {
                UsageOf::Since(since) => ("at >= ?1", vec![Box::new(since.as_millisecond())]),
                UsageOf::Session(id) => ("session = ?1", vec![Box::new(id.0)]),
                UsageOf::Turn(id) => (
                    "session = ?1 AND turn = (SELECT turns FROM sessions WHERE id = ?1)",
                    vec![Box::new(id.0)],
                ),
                UsageOf::Last(id) => (
                    "session = ?1 AND no = (SELECT max(no) FROM usage WHERE session = ?1)",
                    vec![Box::new(id.0)],
                ),
            };
            let select = format!(
                "SELECT provider, model, {SUMS} FROM usage WHERE {condition} GROUP BY provider, model
                 ORDER BY sum(cost) DESC, count(*) DESC, provider, model"
            );
            reader.all(&select, params_from_iter(values), |row| {
                Ok((UsedModel { provider: row.get(0)?, model: row.get(1)? }, total(row, 2)?))
            })
        })
        .await
    }

    /// Returns the names `provider/model` of the models that answered, most recently used first, at most `limit`.
    pub async fn used_models(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        self.read(move |reader| {
            let select = "SELECT provider || '/' || model FROM usage WHERE error IS NULL
                GROUP BY provider, model ORDER BY max(at) DESC LIMIT ?1";
            Ok(reader.all(select, [to_signed(limit)], |row| row.get(0))?)
        })
        .await
    }

    /// Returns the usage by session, most recently used first.
    pub async fn usage_by_session(
        &self,
        since: Timestamp,
    ) -> Result<Vec<(UsedSession, StoredUsage)>, StoreError> {
        self.read(move |reader| {
            let select = format!(
                "SELECT u.session, s.title, {SUMS} FROM usage u JOIN sessions s ON s.id = u.session
                 WHERE at >= ?1 GROUP BY u.session ORDER BY max(at) DESC, u.session DESC"
            );
            reader.all(&select, [since.as_millisecond()], |row| {
                Ok((UsedSession { id: SessionId(row.get(0)?), title: row.get(1)? }, total(row, 2)?))
            })
        })
        .await
    }

    /// Returns the usage by day in this time zone, latest first; days without a request are left out.
    pub async fn usage_by_day(
        &self,
        since: Timestamp,
        zone: TimeZone,
    ) -> Result<Vec<(Date, StoredUsage)>, StoreError> {
        self.read(move |reader| {
            let select = format!(
                "SELECT at / {QUARTER_MS}, {SUMS} FROM usage WHERE at >= ?1 GROUP BY 1 ORDER BY 1 DESC"
            );
            let mut select = reader.prepare_cached(&select)?;
            let mut rows = select.query([since.as_millisecond()])?;
            let mut days: Vec<(Date, StoredUsage)> = Vec::new();
            while let Some(row) = rows.next()? {
                let quarter: i64 = row.get(0)?;
                let at = super::inbox::moment(quarter.saturating_mul(QUARTER_MS));
                let (date, total) = (at.to_zoned(zone.clone()).date(), total(row, 1)?);
                match days.last_mut() {
                    Some((day, sum)) if *day == date => *sum = sum.plus(total),
                    Some(_) | None => days.push((date, total)),
                }
            }
            Ok(days)
        })
        .await
    }
}

/// Reads the columns of [`SUMS`], starting at `from`.
fn total(row: &Row<'_>, from: usize) -> rusqlite::Result<StoredUsage> {
    let number = |at: usize| row.get::<_, u64>(from + at);
    Ok(StoredUsage {
        requests: number(0)?,
        failed: number(1)?,
        input: number(2)?,
        cached_input: number(3)?,
        cache_write: number(4)?,
        output: number(5)?,
        reasoning: number(6)?,
        cost: Usd(number(7)?),
        unpriced: number(8)?,
    })
}

/// Writes the usage row of a request, inside the transaction of its record.
pub(super) fn spend(
    write: &Write<'_>,
    session: &SessionId,
    no: u64,
    spend: &Spend,
) -> Result<(), StoreError> {
    let usage = spend.usage.unwrap_or_default();
    let tokens = |tokens: Option<u64>| tokens.map(|tokens| tokens.min(MOST));
    let error = spend.error.and_then(|class| serde_json::to_value(class).ok());
    let insert = "INSERT INTO usage (session, no, turn, at, provider, model, input, cached, cache_write, output,
             reasoning, cost, unpriced, error)
         VALUES (?1, ?2, (SELECT turns FROM sessions WHERE id = ?1), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    let columns = params![
        session.0,
        no,
        write.now,
        spend.provider,
        spend.model,
        tokens(usage.input),
        tokens(usage.cached_input),
        tokens(usage.cache_write),
        tokens(usage.output),
        tokens(usage.reasoning),
        tokens(spend.cost.map(|cost| cost.0)),
        is_unpriced(spend.usage, spend.cost, spend.error),
        error.as_ref().and_then(serde_json::Value::as_str),
    ];
    write.sql.change(insert, columns)?;
    Ok(())
}

#[cfg(test)]
mod tests;
