//! Plans and hooks under way: they look, and may be dropped at any moment.

use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;

use tokio::task::{Id, JoinSet};

use super::AgentEnv;
use crate::agent::turn::Input;
use crate::hook::{Hook, HookEvent, HookInput, HookSubject, HookVerdict};
use crate::message::{CallId, ToolCall};
use crate::session::Session;
use crate::tool::{CallPlan, PlanContext, ToolError};

/// What is being looked at.
#[derive(Default)]
pub(super) struct Looking {
    tasks: JoinSet<Looked>,
    /// Which call a task looks at, for the case that it panics.
    calls: HashMap<Id, (CallId, u32, Kind)>,
}

#[derive(Clone, Copy)]
enum Kind {
    Plan,
    Hook,
}

enum Looked {
    Planned(Result<CallPlan, ToolError>),
    Hooked(HookVerdict),
}

/// The planning context of a session as it is now.
pub(super) fn plan_context(env: &AgentEnv, session: &Session) -> PlanContext {
    PlanContext {
        workspace: session.history().workspace().to_owned(),
        spill: env.spill.clone(),
        seen: Arc::clone(session.history().seen()),
    }
}

impl Looking {
    pub(super) fn plan(&mut self, call: ToolCall, round: u32, env: &AgentEnv, session: &Session) {
        let context = plan_context(env, session);
        let tool = env.registry.get(&call.name).cloned();
        let id = call.id.clone();
        let task = self.tasks.spawn(async move {
            Looked::Planned(match tool {
                Some(tool) => tool.plan(&call.args, &context).await,
                None => Err(ToolError::Misuse { hint: format!("there is no tool `{}`", call.name) }),
            })
        });
        self.calls.insert(task.id(), (id, round, Kind::Plan));
    }

    /// Every matching hook looks in turn; the first that does not pass decides.
    pub(super) fn hook(&mut self, call: ToolCall, round: u32, env: &AgentEnv, session: &Session) {
        let wants = |hook: &&Arc<dyn Hook>| hook.wants(HookEvent::PreToolUse, Some(&call.name));
        let hooks: Vec<_> = env.hooks.iter().filter(wants).cloned().collect();
        let id = call.id.clone();
        let input = HookInput {
            session: session.id().to_string(),
            workspace: session.history().workspace().to_owned(),
            subject: HookSubject::PreToolUse { call },
        };
        let task = self.tasks.spawn(async move {
            for hook in hooks {
                let verdict = hook.fire(&input).await;
                if verdict != HookVerdict::Pass {
                    return Looked::Hooked(verdict);
                }
            }
            Looked::Hooked(HookVerdict::Pass)
        });
        self.calls.insert(task.id(), (id, round, Kind::Hook));
    }

    pub(super) fn is_idle(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn drop_all(&mut self) {
        self.tasks = JoinSet::new();
        self.calls.clear();
    }

    /// The next answer. Cancel-safe; never resolves while nothing is looked at.
    pub(super) async fn answered(&mut self) -> Input {
        loop {
            let Some(joined) = self.tasks.join_next_with_id().await else { return pending().await };
            let id = joined.as_ref().map_or_else(tokio::task::JoinError::id, |(id, _)| *id);
            let Some((call, round, kind)) = self.calls.remove(&id) else { continue };
            let looked = joined.map_or_else(|_| panicked(kind), |(_, looked)| looked);
            return match looked {
                Looked::Planned(result) => Input::Planned { call, round, result },
                Looked::Hooked(verdict) => Input::Hooked { call, round, verdict },
            };
        }
    }
}

/// A broken plan fails its call, a broken hook asks the person: neither lets anything through.
fn panicked(kind: Kind) -> Looked {
    match kind {
        Kind::Plan => Looked::Planned(Err(ToolError::Terminal {
            message: "the tool broke while it looked at this call; this is a bug in co".to_owned(),
        })),
        Kind::Hook => Looked::Hooked(HookVerdict::Ask { reason: "a hook broke on this call".to_owned() }),
    }
}
