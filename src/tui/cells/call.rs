//! A row for a tool call: mark, tool, most informative argument, result, time.
//!
//! While the call runs, the last lines of its output are shown below; after a failure, the first ones of its
//! return.

use std::time::Duration;

use serde_json::Value;

use super::{Fold, Look};
use crate::frontend::protocol::Tone;
use crate::message::{CallId, ReturnStatus, ToolCall, ToolReturn};
use crate::stdx::json_stream::StringReader;
use crate::stdx::text::{expand_tabs, one_line_summary};
use crate::tui::copied::exactly;
use crate::tui::line::{Exact, Ink, Line, Margin, Span, wrap_exact};
use crate::tui::theme::Role;

/// Lines of output shown below a row while the call runs or after it failed.
const TAIL: usize = 3;

/// Lines and bytes of a return that are kept to be shown whole.
const MOST_LINES: usize = 400;
const MOST_BYTES: usize = 64 * 1024;

/// Bytes of live output that are kept.
const LIVE_BYTES: usize = 8 * 1024;

/// The most informative arguments of calls, best first.
const TELLING: [&str; 8] = ["path", "command", "pattern", "query", "url", "file", "name", "text"];

/// Cells before the name of a row.
const MARGIN: usize = 3;

/// Below this width a row has no time and narrower columns.
const NARROW: usize = 60;

/// A call whose arguments still stream in.
#[derive(Debug, Clone)]
pub struct CallDraft {
    pub index: usize,
    name: String,
    bytes: usize,
    reader: StringReader,
}

impl PartialEq for CallDraft {
    fn eq(&self, other: &Self) -> bool {
        (self.index, &self.name, self.bytes) == (other.index, &other.name, other.bytes)
    }
}

impl CallDraft {
    pub fn new(index: usize, name: String) -> Self {
        Self { index, name, bytes: 0, reader: StringReader::new(TELLING) }
    }

    pub fn push(&mut self, delta: &str) {
        self.bytes += delta.len();
        self.reader.feed(delta);
    }

    pub(super) fn lines(&self, look: &Look) -> Vec<Line> {
        let subject = TELLING.iter().find_map(|key| self.reader.get(key)).unwrap_or("");
        let result = Line::of(format!("{} {}", look.spinner(), size(self.bytes)), Role::Dim);
        vec![columns(look, (look.glyphs.tool, Role::Dim), &self.name, subject, result, None)]
    }
}

/// A call of a committed reply.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    pub id: CallId,
    pub name: String,
    /// The label by which later calls refer to it.
    pub label: Option<String>,
    pub subject: String,
    pub state: CallState,
    /// A description of the user's decision.
    pub decision: Option<String>,
    started_ms: Option<u64>,
    took: Option<Duration>,
    live: String,
    live_bytes: usize,
    returned: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    Planned,
    Waiting,
    Running,
    Done(ReturnStatus),
}

