//! The messages between an interactive front end and the owner of the session.
//!
//! The front end sends [`ClientRequest`]s; the owner (in `runtime`) sends [`Update`]s: a turn's events and its own
//! messages, in one ordered stream. Plain values only; both directions are bounded channels. Requests are handled in their
//! order; [`ClientQuery::Handled`] tells when.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::agent::port::{Event, Op};
use crate::approval::rules::RuleScope;
use crate::approval::{AutoApprove, Request, RequestId};
pub use crate::command::{ModelLine, Privacy, Tone};
use crate::config::{Mode, Secret};
use crate::frontend::images::Prompt;
use crate::history::SessionId;
use crate::message::{Message, Usd};
use crate::sandbox::Isolation;
use crate::stdx::names::names;
use crate::store::{PastDecision, RequestRow, StoredRequest};
use crate::tool::ToolSpec;
use crate::tool::mcp::ListedTool;

/// A request of the front end to the session's owner.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientRequest {
    /// A line the user entered: dispatched as quit, `!cmd`, `/command` or prompt by the owner.
    Line { text: String },
    /// A prompt that contains text by others, such as a pasted block.
    Prompt(Prompt),
    /// An operation on the running turn, or on a request that is pending between turns.
    Op(Op),
    /// The composer's text, to be kept across restarts.
    Draft { text: String },
    /// A line that was cleared and not sent, to be kept among the lines entered.
    Remember { text: String },
    /// A question, which changes nothing that the user decides; answered once, with [`ServerMessage::Answer`] and this id,
    /// in any order.
    Query { id: QueryId, query: ClientQuery },
    /// Save the current session and open another. Answered with [`ServerMessage::Entered`], or on failure with
    /// [`ServerMessage::Local`].
    Open { session: SessionId },
    /// Try a service with this input, and store its key if it works; answered with [`ServerMessage::LoginTried`].
    Login(Credentials),
    /// Never again offer the setup of a service without being asked.
    SkipLogin,
    /// List the models; answered with [`ServerMessage::Models`], then [`ServerMessage::ModelsChanged`].
    ListModels,
    /// Use this model from the next request on.
    SwitchModel { name: String },
    /// The same, also after the next start.
    KeepModel { name: String },
    /// Change a tool server; [`ServerMessage::ServersChanged`] follows.
    Server(ServerChange),
    /// Resume a session without an owner in the background; the result is reported.
    ResumeNow { session: SessionId },
    /// Set the approval mode.
    SetMode { mode: Mode },
    /// Save the rule and, if it is valid, approve the request with it. [`ServerMessage::RuleSaved`] names the file of a rule
    /// that lasts, [`ServerMessage::RuleNotSaved`] a failure, [`ServerMessage::RuleAllowsNothing`] a rule of another effect.
    SaveRule { request: RequestId, text: String, scope: RuleScope },
    /// Let the commands that run go on in the background.
    Background,
    /// Stop the running `!cmd`.
    StopShell,
    /// The front end is closing; the owner stops what runs, saves, and answers with [`ServerMessage::Goodbye`].
    Close,
}

/// The id of a query, unique within its front end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueryId(pub u64);

/// A question of the front end to the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientQuery {
    /// The files of the workspace, for mentions.
    Files,
    /// The sessions that can be opened.
    Sessions,
    /// Lines entered in all sessions.
    Earlier,
    /// The end of a session's conversation.
    Preview { session: SessionId },
    /// The sessions in which these words were said.
    SearchSessions { words: String },
    /// The suggestions of a server for an argument of its prompt, or for an open place of its resource template; a
    /// template is given as `@server:uri`.
    Suggest { command: String, argument: String, typed: String },
    /// The pending requests of all sessions.
    Inbox,
    /// One whole request, of any session.
    Request { request: RequestId },
    /// The rules that would allow this request and what is like it.
    DraftRule { request: RequestId },
    /// The effect of this rule text on past calls.
    CheckRule { text: String },
    /// Whether everything sent before is handled, or handed to the running turn. Answered once it is: after the messages
    /// that answer it, and after [`ServerMessage::TurnBegan`] if a turn follows from it.
    Handled,
}

