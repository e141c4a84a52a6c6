//! `shell`: runs one command line in the workspace through the sandbox.
//!
//! It shows output as it arrives, gives the model a bounded part of it, and reports how the command ended: an
//! exit code other than 0, a signal or the timeout make a failed return that contains the output. Processes
//! that left the command's group are listed. It decides nothing: its findings about the command only affect
//! the risk, which the policy uses.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::BuiltinOptions;
use super::output::{Capture, left_out, untrusted_output, whole_characters};
use super::place::ToolPath;
use super::tasks::report;
use super::typed::{RunContext, TypedTool};
use super::work::{exit_line, misuse, off_thread, terminal};
use crate::approval::command_words::{CommandWords, command_words, says_more};
use crate::bash::{self, Class};
use crate::message::Source;
use crate::sandbox::survivors::MARKER;
use crate::sandbox::tasks::{FULL, StartedCommand, Tasks, UNLIMITED, task_input};
use crate::sandbox::{
    Backend, Command, Confinement, ExecEvent, Exit, Sandbox, Survivor, SurvivorOutcome, looks_held,
};
use crate::stdx::text::{count, one_line_summary, sanitize_line};
use crate::tool::{
    Access, CallPlan, Category, Effect, Preview, Progress, Risk, SeenVersions, SideEffect, TextArgs,
    TextKind, ToolError, ToolOutput,
};

mod loose;
mod network;
mod places;
mod risk;

/// Added to a command's own timeout for the timeout of the whole call, so that the output is still returned.
const MARGIN: Duration = Duration::from_secs(10);

/// How long a task is watched before its start is reported: what is wrong shows by then.
const SETTLED: Duration = Duration::from_millis(400);

/// The maximum length in bytes of one argument on Linux (`MAX_ARG_STRLEN`), without the terminating NUL.
const LONGEST_COMMAND: usize = 128 * 1024 - 1;

/// The beginnings of reports on commands that did not succeed, and the text for an empty output.
const ENDS: [&str; 3] = ["exit ", "ended by signal ", "timed out after "];
const NO_OUTPUT: &str = "[no output]";

/// The width of the command in the summary, in terminal cells.
const SUMMARY_WIDTH: usize = 72;

/// The width of the reason for leaving the sandbox, in terminal cells.
const REASON_WIDTH: usize = 100;

/// The note for the model when the sandbox may be why a command failed.
const HELD: &str = "[The command ran in a sandbox, which may be why it failed. If it needs more than the sandbox allows, \
                    call shell again with `unsandboxed` and the reason; the user decides.]\n";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShellArgs {
    /// Command line for `sh -c`, run in the workspace. It has no terminal and no input.
    command: String,
    /// Seconds after which the command is ended.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
    /// Set only after the sandbox was in the way: why the command must run outside of it. The user decides.
    unsandboxed: Option<String>,
    /// Run it as a task in the background, without a timeout: for servers and long builds.
    #[serde(default)]
    background: bool,
}

impl ShellArgs {
    /// A command line of another tool, and why it must run outside of the sandbox, if it must.
    pub fn line(command: String, unsandboxed: Option<String>) -> Self {
        Self { command, timeout: None, unsandboxed, background: false }
    }
}

/// Runs commands.
pub struct Shell {
    sandbox: Arc<dyn Sandbox>,
    tasks: Tasks,
    options: BuiltinOptions,
    /// Commands that count as read-only besides those in the table of programs.
    safe: Vec<CommandWords>,
}

impl Shell {
    pub fn new(sandbox: Arc<dyn Sandbox>, tasks: Tasks, options: BuiltinOptions) -> Self {
        let safe = options.safe_commands.iter().filter_map(|text| command_words(text)).flatten().collect();
        Self { sandbox, tasks, options, safe }
    }

    /// Checks the arguments; returns the command's timeout.
    fn check_args(&self, args: &ShellArgs) -> Result<Duration, ToolError> {
        if args.command.trim().is_empty() {
            return Err(misuse("`command` is empty; give a command line"));
        }
        if args.command.len() > LONGEST_COMMAND {
            return Err(misuse(format!(
                "`command` has {} bytes, and the system starts none above {LONGEST_COMMAND}; put the text into a file",
                args.command.len()
            )));
        }
        if args.unsandboxed.as_ref().is_some_and(|why| why.trim().is_empty()) {
            return Err(misuse("`unsandboxed` is empty; give the reason, or leave it out"));
        }
        if args.command.contains('\0') {
            return Err(misuse("`command` contains a NUL character, which no command line can"));
        }
        if args.background && args.timeout.is_some() {
            return Err(misuse(
                "a background command has no `timeout`; leave it out, and end the task with end_task",
            ));
        }
        let timeout = args.timeout.map_or(self.options.shell_timeout, Duration::from_secs);
        let most = self.options.shell_max_timeout;
        if timeout > most {
            return Err(misuse(format!(
                "`timeout` is at most {}s; run longer work in parts",
                most.as_secs()
            )));
        }
        Ok(timeout)
    }
}

