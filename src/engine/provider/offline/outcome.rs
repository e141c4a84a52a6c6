//! Describes the outcome of a call: what was read or done, what failed, and what is unknown.

use serde_json::Value;

use crate::message::{ReturnStatus, ToolCall, ToolReturn};
use crate::provider::json_fields::beginning;

/// How much of an output is repeated, in lines.
const SHOWN_LINES: usize = 16;

/// How much of one line is repeated, in characters.
const SHOWN_WIDTH: usize = 200;

/// One call and its return, in Markdown.
pub fn describe(call: &ToolCall, returned: &ToolReturn) -> String {
    let text = returned.text();
    let what = subject(call);
    match returned.status {
        ReturnStatus::Ok => success_text(call, &what, &text),
        ReturnStatus::Failed => format!("{what} did not work:\n\n{}", fence(&text)),
        ReturnStatus::Denied => format!("{what} was not allowed, so it did not run:\n\n{}", fence(&text)),
        ReturnStatus::Undecided => {
            format!("{what} is still waiting for your decision; `/approvals` shows it, now or later.\n")
        }
        ReturnStatus::Interrupted => format!("{what} was interrupted. I do not know how far it got.\n"),
        ReturnStatus::Unknown => {
            format!("{what} was started, and its outcome is unknown. Check before you run it again.\n")
        }
    }
}

/// The call in words; what the model (here: the request) named is quoted.
fn subject(call: &ToolCall) -> String {
    let arg = |key: &str| inline(call.args.get(key).and_then(Value::as_str).unwrap_or_default());
    match call.name.as_str() {
        "list_dir" => format!("Looking into {}", arg("path")),
        "read_file" => format!("Reading {}", arg("path")),
        "find_files" => format!("Finding {}", arg("pattern")),
        "search_text" => format!("Searching for {}", arg("pattern")),
        "write_file" => format!("Writing {}", arg("path")),
        "edit_file" => format!("Editing {}", arg("path")),
        "shell" => format!("The command {}", arg("command")),
        name => format!("The call of {}", inline(name)),
    }
}

fn success_text(call: &ToolCall, what: &str, text: &str) -> String {
    let lines = text.lines().count();
    let shown = fence(text);
    let lines = match lines {
        0 => return format!("{what} worked, with no output.\n"),
        1 => "one line".to_owned(),
        lines => format!("{lines} lines"),
    };
    match call.name.as_str() {
        "write_file" | "edit_file" => format!("{what} is done:\n\n{shown}"),
        "shell" => format!("{what} ended; its output ({lines}):\n\n{shown}"),
        _ => format!("{what} gave {lines}:\n\n{shown}"),
    }
}

/// Text in a fence that nothing within can close; long text is cut, and says so.
pub fn fence(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().take(SHOWN_LINES).map(|line| beginning(line, SHOWN_WIDTH)).collect();
    let fence = "`".repeat(longest_run(&lines).max(2) + 1);
    let left = text.lines().count().saturating_sub(SHOWN_LINES);
    let rest = if left > 0 { format!("… and {left} more.\n") } else { String::new() };
    format!("{fence}text\n{}\n{fence}\n{rest}", lines.join("\n"))
}

/// Words between backticks that cannot end early.
fn inline(text: &str) -> String {
    let text: String = text.lines().next().unwrap_or_default().chars().take(80).collect();
    let ticks = "`".repeat(longest_run(std::slice::from_ref(&text)) + 1);
    if ticks.len() > 1 { format!("{ticks} {text} {ticks}") } else { format!("`{text}`") }
}

fn longest_run(lines: &[String]) -> usize {
    let runs = lines.iter().flat_map(|line| line.split(|c| c != '`').map(str::len));
    runs.max().unwrap_or(0)
}
