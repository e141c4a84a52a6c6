//! `co tail`: spans as they end, one line each. Woken by the processes that write them.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::args::{Flags, TailArgs};
use super::console;
use super::error::{CliError, Kind, Result};
use super::signals::pause;
use crate::app::listeners;
use crate::stdx::clock::system_zone;
use crate::stdx::moment::milliseconds;
use crate::stdx::text::{sanitize, sanitize_line, truncate};
use crate::store::ChangeListener;
use crate::telemetry::reader::{NumberedSpan, ReadError};
use crate::telemetry::{SpanFile, SpanFilter, SpanKindFilter, SpanRow};
use crate::workspace::{World, load_settings};

/// The most cells of a call's arguments.
const ARGUMENTS: usize = 80;

pub(super) async fn run(what: TailArgs, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let settings = &loaded.settings;
    let kind = match (what.tools_only, what.models_only) {
        (false, false) => SpanKindFilter::All,
        (true, false) => SpanKindFilter::Tools,
        (false, true) => SpanKindFilter::Models,
        (true, true) => SpanKindFilter::ToolsAndModels,
    };
    let shown = TailFormat {
        json: what.json,
        verbose: settings.verbose,
        colour: std::io::stdout().is_terminal() && world.env.get("NO_COLOR").is_none_or(String::is_empty),
        zone: system_zone(),
    };
    // Listening begins before the first look, so that nothing falls between.
    let mut listener = (!what.no_follow).then(|| ChangeListener::listen(&listeners(settings)));
    let mut tail = SpanTail { filter: SpanFilter { trace: None, kind }, last: 0, file: None };
    match SpanFile::open(&settings.data_dir) {
        Ok(file) => {
            tail.filter.trace = what.trace.as_deref().map(|id| file.trace_id(id)).transpose()?;
            tail.last = file.newest()?;
            let mut found = file.last(what.last, &tail.filter)?;
            // Lines written meanwhile come with the next read.
            found.retain(|(number, _)| *number <= tail.last);
            shown.print(&found)?;
            tail.file = Some(file);
        }
        Err(ReadError::Missing { .. }) if listener.is_some() && what.trace.is_none() => {
            console::note("co: no spans yet; they are shown as turns run");
        }
        Err(error) => return Err(error.into()),
    }
    let Some(listener) = &mut listener else { return Ok(()) };
    if let Some(poll) = what.poll.filter(|poll| !(0.05..=3600.0).contains(poll)) {
        return Err(CliError::usage(format!("--poll {poll}: seconds from 0.05 to 3600")));
    }
    // Without a socket no other process can wake it.
    let poll = what.poll.or_else(|| listener.is_local_only().then_some(1.0)).map(Duration::from_secs_f64);
    loop {
        tokio::select! {
            () = listener.changed() => {}
            () = pause(poll) => {}
        }
        let found = tail.next(&settings.data_dir)?;
        shown.print(&found)?;
    }
}

impl From<ReadError> for CliError {
    fn from(error: ReadError) -> Self {
        let hint = match &error {
            ReadError::Missing { .. } => Some("spans are kept as turns run, unless `telemetry.max_mb` is 0"),
            ReadError::NoTrace { .. } | ReadError::ManyTraces { .. } => Some("`co traces` lists them"),
            ReadError::File { .. } => None,
        };
        let error = Self::new(Kind::Error, error);
        hint.into_iter().fold(error, Self::hint)
    }
}

/// Where the tail is.
struct SpanTail {
    filter: SpanFilter,
    last: i64,
    file: Option<SpanFile>,
}

impl SpanTail {
    /// Returns the spans that were written since.
    fn next(&mut self, data: &std::path::Path) -> std::result::Result<Vec<NumberedSpan>, ReadError> {
        let file = match self.file.take() {
            Some(file) if file.is_current() => file,
            _ => match SpanFile::open(data) {
                Err(ReadError::Missing { .. }) => return Ok(Vec::new()),
                opened => opened?,
            },
        };
        let mut all = Vec::new();
        // A file that was deleted and begun anew counts from 1 again.
        self.last = self.last.min(file.newest()?);
        loop {
            let found = file.since(self.last, &self.filter)?;
            let Some((last, _)) = found.last() else { break };
            self.last = *last;
            all.extend(found);
        }
        self.file = Some(file);
        Ok(all)
    }
}

/// How spans are printed.
struct TailFormat {
    json: bool,
    verbose: bool,
    colour: bool,
    zone: TimeZone,
}

impl TailFormat {
    fn print(&self, spans: &[NumberedSpan]) -> Result<()> {
        for (_, span) in spans {
            if self.json {
                console::json_line(span)?;
                continue;
            }
            console::write(&self.line(span))?;
            if self.verbose {
                console::out(&texts(span))?;
            }
        }
        Ok(())
    }

    /// Formats one span: time, type, name, what is worth knowing, duration.
    fn line(&self, span: &SpanRow) -> String {
        let at = Timestamp::from_nanosecond(i128::from(span.start_time)).unwrap_or_default();
        let at = at.to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string();
        let text = |key: &str| sanitize_line(span.text(key).unwrap_or_default());
        let tokens = match (span.count("gen_ai.usage.input_tokens"), span.count("gen_ai.usage.output_tokens"))
        {
            (None, None) => String::new(),
            (input, output) => format!("  {}→{}", input.unwrap_or(0), output.unwrap_or(0)),
        };
        let model = text("gen_ai.request.model");
        let (kind, colour, what) = match span.operation() {
            "invoke_agent" => ("agent", "36", format!("co  {model}{tokens}")),
            "chat" => ("model", "35", format!("{model}{tokens}")),
            "execute_tool" => {
                let args = truncate(&text("gen_ai.tool.call.arguments"), ARGUMENTS);
                ("tool", "33", format!("{}  {args}", text("gen_ai.tool.name")))
            }
            _ => match sanitize_line(&span.name).split_once(' ') {
                Some(("wait_for_approval", tool)) => {
                    ("wait", "34", format!("{tool}  {}", text("co.approval.answer")))
                }
                _ => ("span", "37", sanitize_line(&span.name).into_owned()),
            },
        };
        let mut line =
            format!("{at}  {}  {}", self.in_colour(colour, &format!("{kind:<5}")), what.trim_end());
        let _ = write!(line, "  {}", milliseconds(span.duration_ms));
        if span.is_error() {
            let why = sanitize_line(span.status_description.as_deref().unwrap_or_default());
            let _ =
                write!(line, "  {}", self.in_colour("31", &format!("ERROR {}", truncate(&why, ARGUMENTS))));
        }
        line.push('\n');
        line
    }

    fn in_colour(&self, colour: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{colour}m{text}\u{1b}[0m") } else { text.trim_end().to_owned() }
    }
}

/// Returns the text and the thinking of a reply, indented.
fn texts(span: &SpanRow) -> String {
    let messages = span.text("gen_ai.output.messages").unwrap_or_default();
    let messages: Value = serde_json::from_str(messages).unwrap_or_default();
    let parts = messages.as_array().into_iter().flatten().filter_map(|one| one["parts"].as_array()).flatten();
    let mut out = String::new();
    for part in parts {
        let mark = match part["type"].as_str() {
            Some("reasoning") => "thinking: ",
            Some("text") => "",
            _ => continue,
        };
        for line in sanitize(&format!("{mark}{}", part["content"].as_str().unwrap_or_default())).lines() {
            let _ = writeln!(out, "          {line}");
        }
    }
    out
}
