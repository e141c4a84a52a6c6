//! `co traces` and `co logs`: spans in a browser, as one page of our own or with Datasette.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::args::{Flags, LogsArgs, TracesArgs};
use super::console;
use super::error::{CliError, Result};
use crate::config::Settings;
use crate::frontend::traces::page;
use crate::stdx::fs::write_private;
use crate::telemetry::SpanFile;
use crate::telemetry::file::FILE;
use crate::workspace::{World, load_settings};

/// The most spans of a page; those of the oldest traces are left out.
const MOST: usize = 10_000;

pub(super) fn run(what: &TracesArgs, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let (path, left_out) = write_page(what, &loaded.settings)?;
    if left_out > 0 {
        console::note(&format!("co: {left_out} traces are left out: a page holds {MOST} spans"));
    }
    console::out(&format!("{}\n", path.display()))?;
    if !what.no_open {
        world.browse(path.as_os_str());
    }
    Ok(())
}

/// Writes the page, for its owner only; returns its path and how many traces are left out.
fn write_page(what: &TracesArgs, settings: &Settings) -> Result<(PathBuf, usize)> {
    let file = SpanFile::open(&settings.data_dir)?;
    let ids = match &what.id {
        Some(id) => vec![file.trace_id(id)?],
        None => file.latest_traces(what.last)?,
    };
    let (mut spans, mut kept) = (Vec::new(), 0);
    for id in &ids {
        let trace = file.trace(id, MOST + 1)?;
        // A trace that is too long by itself is shown as far as it goes.
        if spans.len() + trace.len() > MOST && !spans.is_empty() {
            break;
        }
        spans.extend(trace.into_iter().take(MOST));
        kept += 1;
    }
    let path = what.output.clone().unwrap_or_else(|| settings.data_dir.join("traces.html"));
    let text = page(&spans);
    let written = write_private(&path, text.as_bytes());
    written.map_err(|error| CliError::error(format!("{}: {error}", path.display())))?;
    Ok((path.canonicalize().unwrap_or(path), ids.len() - kept))
}

pub(super) fn logs(what: &LogsArgs, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let data = &loaded.settings.data_dir;
    drop(SpanFile::open(data)?);
    let Some(datasette) = world.first_installed(&["datasette"]) else {
        let page = TracesArgs { id: None, last: 20, output: None, no_open: false };
        let (path, _) = write_page(&page, &loaded.settings)?;
        console::note(
            "co: Datasette is not installed; `pipx install datasette` (or `uv tool install datasette`) gets it",
        );
        console::note("co: this page has the latest traces instead:");
        console::out(&format!("{}\n", path.display()))?;
        world.browse(path.as_os_str());
        return Ok(());
    };
    let metadata = data.join("datasette.json");
    let about = json!({ "title": "Spans of co", "databases": { "telemetry": {
        "tables": { "spans": {
            "description": "What turns of co did: one row a span. Times are nanoseconds since 1970.",
            "sort_desc": "start_time",
        } },
        "queries": queries(),
    } } });
    write_private(&metadata, format!("{about:#}").as_bytes())
        .map_err(|error| CliError::error(format!("{}: {error}", metadata.display())))?;
    console::out(&format!("http://127.0.0.1:{}/telemetry\n", what.port))?;
    let mut command = Command::new(datasette);
    command
        .arg("serve")
        .arg(data.join(FILE))
        .args(["--host", "127.0.0.1", "--port"])
        .arg(what.port.to_string());
    command.arg("--metadata").arg(&metadata);
    if !what.no_open && world.browser().is_some() {
        command.arg("--open");
    }
    let ended = command.env_clear().envs(&world.env).status();
    let ended = ended.map_err(|error| CliError::error(format!("datasette: {error}")))?;
    match ended.success() {
        true => Ok(()),
        false => Err(CliError::error(format!("datasette ended with {ended}"))
            .hint("is the port taken? `co logs --port N` uses another")),
    }
}

/// Queries that a user can run by a click.
fn queries() -> serde_json::Value {
    let number = |key: &str| format!("json_extract(attributes, '$.\"{key}\"')");
    let (input, output) = (number("gen_ai.usage.input_tokens"), number("gen_ai.usage.output_tokens"));
    let (model, usd) = (number("gen_ai.request.model"), number("co.cost_usd"));
    let day = "date(start_time / 1000000000, 'unixepoch')";
    let query = |title: &str, sql: String| json!({ "title": title, "sql": sql });
    json!({
        "tokens_by_day": query("Tokens and cost by day and model", format!(
            "select {day} as day, {model} as model, count(*) as requests, sum({input}) as input, sum({output}) as output, \
             round(sum({usd}), 4) as usd from spans where name like 'chat %' group by 1, 2 order by 1 desc, 3 desc"
        )),
        "tools": query("Calls of tools: number, failures, duration", format!(
            "select {} as tool, count(*) as calls, sum(status_code = 'ERROR') as failed, \
             round(avg(duration_ms), 1) as average_ms, round(max(duration_ms), 1) as longest_ms \
             from spans where name like 'execute_tool %' group by 1 order by 2 desc",
            number("gen_ai.tool.name")
        )),
        "approvals": query("Requests for approval and their answers", format!(
            "select {} as tool, {} as answer, count(*) as requests, round(sum(duration_ms) / 1000, 1) as waited_seconds \
             from spans where name like 'wait_for_approval %' group by 1, 2 order by 3 desc",
            number("gen_ai.tool.name"), number("co.approval.answer")
        )),
        "errors": query("What failed", format!(
            "select datetime(start_time / 1000000000, 'unixepoch') as at, name, {} as error, status_description, trace_id \
             from spans where status_code = 'ERROR' order by start_time desc limit 200",
            number("error.type")
        )),
        "one_trace": query("The spans of one trace", "select start_time, name, duration_ms, status_code, id, parent_id from spans \
             where trace_id like :trace || '%' order by start_time".to_owned()),
    })
}
