//! The parsed arguments. Nothing is looked up or decided here.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Parser, Subcommand, ValueEnum};

use super::approvals::typed::Approvals;
use super::error::{CliError, Kind, Result};
use crate::stdx::text::nearest;

/// Settings that flags set, as pairs of name and text.
pub(super) type Flags = Vec<(String, String)>;

/// A personal assistant in your terminal. What changes something waits for your approval, now or later.
#[derive(Debug, Parser)]
#[command(name = "co", version, after_help = super::help::topics::after(), disable_help_subcommand = true, max_term_width = 100)]
pub(super) struct Args {
    #[command(flatten)]
    pub run: Run,
    // Its heading would count for what follows.
    #[command(flatten)]
    pub shared: Shared,
    #[command(subcommand)]
    pub command: Option<Sub>,
}

impl Args {
    /// The file for log lines.
    pub fn debug_file(&self) -> Option<&std::path::Path> {
        self.shared.debug_file.as_deref()
    }

    /// Whether the command may open a conversation instead of printing.
    pub fn draws(&self) -> bool {
        match &self.command {
            None | Some(Sub::Chat(_)) => self.run.print.is_none(),
            Some(Sub::Resume(resume)) => !resume.print,
            Some(_) => false,
        }
    }
}

/// Settings for this run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(super) struct Shared {
    /// The model, as `provider/model` or a bare name
    #[arg(long, global = true, value_name = "MODEL")]
    model: Option<String>,
    /// Colours for a dark or a light terminal: dark, light or auto
    #[arg(long, short = 't', global = true, value_name = "THEME")]
    theme: Option<String>,
    /// Show the model's thinking
    #[arg(long, short, global = true)]
    verbose: bool,
    /// Use lines of text instead of the full screen, for screen readers, simple terminals and logs
    #[arg(long, global = true)]
    plain: bool,
    /// Which calls ask: ask, auto, plan, dry-run or defer-all
    #[arg(long, global = true, value_name = "MODE")]
    mode: Option<String>,
    /// Append log lines to this file: operations, ids, times and errors, but no texts and no keys
    #[arg(long, global = true, value_name = "FILE")]
    debug_file: Option<std::path::PathBuf>,
    /// Any setting, e.g. `--set max_requests=10`; `co help settings` lists them
    #[arg(long = "set", global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// What to do without a subcommand.
#[derive(Debug, clap::Args)]
pub(super) struct Run {
    /// Open the screen and send this first: one argument of several words, or all that follows `--`
    #[arg(value_name = "PROMPT", value_parser = SeveralWords, conflicts_with = "rest")]
    first: Vec<String>,
    #[arg(last = true, hide = true)]
    rest: Vec<String>,
    /// Print the answer to this prompt and end; piped input is added to it
    #[arg(long, short, value_name = "PROMPT", num_args = 0..=1, default_missing_value = "")]
    pub print: Option<String>,
    /// An image for the printed prompt; may be repeated. In any prompt `@FILE` does the same
    #[arg(long, value_name = "FILE")]
    pub image: Vec<String>,
    /// The output of a printed turn
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Continue the latest session of this folder
    #[arg(long = "continue", short = 'c')]
    pub go_on: bool,
}

impl Run {
    /// Takes the first prompt, if one was typed.
    pub fn take_first(&mut self) -> Option<String> {
        let words = [std::mem::take(&mut self.first), std::mem::take(&mut self.rest)].concat().join(" ");
        Some(words).filter(|words| !words.trim().is_empty())
    }
}

/// What is wrong with a prompt and a command together.
pub(super) const NO_COMMAND: &str = "a prompt goes with no command";

/// Reads a prompt of several words: one word alone is a misspelt command.
#[derive(Clone)]
struct SeveralWords;

