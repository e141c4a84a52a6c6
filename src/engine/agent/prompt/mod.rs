//! The system prompt and the tools that the model receives.
//!
//! `book` has the texts and their order, `shown` and `sent` them with their sources, `steering` what single models need, `template` fills texts in. Everything before
//! the conversation stays the same, byte for byte, until the book, the model or the tools change, so that providers can
//! cache it.

mod book;
mod parts;
mod sent;
mod steering;
mod template;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::context::{
    Omission, OmittedTools, ToolBudget, ViewLimits, ViewSettings, fit_tools, preamble_tokens, view,
};
use super::driver::{ActiveModel, AgentEnv};
use crate::approval::{AutoApprove, Policy};
use crate::config::Mode;
use crate::history::{History, SessionId, patch_dangling_tool_calls};
use crate::message::{Message, NoteKind, UserPart, images};
use crate::provider::{ModelRequest, RequestKind, ToolChoice, ToolList, ToolSchema};
use crate::sandbox::{Backend, Isolation};
use crate::session::Session;
use crate::stdx::clock::system_zone;
use crate::tool::{ToolSpec, Toolset};

pub use self::book::{
    ASPECTS, Aspect, DEFAULT_PERSONALITY, PERSONALITIES, PersonalityPart, PromptBook, Section, SectionSource,
    TemplateValues,
};
pub use self::parts::{PromptPart, PromptPosition, parts};
pub use self::sent::{SentConversation, SentError, SentPrompt, changed_prefix, sent_prompts, sent_request};
pub use self::steering::{Steering, Tier};
pub use self::template::TemplateError;

const SUMMARY: &str = include_str!("../../../../prompts/summary.md");
const TITLE: &str = include_str!("../../../../prompts/title.md");
const SITUATION: &str = include_str!("../../../../prompts/situation.md");

/// The text before the conversation, the same for every request of a turn to one model: nothing in it changes with time
/// or mode, so that providers can cache it together with the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Preamble {
    pub book: Arc<PromptBook>,
    pub tools: ToolList,
}

impl Preamble {
    /// Builds it for the turn that begins, in this folder.
    pub fn of(
        book: &Arc<PromptBook>,
        folder: &Path,
        policy: &Policy,
        (offered, room): (&Toolset, &ToolBudget),
    ) -> Self {
        let (tools, _) = tools(offered, policy, folder, room);
        Self { book: Arc::clone(book), tools: tools.into() }
    }

    /// Returns the sections of the system prompt for a model, in order.
    pub fn sections(&self, model: &ActiveModel) -> Vec<Section> {
        self.book.sections(Steering::of(model.provider.name(), &model.name))
    }

    /// Returns the system prompt for a model.
    pub fn system(&self, model: &ActiveModel) -> String {
        self.sections(model).into_iter().map(|section| section.text).collect::<Vec<_>>().join("\n\n")
    }

    /// Estimates the tokens of what precedes the conversation with a model.
    pub fn estimated_tokens(&self, model: &ActiveModel) -> u64 {
        preamble_tokens(&self.system(model), &self.tools)
    }
}

/// Builds the next request of a session.
pub fn request(
    session: &SessionId,
    history: &History,
    limits: ViewLimits,
    preamble: &Preamble,
    model: &ActiveModel,
    tool_choice: ToolChoice,
) -> ModelRequest {
    ModelRequest {
        provider: String::new(),
        model: model.name.clone(),
        system: preamble.system(model),
        messages: conversation(history, model.profile.images, limits).0,
        tools: preamble.tools.clone(),
        tool_choice,
        max_output_tokens: model.max_output_tokens,
        thinking: model.thinking,
        parallel_calls: model.parallel_calls,
        temperature: model.temperature,
        top_p: model.top_p,
        cache_key: Some(session.to_string()),
        profile: model.profile,
        purpose: RequestKind::Answer,
    }
}

/// Returns the messages that a model sees, which takes images or not (`None` = unknown), and what it does not see.
fn conversation(
    history: &History,
    images: Option<bool>,
    limits: ViewLimits,
) -> (Vec<Arc<Message>>, Vec<Omission>) {
    let said: Vec<_> = history.entries().iter().map(|(_, message)| visible(message, images)).collect();
    let (seen, mut left_out) = view(&said, limits);
    if history.entries().iter().zip(&said).any(|((_, kept), said)| !Arc::ptr_eq(kept, said)) {
        left_out.push(Omission::Images);
    }
    (patch_dangling_tool_calls(&seen), left_out)
}

/// Returns how much of a conversation the model sees: all of it, unless it is set or the window is unknown.
pub fn view_limits(set: ViewSettings, context_tokens: Option<u32>, model: &ActiveModel) -> ViewLimits {
    let known = context_tokens.is_some() || model.profile.window.is_some();
    let usual = if known { ViewLimits::default() } else { ViewLimits::UNKNOWN_WINDOW };
    set.or(usual)
}

