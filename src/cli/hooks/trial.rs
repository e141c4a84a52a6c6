//! `co hooks test`: runs hooks on a sample event and displays their full output.

use serde_json::{Value, json};

use super::super::args::HookTest;
use super::super::console;
use super::super::error::{CliError, Result};
use super::{HooksCommand, check_problems, unknown};
use crate::hook::command::{HookRun, input_json};
use crate::hook::file::HookDef;
use crate::hook::trust::ContentState;
use crate::hook::{Hook as _, HookEvent, HookInput, HookSubject, HookVerdict};
use crate::message::{CallId, ReturnStatus, ToolCall, ToolName, ToolReturn};
use crate::sandbox::Exit;
use crate::stdx::moment::duration;
use crate::stdx::text::sanitize_line;
use crate::workspace::FoundHook;

/// The tool of a sample call.
const TOOL: &str = "shell";

pub(super) async fn run(context: &HooksCommand<'_>, wanted: HookTest) -> Result<()> {
    let found = context.all();
    check_problems(&found.problems)?;
    let call = ToolCall {
        id: CallId("test/1.1.0".to_owned()),
        wire_id: "test".to_owned(),
        name: ToolName::new(wanted.tool.as_deref().unwrap_or(TOOL)),
        args: arguments(wanted.args.as_deref())?,
    };
    let named = HookEvent::named(&wanted.what);
    let hooks = meant(&found.hooks, &wanted.what, named);
    if hooks.is_empty() {
        return match named {
            Some(event) => console::out(&format!("No hook is defined for {}.\n", event.word())),
            None => Err(unknown(&wanted.what, &found.hooks)),
        };
    }
    let mut rows = Vec::new();
    for (FoundHook { def, state }, event) in hooks {
        let hash = may_run(context, def, state)?;
        let hook = context.files.command(def.clone(), hash, &context.world.workspace);
        if !hook.wants(event, Some(&call.name)) {
            let tool = sanitize_line(call.name.as_str());
            console::note(&format!("co: {} does not check calls of {tool}", def.name));
            continue;
        }
        let input = sample(event, call.clone(), context);
        let tried = hook.try_out(&input).await;
        if wanted.json {
            rows.push(as_json(def, &input, &tried));
        } else {
            console::out(&as_text(def, event, &tried))?;
        }
    }
    if wanted.json { console::json(&rows) } else { Ok(()) }
}

/// Returns the hooks of an event; otherwise the hooks of a name, with the first of their events.
fn meant<'a>(
    hooks: &'a [FoundHook],
    name: &str,
    event: Option<HookEvent>,
) -> Vec<(&'a FoundHook, HookEvent)> {
    let at = |hook: &'a FoundHook| match event {
        Some(event) => hook.def.events.contains(&event).then_some((hook, event)),
        None if hook.def.name == name => hook.def.events.first().map(|event| (hook, *event)),
        None => None,
    };
    hooks.iter().filter_map(at).collect()
}

/// Returns the hash of the trusted content: nothing else runs, not even here.
fn may_run(context: &HooksCommand<'_>, def: &HookDef, state: &ContentState) -> Result<String> {
    let name = &def.name;
    let failed = |what: &str| CliError::error(format!("hook {name} {what}, so it does not run"));
    match (context.is_in_effect(def), state) {
        (false, _) => {
            Err(failed("belongs to this folder, which you do not trust").hint("`co trust` trusts the folder"))
        }
        (true, ContentState::Trusted { hash }) => Ok(hash.clone()),
        (true, ContentState::New { .. }) => {
            Err(failed("is new").hint(format!("`co hooks trust {name}` trusts it")))
        }
        (true, ContentState::Changed { .. }) => {
            Err(failed("has changed").hint(format!("`co hooks trust {name}` trusts the new version")))
        }
        (true, ContentState::Broken(broken)) => {
            Err(failed(&format!("cannot run: {}", sanitize_line(&broken.to_string()))))
        }
    }
}

