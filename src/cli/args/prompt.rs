//! The arguments of `co prompt`.

#[derive(Debug, clap::Args)]
pub struct PromptArgs {
    #[command(subcommand)]
    pub what: PromptWhat,
}

#[derive(Debug, clap::Subcommand)]
pub enum PromptWhat {
    /// Print the prompt that the next turn here would send, each part with its source and tokens
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
