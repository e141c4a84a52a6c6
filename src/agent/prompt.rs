//! The system prompt and the tools as the model sees them.
//!
//! The texts live in `prompts/`; here they are only filled in. Everything before the conversation is
//! byte-stable within a day, so that providers can cache it.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::driver::{ActiveModel, AgentEnv};
use crate::approval::{Place, Policy, Standing};
use crate::config::Mode;
use crate::history::patch_dangling_tool_calls;
use crate::message::{Message, images};
use crate::provider::{ModelRequest, Profile, ToolChoice, ToolSchema};
use crate::sandbox::Isolation;
use crate::session::Session;
use crate::stdx::clock::system_zone;
use crate::tool::{Registry, ToolSpec};

const IDENTITY: &str = include_str!("../../prompts/identity.md");
const APPROVALS: &str = include_str!("../../prompts/approvals.md");
const TOOLS: &str = include_str!("../../prompts/tools.md");
const SITUATION: &str = include_str!("../../prompts/situation.md");

/// The next request of a session.
pub fn request(
    session: &Session,
    env: &AgentEnv,
    model: &ActiveModel,
    tool_choice: ToolChoice,
) -> ModelRequest {
    let history = session.history();
    let (system, tools) = preamble(session, env);
    let said: Vec<Arc<Message>> =
        history.entries().iter().map(|(_, message)| visible(message, &model.profile)).collect();
    ModelRequest {
        provider: String::new(),
        model: model.name.clone(),
        system,
        messages: patch_dangling_tool_calls(&said),
        tools,
        tool_choice,
        max_output_tokens: model.max_output_tokens,
        thinking: model.thinking,
        parallel_calls: model.parallel_calls,
        temperature: model.temperature,
        top_p: model.top_p,
        cache_key: Some(session.id().to_string()),
        profile: model.profile,
    }
}

/// What stands before the conversation: the system prompt and the tools.
pub fn preamble(session: &Session, env: &AgentEnv) -> (String, Vec<ToolSchema>) {
    let policy = env.policy.borrow().clone();
    let system = system(session.history().workspace(), &policy, env.isolation, env.clock.now());
    (system, tools(&env.registry, &policy, &env.place))
}

/// The message as the model can take it: an image of earlier, before the person switched to a model that sees none, is
/// left out and said to be.
fn visible(message: &Arc<Message>, profile: &Profile) -> Arc<Message> {
    match profile.images {
        Some(false) => images::left_out(message).map_or_else(|| Arc::clone(message), Arc::new),
        Some(true) | None => Arc::clone(message),
    }
}

/// The whole system prompt.
pub fn system(workspace: &Path, policy: &Policy, isolation: Isolation, now: Timestamp) -> String {
    let day = now.to_zoned(system_zone()).strftime("%A, %-d %B %Y").to_string();
    let mode = match (policy.mode, policy.standing) {
        (Mode::Plan, Standing::Asking | Standing::Yolo) => "plan: you may look but change nothing",
        (Mode::DryRun, Standing::Asking | Standing::Yolo) => {
            "dry-run: changes and commands are not done, you get a preview of each and the user decides on all of them later"
        }
        (Mode::DeferAll, Standing::Asking | Standing::Yolo) => "defer-all: every call waits for the user",
        (Mode::Ask, Standing::Asking) => "ask: reading runs at once, changes and commands ask the user",
        (Mode::Auto, Standing::Asking) => {
            "auto: reading and editing files here run at once, commands ask the user"
        }
        (Mode::Ask | Mode::Auto, Standing::Yolo) => {
            "yolo: changes run without asking, commands without a sandbox still ask"
        }
    };
    let sandbox = match isolation {
        Isolation::None => "none: commands run with the user's own rights, so each one asks",
        Isolation::Isolated => {
            "commands are shut in: files outside the folder and the network are out of reach"
        }
    };
    let facts = [
        ("date", day),
        ("folder", workspace.display().to_string()),
        ("mode", mode.into()),
        ("sandbox", sandbox.into()),
    ];
    let situation = facts
        .iter()
        .fold(SITUATION.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value));
    [IDENTITY, APPROVALS, TOOLS, &situation].map(str::trim).join("\n\n")
}

/// The tools a model may see: those no rule denies outright.
pub fn tools(registry: &Registry, policy: &Policy, place: &Place) -> Vec<ToolSchema> {
    registry.specs().filter(|spec| !policy.rules.hides(spec, &place.folder)).map(schema).collect()
}

/// A tool's schema with the two scheduling fields every tool gets (seed 002).
fn schema(spec: &ToolSpec) -> ToolSchema {
    let mut parameters = spec.parameters.clone();
    if let Some(properties) = parameters.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(
            super::links::LABEL.to_owned(),
            json!({ "type": "string", "description": "A name for this call that others of the same reply can run after." }),
        );
        properties.insert(
            super::links::AFTER.to_owned(),
            json!({
                "type": "array",
                "items": { "type": "string" },
                "description": "Labels of calls of the same reply that must succeed before this one runs.",
            }),
        );
    }
    ToolSchema { name: spec.name.0.clone(), description: spec.description.clone(), parameters }
}
