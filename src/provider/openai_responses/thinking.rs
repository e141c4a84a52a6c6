//! How a thinking level is asked for: one word, where the model takes one.

use crate::provider::wire_text::level_of;
use crate::provider::{ModelRequest, ThinkingLevel, ThinkingStyle};

/// The effort to ask for; `None` = the request says nothing of it.
pub fn effort(request: &ModelRequest) -> Option<&'static str> {
    let style = request.profile.thinking;
    match (style, request.thinking) {
        (ThinkingStyle::Never, _) | (_, ThinkingLevel::Default) => None,
        (_, ThinkingLevel::Low) => Some("low"),
        (_, ThinkingLevel::Medium) => Some("medium"),
        (_, ThinkingLevel::High) => Some("high"),
        (_, ThinkingLevel::Tokens(tokens)) => Some(level_of(tokens)),
        (ThinkingStyle::Levels, ThinkingLevel::Off) => Some("none"),
        (ThinkingStyle::Always, ThinkingLevel::Off) => least(&request.model),
        // Who does not think unasked, or of whom nobody knows, is left alone.
        (ThinkingStyle::Unknown | ThinkingStyle::Budget, ThinkingLevel::Off) => None,
    }
}

/// The least effort of a model that always thinks. The first gpt-5 has a word below `low`; its codex forms do not, and
/// the pro models refuse every low effort, so they are left alone.
fn least(model: &str) -> Option<&'static str> {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let first = bare == "gpt-5" || bare.starts_with("gpt-5-");
    if bare.contains("-pro") {
        return None;
    }
    Some(if first && !bare.contains("codex") { "minimal" } else { "low" })
}
