//! The differences between hosts of Chat Completions, as data.
//!
//! Only what is *sent* differs; replies are decoded the same way for all hosts. [`QUIRKS`] names each
//! difference and its values, so that settings can change a single one; the constants are the known hosts
//! (`wire.md` §2, "compat matrix"). Called by the encoder, by `catalog` and by `app`, which reads the
//! settings.

use crate::provider::wire_text::IdShape;

/// The form of requests that a host accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quirks {
    pub max_tokens: MaxTokensField,
    pub system_role: SystemRole,
    pub reasoning: ReasoningStyle,
    pub thinking_back: ThinkingBack,
    pub thinking_field: ThinkingField,
    pub usage: UsageOption,
    pub strict: StrictSchemas,
    pub tool_result_name: ToolResultName,
    pub ids: IdShape,
    pub empty_content: EmptyContent,
    pub store: StoreField,
    pub parallel: ParallelField,
    pub tools: ToolsField,
    pub after_returns: AfterReturns,
    pub cache_key: CacheKeyField,
    pub cache_marks: CacheMarks,
}

/// The request field that limits the reply's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxTokensField {
    /// `max_completion_tokens`: OpenAI, whose reasoning models refuse the older field.
    MaxCompletionTokens,
    /// `max_tokens`: nearly all other hosts.
    MaxTokens,
}

/// The role of the system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemRole {
    System,
    /// OpenAI's newer name; it accepts the older one too.
    Developer,
    /// Put before the first user message: for models that accept neither role.
    User,
}

/// The field for a thinking level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningStyle {
    /// `reasoning_effort: low|medium|high`.
    Effort,
    /// `thinking: {type: enabled|disabled}` (z.ai, DeepSeek).
    ThinkingType,
    /// `enable_thinking: true|false`, with `thinking_budget` (Qwen at its own host).
    EnableThinking,
    /// `chat_template_kwargs: {enable_thinking}` (models with such a template behind vLLM or SGLang).
    TemplateKwargs,
    /// `reasoning: {effort|max_tokens|enabled}` (OpenRouter).
    Object,
    /// The host has no such field.
    Unsupported,
}

/// Which replies' thinking is sent back to the model that created it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingBack {
    /// The host refuses it or does not need it.
    Never,
    /// With replies that call tools: DeepSeek and Kimi refuse a conversation without it.
    WithCalls,
    Always,
}

/// The field in which thinking is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingField {
    /// The field in which it came.
    AsItCame,
    ReasoningContent,
    Reasoning,
}

/// Whether `stream_options.include_usage` may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageOption {
    Ask,
    /// The host refuses the field, or always reports usage.
    Silent,
}

/// The `strict` field of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrictSchemas {
    /// Omitted.
    Unsaid,
    /// `strict: false`: for hosts whose default is strict.
    Off,
    /// `strict: true` for each tool whose schema already meets the rules of strict mode; a schema is never
    /// changed to meet them, because omitted arguments would then arrive as nulls.
    WhereItFits,
}

/// Whether a tool message has the tool's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolResultName {
    Unsaid,
    Sent,
}

/// The content of an assistant message that only calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyContent {
    /// `""`: accepted by all hosts.
    Empty,
    /// `null`, as OpenAI itself writes; some compatible servers refuse it.
    Null,
}

/// Whether the request tells the host not to store conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreField {
    Unsaid,
    /// `store: false`.
    Never,
}

/// Whether `parallel_tool_calls` may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParallelField {
    Unsaid,
    /// `false` where one call at a time is requested; all hosts allow several by default.
    Sent,
}

/// The `tools` field of a request without tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolsField {
    Unsaid,
    /// An empty list where the conversation holds tool calls (Anthropic behind LiteLLM requires it; OpenAI
    /// refuses it).
    EmptyAfterCalls,
}

/// Whether a user message may follow tool messages directly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterReturns {
    UserMayFollow,
    /// An assistant message must be between them; a short one is inserted.
    AssistantFirst,
}

/// Whether `prompt_cache_key` may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheKeyField {
    Unsaid,
    Sent,
}

/// Whether prefixes to cache are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheMarks {
    Never,
    /// `cache_control` on content parts, for Claude models (OpenRouter).
    ForClaude,
}

impl Quirks {
    /// An unknown host: only what all hosts accept.
    pub const COMPATIBLE: Self = Self {
        max_tokens: MaxTokensField::MaxTokens,
        system_role: SystemRole::System,
        reasoning: ReasoningStyle::Effort,
        thinking_back: ThinkingBack::WithCalls,
        thinking_field: ThinkingField::AsItCame,
        usage: UsageOption::Ask,
        strict: StrictSchemas::Unsaid,
        tool_result_name: ToolResultName::Unsaid,
        ids: IdShape::Any,
        empty_content: EmptyContent::Empty,
        store: StoreField::Unsaid,
        parallel: ParallelField::Sent,
        tools: ToolsField::Unsaid,
        after_returns: AfterReturns::UserMayFollow,
        cache_key: CacheKeyField::Unsaid,
        cache_marks: CacheMarks::Never,
    };

