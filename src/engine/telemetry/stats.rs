//! Use, durations and answers to requests: by day, by model, by tool. Computed in one pass.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rusqlite::Row;
use serde::Serialize;

use super::reader::{ReadError, SpanFile};
use crate::stdx::moment::milliseconds;
use crate::stdx::text::count;

/// The spans that are counted, and what is counted of them.
const QUERY: &str = include_str!("stats.sql");

/// Counts of some spans.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SpanCounts {
    /// Requests to models, or calls of tools.
    pub count: u64,
    pub errors: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Of the requests whose price is known; `null` if there is none.
    pub usd: Option<f64>,
    /// Half of them took at most this; absent if there are none.
    pub p50_ms: Option<f64>,
    /// 95 % of them took at most this.
    pub p95_ms: Option<f64>,
    #[serde(skip)]
    durations: Vec<f64>,
}

/// Requests for approval: how many got which answer, and how long they waited.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Approvals {
    pub asked: u64,
    /// By answer: `approved`, `denied`, `later`, `expired`.
    pub answers: BTreeMap<String, u64>,
    pub waited_seconds: f64,
}

impl Approvals {
    /// Describes them: `3 requests for approval: 2 approved, 1 denied; waited 12s in all`. `None` without a request.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let answers: Vec<String> =
            self.answers.iter().map(|(answer, number)| format!("{number} {answer}")).collect();
        let (asked, waited) = (count(self.asked, "request"), milliseconds(self.waited_seconds * 1e3));
        (self.asked > 0)
            .then(|| format!("{asked} for approval: {}; waited {waited} in all", answers.join(", ")))
    }
}

/// The statistics of some days.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stats {
    /// By day, oldest first: model requests.
    pub days: BTreeMap<Date, SpanCounts>,
    /// By `provider/model`.
    pub models: BTreeMap<String, SpanCounts>,
    pub tools: BTreeMap<String, SpanCounts>,
    pub approvals: Approvals,
}

impl SpanCounts {
    /// The cost, for people.
    #[must_use]
    pub fn cost(&self) -> String {
        self.usd.map_or_else(|| "unknown".to_owned(), |usd| format!("${usd:.2}"))
    }

    fn add(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let count = |column: &str| -> rusqlite::Result<u64> {
            let value: Option<i64> = row.get(column)?;
            Ok(value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0))
        };
        self.count += 1;
        let status: Option<String> = row.get("status_code")?;
        self.errors += u64::from(status.as_deref() == Some("ERROR"));
        self.input_tokens += count("input")?;
        self.output_tokens += count("output")?;
        if let Some(usd) = row.get::<_, Option<f64>>("cost")? {
            *self.usd.get_or_insert(0.0) += usd;
        }
        self.durations.push(row.get::<_, Option<f64>>("duration_ms")?.unwrap_or(0.0));
        Ok(())
    }

    fn finish(&mut self) {
        self.durations.sort_by(f64::total_cmp);
        self.p50_ms = percentile(&self.durations, 50);
        self.p95_ms = percentile(&self.durations, 95);
        self.durations = Vec::new();
    }
}

/// Returns the smallest value that `percent` of the sorted values do not exceed.
fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

impl Stats {
    /// Counts the spans that began at this time or later; days are those of `zone`.
    pub fn since(file: &SpanFile, from: Timestamp, zone: &TimeZone) -> Result<Self, ReadError> {
        let from = i64::try_from(from.as_nanosecond()).unwrap_or(0);
        let mut stats = file.query(|connection| {
            let (mut stats, mut statement) = (Self::default(), connection.prepare(QUERY)?);
            let mut rows = statement.query([from])?;
            while let Some(row) = rows.next()? {
                stats.add(row, zone)?;
            }
            Ok(stats)
        })?;
        let groups = stats.days.values_mut().chain(stats.models.values_mut()).chain(stats.tools.values_mut());
        groups.for_each(SpanCounts::finish);
        Ok(stats)
    }

    fn add(&mut self, row: &Row<'_>, zone: &TimeZone) -> rusqlite::Result<()> {
        let name: String = row.get("name")?;
        let text = |column: &str| row.get::<_, Option<String>>(column);
        match name.split_once(' ') {
            Some(("execute_tool", tool)) => self.tools.entry(tool.to_owned()).or_default().add(row),
            Some(("wait_for_approval", _)) => {
                let answer = text("answer")?.unwrap_or_default();
                self.approvals.asked += 1;
                *self.approvals.answers.entry(answer).or_default() += 1;
                self.approvals.waited_seconds +=
                    row.get::<_, Option<f64>>("duration_ms")?.unwrap_or(0.0) / 1e3;
                Ok(())
            }
            _ => {
                let model = text("model")?.unwrap_or_default();
                let full = text("provider")?.map_or(model.clone(), |provider| format!("{provider}/{model}"));
                self.models.entry(full).or_default().add(row)?;
                let at = Timestamp::from_nanosecond(i128::from(row.get::<_, i64>("start_time")?));
                let day = at.unwrap_or_default().to_zoned(zone.clone()).date();
                self.days.entry(day).or_default().add(row)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        let cases = [
            (&[][..], 50, None),
            (&[7.0][..], 95, Some(7.0)),
            (&[1.0, 2.0][..], 50, Some(1.0)),
            (&[1.0, 2.0][..], 95, Some(2.0)),
            (&hundred[..], 50, Some(50.0)),
            (&hundred[..], 95, Some(95.0)),
        ];
        for (values, percent, expected) in cases {
            assert_eq!(percentile(values, percent), expected, "{percent} of {}", values.len());
        }
    }
}
