//! The parsed arguments. Nothing is looked up or decided here.

mod eval;
mod memory;
mod prompt;
mod spans;
mod tasks;
mod undo;

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Parser, Subcommand, ValueEnum};

pub(super) use self::eval::EvalArgs;
pub(super) use self::memory::MemoryAction;
pub(super) use self::prompt::{PromptAction, PromptArgs};
pub(super) use self::spans::{LogsArgs, StatsArgs, TailArgs, TracesArgs};
pub(super) use self::tasks::{Tasks, TasksAction};
pub(super) use self::undo::UndoArgs;
use super::approvals::typed::{Decide, ListArgs};
use super::error::{CliError, Result};
use crate::stdx::names::names;
use crate::stdx::text::nearest;

/// Settings that flags set, as pairs of name and text.
pub(super) type Flags = Vec<(String, String)>;

/// A personal assistant in your terminal. Calls that change something wait for your approval.
#[derive(Debug, Parser)]
#[command(name = "co", version, after_help = super::help::topics::after(), disable_help_subcommand = true, max_term_width = 100)]
pub(super) struct Args {
    #[command(flatten)]
    pub run: Run,
    // Its heading would count for what follows.
    #[command(flatten)]
    pub shared: GlobalArgs,
    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

impl Args {
    /// Returns the filter and the file of the log.
    pub fn log(&self) -> (Option<&str>, Option<&std::path::Path>) {
        (self.shared.debug.as_deref(), self.shared.debug_file.as_deref())
    }

    /// Whether the command may open a conversation instead of printing.
    pub fn draws(&self) -> bool {
        match &self.command {
            None | Some(CliCommand::Chat(_)) => self.run.print.is_none(),
            Some(CliCommand::Resume(resume)) => !resume.print,
            Some(_) => false,
        }
    }
}

/// Settings for this run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(super) struct GlobalArgs {
    /// The model, as `provider/model` or a bare name
    #[arg(long, global = true, value_name = "MODEL")]
    model: Option<String>,
    /// Colours for a dark or a light terminal: dark, light or auto
    #[arg(long, short = 't', global = true, value_name = "THEME")]
    theme: Option<String>,
    /// Show the model's thinking
    #[arg(long, short, global = true)]
    verbose: bool,
    /// Plain lines of text instead of the full screen, for screen readers, simple terminals and logs
    #[arg(long, global = true)]
    plain: bool,
    /// Which calls ask: ask, auto, plan, dry-run or defer-all
    #[arg(long, global = true, value_name = "MODE")]
    mode: Option<String>,
    /// Append log lines to this file: operations, ids, times and errors, never message texts or keys
    #[arg(long, global = true, value_name = "FILE")]
    debug_file: Option<std::path::PathBuf>,
    /// Log to `debug.log` in the default data folder, or to `--debug-file`; FILTER is a level, or levels of modules
    #[arg(long, global = true, value_name = "FILTER", num_args = 0..=1, require_equals = true,
        default_missing_value = "co=debug")]
    debug: Option<String>,
    /// Any setting, e.g. `--set max_requests=10`; `co help settings` lists them
    #[arg(long = "set", global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// The options of a run without a subcommand.
#[derive(Debug, clap::Args)]
pub(super) struct Run {
    /// Open the screen and send this first: one argument of several words, or all that follows `--`
    #[arg(value_name = "PROMPT", value_parser = PromptParser, conflicts_with = "rest")]
    first: Vec<String>,
    #[arg(last = true, hide = true)]
    rest: Vec<String>,
    /// Print the answer to this prompt and exit; piped input is appended
    #[arg(long, short, value_name = "PROMPT", num_args = 0..=1, default_missing_value = "")]
    pub print: Option<String>,
    /// An image for the printed prompt; repeatable. In any prompt `@FILE` does the same
    #[arg(long, value_name = "FILE")]
    pub image: Vec<String>,
    /// Output format of a printed turn
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Continue the latest session of this folder
    #[arg(long = "continue", short = 'c')]
    pub go_on: bool,
    /// Continue the session with this id, or begin one with it
    #[arg(long, value_name = "UUID", conflicts_with = "go_on")]
    pub session_id: Option<uuid::Uuid>,
    /// Keep this session in memory only: its messages, requests, outputs and input lines end with it; the audit keeps hashes
    #[arg(long, conflicts_with = "go_on")]
    pub no_session_persistence: bool,
}

