//! `co tools`: lists the tools that the model may call, those of servers as they were listed last.

use serde_json::json;

use super::args::{AsJson, Flags};
use super::console;
use super::error::Result;
use super::help::topics::tool_cells;
use super::table::table;
use crate::app::{known_tools, web_words};
use crate::tool::{Origin, ToolSpec};
use crate::workspace::{World, load_settings};

pub(super) fn run(what: AsJson, world: &World, flags: Flags) -> Result<()> {
    let settings = load_settings(world, flags)?.settings;
    let tools = known_tools(world, &settings).tools();
    if what.json {
        let all: Vec<_> = tools.specs().map(as_json).collect();
        return console::json(&all);
    }
    console::out(&table(["TOOL", "CATEGORY", "RISK", "WHAT IT DOES"], tools.specs().map(tool_cells)))?;
    console::out(&format!("Web: {}.\n", web_words(&settings)))
}

fn as_json(spec: &ToolSpec) -> serde_json::Value {
    let server = match &spec.origin {
        Origin::Builtin => None,
        Origin::Server(name) => Some(name),
    };
    json!({
        "name": spec.name,
        "category": spec.category.word(),
        "server": server,
        "risk": spec.risk,
        "reads_only": spec.side_effect.is_none(),
        "description": spec.description,
        "parameters": spec.parameters,
    })
}
