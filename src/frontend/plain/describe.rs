//! Sentences for events: requests, returns, waits, ends; without glyphs, columns and colours. The page sanitizes
//! untrusted text in a sentence.

use serde_json::Value;

use crate::approval::Request;
use crate::command::code;
use crate::frontend::fields;
use crate::frontend::protocol::{Header, ModelLine, ServerLine, ServerList, ServerOrigin};
use crate::frontend::sentences;
use crate::history::TurnEnd;
use crate::message::images::PromptImage;
use crate::message::{NoteKind, ReturnStatus, ToolReturn, UsedMemory};
use crate::stdx::ansi::bare;
use crate::stdx::text::{count, one_line_summary, sanitize, sanitize_line};
use crate::tool::diff::as_text;
use crate::tool::{DiffKind, DiffLine, Preview};

/// Width of quoted untrusted text in a sentence, in cells.
const WIDTH: usize = 300;

/// Characters of a row of details; longer lines continue in the next row.
const ROW: usize = 1_000;

/// Lines of a failed call's output that are printed.
const TAIL: usize = 3;

/// Lines of a change that are printed after it was made.
const CHANGE: usize = 10;

/// The keys of this front end; the terminal handles the others.
pub(super) const KEYS: &str = "Enter: send the line\nCtrl+C: stop the turn; twice within 2 seconds quits\nCtrl+D: \
                               quit\nThe terminal edits the line. `co keys` lists the keys of the full screen.";

/// The help for setting up a service: a key must never be typed into a visible line.
pub(super) const LOGIN: &str = "Run `co auth add` in another shell: it asks for a service and its key.";

/// Returns the sentence that asks for a decision.
pub(super) fn question(request: &Request, number: usize, of: usize) -> String {
    let undo = request.plan.undo_sentence().map_or(String::new(), |undo| format!(", {undo}"));
    let risk = request.risk.word();
    let tool = request.tool.as_str();
    format!(
        "Approval {number} of {of}, {risk} risk{undo}: {tool}, {}.",
        without_full_stop(&request.plan.summary)
    )
}

/// Says that not all of a request was printed.
pub(super) fn unseen(request: &Request) -> String {
    let unread = if request.may_be_unread() { ", Y approves it unread" } else { "" };
    format!("Not approved: {}. 5 prints it{unread}.", sentences::UNREAD)
}

/// Returns a sentence without its full stop; the dot of a folder stays.
fn without_full_stop(text: &str) -> String {
    let text = text.trim();
    match text.strip_suffix('.') {
        Some(sentence) if sentence.ends_with(char::is_alphanumeric) => sentence.to_owned(),
        Some(_) | None => text.to_owned(),
    }
}

/// Returns the effect of the call, in rows: nothing is approved before these are printed.
pub(super) fn body(request: &Request) -> Vec<String> {
    let mut rows = Vec::new();
    if let Some(again) = &request.again {
        put(&mut rows, "Asked again: ", again);
    }
    if let Some(question) = &request.plan.question {
        put_lines(&mut rows, "", &question.text);
        for (number, option) in (1..).zip(&question.options) {
            put(&mut rows, &format!("{number} "), option);
        }
        return rows;
    }
    match &request.plan.preview {
        Preview::None => arguments(&request.args, &mut rows),
        Preview::Text { text } => put_lines(&mut rows, "", text),
        Preview::Diff { path, lines } => {
            put(&mut rows, "Change to ", path);
            lines.iter().for_each(|line| diff(line, &mut rows));
        }
        Preview::Fields { fields } => {
            for (name, value) in fields {
                put(&mut rows, &format!("{}: ", one_line_summary(name, WIDTH)), value);
            }
        }
    }
    rows
}

/// Returns everything else that is known about the request.
pub(super) fn facts(request: &Request, header: Option<&Header>) -> Vec<String> {
    let mut rows = Vec::new();
    if request.plan.preview != Preview::None {
        arguments(&fields::not_shown(request), &mut rows);
    }
    for why in &request.why {
        put(&mut rows, "Asks because ", why);
    }
    for after in &request.after {
        put(&mut rows, "Runs after ", after);
    }
    if let Some(undo) = request.plan.undo_sentence() {
        put(&mut rows, "Undo: ", undo);
    }
    if let Some(header) = header {
        put(&mut rows, "Folder: ", &header.workspace.display().to_string());
        put(&mut rows, "Isolation: ", header.isolation.word());
    }
    put(&mut rows, "Request ", &request.id.0);
    rows
}