/// Builds the request for a summary of quoted messages; `focus` is what the user wants it to keep.
pub fn summary_request(model: &ActiveModel, quoted: &str, focus: Option<&str>) -> ModelRequest {
    let focus = focus.map(|focus| format!("Keep above all, in detail: {focus}\n\n")).unwrap_or_default();
    side_request(
        model,
        RequestKind::Summary,
        SUMMARY,
        format!("{focus}Summarise this conversation:\n\n{quoted}"),
    )
}

/// Builds the request for a title of a conversation that begins with these quoted messages.
pub fn title_request(model: &ActiveModel, quoted: &str) -> ModelRequest {
    side_request(model, RequestKind::Title, TITLE, format!("Name this conversation:\n\n{quoted}"))
}

/// Builds a request outside of the conversation, without tools.
fn side_request(model: &ActiveModel, purpose: RequestKind, system: &str, text: String) -> ModelRequest {
    ModelRequest {
        system: system.trim().to_owned(),
        max_output_tokens: model.max_output_tokens,
        profile: model.profile,
        purpose,
        ..ModelRequest::new(model.name.clone(), vec![Message::user(text)])
    }
}

/// Returns the note on what applies now, if the conversation does not contain it yet.
pub fn new_situation(session: &Session, env: &AgentEnv) -> Option<UserPart> {
    let text = situation(&env.policy.borrow(), env.isolation, env.clock.now());
    let known = last_note(session.history(), &NoteKind::Situation) == Some(text.as_str());
    (!known).then_some(UserPart::Note { kind: NoteKind::Situation, text })
}

/// Returns the last note of a kind in the conversation.
pub(super) fn last_note<'a>(history: &'a History, wanted: &NoteKind) -> Option<&'a str> {
    history.entries().iter().rev().find_map(|(_, message)| {
        let Message::User { parts } = &**message else { return None };
        parts.iter().rev().find_map(|part| match part {
            UserPart::Note { kind, text } if kind == wanted => Some(text.as_str()),
            UserPart::Note { .. } | UserPart::Text { .. } | UserPart::Image { .. } => None,
        })
    })
}

/// Returns the message without images if the model takes none, with a note in their place: they may be from
/// before the user switched models.
fn visible(message: &Arc<Message>, images: Option<bool>) -> Arc<Message> {
    match images {
        Some(false) => images::left_out(message).map_or_else(|| Arc::clone(message), Arc::new),
        Some(true) | None => Arc::clone(message),
    }
}

/// Returns what applies now: the date, the mode and the sandbox.
pub fn situation(policy: &Policy, isolation: Isolation, now: Timestamp) -> String {
    let day = now.to_zoned(system_zone()).strftime("%A, %-d %B %Y").to_string();
    let mode = match (policy.mode, policy.auto_approve) {
        (Mode::Plan, _) => "plan: you may look but change nothing",
        (Mode::DryRun, _) => {
            "dry-run: changes and commands are not done, you get a preview of each and the user decides on all of them later"
        }
        (Mode::DeferAll, _) => "defer-all: every call waits for the user",
        (Mode::Ask, AutoApprove::Asking) => {
            "ask: reading runs at once, changes and commands ask the user unless a rule or the sandbox allows them"
        }
        (Mode::Auto, AutoApprove::Asking) => {
            "auto: reading, editing files here and commands that the sandbox holds run at once, other calls ask the user"
        }
        (Mode::Ask | Mode::Auto, AutoApprove::Yolo) => {
            "yolo: changes run without asking, commands without a sandbox still ask"
        }
        (Mode::Ask | Mode::Auto, AutoApprove::YoloUnsandboxed) => {
            "yolo: changes and commands run without asking"
        }
    };
    let sandbox = match isolation.backend {
        Backend::None => {
            "none: commands run with the user's own rights; each one asks, unless a rule of the user allows it"
                .to_owned()
        }
        Backend::Landlock | Backend::Bubblewrap | Backend::Docker => {
            let not_held = isolation.not_held();
            let but = match not_held.as_slice() {
                [] => String::new(),
                not_held => format!("; not prevented: writing to {}", not_held.join(" and ")),
            };
            let tools = match isolation.backend {
                Backend::Docker => "run in a container with tools of its own, read and write this folder",
                Backend::None | Backend::Landlock | Backend::Bubblewrap => {
                    "read the system and this folder and write this folder"
                }
            };
            format!(
                "{}: commands {tools} and $TMPDIR; other files and the network are out of reach{but}",
                isolation.backend.word()
            )
        }
    };
    let facts = [("date", day), ("mode", mode.into()), ("sandbox", sandbox)];
    let fill = |text: String, (name, value): &(&str, String)| text.replace(&format!("{{{name}}}"), value);
    facts.iter().fold(SITUATION.trim().to_owned(), fill)
}

/// Returns the tools that a model may use: those that no rule denies outright. Those for which there is no room are only
/// named.
pub fn tools(
    offered: &Toolset,
    policy: &Policy,
    folder: &Path,
    room: &ToolBudget,
) -> (Vec<ToolSchema>, Option<OmittedTools>) {
    let usable = offered.specs().filter(|spec| !policy.rules.hides(spec, folder));
    fit_tools(usable.map(|spec| (spec, schema(spec))).collect(), room)
}

/// Returns a tool's schema with the two scheduling fields that every tool gets (seed 002).
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