impl Run {
    /// Takes the first prompt, if one was typed.
    pub fn take_first(&mut self) -> Option<String> {
        let words = [std::mem::take(&mut self.first), std::mem::take(&mut self.rest)].concat().join(" ");
        Some(words).filter(|words| !words.trim().is_empty())
    }
}

/// The error for a prompt and a command together.
pub(super) const NO_COMMAND: &str = "a prompt goes with no command";

/// Reads a prompt of several words: one word alone is a misspelt command.
#[derive(Clone)]
struct PromptParser;

impl TypedValueParser for PromptParser {
    type Value = String;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        let Some(text) = value.to_str() else {
            return Err(clap::Error::new(ErrorKind::InvalidUtf8).with_cmd(command));
        };
        if text.trim().contains(char::is_whitespace) {
            return Ok(text.to_owned());
        }
        if command.find_subcommand(text).is_some() {
            return Err(command.clone().error(ErrorKind::ArgumentConflict, NO_COMMAND));
        }
        let mut error = clap::Error::new(ErrorKind::InvalidSubcommand).with_cmd(command);
        error.insert(ContextKind::InvalidSubcommand, ContextValue::String(text.to_owned()));
        if let Some(like) = nearest(text, command.get_subcommands().map(Command::get_name)) {
            let like = ContextValue::Strings(vec![like.to_owned()]);
            error.insert(ContextKind::SuggestedSubcommand, like);
        }
        let tip = format!("`co -- {text}` sends it as a prompt");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        error.insert(ContextKind::Usage, ContextValue::StyledStr(command.clone().render_usage()));
        Err(error)
    }
}

/// The output format of a printed turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// The answer as it arrives; everything else goes to standard error
    Text,
    /// One JSON object at the end
    Json,
}