fn arguments(args: &Value, rows: &mut Vec<String>) {
    let Some(fields) = args.as_object() else {
        return put(rows, "Arguments: ", &args.to_string());
    };
    for (name, value) in fields {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        put(rows, &format!("Argument {}: ", one_line_summary(name, WIDTH)), &text);
    }
}

/// Returns the arguments under the names by which they are changed, the lines of a text one by one.
pub(super) fn editable(args: &Value) -> Vec<String> {
    let mut rows = Vec::new();
    for (name, value) in args.as_object().into_iter().flatten() {
        let name = one_line_summary(name, WIDTH);
        match value.as_str() {
            Some(text) if text.trim_end_matches('\n').contains('\n') => {
                let lines = text.lines().enumerate();
                lines.for_each(|(at, line)| put_row(&mut rows, &format!("{name}.{}: {line}", at + 1)));
            }
            Some(text) => put_row(&mut rows, &format!("{name}: {}", text.trim_end_matches('\n'))),
            None => put_row(&mut rows, &format!("{name}: {value}")),
        }
    }
    rows
}

fn diff(line: &DiffLine, rows: &mut Vec<String>) {
    let number = line.number;
    let words = match line.kind {
        // Its text repeats the position.
        DiffKind::Hunk => return rows.push(format!("From line {number}:")),
        DiffKind::Context => format!("Line {number}: "),
        DiffKind::Added => format!("Added, line {number}: "),
        DiffKind::Removed => format!("Removed, line {number}: "),
    };
    put(rows, &words, &line.text);
}

/// Adds a name and its text; a text of several lines gets its own rows.
fn put(rows: &mut Vec<String>, name: &str, text: &str) {
    if text.contains('\n') {
        rows.push(name.trim_end().to_owned());
        return put_lines(rows, "  ", text);
    }
    put_row(rows, &format!("{name}{text}"));
}

fn put_lines(rows: &mut Vec<String>, indent: &str, text: &str) {
    let whole = text.strip_suffix('\n').unwrap_or(text);
    whole.split('\n').for_each(|line| put_row(rows, &format!("{indent}{line}")));
}

/// Adds one line as rows of bounded length.
fn put_row(rows: &mut Vec<String>, line: &str) {
    let shown = sanitize(line);
    let chars: Vec<char> = shown.chars().collect();
    let mut pieces = chars.chunks(ROW).map(|piece| piece.iter().collect::<String>());
    rows.push(pieces.next().unwrap_or_default());
    rows.extend(pieces.map(|piece| format!("  (same line) {piece}")));
}

/// Returns the row of a finished call and, if it did not succeed, its output.
pub(super) fn return_row(tool: &str, summary: &str, returned: &ToolReturn) -> (String, Option<String>) {
    let text = returned.text();
    let done = returned.done.as_deref();
    let outcome = done.map_or(String::new(), |done| one_line_summary(&done.outcome(), WIDTH));
    let is_planned = done.is_some_and(|done| done.is_planned);
    let how = match returned.status {
        ReturnStatus::Denied if is_planned => "planned, not done".to_owned(),
        ReturnStatus::Denied if !outcome.is_empty() => outcome,
        status @ (ReturnStatus::Ok | ReturnStatus::Failed) if !outcome.is_empty() => {
            format!("{}, {outcome}", sentences::status(status))
        }
        status => sentences::status(status).to_owned(),
    };
    let tail = match returned.status {
        ReturnStatus::Failed | ReturnStatus::Unknown => {
            let text = bare(&text);
            let lines: Vec<&str> = text.lines().collect();
            Some(lines[lines.len().saturating_sub(TAIL)..].join("\n"))
        }
        ReturnStatus::Ok => done.map(|done| change(&done.change)),
        ReturnStatus::Denied | ReturnStatus::Undecided | ReturnStatus::Interrupted => None,
    };
    (format!("{}, {how}.", tool_of(tool, summary)), tail.filter(|tail| !tail.is_empty()))
}

/// Describes a call by its tool and its effect.
pub(super) fn tool_of(tool: &str, summary: &str) -> String {
    let tool = one_line_summary(tool, WIDTH);
    match one_line_summary(&without_full_stop(summary), WIDTH) {
        summary if summary.is_empty() => format!("Tool {tool}"),
        summary => format!("Tool {tool}, {summary}"),
    }
}

