//! `co tools`: lists the tools that the model may call, those of servers as they were listed last.

use serde_json::json;

use super::args::{AsJson, Flags};
use super::console::Console;
use super::error::Result;
use super::table::table;
use crate::app::known_tools;
use crate::stdx::text::one_line_summary;
use crate::tool::{Origin, ToolSpec};
use crate::workspace::{World, load_settings};

/// The width of a description, in terminal cells.
const ABOUT: usize = 200;

pub(super) fn run(what: AsJson, world: &World, flags: Flags, console: &mut Console) -> Result<()> {
    let settings = load_settings(world, flags)?.settings;
    let tools = known_tools(world, &settings).tools();
    if what.json {
        let all: Vec<_> = tools.specs().map(as_json).collect();
        return console.json(&all);
    }
    let rows: Vec<[String; 4]> = tools.specs().map(row).collect();
    console.out(&table(["TOOL", "CATEGORY", "RISK", "WHAT IT DOES"], &rows))
}

/// Returns the cells of a tool.
pub(super) fn row(spec: &ToolSpec) -> [String; 4] {
    let about = format!("{} ({})", spec.about().trim_end_matches('.'), spec.asks());
    let category = match &spec.origin {
        Origin::Builtin => spec.category.word().to_owned(),
        Origin::Server(name) => format!("server {name}"),
    };
    [spec.name.to_string(), category, spec.risk.word().to_owned(), one_line_summary(&about, ABOUT)]
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
