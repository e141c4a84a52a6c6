//! The arguments of `co eval`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use crate::eval::case::Dim;

// With `--model`, the model; with `--set`, any other setting.
#[derive(Debug, clap::Args)]
pub struct EvalArgs {
    /// Cases, as JSON lines; default: the built-in ones
    pub file: Option<PathBuf>,
    /// Runs of each case
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// The overall accuracy below which it fails, from 0 to 1
    #[arg(long, default_value_t = 0.80, value_name = "SHARE")]
    pub threshold: f64,
    /// Only cases of this dimension
    #[arg(long, value_parser = PossibleValuesParser::new(Dim::NAMES.iter().copied()).map(|word| dim(&word)))]
    pub dim: Option<Dim>,
    /// Only this case
    #[arg(long, value_name = "ID")]
    pub case_id: Option<String>,
    /// The name of the model in reports; default: `provider-model`
    #[arg(long, value_name = "NAME")]
    pub model_tag: Option<String>,
    /// Save the results, to be compared with later
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Compare with these results; default: all of `evals/baselines/*.json`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub compare: Vec<PathBuf>,
    /// How far a dimension may drop below a baseline, from 0 to 1
    #[arg(long, default_value_t = 0.10, value_name = "SHARE")]
    pub max_degradation: f64,
    /// Runs at the same time
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub parallel: u32,
    /// Dollars at which no further run is begun
    #[arg(long, value_name = "DOLLARS")]
    pub max_usd: Option<f64>,
    /// Leave lines with mistakes out instead of ending
    #[arg(long)]
    pub keep_going: bool,
    /// Write the report to this file, and its matrix beside it as HTML; default: in the data folder
    #[arg(long, value_name = "FILE.md")]
    pub report: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
}

fn dim(word: &str) -> Dim {
    Dim::named(word).expect("clap allows only these words")
}
