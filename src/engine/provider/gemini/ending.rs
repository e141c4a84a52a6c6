//! Converts the end and the usage of a reply to our own terms (`wire.md` §0).

use serde_json::Value;

use crate::message::{StopKind, StopReason, Usage};
use crate::provider::json_fields::string;
use crate::provider::{ErrorClass, ProviderError};

/// The finish reasons by number, which Vertex sends where enums are requested as numbers.
const NUMBERED: [&str; 17] = [
    UNSPECIFIED,
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "IMAGE_OTHER",
    "UNEXPECTED_TOOL_CALL",
    "NO_IMAGE",
];

const UNSPECIFIED: &str = "FINISH_REASON_UNSPECIFIED";

/// Finish reasons of replies that the service discards; the model often succeeds when asked again.
const BAD_REPLIES: [&str; 5] = [
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MALFORMED_RESPONSE",
    "NO_IMAGE",
];

/// Finish reasons of filters.
const FILTERS: [&str; 7] =
    ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "LANGUAGE"];

/// The reported end of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct GeminiEnd {
    raw: String,
    message: Option<String>,
    kind: StopKind,
}

impl GeminiEnd {
    /// Reads the end from a candidate, if it has a finish reason.
    pub fn of_candidate(candidate: &Value) -> Option<Self> {
        let raw = match candidate.get("finishReason")? {
            Value::String(word) if word.is_empty() || word == UNSPECIFIED => return None,
            Value::String(word) => word.clone(),
            Value::Number(number) => {
                let named = number.as_u64().and_then(|number| usize::try_from(number).ok());
                match named.and_then(|number| NUMBERED.get(number)) {
                    Some(&UNSPECIFIED) => return None,
                    Some(word) => (*word).to_owned(),
                    None => number.to_string(),
                }
            }
            _ => return None,
        };
        let kind = match raw.as_str() {
            "STOP" => StopKind::EndTurn,
            "MAX_TOKENS" => StopKind::MaxTokens,
            word if FILTERS.contains(&word) || word.starts_with("IMAGE_") => StopKind::Refusal,
            _ => StopKind::Other,
        };
        Some(Self { raw, message: string(candidate, "finishMessage"), kind })
    }

    /// Reads the end from the feedback on a blocked prompt: such a reply has no candidate.
    pub fn of_prompt(event: &Value) -> Option<Self> {
        let feedback = event.get("promptFeedback")?;
        let reason = match feedback.get("blockReason")? {
            Value::String(word) if !word.is_empty() => word.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        let message = string(feedback, "blockReasonMessage");
        Some(Self { raw: format!("promptFeedback:{reason}"), message, kind: StopKind::Refusal })
    }

    /// Whether every call of the reply is complete: no other ending guarantees it.
    pub fn is_stop(&self) -> bool {
        self.kind == StopKind::EndTurn
    }

    /// Returns the stop reason. Calls in the reply take precedence, because this wire has no reason for them.
    pub fn reason(&self, calls: usize) -> StopReason {
        let kind = if self.is_stop() && calls > 0 { StopKind::ToolUse } else { self.kind };
        let explained = matches!(kind, StopKind::Refusal | StopKind::Other);
        let detail = self.message.clone().filter(|_| explained);
        StopReason { kind, raw: Some(self.raw.clone()), detail }
    }

    /// Returns the error for a reply that the service discarded.
    pub fn failure(&self) -> Option<ProviderError> {
        if !BAD_REPLIES.contains(&self.raw.as_str()) {
            return None;
        }
        let unsaid = || format!("the service discarded the model's reply: {}", self.raw);
        let error = ProviderError::new(ErrorClass::BadReply, self.message.clone().unwrap_or_else(unsaid));
        Some(ProviderError { code: Some(self.raw.clone()), ..error })
    }
}

/// Reads token counts: input includes caches, output includes thoughts. `None` where nothing was counted:
/// chunks of Vertex may report only their traffic type.
pub fn usage(reported: &Value) -> Option<Usage> {
    let (mut prompt, mut tools, mut said, mut thought, mut cached, mut total) =
        (None, None, None, None, None, None);
    // A single pass, because this runs for every chunk.
    for (key, count) in reported.as_object()? {
        let place = match key.as_str() {
            "promptTokenCount" => &mut prompt,
            "toolUsePromptTokenCount" => &mut tools,
            "candidatesTokenCount" => &mut said,
            "thoughtsTokenCount" => &mut thought,
            "cachedContentTokenCount" => &mut cached,
            "totalTokenCount" => &mut total,
            _ => continue,
        };
        *place = count.as_u64();
    }
    // This wire omits counts of zero.
    prompt.or(said).or(thought).or(total)?;
    Some(Usage {
        input: prompt.map(|prompt: u64| prompt.saturating_add(tools.unwrap_or(0))),
        output: Some(said.unwrap_or(0).saturating_add(thought.unwrap_or(0))),
        cached_input: cached,
        cache_write: None,
        reasoning: thought,
        cost: None,
    })
}
