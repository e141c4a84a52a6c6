//! What a conversation is made of: messages, their parts, calls and returns.
//!
//! These types are stored for good: a variant or a field may be added (with a serde default), never
//! renamed or removed. They know no provider's wire format; what only one provider understands
//! travels as [`Opaque`], bound to its part. Used by every layer above.

pub mod images;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Our own id of a tool call, unique in the store: `<session>/<turn>.<attempt>.<index>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tool's name as the model sees it: verb_noun, at most 64 characters of `[a-zA-Z0-9_-]`.
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
    /// Answers to the calls of the assistant message just before, all of them, in call order.
    ToolReturns {
        returns: Vec<ToolReturn>,
    },
}

impl Message {
    /// A user message of one text part.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { parts: vec![UserPart::Text { text: text.into() }] }
    }

    /// What came of a reply that broke off.
    pub fn partial(text: String) -> Self {
        let parts = vec![AssistantPart::new(PartKind::Text { text })];
        let stop = StopReason::new(StopKind::Interrupted);
        Self::Assistant(AssistantMessage { parts, model: String::new(), stop })
    }

    /// A user message of one note: said by the program, never by the person.
    pub fn note(kind: NoteKind, text: impl Into<String>) -> Self {
        Self::User { parts: vec![UserPart::Note { kind, text: text.into() }] }
    }

    /// The sum of what its pieces weigh.
    pub fn weight(&self, of: impl Fn(Piece<'_>) -> usize) -> usize {
        match self {
            Self::User { parts } => parts
                .iter()
                .map(|part| match part {
                    UserPart::Text { text } | UserPart::Note { text, .. } => of(Piece::Said(text)),
                    UserPart::Image { .. } => of(Piece::Image),
                })
                .sum(),
            Self::Assistant(reply) => reply
                .parts
                .iter()
                .map(|part| match &part.kind {
                    PartKind::Text { text } => of(Piece::Said(text)),
                    PartKind::Thinking { text } => of(Piece::Thought(text)),
                    PartKind::ToolCall(call) => of(Piece::Call(call)),
                    PartKind::Native => 0,
                })
                .sum(),
            Self::ToolReturns { returns } => returns
                .iter()
                .flat_map(|returned| &returned.content)
                .map(|part| match part {
                    ReturnPart::Text { text } => of(Piece::Said(text)),
                    ReturnPart::Image { .. } => of(Piece::Image),
                })
                .sum(),
        }
    }
}

/// What takes room in a conversation.
#[derive(Debug, Clone, Copy)]
pub enum Piece<'a> {
    /// By anybody: a person, the model, the program, a tool.
    Said(&'a str),
    Thought(&'a str),
    Call(&'a ToolCall),
    Image,
}

/// A part of what reaches the model in the user's place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum UserPart {
    Text {
        text: String,
    },
    /// `data` is base64 of the image's bytes, `media_type` e.g. `image/png`.
    Image {
        media_type: String,
        data: String,
    },
    /// Said by the program; shown and sent as such, never as the user's own speech.
    Note {
        kind: NoteKind,
        text: String,
    },
}

/// Why the program speaks in the user's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoteKind {
    /// The provider refused the last request as malformed; the model may correct itself.
    Reflection,
    /// Output of a `!cmd` the person ran.
    CommandOutput,
    /// The turn before was interrupted; work may be half-done.
    Abort,
    /// A detached call was decided after its turn went on; this is what came of it.
    LateOutcome { call: CallId },
    /// The budget of this turn is nearly used up.
    Budget,
    /// What a hook had to say.
    Hook,
    /// The model repeats itself.
    Circling,
    /// Stands for older messages that were left out.
    Summary,
}

/// One reply of the model, committed as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    pub parts: Vec<AssistantPart>,
    /// The model that answered, as the provider named it.
    pub model: String,
    pub stop: StopReason,
}

impl AssistantMessage {
    /// The calls of this reply, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match &part.kind {
            PartKind::ToolCall(call) => Some(call),
            PartKind::Text { .. } | PartKind::Thinking { .. } | PartKind::Native => None,
        })
    }

    /// The visible text of this reply: its text parts, joined.
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

/// One part of a reply with what only its provider understands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssistantPart {
    pub kind: PartKind,
    /// Signature, encrypted reasoning, unknown fields: sent back unchanged with this very part.
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
    /// An item only the provider understands (a server tool, redacted thinking): all of it is in `opaque`.
    Native,
}

/// Data that only the codec `wire` may read, and only for the model that made it, at the service that runs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The provider's name, e.g. `openai`: the same model elsewhere belongs to another account. Codecs leave it empty;
    /// the provider fills it in. Empty in records of before, and then it goes to nobody that has a name.
    #[serde(default)]
    pub provider: String,
    /// The codec's name, e.g. `anthropic`.
    pub wire: String,
    /// The model that made it, as requested; another model must not get it.
    pub model: String,
    pub data: Value,
}

impl Opaque {
    /// Data as a codec gives it, not yet bound to a provider.
    pub fn new(wire: impl Into<String>, model: impl Into<String>, data: Value) -> Self {
        Self { provider: String::new(), wire: wire.into(), model: model.into(), data }
    }
}

/// A call the model proposes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: CallId,
    /// The provider's own id, sent back with the return; made up by us where the provider gave none.
    pub wire_id: String,
    pub name: ToolName,
    /// As the model wrote them. [`Value::String`] where they were no JSON object: such a call fails to plan.
    pub args: Value,
}

/// The answer to one call: what the model reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolReturn {
    pub call: CallId,
    pub status: ReturnStatus,
    pub content: Vec<ReturnPart>,
    pub source: Source,
    pub trust: Trust,
}

impl ToolReturn {
    /// A return written by the program itself.
    pub fn program(call: CallId, status: ReturnStatus, text: impl Into<String>) -> Self {
        Self {
            call,
            status,
            content: vec![ReturnPart::Text { text: text.into() }],
            source: Source::Program,
            trust: Trust::Trusted,
        }
    }

    /// The text parts, joined by newlines.
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
    /// It ran or was checked and failed; the content says how.
    Failed,
    /// A person or a rule said no; it did not run.
    Denied,
    /// Still waiting for the person when the conversation went on.
    Undecided,
    /// Cut off or never started because of an interrupt.
    Interrupted,
    /// It started, and nobody knows how it ended.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum ReturnPart {
    Text { text: String },
    Image { media_type: String, data: String },
}

/// Where the words of a return come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Source {
    /// `co` itself (a denial, an interrupt).
    Program,
    /// A file of the workspace.
    File { path: String },
    /// Output of a command.
    Command { command: String },
    /// A tool that answers from its own knowledge (a listing, a report).
    Tool { name: ToolName },
}

/// Whether words may be taken as the user's own; untrusted words never satisfy an allow rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    Trusted,
    Untrusted,
}

/// Tokens of one request, normalised after `wire.md`: input includes cache reads and writes, output
/// includes reasoning. `None` = the provider did not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cached_input: Option<u64>,
    pub cache_write: Option<u64>,
    pub reasoning: Option<u64>,
    /// What the provider says the request cost; most say nothing, and then a price list may know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
}

/// An amount of money: billionths of a US dollar, because a cached token costs less than a millionth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(pub u64);

impl Usd {
    /// Dollars as somebody wrote them; `None` for what is no amount (negative, not finite, too large).
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let nano = dollars * 1e9;
        // Both bounds are far inside what the conversion can hold.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 ≤ nano < 2^63")]
        (0.0..9.0e18).contains(&nano).then(|| Self(nano.round() as u64))
    }

    /// Dollars as programs read them.
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
    /// `$1.25`, `$0.0042`: cents from a dollar up, below it two digits that say something.
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

/// Why the model stopped, normalised, beside the provider's own word for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReason {
    pub kind: StopKind,
    /// The provider's word, e.g. `max_tokens`; absent where it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// More in words: the refusal's text, the stop sequence that matched.
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
    /// A server-side tool loop paused: the same request continues it.
    PauseTurn,
    /// We cut the reply off ourselves; the text is partial.
    Interrupted,
    /// A word we do not know; `raw` holds it.
    Other,
}
