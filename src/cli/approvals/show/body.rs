//! The long parts of a request: arguments as asked and as decided, and what the call would do.

use serde_json::Value;

use crate::approval::{Approval, Request};
use crate::message::ToolName;
use crate::stdx::text::sanitize_line;
use crate::store::StoredRequest;
use crate::tool::diff::diff;
use crate::tool::{DiffKind, DiffLine, Preview};

/// Formats all parts, each below its heading.
pub(super) fn of(one: &StoredRequest) -> String {
    let request = &one.request;
    let mut out = String::from("\narguments\n");
    out.push_str(&arguments(&request.args));
    if let Some((tool, args)) = instead(one) {
        let head = if *tool == request.tool {
            "approved instead".to_owned()
        } else {
            format!("approved instead, {tool}")
        };
        out.push_str(&format!("\n{}\n", sanitize_line(&head)));
        out.push_str(&arguments(args));
        out.push_str("\nchanged\n");
        diff(&pretty(&request.args), &pretty(args)).iter().for_each(|line| out.push_str(&diff_line(line)));
    }
    preview(&request.plan.preview, &mut out);
    out
}

/// Formats the effect of a call: its preview, or its arguments if it has none.
pub(in crate::cli::approvals) fn effect(request: &Request) -> String {
    let mut out = String::new();
    preview(&request.plan.preview, &mut out);
    if out.is_empty() { arguments(&request.args) } else { out.trim_start().to_owned() }
}

fn instead(one: &StoredRequest) -> Option<&(ToolName, Value)> {
    match &one.decision.as_ref()?.0 {
        Approval::Approve { instead, .. } => instead.as_ref(),
        Approval::Deny { .. } | Approval::Later => None,
    }
}

fn pretty(args: &Value) -> String {
    format!("{args:#}\n")
}

fn preview(preview: &Preview, out: &mut String) {
    match preview {
        Preview::None => {}
        Preview::Text { text } => {
            out.push_str("\npreview\n");
            text.lines().for_each(|line| out.push_str(&format!("  {line}\n")));
        }
        Preview::Fields { fields } => {
            out.push_str("\npreview\n");
            for (name, value) in fields {
                out.push_str(&format!("  {}: {}\n", sanitize_line(name), sanitize_line(value)));
            }
        }
        Preview::Diff { path, lines } => {
            out.push_str(&format!("\nchange of {}\n", sanitize_line(path)));
            lines.iter().for_each(|line| out.push_str(&diff_line(line)));
        }
    }
}

/// Formats each argument on its own line; texts of several lines are below their name, to be readable.
fn arguments(args: &Value) -> String {
    let Value::Object(fields) = args else { return format!("  {args}\n") };
    let mut out = String::new();
    for (name, value) in fields {
        let name = sanitize_line(name);
        match value {
            Value::String(text) if text.contains('\n') => {
                out.push_str(&format!("  {name}:\n"));
                text.lines().for_each(|line| out.push_str(&format!("    {line}\n")));
            }
            Value::String(text) => out.push_str(&format!("  {name}: {text}\n")),
            _ => {
                out.push_str(&format!("  {name}: {value}\n"));
            }
        }
    }
    out
}

fn diff_line(line: &DiffLine) -> String {
    let text = sanitize_line(&line.text);
    match line.kind {
        DiffKind::Hunk => format!("  @@ {text}\n"),
        DiffKind::Context => format!("  {:5}   {text}\n", line.number),
        DiffKind::Added => format!("  {:5} + {text}\n", line.number),
        DiffKind::Removed => format!("  {:5} - {text}\n", line.number),
    }
}
