//! The input and the results of commands: plain values exchanged between `command` and `app`.

use crate::agent::prompt::{PromptPart, SentError, SentPrompt};
use crate::approval::{AutoApprove, Request, RequestId};
use crate::config::{Mode, ThinkingLevel};
use crate::history::RecordNo;
use crate::memory::{MemoryId, MemoryRequest};
use crate::message::Usage;
use crate::sandbox::Isolation;
use crate::sandbox::tasks::Task;
use crate::stdx::names::names;
use crate::store::{StoredUsage, UsedModel};
use crate::telemetry::stats::Stats;
use crate::tool::ToolSpec;
use crate::tool::cache::CachedResult;
use crate::tool::mcp::ServerStatus;
use crate::undo::UndoTarget;

/// The state of the session and of the program when a command is entered. What the command does not need is empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CommandView {
    pub mode: Mode,
    pub auto_approve: AutoApprove,
    /// The isolation of commands.
    pub isolation: Isolation,
    /// Set if nothing can be sent because another process owns the session; names the owner.
    pub read_only: Option<String>,
    /// A turn is running.
    pub turn_runs: bool,
    pub thinking: ThinkingLevel,
    /// Rows of a name and a value: those of `co status`, and the session's own.
    pub status: Vec<(String, String)>,
    pub tools: Vec<ToolSpec>,
    /// The tasks of this session, the oldest first, each with the file of its output.
    pub tasks: Vec<(Task, String)>,
    /// Results of tools that would be used again.
    pub cache: Vec<CachedResult>,
    /// The tool servers of the settings.
    pub servers: Vec<ServerStatus>,
    pub totals: ConversationSize,
    /// The usage of the last request, the turn, the session, and today.
    pub cost: Vec<CostPart>,
    /// Of the last 30 days.
    pub stats: Stats,
    /// Why they cannot be read, as a sentence.
    pub stats_broken: Option<String>,
    pub context: ContextView,
    /// The user's prompts with the numbers of their messages, oldest first.
    pub prompts: Vec<(RecordNo, String)>,
    /// Requests of this session that the user can decide now, oldest first.
    pub waiting: Vec<Request>,
    /// The number of requests of all other sessions that the user can decide now.
    pub waiting_elsewhere: usize,
    /// Descriptions of what was allowed for the session, with the request by whose approval.
    pub grants: Vec<(RequestId, String)>,
    /// Rules in force, those from files first.
    pub rules: Vec<RuleLine>,
    /// The error in the rule files, as a sentence.
    pub rules_broken: Option<String>,
    /// The personality in use, and all that there are.
    pub personality: String,
    pub personalities: Vec<String>,
    /// The model in use, if no personality is sent to it.
    pub without_personality: Option<String>,
    /// The parts of the prompt that the next turn sends.
    pub prompt: Vec<PromptPart>,
    /// The requests of the turn that the arguments of `/status` name.
    pub sent: Option<Result<Vec<SentPrompt>, SentError>>,
    /// The file with instructions that the session's folder has.
    pub guide: Option<String>,
}

/// Why a change of the session has to wait, and what to do first.
pub const TURN_RUNS: &str = "A turn is running.";
pub const STOP_FIRST: &str = "Stop it with Ctrl+C first";

impl CommandView {
    /// Returns the answer to a command that waits for the end of the turn, while one runs.
    pub(super) fn busy(&self, name: &str) -> Option<CommandEffect> {
        let text = format!("{TURN_RUNS} {STOP_FIRST}, then `/{name}`.");
        self.turn_runs.then(|| CommandEffect::warning(name, text))
    }

    /// Returns the answer to a command that only the session's owner can carry out, if that is another process.
    pub(super) fn owner_refusal(&self, name: &str, what: &str) -> Option<CommandEffect> {
        let owner = self.read_only.as_ref()?;
        Some(CommandEffect::warning(name, format!("Only {owner} can {what}.")))
    }

    /// Returns a change of the session that a command asks for, or the answer while a turn runs.
    pub(super) fn change(&self, name: &str, change: SessionChange) -> CommandEffect {
        self.busy(name).unwrap_or(CommandEffect::Change(change))
    }
}

/// The size of the next request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextView {
    /// Its parts, with estimated tokens.
    pub parts: Vec<(&'static str, u64)>,
    /// The tokens of the model's window; `None` if unknown.
    pub window: Option<u32>,
    /// The tokens beyond which older messages are summarised.
    pub limit: Option<u64>,
    /// The input tokens of the last request, as the provider counted them, and how many came from its cache.
    pub last_input: Option<u64>,
    pub cached: Option<u64>,
    /// How many messages a compaction would replace, and their estimated tokens.
    pub compactable: Option<(usize, u64)>,
    /// Number of compactions that can be undone.
    pub compactions: usize,
}