// The arguments of a command are built only when it is used. A doc comment on a type of arguments would then replace the
// command's help, so some have ordinary comments.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum CliCommand {
    /// Open the screen (the same as `co` alone)
    Chat(Chat),
    /// Continue a turn that was waiting or cut off
    Resume(Resume),
    /// List, show and decide waiting requests
    Approvals(ListCommand<Decide, ListArgs>),
    /// List, check, explain, test and revoke the rules for what runs without asking
    Rules(ListCommand<RulesAction>),
    /// List, trust and test hooks
    Hooks(ListCommand<HooksAction>),
    /// Trust a folder, so that its settings, rules, hooks, servers, texts, memories and commands count
    Trust(TrustArgs),
    /// Show the model, folders and waiting requests
    Status(AsJson),
    /// List the sessions
    Sessions(ListCommand<SessionsAction, SessionsListArgs>),
    /// List, show and end commands in the background
    Tasks(Tasks),
    /// List the tools that the model may call
    Tools(AsJson),
    /// Show what models are told before the conversation
    Prompt(PromptArgs),
    /// Take back what calls and commands changed in files of this folder
    Undo(UndoArgs),
    /// List, find, add, change and forget what is remembered
    Memory(ListCommand<MemoryAction>),
    /// List, add, remove, switch and test tool servers (MCP)
    Mcp(ListCommand<McpAction>),
    /// Show tokens and cost, by day, model or session
    Usage(UsageArgs),
    /// Show requests, calls, durations and approvals, by day, model and tool
    Stats(StatsArgs),
    /// Show spans as they end: turns, model requests, calls and waits
    Tail(TailArgs),
    /// Write the latest traces, or one, into a page for a browser
    Traces(TracesArgs),
    /// Browse the spans with Datasette
    Logs(LogsArgs),
    /// Score how a model calls tools, with golden cases
    Eval(EvalArgs),
    /// Show who or what decided each call and its result; verify that the record is unchanged
    Audit(Audit),
    /// Check the database, restore a backup, or salvage what can be read
    Doctor(Doctor),
    /// Show every setting with its value and source
    Config(AsJson),
    /// List the models of configured services, with windows and prices
    Models(Models),
    /// Add, list, remove and test API keys
    Auth(Auth),
    /// List the keys of the screen, or check them for conflicts
    Keys(Keys),
    /// Show a topic of the reference or the help of a command
    Help {
        /// A topic or a command, e.g. `settings` or `auth add`; default: list all
        #[arg(value_name = "TOPIC|COMMAND")]
        words: Vec<String>,
    },
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page per command
    Man {
        /// A folder for all pages; it is made if it is missing
        folder: Option<std::path::PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct Chat {
    /// Continue the latest session of this folder
    #[arg(long = "continue", short = 'c')]
    pub go_on: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Resume {
    /// The session's id, a prefix, or words of its title or conversation; default: the latest of this folder
    #[arg(value_name = "SESSION|WORDS")]
    pub words: Vec<String>,
    /// Print instead of opening the screen
    #[arg(long, short)]
    pub print: bool,
    /// Output format of the printed turn
    #[arg(long, value_enum)]
    pub output: Option<Output>,
}

#[derive(Debug, Subcommand)]
pub(super) enum HooksAction {
    /// List your hooks and this folder's, and which of them run
    List(AsJson),
    /// Trust hooks as they are now; a hook that changes later does not run
    Trust {
        #[command(flatten)]
        picked: HookSelection,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Stop trusting hooks, so that they do not run
    Untrust {
        #[command(flatten)]
        picked: HookSelection,
    },
    /// Run a hook, or all hooks of an event, on an example, and show the answer
    Test(HookTest),
}

#[derive(Debug, clap::Args)]
#[group(required = true)]
pub(super) struct HookSelection {
    /// Hook names
    #[arg(value_name = "NAME", conflicts_with = "all")]
    pub names: Vec<String>,
    /// All that apply here
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct HookTest {
    /// A hook's name, or an event such as PreToolUse
    #[arg(value_name = "NAME|EVENT")]
    pub what: String,
    /// The tool of the example
    #[arg(long)]
    pub tool: Option<String>,
    /// Its arguments, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub args: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct TrustArgs {
    /// The folder; default: the current one
    pub folder: Option<std::path::PathBuf>,
    /// List the trusted folders
    #[arg(long, conflicts_with_all = ["folder", "revoke", "yes"])]
    pub list: bool,
    /// Revoke trust
    #[arg(long, conflicts_with = "yes")]
    pub revoke: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
    /// Print the list as JSON
    #[arg(long, requires = "list")]
    pub json: bool,
}

// A command that lists, unless a subcommand says otherwise.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ListCommand<W: Subcommand, L: clap::Args = AsJson> {
    #[command(subcommand)]
    pub what: Option<W>,
    #[command(flatten)]
    pub listed: L,
}

// The form of a list without other options.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct AsJson {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

// The form of the list of sessions.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct SessionsListArgs {
    #[command(flatten)]
    pub form: AsJson,
    /// Sessions of every folder
    #[arg(long, short)]
    pub all: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum SessionsAction {
    /// List the sessions of this folder
    List(SessionsListArgs),
    /// Find sessions by words that were said in them
    Search {
        /// Words, or their beginnings; all must be found
        #[arg(required = true)]
        words: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Number of sessions
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// Print the conversation of a session
    Show(SessionId),
    /// Write a session as a document; keys and tokens are masked
    Export {
        #[command(flatten)]
        session: SessionId,
        /// Form of the document
        #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(crate::command::ExportForm::NAMES.iter().copied()), default_value = "md")]
        format: String,
        /// A new file; default: standard output
        #[arg(long, short, value_name = "FILE")]
        output: Option<std::path::PathBuf>,
    },
    /// Make a session of a conversation from a file
    ///
    /// Reads exports of co (JSON), lists of messages of the OpenAI and Anthropic APIs, and session files of Claude Code.
    Import {
        /// The file; `-`: standard input
        file: std::path::PathBuf,
    },
    /// Give a session a title
    Rename {
        #[command(flatten)]
        session: SessionId,
        /// The title
        #[arg(required = true)]
        title: Vec<String>,
    },
    /// Delete old sessions; those with requests that wait are kept
    ///
    /// Without options the retention of the settings applies: `history.keep_days` and `history.max_mb`, which also apply by
    /// themselves, a minute after a conversation begins. Copies of the database keep what they hold for up to three days.
    Prune {
        /// Sessions last used before this date, e.g. 2026-01-31, or older than this many days, e.g. 90d
        #[arg(long, value_name = "DATE|DAYS")]
        before: Option<String>,
        /// The oldest sessions, until the database is no larger than this many MiB
        #[arg(long, value_name = "MIB")]
        max_mb: Option<u32>,
        /// Delete them; without it they are only listed
        #[arg(long, short)]
        yes: bool,
    },
    /// Delete a session with its requests, usage and outputs; the audit keeps its rows
    ///
    /// Lines of its prompts stay in the input history, and copies of the database keep what they hold for up to three days.
    Delete {
        #[command(flatten)]
        session: SessionId,
        /// Confirm it
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct SessionId {
    /// The session's id, or a prefix
    #[arg(value_name = "SESSION")]
    pub id: String,
}

#[derive(Debug, Subcommand)]
pub(super) enum McpAction {
    /// List the servers of the settings; connects none
    List(AsJson),
    /// Connect a server, and say what it answers
    Test {
        /// The server
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Connect a server, and list its tools
    Tools {
        /// The server
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a server to your settings
    Add {
        /// Its name, with which the names of its tools begin
        name: String,
        /// The address of a server in the network
        #[arg(long, conflicts_with = "command")]
        url: Option<String>,
        /// A variable that its program gets: NAME from the environment of co, or NAME=VALUE; repeatable
        #[arg(long, value_name = "NAME[=VALUE]")]
        env: Vec<String>,
        /// Run its tools without asking, except those with HIGH risk
        #[arg(long)]
        never_ask: bool,
        /// The program and its arguments, after `--`; none for a server that `co mcp` lists as known
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// Remove a server from your settings
    Remove {
        /// The server
        name: String,
    },
    /// Switch a server on; one of the project is shown first
    Enable {
        /// The server
        name: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Switch a server off
    Disable {
        /// The server
        name: String,
    },
    /// Log in to a server in the network, with a browser
    Login {
        /// The server
        name: String,
        /// A right to ask for, in place of those that the server asks for; repeatable
        #[arg(long, value_name = "SCOPE")]
        scope: Vec<String>,
        /// Print the address only, and open no browser
        #[arg(long)]
        no_browser: bool,
    },
    /// Forget the tokens of a server
    Logout {
        /// The server
        name: String,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct Models {
    /// Models of one service, e.g. `openai`
    pub service: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Do not ask the services for their lists
    #[arg(long)]
    pub offline: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct UsageArgs {
    /// What each row shows
    #[arg(long, value_enum, default_value_t = UsageBy::Day)]
    pub by: UsageBy,
    /// Since this date, e.g. 2026-01-31, or the last days including today, e.g. 7d
    #[arg(long, value_name = "DATE|DAYS")]
    pub since: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Doctor {
    /// Restore a backup: this one, or the newest that `co doctor` lists
    #[arg(long, value_name = "COPY", num_args = 0..=1, conflicts_with_all = ["salvage", "json"])]
    pub restore: Option<Option<std::path::PathBuf>>,
    /// Save what can still be read into a new database
    #[arg(long, conflicts_with = "json")]
    pub salvage: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Audit {
    #[command(subcommand)]
    pub what: Option<AuditAction>,
    /// Only this tool, e.g. `write_file`; `*` matches anything
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only this session: its id, or a prefix of it
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Since this date, e.g. 2026-01-31, or the last days including today, e.g. 7d
    #[arg(long, value_name = "DATE|DAYS")]
    pub since: Option<String>,
    /// Show at most this many of the latest rows
    #[arg(long, value_name = "ROWS", default_value_t = 200)]
    pub last: usize,
    /// Print JSON, details included
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum AuditAction {
    /// Show everything about one call: who decided it, its arguments, its result
    Show {
        /// A row number, or the id of the request or call, or a prefix of one
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check that no row was changed, removed or moved and none is missing at the end; exit code 1 otherwise
    Verify {
        /// A head that you saw earlier, or its first digits: it must be part of the audit
        head: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove old rows; a new row records the removal
    Prune {
        /// Rows before this date, e.g. 2026-01-31, or older than this many days, e.g. 90d
        #[arg(long, value_name = "DATE|DAYS")]
        before: String,
    },
}

/// The grouping of `co usage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum UsageBy {
    /// A day of the local time zone
    Day,
    /// A model
    Model,
    /// A session
    Session,
}

names! { UsageBy, word { Day = "day", Model = "model", Session = "session", } }

#[derive(Debug, Subcommand)]
pub(super) enum RulesAction {
    /// List the rules that apply in this folder
    List(AsJson),
    /// Check for errors; exit code 1 if there are any
    Check {
        /// The file; default: yours and the project's
        file: Option<std::path::PathBuf>,
    },
    /// Show how a call would be decided here, stage by stage
    Explain {
        /// A tool, or the id of a request
        what: String,
        /// The tool's arguments as JSON
        args: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show how many of your last calls a rule would have matched
    Test {
        /// A file, or the text of a rule
        rule: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a rule from your file
    Revoke {
        /// Its id
        id: String,
    },
    /// Suggest rules for calls you always approved
    Suggest {
        /// How often you must have approved it
        #[arg(long, value_name = "N", default_value_t = 3)]
        min: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct Keys {
    /// Only check the keys that you set; exit code 1 if anything is wrong
    #[arg(long)]
    pub check: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "check")]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Auth {
    #[command(subcommand)]
    pub what: AuthAction,
}

#[derive(Debug, Subcommand)]
pub(super) enum AuthAction {
    /// Save a key, typed without echo or read from standard input
    Add {
        /// The service, e.g. `groq`; default: choose from a list
        service: Option<String>,
        /// Refused: keys do not belong on the command line
        #[arg(hide = true, trailing_var_arg = true)]
        rest: Vec<String>,
    },
    /// List API keys, their sources and which one is used
    List(AsJson),
    /// Remove a saved key
    Remove {
        /// The service
        service: String,
    },
    /// Test keys with one cheap request each
    Test {
        /// The service; default: all configured ones
        service: Option<String>,
    },
}

impl GlobalArgs {
    /// Returns these flags without `--set`, for a subcommand in which it means something else.
    pub fn without_sets(self) -> Self {
        Self { set: Vec::new(), ..self }
    }

    /// Returns the settings given by flags, as pairs of name and text.
    pub fn flags(self) -> Result<Flags> {
        let mut flags = Vec::new();
        let on = |is_set: bool| is_set.then(|| "true".to_owned());
        let (verbose, plain) = (("--verbose", on(self.verbose)), ("--plain", on(self.plain)));
        let named = [("--model", self.model), ("--theme", self.theme), ("--mode", self.mode), verbose, plain];
        flags.extend(named.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))));
        for pair in self.set {
            let Some((key, value)) = pair.split_once('=') else {
                let error = CliError::usage(format!("`--set {pair}` has no value"));
                return Err(error.hint("write it as `--set key=value`; `co config` lists the keys"));
            };
            flags.push((key.trim().to_owned(), value.to_owned()));
        }
        Ok(flags)
    }
}
