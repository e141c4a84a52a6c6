//! The end of a session's conversation, shown beside the list of sessions.

use crate::history::SessionId;
use crate::message::{Message, PartKind, UserPart};
use crate::stdx::text::one_line_summary;
use crate::tui::cells::{Cell, RenderContext, conversation};
use crate::tui::line::Line;

/// Most cells of the last text of a session.
const LAST: usize = 200;

/// The end of the chosen session's conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Preview {
    /// Requested and not received yet; one at a time.
    pub asked: Option<SessionId>,
    pub loaded: Option<SessionId>,
    /// The beginning of the last text in it.
    pub last: String,
    cells: Vec<Cell>,
    /// Laid out at `width`.
    pub lines: Vec<Line>,
    width: usize,
}

impl Preview {
    /// Takes the last messages of a session.
    pub fn tell(&mut self, session: SessionId, messages: &[Message]) {
        if self.asked.as_ref() == Some(&session) {
            self.asked = None;
        }
        self.loaded = Some(session);
        self.last = last_words(messages);
        self.cells = conversation::cells(messages.iter(), |_| None);
        self.width = 0;
    }

    /// Lays out the lines again if the width changed.
    pub fn lay_out(&mut self, context: &RenderContext) {
        if self.width == context.width {
            return;
        }
        self.width = context.width;
        self.lines.clear();
        for at in 0..self.cells.len() {
            if at > 0 && self.cells[at].gap_after(&self.cells[at - 1]) > 0 {
                self.lines.push(Line::new());
            }
            self.cells[at].refresh(context);
            self.lines.extend(self.cells[at].lines_from(0).cloned());
        }
    }
}

/// Returns the beginning of the last text, of either side.
fn last_words(messages: &[Message]) -> String {
    let said = |message: &Message| match message {
        Message::Assistant(reply) => reply.parts.iter().rev().find_map(|part| {
            if let PartKind::Text { text } = &part.kind
                && !text.trim().is_empty()
            {
                Some(one_line_summary(text, LAST))
            } else {
                None
            }
        }),
        Message::User { parts } => parts.iter().find_map(|part| match part {
            UserPart::Text { text } => Some(one_line_summary(text, LAST)),
            UserPart::Image { .. } | UserPart::Note { .. } => None,
        }),
        Message::ToolReturns { .. } => None,
    };
    messages.iter().rev().find_map(said).unwrap_or_default()
}
