//! Encodes a thinking level: a level's name, where the model accepts one.

use crate::config::{ThinkingLevel, ThinkingStyle};
use crate::provider::ModelRequest;
use crate::provider::wire_text;

/// Returns the effort to request; `None` = the request omits it.
pub fn effort(request: &ModelRequest) -> Option<&'static str> {
    let style = request.profile.thinking;
    match (style, request.thinking) {
        (ThinkingStyle::Never, _) | (_, ThinkingLevel::Default) => None,
        (ThinkingStyle::Levels, ThinkingLevel::Off) => Some("none"),
        (ThinkingStyle::Always, ThinkingLevel::Off) => least(&request.model),
        // Models that do not think by default, and unknown ones, get no effort.
        (ThinkingStyle::Unknown | ThinkingStyle::Budget, ThinkingLevel::Off) => None,
        (_, asked) => wire_text::level(asked),
    }
}

/// Returns the lowest effort of a model that always thinks. The first gpt-5 has a level below `low`; its
/// codex variants do not, and the pro models refuse every low effort, so their requests omit it.
fn least(model: &str) -> Option<&'static str> {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let first = bare == "gpt-5" || bare.starts_with("gpt-5-");
    if bare.contains("-pro") {
        return None;
    }
    Some(if first && !bare.contains("codex") { "minimal" } else { "low" })
}
