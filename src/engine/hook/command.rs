//! The hook that runs a program: it receives a JSON object on stdin and prints a decision on stdout.
//!
//! Before each run its content is hashed again, so that a script changed since it was trusted does not run.
//! The child gets the environment of commands, which contains no keys, and three variables that describe the
//! event. Called through the [`Hook`] trait, and by `co hooks test`.

use std::ffi::OsString;
use std::sync::Arc;

use futures::future::BoxFuture;
use globset::{Glob, GlobSet};
use serde_json::{Value, json};
use tracing::Instrument as _;
use uuid::Uuid;

use super::answer::{HookFailure, verdict};
use super::file::{HookCommand, HookDef};
use super::notices::HookNotices;
use super::process::{ProcessResult, run};
use super::trust::{PathRoots, ProgramError, content, program};
use super::{Hook, HookEvent, HookInput, HookSubject, HookVerdict};
use crate::message::{ToolCall, ToolName};
use crate::sandbox::child::Program;
use crate::sandbox::survivors::{MARKER, end_survivors};
use crate::stdx::text::sanitize_line;

/// A [`Hook`] that runs the program of its definition, as long as the trusted content is unchanged.
pub struct CommandHook {
    def: HookDef,
    wants: HookMatcher,
    at: PathRoots,
    /// The hash of the trusted content.
    hash: String,
    /// The environment of child processes.
    env: Vec<(String, String)>,
    notices: Arc<HookNotices>,
}

/// How a run went, and its verdict.
pub struct HookRun {
    pub ran: ProcessResult,
    pub verdict: Result<HookVerdict, HookFailure>,
}

impl CommandHook {
    /// Creates a hook whose content `hash` is trusted.
    pub fn new(
        def: HookDef,
        hash: String,
        at: PathRoots,
        env: Vec<(String, String)>,
        notices: Arc<HookNotices>,
    ) -> Self {
        let wants = HookMatcher::of(&def);
        Self { def, wants, at, hash, env, notices }
    }

    /// Runs the hook without checking that its content is still trusted.
    pub async fn try_out(&self, input: &HookInput) -> HookRun {
        let event = input.subject.event();
        let span = tracing::info_span!(
            "run_hook",
            otel.name = %format!("run_hook {}", self.def.name),
            co.hook.event = event.word(),
        );
        self.run_once(input).instrument(span).await
    }

    async fn run_once(&self, input: &HookInput) -> HookRun {
        let event = input.subject.event();
        let args = match &self.def.command {
            HookCommand::Program { args, .. } => args.iter().map(OsString::from).collect(),
            HookCommand::Shell { line } => vec!["-c".into(), line.into()],
        };
        let mut env = self.env.clone();
        let mark = format!("hook/{}", Uuid::now_v7().simple());
        env.extend([
            (MARKER.to_owned(), mark.clone()),
            ("CO_HOOK_EVENT".to_owned(), event.word().to_owned()),
            ("CO_SESSION".to_owned(), input.session.clone()),
            ("CO_WORKSPACE".to_owned(), input.workspace.display().to_string()),
        ]);
        let (file, cwd) = (program(&self.def, &self.at), input.workspace.clone());
        let program = Program { file, args, cwd, env, input: None, errors: None };
        let value = input_json(input).to_string();
        let ran = run(program, value.as_bytes(), self.def.timeout).await;
        // Processes that left the hook's process group are ended too.
        let ending = tokio::task::spawn_blocking(move || end_survivors(&mark));
        // The task fails only if the runtime shuts down.
        drop(ending.await);
        let verdict = verdict(&self.def.name, event, self.def.timeout, &ran);
        HookRun { ran, verdict }
    }

    async fn verdict(&self, input: &HookInput) -> HookVerdict {
        if let Some(why) = self.unfit().await {
            why.tell(&self.def, &self.notices);
            // The hook does not examine the call.
            return input.subject.event().undecided_verdict(why.reason(&self.def));
        }
        match self.try_out(input).await.verdict {
            Ok(verdict) => verdict,
            Err(trouble) => {
                let verdict = trouble.verdict(&self.def.name, input.subject.event());
                let so = if verdict == HookVerdict::Pass { "it is ignored" } else { "the call asks" };
                let key = format!("{} {:?} {so}", self.hash, std::mem::discriminant(&trouble));
                self.notices.tell(key, format!("hook {} {trouble}; {so}", self.def.name));
                verdict
            }
        }
    }

    /// Why the hook may no longer run; `None` if it may.
    async fn unfit(&self) -> Option<UnavailableReason> {
        let (def, at) = (self.def.clone(), self.at.clone());
        let looking = tokio::task::spawn_blocking(move || content(&def, &at));
        // The task fails only if the runtime shuts down.
        match looking.await.ok()? {
            Ok(hash) if hash == self.hash => None,
            Ok(hash) => Some(UnavailableReason::Changed { hash }),
            Err(broken) => Some(UnavailableReason::Broken(broken)),
        }
    }
}

impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.def.name
    }

    fn wants(&self, event: HookEvent, tool: Option<&ToolName>) -> bool {
        self.wants.include(event, tool)
    }

    fn fire<'a>(&'a self, input: &'a HookInput) -> BoxFuture<'a, HookVerdict> {
        Box::pin(self.verdict(input))
    }
}

/// The events and tools that a hook handles.
struct HookMatcher {
    events: Vec<HookEvent>,
    /// `None` = every tool.
    tools: Option<GlobSet>,
}

impl HookMatcher {
    fn of(def: &HookDef) -> Self {
        // The patterns were checked when the definition was parsed.
        let globs = def.tools.iter().filter_map(|pattern| Glob::new(pattern).ok());
        let tools = (!def.tools.is_empty()).then(|| GlobSet::new(globs).unwrap_or_default());
        Self { events: def.events.clone(), tools }
    }

    fn include(&self, event: HookEvent, tool: Option<&ToolName>) -> bool {
        let tool = tool.filter(|_| event.is_about_a_call());
        let mut tools = self.tools.iter().zip(tool);
        self.events.contains(&event) && tools.all(|(tools, tool)| tools.is_match(tool.as_str()))
    }
}

/// Why a trusted hook does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnavailableReason {
    /// Its content has changed.
    Changed {
        hash: String,
    },
    Broken(ProgramError),
}

impl UnavailableReason {
    /// Reports this to the user, once.
    pub fn tell(&self, def: &HookDef, notices: &HookNotices) {
        let name = &def.name;
        match self {
            Self::Changed { hash } => {
                let text = format!("hook {name} has changed and does not run: `co hooks trust {name}`");
                notices.tell(format!("{hash} changed"), text);
            }
            Self::Broken(_) => notices.tell(self.reason(def), self.reason(def)),
        }
    }

    /// The reason with which calls ask that the hook should have examined.
    fn reason(&self, def: &HookDef) -> String {
        let name = &def.name;
        match self {
            Self::Changed { .. } => {
                format!("hook {name} has changed since you trusted it and did not check this")
            }
            Self::Broken(broken) => {
                format!("hook {name} cannot run: {}", sanitize_line(&broken.to_string()))
            }
        }
    }
}

/// Replaces hooks that should run but cannot: calls that they would have examined ask.
pub struct UnavailableHook {
    name: String,
    because: String,
    wants: HookMatcher,
}

impl UnavailableHook {
    /// Replaces all hooks of a file that cannot be read; `because` names the file.
    pub fn file(because: &str) -> Self {
        let wants = HookMatcher { events: vec![HookEvent::PreToolUse], tools: None };
        Self { name: "hooks.toml".to_owned(), because: sanitize_line(because).into_owned(), wants }
    }

    /// Replaces a trusted hook.
    pub fn hook(def: &HookDef, why: &UnavailableReason) -> Self {
        Self { name: def.name.clone(), because: why.reason(def), wants: HookMatcher::of(def) }
    }
}

impl Hook for UnavailableHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn wants(&self, event: HookEvent, tool: Option<&ToolName>) -> bool {
        event == HookEvent::PreToolUse && self.wants.include(event, tool)
    }

    fn fire<'a>(&'a self, _input: &'a HookInput) -> BoxFuture<'a, HookVerdict> {
        Box::pin(async { HookVerdict::Ask { reason: self.because.clone() } })
    }
}

/// Builds the JSON object that a hook receives.
pub fn input_json(input: &HookInput) -> Value {
    let mut value = json!({
        "event": input.subject.event().word(),
        "session": input.session,
        "workspace": input.workspace.display().to_string(),
    });
    match &input.subject {
        HookSubject::SessionStart { source } => value["source"] = json!(source),
        HookSubject::UserPromptSubmit { prompt } => value["prompt"] = json!(prompt),
        HookSubject::PreToolUse { call } => tell_call(&mut value, call),
        HookSubject::PostToolUse { call, returned } | HookSubject::PostToolUseFailure { call, returned } => {
            tell_call(&mut value, call);
            value["tool_response"] = json!({"status": returned.status, "text": returned.text()});
        }
        HookSubject::PreCompact { messages } => value["messages"] = json!(messages),
        HookSubject::Stop { answer } => value["answer"] = json!(answer),
        HookSubject::SessionEnd { reason } => value["reason"] = json!(reason),
    }
    value
}

fn tell_call(value: &mut Value, call: &ToolCall) {
    value["tool"] = json!(call.name.as_str());
    value["call"] = json!(call.id.0);
    // Arguments that are not an object fail at planning; hooks always receive an object.
    value["tool_input"] = if call.args.is_object() { call.args.clone() } else { json!({}) };
}
