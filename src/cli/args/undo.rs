//! The arguments of `co undo`.

#[derive(Debug, clap::Args)]
pub struct UndoArgs {
    /// The number of a change; default: the last one
    #[arg(conflicts_with_all = ["turn", "redo", "list"])]
    pub id: Option<i64>,
    /// List the changes, the newest first
    #[arg(long, conflicts_with_all = ["turn", "redo", "yes"])]
    pub list: bool,
    /// Take back all changes of the last turn
    #[arg(long, conflicts_with = "redo")]
    pub turn: bool,
    /// Do again what was taken back last
    #[arg(long)]
    pub redo: bool,
    /// Take back files that others may have changed while a command ran
    #[arg(long)]
    pub yes: bool,
    /// List the changes of all folders
    #[arg(long, requires = "list")]
    pub all: bool,
    /// Print JSON
    #[arg(long, requires = "list")]
    pub json: bool,
}
