//! The sources of the texts in a conversation, as far as provenance needs them.
//!
//! The model and the program are no sources: what the model writes it has from others. A summary does not
//! raise trust, so it counts as text of an unknown source.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::config::PROJECT_MEMORIES;
use crate::message::{
    CallId, Message, NoteKind, ReturnPart, Source, ToolName, ToolReturn, Trust, UsedMemory, UserPart,
};

/// Built-in tools that see only the workspace: their error messages are about its files. A test of the tools compares them.
pub(crate) const FILE_TOOLS: [&str; 12] = [
    "read_file",
    "list_dir",
    "find_files",
    "search_text",
    "find_definition",
    "write_file",
    "edit_file",
    "apply_patch",
    "move_file",
    "copy_file",
    "delete_file",
    "create_dir",
];

/// The tool that finds memories: the source of those that are put beside a prompt.
const RECALL: &str = "recall_memory";

/// One text and its source.
pub(super) struct Voice<'a> {
    pub text: &'a str,
    pub side: Side,
    pub source: Source,
    pub from: Option<&'a CallId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Person,
    /// Files of the workspace.
    Files,
    Outside,
}

/// Returns all relevant texts in the order of the conversation.
pub(super) fn voices(messages: &[Arc<Message>]) -> Vec<Voice<'_>> {
    let mut tools = HashMap::new();
    let mut found = Vec::new();
    for message in messages {
        match &**message {
            Message::User { parts } => found.extend(parts.iter().filter_map(|part| said(part, &tools))),
            Message::Assistant(reply) => tools.extend(reply.calls().map(|call| (&call.id, &call.name))),
            Message::ToolReturns { returns } => {
                returns.iter().for_each(|one| returned(one, &tools, &mut found));
            }
        }
    }
    found
}

type Tools<'a> = HashMap<&'a CallId, &'a ToolName>;

fn said<'a>(part: &'a UserPart, tools: &Tools<'a>) -> Option<Voice<'a>> {
    match part {
        UserPart::Text { text } => {
            Some(Voice { text, side: Side::Person, source: Source::Program, from: None })
        }
        UserPart::Image { .. } => None,
        UserPart::Note { kind, text } => {
            let (source, from) = match kind {
                // Text of a file of the workspace, as if a tool had read it.
                NoteKind::Instructions { path } | NoteKind::Command { path } => {
                    let source = Source::File { path: path.clone() };
                    return Some(Voice { text, side: Side::Files, source, from: None });
                }
                NoteKind::CommandOutput => {
                    (Source::Command { command: text.lines().next().unwrap_or_default().to_owned() }, None)
                }
                NoteKind::LateOutcome { call } => (tool(call, tools), Some(call)),
                NoteKind::Resource { server } | NoteKind::ServerPrompt { server } => {
                    (Source::Server { name: server.clone() }, None)
                }
                // What was stopped or gone back on is named by its arguments.
                NoteKind::Hook | NoteKind::Summary | NoteKind::Abort | NoteKind::Undone => {
                    (Source::Program, None)
                }
                NoteKind::Memory { trust: Trust::Trusted, used }
                    if used.iter().any(UsedMemory::is_of_project) =>
                {
                    let source = Source::File { path: PROJECT_MEMORIES[0].to_owned() };
                    return Some(Voice { text, side: Side::Files, source, from: None });
                }
                NoteKind::Memory { trust: Trust::Untrusted, .. } => {
                    (Source::Tool { name: ToolName::new(RECALL) }, None)
                }
                NoteKind::Reflection
                | NoteKind::Budget
                | NoteKind::Repetition
                | NoteKind::Situation
                | NoteKind::Memory { trust: Trust::Trusted, .. } => {
                    return None;
                }
            };
            Some(Voice { text, side: Side::Outside, source, from })
        }
    }
}

/// The tool of a call, if it is known.
fn tool(call: &CallId, tools: &Tools<'_>) -> Source {
    tools.get(call).map_or(Source::Program, |name| Source::Tool { name: (*name).clone() })
}

fn returned<'a>(one: &'a ToolReturn, tools: &Tools<'a>, found: &mut Vec<Voice<'a>>) {
    match one.trust {
        Trust::Trusted => return,
        Trust::Untrusted => {}
    }
    let (source, side) = match &one.source {
        // Files outside the workspace are only stored outputs of other tools.
        Source::File { path } if Path::new(path).is_relative() => (one.source.clone(), Side::Files),
        Source::File { .. }
        | Source::Command { .. }
        | Source::Tool { .. }
        | Source::Server { .. }
        | Source::Web { .. } => (one.source.clone(), Side::Outside),
        Source::Program => match tool(&one.call, tools) {
            Source::Tool { name } if FILE_TOOLS.contains(&name.as_str()) => {
                (Source::Tool { name }, Side::Files)
            }
            source => (source, Side::Outside),
        },
    };
    for part in &one.content {
        match part {
            ReturnPart::Text { text } => {
                found.push(Voice { text, side, source: source.clone(), from: Some(&one.call) });
            }
            ReturnPart::Image { .. } => {}
        }
    }
}
