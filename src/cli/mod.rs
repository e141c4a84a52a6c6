//! The command line: arguments in, one outcome and one exit code out.
//!
//! It parses the arguments, calls `app` and reports the outcome; it decides nothing about turns, sessions or
//! approvals. Errors are printed in one place, with what to do next. Called by `main` only.

mod approvals;
mod args;
mod audit;
mod auth;
mod chat;
mod config;
mod console;
mod day;
mod debug;
mod doctor;
mod editor;
mod error;
mod eval;
mod help;
mod hooks;
mod input;
mod keys;
mod mcp;
mod memory;
mod models;
mod print;
mod prompt;
mod rules;
mod secret;
mod sessions;
mod setup;
mod signals;
mod stats;
mod status;
mod table;
mod tail;
mod tasks;
mod tools;
mod traces;
mod trust;
mod undo;
mod usage;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use futures::FutureExt as _;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use self::approvals::typed::Decide;
use self::args::{Args, CliCommand, Flags, ListCommand};
use self::chat::Shape;
use self::error::{CliError, Kind, Result};
use self::input::Terminals;
use crate::history::SessionId;
use crate::runtime::SessionTarget;
use crate::sandbox::privacy;
use crate::sandbox::subprocess::wait_removed;
use crate::stdx::process_memory::share_heap;
use crate::store::wait_closed;
use crate::telemetry::Telemetry;
use crate::workspace::{MemoryFolder, World};

/// How long background work may take to end once the outcome is known.
const LINGER: Duration = Duration::from_millis(100);

/// How long the sandboxes of commands may take to end: Docker removes containers slowly on a busy machine.
const REMOVAL: Duration = Duration::from_secs(10);

/// The exit code if nothing failed.
const SUCCESS: u8 = 0;

/// Runs the program with these arguments (the program's name first) and returns its exit code.
#[must_use]
pub fn run(args: Vec<OsString>) -> u8 {
    // Before any other thread is started.
    share_heap();
    let env = privacy::take_environment();
    privacy::forbid_inspection();
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            if error.use_stderr() {
                // The error repeats the typed arguments, which may have been pasted from anywhere.
                console::note(error.render().to_string().trim_end());
                return Kind::Usage.code();
            }
            // Help and version take this path too and are not errors. If the output is closed, there is
            // nothing to report to.
            let _ = error.print();
            let _ = std::io::stdout().flush();
            return SUCCESS;
        }
    };
    let telemetry = Telemetry::default();
    if let Err(error) = debug::subscribe(&telemetry, args.log(), &env) {
        return console::fail(&error);
    }
    // This fails only if another provider was already installed, which is equally good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match runtime(&args) {
        Ok(runtime) => runtime,
        Err(error) => return console::fail(&CliError::new(Kind::Error, error)),
    };
    let outcome = match in_memory(&args) {
        Ok(private) => {
            let run = async {
                survive_full_files();
                dispatch(args, env, (private.clone(), telemetry.clone())).await
            };
            // Boxed: each kind of runtime would have a copy of the code of all commands.
            let outcome = runtime.block_on(run.boxed_local());
            // Remaining tasks hold nothing unsaved; a writer on a full pipe would never end by itself.
            runtime.shutdown_timeout(LINGER);
            // Databases close on their own threads meanwhile.
            telemetry.flush();
            wait_closed(LINGER);
            if !wait_removed(LINGER) {
                console::note("co: waiting for the sandbox of a command to end…");
                wait_removed(REMOVAL);
            }
            if let Some(trouble) = telemetry.take_trouble() {
                console::note(&format!("co: note: {trouble}"));
            }
            outcome
        }
        Err(error) => Err(error),
    };
    match outcome {
        Ok(()) => SUCCESS,
        Err(error) => console::fail(&error),
    }
}

/// Makes the folder for a session that is not kept, if one is asked for.
fn in_memory(args: &Args) -> Result<Option<Arc<MemoryFolder>>> {
    let is_wanted = match &args.command {
        None | Some(CliCommand::Chat(_)) => args.run.no_session_persistence,
        Some(_) => false,
    };
    let made = is_wanted.then(MemoryFolder::create).transpose();
    let made = made.map_err(|error| {
        let text = format!("there is no place in memory for this session: {error}");
        CliError::error(text).hint("leave `--no-session-persistence` out, and delete the session afterwards")
    })?;
    Ok(made.map(Arc::new))
}

/// Builds the runtime. With a screen, the screen has this thread and one more serves the session's owner and
/// the network. Otherwise one thread does it all: waking another for each chunk of a reply costs more than it
/// gains. Blocking work has its own threads.
fn runtime(args: &Args) -> std::io::Result<Runtime> {
    let mut builder = match args.draws() {
        true => Builder::new_multi_thread(),
        false => Builder::new_current_thread(),
    };
    builder.worker_threads(1).enable_all().build()
}

/// Makes writing to a file at its size limit an error of the write instead of ending the program: a handler
/// keeps the signal from killing the process.
fn survive_full_files() {
    let beyond = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    if let Err(error) = signal(beyond) {
        tracing::warn!(%error, "a file at its size limit ends co");
    }
}

