//! The row of a tool call whose arguments still stream in, with what it is about to write or run below.

use super::RenderContext;
use super::args_preview::ArgsPreview;
use super::call::{TELLING, below_row, columns};
use crate::message::ToolCall;
use crate::stdx::text::{one_line_summary, size};
use crate::tui::line::Line;
use crate::tui::theme::Role;

/// Bytes of an argument that are looked at for the row, and cells of it there.
const MOST_BYTES: usize = 2_000;
const MOST_CELLS: usize = 200;

/// A call whose arguments still stream in.
#[derive(Debug, Clone, PartialEq)]
pub struct CallDraft {
    pub index: usize,
    name: String,
    bytes: usize,
    pub(super) preview: ArgsPreview,
}

impl CallDraft {
    pub fn new(index: usize, name: String) -> Self {
        let preview = ArgsPreview::new(&name, &TELLING);
        Self { index, name, bytes: 0, preview }
    }

    pub fn push(&mut self, delta: &str) {
        self.bytes += delta.len();
        self.preview.push(delta);
    }

    /// Returns the preview for the row of the committed call; `None` if it is not what the call does.
    pub fn preview_of(&self, call: &ToolCall) -> Option<ArgsPreview> {
        self.preview.shows(call.name.as_str(), &call.args).then(|| self.preview.clone())
    }

    pub(super) fn lines(&mut self, context: &RenderContext) -> Vec<Line> {
        let subject = TELLING.iter().find_map(|key| self.preview.get(key)).unwrap_or("");
        let (subject, _) = subject.split_at(subject.floor_char_boundary(MOST_BYTES));
        let subject = one_line_summary(subject, MOST_CELLS);
        let result = Line::of(format!("{} {}", context.spinner(), size(self.bytes)), Role::Dim);
        let mut lines =
            vec![columns(context, (context.glyphs.tool, Role::Dim), &self.name, &subject, result, None)];
        lines.extend(self.preview.lines(context, &below_row(context)));
        lines
    }
}
