//! Reads the arguments of tool calls from wrappers that hold several calls.

use serde_json::Value;

use crate::provider::json_fields::json_text;

/// Names under which a model wraps several calls into one: leaked internals of the service (`wire.md` §3).
const WRAPPERS: [&str; 3] = ["parallel", "multi_tool_use", "multi_tool_use.parallel"];

/// The prefix of a tool's name within a wrapper.
const NAMESPACE: &str = "functions.";

/// A call inside a wrapper.
#[derive(Debug, Clone, PartialEq)]
pub struct WrappedCall {
    pub name: String,
    /// JSON text.
    pub args: String,
}

/// Whether a call of this name may hold several.
pub fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name)
}

/// Returns the calls inside a wrapper. `None` where there are none or the form differs: then it is an
/// ordinary call.
pub fn unwrap_calls(name: &str, args: &str) -> Option<Vec<WrappedCall>> {
    if !is_wrapper(name) {
        return None;
    }
    let args: Value = serde_json::from_str(args).ok()?;
    let uses = args.get("tool_uses")?.as_array().filter(|uses| !uses.is_empty())?;
    uses.iter().map(inner).collect()
}

fn inner(used: &Value) -> Option<WrappedCall> {
    let name = used.get("recipient_name").and_then(Value::as_str)?;
    let name = name.strip_prefix(NAMESPACE).unwrap_or(name);
    let args = used.get("parameters").filter(|args| !args.is_null());
    let args = args.map_or("{}".into(), |args| json_text(Some(args))).into_owned();
    (!name.is_empty()).then(|| WrappedCall { name: name.to_owned(), args })
}

/// Whether two texts are the same JSON: servers may format the complete text differently from its fragments.
pub fn same(one: &str, other: &str) -> bool {
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
    parse(one).is_some_and(|one| parse(other) == Some(one))
}
