//! `co usage`: shows the tokens and costs of requests, by day, model or session.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::args::{Flags, UsageArgs, UsageBy};
use super::console::Console;
use super::day::begin;
use super::error::Result;
use super::table::{short, table};
use crate::app::open_store_for_lists;
use crate::stdx::clock::system_zone;
use crate::stdx::text::grouped;
use crate::store::{Store, Total, UsageOf};
use crate::workspace::{World, load_settings};

pub(super) async fn run(what: &UsageArgs, world: &World, flags: Flags, console: &mut Console) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let zone = system_zone();
    let since = match &what.since {
        Some(text) => begin("--since", text, world.clock.now(), &zone)?,
        None => Timestamp::UNIX_EPOCH,
    };
    let store = open_store_for_lists(world, &loaded.settings).await?;
    let rows = rows(&store, what.by, since, zone).await?;
    let sum = rows.iter().fold(Total::default(), |sum, (_, total)| sum.plus(*total));
    if what.json {
        let rows: Vec<Value> = rows.iter().map(|(name, total)| name.json(total)).collect();
        return console.json(&json!({"by": what.by.word(), "rows": rows, "total": as_json(&sum)}));
    }
    if rows.is_empty() {
        let since = what.since.as_ref().map_or("yet".to_owned(), |since| format!("since {since}"));
        return console.out(&format!("No request was made {since}.\n"));
    }
    let mut lines: Vec<[String; 8]> = rows.iter().map(|(name, total)| line(name.words(), total)).collect();
    if lines.len() > 1 {
        lines.push(line("total".to_owned(), &sum));
    }
    let by = what.by.word().to_uppercase();
    let heads = [by.as_str(), "REQUESTS", "INPUT", "CACHED", "WRITTEN", "OUTPUT", "THINKING", "COST"];
    console.out(&table(heads, &lines))
}

/// What a row is about: a day, a model or a session.
enum Name {
    Day(Date),
    Model { provider: String, model: String },
    Session { id: String, title: Option<String> },
}

impl Name {
    fn words(&self) -> String {
        match self {
            Self::Day(date) => date.to_string(),
            Self::Model { provider, model } if model.is_empty() => format!("{provider} (no answer)"),
            Self::Model { provider, model } if provider.is_empty() => model.clone(),
            Self::Model { provider, model } => format!("{provider}/{model}"),
            Self::Session { id, title } => {
                format!("{}  {}", short(id), title.as_deref().unwrap_or_default())
            }
        }
    }

    fn json(&self, total: &Total) -> Value {
        let mut row = match as_json(total) {
            Value::Object(row) => row,
            _ => Map::new(),
        };
        let mut add = |name: &str, value: Value| drop(row.insert(name.to_owned(), value));
        match self {
            Self::Day(date) => add("day", json!(date.to_string())),
            Self::Model { provider, model } => {
                add("provider", json!(provider));
                add("model", json!(model));
            }
            Self::Session { id, title } => {
                add("session", json!(id));
                add("title", json!(title));
            }
        }
        Value::Object(row)
    }
}

async fn rows(store: &Store, by: UsageBy, since: Timestamp, zone: TimeZone) -> Result<Vec<(Name, Total)>> {
    Ok(match by {
        UsageBy::Day => {
            let days = store.usage_by_day(since, zone).await?;
            days.into_iter().map(|(date, total)| (Name::Day(date), total)).collect()
        }
        UsageBy::Model => {
            let models = store.usage_by_model(UsageOf::Since(since)).await?;
            let name = |provider, model| Name::Model { provider, model };
            models.into_iter().map(|(used, total)| (name(used.provider, used.model), total)).collect()
        }
        UsageBy::Session => {
            let sessions = store.usage_by_session(since).await?;
            let name = |id, title| Name::Session { id, title };
            sessions.into_iter().map(|(used, total)| (name(used.id.0, used.title), total)).collect()
        }
    })
}

fn line(name: String, total: &Total) -> [String; 8] {
    let requests = match total.failed {
        0 => grouped(total.requests),
        failed => format!("{} ({} failed)", grouped(total.requests), grouped(failed)),
    };
    let [input, cached, written, output, thinking] =
        [total.input, total.cached_input, total.cache_write, total.output, total.reasoning].map(grouped);
    [name, requests, input, cached, written, output, thinking, total.cost_words()]
}

/// Returns the row as JSON; `cost_usd` is `null` if no cost is known.
fn as_json(total: &Total) -> Value {
    let known = total.unpriced == 0 || total.cost.0 > 0;
    json!({
        "requests": total.requests,
        "failed": total.failed,
        "input": total.input,
        "cached_input": total.cached_input,
        "cache_write": total.cache_write,
        "output": total.output,
        "reasoning": total.reasoning,
        "cost_usd": known.then(|| total.cost.dollars()),
        "requests_of_unknown_price": total.unpriced,
    })
}
