//! The arguments of `co tasks`.

use clap::Subcommand;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Tasks {
    #[command(subcommand)]
    pub what: Option<TasksAction>,
    /// Tasks that ended, too
    #[arg(long, short)]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum TasksAction {
    /// Print what a task has printed
    Show {
        /// SESSION/NUMBER, or the number alone
        #[arg(value_name = "TASK")]
        id: String,
    },
    /// End a task with all its processes
    End {
        /// SESSION/NUMBER, or the number alone
        #[arg(value_name = "TASK")]
        id: String,
    },
}