/// The answer to the [`ClientQuery`] of the same name.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryAnswer {
    /// Files of the workspace, relative to it, with `/` as separator and after folders.
    Files { paths: Vec<String> },
    /// The latest first, without the current one.
    Sessions { sessions: Vec<SessionLine> },
    /// The newest first, each once.
    Earlier { lines: Vec<EarlierLine> },
    /// The last messages, long texts shortened; none if the session cannot be read.
    Preview { messages: Vec<Message> },
    /// The sessions found, the latest first.
    SearchSessions { hits: Vec<SessionHit> },
    /// The values that a server suggests.
    Suggest { values: Vec<String> },
    /// Sessions in the order of their oldest request.
    Inbox { lines: Vec<InboxLine> },
    /// The request, or why there is none.
    Request { request: Result<Box<StoredRequest>, String> },
    /// The rules that may be saved, the narrowest first; at least one.
    DraftRule { widths: Vec<OfferedRule> },
    /// The effect of the text.
    CheckRule { check: RuleCheck },
    /// It is.
    Handled,
    /// There is none; [`ServerMessage::Local`] said why.
    Failed,
}

/// The queries of a front end that wait for their answers.
#[derive(Debug, Default)]
pub struct OpenQueries {
    last: u64,
    open: BTreeMap<QueryId, ClientQuery>,
}

impl OpenQueries {
    /// Returns the request to send.
    pub fn ask(&mut self, query: ClientQuery) -> ClientRequest {
        self.last += 1;
        let id = QueryId(self.last);
        self.open.insert(id, query.clone());
        ClientRequest::Query { id, query }
    }

    /// Returns the query that this answers, unless it was answered before or forgotten.
    pub fn take(&mut self, id: QueryId) -> Option<ClientQuery> {
        self.open.remove(&id)
    }

    /// Whether no answer is awaited.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Forgets what was asked in a session that was left: answers that arrive later may be about its folder.
    pub fn forget(&mut self) {
        self.open.clear();
    }
}

/// A message of the session's owner to the front end, in order.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "events are what there is most of; a box for each would be waste"
)]
pub enum Update {
    Event(Event),
    Message(ServerMessage),
}

/// The owner's messages that are not events of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerMessage {
    /// The state of the session and of what answers in it; replaces the previous one.
    Header(Header),
    /// The conversation so far, when a session is opened or cleared; replaces the transcript.
    Transcript {
        messages: Vec<Arc<Message>>,
        /// The decisions on its calls, the last one of a call last.
        decided: Vec<PastDecision>,
    },
    /// The composer's stored text.
    Draft {
        text: String,
    },
    /// A prompt was not sent; its text returns to the composer.
    Refused {
        text: String,
        reason: String,
    },
    /// Lines entered before, the oldest first.
    Inputs {
        lines: Vec<String>,
    },
    /// Another session follows; the data of the previous one is void.
    Entered,
    /// The slash commands and the tools of this process; sent first, and again after a change.
    Known {
        commands: Vec<CommandLine>,
        tools: Vec<ToolSpec>,
    },
    /// A change by tool servers: the prompts they offer now, and all tools of this process.
    Offered {
        prompts: Vec<CommandLine>,
        tools: Vec<ToolSpec>,
    },
    /// The answer to a query.
    Answer {
        id: QueryId,
        answer: QueryAnswer,
    },
    /// The last sessions of this folder, the latest first, without the current one.
    Recent {
        sessions: Vec<SessionLine>,
    },
    /// The sessions that the user may open, the latest first; `query` is what they look for, if not empty.
    Sessions {
        sessions: Vec<SessionLine>,
        query: String,
    },
    /// The services that the user may set up.
    Services {
        services: Vec<ServiceLine>,
        why: LoginReason,
    },
    /// The result of a login attempt: the service's models, or the error.
    LoginTried {
        service: String,
        outcome: Result<Vec<ModelLine>, LoginFailure>,
    },
    /// The models that the user may choose from.
    Models {
        models: Vec<ModelLine>,
    },
    /// The models again, after services have sent their lists.
    ModelsChanged {
        models: Vec<ModelLine>,
        /// The services that sent no list, each as a sentence without its full stop.
        failed: Vec<String>,
        /// The number of services that have not answered yet.
        pending: usize,
    },
    /// The tool servers, which the user asked for.
    Servers {
        servers: ServerList,
    },
    /// The tool servers again, after a change.
    ServersChanged {
        servers: ServerList,
    },
    /// A turn began (a prompt, a resume).
    TurnBegan,
    /// Nothing runs; the next line starts a turn.
    Idle,
    /// The user asked for the keys of the front end: those that match these words, if not empty.
    Keys {
        filter: String,
    },
    /// Output of a slash command or a notice, as Markdown.
    Local {
        title: String,
        text: String,
        tone: Tone,
    },
    /// A `!cmd` began; its output follows.
    ShellBegan {
        command: String,
        privacy: Privacy,
    },
    ShellOutput {
        text: String,
    },
    ShellEnded {
        outcome: String,
        took: Duration,
    },
    /// The pending requests of this session, deferred ones and those of late calls included; replaces the previous ones.
    Waiting {
        requests: Vec<Request>,
    },
    /// The number of pending requests besides [`ServerMessage::Waiting`], nearly all of them in other sessions. Also
    /// sent when pending requests changed without changing their number.
    Elsewhere {
        count: usize,
    },
    /// The rule for this request was saved in this file.
    RuleSaved {
        request: RequestId,
        file: String,
    },
    /// The rule that was saved for this request is no allow rule: it approves nothing, and may deny the request.
    RuleAllowsNothing {
        request: RequestId,
    },
    /// The rule for this request was not saved.
    RuleNotSaved {
        request: RequestId,
        why: String,
    },
    /// The owner has saved everything; `lines` are for the user to read after the front end has closed.
    Goodbye {
        lines: Vec<String>,
    },
}

