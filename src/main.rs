//! The binary: hands the arguments to [`co::cli`] and ends with its exit code, unless it is the stage of a sandbox.

use std::ffi::OsString;
use std::process::ExitCode;

use co::stdx::process_memory::end_process;

/// Faster than the allocator of the C library, which has a large part in the time of a short turn.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    co::sandbox::stage::enter(&args).unwrap_or_else(|| end_process(co::cli::run(args)))
}
