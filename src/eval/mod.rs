//! Evals: golden cases of tool calling, run against a model and scored.
//!
//! `case` reads cases, `score` judges what was observed in one run, `results` counts, compares and is the form in which
//! results are kept, `report` shows them: all pure. `run` makes the runs: real turns, each in a workspace of its own that is
//! thrown away. Called by the command line.

pub mod case;
pub mod report;
pub mod results;
pub mod run;
pub mod score;
