//! One request in words: all that a person needs to decide it.
//!
//! Lines are made harmless one by one, so that a text of several lines cannot pass for rows of ours; the console does the
//! rest.

use serde_json::Value;

use crate::stdx::text::sanitize_line;
use crate::store::StoredRequest;
use crate::tool::{DiffKind, DiffLine, Preview, Undo};

/// Everything a person needs to decide, line by line; the console makes it harmless.
pub(super) fn in_words(one: &StoredRequest) -> String {
    let request = &one.request;
    let undo = match request.plan.undo {
        Undo::Exact => "can be undone exactly",
        Undo::Compensating => "can be made up for",
        Undo::Hold => "is held back for a while first",
        Undo::None => "cannot be undone",
    };
    let mut rows = vec![
        ("request", request.id.to_string()),
        ("state", state(one)),
        ("tool", request.tool.to_string()),
        ("risk", request.risk.word().to_owned()),
        ("what", request.plan.summary.clone()),
        ("why", request.why.join("; ")),
        ("undo", undo.to_owned()),
        ("folder", one.workspace.display().to_string()),
        ("session", format!("{} {}", one.session, one.title.as_deref().unwrap_or_default())),
        ("asked", one.created.to_string()),
    ];
    if !request.after.is_empty() {
        rows.push(("after", request.after.join(", ")));
    }
    if let Some(again) = &request.again {
        rows.push(("again", again.clone()));
    }
    let mut out = String::new();
    for (name, value) in rows {
        out.push_str(&format!("{name:8} {}\n", sanitize_line(value.trim())));
    }
    out.push_str("\narguments\n");
    out.push_str(&arguments(&request.args));
    preview(&request.plan.preview, &mut out);
    out
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

fn state(one: &StoredRequest) -> String {
    match &one.decision {
        Some((_, by)) => format!("{} ({})", one.state, by.word()),
        None => one.state.to_string(),
    }
}

/// Each argument on its own line; texts of several lines below their name, so that they can be read.
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
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
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
