//! `co rules explain`: plans one call in its folder and shows every stage of its decision.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::CommandContext;
use crate::app::{plan_context, tools};
use crate::approval::rules::RuleSet;
use crate::approval::{
    AutoApprove, CallFacts, Decision, Grants, Policy, Repetition, Request, StageOutcome, Step, Taint,
    Verdict, Workspace,
};
use crate::cli::console;
use crate::cli::error::{CliError, Result};
use crate::config::Mode;
use crate::message::ToolName;
use crate::sandbox::Isolation;
use crate::session::Session;
use crate::stdx::text::{nearest, sanitize_line, truncate, width};
use crate::tool::{CallPlan, Tool, ToolError};

/// The most cells of the arguments shown.
const SHOWN: usize = 400;

/// A call to be explained.
struct Call {
    tool: Arc<dyn Tool>,
    args: Value,
    folder: PathBuf,
    taint: Vec<Taint>,
    grants: Grants,
}

pub(super) async fn run(
    context: &CommandContext<'_>,
    what: &str,
    args: Option<&str>,
    json: bool,
) -> Result<()> {
    let call = match (args, context.registry.get(&ToolName::new(what))) {
        (args, Some(tool)) => {
            let args = args.unwrap_or("{}");
            let args: Value = serde_json::from_str(args).map_err(|error| {
                CliError::usage(format!("the arguments are not valid JSON: {error}")).hint(HOW)
            })?;
            let folder = context.world.workspace.clone();
            Call { tool, args, folder, taint: Vec::new(), grants: Grants::default() }
        }
        (Some(_), None) => {
            let tools = context.registry.tools();
            let near = nearest(what, tools.specs().map(|spec| spec.name.as_str()));
            let near = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            let error = CliError::usage(format!("there is no tool `{what}`{near}"));
            return Err(error.hint("`co tools` lists them").hint(HOW));
        }
        (None, None) => of_request(context, what).await?,
    };
    let plan = plan(context, &call).await?;
    let (_, rules) = context.rules(&call.folder).await;
    let explained = Explanation::new(context, &call, &plan, rules);
    if json { console::json(&explained.as_json()) } else { console::out(&explained.as_text()) }?;
    context.tell_state(&call.folder);
    Ok(())
}

const HOW: &str = "co rules explain TOOL '{\"path\": \"a\"}', or co rules explain REQUEST";

/// Returns the call of a stored request, with its own folder and session.
async fn of_request(context: &CommandContext<'_>, id: &str) -> Result<Call> {
    let one = context.store.find_request(id).await.map_err(|error| CliError::from(error).hint(HOW))?;
    let Request { tool, args, taint, .. } = one.request;
    let Some(found) = context.registry.get(&tool) else {
        return Err(CliError::error(format!("the tool {tool} no longer exists")));
    };
    let grants = Session::read(&context.store, &one.session).await?.grants().clone();
    Ok(Call { tool: found, args, folder: one.workspace, taint, grants })
}

async fn plan(context: &CommandContext<'_>, call: &Call) -> Result<CallPlan> {
    let context = plan_context(context.world, &context.settings, &call.folder);
    call.tool.plan(&call.args, &context).await.map_err(|error| match error {
        ToolError::Misuse(hint) => {
            CliError::usage(format!("such a call is rejected before any decision: {hint}")).hint(HOW)
        }
        ToolError::Transient(message)
        | ToolError::Unknown(message)
        | ToolError::Unavailable(message)
        | ToolError::Terminal(message) => CliError::error(format!("the call cannot be planned: {message}")),
    })
}

/// The explanation of a call.
struct Explanation<'a> {
    call: &'a Call,
    plan: &'a CallPlan,
    place: Workspace,
    isolation: Isolation,
    steps: Vec<Step>,
    /// The decision in each mode.
    modes: Vec<(&'static str, Decision)>,
}

