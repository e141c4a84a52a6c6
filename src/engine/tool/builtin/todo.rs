//! `todo`: the model's list of steps, kept with the session and shown to the user.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::output::untrusted_output;
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::work::{misuse, plan_without_access, terminal};
use crate::message::Source;
use crate::stdx::text::{one_line_summary, sanitize_line};
use crate::tool::{CallPlan, Category, Risk, SeenVersions, ToolError, ToolOutput};

/// The most items.
const MOST: usize = 50;

/// The width of an item, in terminal cells.
const WIDTH: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoArgs {
    /// The whole list, in order; it replaces the one before. Without it, the list is returned as it is.
    items: Option<Vec<TodoItem>>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoItem {
    /// What is to be done, in a few words.
    text: String,
    /// At most one item is in progress.
    status: TodoStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Done,
}

/// Keeps the list.
pub struct Todo;

impl TypedTool for Todo {
    const NAME: &'static str = crate::tool::TODO;
    const ABOUT: &'static str = "Keeps your list of steps for work of three steps or more, which the user \
         sees. Give the whole list each time, with at most one item in_progress; mark an item done as soon as \
         it is.";
    const CATEGORY: Category = Category::User;

    type Args = TodoArgs;

    fn plan(&self, args: TodoArgs, _: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        let summary = match &args.items {
            None => "look at the list of steps".to_owned(),
            Some(items) => {
                check(items)?;
                let done = items.iter().filter(|item| item.status == TodoStatus::Done).count();
                let now = items.iter().find(|item| item.status == TodoStatus::InProgress);
                let now = now.map(|item| format!(": {}", item.text)).unwrap_or_default();
                one_line_summary(&format!("steps, {done} of {} done{now}", items.len()), WIDTH)
            }
        };
        Ok(plan_without_access(summary, Risk::Low))
    }

    async fn run(&self, args: TodoArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let (items, is_new) = match args.items {
            Some(items) => (items, true),
            None => (stored_items(cx.state)?, false),
        };
        check(&items)?;
        let mut output = untrusted_output(todo_list(&items), Source::Program);
        if is_new {
            output.state = Some(json!(items));
        }
        Ok(output)
    }

    fn outcome(text: &str) -> String {
        let done = text.lines().filter(|line| line.starts_with(mark(TodoStatus::Done))).count();
        let all = text.lines().filter(|line| line.starts_with('[')).count();
        format!("{done} of {all} done")
    }
}

fn stored_items(state: Option<serde_json::Value>) -> Result<Vec<TodoItem>, ToolError> {
    match state {
        None => Ok(Vec::new()),
        Some(state) => serde_json::from_value(state)
            .map_err(|_| terminal("the list that was kept cannot be read; give it anew with `items`")),
    }
}

fn check(items: &[TodoItem]) -> Result<(), ToolError> {
    if items.len() > MOST {
        return Err(misuse(format!("`items` are at most {MOST}; join steps")));
    }
    if items.iter().any(|item| item.text.trim().is_empty()) {
        return Err(misuse("an item has an empty `text`"));
    }
    let at_once = items.iter().filter(|item| item.status == TodoStatus::InProgress).count();
    if at_once > 1 {
        return Err(misuse(format!("{at_once} items are in_progress; at most one may be")));
    }
    Ok(())
}

fn mark(status: TodoStatus) -> &'static str {
    match status {
        TodoStatus::Pending => "[ ]",
        TodoStatus::InProgress => "[>]",
        TodoStatus::Done => "[x]",
    }
}

fn todo_list(items: &[TodoItem]) -> String {
    let mut text = String::new();
    for item in items {
        let _ = writeln!(text, "{} {}", mark(item.status), sanitize_line(&item.text));
    }
    if text.is_empty() { "The list is empty.\n".to_owned() } else { text }
}