/// Returns the first lines of a change that was made.
fn change(lines: &[DiffLine]) -> String {
    let (shown, rest) = lines.split_at(lines.len().min(CHANGE));
    let more = if rest.is_empty() { String::new() } else { format!("\n… {} more lines", rest.len()) };
    as_text(shown) + &more
}

/// Describes the end of a turn; `None` if its reply is enough.
pub(super) fn turn_end(end: &TurnEnd) -> Option<String> {
    let text = match end {
        TurnEnd::Completed => return None,
        TurnEnd::Deferred => sentence(&sentences::deferral("here with /decide")),
        TurnEnd::Interrupted => sentence(sentences::STOPPED),
        TurnEnd::LimitReached { limit } => sentence(&sentences::limit_with_advice(*limit)),
        TurnEnd::Failed { error } => {
            let advice = error.advice();
            format!("Error: {}. {advice}", without_full_stop(&one_line_summary(&error.describe(), 2 * WIDTH)))
        }
    };
    Some(text)
}

/// Returns `Image 1: x.png, 1280 by 800.`
pub(super) fn picture(number: usize, picture: &PromptImage) -> String {
    let name = picture.name.clone();
    let size = picture.size.map(|size| format!("{} by {}", size.width, size.height));
    let facts: Vec<String> = name.into_iter().chain(size).collect();
    if facts.is_empty() {
        format!("Image {number}.")
    } else {
        format!("Image {number}: {}.", facts.join(", "))
    }
}

/// Describes a note of the program to the model; `None` if it is not shown.
pub(super) fn note(kind: &NoteKind, text: &str) -> Option<String> {
    if let NoteKind::Memory { used, .. } = kind {
        let why: Vec<String> = used.iter().map(UsedMemory::why).collect();
        return Some(format!("Note: {} ({}).", UsedMemory::line(used), why.join("; ")));
    }
    Some(format!("{}: {}", capitalize(kind.label()?), one_line_summary(text, WIDTH)))
}

/// Returns what several front ends say as a sentence of this one.
pub(super) fn sentence(text: &str) -> String {
    format!("{}.", capitalize(&without_full_stop(text)))
}

/// Returns the text as the beginning of a sentence.
fn capitalize(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Returns `1 approval waits`, `3 approvals wait`.
pub(super) fn approvals(number: usize) -> String {
    format!("{} waiting", count(number, "approval"))
}

/// Lists the models that can be chosen, as Markdown.
pub(super) fn models(models: &[ModelLine]) -> String {
    let mut text = String::new();
    for model in models {
        let mark = if model.current { " **(in use)**" } else { "" };
        text.push_str(&format!("- {}{mark}: {}\n", code(&model.name), model.note));
    }
    text + "\n`/model provider/model` switches directly; a bare name keeps the current provider."
}

/// Lists the configured tool servers, as Markdown.
pub(super) fn servers(servers: &ServerList) -> String {
    let configured = servers.lines.iter().filter(|one| one.origin != ServerOrigin::Preset);
    let rows: Vec<String> = configured.map(server).collect();
    if rows.is_empty() {
        return "There are no tool servers. `co mcp add NAME -- COMMAND` adds one; `co help mcp` tells more."
            .to_owned();
    }
    rows.join("\n")
}

fn server(one: &ServerLine) -> String {
    let offered = one.tools.iter().filter(|tool| one.is_on && tool.is_on);
    let tools: Vec<String> = offered.map(|tool| code(&sanitize_line(tool.name.as_str()))).collect();
    let tools = (!tools.is_empty()).then(|| tools.join(", "));
    let mut text = format!("- {}: {}", code(&one.name), sanitize_line(&one.state));
    for fact in tools.iter().chain(&one.facts) {
        text.push_str(&format!("\n  - {}", sanitize_line(fact)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_whole() {
        let mut rows = Vec::new();
        put(&mut rows, "Argument note: ", &format!("{}\nend\u{1b}", "x".repeat(2_500)));
        assert_eq!(rows.len(), 5);
        assert_eq!(rows.iter().map(|row| row.matches('x').count()).sum::<usize>(), 2_500);
        assert_eq!((rows[0].as_str(), rows[4].as_str()), ("Argument note:", "  end␛"));
    }
}
