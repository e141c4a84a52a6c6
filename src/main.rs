//! The binary: hands the arguments to [`co::cli`] and ends with its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    co::cli::run(std::env::args_os().collect())
}