fn arguments(text: Option<&str>) -> Result<Value> {
    let Some(text) = text else { return Ok(json!({"command": "echo hello"})) };
    let wrong = |why: String| {
        let error = CliError::usage(format!("`--args` is not a JSON object: {why}"));
        error.hint("e.g. --args '{\"command\": \"ls\"}'")
    };
    match serde_json::from_str(text) {
        Ok(args @ Value::Object(_)) => Ok(args),
        Ok(_) => Err(wrong("it is another type of value".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Returns a sample input for this event.
fn sample(event: HookEvent, call: ToolCall, context: &HooksCommand<'_>) -> HookInput {
    let returned = |status, text: &str| ToolReturn::program(call.id.clone(), status, text);
    let subject = match event {
        HookEvent::SessionStart => HookSubject::SessionStart { source: "new" },
        HookEvent::UserPromptSubmit => HookSubject::UserPromptSubmit { prompt: "hello".to_owned() },
        HookEvent::PreToolUse => HookSubject::PreToolUse { call },
        HookEvent::PostToolUse => {
            let returned = returned(ReturnStatus::Ok, "hello");
            HookSubject::PostToolUse { call, returned }
        }
        HookEvent::PostToolUseFailure => {
            let returned = returned(ReturnStatus::Failed, "exit code 1");
            HookSubject::PostToolUseFailure { call, returned }
        }
        HookEvent::PreCompact => HookSubject::PreCompact { messages: 10 },
        HookEvent::Stop => HookSubject::Stop { answer: "Done.".to_owned() },
        HookEvent::SessionEnd => HookSubject::SessionEnd { reason: "quit" },
    };
    HookInput { session: "test".to_owned(), workspace: context.world.workspace.clone(), subject }
}

fn as_text(def: &HookDef, event: HookEvent, tried: &HookRun) -> String {
    let (word, more) = verdict_text(def, event, tried);
    let mut rows = vec![("verdict", word.to_owned())];
    if let Some(more) = more {
        rows.push((if tried.verdict.is_ok() { "says" } else { "because" }, more));
    }
    rows.push(("exit", exit(tried)));
    let errors = String::from_utf8_lossy(&tried.ran.errors.bytes).into_owned();
    rows.push(("took", duration(tried.ran.took)));
    let head = format!("{} at {}\n", def.name, event.word());
    let rows = rows.iter().map(|(name, value)| format!("  {name:8} {}\n", sanitize_line(value)));
    let errors = errors.lines().map(|line| format!("  stderr   {}\n", sanitize_line(line)));
    std::iter::once(head).chain(rows).chain(errors).collect()
}

fn as_json(def: &HookDef, input: &HookInput, tried: &HookRun) -> Value {
    let event = input.subject.event();
    let (word, more) = verdict_text(def, event, tried);
    json!({
        "name": def.name,
        "event": event.word(),
        "input": input_json(input),
        "verdict": word,
        "says": more,
        "exit": exit(tried),
        "stdout": String::from_utf8_lossy(&tried.ran.output.bytes),
        "stderr": String::from_utf8_lossy(&tried.ran.errors.bytes),
        "took_ms": u64::try_from(tried.ran.took.as_millis()).unwrap_or(u64::MAX),
    })
}

/// Returns the verdict's word and its accompanying text.
fn verdict_text(def: &HookDef, event: HookEvent, tried: &HookRun) -> (&'static str, Option<String>) {
    match &tried.verdict {
        Err(trouble) => {
            let word = if matches!(trouble.verdict(&def.name, event), HookVerdict::Ask { .. }) {
                "ask"
            } else {
                "no opinion"
            };
            (word, Some(format!("it {trouble}")))
        }
        Ok(HookVerdict::Pass) => ("pass", None),
        Ok(HookVerdict::Allow { reason }) => ("allow", Some(reason.clone())),
        Ok(HookVerdict::Ask { reason }) => ("ask", Some(reason.clone())),
        Ok(HookVerdict::Defer { reason }) => ("defer", Some(reason.clone())),
        Ok(HookVerdict::Deny { reason }) => ("deny", Some(reason.clone())),
        Ok(HookVerdict::Rewrite { args }) => ("rewrite", Some(args.to_string())),
        Ok(HookVerdict::Note { text }) => ("note", Some(text.clone())),
    }
}

fn exit(tried: &HookRun) -> String {
    match &tried.ran.exit {
        Err(_) => "not started".to_owned(),
        Ok(Exit::Code(code)) => code.to_string(),
        Ok(Exit::Signal(signal)) => format!("signal {signal}"),
        Ok(Exit::TimedOut) => "stopped at its timeout".to_owned(),
        Ok(Exit::Cancelled) => "stopped".to_owned(),
    }
}
