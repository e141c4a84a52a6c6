//! What an interactive face and the owner of the session say to each other.
//!
//! The face sends [`ClientRequest`]s; the owner (in `app`) sends [`Update`]s: a turn's events and, between and
//! beside turns, notices, in one ordered stream. Plain values only; both ends are bounded channels.

use std::path::PathBuf;
use std::time::Duration;

use crate::agent::port::{Event, Op};
use crate::approval::rules::RuleScope;
use crate::approval::{Approval, AutoApprove, Request, RequestId};
pub use crate::command::{ModelLine, Tone};
use crate::config::{Mode, Secret};
use crate::frontend::images::Prompt;
use crate::history::SessionId;
use crate::message::{Message, ToolName, Usd};
use crate::store::{Attachment, RequestState, StoredRequest};
use crate::tool::{Risk, ToolSpec};

/// From the face to the session's owner.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientRequest {
    /// A line the person entered: dispatched as quit, `!cmd`, `/command` or prompt by the owner.
    Line { text: String },
    /// A prompt of which not all words are the person's own, such as a pasted block.
    Prompt(Prompt),
    /// A word on the running turn, or on a request that waits between turns.
    Op(Op),
    /// The composer's text, to be kept across restarts.
    Draft { text: String },
    /// The files of the workspace, for mentions; answered with [`ServerMessage::Files`].
    Files,
    /// The sessions that can be opened; answered with [`ServerMessage::Sessions`].
    Sessions,
    /// Lines entered in all sessions; answered with [`ServerMessage::Earlier`].
    Earlier,
    /// The end of a session's conversation; answered with [`ServerMessage::Preview`].
    Preview { session: SessionId },
    /// Go on in another session; the one at hand is saved and left. [`ServerMessage::Entered`] follows where that can be
    /// done, words where it cannot.
    Open { session: SessionId },
    /// Try a service with what was entered, and keep its key if it works; answered with [`ServerMessage::LoginTried`].
    Login { service: String, base_url: Option<String>, key: Option<TypedKey>, unencrypted: Consent },
    /// Do not offer by yourself to set up a service again.
    SkipLogin,
    /// Let this model answer from the next request on.
    SwitchModel { name: String },
    /// The same, from the next start on too.
    KeepModel { name: String },
    /// Requests of all sessions; answered with [`ServerMessage::Inbox`].
    Inbox,
    /// One request whole, of any session; answered with [`ServerMessage::Request`].
    Request { request: RequestId },
    /// Decides requests of any session, each by itself; what was lost comes back as words, and an open inbox anew.
    DecideAll { requests: Vec<RequestId>, approval: Approval },
    /// Go on with a session that nobody has open, beside the one at hand; words tell how it went.
    ResumeNow { session: SessionId },
    /// What is asked for from now on.
    SetMode { mode: Mode },
    /// The rule that would allow what this request asks, and what is like it; answered with [`ServerMessage::RuleDraft`].
    DraftRule { request: RequestId },
    /// What this text of a rule would have done; answered with [`ServerMessage::RuleChecked`].
    CheckRule { text: String },
    /// Saves the rule, and if it is good and saved, approves the request with it.
    SaveRule { request: RequestId, text: String, scope: RuleScope },
    /// Stop the running `!cmd`.
    StopShell,
    /// The face is closing; the owner ends what runs, saves, and answers with [`ServerMessage::Goodbye`].
    Close,
}

/// From the session's owner to the face, in order.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "events are what there is most of; a box for each would be waste"
)]
pub enum Update {
    Event(Event),
    Message(ServerMessage),
}

