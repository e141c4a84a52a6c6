//! The arguments of `co approvals …` as typed. Nothing is looked up or decided here.

use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::store::RequestState;
use crate::tool::Risk;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Decide {
    /// List waiting requests of all sessions
    List(ListArgs),
    /// Show one whole request: arguments, preview, reasons, sources of untrusted text, decision
    Show {
        /// Its id, or a prefix of it; not needed if only one waits
        id: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve, after a long change was shown; it runs when its session goes on
    Yes(ApproveArgs),
    /// Deny; the model gets the reason
    No {
        /// The ids, or their beginnings
        #[arg(required_unless_present = "all")]
        ids: Vec<String>,
        /// All that wait, in every session
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// The reason, for the model
        #[arg(long, value_name = "REASON")]
        note: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Edit the arguments in $VISUAL or $EDITOR, and approve the result
    Edit {
        /// Its id, or a prefix of it
        id: String,
        /// A note for the model
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Postpone; it stays in the list
    Later {
        /// The ids, or their beginnings
        #[arg(required = true)]
        ids: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show waiting requests and every change as it happens, until interrupted
    Watch {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

// The filter of the list.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ListArgs {
    /// Requests of one session: its id, or a prefix of it
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Requests of one tool; `*` matches anything
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Requests of one risk
    #[arg(long, value_parser = risk(), value_name = "RISK")]
    pub risk: Option<Risk>,
    /// Requests in one state
    #[arg(long, value_parser = state(), value_name = "STATE")]
    pub state: Option<RequestState>,
    /// Decided requests too
    #[arg(long, short)]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The requests to approve, and how.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ApproveArgs {
    /// The ids, or prefixes of them; for HIGH risk at least 8 characters
    #[arg(required_unless_present = "all_low")]
    pub ids: Vec<String>,
    /// Change an argument first, e.g. `--set path=b.txt`, `--set list.0=x`; repeatable
    // This id replaces that of the global `--set`.
    #[arg(id = "set", long = "set", value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
    /// A note for the model
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// Approve the contents of a file that were not shown; never a command, HIGH or untrusted text
    #[arg(long)]
    pub unread: bool,
    /// Also allow such calls for the rest of its session
    #[arg(long)]
    pub session: bool,
    /// All LOW requests of this session, and nothing else
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["ids", "set"])]
    pub all_low: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The words for each risk; the first is shown.
const RISKS: [(Risk, &str, &[&str]); 3] = [
    (Risk::Low, "low", &["LOW"]),
    (Risk::Medium, "medium", &["MEDIUM", "med"]),
    (Risk::High, "high", &["HIGH"]),
];

/// Reads a risk; errors only if `clap` passes on a word that is none.
fn risk() -> impl TypedValueParser<Value = Risk> {
    PossibleValuesParser::new(RISKS.map(|(_, shown, others)| PossibleValue::new(shown).aliases(others)))
        .try_map(|word| {
            let found =
                RISKS.iter().find(|(_, shown, others)| word == *shown || others.contains(&word.as_str()));
            found.map(|(risk, ..)| *risk).ok_or("not a valid risk")
        })
}

/// Reads a state; errors only if `clap` passes on a name that is none.
fn state() -> impl TypedValueParser<Value = RequestState> {
    PossibleValuesParser::new(RequestState::NAMES.iter().copied())
        .try_map(|word| RequestState::named(&word).ok_or("not a valid state"))
}
