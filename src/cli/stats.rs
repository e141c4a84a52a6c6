//! `co stats`: requests, calls and approvals of some days, from the spans.

use super::args::{Flags, StatsArgs};
use super::console;
use super::day::begin;
use super::error::Result;
use super::table::table;
use crate::stdx::clock::system_zone;
use crate::stdx::moment::milliseconds;
use crate::stdx::text::group_digits;
use crate::telemetry::SpanFile;
use crate::telemetry::stats::{SpanCounts, Stats};
use crate::workspace::{World, load_settings};

pub(super) fn run(what: &StatsArgs, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let zone = system_zone();
    let from = begin("--since", &what.since, world.clock.now(), &zone)?;
    let file = SpanFile::open(&loaded.settings.data_dir)?;
    let stats = Stats::since(&file, from, &zone)?;
    if what.json {
        return console::json(&stats);
    }
    if stats == Stats::default() {
        return console::out(&format!("No spans since {}.\n", what.since));
    }
    let days: Vec<_> = stats.days.iter().map(|(day, one)| requests(day.to_string(), one)).collect();
    let models: Vec<_> = stats.models.iter().map(|(name, one)| requests(name.clone(), one)).collect();
    let mut parts = Vec::new();
    for (head, lines) in [("DAY", days), ("MODEL", models)] {
        if !lines.is_empty() {
            parts.push(table([head, "REQUESTS", "FAILED", "INPUT", "OUTPUT", "COST", "P50", "P95"], lines));
        }
    }
    if !stats.tools.is_empty() {
        let lines = stats.tools.iter().map(|(name, one)| call(name.clone(), one));
        parts.push(table(["TOOL", "CALLS", "FAILED", "P50", "P95"], lines));
    }
    parts.extend(stats.approvals.sentence().map(|words| format!("{words}\n")));
    console::out(&parts.join("\n"))
}

fn time(ms: Option<f64>) -> String {
    ms.map(milliseconds).unwrap_or_default()
}

fn requests(name: String, one: &SpanCounts) -> [String; 8] {
    [
        name,
        one.count.to_string(),
        one.errors.to_string(),
        group_digits(one.input_tokens),
        group_digits(one.output_tokens),
        one.cost(),
        time(one.p50_ms),
        time(one.p95_ms),
    ]
}

fn call(name: String, one: &SpanCounts) -> [String; 5] {
    [name, one.count.to_string(), one.errors.to_string(), time(one.p50_ms), time(one.p95_ms)]
}
