//! What commands may know, and what they may want: plain values between `command` and `app`.

use crate::approval::{Mode, Request, Standing};
use crate::message::Usage;
use crate::store::{Total, UsedModel};
use crate::tool::ToolSpec;

/// The state of the session and of the program, as it is when a command is typed.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandView {
    pub mode: Mode,
    pub standing: Standing,
    /// Why nothing can be sent here: another process has the session. Says who.
    pub read_only: Option<String>,
    pub activity: Activity,
    /// Rows of a name and a value: what `co status` shows, and the session's own.
    pub status: Vec<(String, String)>,
    pub tools: Vec<ToolSpec>,
    pub models: Vec<ModelLine>,
    pub totals: Totals,
    /// The last request, the turn, the session, today.
    pub cost: Vec<CostPart>,
    /// Requests of this session that a person can decide now, oldest first.
    pub waiting: Vec<Request>,
    /// Requests of all other sessions that a person can decide now.
    pub waiting_elsewhere: usize,
    /// What was allowed for the session, in words.
    pub grants: Vec<String>,
    /// Rules that count, those of files first.
    pub rules: Vec<RuleLine>,
    /// What is wrong with the files of rules, in a sentence.
    pub rules_broken: Option<String>,
}

/// One rule in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleLine {
    pub id: String,
    pub text: String,
}

/// What some requests used, by model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostPart {
    pub name: &'static str,
    pub models: Vec<(UsedModel, Total)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    Idle,
    /// A turn runs.
    Running,
}

/// What the conversation has come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Since the session began.
    pub turns: u32,
    /// Of the conversation as the model sees it.
    pub user: usize,
    pub assistant: usize,
    pub returns: usize,
    /// Prompts that wait for their turn.
    pub queued: usize,
    /// Tokens of the requests since the program started.
    pub usage: Usage,
}

/// A model that can be switched to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelLine {
    /// What to type behind `/model`.
    pub name: String,
    /// Where it comes from, or what it needs.
    pub note: String,
    pub current: bool,
}

/// A word on the trust in the session's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trusting {
    Look,
    Yes,
}

/// What a command wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEffect {
    Say(Say),
    /// Start the conversation afresh; what waits stays in the inbox.
    Clear,
    /// Change who answers for the person, then say so.
    Stand(Standing, Say),
    /// Change what is asked for, then say so.
    SetMode(Mode, Say),
    /// Show the keys of the face, those with these words if there are any.
    ShowKeys(String),
    /// Switch to this model at once.
    SwitchModel(String),
    /// Let the person pick one of the models that are ready; the text says the same for faces without lists.
    PickModel(String),
    /// Let the person set up a service.
    PickService,
    /// Show what the session's folder would bring, or trust it with what was shown.
    Trust(Trusting),
    /// Let the person pick another session; `query` is what to look for first.
    PickSession {
        query: String,
    },
    Quit,
}

/// How words are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Warning,
    Error,
}

/// Words for the person, as Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Say {
    pub title: String,
    pub text: String,
    pub tone: Tone,
}

impl Say {
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
