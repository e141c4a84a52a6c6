//! The return of a call that is previewed and not executed.

use crate::approval::Request;
use crate::message::{ReturnPart, ReturnStatus, Source, ToolReturn, Trust};
use crate::stdx::text::head_tail;
use crate::tool::{DiffKind, DiffLine, Preview, ToolSpec};

/// Returns what a previewed call would do, within the tool's output limit. Its text may be from a file.
pub(super) fn tool_return(request: &Request, spec: &ToolSpec) -> ToolReturn {
    let mut text = format!("[preview, not done] {}", request.plan.summary);
    let shown = lines(&request.plan.preview);
    if !shown.is_empty() {
        let cut = head_tail(&shown, spec.output_limit);
        text.push('\n');
        text.push_str(cut.head);
        if cut.dropped_bytes > 0 {
            text.push_str(&format!("\n[… {} lines left out …]\n", cut.dropped_lines));
        }
        text.push_str(cut.tail);
    }
    text.push_str("\n[The user decides on it later; its outcome will be told.]");
    ToolReturn {
        call: request.call.clone(),
        status: ReturnStatus::Undecided,
        content: vec![ReturnPart::Text { text }],
        source: Source::Tool { name: request.tool.clone() },
        trust: Trust::Untrusted,
        done: None,
    }
}

fn lines(preview: &Preview) -> String {
    match preview {
        Preview::None => String::new(),
        Preview::Text { text } => text.clone(),
        Preview::Diff { path, lines } => {
            let lines = lines.iter().map(diff_line);
            std::iter::once(path.clone()).chain(lines).collect::<Vec<_>>().join("\n")
        }
        Preview::Fields { fields } => {
            fields.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("\n")
        }
    }
}

fn diff_line(line: &DiffLine) -> String {
    let mark = match line.kind {
        DiffKind::Hunk => "@@ ",
        DiffKind::Context => " ",
        DiffKind::Added => "+",
        DiffKind::Removed => "-",
    };
    format!("{mark}{}", line.text)
}
