//! The arguments of `co approvals …` as typed. Nothing is looked up or decided here.

use clap::{Subcommand, ValueEnum};

use crate::store::RequestState;
use crate::tool::Risk;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Approvals {
    #[command(subcommand)]
    pub what: Option<Decide>,
    #[command(flatten)]
    pub listed: Listed,
}

impl Approvals {
    /// Whether `--set` refers to arguments here, and not to settings.
    pub fn takes_fields(&self) -> bool {
        match &self.what {
            Some(Decide::Yes(_)) => true,
            Some(
                Decide::List(_)
                | Decide::Show { .. }
                | Decide::No { .. }
                | Decide::Edit { .. }
                | Decide::Later { .. }
                | Decide::Watch { .. },
            )
            | None => false,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Decide {
    /// List what waits, in every session
    List(Listed),
    /// Show one request whole: arguments, preview, reasons, whose words are in it, what was decided
    Show {
        /// Its id, or the beginning of it
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve; it runs when its session goes on
    Yes(Yes),
    /// Deny; the model is told
    No {
        /// The ids, or their beginnings
        #[arg(required = true)]
        ids: Vec<String>,
        /// The reason, for the model
        #[arg(long, value_name = "REASON")]
        note: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Change the arguments in $VISUAL or $EDITOR, and approve what was saved
    Edit {
        /// Its id, or the beginning of it
        id: String,
        /// A word to the model
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Put off; it stays in the list
    Later {
        /// The ids, or their beginnings
        #[arg(required = true)]
        ids: Vec<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell what waits and what becomes of it, as it happens, until interrupted
    Watch {
        /// A line of JSON each
        #[arg(long)]
        json: bool,
    },
}

/// What is listed.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Listed {
    /// Those of one session: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Those of one tool; `*` stands for anything
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Those of one risk
    #[arg(long, value_enum, value_name = "RISK")]
    pub risk: Option<RiskWord>,
    /// Those in one state
    #[arg(long, value_enum, value_name = "STATE")]
    pub state: Option<StateWord>,
    /// Decided ones too
    #[arg(long, short)]
    pub all: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// What is approved, and how.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Yes {
    /// The ids, or their beginnings; of HIGH risk at least 8 characters each
    #[arg(required_unless_present = "all_low")]
    pub ids: Vec<String>,
    /// Change an argument first, e.g. `--set path=b.txt`, `--set list.0=x`; may be given again
    // This id replaces that of the global `--set`.
    #[arg(id = "set", long = "set", value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
    /// A word to the model
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// And what is like it, for as long as its session lasts
    #[arg(long)]
    pub session: bool,
    /// All LOW ones of this session, and nothing else
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["ids", "set"])]
    pub all_low: Option<String>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// A risk as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum RiskWord {
    #[value(alias = "LOW")]
    Low,
    #[value(alias = "MEDIUM", alias = "med")]
    Medium,
    #[value(alias = "HIGH")]
    High,
}

impl RiskWord {
    pub fn risk(self) -> Risk {
        match self {
            Self::Low => Risk::Low,
            Self::Medium => Risk::Medium,
            Self::High => Risk::High,
        }
    }
}

/// A state as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum StateWord {
    Waiting,
    Later,
    Approved,
    Edited,
    Replaced,
    Denied,
    Consumed,
    Withdrawn,
    Superseded,
    Expired,
}

impl StateWord {
    pub fn state(self) -> RequestState {
        match self {
            Self::Waiting => RequestState::Waiting,
            Self::Later => RequestState::Later,
            Self::Approved => RequestState::Approved,
            Self::Edited => RequestState::Edited,
            Self::Replaced => RequestState::Replaced,
            Self::Denied => RequestState::Denied,
            Self::Consumed => RequestState::Consumed,
            Self::Withdrawn => RequestState::Withdrawn,
            Self::Superseded => RequestState::Superseded,
            Self::Expired => RequestState::Expired,
        }
    }

    /// Whether a user can still decide.
    pub fn is_undecided(self) -> bool {
        match self {
            Self::Waiting | Self::Later => true,
            Self::Approved
            | Self::Edited
            | Self::Replaced
            | Self::Denied
            | Self::Consumed
            | Self::Withdrawn
            | Self::Superseded
            | Self::Expired => false,
        }
    }
}