impl TypedTool for Shell {
    const NAME: &'static str = crate::tool::SHELL;
    const CATEGORY: Category = Category::Shell;
    const SIDE_EFFECT: SideEffect = SideEffect::External;
    const TEXTS: TextArgs = &[("command", TextKind::Command)];

    type Args = ShellArgs;

    fn description(&self) -> String {
        format!(
            "Runs a command line with sh in the workspace and returns its output, stdout and stderr together. It \
             is ended after {}s, or after timeout (at most {}s). Background processes end with the command; \
             with background it becomes a task, which read_task reads and end_task ends. \
             Prefer the file tools for reading, searching and editing.",
            self.options.shell_timeout.as_secs(),
            self.options.shell_max_timeout.as_secs()
        )
    }

    fn timeout(&self) -> Duration {
        self.options.shell_max_timeout + MARGIN
    }

    fn plan(&self, args: ShellArgs, place: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        self.check_args(&args)?;
        let reading = CommandReading::of(&args.command, place, self.is_sandboxed(), &self.safe);
        let mut plan = reading.plan(args.command, &place.workspace);
        if plan.effect != Effect::ReadOnly && !args.background {
            plan.undo = place.undo_of_command();
        }
        if args.background {
            plan.summary.push_str(" in the background");
        }
        Ok(match args.unsandboxed.filter(|_| self.is_sandboxed()) {
            Some(reason) => outside_of_sandbox(plan, &reason),
            None => plan,
        })
    }

    async fn run(&self, args: ShellArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let timeout = self.check_args(&args)?;
        let mut env = self.options.env.clone();
        env.push((MARKER.to_owned(), cx.call.0.clone()));
        let confinement = match args.unsandboxed {
            Some(_) => Confinement::Unsandboxed,
            None => self.confinement(&args.command, &cx.place).await,
        };
        let (script, cwd) = (args.command.clone(), cx.place.workspace.clone());
        let command = Command { script, cwd: cwd.clone(), env, timeout, confinement, ..Command::default() };
        if args.background {
            return self.start_task(command, cx).await;
        }
        let is_confined = self.is_sandboxed() && confinement != Confinement::Unsandboxed;
        match self.follow_recorded(command, cx).await? {
            ForegroundEnd::Ran(ran) => {
                let mut text = ran.text(timeout);
                if is_confined && ran.may_be_held(&cwd) {
                    text.push_str(HELD);
                }
                if matches!(ran.exit, Exit::Code(0)) {
                    Ok(untrusted_output(text, Source::Command { command: args.command }))
                } else {
                    Err(terminal(text))
                }
            }
            ForegroundEnd::Moved(text) => {
                Ok(untrusted_output(text, Source::Command { command: args.command }))
            }
        }
    }

    fn outcome(text: &str) -> String {
        match text.trim_end() {
            NO_OUTPUT => "no output".to_owned(),
            _ => count(text.lines().map(lines_of).sum::<usize>(), "line"),
        }
    }

    fn failure(text: &str) -> String {
        // The report begins with how the command ended.
        let end = text.lines().next().unwrap_or("");
        let is_end = ENDS.iter().any(|known| end.starts_with(known));
        if is_end { end.to_owned() } else { String::new() }
    }
}

/// Returns the number of lines of output that a line of a report represents. The line that is cut before a remark counts there.
fn lines_of(line: &str) -> usize {
    left_out(line).map_or(1, |lines| lines.saturating_sub(1))
}

/// The facts about a command that follow from its words and from what they refer to.
struct CommandReading {
    found: risk::Assessment,
    invocations: Vec<bash::Invocation>,
    /// Whether it is known to be read-only.
    reads: bool,
    uses_network: bool,
}

impl CommandReading {
    /// Blocking.
    fn of(script: &str, place: &ToolPath, is_sandboxed: bool, safe: &[CommandWords]) -> Self {
        let ToolPath { workspace, own, .. } = place;
        let mut found = risk::assess(script, workspace);
        let invocations = bash::invocations(script).unwrap_or_default();
        if places::names_own(script, &invocations, workspace, own) {
            found = found.with("touches files of co");
        }
        // The risk table ignores commands that only read, except for what they read.
        let reads = found.reasons.is_empty()
            && (bash::classify(script) == Class::ReadOnly
                || is_sandboxed
                    && (bash::is_read_only_if_confined(script) || are_safe(script, &invocations, safe)))
            && places::leads_elsewhere(&invocations, workspace).is_none();
        let uses_network = !reads && invocations.iter().any(network::uses_network);
        Self { found, invocations, reads, uses_network }
    }

