//! The arguments of the commands that show spans.

#[derive(Debug, clap::Args)]
pub struct StatsArgs {
    /// Since this date, e.g. 2026-01-31, or the last days including today, e.g. 7d
    #[arg(long, value_name = "DATE|DAYS", default_value = "30d")]
    pub since: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

// With `--verbose`, replies and thinking are shown too.
#[derive(Debug, clap::Args)]
pub struct TailArgs {
    /// Only spans of this trace
    #[arg(long, short = 'i', value_name = "ID")]
    pub trace: Option<String>,
    /// Only calls of tools
    #[arg(long, short = 'T')]
    pub tools_only: bool,
    /// Only model requests
    #[arg(long, short = 'm')]
    pub models_only: bool,
    /// Look every so many seconds too, for a file that a program other than co writes
    #[arg(long, short, value_name = "SECONDS")]
    pub poll: Option<f64>,
    /// End after the spans that are there
    #[arg(long, short)]
    pub no_follow: bool,
    /// How many spans to begin with
    #[arg(long, short, default_value_t = 20, value_name = "N")]
    pub last: usize,
    /// Print JSON, one object a line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct TracesArgs {
    /// The first digits of one trace's id
    pub id: Option<String>,
    /// How many traces
    #[arg(long, short, default_value_t = 20, value_name = "N", conflicts_with = "id")]
    pub last: usize,
    /// The file to write; default: `traces.html` in the data folder
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<std::path::PathBuf>,
    /// Do not open a browser
    #[arg(long)]
    pub no_open: bool,
}

#[derive(Debug, clap::Args)]
pub struct LogsArgs {
    /// The port on this machine
    #[arg(long, default_value_t = 8001)]
    pub port: u16,
    /// Do not open a browser
    #[arg(long)]
    pub no_open: bool,
}