/// One slash command, for completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Without the slash.
    pub name: String,
    /// The form of its arguments; empty for none.
    pub usage: String,
    pub about: String,
    /// Its origin: `built-in`.
    pub source: String,
    /// The possible arguments, if known.
    pub args: Vec<String>,
}

/// A change of a tool server, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerChange {
    /// Use it from now on, or not any more; `content` is what the user was shown of a project's server.
    Switch { name: String, on: bool, content: Option<String> },
    /// Use one of its tools, or not; by the server's own name for it.
    SwitchTool { name: String, tool: String, on: bool },
    /// Connect it again.
    Reconnect { name: String },
    /// Log in to it, with a browser.
    Login { name: String },
}

/// The tool servers, and what they cost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerList {
    pub lines: Vec<ServerLine>,
    /// How many of their tools requests only name, and the estimated tokens that this saves.
    pub omitted: Option<(usize, u64)>,
}

/// A tool server of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLine {
    pub name: String,
    /// Its state in a few words, or what a known server is for.
    pub state: String,
    pub tone: Tone,
    pub is_on: bool,
    pub origin: ServerOrigin,
    /// Further facts, a line each.
    pub facts: Vec<String>,
    pub tools: Vec<ListedTool>,
}

/// Where a tool server comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerOrigin {
    Settings,
    /// The project's file; `content` is what the user would agree to, if they did not yet.
    Project {
        content: Option<String>,
    },
    /// Known by name, and not configured.
    Preset,
}

/// A line that was entered before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierLine {
    pub text: String,
    /// Whether it was entered in this folder.
    pub here: bool,
}

/// The data that the user entered for a service. Its `Debug` form hides the key.
#[derive(Clone, PartialEq)]
pub struct Credentials {
    pub service: String,
    pub base_url: Option<String>,
    pub key: Option<Secret>,
    pub unencrypted: Consent,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("service", &self.service).finish_non_exhaustive()
    }
}

/// The note of a service whose key is set.
pub const HAS_KEY: &str = "a key is set";

/// A service that can be set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceLine {
    /// The name as typed and stored.
    pub name: String,
    pub title: String,
    pub address: LoginNeed,
    pub key: LoginNeed,
    /// The page where its keys are made.
    pub keys_url: Option<&'static str>,
    /// A short description.
    pub note: String,
}

/// Whether the user agreed to send a key unencrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    NotAsked,
    Given,
}

/// Why a login attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginFailure {
    /// It does not work: the problem and what to do.
    Failed(String),
    /// Nothing was sent, because others could read the key on its way: the text to which the user must agree first.
    Unencrypted(String),
}

