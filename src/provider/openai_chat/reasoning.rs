//! Encodes a thinking level: hosts differ in the field, models in the values that they accept.

use serde_json::{Value, json};

use super::ReasoningStyle;
use crate::config::{ThinkingLevel, ThinkingStyle};
use crate::provider::ModelRequest;
use crate::provider::wire_text::level_of;

/// The thinking to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ask {
    Off,
    Level(&'static str),
    Tokens(u32),
}

/// Returns the field to send, if any.
pub fn field(request: &ModelRequest, style: ReasoningStyle) -> Option<(&'static str, Value)> {
    let ask = ask(request)?;
    let on = ask != Ask::Off;
    match style {
        ReasoningStyle::Effort => Some(("reasoning_effort", json!(effort(request, ask)?))),
        ReasoningStyle::ThinkingType => {
            Some(("thinking", json!({ "type": if on { "enabled" } else { "disabled" } })))
        }
        ReasoningStyle::EnableThinking => Some(("enable_thinking", json!(on))),
        ReasoningStyle::TemplateKwargs => Some(("chat_template_kwargs", json!({ "enable_thinking": on }))),
        ReasoningStyle::Object => Some((
            "reasoning",
            match ask {
                Ask::Off => json!({ "enabled": false }),
                Ask::Level(level) => json!({ "effort": level }),
                Ask::Tokens(tokens) => json!({ "max_tokens": tokens }),
            },
        )),
        ReasoningStyle::Unsupported => None,
    }
}

/// Returns the number of thinking tokens, for the one host with a separate field for it.
pub fn budget(request: &ModelRequest, style: ReasoningStyle) -> Option<u32> {
    match (ask(request)?, style) {
        (Ask::Tokens(tokens), ReasoningStyle::EnableThinking) => Some(tokens),
        (Ask::Off | Ask::Level(_) | Ask::Tokens(_), _) => None,
    }
}

fn ask(request: &ModelRequest) -> Option<Ask> {
    match (request.profile.thinking, request.thinking) {
        (ThinkingStyle::Never, _) | (_, ThinkingLevel::Default) => None,
        // A model that always thinks gets its lowest level.
        (ThinkingStyle::Always, ThinkingLevel::Off) => Some(Ask::Level(least(bare(request)))),
        (_, ThinkingLevel::Off) => Some(Ask::Off),
        (_, ThinkingLevel::Low) => Some(Ask::Level("low")),
        (_, ThinkingLevel::Medium) => Some(Ask::Level("medium")),
        (_, ThinkingLevel::High) => Some(Ask::Level("high")),
        (_, ThinkingLevel::Tokens(tokens)) => Some(Ask::Tokens(tokens)),
    }
}

/// Returns the name of the effort, where the model has one for the level.
fn effort(request: &ModelRequest, ask: Ask) -> Option<&'static str> {
    match ask {
        Ask::Level(level) => Some(level),
        Ask::Tokens(tokens) => Some(level_of(tokens)),
        Ask::Off => match request.profile.thinking {
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
