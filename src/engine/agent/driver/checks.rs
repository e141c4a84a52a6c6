//! Plans and hooks in progress: they have no side effects and may be dropped at any time.

use std::future::pending;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;

use futures::FutureExt as _;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::AgentEnv;
use crate::agent::effect::Input;
use crate::hook::{Hook, HookEvent, HookInput, HookSubject, HookVerdict};
use crate::message::ToolCall;
use crate::session::Session;
use crate::tool::{PlanContext, Tool, ToolError};

/// The plans and hooks in progress.
#[derive(Default)]
pub(super) struct RunningChecks {
    tasks: JoinSet<Input>,
}

const HAS_KEY: &str = "the arguments contain a key of this program, which is never passed to a tool; do it without the key, \
                       for example by the name of a variable that the command's own environment has";

/// Returns the planning context of a session as it is now.
pub(super) fn plan_context(env: &AgentEnv, session: &Session) -> PlanContext {
    PlanContext {
        workspace: session.history().workspace().to_owned(),
        spill: env.spill.clone(),
        own: Arc::clone(&env.own),
        seen: Arc::clone(session.history().seen_versions()),
    }
}

impl RunningChecks {
    pub(super) fn plan(
        &mut self,
        (call, round): (ToolCall, u32),
        tool: Option<Arc<dyn Tool>>,
        env: &AgentEnv,
        session: &Session,
    ) {
        let context = plan_context(env, session);
        // Its record would hold a mark in place of the key, so that another call would be decided, or run later.
        let has_key = session.store().conceals(&call.args);
        let id = call.id.clone();
        let span = tracing::info_span!("plan", otel.name = %format!("plan {}", call.name), gen_ai.tool.call.id = %id);
        let planning = async move {
            match tool {
                Some(_) if has_key => Err(ToolError::Misuse(HAS_KEY.to_owned())),
                Some(tool) => tool.plan(&call.args, &context).await,
                None => Err(ToolError::Misuse(format!("there is no tool `{}`", call.name))),
            }
        };
        let planned = AssertUnwindSafe(planning.instrument(span)).catch_unwind();
        self.tasks.spawn(async move {
            // A plan that panics fails its call: it does not run.
            let message = "the tool crashed while planning this call; this is a bug in co";
            let crashed = |_| Err(ToolError::Terminal(message.to_owned()));
            Input::Planned { call: id, round, result: planned.await.unwrap_or_else(crashed) }
        });
    }

    /// Runs every matching hook in order, each on the call as the earlier ones changed it. The strictest
    /// verdict counts (the first of equals): a denial ends the run, an ask beats a rewrite, any beats allow.
    pub(super) fn hook(&mut self, call: ToolCall, round: u32, env: &AgentEnv, session: &Session) {
        let wants = |hook: &&Arc<dyn Hook>| hook.wants(HookEvent::PreToolUse, Some(&call.name));
        let hooks: Vec<_> = env.hooks.iter().filter(wants).cloned().collect();
        let id = call.id.clone();
        let (session, workspace) = (session.id().to_string(), session.history().workspace().to_owned());
        let running = async move {
            let mut call = call;
            let mut word = HookVerdict::Pass;
            for hook in hooks {
                let subject = HookSubject::PreToolUse { call: call.clone() };
                let (session, workspace) = (session.clone(), workspace.clone());
                let verdict = hook.fire(&HookInput { session, workspace, subject }).await;
                if let HookVerdict::Rewrite { args } = &verdict {
                    call.args.clone_from(args);
                }
                if strictness(&verdict) > strictness(&word) || is_rewritten_again(&word, &verdict) {
                    word = verdict;
                }
                if let HookVerdict::Deny { .. } = word {
                    break;
                }
            }
            word
        };
        let answered = AssertUnwindSafe(running.in_current_span()).catch_unwind();
        self.tasks.spawn(async move {
            // A hook that panics asks the user: nothing runs by itself.
            let crashed = |_| HookVerdict::Ask { reason: "a hook crashed on this call".to_owned() };
            Input::Hooked { call: id, round, verdict: answered.await.unwrap_or_else(crashed) }
        });
    }

    pub(super) fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(super) fn drop_all(&mut self) {
        self.tasks = JoinSet::new();
    }

    /// Returns the next result. Cancel-safe; never resolves while nothing is in progress.
    pub(super) async fn next_result(&mut self) -> Input {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(input)) => return input,
                // A value that panics as it is dropped: the turn must not wait for an answer that does not come.
                Some(Err(error)) if error.is_panic() => resume_unwind(error.into_panic()),
                // The runtime ends.
                Some(Err(_)) => {}
                None => return pending().await,
            }
        }
    }
}

/// Ranks verdicts about a call; a note is none.
fn strictness(verdict: &HookVerdict) -> u8 {
    match verdict {
        HookVerdict::Pass | HookVerdict::Note { .. } => 0,
        HookVerdict::Allow { .. } => 1,
        HookVerdict::Rewrite { .. } => 2,
        HookVerdict::Ask { .. } | HookVerdict::Defer { .. } => 3,
        HookVerdict::Deny { .. } => 4,
    }
}

/// Whether a later hook rewrote what the earlier one had written.
fn is_rewritten_again(word: &HookVerdict, verdict: &HookVerdict) -> bool {
    matches!((word, verdict), (HookVerdict::Rewrite { .. }, HookVerdict::Rewrite { .. }))
}