    /// api.openai.com.
    pub const OPENAI: Self = Self {
        max_tokens: MaxTokensField::MaxCompletionTokens,
        thinking_back: ThinkingBack::Never,
        strict: StrictSchemas::WhereItFits,
        empty_content: EmptyContent::Null,
        store: StoreField::Never,
        cache_key: CacheKeyField::Sent,
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
        reasoning: ReasoningStyle::Object,
        thinking_back: ThinkingBack::Never,
        cache_marks: CacheMarks::ForClaude,
        ..Self::COMPATIBLE
    };

    pub const XAI: Self = Self { thinking_back: ThinkingBack::Never, ..Self::COMPATIBLE };
    pub const TOGETHER: Self = Self::COMPATIBLE;
    pub const FIREWORKS: Self = Self::COMPATIBLE;

    /// Refuses unknown fields.
    pub const CEREBRAS: Self = Self {
        max_tokens: MaxTokensField::MaxCompletionTokens,
        thinking_back: ThinkingBack::Never,
        ..Self::COMPATIBLE
    };

    /// Ollama's OpenAI-compatible endpoint; its own protocol has more fields.
    pub const OLLAMA: Self = Self::COMPATIBLE;
    pub const LMSTUDIO: Self = Self::COMPATIBLE;
    pub const LLAMACPP: Self = Self::COMPATIBLE;
    pub const VLLM: Self = Self::COMPATIBLE;
    pub const LITELLM: Self = Self { tools: ToolsField::EmptyAfterCalls, ..Self::COMPATIBLE };

    /// Sets one of [`QUIRKS`]. Errs where the name or the value is unknown.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), QuirkError> {
        let row = QUIRKS
            .iter()
            .find(|row| row.name == name)
            .ok_or_else(|| QuirkError::Unknown { name: name.to_owned(), known: names() })?;
        let known = || row.values.iter().map(|(value, _)| *value).collect::<Vec<_>>().join(", ");
        let (_, change) = row
            .values
            .iter()
            .find(|(known, _)| *known == value)
            .ok_or_else(|| QuirkError::Value { name: row.name, value: value.to_owned(), known: known() })?;
        change(self);
        Ok(())
    }
}

/// Why a quirk cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuirkError {
    #[error("there is no quirk `{name}`; known are {known}")]
    Unknown { name: String, known: String },
    #[error("`{value}` is no value of the quirk `{name}`; it takes {known}")]
    Value { name: &'static str, value: String, known: String },
}