impl CallRow {
    pub fn new(call: &ToolCall) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.as_str().to_owned(),
            label: call.args.get("label").and_then(Value::as_str).map(str::to_owned),
            subject: subject(&call.args),
            state: CallState::Planned,
            decision: None,
            started_ms: None,
            took: None,
            live: String::new(),
            live_bytes: 0,
            returned: String::new(),
        }
    }

    pub fn run(&mut self, now_ms: u64) {
        self.state = CallState::Running;
        self.started_ms = Some(now_ms);
    }

    pub fn push(&mut self, text: &str) {
        self.live_bytes += text.len();
        self.live.push_str(text);
        if self.live.len() > LIVE_BYTES {
            let cut = self.live.ceil_char_boundary(self.live.len() - LIVE_BYTES / 2);
            self.live = self.live.split_off(cut);
        }
    }

    /// Records the return; without a clock (a replay) no duration is recorded.
    pub fn finish(&mut self, returned: &ToolReturn, now_ms: Option<u64>) {
        self.state = CallState::Done(returned.status);
        self.returned = returned.text();
        self.live.clear();
        if let (Some(now), Some(started)) = (now_ms, self.started_ms) {
            self.took = Some(Duration::from_millis(now.saturating_sub(started)));
        }
    }

    pub fn moves(&self) -> bool {
        self.state == CallState::Running
    }

    /// Returns how long it has been running; `None` if it is not running.
    pub fn running_for(&self, now_ms: u64) -> Option<Duration> {
        let started = self.started_ms.filter(|_| self.state == CallState::Running)?;
        Some(Duration::from_millis(now_ms.saturating_sub(started)))
    }

    /// Whether its outcome is open and may still change, in this turn or a later one.
    pub fn is_open(&self) -> bool {
        match self.state {
            CallState::Planned | CallState::Waiting | CallState::Running => true,
            CallState::Done(ReturnStatus::Undecided | ReturnStatus::Interrupted | ReturnStatus::Unknown) => {
                true
            }
            CallState::Done(ReturnStatus::Ok | ReturnStatus::Failed | ReturnStatus::Denied) => false,
        }
    }

    /// Returns the kept output.
    pub fn output(&self) -> &str {
        if self.returned.is_empty() { &self.live } else { &self.returned }
    }

    /// Returns the part of the output that can be shown.
    pub fn shown_output(&self) -> &str {
        let text = self.output();
        text.split_at(text.floor_char_boundary(MOST_BYTES)).0
    }

    pub(super) fn lines(&self, look: &Look) -> Vec<Line> {
        let mark = match (self.state, &self.decision) {
            (CallState::Waiting, _) => (look.glyphs.waiting, Role::Waiting),
            (_, Some(_)) => (look.glyphs.waiting, Role::Tool),
            (CallState::Planned | CallState::Running | CallState::Done(_), None) => {
                (look.glyphs.tool, Role::Tool)
            }
        };
        let took = match self.state {
            CallState::Running => {
                self.started_ms.map(|since| Duration::from_millis(look.now_ms.saturating_sub(since)))
            }
            CallState::Planned | CallState::Waiting | CallState::Done(_) => self.took,
        };
        let mut lines = vec![columns(look, mark, &self.name, &self.subject, self.result(look), took)];
        self.below(look, &mut lines);
        lines
    }

    fn result(&self, look: &Look) -> Line {
        let glyphs = look.glyphs;
        let (mark, role, words) = match self.state {
            CallState::Planned => match self.decided(look) {
                Some(decision) => (glyphs.ok, Role::Ok, decision.to_owned()),
                None => return Line::new(),
            },
            CallState::Waiting => return Line::of("waiting for you", Role::Waiting),
            CallState::Running if self.live_bytes > 0 => (look.spinner(), Role::Tool, size(self.live_bytes)),
            CallState::Running => (look.spinner(), Role::Tool, String::new()),
            CallState::Done(ReturnStatus::Ok) => (glyphs.ok, Role::Ok, extent(&self.returned)),
            CallState::Done(ReturnStatus::Failed) => (glyphs.fail, Role::Fail, "failed".to_owned()),
            CallState::Done(ReturnStatus::Denied) => {
                (glyphs.fail, Role::Fail, self.decided(look).unwrap_or("denied").to_owned())
            }
            CallState::Done(ReturnStatus::Undecided) => {
                (glyphs.waiting, Role::Waiting, "undecided".to_owned())
            }
            CallState::Done(ReturnStatus::Interrupted) => (glyphs.fail, Role::Dim, "stopped".to_owned()),
            CallState::Done(ReturnStatus::Unknown) => {
                (glyphs.unknown, Role::Waiting, "outcome unknown".to_owned())
            }
        };
        let mut line = Line::of(mark, role).with(" ", Role::Text).with(words, Role::Dim);
        if let (CallState::Done(ReturnStatus::Ok), Some(decision)) = (self.state, self.decided(look)) {
            let who = if decision == APPROVED { "you" } else { decision };
            line = line.with(format!(" {} {who}", glyphs.dot), Role::Dim);
        }
        line
    }

    /// Returns the decision if it fits into the row.
    fn decided(&self, look: &Look) -> Option<&str> {
        self.decision.as_deref().filter(|words| crate::stdx::text::width(words) <= look.width / 2 - 10)
    }

    /// Whether the row itself states the decision.
    fn says_decision(&self, look: &Look) -> bool {
        match self.state {
            CallState::Planned | CallState::Done(ReturnStatus::Ok | ReturnStatus::Denied) => {
                self.decided(look).is_some()
            }
            CallState::Waiting => true,
            CallState::Running
            | CallState::Done(
                ReturnStatus::Failed
                | ReturnStatus::Undecided
                | ReturnStatus::Interrupted
                | ReturnStatus::Unknown,
            ) => self.decision.as_deref() == Some(APPROVED),
        }
    }

    /// Adds the lines under the row.
    fn below(&self, look: &Look, lines: &mut Vec<Line>) {
        let margin = Margin::even(look.barred(look.glyphs.side, Role::Dim).rest.with("  ", Role::Text));
        let mut put = |text: &str, role: Role| {
            let span = Span::inked(expand_tabs(text), Ink::of(role));
            let line = exactly(wrap_exact(&span, usize::MAX / 2, &margin), text).into_iter().next();
            lines.extend(line.map(|line| line.cut(look.width)));
        };
        if let Some(decision) = self.decision.as_ref().filter(|_| !self.says_decision(look)) {
            put(decision, Role::Dim);
        }
        match (self.state, look.details) {
            (CallState::Running, _) => {
                let tail: Vec<&str> = self.live.lines().collect();
                let from = tail.len().saturating_sub(TAIL);
                tail[from..].iter().for_each(|line| put(line, Role::Dim));
            }
            (CallState::Done(_), Fold::Open) => {
                whole(&self.returned, look, &margin, lines);
            }
            (CallState::Done(ReturnStatus::Failed | ReturnStatus::Unknown), Fold::Folded) => {
                self.returned.lines().take(TAIL).for_each(|line| put(line, Role::Dim));
            }
            (
                CallState::Planned
                | CallState::Waiting
                | CallState::Done(
                    ReturnStatus::Ok
                    | ReturnStatus::Denied
                    | ReturnStatus::Undecided
                    | ReturnStatus::Interrupted,
                ),
                _,
            ) => {}
        }
    }
}