    fn confinement(&self) -> Confinement {
        match (self.reads, self.uses_network) {
            (true, _) => Confinement::ReadOnly,
            (false, true) => Confinement::Network,
            (false, false) => Confinement::Workspace,
        }
    }

    fn plan(&self, script: String, workspace: &Path) -> CallPlan {
        let command = one_line_summary(&script, SUMMARY_WIDTH);
        let (risk, effect) = match self.confinement() {
            Confinement::ReadOnly => (Risk::Low, Effect::ReadOnly),
            Confinement::Workspace => (self.found.risk, Effect::Confined),
            Confinement::Network | Confinement::Unsandboxed => (self.found.risk, Effect::OfTool),
        };
        let mut reasons = self.found.reasons.clone();
        reasons.extend(self.reads.then_some("only reads"));
        reasons.extend(self.uses_network.then_some("uses the network"));
        let summary = match reasons.as_slice() {
            [] => format!("run {command}"),
            reasons => format!("run {command} ({})", reasons.join(", ")),
        };
        CallPlan {
            basis: places::scripts(&self.invocations, workspace),
            preview: Preview::Text { text: script },
            effect,
            ..CallPlan::new(summary, risk, Access::Anything)
        }
    }
}

/// Whether each program of a line is read-only, or among those that the user named. What a rule by words does not cover is
/// not covered here either.
fn are_safe(script: &str, invocations: &[bash::Invocation], safe: &[CommandWords]) -> bool {
    !safe.is_empty()
        && !invocations.is_empty()
        && !says_more(script)
        && invocations.iter().all(|one| {
            safe.iter().any(|words| words.cover(one, invocations))
                || bash::is_read_only_if_confined(&one.written.join(" "))
        })
}

/// Returns the plan of a command that is to run with the user's own rights.
fn outside_of_sandbox(plan: CallPlan, reason: &str) -> CallPlan {
    let reason = one_line_summary(reason, REASON_WIDTH);
    CallPlan {
        summary: format!("{} outside of the sandbox: {reason}", plan.summary),
        risk: plan.risk.max(Risk::Medium),
        effect: Effect::OfTool,
        needs_person: Some("it runs outside of the sandbox".to_owned()),
        ..plan
    }
}

/// How the run of a command in the foreground ended.
enum ForegroundEnd {
    Ran(ShellResult),
    /// It runs as a task now; the text for the model.
    Moved(String),
}

/// The result of a command.
struct ShellResult {
    output: String,
    survivors: Option<(Vec<Survivor>, SurvivorOutcome)>,
    exit: Exit,
}

impl Shell {
    fn is_sandboxed(&self) -> bool {
        self.sandbox.isolation().backend != Backend::None
    }

    async fn confinement(&self, script: &str, place: &ToolPath) -> Confinement {
        let (script, place) = (script.to_owned(), place.clone());
        let (is_sandboxed, safe) = (self.is_sandboxed(), self.safe.clone());
        let reading = tokio::task::spawn_blocking(move || {
            CommandReading::of(&script, &place, is_sandboxed, &safe).confinement()
        });
        // The task fails only if the runtime shuts down.
        reading.await.unwrap_or(Confinement::ReadOnly)
    }

    /// Keeps the workspace before a command that may change it, and what changed when it has ended.
    async fn follow_recorded(&self, command: Command, cx: RunContext) -> Result<ForegroundEnd, ToolError> {
        if command.confinement == Confinement::ReadOnly {
            return self.follow(command, cx).await;
        }
        let (label, keeping) = (command.script.clone(), cx.clone());
        let recording = off_thread(move || keeping.record_command(Self::NAME, &label)).await?;
        let ended = self.follow(command, cx).await;
        if let Some(recording) = recording {
            off_thread(move || {
                recording.end();
                Ok(())
            })
            .await?;
        }
        ended
    }