impl TypedValueParser for SeveralWords {
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
    /// The answer as it arrives; everything else on standard error
    Text,
    /// One JSON object at the end
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum Sub {
    /// Open the screen (the same as `co` alone)
    Chat(Chat),
    /// Continue a turn that waited or was cut off
    Resume(Resume),
    /// List, show and decide what waits for you
    Approvals(Approvals),
    /// List, check, explain, test and revoke the rules about what runs without asking
    Rules(Rules),
    /// List, trust and test hooks
    Hooks(Hooks),
    /// Trust a folder, so that its own settings, rules and hooks count
    Trust(Trust),
    /// Show the model, the folders and what waits
    Status(AsJson),
    /// List the sessions
    Sessions(Sessions),
    /// Show tokens and cost, by day, model or session
    Usage(UsageArgs),
    /// List who or what decided each call and its result, and check that nobody changed the list
    Audit(Audit),
    /// Check the database, put a copy of it back, or save what can be read
    Doctor(Doctor),
    /// Show every setting with its value and where that comes from
    Config(AsJson),
    /// List the models of the services that are set up, with windows and prices
    Models(Models),
    /// Keep, list, remove and test keys of services
    Auth(Auth),
    /// List the keys of the screen, or check them for conflicts
    Keys(Keys),
    /// Show a topic of the reference or the help of a command
    Help {
        /// A topic or a command, e.g. `settings` or `auth add`; without one all are listed
        #[arg(value_name = "TOPIC|COMMAND")]
        words: Vec<String>,
    },
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page for each command
    Man {
        /// A folder that exists, for all pages
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
    /// The session's id, or its beginning; without one the latest of this folder
    pub id: Option<String>,
    /// Print instead of opening the screen
    #[arg(long, short)]
    pub print: bool,
    /// The output of the printed turn
    #[arg(long, value_enum)]
    pub output: Option<Output>,
}

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Hooks {
    #[command(subcommand)]
    pub what: Option<HooksWhat>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum HooksWhat {
    /// List the hooks of your own file and of this folder, and which of them run
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Let hooks run as they are now; a hook that changes later does not run
    Trust {
        #[command(flatten)]
        picked: Picked,
        /// Without asking
        #[arg(long, short)]
        yes: bool,
    },
    /// Stop trusting hooks, so that they do not run
    Untrust {
        #[command(flatten)]
        picked: Picked,
    },
    /// Run a hook, or all hooks of an event, on an example, and show the answer
    Test(HookTest),
}

#[derive(Debug, clap::Args)]
#[group(required = true)]
pub(super) struct Picked {
    /// Their names
    #[arg(value_name = "NAME", conflicts_with = "all")]
    pub names: Vec<String>,
    /// All that count here
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
pub(super) struct Trust {
    /// The folder; without one the current one
    pub folder: Option<std::path::PathBuf>,
    /// List the trusted folders
    #[arg(long, conflicts_with_all = ["folder", "revoke", "yes"])]
    pub list: bool,
    /// Take trust back
    #[arg(long, conflicts_with = "yes")]
    pub revoke: bool,
    /// Without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Print the list as JSON
    #[arg(long, requires = "list")]
    pub json: bool,
}

/// The form of a list without other options.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct AsJson {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Sessions {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Sessions of every folder
    #[arg(long, short)]
    pub all: bool,
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
    /// What a row stands for
    #[arg(long, value_enum, default_value_t = UsageBy::Day)]
    pub by: UsageBy,
    /// From this date on, e.g. 2026-01-31, or the last days with today, e.g. 7d
    #[arg(long, value_name = "DATE|DAYS")]
    pub since: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Doctor {
    /// Put a copy in the database's place: this one, or the newest that `co doctor` lists
    #[arg(long, value_name = "COPY", num_args = 0..=1, conflicts_with_all = ["salvage", "json"])]
    pub restore: Option<Option<std::path::PathBuf>>,
    /// Save what can still be read into a new database
    #[arg(long, conflicts_with = "json")]
    pub salvage: bool,
    /// Without asking
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
    pub what: Option<AuditWhat>,
    /// Only this tool, e.g. `write_file`; `*` stands for anything
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only this session: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// From this date on, e.g. 2026-01-31, or the last days with today, e.g. 7d
    #[arg(long, value_name = "DATE|DAYS")]
    pub since: Option<String>,
    /// How many rows at most, the latest ones
    #[arg(long, value_name = "ROWS", default_value_t = 200)]
    pub last: usize,
    /// Print JSON, details included
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum AuditWhat {
    /// Show everything about one call: who decided it, its arguments, its result
    Show {
        /// The number of a row about it, the id of its request or of the call itself, or the beginning of these
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check that no row was changed, removed or moved, and that the end is there; exit code 1 otherwise
    Verify {
        /// A head that you saw earlier, or its first digits: it must be part of the audit
        head: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove old rows; a row states that they were removed
    Prune {
        /// Rows from before this date, e.g. 2026-01-31, or from before the last days, e.g. 90d
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

impl UsageBy {
    pub fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Model => "model",
            Self::Session => "session",
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Rules {
    #[command(subcommand)]
    pub what: Option<RulesWhat>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum RulesWhat {
    /// List the rules that count in this folder
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Look for mistakes; exit code 1 if there are any
    Check {
        /// The file; without one yours and the project's
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
    /// Take a rule out of your file
    Revoke {
        /// Its id
        id: String,
    },
    /// Suggest rules for what you always allowed
    Suggest {
        /// How often you must have allowed it
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
    pub what: AuthWhat,
}

#[derive(Debug, Subcommand)]
pub(super) enum AuthWhat {
    /// Keep a key, typed without being shown, or read from standard input
    Add {
        /// The service, e.g. `groq`; without one you choose from a list
        service: Option<String>,
        /// Refused: a key does not belong on a command line
        #[arg(hide = true, trailing_var_arg = true)]
        rest: Vec<String>,
    },
    /// List the keys of services, where they come from and which one counts
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget a key that was kept
    Remove {
        /// The service
        service: String,
    },
    /// Test keys with one cheap call each
    Test {
        /// The service; without one all that are set up
        service: Option<String>,
    },
}

impl Shared {
    /// Returns these flags without `--set`, for a subcommand in which it means something else.
    pub fn without_sets(self) -> Self {
        Self { set: Vec::new(), ..self }
    }

    /// Returns the settings given by flags, as pairs of name and text.
    pub fn flags(self) -> Result<Flags> {
        let mut flags = Vec::new();
        let named = [("--model", self.model), ("--theme", self.theme), ("--mode", self.mode)];
        flags.extend(named.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))));
        if self.verbose {
            flags.push(("--verbose".to_owned(), "true".to_owned()));
        }
        if self.plain {
            flags.push(("--plain".to_owned(), "true".to_owned()));
        }
        for pair in self.set {
            let Some((key, value)) = pair.split_once('=') else {
                let error = CliError::message(Kind::Usage, format!("`--set {pair}` has no value"));
                return Err(error.hint("write it as `--set key=value`; `co config` lists the keys"));
            };
            flags.push((key.trim().to_owned(), value.to_owned()));
        }
        Ok(flags)
    }
}
