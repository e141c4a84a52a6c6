//! The data types of a conversation: messages, their parts, tool calls and tool returns.
//!
//! These types are stored permanently: a variant or a field may be added (with a serde default), never
//! renamed or removed. They contain no provider's wire format; data that only one provider understands is
//! kept as [`Opaque`], bound to its part. Used by every layer above.

pub mod images;
mod memory;
mod report;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::memory::{Authorship, UsedMemory};
pub use self::report::{CallReport, DiffKind, DiffLine};
use crate::stdx::names::names;

/// This program's id of a tool call, unique in the store: `<session>/<turn>.<attempt>.<index>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tool's name as sent to the model: verb_noun, at most 64 characters of `[a-zA-Z0-9_-]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolName(pub String);

impl ToolName {
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One entry of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    User {
        parts: Vec<UserPart>,
    },
    Assistant(AssistantMessage),
    /// The returns of all calls of the preceding assistant message, in call order.
    ToolReturns {
        returns: Vec<ToolReturn>,
    },
}

impl Message {
    /// Creates a user message of one text part.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { parts: vec![UserPart::Text { text: text.into() }] }
    }

    /// Creates an assistant message from the partial text of an interrupted reply.
    pub fn partial(text: String) -> Self {
        let parts = vec![AssistantPart::new(PartKind::Text { text })];
        let stop = StopReason::new(StopKind::Interrupted);
        Self::Assistant(AssistantMessage { parts, asked: String::new(), model: String::new(), stop })
    }

    /// Creates a user message of one note: text by the program, never by the user.
    pub fn note(kind: NoteKind, text: impl Into<String>) -> Self {
        Self::User { parts: vec![UserPart::Note { kind, text: text.into() }] }
    }

    /// Whether the user wrote a part of it.
    pub fn is_prompt(&self) -> bool {
        match self {
            Self::User { parts } => parts.iter().any(|part| !matches!(part, UserPart::Note { .. })),
            Self::Assistant(_) | Self::ToolReturns { .. } => false,
        }
    }

    /// Returns the text that replaces older messages, if this is such a message.
    pub fn summary(&self) -> Option<&str> {
        match self {
            Self::User { parts } => match parts.as_slice() {
                [UserPart::Note { kind: NoteKind::Summary, text }] => Some(text),
                _ => None,
            },
            Self::Assistant(_) | Self::ToolReturns { .. } => None,
        }
    }

    /// Returns its pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = MessagePiece<'_>> {
        let (said, replied, returned) = match self {
            Self::User { parts } => (&parts[..], &[][..], &[][..]),
            Self::Assistant(reply) => (&[][..], &reply.parts[..], &[][..]),
            Self::ToolReturns { returns } => (&[][..], &[][..], &returns[..]),
        };
        let said = said.iter().map(|part| match part {
            UserPart::Text { text } => MessagePiece::Prompt(text),
            UserPart::Note { kind, text } => MessagePiece::Note(kind, text),
            UserPart::Image { media_type, .. } => MessagePiece::Image(media_type),
        });
        let replied = replied.iter().map(|part| match &part.kind {
            PartKind::Text { text } => MessagePiece::Answer(text),
            PartKind::Thinking { text } => MessagePiece::Thought(text),
            PartKind::ToolCall(call) => MessagePiece::Call(call),
            PartKind::Native => MessagePiece::Native,
        });
        let returned = returned.iter().flat_map(|returned| &returned.content).map(|part| match part {
            ReturnPart::Text { text } => MessagePiece::Output(text),
            ReturnPart::Image { media_type, .. } => MessagePiece::Image(media_type),
        });
        said.chain(replied).chain(returned)
    }
}