/// A plain approval: the row's own mark shows it.
pub const APPROVED: &str = "approved";

fn whole(text: &str, look: &Look, margin: &Margin, lines: &mut Vec<Line>) {
    let (shown, rest) = text.split_at(text.floor_char_boundary(MOST_BYTES));
    let mut hidden = rest.lines().count();
    for (index, line) in shown.lines().enumerate() {
        if index >= MOST_LINES {
            hidden += shown.lines().count() - index;
            break;
        }
        let span = Span::inked(expand_tabs(line), Ink::of(Role::Dim));
        lines.extend(exactly(wrap_exact(&span, look.width, margin), line));
    }
    if hidden > 0 {
        let mut line = margin.rest.clone();
        line.push(Span::new(format!("… {hidden} more lines"), Role::Dim));
        lines.push(line.ours());
    }
}

/// Returns one line for a request that has no row here: a settled card.
pub(super) fn settled(tool: &str, subject: &str, outcome: &str, tone: Tone, look: &Look) -> Line {
    let (mark, role) = match tone {
        Tone::Plain => (look.glyphs.ok, Role::Ok),
        Tone::Warning => (look.glyphs.waiting, Role::Waiting),
        Tone::Error => (look.glyphs.fail, Role::Fail),
    };
    let result = Line::of(mark, role).with(format!(" {outcome}"), Role::Dim);
    columns(look, (look.glyphs.waiting, Role::Tool), tool, subject, result, None)
}