/// The description of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleLine {
    pub id: String,
    pub text: String,
}

/// The usage of a set of requests, by model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostPart {
    pub name: &'static str,
    pub models: Vec<(UsedModel, StoredUsage)>,
}

/// The size of the conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConversationSize {
    /// Since the session began.
    pub turns: u32,
    /// The message counts of the conversation as sent to the model.
    pub user: usize,
    pub assistant: usize,
    pub returns: usize,
    /// Prompts waiting for their turn.
    pub queued: usize,
    /// Tokens of the requests since the program started.
    pub usage: Usage,
}

/// A model that can be switched to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelLine {
    /// The text to type after `/model`.
    pub name: String,
    /// Where it comes from, or what it needs.
    pub note: String,
    pub current: bool,
}

/// The argument of `/trust`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustAction {
    Look,
    Yes,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExportForm {
    #[default]
    Markdown,
    Json,
    Html,
}

// The names are also the endings of files.
names! { ExportForm, all { Markdown = "md", Json = "json", Html = "html", } }

/// Whether going back takes back what calls did to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRestore {
    Stay,
    /// If nothing has to be agreed to.
    TakenBack,
    /// The user saw the list.
    Agreed,
}

/// The action that a command requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEffect {
    Say(Notice),
    Change(SessionChange),
    /// Take back what the approval of this request allowed for the session, then display the message.
    Revoke(RequestId, Notice),
    /// Turn automatic approval on or off, then display the message.
    SetAutoApprove(AutoApprove, Notice),
    /// Change the mode, then display the message.
    SetMode(Mode, Notice),
    /// Change the mode, then let the model carry out its plan.
    CarryOut(Mode),
    /// Show the keys of the front end; only those matching these words, if there are any.
    ShowKeys(String),
    /// Switch to this model at once.
    SwitchModel(String),
    /// List the available models.
    ListModels,
    /// Change the personality from the next turn on, then display the message.
    SetPersonality(String, Notice),
    /// Send this text as the user's prompt, after the message.
    Send {
        say: Option<Notice>,
        text: String,
        /// The part of it that the user typed: only files named there are attached.
        typed: String,
        /// The file of the project whose text it is; `None` if it is the user's or built in.
        of_project: Option<String>,
    },
    /// Change how much the model thinks, then display the message.
    SetThinking(ThinkingLevel, Notice),
    /// List what can be taken back.
    ListChanges,
    /// Do this with memories.
    Memory(MemoryRequest),
    /// Put the text of a memory into the composer.
    EditMemory(MemoryId),
    /// List the services that can be set up.
    ListServices,
    /// Show what the session's folder would enable, or trust it with what was shown.
    Trust(TrustAction),
    /// List the sessions; `query` is what the user looks for.
    ListSessions {
        query: String,
    },
    /// Give the session this title.
    Rename(String),
    /// Write the session into a file of its folder.
    Export(ExportForm),
    /// End a command that runs in the background.
    EndTask(usize),
    /// Drop the kept results of tools that match this pattern, or all.
    ClearCache(Option<String>),
    /// List the tool servers.
    ListServers,
    /// Connect the tool server of this name again.
    ReconnectServer(String),
    Quit,
}

impl CommandEffect {
    pub(super) fn plain(title: &str, text: impl Into<String>) -> Self {
        Self::Say(Notice::plain(title, text))
    }

    pub(super) fn warning(title: &str, text: impl Into<String>) -> Self {
        Self::Say(Notice::warning(title, text))
    }
}

/// The severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Warning,
    Error,
}

/// A message for the user, as Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub title: String,
    pub text: String,
    pub tone: Tone,
}

impl Notice {
    pub fn plain(title: &str, text: impl Into<String>) -> Self {
        Self { title: title.to_owned(), text: text.into(), tone: Tone::Plain }
    }

    pub fn warning(title: &str, text: impl Into<String>) -> Self {
        Self { title: title.to_owned(), text: text.into(), tone: Tone::Warning }
    }

    pub fn error(title: &str, text: impl Into<String>) -> Self {
        Self { title: title.to_owned(), text: text.into(), tone: Tone::Error }
    }
}

/// A change of the session, which only its owner makes, between turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    /// Start a new session; the current one stays, with its pending requests.
    Clear,
    /// Send the last prompt again.
    Retry,
    /// Replace older messages by a summary that keeps above all what the user names.
    Compact { focus: Option<String> },
    /// Undo the last compaction.
    UndoCompaction,
    /// Go on in a copy of the session, with this prompt.
    Fork { message: Option<String> },
    /// Go back to before a message; its text is for the composer.
    Rewind { before: RecordNo, text: String, files: FileRestore },
    /// Take back what calls changed in files, or do it again; `agreed` is that the user saw the list.
    Undo { what: UndoTarget, agreed: bool },
}