fn names() -> String {
    QUIRKS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

/// One difference between hosts, under its name in the settings.
#[derive(Debug, Clone, Copy)]
pub struct QuirkRow {
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    pub values: &'static [QuirkValue],
}

/// A value's name in the settings, and the function that applies it.
pub type QuirkValue = (&'static str, fn(&mut Quirks));

/// All differences that settings can change.
pub const QUIRKS: &[QuirkRow] = &[
    QuirkRow {
        name: "max_tokens",
        about: "The field that limits a reply's length",
        values: &[
            ("max_tokens", |quirks| quirks.max_tokens = MaxTokensField::MaxTokens),
            ("max_completion_tokens", |quirks| quirks.max_tokens = MaxTokensField::MaxCompletionTokens),
        ],
    },
    QuirkRow {
        name: "system_role",
        about: "Who says the system prompt",
        values: &[
            ("system", |quirks| quirks.system_role = SystemRole::System),
            ("developer", |quirks| quirks.system_role = SystemRole::Developer),
            ("user", |quirks| quirks.system_role = SystemRole::User),
        ],
    },
    QuirkRow {
        name: "reasoning",
        about: "How a thinking level is asked for",
        values: &[
            ("reasoning_effort", |quirks| quirks.reasoning = ReasoningStyle::Effort),
            ("thinking_type", |quirks| quirks.reasoning = ReasoningStyle::ThinkingType),
            ("enable_thinking", |quirks| quirks.reasoning = ReasoningStyle::EnableThinking),
            ("template_kwargs", |quirks| quirks.reasoning = ReasoningStyle::TemplateKwargs),
            ("reasoning_object", |quirks| quirks.reasoning = ReasoningStyle::Object),
            ("none", |quirks| quirks.reasoning = ReasoningStyle::Unsupported),
        ],
    },
    QuirkRow {
        name: "thinking_back",
        about: "Which replies' thinking is sent back",
        values: &[
            ("never", |quirks| quirks.thinking_back = ThinkingBack::Never),
            ("with_calls", |quirks| quirks.thinking_back = ThinkingBack::WithCalls),
            ("always", |quirks| quirks.thinking_back = ThinkingBack::Always),
        ],
    },
    QuirkRow {
        name: "thinking_field",
        about: "The field in which thinking is sent back",
        values: &[
            ("as_it_came", |quirks| quirks.thinking_field = ThinkingField::AsItCame),
            ("reasoning_content", |quirks| quirks.thinking_field = ThinkingField::ReasoningContent),
            ("reasoning", |quirks| quirks.thinking_field = ThinkingField::Reasoning),
        ],
    },
    QuirkRow {
        name: "usage",
        about: "Whether usage is asked for (stream_options)",
        values: &[
            ("ask", |quirks| quirks.usage = UsageOption::Ask),
            ("silent", |quirks| quirks.usage = UsageOption::Silent),
        ],
    },
    QuirkRow {
        name: "strict",
        about: "What tools say about strict schemas",
        values: &[
            ("unsaid", |quirks| quirks.strict = StrictSchemas::Unsaid),
            ("off", |quirks| quirks.strict = StrictSchemas::Off),
            ("where_it_fits", |quirks| quirks.strict = StrictSchemas::WhereItFits),
        ],
    },
    QuirkRow {
        name: "tool_result_name",
        about: "Whether tool messages name their tool",
        values: &[
            ("unsaid", |quirks| quirks.tool_result_name = ToolResultName::Unsaid),
            ("sent", |quirks| quirks.tool_result_name = ToolResultName::Sent),
        ],
    },
    QuirkRow {
        name: "ids",
        about: "The shape of call ids",
        values: &[("any", |quirks| quirks.ids = IdShape::Any), ("nine", |quirks| quirks.ids = IdShape::Nine)],
    },
    QuirkRow {
        name: "empty_content",
        about: "The content of a message that only calls tools",
        values: &[
            ("empty", |quirks| quirks.empty_content = EmptyContent::Empty),
            ("null", |quirks| quirks.empty_content = EmptyContent::Null),
        ],
    },
    QuirkRow {
        name: "store",
        about: "Whether the host is told not to keep conversations",
        values: &[
            ("unsaid", |quirks| quirks.store = StoreField::Unsaid),
            ("never", |quirks| quirks.store = StoreField::Never),
        ],
    },
    QuirkRow {
        name: "parallel_tool_calls",
        about: "Whether one call at a time can be asked for",
        values: &[
            ("unsaid", |quirks| quirks.parallel = ParallelField::Unsaid),
            ("sent", |quirks| quirks.parallel = ParallelField::Sent),
        ],
    },
    QuirkRow {
        name: "tools",
        about: "What stands for tools where there are none",
        values: &[
            ("unsaid", |quirks| quirks.tools = ToolsField::Unsaid),
            ("empty_after_calls", |quirks| quirks.tools = ToolsField::EmptyAfterCalls),
        ],
    },
    QuirkRow {
        name: "after_returns",
        about: "What may follow tool messages",
        values: &[
            ("user", |quirks| quirks.after_returns = AfterReturns::UserMayFollow),
            ("assistant", |quirks| quirks.after_returns = AfterReturns::AssistantFirst),
        ],
    },
    QuirkRow {
        name: "prompt_cache_key",
        about: "Whether the cache key is sent",
        values: &[
            ("unsaid", |quirks| quirks.cache_key = CacheKeyField::Unsaid),
            ("sent", |quirks| quirks.cache_key = CacheKeyField::Sent),
        ],
    },
    QuirkRow {
        name: "cache_marks",
        about: "Whether prefixes worth caching are marked",
        values: &[
            ("never", |quirks| quirks.cache_marks = CacheMarks::Never),
            ("for_claude", |quirks| quirks.cache_marks = CacheMarks::ForClaude),
        ],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Each row has distinct values, and from any host's constant each value can be set.
    #[test]
    fn every_quirk_can_be_set() {
        let mut names = HashSet::new();
        for row in QUIRKS {
            assert!(names.insert(row.name) && !row.about.is_empty(), "{}", row.name);
            let mut found = Vec::new();
            for (value, _) in row.values {
                let mut quirks = Quirks::OPENAI;
                quirks.set(row.name, value).unwrap();
                assert!(!found.contains(&quirks), "{} = {value}", row.name);
                found.push(quirks);
            }
            assert!(found.contains(&Quirks::OPENAI), "{} has the value of OpenAI", row.name);
        }
    }

    #[test]
    fn what_is_no_quirk_is_said() {
        let said = |name: &str, value: &str| {
            let mut quirks = Quirks::COMPATIBLE;
            let error = quirks.set(name, value).unwrap_err().to_string();
            assert_eq!(quirks, Quirks::COMPATIBLE);
            error
        };
        assert_eq!(said("ids", "long"), "`long` is no value of the quirk `ids`; it takes any, nine");
        assert!(
            said("colour", "red")
                .starts_with("there is no quirk `colour`; known are max_tokens, system_role,")
        );
    }
}
