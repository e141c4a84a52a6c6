//! `read_task`, `write_task` and `end_task`: what the model does with commands that run in the background.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::output::{cap, untrusted_output};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::work::{misuse, off_thread, plan_without_access, terminal};
use crate::message::Source;
use crate::sandbox::tasks::{MAX_OUTPUT, TaskOutput, Tasks};
use crate::stdx::text::{binary_size, one_line_summary};
use crate::tool::{CallPlan, Category, Preview, Risk, SeenVersions, SideEffect, ToolError, ToolOutput};

/// The longest time that one call waits for the end of a task, in seconds.
const LONGEST_WAIT: u64 = 600;

/// The maximum length of a text for a task, in bytes: what a pipe takes without waiting.
const LONGEST_TEXT: usize = 4_096;

/// How long a call waits for a task to react.
const REACTION: Duration = Duration::from_millis(300);

/// The width of a text in a summary, in terminal cells.
const TEXT_WIDTH: usize = 60;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadTaskArgs {
    /// The task's number.
    task: usize,
    /// Seconds to wait for its end first; without it the call returns at once.
    #[schemars(range(min = 1, max = 600))]
    wait: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteTaskArgs {
    /// The task's number.
    task: usize,
    /// Text for its standard input, with the newline that ends a line.
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndTaskArgs {
    /// The task's number.
    task: usize,
}

/// Reads the new output of a task.
pub struct ReadTask(pub Tasks);

/// Writes to the standard input of a task.
pub struct WriteTask(pub Tasks);

/// Ends a task.
pub struct EndTask(pub Tasks);

impl TypedTool for ReadTask {
    const NAME: &'static str = "read_task";
    const ABOUT: &'static str =
        "Returns what a background task printed since the last call, and whether it still runs.";
    const CATEGORY: Category = Category::Tasks;

    type Args = ReadTaskArgs;

    fn timeout(&self) -> Duration {
        Duration::from_secs(LONGEST_WAIT + 10)
    }

    fn plan(&self, args: ReadTaskArgs, _: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        if args.wait.is_some_and(|seconds| seconds > LONGEST_WAIT) {
            return Err(misuse(format!("`wait` is at most {LONGEST_WAIT}s; call again")));
        }
        Ok(plan_without_access(format!("read task {}", args.task), Risk::Low))
    }

    async fn run(&self, args: ReadTaskArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        if let Some(seconds) = args.wait {
            let limit = Duration::from_secs(seconds.min(LONGEST_WAIT));
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => {}
                () = self.0.wait(&cx.place.spill, args.task) => {}
                () = tokio::time::sleep(limit) => {}
            }
        }
        output(&self.0, cx, args.task).await
    }
}

impl TypedTool for WriteTask {
    const NAME: &'static str = "write_task";
    const ABOUT: &'static str = "Writes text to the standard input of a background task and returns what it \
         printed. The user decides each call.";
    const CATEGORY: Category = Category::Tasks;
    const SIDE_EFFECT: SideEffect = SideEffect::External;

    type Args = WriteTaskArgs;

    fn plan(&self, args: WriteTaskArgs, _: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        if args.text.is_empty() || args.text.len() > LONGEST_TEXT {
            return Err(misuse(format!("`text` has 1 to {LONGEST_TEXT} bytes; write more in parts")));
        }
        let shown = one_line_summary(&args.text, TEXT_WIDTH);
        Ok(CallPlan {
            preview: Preview::Text { text: args.text },
            // It may be the answer to any question of the program.
            needs_person: Some("it types into a running program".to_owned()),
            ..plan_without_access(format!("write to task {}: {shown}", args.task), Risk::Medium)
        })
    }

    async fn run(&self, args: WriteTaskArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let (tasks, folder) = (self.0.clone(), cx.place.spill.clone());
        off_thread(move || tasks.write(&folder, args.task, &args.text).map_err(terminal)).await?;
        tokio::select! {
            () = self.0.wait(&cx.place.spill, args.task) => {}
            () = tokio::time::sleep(REACTION) => {}
        }
        output(&self.0, cx, args.task).await
    }
}

impl TypedTool for EndTask {
    const NAME: &'static str = "end_task";
    const ABOUT: &'static str = "Ends a background task with all its processes, and returns its last output.";
    const CATEGORY: Category = Category::Tasks;
    const SIDE_EFFECT: SideEffect = SideEffect::Local;

    type Args = EndTaskArgs;

    fn plan(&self, args: EndTaskArgs, _: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        Ok(plan_without_access(format!("end task {}", args.task), Risk::Low))
    }

    async fn run(&self, args: EndTaskArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        self.0.end(&cx.place.spill, args.task).map_err(terminal)?;
        self.0.wait(&cx.place.spill, args.task).await;
        output(&self.0, cx, args.task).await
    }
}

async fn output(tasks: &Tasks, cx: RunContext, number: usize) -> Result<ToolOutput, ToolError> {
    let task = tasks.of(&cx.place.spill).into_iter().find(|task| task.number == number);
    let command = task.map(|task| task.command).unwrap_or_default();
    Ok(untrusted_output(report(tasks, cx, number).await?, Source::Command { command }))
}

/// Returns the state of a task and its new output, for the model.
pub async fn report(tasks: &Tasks, cx: RunContext, number: usize) -> Result<String, ToolError> {
    let tasks = tasks.clone();
    off_thread(move || {
        let read = tasks.read(&cx.place.spill, number);
        let missing =
            || terminal(format!("there is no task {number} in this session; tasks end when co does"));
        let TaskOutput { task, text, skipped, file } = read
            .ok_or_else(missing)?
            .map_err(|error| terminal(format!("the output of task {number} cannot be read: {error}")))?;
        let mut lines = vec![format!("task {number}: {}", task.state())];
        if skipped > 0 {
            lines.push(format!(
                "[{skipped} bytes left out here; up to {} are in {}]",
                binary_size(MAX_OUTPUT),
                file.display()
            ));
        }
        let text = text.trim_end_matches('\n');
        lines.push(if text.is_empty() { "[no new output]".to_owned() } else { text.to_owned() });
        Ok(cap(lines.join("\n") + "\n", cx.output_limit, &cx.spill))
    })
    .await
}