async fn dispatch(
    args: Args,
    env: BTreeMap<String, String>,
    (private, telemetry): (Option<Arc<MemoryFolder>>, Telemetry),
) -> Result<()> {
    let Args { shared, mut run, command } = args;
    let first = run.take_first();
    if let (Some(_), Some(_)) = (&first, &command) {
        let error = CliError::usage(args::NO_COMMAND);
        return Err(error.hint("`co \"your prompt\"` opens the screen with it"));
    }
    // A value typed after a subcommand also reaches the options of all commands above it.
    let is_field =
        matches!(&command, Some(CliCommand::Approvals(ListCommand { what: Some(Decide::Yes(_)), .. })));
    let flags = if is_field { shared.without_sets().flags()? } else { shared.flags()? };
    let mut world = World::of_process(env)
        .map_err(|error| crate::app::AppError::Workspace { detail: error.to_string() })?;
    world.private = private;
    world.telemetry = telemetry;
    let at = Terminals::of_process();
    match command {
        None => talk(run, first, world, flags, at).await,
        Some(CliCommand::Chat(chat)) => {
            run.go_on |= chat.go_on;
            talk(run, first, world, flags, at).await
        }
        Some(CliCommand::Resume(resume)) => {
            let target = match resume.words.join(" ") {
                words if words.is_empty() => SessionTarget::ResumeLatest,
                words => SessionTarget::Resume(words),
            };
            let output = resume.output.unwrap_or(run.output);
            if resume.print {
                return print::run(world, flags, target, None, output).await;
            }
            let (loaded, shape) = chat::prepare(&world, flags.clone(), at)?;
            if shape == Shape::Screen && !at.interactive() {
                return print::run(world, flags, target, None, output).await;
            }
            chat::run(world, (loaded, shape), flags, (target, None), at).await
        }
        Some(CliCommand::Approvals(what)) => approvals::run(what, &world, flags).await,
        Some(CliCommand::Rules(what)) => rules::run(what, &world, flags).await,
        Some(CliCommand::Hooks(what)) => hooks::run(what, &world, flags).await,
        Some(CliCommand::Trust(what)) => trust::run(what, &world, flags).await,
        Some(CliCommand::Status(what)) => status::run(what, &world, flags).await,
        Some(CliCommand::Mcp(what)) => Box::pin(mcp::run(what, &world, flags)).await,
        Some(CliCommand::Tasks(what)) => tasks::run(what, &world, flags),
        Some(CliCommand::Tools(what)) => tools::run(what, &world, flags),
        Some(CliCommand::Memory(what)) => memory::run(what, &world, flags).await,
        Some(CliCommand::Prompt(what)) => Box::pin(prompt::run(what, &world, flags)).await,
        Some(CliCommand::Undo(what)) => undo::run(&what, &world, flags),
        Some(CliCommand::Sessions(what)) => sessions::run(what, &world, flags).await,
        Some(CliCommand::Doctor(what)) => doctor::run(what, &world, flags).await,
        Some(CliCommand::Audit(what)) => audit::run(what, &world, flags).await,
        Some(CliCommand::Usage(what)) => usage::run(&what, &world, flags).await,
        Some(CliCommand::Eval(what)) => Box::pin(eval::run(what, &world, flags)).await,
        Some(CliCommand::Stats(what)) => stats::run(&what, &world, flags),
        Some(CliCommand::Tail(what)) => tail::run(what, &world, flags).await,
        Some(CliCommand::Traces(what)) => traces::run(&what, &world, flags),
        Some(CliCommand::Logs(what)) => traces::logs(&what, &world, flags),
        Some(CliCommand::Config(what)) => config::run(what, &world, flags),
        Some(CliCommand::Models(what)) => models::run(&what, &world, flags).await,
        Some(CliCommand::Auth(what)) => auth::run(what, &world, flags).await,
        Some(CliCommand::Keys(what)) => keys::run(&what, &world, flags),
        Some(CliCommand::Help { words }) => help::run(&words),
        Some(CliCommand::Completions { shell }) => help::completions(shell),
        Some(CliCommand::Man { folder }) => help::man(folder.as_deref()),
    }
}

/// Runs a conversation on the screen or in lines, or prints one turn if there is no screen or none is wanted.
async fn talk(
    run: args::Run,
    first: Option<String>,
    world: World,
    flags: Flags,
    at: Terminals,
) -> Result<()> {
    let target = match run.session_id {
        Some(id) => SessionTarget::Exactly(SessionId(id.to_string())),
        None if run.go_on => SessionTarget::Latest,
        None => SessionTarget::New,
    };
    if let Some(words) = run.print {
        let words = match (words.as_str(), &first) {
            ("", Some(first)) => first,
            (_, None) => &words,
            (_, Some(_)) => return Err(CliError::usage("one prompt can be printed, not two")),
        };
        let prompt = print::PromptWithImages { prompt: input::prompt(words, at)?, images: run.image };
        return print::run(world, flags, target, Some(prompt), run.output).await;
    }
    let (loaded, shape) = chat::prepare(&world, flags.clone(), at)?;
    let prints = shape == Shape::Screen && !at.stdin;
    if !run.image.is_empty() && !prints {
        let error = CliError::usage("`--image` needs a printed prompt");
        return Err(error.hint("`co -p \"what is this?\" --image FILE`, or write `@FILE` into the prompt"));
    }
    match (shape, at) {
        (Shape::Screen, Terminals { stdin: false, .. }) => {
            let first = first.unwrap_or_default();
            let prompt = print::PromptWithImages { prompt: input::prompt(&first, at)?, images: run.image };
            print::run(world, flags, target, Some(prompt), run.output).await
        }
        (Shape::Screen, Terminals { stdin: true, stdout: false }) => {
            let error =
                CliError::usage("standard output is not a terminal, so there is no screen to draw on");
            let error = error.hint("`co -p \"your prompt\"` prints the answer, here or into a pipe");
            Err(error.hint("`co --plain` prints lines of text anywhere"))
        }
        (Shape::Plain | Shape::PlainOnly, at)
        | (Shape::Screen, at @ Terminals { stdin: true, stdout: true }) => {
            chat::run(world, (loaded, shape), flags, (target, first), at).await
        }
    }
}
