//! `co usage`: shows the tokens and costs of requests, by day, model or session.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::args::{Flags, UsageArgs, UsageBy};
use super::console;
use super::day::begin;
use super::error::Result;
use super::table::{short, table};
use crate::app::open_store_for_lists;
use crate::stdx::clock::system_zone;
use crate::stdx::text::group_digits;
use crate::store::{Store, StoredUsage, UsageOf};
use crate::workspace::{World, load_settings};

pub(super) async fn run(what: &UsageArgs, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let zone = system_zone();
    let since = match &what.since {
        Some(text) => begin("--since", text, world.clock.now(), &zone)?,
        None => Timestamp::UNIX_EPOCH,
    };
    let store = open_store_for_lists(world, &loaded.settings).await?;
    let rows = rows(&store, what.by, since, zone).await?;
    let sum = rows.iter().fold(StoredUsage::default(), |sum, (_, total)| sum.plus(*total));
    if what.json {
        let rows = rows.iter().map(|(name, total)| UsageRow { name, total: UsageJson::of(total) }).collect();
        return console::json(&UsageList { by: what.by.word(), rows, total: UsageJson::of(&sum) });
    }
    if rows.is_empty() {
        let since = what.since.as_ref().map_or("yet".to_owned(), |since| format!("since {since}"));
        return console::out(&format!("No requests {since}.\n"));
    }
    let total = (rows.len() > 1).then(|| line("total".to_owned(), &sum));
    let lines = rows.iter().map(|(name, total)| line(name.label(), total)).chain(total);
    let by = what.by.word().to_uppercase();
    let heads = [by.as_str(), "REQUESTS", "INPUT", "CACHED", "WRITTEN", "OUTPUT", "THINKING", "COST"];
    console::out(&table(heads, lines))
}

/// The usage in the form for programs: fields may only be added.
#[derive(Serialize)]
struct UsageList<'a> {
    by: &'static str,
    rows: Vec<UsageRow<'a>>,
    total: UsageJson,
}

#[derive(Serialize)]
struct UsageRow<'a> {
    #[serde(flatten)]
    name: &'a Name,
    #[serde(flatten)]
    total: UsageJson,
}

#[derive(Serialize)]
struct UsageJson {
    requests: u64,
    failed: u64,
    input: u64,
    cached_input: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
    /// `null` if no cost is known.
    cost_usd: Option<f64>,
    requests_of_unknown_price: u64,
}

impl UsageJson {
    fn of(total: &StoredUsage) -> Self {
        let known = total.unpriced == 0 || total.cost.0 > 0;
        Self {
            requests: total.requests,
            failed: total.failed,
            input: total.input,
            cached_input: total.cached_input,
            cache_write: total.cache_write,
            output: total.output,
            reasoning: total.reasoning,
            cost_usd: known.then(|| total.cost.dollars()),
            requests_of_unknown_price: total.unpriced,
        }
    }
}

/// The subject of a row: a day, a model or a session.
#[derive(Serialize)]
#[serde(untagged)]
enum Name {
    Day {
        day: Date,
    },
    Model {
        provider: String,
        model: String,
    },
    Session {
        #[serde(rename = "session")]
        id: String,
        title: Option<String>,
    },
}

impl Name {
    fn label(&self) -> String {
        match self {
            Self::Day { day } => day.to_string(),
            Self::Model { provider, model } if model.is_empty() => format!("{provider} (no answer)"),
            Self::Model { provider, model } if provider.is_empty() => model.clone(),
            Self::Model { provider, model } => format!("{provider}/{model}"),
            Self::Session { id, title } => {
                format!("{}  {}", short(id), title.as_deref().unwrap_or_default())
            }
        }
    }
}

async fn rows(
    store: &Store,
    by: UsageBy,
    since: Timestamp,
    zone: TimeZone,
) -> Result<Vec<(Name, StoredUsage)>> {
    Ok(match by {
        UsageBy::Day => {
            let days = store.usage_by_day(since, zone).await?;
            days.into_iter().map(|(day, total)| (Name::Day { day }, total)).collect()
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

fn line(name: String, total: &StoredUsage) -> [String; 8] {
    let requests = match total.failed {
        0 => group_digits(total.requests),
        failed => format!("{} ({} failed)", group_digits(total.requests), group_digits(failed)),
    };
    let [input, cached, written, output, thinking] =
        [total.input, total.cached_input, total.cache_write, total.output, total.reasoning].map(group_digits);
    [name, requests, input, cached, written, output, thinking, total.cost_words()]
}