/// A piece of a message, whatever its role.
#[derive(Debug, Clone, Copy)]
pub enum MessagePiece<'a> {
    Prompt(&'a str),
    Note(&'a NoteKind, &'a str),
    Answer(&'a str),
    Thought(&'a str),
    Call(&'a ToolCall),
    /// An item that only the provider understands.
    Native,
    /// Text of a tool.
    Output(&'a str),
    /// With its media type.
    Image(&'a str),
}

/// A part of a message with the user role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum UserPart {
    Text {
        text: String,
    },
    /// `data` is the image's bytes in base64, `media_type` is e.g. `image/png`.
    Image {
        media_type: String,
        data: String,
    },
    /// Text by the program; displayed and sent as such, never as the user's own text.
    Note {
        kind: NoteKind,
        text: String,
    },
}

/// Why the program adds a note in the user role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoteKind {
    /// The provider rejected the last request as malformed; the model may correct itself.
    Reflection,
    /// Output of a `!cmd` that the user ran.
    CommandOutput,
    /// The previous turn was interrupted; work may be incomplete.
    Abort,
    /// A late call was decided; the text is its outcome.
    LateOutcome { call: CallId },
    /// The budget of this turn is nearly used up.
    Budget,
    /// Text from a hook.
    Hook,
    /// The model repeats itself.
    #[serde(rename = "circling")]
    Repetition,
    /// A summary that replaces older messages, which were omitted.
    Summary,
    /// The date, the mode and the sandbox that apply from this message on.
    Situation,
    /// A resource of a tool server that the prompt names.
    Resource { server: String },
    /// A prompt of a tool server that the user chose, filled in.
    ServerPrompt { server: String },
    /// The user took back what calls did to files, or did it again.
    Undone,
    /// Memories that apply to the prompt. Untrusted if they are from untrusted text.
    Memory { used: Vec<UsedMemory>, trust: Trust },
    /// A project's instructions for a folder in which the model read or wrote a file; the path of their file.
    Instructions { path: String },
    /// The text of a project's own command, which the user chose; the path of its file.
    Command { path: String },
}

impl NoteKind {
    /// The name that a front end gives such a note; `None` if it does not show it.
    pub fn label(&self) -> Option<&'static str> {
        match self {
            Self::Reflection => Some("note to the model: its request was rejected"),
            Self::CommandOutput => Some("note to the model: your command"),
            Self::Abort => Some("note to the model: the last turn was stopped"),
            Self::LateOutcome { .. } => Some("note to the model: a late call ended"),
            Self::Budget => Some("note to the model: come to an end"),
            Self::Hook => Some("note to the model from a hook"),
            Self::Repetition => Some("note to the model: it repeats itself"),
            Self::Summary => Some("older messages, in short"),
            Self::Situation => None,
            Self::Resource { .. } => Some("a resource of a tool server"),
            Self::ServerPrompt { .. } => Some("a prompt of a tool server"),
            Self::Undone => Some("note to the model: you took back changes"),
            Self::Memory { .. } => Some("from memory"),
            Self::Instructions { .. } => Some("instructions for a folder"),
            Self::Command { .. } => Some("a command of the project"),
        }
    }
}

/// One complete reply of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    pub parts: Vec<AssistantPart>,
    /// The provider and model that were asked, as `provider/model`; empty in messages stored before it was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asked: String,
    /// The model that answered, as named by the provider.
    pub model: String,
    pub stop: StopReason,
}

impl AssistantMessage {
    /// Returns the calls of this reply, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match &part.kind {
            PartKind::ToolCall(call) => Some(call),
            PartKind::Text { .. } | PartKind::Thinking { .. } | PartKind::Native => None,
        })
    }

    /// Returns the visible text of this reply: its text parts, concatenated.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match &part.kind {
                PartKind::Text { text } => Some(text.as_str()),
                PartKind::Thinking { .. } | PartKind::ToolCall(_) | PartKind::Native => None,
            })
            .collect()
    }
}

/// One part of a reply, with the data that only its provider understands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssistantPart {
    pub kind: PartKind,
    /// Signature, encrypted reasoning, unknown fields: sent back unchanged with this same part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

impl AssistantPart {
    pub fn new(kind: PartKind) -> Self {
        Self { kind, opaque: None }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum PartKind {
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    ToolCall(ToolCall),
    /// An item that only the provider understands (server tool, redacted thinking); its data is in `opaque`.
    Native,
}

/// Data that only the codec `wire` may read, and only the model and provider that produced it may receive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The provider's name, e.g. `openai`: the same model at another provider belongs to another account.
    /// Codecs leave it empty; the provider fills it in. Empty in older records: no named provider gets their
    /// data.
    #[serde(default)]
    pub provider: String,
    /// The codec's name, e.g. `anthropic`.
    pub wire: String,
    /// The model that produced the data, as requested; no other model may receive it.
    pub model: String,
    pub data: Value,
}

impl Opaque {
    /// Creates data as a codec returns it, not yet bound to a provider.
    pub fn new(wire: impl Into<String>, model: impl Into<String>, data: Value) -> Self {
        Self { provider: String::new(), wire: wire.into(), model: model.into(), data }
    }
}

/// A tool call proposed by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: CallId,
    /// The provider's own id, sent back with the return; generated if the provider gave none.
    pub wire_id: String,
    pub name: ToolName,
    /// The arguments as written by the model. [`Value::String`] if they were not a JSON object: planning such
    /// a call fails.
    pub args: Value,
}