/// What the owner says outside of a turn's events.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerMessage {
    /// The header and status lines' facts; replaces the ones before.
    Header(Header),
    /// The conversation so far, when a session is opened or cleared; replaces the transcript.
    Transcript {
        messages: Vec<Message>,
    },
    /// The composer's text kept from the last time.
    Draft {
        text: String,
    },
    /// A prompt that was entered is not sent, and why; its text goes back to where it was written.
    Refused {
        text: String,
        reason: String,
    },
    /// Lines entered in earlier sessions, the oldest first: what Up brings back.
    Inputs {
        lines: Vec<String>,
    },
    /// Another session follows: what was shown of the one before is over.
    Entered,
    /// Lines entered in all sessions, the newest first, each once.
    Earlier {
        lines: Vec<EarlierLine>,
    },
    /// What can be typed behind `/`, and the tools of this process; told first, and anew when there is more.
    Known {
        commands: Vec<CommandLine>,
        tools: Vec<ToolSpec>,
    },
    /// Files of the workspace, relative to it, with `/` between the parts and behind folders.
    Files {
        paths: Vec<String>,
    },
    /// Sessions that can be opened, the latest first; the one at hand is not among them.
    Sessions {
        sessions: Vec<SessionLine>,
    },
    /// The person wants to pick one of the sessions just told; `query` is what to look for first.
    PickSession {
        query: String,
    },
    /// The person may set up one of these services.
    PickService {
        services: Vec<ServiceLine>,
        why: LoginWhy,
    },
    /// What became of a try: the models it offers, or why there are none.
    LoginTried {
        service: String,
        outcome: Result<Vec<ModelLine>, LoginTrouble>,
    },
    /// The person wants to pick one of these models; the text says the same for faces without lists.
    PickModel {
        models: Vec<ModelLine>,
        text: String,
    },
    /// The last messages of a session, long texts shortened; none for one that cannot be read.
    Preview {
        session: SessionId,
        messages: Vec<Message>,
    },
    /// A turn began (a prompt, a resume).
    TurnBegan,
    /// Nothing runs; the next line starts a turn.
    Idle,
    /// The person wants to see the keys; narrowed to those with these words, where there are any.
    Keys {
        filter: String,
    },
    /// Output of a slash command or a piece of advice, as Markdown.
    Local {
        title: String,
        text: String,
        tone: Tone,
    },
    /// A `!cmd` began; its output follows.
    ShellBegan {
        command: String,
    },
    ShellOutput {
        text: String,
    },
    ShellEnded {
        outcome: String,
        took: Duration,
    },
    /// Requests that wait in this session, deferred and detached ones included; replaces the ones before.
    Waiting {
        requests: Vec<Request>,
    },
    /// So many requests wait beside those of [`ServerMessage::Waiting`], nearly all of them in other sessions; what waits
    /// anywhere may be another than before.
    Elsewhere {
        count: usize,
    },
    /// What waits in all sessions, the sessions in the order of their oldest request; replaces what was told before.
    Inbox {
        lines: Vec<InboxLine>,
    },
    /// One request of any session, or why there is none.
    Request {
        request: Result<Box<StoredRequest>, String>,
    },
    /// The rule that may be saved at a card.
    RuleDraft {
        request: RequestId,
        text: String,
        check: RuleCheck,
    },
    /// What the text of a rule, as it was asked about, would have done.
    RuleChecked {
        text: String,
        check: RuleCheck,
    },
    /// The owner has saved everything; `lines` stand on the normal screen after exit.
    Goodbye {
        lines: Vec<String>,
    },
}

/// One slash command, for completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Without the slash.
    pub name: String,
    /// What may follow it; empty for nothing.
    pub usage: String,
    pub about: String,
    /// Where it comes from: `built-in`.
    pub source: String,
    /// The words that may follow it, where they are known.
    pub args: Vec<String>,
}

/// A line that was entered before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierLine {
    pub text: String,
    /// Whether it was entered in this folder.
    pub here: bool,
}

/// A key on its way from the person to the owner. Its `Debug` form says nothing.
#[derive(Clone, PartialEq)]
pub struct TypedKey(Secret);

impl TypedKey {
    pub fn new(text: String) -> Self {
        Self(Secret::new(text))
    }

    pub fn secret(&self) -> &Secret {
        &self.0
    }
}

impl std::fmt::Debug for TypedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TypedKey(…)")
    }
}