    async fn follow(&self, command: Command, cx: RunContext) -> Result<ForegroundEnd, ToolError> {
        let mut moves = self.tasks.moves();
        // Its own: a command that was moved to the background outlives an interrupt of this turn.
        let cancel = CancellationToken::new();
        let (script, unlimited) = (command.script.clone(), Arc::clone(&command.unlimited));
        let mut events = self.sandbox.spawn(command, cancel.clone());
        let mut capture = Capture::new(cx.output_limit, cx.spill.clone());
        let mut live = OutputStreamer { torn: Vec::new() };
        let mut survivors = None;
        let mut exit = None;
        loop {
            let event = tokio::select! {
                biased;
                () = cx.cancel.cancelled(), if !cancel.is_cancelled() => {
                    cancel.cancel();
                    continue;
                }
                Ok(()) = moves.changed() => {
                    if !self.tasks.has_room(&cx.place.spill) {
                        let text = format!("[{FULL}]\n");
                        let _ = cx.progress.try_send(Progress { call: cx.call.clone(), text });
                        continue;
                    }
                    let output = capture.finish().await;
                    let mark = cx.call.0.clone();
                    let started = StartedCommand {
                        command: script, mark, events, cancel, input: None, output: output.clone().into_bytes(), unlimited,
                    };
                    let number = self.tasks.add(&cx.place.spill, started).map_err(|error| no_task(&error))?;
                    return Ok(ForegroundEnd::Moved(format!(
                        "The user moved it to the background: it is task {number} now, and goes on. Output so far:\n{}\n",
                        if output.is_empty() { NO_OUTPUT } else { output.trim_end() }
                    )));
                }
                event = events.next() => event,
            };
            match event {
                Some(Ok(ExecEvent::Output(bytes))) => {
                    live.show(&bytes, &cx);
                    capture.push(&bytes).await;
                }
                Some(Ok(ExecEvent::Survivors { found, outcome })) => survivors = Some((found, outcome)),
                Some(Ok(ExecEvent::Exited(how))) => exit = Some(how),
                Some(Err(error)) => return Err(terminal(format!("the command could not be run: {error}"))),
                None => break,
            }
        }
        let exit = exit.ok_or_else(|| terminal("the sandbox did not report how the command ended"))?;
        Ok(ForegroundEnd::Ran(ShellResult { output: capture.finish().await, survivors, exit }))
    }

    /// Starts a command as a task; one that ends at once is reported as any other.
    async fn start_task(&self, command: Command, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let (reader, writer) = task_input().map_err(|error| no_task(&error))?;
        let (folder, cancel) = (cx.place.spill.clone(), CancellationToken::new());
        let (script, unlimited) = (command.script.clone(), Arc::clone(&command.unlimited));
        let command = Command { timeout: UNLIMITED, input: Some(Arc::new(reader)), ..command };
        let events = self.sandbox.spawn(command, cancel.clone());
        let started = StartedCommand {
            command: script.clone(),
            mark: cx.call.0.clone(),
            events,
            cancel,
            input: Some(writer),
            output: Vec::new(),
            unlimited,
        };
        let number = self.tasks.add(&folder, started).map_err(|error| no_task(&error))?;
        tokio::select! {
            biased;
            () = self.tasks.wait(&folder, number) => {}
            () = tokio::time::sleep(SETTLED) => {}
            () = cx.cancel.cancelled() => {}
        }
        let text = report(&self.tasks, cx, number).await?;
        Ok(untrusted_output(text, Source::Command { command: script }))
    }
}

fn no_task(error: &std::io::Error) -> ToolError {
    terminal(format!("the command cannot run in the background: {error}"))
}

impl ShellResult {
    /// Whether a sandbox may be why it failed.
    fn may_be_held(&self, workspace: &Path) -> bool {
        self.exit != Exit::Code(0) && looks_held(&self.output, workspace)
    }

    fn text(&self, timeout: Duration) -> String {
        let mut lines = Vec::new();
        match self.exit {
            Exit::Code(0) => {}
            Exit::Cancelled => lines.push("interrupted; what it had already done is not undone".to_owned()),
            exit => lines.push(exit_line(exit, timeout)),
        }
        let output = self.output.trim_end_matches('\n');
        lines.push(if output.is_empty() { NO_OUTPUT.to_owned() } else { output.to_owned() });
        if let Some((found, outcome)) = &self.survivors {
            lines.push(match outcome {
                SurvivorOutcome::Running => {
                    "[still running, out of the command's reach; end them with kill:]".to_owned()
                }
                SurvivorOutcome::Ended => "[had left the command's group and were ended too:]".to_owned(),
            });
            let named =
                |survivor: &Survivor| format!("{}  {}", survivor.pid, sanitize_line(&survivor.command));
            lines.extend(found.iter().map(named));
        }
        lines.join("\n") + "\n"
    }
}

/// Shows output while the command runs, only in complete characters.
struct OutputStreamer {
    /// The beginning of a character that is not complete yet.
    torn: Vec<u8>,
}

impl OutputStreamer {
    fn show(&mut self, bytes: &[u8], cx: &RunContext) {
        let text = whole_characters(&mut self.torn, bytes);
        if !text.is_empty() {
            // If the channel is full, the screen is behind; it shows the end of the output on return.
            let _ = cx.progress.try_send(Progress { call: cx.call.clone(), text });
        }
    }
}
