//! How a thinking level is asked for: hosts differ in the field, models in what they take.

use serde_json::{Value, json};

use super::ReasoningStyle;
use crate::provider::wire_text::level_of;
use crate::provider::{ModelRequest, ThinkingLevel, ThinkingStyle};

/// What is asked of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ask {
    Off,
    Level(&'static str),
    Tokens(u32),
}

/// The field to send, if there is one.
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

/// The number of thinking tokens, for the one host that takes it in a field of its own.
pub fn budget(request: &ModelRequest, style: ReasoningStyle) -> Option<u32> {
    match (ask(request)?, style) {
        (Ask::Tokens(tokens), ReasoningStyle::EnableThinking) => Some(tokens),
        (Ask::Off | Ask::Level(_) | Ask::Tokens(_), _) => None,
    }
}

fn ask(request: &ModelRequest) -> Option<Ask> {
    match (request.profile.thinking, request.thinking) {
        (ThinkingStyle::Never, _) | (_, ThinkingLevel::Default) => None,
        // What always thinks can at best think little.
        (ThinkingStyle::Always, ThinkingLevel::Off) => Some(Ask::Level(least(bare(request)))),
        (_, ThinkingLevel::Off) => Some(Ask::Off),
        (_, ThinkingLevel::Low) => Some(Ask::Level("low")),
        (_, ThinkingLevel::Medium) => Some(Ask::Level("medium")),
        (_, ThinkingLevel::High) => Some(Ask::Level("high")),
        (_, ThinkingLevel::Tokens(tokens)) => Some(Ask::Tokens(tokens)),
    }
}

/// The effort's word, where the level asks for one that the model knows.
fn effort(request: &ModelRequest, ask: Ask) -> Option<&'static str> {
    match ask {
        Ask::Level(level) => Some(level),
        Ask::Tokens(tokens) => Some(level_of(tokens)),
        Ask::Off => match request.profile.thinking {
            ThinkingStyle::Levels => Some("none"),
            // Only newer models can leave it out; the first gpt-5 has a least effort; others refuse the field.
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

/// The model's name without its maker's.
fn bare(request: &ModelRequest) -> &str {
    request.model.rsplit('/').next().unwrap_or(&request.model)
}
