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

use super::BuiltinOptions;
use super::output::{Capture, left_out, untrusted, without_torn_end};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::work::{misuse, terminal};
use crate::bash::{self, Class};
use crate::message::{ReturnStatus, Source};
use crate::sandbox::survivors::MARKER;
use crate::sandbox::{Backend, Command, Confinement, ExecEvent, Exit, Fate, Sandbox, Survivor, looks_held};
use crate::stdx::text::{one_line_summary, sanitize_line};
use crate::tool::{
    Access, CallPlan, Category, Effect, Preview, Progress, Risk, Seen, SideEffect, ToolError, ToolOutput,
    Undo,
};

mod loose;
mod network;
mod places;
mod risk;

/// Added to a command's own timeout for the timeout of the whole call, so that the output is still returned.
const MARGIN: Duration = Duration::from_secs(10);

/// The maximum length in bytes of one argument on Linux (`MAX_ARG_STRLEN`), without the terminating NUL.
const LONGEST_COMMAND: usize = 128 * 1024 - 1;

/// How reports of commands that did not succeed begin, and what stands for an empty output.
const ENDS: [&str; 3] = ["exit ", "ended by signal ", "ended after its timeout"];
const NO_OUTPUT: &str = "[no output]";

/// The width of the command in the summary, in terminal cells.
const SUMMARY_WIDTH: usize = 72;

/// The width of the reason for leaving the sandbox, in terminal cells.
const REASON_WIDTH: usize = 100;

/// Told to the model when the sandbox may be why a command failed.
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
}

/// Runs commands.
pub struct Shell {
    sandbox: Arc<dyn Sandbox>,
    options: BuiltinOptions,
}

impl Shell {
    pub fn new(sandbox: Arc<dyn Sandbox>, options: BuiltinOptions) -> Self {
        Self { sandbox, options }
    }

    /// Checks the arguments; returns the command's timeout.
    fn checked(&self, args: &ShellArgs) -> Result<Duration, ToolError> {
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
        let timeout = args.timeout.map_or(self.options.shell_timeout, Duration::from_secs);
        let most = self.options.shell_max_timeout;
        if timeout > most {
            let most = most.as_secs();
            return Err(misuse(format!("`timeout` is at most {most} seconds; run longer work in parts")));
        }
        Ok(timeout)
    }
}

impl TypedTool for Shell {
    const NAME: &'static str = "shell";
    const CATEGORY: Category = Category::Shell;
    const SIDE_EFFECT: SideEffect = SideEffect::External;

    type Args = ShellArgs;

    fn description(&self) -> String {
        format!(
            "Runs a command line with sh in the workspace and returns its output, stdout and stderr together. It \
             is ended after {} seconds, or after timeout (at most {}). Background processes end with the command. \
             Prefer the file tools for reading, searching and editing.",
            self.options.shell_timeout.as_secs(),
            self.options.shell_max_timeout.as_secs()
        )
    }

    fn timeout(&self) -> Duration {
        self.options.shell_max_timeout + MARGIN
    }

    fn plan(&self, args: ShellArgs, place: &ToolPath, _: &Seen) -> Result<CallPlan, ToolError> {
        self.checked(&args)?;
        let words = CommandWords::read(&args.command, place, self.is_sandboxed());
        let plan = words.plan(args.command, &place.workspace);
        Ok(match args.unsandboxed.filter(|_| self.is_sandboxed()) {
            Some(reason) => outside_of_sandbox(plan, &reason),
            None => plan,
        })
    }

    async fn run(&self, args: ShellArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let timeout = self.checked(&args)?;
        let mut env = self.options.env.clone();
        env.push((MARKER.to_owned(), cx.call.0.clone()));
        let cwd = cx.place.workspace.clone();
        let confinement = match args.unsandboxed {
            Some(_) => Confinement::Unsandboxed,
            None => {
                let (script, place, is_sandboxed) =
                    (args.command.clone(), cx.place.clone(), self.is_sandboxed());
                tokio::task::spawn_blocking(move || {
                    CommandWords::read(&script, &place, is_sandboxed).confinement()
                })
                .await
                // The task fails only if the runtime shuts down.
                .unwrap_or(Confinement::ReadOnly)
            }
        };
        let command = Command { script: args.command.clone(), cwd, env, timeout, confinement };
        let ran = self.follow(command, cx).await?;
        let mut text = ran.text(timeout);
        if self.is_sandboxed() && confinement != Confinement::Unsandboxed && ran.may_be_held() {
            text.push_str(HELD);
        }
        match ran.exit {
            Exit::Code(0) => Ok(untrusted(text, Source::Command { command: args.command })),
            Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled => Err(terminal(text)),
        }
    }

    fn outcome(status: ReturnStatus, text: &str) -> String {
        match status {
            ReturnStatus::Ok if text.trim_end() == NO_OUTPUT => "no output".to_owned(),
            ReturnStatus::Ok => match text.lines().map(lines_of).sum() {
                1 => "1 line".to_owned(),
                lines => format!("{lines} lines"),
            },
            // The report begins with how the command ended.
            ReturnStatus::Failed | ReturnStatus::Interrupted => {
                let end = text.lines().next().unwrap_or("");
                let is_end = ENDS.iter().any(|known| end.starts_with(known));
                if is_end { end.to_owned() } else { String::new() }
            }
            ReturnStatus::Denied | ReturnStatus::Undecided | ReturnStatus::Unknown => String::new(),
        }
    }
}

