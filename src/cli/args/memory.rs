//! The arguments of `co memory`.

use super::AsJson;

#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum MemoryAction {
    /// List memories: yours, and this project's if you trust it
    List(AsJson),
    /// Find memories by words, or by the beginnings of words
    Search {
        /// The words
        #[arg(required = true)]
        words: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remember a fact
    Add {
        /// The fact
        #[arg(required = true)]
        text: Vec<String>,
        /// A word to find it by; may be given several times
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// Keep it in this project's folder
        #[arg(long)]
        project: bool,
    },
    /// Show all of a memory: its text, its source, and when it was used
    Show {
        /// Its id, as `12` or `p12`
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Open a memory in your editor
    Edit {
        /// Its id, as `12` or `p12`
        id: String,
    },
    /// Forget a memory
    Forget {
        /// Its id, as `12` or `p12`
        id: String,
    },
    /// Show what was not used for long, what expired, and what would go because there are too many
    Review {
        /// Let go what would go
        #[arg(long)]
        yes: bool,
        /// Print JSON
        #[arg(long, conflicts_with = "yes")]
        json: bool,
    },
}
