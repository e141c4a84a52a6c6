//! The arguments of `co prompt`.

#[derive(Debug, clap::Args)]
pub struct PromptArgs {
    #[command(subcommand)]
    pub what: PromptAction,
}

#[derive(Debug, clap::Subcommand)]
pub enum PromptAction {
    /// Print the prompt that the next turn here would send, or that a turn sent, each part with its source and tokens
    Show {
        /// The id of a session, or the beginning of one; the last session of this folder if left out
        #[arg(requires = "turn")]
        session: Option<String>,
        /// Print what this turn of the session sent, counted from 1
        #[arg(long, value_name = "NUMBER")]
        turn: Option<u32>,
        /// Print what this request of the turn sent, counted from 1, with its conversation and what was left out of it
        #[arg(long, value_name = "NUMBER", requires = "turn")]
        request: Option<usize>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
