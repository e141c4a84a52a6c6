//! A row for a tool call: mark, tool, most informative argument, result, time.
//!
//! Below it are the last lines of its output while it runs and after a failure, and the change it made to a file. The
//! text that the model got about a change is shown on request only.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;

use super::args_preview::ArgsPreview;
use super::diff::{self, DiffCode};
use super::sgr::Sgr;
use super::{Fold, RenderContext};
use crate::approval::DecisionKind;
use crate::frontend::protocol::Tone;
use crate::frontend::sentences::{self, DecisionSentence};
use crate::message::{CallId, CallReport, DiffKind, ReturnStatus, ToolCall, ToolName, ToolReturn};
use crate::stdx::ansi::bare;
use crate::stdx::moment::duration;
use crate::stdx::text::{count, one_line_summary, size, width};
use crate::tool::builtin::patched_files;
use crate::tool::diff::as_text;
use crate::tool::{SHELL, TODO};
use crate::tui::copied::exactly;
use crate::tui::line::{Line, Margin, SourceLine, Span, wrap_pieces, wrap_spans};
use crate::tui::markdown::{Language, Languages};
use crate::tui::theme::Role;

/// Lines of output shown below a row while the call runs.
const TAIL: usize = 3;

/// Lines of a change, or of the output of a call that failed, shown while folded; and of a change at most.
const FOLDED: usize = 10;
const MOST_CHANGE: usize = 5_000;

/// Steps of a list that are shown.
const STEPS: usize = 12;

/// Lines and bytes of a return that are kept to be shown whole.
const MOST_LINES: usize = 400;
const MOST_BYTES: usize = 64 * 1024;

/// Bytes of live output that are kept.
const LIVE_BYTES: usize = 8 * 1024;

/// The most informative arguments of calls, best first.
pub(super) const TELLING: [&str; 8] = ["path", "command", "pattern", "query", "url", "file", "name", "text"];

/// Cells of the words of a tool and of a decision, at most.
const LONGEST_RESULT: usize = 30;
const LONGEST_DECISION: usize = 400;

/// Cells before the name of a row.
const MARGIN: usize = 3;

/// Below this width a row has no time and narrower columns.
const NARROW: usize = 60;