/// Whether the user has to enter something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginNeed {
    Needed,
    /// It may be left empty.
    Optional,
    Known,
}

/// Why services are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginReason {
    /// None is configured, and the user was not asked before.
    First,
    Asked,
}

/// One request of the inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxLine {
    pub row: RequestRow,
    pub holder: Holder,
}

impl InboxLine {
    /// Returns the session's title.
    pub fn title(&self) -> &str {
        self.row.title.as_deref().unwrap_or("untitled")
    }
}

/// The process that has the session of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// It is the current session.
    Here,
    /// Another process, which resumes it by itself once all is decided.
    Another,
    /// This process, in the background.
    Background,
    /// None: it continues when it is resumed.
    NoProcess,
}

names! {
    Holder, word {
        Here = "this session",
        Another = "open in another co",
        Background = "running now",
        NoProcess = "not open anywhere",
    }
}

/// A rule that would allow a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedRule {
    /// Its coverage in a few words, e.g. `any file in notes/`.
    pub words: String,
    /// The rule as TOML.
    pub text: String,
    pub check: RuleCheck,
}

/// The effect of a rule on past calls, or what is wrong with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleCheck {
    pub past: Result<PastCalls, String>,
}

/// The number of past calls that a rule matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PastCalls {
    /// `matched` of `of` calls match; the user denied `denied` of these.
    pub matched: usize,
    pub of: usize,
    pub denied: usize,
}

/// One session of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLine {
    pub id: SessionId,
    pub title: String,
    pub workspace: PathBuf,
    /// Whether it belongs to this folder.
    pub here: bool,
    /// The time of its last record.
    pub updated: Timestamp,
    /// Turns started.
    pub turns: u32,
    /// Pending requests in it.
    pub waiting: usize,
}

/// A session in which words were said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionHit {
    pub session: SessionId,
    /// The text around the words, on one line, with keys masked.
    pub around: String,
}

/// The title of a session without a prompt.
pub const NEW_SESSION: &str = "new session";

/// The state of a session and of what answers in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub session: SessionId,
    /// [`NEW_SESSION`] until the first prompt names it.
    pub title: String,
    pub workspace: PathBuf,
    /// e.g. `offline`, `anthropic`.
    pub provider: String,
    pub model: String,
    pub isolation: Isolation,
    pub mode: Mode,
    pub auto_approve: AutoApprove,
    /// The owner of this session, if it is another process and the session is read-only here.
    pub read_only: Option<String>,
    /// The use of the model's context window, once a request was counted.
    pub context: Option<ContextUse>,
    /// The cost, once there is one.
    pub money: Option<CostSummary>,
}

/// The cost of requests so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostSummary {
    pub session: Usd,
    /// Today, in all sessions.
    pub today: Usd,
    /// The cap of a day.
    pub cap: Option<Usd>,
    /// Whether the price of everything used today is known.
    pub known: Completeness,
}

/// Whether a sum is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    All,
    /// A lower bound.
    Partly,
}

/// Tokens of the last request's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextUse {
    pub used: u64,
    /// The size of the model's context window; `None` if unknown.
    pub window: Option<u64>,
}

impl ContextUse {
    /// Returns the used part of the window in percent, at most 100.
    pub fn percent(self) -> Option<u8> {
        let window = self.window.filter(|window| *window > 0)?;
        let percent = self.used.saturating_mul(100) / window;
        Some(u8::try_from(percent.min(100)).unwrap_or(100))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_query_is_answered_once_and_not_in_the_next_session() {
        let mut queries = OpenQueries::default();
        let ask = |queries: &mut OpenQueries| match queries.ask(ClientQuery::Files) {
            ClientRequest::Query { id, query: ClientQuery::Files } => id,
            other => panic!("{other:?}"),
        };
        let (first, second) = (ask(&mut queries), ask(&mut queries));
        assert_eq!(queries.take(second), Some(ClientQuery::Files), "in any order");
        assert_eq!(queries.take(second), None);
        queries.forget();
        assert_eq!(queries.take(first), None);
        let third = ask(&mut queries);
        assert!(third > second, "ids do not repeat");
    }
}
