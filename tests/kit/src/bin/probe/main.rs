//! `co-probe`: tries to leave a sandbox, and prints which attempts were stopped.
//!
//! `co-probe try NAME …` makes one attempt, as a command would. `co-probe matrix HELPER BACKEND` makes all of them from
//! commands in that backend, each on a scene of its own, and prints a row for each: held, not held, or not run where the
//! same attempt does not succeed without a sandbox either. What counts is what happened outside, not what the attempt says.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for the command line")]

mod attempts;
mod matrix;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["try", name, rest @ ..] => match attempts::run(name, rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{name}: {error}");
                ExitCode::FAILURE
            }
        },
        ["matrix", helper, backend] => matrix::run(helper.as_ref(), backend),
        ["hold", helper, backend, folder, script] => {
            matrix::hold(helper.as_ref(), backend, folder.as_ref(), script)
        }
        _ => {
            eprintln!("usage: co-probe try NAME … | matrix HELPER BACKEND");
            ExitCode::from(2)
        }
    }
}
