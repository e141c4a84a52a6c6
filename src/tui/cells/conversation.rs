//! Converts the messages of a conversation to cells.

use super::{Answer, CallRow, Cell, CellKind, Thinking};
use crate::frontend::sentences::DecisionSentence;
use crate::message::{
    AssistantMessage, CallId, Message, NoteKind, PartKind, ToolCall, UsedMemory, UserPart, images,
};
use crate::stdx::text::one_line_summary;

/// Returns the cells of earlier messages; `decision` says what a person decided on a call.
pub fn cells<'a>(
    messages: impl Iterator<Item = &'a Message>,
    decision: impl Fn(&ToolCall) -> Option<DecisionSentence>,
) -> Vec<Cell> {
    // Most messages make one cell; the list then does not move while it grows.
    let mut cells: Vec<Cell> = Vec::with_capacity(messages.size_hint().0);
    for message in messages {
        match message {
            Message::User { parts } => cells.extend(user_cells(parts)),
            Message::Assistant(reply) => cells.extend(reply_cells(reply, &decision)),
            Message::ToolReturns { returns } => {
                for returned in returns {
                    let row = cells.iter_mut().rev().find_map(|cell| row_of(cell, &returned.call));
                    if let Some(row) = row {
                        row.finish(returned, None);
                    }
                }
            }
        }
    }
    cells
}

fn row_of<'a>(cell: &'a mut Cell, call: &CallId) -> Option<&'a mut CallRow> {
    if let CellKind::Call(row) = &mut cell.kind
        && row.id == *call
    {
        Some(row)
    } else {
        None
    }
}

fn reply_cells(
    reply: &AssistantMessage,
    decision: &impl Fn(&ToolCall) -> Option<DecisionSentence>,
) -> Vec<Cell> {
    let cell = |kind: &PartKind| match kind {
        PartKind::Text { text } if text.trim().is_empty() => None,
        PartKind::Text { text } => Some(CellKind::Answer(Box::new(Answer::committed(text.clone())))),
        PartKind::Thinking { text } if text.trim().is_empty() => None,
        PartKind::Thinking { text } => Some(CellKind::Thinking(Thinking::committed(text))),
        PartKind::ToolCall(call) => {
            let mut row = CallRow::new(call);
            row.decision = decision(call);
            Some(CellKind::Call(Box::new(row)))
        }
        PartKind::Native => None,
    };
    reply.parts.iter().filter_map(|part| cell(&part.kind)).map(Cell::new).collect()
}

/// Returns the cells of a user message. The user's words and images are one cell.
pub fn user_cells(parts: &[UserPart]) -> Vec<Cell> {
    let mut labelled = (images::count(parts) > 0).then(|| images::labelled_text(parts));
    let has_images = labelled.is_some();
    let cell = |part: &UserPart| match part {
        UserPart::Text { .. } | UserPart::Image { .. } if has_images => {
            Some(CellKind::User { text: labelled.take()?, short: None })
        }
        UserPart::Text { text } => Some(CellKind::User { text: text.clone(), short: None }),
        UserPart::Image { .. } => None,
        UserPart::Note { kind: NoteKind::Memory { used, .. }, text: _ } => {
            let why: Vec<String> = used.iter().map(UsedMemory::why).collect();
            Some(CellKind::Note { text: UsedMemory::line(used), more: why.join("\n") })
        }
        UserPart::Note { kind, text } => {
            let label = kind.label()?;
            let text = format!("{label}: {}", one_line_summary(text, 300));
            Some(CellKind::Note { text, more: String::new() })
        }
    };
    parts.iter().filter_map(cell).map(Cell::new).collect()
}
