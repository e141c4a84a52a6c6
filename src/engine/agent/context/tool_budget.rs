//! Tools of servers that are only named: above a share of the model's window their descriptions are left out of requests, and
//! the model asks for those that it needs. Pure.

use std::collections::BTreeSet;

use super::{ViewSettings, tokens};
use crate::history::History;
use crate::message::ToolName;
use crate::provider::ToolSchema;
use crate::stdx::text::one_line_summary;
use crate::tool::{FIND_TOOLS, Origin, ToolSpec};

/// The window that is assumed of a model of which none is known, in tokens.
const UNKNOWN_WINDOW: u64 = 64_000;

/// The cells of a description in the list of names.
const ABOUT: usize = 80;

/// The most that the tools of servers may take of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolBudget {
    /// `None`: whatever they take.
    pub tokens: Option<u64>,
    /// Tools that the model asked for.
    pub found: BTreeSet<ToolName>,
}

impl ToolBudget {
    /// `window`: the model's, or that of the settings, in tokens; `None` if it is unknown.
    #[must_use]
    pub fn of(set: ViewSettings, window: Option<u32>, history: &History) -> Self {
        let window = window.map_or(UNKNOWN_WINDOW, u64::from);
        let state = history.state(FIND_TOOLS).cloned();
        Self {
            tokens: set.server_tools.map(|percent| window * u64::from(percent) / 100),
            found: state.and_then(|state| serde_json::from_value(state).ok()).unwrap_or_default(),
        }
    }
}

/// The tools that a request leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OmittedTools {
    pub tools: usize,
    /// The estimated tokens that are saved.
    pub tokens: u64,
}

/// Leaves the tools out for which there is no room, and names them in the description of the tool that finds them.
#[must_use]
pub fn fit_tools(
    described: Vec<(&ToolSpec, ToolSchema)>,
    room: &ToolBudget,
) -> (Vec<ToolSchema>, Option<OmittedTools>) {
    let is_of_server = |spec: &ToolSpec| matches!(spec.origin, Origin::Server(_));
    let of_servers = described.iter().filter(|(spec, _)| is_of_server(spec));
    let size: u64 = of_servers.map(|(_, schema)| tokens(schema.bytes())).sum();
    let fits = room.tokens.is_none_or(|room| size <= room);
    let (mut kept, mut named) = (Vec::new(), Vec::new());
    for (spec, schema) in described {
        if is_of_server(spec) && !fits && !room.found.contains(&spec.name) {
            named.push(schema);
        } else if spec.name.as_str() != FIND_TOOLS || !fits {
            kept.push(schema);
        }
    }
    let Some(find) = kept.iter_mut().find(|schema| schema.name == FIND_TOOLS).filter(|_| !named.is_empty())
    else {
        // Without the tool that finds them, all are described.
        kept.extend(named);
        kept.sort_by(|one, other| one.name.cmp(&other.name));
        return (kept, None);
    };
    let before = tokens(named.iter().map(ToolSchema::bytes).sum());
    let line =
        |schema: &ToolSchema| format!("{}: {}", schema.name, one_line_summary(&schema.description, ABOUT));
    let lines: Vec<String> = named.iter().map(line).collect();
    find.description = format!("{}\n\n{}", find.description, lines.join("\n"));
    let listed = tokens(lines.join("\n").len());
    let omitted = OmittedTools { tools: named.len(), tokens: before.saturating_sub(listed) };
    (kept, Some(omitted))
}