/// Returns how many lines of output a line of a report stands for. The line that is cut before a remark counts there.
fn lines_of(line: &str) -> usize {
    left_out(line).map_or(1, |lines| lines.saturating_sub(1))
}

/// What the words of a command, and what they refer to here, tell about it.
struct CommandWords {
    found: risk::Assessment,
    invocations: Vec<bash::Invocation>,
    /// Whether it is known to be read-only.
    reads: bool,
    uses_network: bool,
}

impl CommandWords {
    /// Blocking.
    fn read(script: &str, place: &ToolPath, is_sandboxed: bool) -> Self {
        let ToolPath { workspace, own, .. } = place;
        let mut found = risk::assess(script, workspace);
        let invocations = bash::invocations(script).unwrap_or_default();
        if places::names_own(script, &invocations, workspace, own) {
            found = found.with("touches files of co");
        }
        // The risk table ignores commands that only read, except for what they read.
        let reads = found.reasons.is_empty()
            && (bash::classify(script) == Class::LooksOnly || is_sandboxed && bash::reads_if_held(script))
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
            Confinement::ReadOnly => (Risk::Low, Effect::LooksOnly),
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
            summary,
            risk,
            access: Access::Anything,
            basis: places::scripts(&self.invocations, workspace),
            preview: Preview::Text { text: script },
            undo: Undo::None,
            effect,
            question: None,
            needs_person: None,
        }
    }
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

/// The result of a command.
struct Ran {
    output: String,
    survivors: Option<(Vec<Survivor>, Fate)>,
    exit: Exit,
}

impl Shell {
    fn is_sandboxed(&self) -> bool {
        self.sandbox.isolation().backend != Backend::None
    }

    async fn follow(&self, command: Command, cx: RunContext) -> Result<Ran, ToolError> {
        let mut events = self.sandbox.spawn(command, cx.cancel.clone());
        let mut capture = Capture::new(cx.output_limit, cx.spill.clone());
        let mut live = Live { torn: Vec::new() };
        let mut survivors = None;
        let mut exit = None;
        while let Some(event) = events.next().await {
            match event {
                Ok(ExecEvent::Output(bytes)) => {
                    live.show(&bytes, &cx);
                    capture.push(&bytes).await;
                }
                Ok(ExecEvent::Survivors { found, fate }) => survivors = Some((found, fate)),
                Ok(ExecEvent::Exited(how)) => exit = Some(how),
                Err(error) => return Err(terminal(format!("the command could not be run: {error}"))),
            }
        }
        let exit = exit.ok_or_else(|| terminal("the sandbox did not report how the command ended"))?;
        Ok(Ran { output: capture.finish().await, survivors, exit })
    }
}

impl Ran {
    /// Whether a sandbox may be why it failed.
    fn may_be_held(&self) -> bool {
        self.exit != Exit::Code(0) && looks_held(&self.output)
    }

    fn text(&self, timeout: Duration) -> String {
        let mut lines = Vec::new();
        match self.exit {
            Exit::Code(0) => {}
            Exit::Code(code) => lines.push(format!("exit {code}")),
            Exit::Signal(signal) => lines.push(format!("ended by signal {signal}")),
            Exit::TimedOut => lines.push(format!("timed out after {} seconds", timeout.as_secs())),
            Exit::Cancelled => lines.push("interrupted; what it had already done is not undone".to_owned()),
        }
        let output = self.output.trim_end_matches('\n');
        lines.push(if output.is_empty() { NO_OUTPUT.to_owned() } else { output.to_owned() });
        if let Some((found, fate)) = &self.survivors {
            lines.push(match fate {
                Fate::Running => {
                    "[still running, out of the command's reach; end them with kill:]".to_owned()
                }
                Fate::Ended => "[had left the command's group and were ended too:]".to_owned(),
            });
            let named =
                |survivor: &Survivor| format!("{}  {}", survivor.pid, sanitize_line(&survivor.command));
            lines.extend(found.iter().map(named));
        }
        lines.join("\n") + "\n"
    }
}

/// Shows output while the command runs, only in complete characters.
struct Live {
    /// The beginning of a character that is not complete yet.
    torn: Vec<u8>,
}

impl Live {
    fn show(&mut self, bytes: &[u8], cx: &RunContext) {
        self.torn.extend(bytes);
        let whole = without_torn_end(&self.torn).len();
        let rest = self.torn.split_off(whole);
        let ready = std::mem::replace(&mut self.torn, rest);
        if !ready.is_empty() {
            let text = String::from_utf8_lossy(&ready).into_owned();
            // If the channel is full, the screen is behind; it shows the end of the output on return.
            let _ = cx.progress.try_send(Progress { call: cx.call.clone(), text });
        }
    }
}