fn columns(
    look: &Look,
    mark: (&str, Role),
    name: &str,
    subject: &str,
    result: Line,
    took: Option<Duration>,
) -> Line {
    let narrow = look.width < NARROW;
    let name_cells = if narrow { 11 } else { 13 };
    let mut left = Line::of(" ", Role::Text).with(mark.0, mark.1).with(" ", Role::Text);
    let mut tool = Line::of(one_line_summary(name, 40), Role::Tool);
    tool.pad_to(name_cells);
    tool.spans.into_iter().for_each(|span| left.push(span));
    left.push(Span::new(" ", Role::Text));
    let named = left.width();
    left.push(Span::new(subject, Role::Text));
    let time = took.map_or(String::new(), seconds);
    let outcome = result.text();
    let said = [name, subject, outcome.trim(), &time];
    let said: Vec<&str> = said.into_iter().filter(|part| !part.is_empty()).collect();
    let mut right = result;
    if !narrow {
        right.pad_to(18);
        right.push(Span::new(format!("{time:>6}"), Role::Dim));
    }
    let subject_to = left.width().min(look.width.saturating_sub(right.width() + 1));
    left.copied.margin = MARGIN;
    left.copied.exact = Some(Exact::new(&said.join("  "), vec![MARGIN..named - 1, named..subject_to]));
    Line::spread(left, right, look.width)
}

/// Returns the most informative argument of a call, on one line.
pub fn subject(args: &Value) -> String {
    let Some(object) = args.as_object() else { return String::new() };
    let told = TELLING.iter().find_map(|key| object.get(*key)?.as_str());
    let any = || object.values().find_map(Value::as_str);
    let mut text = one_line_summary(told.or_else(any).unwrap_or(""), 200);
    if let (Some(_), Some(place)) =
        (object.get("pattern").or_else(|| object.get("query")), object.get("path").and_then(Value::as_str))
    {
        let what = object.get("pattern").or_else(|| object.get("query")).and_then(Value::as_str);
        text = one_line_summary(&format!("{} in {place}", what.unwrap_or("")), 200);
    }
    text
}

/// Describes the amount of text: lines if there are several, else bytes.
fn extent(text: &str) -> String {
    match text.lines().count() {
        0 => String::new(),
        1 => size(text.len()),
        lines => format!("{lines} lines"),
    }
}

/// Formats a size in bytes.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// Formats a duration: `0.8s`, `44s`, `2m05s`.
pub fn seconds(took: Duration) -> String {
    let ms = took.as_millis();
    match ms {
        0..10_000 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        10_000..60_000 => format!("{}s", ms / 1_000),
        _ => format!("{}m{:02}s", ms / 60_000, ms / 1_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_telling_argument_is_found() {
        let cases = [
            (json!({"path": "a.txt", "content": "x"}), "a.txt"),
            (json!({"content": "x", "path": "a.txt"}), "a.txt"),
            (json!({"pattern": "fn", "path": "src"}), "fn in src"),
            (json!({"command": "ls\nrm -rf /"}), "ls …"),
            (json!({"n": 3, "who": "\u{1b}[2Jme"}), "␛[2Jme"),
            (json!({"n": 3}), ""),
            (json!("no object"), ""),
        ];
        for (args, expected) in cases {
            assert_eq!(subject(&args), expected, "{args}");
        }
    }

    #[test]
    fn sizes_and_times_are_short() {
        for (bytes, shown) in [(0, "0 B"), (999, "999 B"), (2_140, "2.1 kB"), (3_456_789, "3.4 MB")] {
            assert_eq!(size(bytes), shown);
        }
        for (ms, shown) in [(0, "0.0s"), (840, "0.8s"), (44_900, "44s"), (125_000, "2m05s")] {
            assert_eq!(seconds(Duration::from_millis(ms)), shown);
        }
    }
}
