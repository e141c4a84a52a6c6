//! The differences between hosts of Chat Completions, as data.
//!
//! Only what is *sent* differs; replies are decoded the same way for all hosts. Settings can change single
//! fields of [`Quirks`]: serde's names are what users write. The constants are the known hosts (`wire.md` §2,
//! "compat matrix"). Called by the encoder, by `catalog` and by `app`, which reads the settings.

use std::fmt::Display;

use serde::de::value::MapDeserializer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::provider::wire_text::IdShape;

/// The form of requests that a host accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quirks {
    pub max_tokens: MaxTokensField,
    pub system_role: SystemRole,
    pub reasoning: ReasoningStyle,
    pub thinking_back: ThinkingBack,
    pub thinking_field: ThinkingField,
    pub usage: UsageOption,
    pub strict: StrictSchemas,
    /// The tool's name in a tool message.
    pub tool_result_name: OptionalField,
    /// The form of call ids.
    pub ids: IdShape,
    pub empty_content: EmptyContent,
    pub store: StoreField,
    /// `false` where one call at a time is requested; all hosts allow several by default.
    pub parallel_tool_calls: OptionalField,
    pub tools: ToolsField,
    pub after_returns: AfterReturns,
    pub prompt_cache_key: OptionalField,
    pub cache_marks: CacheMarks,
}

/// Whether a field that not all hosts accept is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionalField {
    Unsaid,
    Sent,
}

/// The request field that limits the reply's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// Nearly all hosts.
    MaxTokens,
    /// OpenAI, whose reasoning models refuse the older field.
    MaxCompletionTokens,
}

/// The role of the system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    System,
    /// OpenAI's newer name; it accepts the older one too.
    Developer,
    /// Put before the first user message: for models that accept neither role.
    User,
}

/// The field for a thinking level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningStyle {
    /// `reasoning_effort: low|medium|high`.
    ReasoningEffort,
    /// `thinking: {type: enabled|disabled}` (z.ai, DeepSeek).
    ThinkingType,
    /// `enable_thinking: true|false`, with `thinking_budget` (Qwen at its own host).
    EnableThinking,
    /// `chat_template_kwargs: {enable_thinking}` (models with such a template behind vLLM or SGLang).
    TemplateKwargs,
    /// `reasoning: {effort|max_tokens|enabled}` (OpenRouter).
    ReasoningObject,
    /// The host has no such field.
    #[serde(rename = "none")]
    Unsupported,
}

/// Which replies' thinking is sent back to the model that created it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingBack {
    /// The host refuses it or does not need it.
    Never,
    /// With replies that call tools: DeepSeek and Kimi refuse a conversation without it.
    WithCalls,
    Always,
}

/// The field in which thinking is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingField {
    /// The field in which it came.
    AsItCame,
    ReasoningContent,
    Reasoning,
}

/// Whether `stream_options.include_usage` may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageOption {
    Ask,
    /// The host refuses the field, or always reports usage.
    Silent,
}

/// The `strict` field of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StrictSchemas {
    /// Omitted.
    Unsaid,
    /// `strict: false`: for hosts whose default is strict.
    Off,
    /// `strict: true` for each tool whose schema already meets the rules of strict mode; a schema is never
    /// changed to meet them, because omitted arguments would then arrive as nulls.
    WhereItFits,
}

/// The content of an assistant message that only calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyContent {
    /// `""`: accepted by all hosts.
    Empty,
    /// `null`, as OpenAI itself writes; some compatible servers refuse it.
    Null,
}

/// Whether the request tells the host not to store conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreField {
    Unsaid,
    /// `store: false`.
    Never,
}

/// The `tools` field of a request without tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolsField {
    Unsaid,
    /// An empty list where the conversation holds tool calls (Anthropic behind LiteLLM requires it; OpenAI
    /// refuses it).
    EmptyAfterCalls,
}

/// Messages that may follow tool messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterReturns {
    User,
    /// An assistant message must be between them and the user's; a short one is inserted.
    Assistant,
}

/// Whether prefixes to cache are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMarks {
    Never,
    /// `cache_control` on content parts, for Claude models (OpenRouter).
    ForClaude,
}

impl Quirks {
    /// An unknown host, and most known ones: only what all hosts accept.
    pub const COMPATIBLE: Self = Self {
        max_tokens: MaxTokensField::MaxTokens,
        system_role: SystemRole::System,
        reasoning: ReasoningStyle::ReasoningEffort,
        thinking_back: ThinkingBack::WithCalls,
        thinking_field: ThinkingField::AsItCame,
        usage: UsageOption::Ask,
        strict: StrictSchemas::Unsaid,
        tool_result_name: OptionalField::Unsaid,
        ids: IdShape::Any,
        empty_content: EmptyContent::Empty,
        store: StoreField::Unsaid,
        parallel_tool_calls: OptionalField::Sent,
        tools: ToolsField::Unsaid,
        after_returns: AfterReturns::User,
        prompt_cache_key: OptionalField::Unsaid,
        cache_marks: CacheMarks::Never,
    };

