//! The parts of the assembled prompt: each with its source, its tokens and its position.

use serde::{Deserialize, Serialize};

use super::Preamble;
use crate::agent::context::{preamble_tokens, text_tokens};
use crate::agent::driver::ActiveModel;
use crate::provider::ToolSchema;
use crate::stdx::names::names;

/// The position of a part in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptPosition {
    /// In the system prompt, before the conversation: a provider's cache holds it, and a change of it is read anew.
    Prefix,
    /// In the list of tools, also before the conversation.
    Tools,
    /// A note in the conversation: a change of it leaves the prefix as it is.
    Tail,
    /// Any other part of the conversation.
    Conversation,
}

impl PromptPosition {
    /// Whether it precedes the conversation.
    pub fn is_prefix(self) -> bool {
        matches!(self, Self::Prefix | Self::Tools)
    }
}

names! {
    PromptPosition, word {
        Prefix = "prefix",
        Tools = "prefix, beside the text",
        Tail = "tail",
        Conversation = "conversation",
    }
}

/// One part of the prompt. Its JSON form is that of `co prompt show --json`, and is stored in sessions: fields may only be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptPart {
    pub name: String,
    pub place: PromptPosition,
    pub source: String,
    /// Estimated.
    pub tokens: u64,
    /// As it is sent; of tools the names.
    pub text: String,
}

impl PromptPart {
    pub(super) fn new(name: &str, place: PromptPosition, source: String, text: String) -> Self {
        Self { name: name.to_owned(), place, source, tokens: text_tokens(&text), text }
    }
}

/// Returns the parts of the prompt that a model gets now, in order. Joined by an empty line, the texts of
/// [`PromptPosition::Prefix`] are the system prompt.
pub fn parts(preamble: &Preamble, model: &ActiveModel, situation: String) -> Vec<PromptPart> {
    let source = "date, mode and sandbox of now".to_owned();
    let now = PromptPart::new("situation", PromptPosition::Tail, source, situation);
    prefix(preamble, model).into_iter().chain([now]).collect()
}

/// Returns those of the prefix.
pub(super) fn prefix(preamble: &Preamble, model: &ActiveModel) -> Vec<PromptPart> {
    let section = |one: super::Section| {
        PromptPart::new(&one.name, PromptPosition::Prefix, one.source.to_string(), one.text)
    };
    let names: Vec<&str> = preamble.tools.iter().map(|tool: &ToolSchema| tool.name.as_str()).collect();
    let source = "co tools describes them".to_owned();
    let tools = PromptPart {
        tokens: preamble_tokens("", &preamble.tools),
        ..PromptPart::new("tools", PromptPosition::Tools, source, names.join(", "))
    };
    preamble.sections(model).into_iter().map(section).chain([tools]).collect()
}
