//! Encodes a thinking level: hosts differ in the field, models in the values that they accept.

use serde_json::{Value, json};

use super::ReasoningStyle;
use crate::config::{ThinkingLevel, ThinkingStyle};
use crate::provider::ModelRequest;
use crate::provider::wire_text::{level, level_of};

/// The thinking to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingRequest {
    Off,
    Level(&'static str),
    Tokens(u32),
}

/// Returns the field to send, if any.
pub fn field(request: &ModelRequest, style: ReasoningStyle) -> Option<(&'static str, Value)> {
    let ask = ask(request)?;
    let on = ask != ThinkingRequest::Off;
    match style {
        ReasoningStyle::ReasoningEffort => Some(("reasoning_effort", json!(effort(request, ask)?))),
        ReasoningStyle::ThinkingType => {
            Some(("thinking", json!({ "type": if on { "enabled" } else { "disabled" } })))
        }
        ReasoningStyle::EnableThinking => Some(("enable_thinking", json!(on))),
        ReasoningStyle::TemplateKwargs => Some(("chat_template_kwargs", json!({ "enable_thinking": on }))),
        ReasoningStyle::ReasoningObject => Some((
            "reasoning",
            match ask {
                ThinkingRequest::Off => json!({ "enabled": false }),
                ThinkingRequest::Level(level) => json!({ "effort": level }),
                ThinkingRequest::Tokens(tokens) => json!({ "max_tokens": tokens }),
            },
        )),
        ReasoningStyle::Unsupported => None,
    }
}

/// Returns the number of thinking tokens, for the one host with a separate field for it.
pub fn budget(request: &ModelRequest, style: ReasoningStyle) -> Option<u32> {
    match (ask(request)?, style) {
        (ThinkingRequest::Tokens(tokens), ReasoningStyle::EnableThinking) => Some(tokens),
        (ThinkingRequest::Off | ThinkingRequest::Level(_) | ThinkingRequest::Tokens(_), _) => None,
    }
}

fn ask(request: &ModelRequest) -> Option<ThinkingRequest> {
    match (request.profile.thinking, request.thinking) {
        (ThinkingStyle::Never, _) | (_, ThinkingLevel::Default) => None,
        // A model that always thinks gets its lowest level.
        (ThinkingStyle::Always, ThinkingLevel::Off) => Some(ThinkingRequest::Level(least(bare(request)))),
        (_, ThinkingLevel::Off) => Some(ThinkingRequest::Off),
        (_, ThinkingLevel::Tokens(tokens)) => Some(ThinkingRequest::Tokens(tokens)),
        (_, asked) => level(asked).map(ThinkingRequest::Level),
    }
}

/// Returns the name of the effort, where the model has one for the level.
fn effort(request: &ModelRequest, ask: ThinkingRequest) -> Option<&'static str> {
    match ask {
        ThinkingRequest::Level(level) => Some(level),
        ThinkingRequest::Tokens(tokens) => Some(level_of(tokens)),
        ThinkingRequest::Off => match request.profile.thinking {
            ThinkingStyle::Levels => Some("none"),
            // Only newer models can switch thinking off; the first gpt-5 has a lowest effort; others refuse
            // the field.
            ThinkingStyle::Unknown | ThinkingStyle::Budget if bare(request).starts_with("gpt-5.") => {
                Some("none")
            }
            ThinkingStyle::Unknown | ThinkingStyle::Budget if bare(request).starts_with("gpt-5") => {
                Some("minimal")
            }
            ThinkingStyle::Unknown | ThinkingStyle::Budget | ThinkingStyle::Never | ThinkingStyle::Always => {
                None
            }
        },
    }
}

fn least(model: &str) -> &'static str {
    let first_five = model.starts_with("gpt-5") && !model.starts_with("gpt-5.");
    if first_five { "minimal" } else { "low" }
}

/// Returns the model's name without the vendor's.
fn bare(request: &ModelRequest) -> &str {
    request.model.rsplit('/').next().unwrap_or(&request.model)
}