    /// api.openai.com.
    pub const OPENAI: Self = Self {
        max_tokens: MaxTokensField::MaxCompletionTokens,
        thinking_back: ThinkingBack::Never,
        strict: StrictSchemas::WhereItFits,
        empty_content: EmptyContent::Null,
        store: StoreField::Never,
        prompt_cache_key: OptionalField::Sent,
        ..Self::COMPATIBLE
    };

    /// OpenAI's models at Azure, at the v1 path.
    pub const AZURE: Self = Self { store: StoreField::Unsaid, ..Self::OPENAI };

    /// Requires ids of the form that it generates itself. Its thinking is part of the content.
    pub const MISTRAL: Self = Self { ids: IdShape::Nine, ..Self::COMPATIBLE };

    pub const DEEPSEEK: Self = Self { reasoning: ReasoningStyle::ThinkingType, ..Self::COMPATIBLE };

    /// Refuses unknown fields.
    pub const GROQ: Self = Self {
        max_tokens: MaxTokensField::MaxCompletionTokens,
        thinking_back: ThinkingBack::Never,
        ..Self::COMPATIBLE
    };

    /// Thinking is sent back as `reasoning_details`, which holds more than the plain field.
    pub const OPENROUTER: Self = Self {
        reasoning: ReasoningStyle::ReasoningObject,
        thinking_back: ThinkingBack::Never,
        cache_marks: CacheMarks::ForClaude,
        ..Self::COMPATIBLE
    };

    pub const XAI: Self = Self { thinking_back: ThinkingBack::Never, ..Self::COMPATIBLE };

    /// Refuses unknown fields.
    pub const CEREBRAS: Self = Self::GROQ;

    pub const LITELLM: Self = Self { tools: ToolsField::EmptyAfterCalls, ..Self::COMPATIBLE };

    /// Sets one quirk. Errs where the name or the value is unknown.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), QuirkError> {
        let mut fields = self.fields();
        if !fields.contains_key(name) {
            let known = fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(QuirkError::Unknown { name: name.to_owned(), known });
        }
        fields.insert(name.to_owned(), value.into());
        let texts = fields.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()));
        *self = Self::deserialize(MapDeserializer::new(texts)).map_err(|UnknownValue(known)| {
            QuirkError::Value { name: name.to_owned(), value: value.to_owned(), known: known.join(", ") }
        })?;
        Ok(())
    }

    /// Returns all quirks by name, in the order of the fields.
    fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) | Err(_) => Map::new(),
        }
    }
}

/// Why a quirk cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuirkError {
    #[error("there is no quirk `{name}`; known are {known}")]
    Unknown { name: String, known: String },
    #[error("`{value}` is not a value of the quirk `{name}`; it takes {known}")]
    Value { name: String, value: String, known: String },
}

/// Serde's report of a value that a quirk does not take, with those that it takes.
#[derive(Debug, thiserror::Error)]
#[error("expected one of {0:?}")]
struct UnknownValue(&'static [&'static str]);

impl serde::de::Error for UnknownValue {
    fn custom<T: Display>(_: T) -> Self {
        Self(&[])
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names and values that users write in their settings, as the errors list them.
    #[test]
    fn quirks_keep_their_names_and_values() {
        let reasoning =
            "reasoning_effort, thinking_type, enable_thinking, template_kwargs, reasoning_object, none";
        let rows = [
            ("max_tokens", "max_tokens, max_completion_tokens"),
            ("system_role", "system, developer, user"),
            ("reasoning", reasoning),
            ("thinking_back", "never, with_calls, always"),
            ("thinking_field", "as_it_came, reasoning_content, reasoning"),
            ("usage", "ask, silent"),
            ("strict", "unsaid, off, where_it_fits"),
            ("tool_result_name", "unsaid, sent"),
            ("ids", "any, nine"),
            ("empty_content", "empty, null"),
            ("store", "unsaid, never"),
            ("parallel_tool_calls", "unsaid, sent"),
            ("tools", "unsaid, empty_after_calls"),
            ("after_returns", "user, assistant"),
            ("prompt_cache_key", "unsaid, sent"),
            ("cache_marks", "never, for_claude"),
        ];
        let mut quirks = Quirks::OPENAI;
        let names = rows.map(|(name, _)| name).join(", ");
        let unknown = quirks.set("colour", "red").unwrap_err();
        assert_eq!(unknown.to_string(), format!("there is no quirk `colour`; known are {names}"));
        for (name, values) in rows {
            let wrong = quirks.set(name, "odd").unwrap_err().to_string();
            let expected = format!("`odd` is not a value of the quirk `{name}`; it takes {values}");
            assert_eq!((wrong, quirks), (expected, Quirks::OPENAI));
            for value in values.split(", ") {
                quirks.set(name, value).unwrap();
                assert_eq!(quirks.fields().get(name), Some(&Value::from(value)), "{name}");
            }
            quirks = Quirks::OPENAI;
        }
    }
}