/// A service that can be set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceLine {
    /// As it is typed and stored.
    pub name: String,
    pub title: String,
    pub address: LoginNeed,
    pub key: LoginNeed,
    /// What there is to say of it.
    pub note: String,
}

/// Whether the person agreed to a key that travels unencrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    NotAsked,
    Given,
}

/// Why a try came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginTrouble {
    /// It does not work: what is wrong and what to do.
    Failed(String),
    /// Nothing was sent, because others could read the key on its way: what the person has to agree to first.
    Unencrypted(String),
}

/// Whether the person has to enter something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginNeed {
    Needed,
    /// It may be left empty.
    Optional,
    Known,
}

/// Why services are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginWhy {
    /// None is known, and the person was not asked before.
    First,
    Asked,
}

/// One request of the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxLine {
    pub id: RequestId,
    pub session: SessionId,
    /// The session's title.
    pub title: String,
    pub workspace: PathBuf,
    pub holder: Holder,
    pub risk: Risk,
    pub tool: ToolName,
    pub summary: String,
    /// Whether its arguments carry untrusted words.
    pub tainted: bool,
    pub state: RequestState,
    pub attachment: Attachment,
    /// How long ago it was asked, e.g. `3 h`.
    pub age: String,
    /// When it can no longer be decided, e.g. `Mon 14:31`.
    pub expires: Option<String>,
}

/// Who has the session of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// It is the session at hand.
    Here,
    /// Another process, which goes on by itself once all is decided.
    Another,
    /// It goes on in this process, beside the session at hand.
    Beside,
    /// Nobody: it goes on when it is resumed.
    Nobody,
}

impl Holder {
    pub fn words(self) -> &'static str {
        match self {
            Self::Here => "this session",
            Self::Another => "open in another co",
            Self::Beside => "goes on now",
            Self::Nobody => "nobody has it open",
        }
    }
}

/// What a rule would have done, or what is wrong with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleCheck {
    pub past: Result<PastCalls, String>,
}

/// How a rule fares with the calls of the past.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PastCalls {
    /// Of `of`, those that it matches; of these, those that the person denied.
    pub matched: usize,
    pub of: usize,
    pub denied: usize,
}

/// One session, for the list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLine {
    pub id: SessionId,
    pub title: String,
    pub workspace: PathBuf,
    /// Whether it was held in this folder.
    pub here: bool,
    /// When something was last stored in it: ready to be read, e.g. `2 h ago`.
    pub when: String,
    /// Turns started.
    pub turns: u32,
    /// Requests that wait in it.
    pub waiting: usize,
}

/// Facts of the header and the status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub session: SessionId,
    /// "new session" until the first prompt names it.
    pub title: String,
    pub workspace: PathBuf,
    /// e.g. `offline`, `anthropic`.
    pub provider: String,
    pub model: String,
    /// `unsandboxed`, `sandboxed`.
    pub isolation: &'static str,
    pub mode: Mode,
    pub auto_approve: AutoApprove,
    /// Another process owns this session: it can be read only; says who.
    pub read_only: Option<String>,
    /// How full the model's window is, once a request was counted.
    pub context: Option<ContextUse>,
    /// What was paid, once something was.
    pub money: Option<Money>,
}

/// What requests cost so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Money {
    pub session: Usd,
    /// Today, in all sessions.
    pub today: Usd,
    /// The cap of a day.
    pub cap: Option<Usd>,
    /// Whether something was used today whose price is unknown.
    pub known: Known,
}

/// Whether a sum is all there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    All,
    /// At least so much.
    Partly,
}

/// Tokens of the last request's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextUse {
    pub used: u64,
    /// What the model takes at most; `None` where nobody knows.
    pub window: Option<u64>,
}

impl ContextUse {
    /// How much of the window is used, at most 100.
    pub fn percent(self) -> Option<u8> {
        let window = self.window.filter(|window| *window > 0)?;
        let percent = self.used.saturating_mul(100) / window;
        Some(u8::try_from(percent.min(100)).unwrap_or(100))
    }
}