impl<'a> Explanation<'a> {
    fn new(context: &CommandContext<'_>, call: &'a Call, plan: &'a CallPlan, rules: RuleSet) -> Self {
        let trust = context.trust_of(&call.folder);
        let place =
            Workspace { folder: call.folder.clone(), kind: context.world.kind_of(&call.folder), trust };
        let isolation = tools(context.world, &context.settings).sandbox.isolation();
        let facts = CallFacts {
            is_named: false,
            spec: call.tool.spec(),
            plan,
            args: &call.args,
            taint: &call.taint,
            isolation,
            place: &place,
            hook: None,
            repetition: Repetition::No,
        };
        let rules = Arc::new(rules);
        let policy = |mode, auto_approve| Policy { mode, auto_approve, rules: Arc::clone(&rules) };
        let steps = policy(Mode::Ask, AutoApprove::Asking).explain(&call.grants, &facts);
        let mut modes: Vec<(&'static str, Decision)> = Mode::ALL
            .map(|mode| (mode.word(), policy(mode, AutoApprove::Asking).decide(&call.grants, &facts)))
            .into();
        modes.push(("yolo", policy(Mode::Ask, AutoApprove::Yolo).decide(&call.grants, &facts)));
        Self { call, plan, place, isolation, steps, modes }
    }

    fn as_text(&self) -> String {
        let call = format!(
            "{} {}",
            self.call.tool.spec().name,
            truncate(&sanitize_line(&self.call.args.to_string()), SHOWN)
        );
        let risk = self.modes.first().map_or(self.plan.risk, |(_, decision)| decision.risk);
        let mut out = String::new();
        for (name, value) in [
            ("call", call),
            ("plan", self.plan.summary.clone()),
            ("risk", risk.word().to_owned()),
            ("folder", self.place.folder.display().to_string()),
            ("sandbox", format!("{}, whatever the rules and modes", self.isolation.word())),
        ] {
            out.push_str(&format!("{name:9} {}\n", sanitize_line(&value)));
        }
        out.push('\n');
        for step in &self.steps {
            let line = match &step.found {
                StageOutcome::Passed(why) => format!("  {}{why}", pad(step.stage.word())),
                StageOutcome::Decided(decision) => {
                    format!("→ {}{}", pad(step.stage.word()), verdict(decision))
                }
            };
            out.push_str(&format!("{}\n", sanitize_line(&line)));
        }
        out.push('\n');
        for (mode, decision) in &self.modes {
            out.push_str(&format!("  {}{}\n", pad(mode), sanitize_line(&verdict(decision))));
        }
        out
    }

    fn as_json(&self) -> Value {
        let steps: Vec<Value> = self
            .steps
            .iter()
            .map(|step| match &step.found {
                StageOutcome::Passed(why) => json!({"stage": step.stage.word(), "passed": why}),
                StageOutcome::Decided(decision) => {
                    json!({"stage": step.stage.word(), "decided": as_json(decision)})
                }
            })
            .collect();
        let modes: serde_json::Map<String, Value> =
            self.modes.iter().map(|(mode, decision)| ((*mode).to_owned(), as_json(decision))).collect();
        json!({
            "tool": self.call.tool.spec().name,
            "args": self.call.args,
            "summary": self.plan.summary,
            "folder": self.place.folder,
            "sandbox": self.isolation.word(),
            "steps": steps,
            "modes": modes,
        })
    }
}

fn as_json(decision: &Decision) -> Value {
    json!({"verdict": decision.verdict, "risk": decision.risk, "because": decision.because, "by": decision.by})
}

fn verdict(decision: &Decision) -> String {
    let word = match decision.verdict {
        Verdict::Allow => "runs",
        Verdict::Ask => "asks",
        Verdict::Later => "waits",
        Verdict::Preview => "preview only",
        Verdict::Deny => "denied",
    };
    format!("{word}: {}", decision.because.join("; "))
}

fn pad(word: &str) -> String {
    format!("{word}{}", " ".repeat(18_usize.saturating_sub(width(word))))
}