/// The answer to one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolReturn {
    pub call: CallId,
    pub status: ReturnStatus,
    pub content: Vec<ReturnPart>,
    pub source: Source,
    pub trust: Trust,
    /// For people only: no model receives it. Absent where it would say nothing, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Box<CallReport>>,
}

impl ToolReturn {
    /// Creates a return written by the program itself.
    pub fn program(call: CallId, status: ReturnStatus, text: impl Into<String>) -> Self {
        Self {
            call,
            status,
            content: vec![ReturnPart::Text { text: text.into() }],
            source: Source::Program,
            trust: Trust::Trusted,
            done: None,
        }
    }

    /// Returns the text parts, joined by newlines.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|part| match part {
                ReturnPart::Text { text } => Some(text.as_str()),
                ReturnPart::Image { .. } => None,
            })
            .collect();
        texts.join("\n")
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReturnStatus {
    Ok,
    /// It ran or was checked, and failed; the content says how.
    Failed,
    /// A user or a rule denied it; it did not run.
    Denied,
    /// It was still waiting for a decision when the conversation continued.
    Undecided,
    /// It was stopped, or never started, because of an interrupt.
    Interrupted,
    /// It started, and its outcome is unknown.
    Unknown,
}

names! {
    ReturnStatus, word {
        Ok = "ok",
        Failed = "failed",
        Denied = "denied",
        Undecided = "undecided",
        Interrupted = "interrupted",
        Unknown = "unknown",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum ReturnPart {
    Text { text: String },
    Image { media_type: String, data: String },
}

/// The origin of a return's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Source {
    /// The program itself (a denial, an interrupt).
    Program,
    /// A file of the workspace.
    File { path: String },
    /// Output of a command.
    Command { command: String },
    /// A tool that produces the text itself (a listing, a report).
    Tool { name: ToolName },
    /// A tool server: a resource or a prompt of it.
    Server { name: String },
    /// A web page, or results of a search, by its address.
    Web { url: String },
}

/// Whether text may be treated as the user's own; untrusted text never satisfies an allow rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    Trusted,
    Untrusted,
}

/// Token counts of one request, normalised according to `wire.md`: input includes cache reads and writes,
/// output includes reasoning. `None` means that the provider did not report the count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cached_input: Option<u64>,
    pub cache_write: Option<u64>,
    pub reasoning: Option<u64>,
    /// The cost of the request as reported by the provider. Most report none; then a price list may have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
}

impl Usage {
    /// Adds another usage; a count missing in one of them counts as zero.
    pub fn add(&mut self, other: Self) {
        let sums = [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cached_input, other.cached_input),
            (&mut self.cache_write, other.cache_write),
            (&mut self.reasoning, other.reasoning),
        ];
        for (sum, more) in sums {
            *sum = sum.zip(more).map(|(sum, more)| sum + more).or(*sum).or(more);
        }
        self.cost = self.cost.zip(other.cost).map(|(sum, more)| sum.plus(more)).or(self.cost).or(other.cost);
    }
}

/// An amount of money in billionths of a US dollar, since a cached token costs less than a millionth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(pub u64);

impl Usd {
    /// Converts from dollars; `None` if the value is not a valid amount (negative, not finite, too large).
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let nano = dollars * 1e9;
        // Both bounds are well within the range of the conversion.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 ≤ nano < 2^63")]
        (0.0..9.0e18).contains(&nano).then(|| Self(nano.round() as u64))
    }

    /// Converts to dollars, for use by programs.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "exact up to nine million dollars")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Usd {
    /// Formats as `$1.25` or `$0.0042`: rounded to cents from ten cents up, else to two significant digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = (self.0 + 5_000_000) / 10_000_000;
        if self.0 == 0 || cents >= 10 {
            return write!(f, "${}.{:02}", cents / 100, cents % 100);
        }
        let (mut digits, mut unit) = (2, 10_000_000_u64);
        while digits < 9 && self.0 / unit < 10 {
            digits += 1;
            unit /= 10;
        }
        let rounded = (self.0 + unit / 2) / unit;
        write!(f, "$0.{rounded:0digits$}")
    }
}

/// Why the model stopped: normalised, and in the provider's own word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReason {
    pub kind: StopKind,
    /// The provider's word, e.g. `max_tokens`; absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Further detail as text: the refusal's text, the matched stop sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl StopReason {
    pub fn new(kind: StopKind) -> Self {
        Self { kind, raw: None, detail: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopKind {
    EndTurn,
    ToolUse,
    MaxTokens,
    StopSequence,
    Refusal,
    /// A server-side tool loop paused: repeating the request continues it.
    PauseTurn,
    /// This program interrupted the reply; the text is partial.
    Interrupted,
    /// An unknown word; `raw` has it.
    Other,
}