/// A call of a committed reply.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallRow {
    pub id: CallId,
    pub name: String,
    /// The label by which later calls refer to it.
    pub label: Option<String>,
    pub subject: String,
    /// The whole command line of a shell call.
    pub command: Option<String>,
    pub state: CallState,
    /// A description of the user's decision.
    pub decision: Option<DecisionSentence>,
    /// The approved calls that it still waits for.
    pub runs_after: Option<String>,
    /// The file with the rule that was saved with the decision.
    pub rule_file: Option<String>,
    started_ms: Option<u64>,
    took: Option<Duration>,
    live: String,
    live_bytes: usize,
    returned: String,
    done: CallReport,
    /// The language of the file it changed.
    language: Option<Language>,
    /// Whether the text for the model is shown below a change.
    pub(super) for_model: Fold,
    /// The text that it will write or run, as shown while it arrived; none once the call waits or has ended.
    preview: Option<Box<ArgsPreview>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallState {
    #[default]
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
            command: command(&call.name, &call.args),
            ..Self::default()
        }
    }

    /// Keeps what was shown while the call arrived.
    #[must_use]
    pub fn with_preview(self, preview: Option<ArgsPreview>) -> Self {
        Self { preview: preview.map(Box::new), ..self }
    }

    /// Drops what was shown while the call arrived.
    pub fn end_preview(&mut self) {
        self.preview = None;
    }

    /// Shows that the call waits for the user, with these arguments: its card shows what it would do.
    pub fn wait(&mut self, args: &Value) {
        self.state = CallState::Waiting;
        self.subject = subject(args);
        self.end_preview();
    }

    /// Shows the call as it runs: with other arguments, or another one.
    pub fn becomes(&mut self, name: &ToolName, args: &Value) {
        name.as_str().clone_into(&mut self.name);
        self.subject = subject(args);
        self.command = command(name, args);
        self.preview.take_if(|preview| !preview.shows(&self.name, args));
    }

    pub fn run(&mut self, now_ms: u64) {
        self.state = CallState::Running;
        self.runs_after = None;
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
        self.end_preview();
        self.returned = returned.text();
        self.live.clear();
        self.runs_after = None;
        self.done = returned.done.as_deref().cloned().unwrap_or_default();
        if let Some((name, args)) = self.done.ran.take() {
            self.becomes(&name, &args);
        }
        if !self.done.change.is_empty() {
            self.language = Language::of_file(&self.subject);
        }
        if returned.status == ReturnStatus::Denied && self.decision.is_none() && !self.done.words.is_empty() {
            self.decision = Some(DecisionSentence::of(one_line_summary(&self.done.words, LONGEST_DECISION)));
        }
        if let Some(hunks) = self.done.hunks() {
            let decision = self.decision.get_or_insert_default();
            if decision.kind == Some(DecisionKind::Edited) {
                // The hunks are the changes.
                decision.kind = Some(DecisionKind::Approved);
            }
            decision.add_fact(&hunks);
        }
        if let (Some(now), Some(started)) = (now_ms, self.started_ms) {
            self.took = Some(Duration::from_millis(now.saturating_sub(started)));
        }
    }

    pub fn moves(&self) -> bool {
        self.state == CallState::Running
    }

    /// Returns how long it has been running, in whole seconds; `None` if it is not running.
    pub fn running_for(&self, now_ms: u64) -> Option<Duration> {
        let started = self.started_ms.filter(|_| self.state == CallState::Running)?;
        Some(Duration::from_secs(now_ms.saturating_sub(started) / 1_000))
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

    /// Returns the kept output; the change if it made one.
    pub fn output(&self) -> Cow<'_, str> {
        if !self.done.change.is_empty() {
            return Cow::Owned(as_text(&self.done.change));
        }
        bare(if self.returned.is_empty() { &self.live } else { &self.returned })
    }

    /// Returns the part of the output that can be shown.
    pub fn shown_output(&self) -> Cow<'_, str> {
        let mut text = self.output();
        if text.len() > MOST_BYTES {
            let end = text.floor_char_boundary(MOST_BYTES);
            text.to_mut().truncate(end);
        }
        text
    }

    /// Returns the languages of its code.
    pub fn named_languages(&self) -> Languages {
        let previewed = self.preview.as_ref().map_or(Languages::NONE, |preview| preview.named_languages());
        self.language.map_or(Languages::NONE, Languages::of) | previewed
    }

    /// Shows the text for the model, if the whole change is shown already; hides it otherwise. Returns whether it is
    /// shown now.
    pub fn toggle_text_for_model(&mut self, change: Fold) -> bool {
        let lines = self.done.change.iter().filter(|line| line.kind != DiffKind::Hunk).count();
        let is_whole = change == Fold::Open || lines <= FOLDED;
        let shows = lines > 0 && is_whole && self.for_model == Fold::Folded;
        self.for_model = if shows { Fold::Open } else { Fold::Folded };
        shows
    }

    pub(super) fn lines(&mut self, context: &RenderContext) -> Vec<Line> {
        let mark = match (self.state, &self.decision) {
            (CallState::Waiting, _) => (context.glyphs.waiting, Role::Waiting),
            (_, Some(_)) => (context.glyphs.waiting, Role::Tool),
            (_, None) => (context.glyphs.tool, Role::Tool),
        };
        let took = self.running_for(context.now_ms).or(self.took);
        let mut lines = vec![columns(context, mark, &self.name, &self.subject, self.result(context), took)];
        self.below(context, &mut lines);
        // The first output takes its place.
        if let Some(preview) = self.preview.as_mut().filter(|_| self.live.is_empty()) {
            lines.extend(preview.lines(context, &below_row(context)));
        }
        lines
    }

    fn result(&self, context: &RenderContext) -> Line {
        let glyphs = context.glyphs;
        let (mark, role, words) = match self.state {
            CallState::Planned => match self.short_decision(context) {
                Some(decision) => (glyphs.ok, Role::Ok, decision.to_string()),
                None => return Line::new(),
            },
            CallState::Waiting => return Line::of("waiting for you", Role::Waiting),
            CallState::Running if self.live_bytes > 0 => {
                (context.spinner(), Role::Tool, size(self.live_bytes))
            }
            CallState::Running => (context.spinner(), Role::Tool, String::new()),
            CallState::Done(ReturnStatus::Ok) => (glyphs.ok, Role::Ok, self.amount()),
            CallState::Done(ReturnStatus::Failed) => (glyphs.fail, Role::Fail, self.failure().to_owned()),
            CallState::Done(ReturnStatus::Denied) if self.done.is_planned => {
                (glyphs.still, Role::Waiting, self.plan_sentence())
            }
            CallState::Done(ReturnStatus::Denied) => (
                glyphs.fail,
                Role::Fail,
                self.short_decision(context)
                    .map_or_else(|| sentences::status(ReturnStatus::Denied).to_owned(), ToString::to_string),
            ),
            CallState::Done(status @ ReturnStatus::Undecided) => {
                (glyphs.waiting, Role::Waiting, sentences::status(status).to_owned())
            }
            CallState::Done(status @ ReturnStatus::Interrupted) => {
                (glyphs.fail, Role::Dim, sentences::status(status).to_owned())
            }
            CallState::Done(status @ ReturnStatus::Unknown) => {
                (glyphs.unknown, Role::Waiting, sentences::status(status).to_owned())
            }
        };
        let mut line = Line::of(mark, role);
        if !words.is_empty() {
            line = line.with(" ", Role::Text).with(words, Role::Dim);
        }
        if let (CallState::Done(ReturnStatus::Ok), Some(decision)) =
            (self.state, self.short_decision(context))
        {
            line = line.with(format!(" {} {}", glyphs.dot, decision.beside_mark()), Role::Dim);
        }
        line
    }

    /// Says what it would have done.
    fn plan_sentence(&self) -> String {
        if self.done.change.is_empty() {
            "would run".to_owned()
        } else {
            format!("would change {}", self.amount())
        }
    }

    /// Returns its outcome: the number of changed lines, or the words of its tool.
    fn amount(&self) -> String {
        if self.done.change.is_empty() {
            return one_line_summary(&self.done.words, LONGEST_RESULT);
        }
        diff::counts(&self.done.change).text()
    }

    /// Says how it failed.
    fn failure(&self) -> &str {
        if self.done.words.is_empty() { sentences::status(ReturnStatus::Failed) } else { &self.done.words }
    }

    /// Returns the decision if it fits into the row, beside the outcome.
    fn short_decision(&self, context: &RenderContext) -> Option<&DecisionSentence> {
        let beside =
            if matches!(self.state, CallState::Done(ReturnStatus::Ok)) { width(&self.amount()) } else { 0 };
        self.decision.as_ref().filter(|said| width(&said.to_string()) + beside <= context.width / 2 - 10)
    }

    /// Whether the row itself states the decision.
    fn says_decision(&self, context: &RenderContext) -> bool {
        match self.state {
            CallState::Planned | CallState::Done(ReturnStatus::Ok | ReturnStatus::Denied) => {
                self.short_decision(context).is_some()
            }
            CallState::Waiting => true,
            CallState::Running
            | CallState::Done(
                ReturnStatus::Failed
                | ReturnStatus::Undecided
                | ReturnStatus::Interrupted
                | ReturnStatus::Unknown,
            ) => self.decision.as_ref().is_some_and(DecisionSentence::is_plain_approval),
        }
    }

    /// Adds the lines under the row.
    fn below(&self, context: &RenderContext, lines: &mut Vec<Line>) {
        let margin = below_row(context);
        if let Some(decision) = self.decision.as_ref().filter(|_| !self.says_decision(context)) {
            let span = [Span::new(decision.to_string(), Role::Dim)];
            lines.extend(wrap_spans(&span, context.width, &margin));
        }
        if let Some(after) = &self.runs_after {
            lines.push(remark(&format!("runs after {after}"), &margin).cut(context.width));
        }
        match (self.state, context.details) {
            (CallState::Running, _) => tail(&self.live, TAIL, context, &margin, lines),
            (CallState::Done(_), _) if !self.done.change.is_empty() => self.change(context, &margin, lines),
            (CallState::Done(ReturnStatus::Ok), Fold::Folded) if self.name == TODO => {
                tail(&self.returned, STEPS, context, &margin, lines);
            }
            (CallState::Done(_), Fold::Open) => {
                whole(&self.returned, context, &margin, lines);
            }
            (CallState::Done(ReturnStatus::Failed | ReturnStatus::Unknown), Fold::Folded) => {
                // The row says already how it ended.
                let said = self.returned.strip_prefix(self.done.words.as_str());
                let output = said.and_then(|rest| rest.strip_prefix('\n')).unwrap_or(&self.returned);
                tail(output, FOLDED, context, &margin, lines);
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

    /// Adds the change it made, and the text for the model if it was asked for.
    fn change(&self, context: &RenderContext, margin: &Margin, lines: &mut Vec<Line>) {
        let code = DiffCode { language: self.language, languages: context.languages };
        let width = context.width.saturating_sub(margin.rest.width());
        let most = if context.details == Fold::Open { MOST_CHANGE } else { FOLDED };
        let page = diff::lay_out_change(&self.done.change, code, width, most);
        lines.extend(page.lines.iter().map(|line| line.behind(&margin.rest)));
        if page.hidden > 0 {
            let all = context.details_key.filter(|_| context.details == Fold::Folded);
            let all = all.map_or(String::new(), |key| format!(", {key} shows all"));
            let hidden = count(page.hidden, "more line");
            lines.push(remark(&format!("… {hidden}{all}"), margin).cut(context.width));
        }
        if self.for_model == Fold::Open {
            lines.push(remark("the model was told:", margin));
            whole(&self.returned, context, margin, lines);
        }
    }
}

fn remark(text: &str, margin: &Margin) -> Line {
    margin.rest.clone().with(text, Role::Dim).ours()
}

/// Adds the last lines of an output, each cut at the edge, with the number of those before them.
fn tail(text: &str, most: usize, context: &RenderContext, margin: &Margin, lines: &mut Vec<Line>) {
    let all: Vec<&str> = text.lines().collect();
    let from = all.len().saturating_sub(most);
    if from > 0 && most == FOLDED {
        lines.push(remark(&format!("… {from} lines before"), margin).cut(context.width));
    }
    let mut colours = Sgr::new(Role::Dim);
    for line in &all[from..] {
        let laid_out = wrap_pieces(colours.line(line), usize::MAX / 2, margin);
        lines.extend(exactly(laid_out, &bare(line)).into_iter().next().map(|line| line.cut(context.width)));
    }
}

fn whole(text: &str, context: &RenderContext, margin: &Margin, lines: &mut Vec<Line>) {
    let (shown, rest) = text.split_at(text.floor_char_boundary(MOST_BYTES));
    let mut hidden = rest.lines().count();
    let mut colours = Sgr::new(Role::Dim);
    for (index, line) in shown.lines().enumerate() {
        if index >= MOST_LINES {
            hidden += shown.lines().count() - index;
            break;
        }
        lines.extend(exactly(wrap_pieces(colours.line(line), context.width, margin), &bare(line)));
    }
    if hidden > 0 {
        lines.push(remark(&format!("… {}", count(hidden, "more line")), margin));
    }
}

/// Returns one line for a request that has no row here: a settled card.
pub(super) fn settlement_line(
    tool: &str,
    subject: &str,
    outcome: &str,
    tone: Tone,
    context: &RenderContext,
) -> Line {
    let (mark, role) = match tone {
        Tone::Plain => (context.glyphs.ok, Role::Ok),
        Tone::Warning => (context.glyphs.waiting, Role::Waiting),
        Tone::Error => (context.glyphs.fail, Role::Fail),
    };
    let result = Line::of(mark, role).with(format!(" {outcome}"), Role::Dim);
    columns(context, (context.glyphs.waiting, Role::Tool), tool, subject, result, None)
}

/// Returns the margin of the lines below a row.
pub(super) fn below_row(context: &RenderContext) -> Margin {
    Margin::even(context.bar_margin(context.glyphs.side, Role::Dim).rest.with("  ", Role::Text))
}

pub(super) fn columns(
    context: &RenderContext,
    mark: (&str, Role),
    name: &str,
    subject: &str,
    result: Line,
    took: Option<Duration>,
) -> Line {
    let narrow = context.width < NARROW;
    let name_cells = if narrow { 11 } else { 13 };
    let mut left = Line::of(" ", Role::Text).with(mark.0, mark.1).with(" ", Role::Text);
    let mut tool = Line::of(one_line_summary(name, 40), Role::Tool);
    tool.pad_to(name_cells);
    left = left.joined(tool).with(" ", Role::Text);
    let named = left.width();
    left.push(Span::new(subject, Role::Text));
    let time = took.map_or(String::new(), duration);
    let outcome = result.text();
    let said = [name, subject, outcome.trim(), &time];
    let said: Vec<&str> = said.into_iter().filter(|part| !part.is_empty()).collect();
    let mut right = result;
    if !narrow {
        right.pad_to(18);
        right.push(Span::new(format!("{time:>6}"), Role::Dim));
    }
    let subject_to = left.width().min(context.width.saturating_sub(right.width() + 1));
    left.copied.margin = MARGIN;
    left.copied.exact = Some(SourceLine::new(&said.join("  "), vec![MARGIN..named - 1, named..subject_to]));
    Line::spread(left, right, context.width)
}

/// Returns the most informative argument of a call, on one line.
pub fn subject(args: &Value) -> String {
    let Some(object) = args.as_object() else { return String::new() };
    let text_of = |name: &str| object.get(name).and_then(Value::as_str);
    let text = match (object.get("pattern").or_else(|| object.get("query")), text_of("path")) {
        (Some(what), Some(place)) => Some(format!("{} in {place}", what.as_str().unwrap_or(""))),
        (_, _) => TELLING.iter().find_map(|key| text_of(key)).map(str::to_owned),
    };
    let moved = || Some(format!("{} to {}", text_of("from")?, text_of("to")?));
    let any = || object.values().find_map(Value::as_str).map(str::to_owned);
    let text = text.or_else(|| text_of("patch").and_then(patched_files)).or_else(moved).or_else(any);
    one_line_summary(&text.unwrap_or_default(), 200)
}

fn command(tool: &ToolName, args: &Value) -> Option<String> {
    let line = args.get("command").filter(|_| tool.as_str() == SHELL)?;
    line.as_str().map(str::to_owned)
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
            (json!({"from": "a", "to": "b"}), "a to b"),
            (json!({"patch": "--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@\n-a\n+b\n"}), "x.rs"),
            (
                json!({"patch": "*** Begin Patch\n*** Delete File: x\n*** Delete File: y\n*** End Patch"}),
                "x, y",
            ),
            (json!({"patch": "no patch\nat all"}), "no patch …"),
            (json!({"n": 3}), ""),
            (json!("no object"), ""),
        ];
        for (args, expected) in cases {
            assert_eq!(subject(&args), expected, "{args}");
        }
    }
}
