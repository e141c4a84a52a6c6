//! The texts of a conversation with their origins, as far as provenance needs them.
//!
//! Text of the model and of the program is left out: it derives from that of others. A summary does not raise
//! trust, so it counts as text of an unknown origin.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use crate::config::PROJECT_MEMORIES;
use crate::message::{
    CallId, Message, NoteKind, ReturnPart, Source, ToolName, ToolReturn, Trust, UsedMemory, UserPart,
};
use crate::tool::{Category, RECALL_MEMORY, ToolSpec};

/// One text and its origin.
pub(super) struct KnownText<'a> {
    pub text: &'a str,
    pub side: Side,
    pub origin: Source,
    pub from: Option<&'a CallId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Person,
    /// Files of the workspace.
    Files,
    Outside,
}

/// The known tools.
type Specs = BTreeMap<ToolName, ToolSpec>;

/// The tool of each call.
type Tools<'a> = HashMap<&'a CallId, &'a ToolName>;

/// Returns all relevant texts of messages in the order of the conversation.
pub(super) fn texts<'a>(messages: &'a [Arc<Message>], known: &Specs) -> Vec<KnownText<'a>> {
    let mut tools = HashMap::new();
    let mut found = Vec::new();
    for message in messages {
        match &**message {
            Message::User { parts } => found.extend(parts.iter().filter_map(|part| of_user(part, &tools))),
            Message::Assistant(reply) => tools.extend(reply.calls().map(|call| (&call.id, &call.name))),
            Message::ToolReturns { returns } => {
                returns.iter().for_each(|one| of_return(one, (&tools, known), &mut found));
            }
        }
    }
    found
}

fn of_return<'a>(one: &'a ToolReturn, (tools, known): (&Tools<'a>, &Specs), found: &mut Vec<KnownText<'a>>) {
    match one.trust {
        Trust::Trusted => return,
        Trust::Untrusted => {}
    }
    let (origin, side) = match &one.source {
        // Files outside the workspace are only stored outputs of other tools.
        Source::File { path } if Path::new(path).is_relative() => (one.source.clone(), Side::Files),
        Source::File { .. }
        | Source::Command { .. }
        | Source::Tool { .. }
        | Source::Server { .. }
        | Source::Web { .. } => (one.source.clone(), Side::Outside),
        Source::Program => match tool(&one.call, tools) {
            Source::Tool { name } if sees_only_files(known.get(&name)) => {
                (Source::Tool { name }, Side::Files)
            }
            origin => (origin, Side::Outside),
        },
    };
    for part in &one.content {
        match part {
            ReturnPart::Text { text } => {
                found.push(KnownText { text, side, origin: origin.clone(), from: Some(&one.call) });
            }
            ReturnPart::Image { .. } => {}
        }
    }
}

/// Whether a tool sees only the workspace: its error messages are about files of it.
fn sees_only_files(tool: Option<&ToolSpec>) -> bool {
    matches!(tool.map(|spec| spec.category), Some(Category::Files | Category::Search))
}

fn of_user<'a>(part: &'a UserPart, tools: &Tools<'a>) -> Option<KnownText<'a>> {
    match part {
        UserPart::Text { text } => {
            Some(KnownText { text, side: Side::Person, origin: Source::Program, from: None })
        }
        UserPart::Image { .. } => None,
        UserPart::Note { kind, text } => {
            let (origin, from) = match kind {
                // Text of a file of the workspace, as if a tool had read it.
                NoteKind::Instructions { path } | NoteKind::Command { path } => {
                    let origin = Source::File { path: path.clone() };
                    return Some(KnownText { text, side: Side::Files, origin, from: None });
                }
                NoteKind::CommandOutput => {
                    (Source::Command { command: text.lines().next().unwrap_or_default().to_owned() }, None)
                }
                NoteKind::LateOutcome { call } => (tool(call, tools), Some(call)),
                NoteKind::Resource { server } | NoteKind::ServerPrompt { server } => {
                    (Source::Server { name: server.clone() }, None)
                }
                // The note names stopped or undone calls by their arguments, which may be untrusted.
                NoteKind::Hook | NoteKind::Summary | NoteKind::Abort | NoteKind::Undone => {
                    (Source::Program, None)
                }
                NoteKind::Memory { trust: Trust::Trusted, used }
                    if used.iter().any(UsedMemory::is_of_project) =>
                {
                    let origin = Source::File { path: PROJECT_MEMORIES[0].to_owned() };
                    return Some(KnownText { text, side: Side::Files, origin, from: None });
                }
                NoteKind::Memory { trust: Trust::Untrusted, .. } => {
                    (Source::Tool { name: ToolName::new(RECALL_MEMORY) }, None)
                }
                NoteKind::Reflection
                | NoteKind::Budget
                | NoteKind::Repetition
                | NoteKind::Situation
                | NoteKind::Memory { trust: Trust::Trusted, .. } => {
                    return None;
                }
            };
            Some(KnownText { text, side: Side::Outside, origin, from })
        }
    }
}

/// The tool of a call, if it is known.
fn tool(call: &CallId, tools: &Tools<'_>) -> Source {
    tools.get(call).map_or(Source::Program, |name| Source::Tool { name: (*name).clone() })
}
