//! `find_tools`: brings the whole descriptions of servers' tools that the model knows by name only. Which these are is decided
//! where a request is made; the names found are added to this tool's state in the session.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::names;
use crate::message::{Source, ToolName};
use crate::stdx::text::count;
use crate::tool::builtin::{RunContext, ToolPath, TypedTool, untrusted_output};
use crate::tool::{
    Access, CallPlan, Category, FIND_TOOLS, Origin, Risk, SeenVersions, ToolError, ToolOutput, ToolSpec,
    Toolset,
};

/// The most tools that one call finds.
const MOST: usize = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindToolsArgs {
    /// Exact names of tools.
    #[serde(default)]
    names: Vec<String>,
    /// Words that a tool's name or description contains, all of them.
    #[serde(default)]
    words: String,
}

pub struct FindTools;

impl TypedTool for FindTools {
    const NAME: &'static str = FIND_TOOLS;
    const CATEGORY: Category = Category::Server;

    type Args = FindToolsArgs;

    fn description(&self) -> String {
        "Brings tools that are listed below by name only, so that they can be called from the next reply on. Give their exact \
         `names`, or `words` to search for."
            .to_owned()
    }

    fn plan(&self, args: FindToolsArgs, _: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        if args.names.is_empty() && args.words.trim().is_empty() {
            return Err(ToolError::Misuse("give `names` or `words`".to_owned()));
        }
        let wanted = if args.names.is_empty() { args.words } else { args.names.join(", ") };
        Ok(CallPlan::new(format!("find tools: {}", names::line(&wanted)), Risk::Low, Access::Nothing))
    }

    async fn run(&self, args: FindToolsArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let found = wanted_tools(&args, &cx.tools);
        if found.is_empty() {
            let message = "No tool of a server is called so. The names are in the description of this tool.";
            return Err(ToolError::Terminal(message.to_owned()));
        }
        let line = |spec: &&ToolSpec| format!("{}: {}", spec.name, names::line(&spec.description));
        let lines: Vec<String> = found.iter().map(line).collect();
        let names: BTreeSet<&ToolName> = found.iter().map(|spec| &spec.name).collect();
        let text = format!("You can call these from your next reply on:\n{}", lines.join("\n"));
        let source = Source::Tool { name: ToolName::new(FIND_TOOLS) };
        Ok(ToolOutput { state: Some(json!(names)), ..untrusted_output(text, source) })
    }

    fn outcome(text: &str) -> String {
        // A heading, and a line each.
        count(text.lines().count().saturating_sub(1), "tool")
    }
}

/// Returns the tools of servers that are wanted, those that are named first.
fn wanted_tools<'a>(args: &FindToolsArgs, tools: &'a Toolset) -> Vec<&'a ToolSpec> {
    let of_servers = |spec: &&ToolSpec| matches!(spec.origin, Origin::Server(_));
    let named = |spec: &&ToolSpec| args.names.iter().any(|name| spec.name.as_str() == name);
    let words: Vec<String> = args.words.split_whitespace().map(str::to_lowercase).collect();
    let has_words = |spec: &&ToolSpec| {
        let text = format!("{} {}", spec.name, spec.description).to_lowercase();
        !words.is_empty() && words.iter().all(|word| text.contains(word))
    };
    let by_name = tools.specs().filter(of_servers).filter(named);
    let by_words = tools.specs().filter(of_servers).filter(|spec| !named(spec)).filter(has_words);
    by_name.chain(by_words).take(MOST).collect()
}
