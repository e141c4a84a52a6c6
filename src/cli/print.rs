//! `co -p` and `co resume --print`: one turn without a screen.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::mpsc;

use super::args::{Flags, Output};
use super::console;
use super::error::{CliError, Kind, Result};
use super::input::Terminals;
use super::signals::Stop;
use crate::accounts::{Models, Origin, Pace};
use crate::agent::driver::TurnResult;
use crate::agent::port::Frontend;
use crate::app::{App, AppError, advice_at_start, begin_store};
use crate::approval::Decider;
use crate::config::{LoadedSettings, Settings};
use crate::frontend::images::Prompt;
use crate::frontend::json::JsonFrontend;
use crate::frontend::print::{PrintFrontend, PrintStyle};
use crate::frontend::sentences;
use crate::history::{Limit, SessionId, TurnEnd};
use crate::message::UserPart;
use crate::message::images::mentions;
use crate::runtime::headless::{self, HeadlessOutcome, HeadlessWork};
use crate::runtime::mentions::{NamedResource, read_resources, take_resources};
use crate::runtime::{SessionTarget, images, orphaned_processes};
use crate::session::Session;
use crate::store::{RequestFilter, StoredRequest};
use crate::workspace::{World, held_notice, load_settings};

/// The most requests listed at the end of a turn.
const NAMED: usize = 20;

/// The note about a session that is not kept.
const IN_MEMORY: &str = "this session is in memory only; the audit keeps hashes of what was decided and run";

/// A prompt and the image files that belong to it.
pub(super) struct PromptWithImages {
    pub prompt: Prompt,
    pub images: Vec<String>,
}

impl PromptWithImages {
    /// Returns the parts of the message; errors if an image cannot be sent.
    async fn parts(
        self,
        world: &World,
        models: &Models,
        settings: &Settings,
    ) -> Result<(Vec<UserPart>, Vec<NamedResource>)> {
        let wrong = |error| CliError::new(Kind::Usage, error);
        let mut prompt = self.prompt;
        if !self.images.is_empty() {
            let named = images::mentions(self.images, world).await.map_err(wrong)?;
            prompt.text = format!("{}\n\n{named}", prompt.text);
            prompt.named.extend(mentions(&named));
        }
        let resources = take_resources(&mut prompt, &settings.mcp_servers);
        Ok((images::parts(prompt, &world.workspace, world, models).await.map_err(wrong)?, resources))
    }
}

/// Answers one prompt, whose text is always taken as a prompt, whatever it begins with; without one, resumes a turn that
/// waited or was interrupted. With JSON output, an error also produces an object.
pub(super) async fn run(
    world: World,
    flags: Flags,
    target: SessionTarget,
    prompt: Option<PromptWithImages>,
    output: Output,
) -> Result<()> {
    match turn(world, flags, target, prompt, output).await {
        Ok(failed) => failed.map_or(Ok(()), Err),
        Err(error) => {
            if output == Output::Json {
                let value = json!({"message": error.source.to_string(), "advice": error.hints.join(" ")});
                console::json(&json!({"session": null, "end": "failed", "text": "", "error": value}))?;
            }
            Err(error)
        }
    }
}

/// Runs the turn and prints its outcome. Returns why it failed; with JSON output its object is printed by then.
async fn turn(
    world: World,
    flags: Flags,
    target: SessionTarget,
    prompt: Option<PromptWithImages>,
    output: Output,
) -> Result<Option<CliError>> {
    let loaded = load_settings(&world, flags)?;
    let store = begin_store(&world, &loaded.settings)?;
    console::notes(advice_at_start(&loaded));
    let stop = Stop::on_signals()?;
    let models = Arc::new(choose_model(&world, &loaded).await?);
    console::notes(models.trouble());
    console::notes(world.private.is_some().then_some(IN_MEMORY));
    console::notes(models.warning());
    let shows_thoughts = loaded.settings.verbose;
    // Before anything is stored or sent.
    let prompt = match prompt {
        Some(prompt) => Some(prompt.parts(&world, &models, &loaded.settings).await?),
        None => None,
    };
    let app = App::open(world, loaded, models, store).await?;
    app.servers.connect(None);
    let work = match prompt {
        Some((mut parts, resources)) => {
            let read = read_resources(resources, &app.servers, app.settings.tool_output_limit);
            parts.extend(Box::pin(read).await.map_err(CliError::error)?);
            HeadlessWork::Prompt(parts)
        }
        None => HeadlessWork::Resume,
    };
    let (mut session, env) = target.open_owned(&app, Decider::Cli).await?;
    console::notes(orphaned_processes(&session).await);
    console::notes(app.permissions.untrusted_notice(session.history().workspace()).await);
    console::notes(held_notice(&app.world, &app.settings));
    console::notes(app.prompts.take_news());
    let mut words = app.permissions.hook_messages();
    say_words(&mut words);
    let json = JsonFrontend::default();
    let (out, err) = (Box::new(tokio::io::stdout()), Box::new(tokio::io::stderr()));
    let style = PrintStyle { shows_thoughts, is_live: Terminals::of_process().stdout };
    let text = PrintFrontend::new(out, err, style);
    let frontend: &dyn Frontend = match output {
        Output::Text => &text,
        Output::Json => &json,
    };
    let folder = session.history().workspace().to_owned();
    app.permissions.refresh_rules(&folder).await;
    console::notes(app.permissions.rules.take_news());
    console::notes(app.permissions.untrusted_rules(&folder));
    let went = tokio::select! {
        went = headless::run(&mut session, &env, work, frontend, stop.token.clone()) => went,
        never = app.permissions.keep_rules(&folder) => match never {},
    };
    app.world.telemetry.write_soon();
    app.tools.tasks.end_all(&app.spill(session.id())).await;
    say_words(&mut words);
    // The process does not wait for the writing thread at exit, so the head of the last rows is stored now.
    session.store().audit_head().await?;
    let went = went?;
    if output == Output::Json {
        let value = match &went {
            HeadlessOutcome::Ended(TurnResult { end, text, .. }) => {
                json.outcome(session.id(), end, text.clone())
            }
            HeadlessOutcome::CutOff | HeadlessOutcome::NotStarted => {
                json.outcome(session.id(), &TurnEnd::Interrupted, String::new())
            }
            HeadlessOutcome::NothingToResume => json.nothing_to_resume(session.id()),
        };
        console::json(&value)?;
    }
    // With JSON an object was printed, and an error from here on prints no other.
    let outcome = outcome(&session, went, stop.caught()).await.unwrap_or_else(Some);
    let kept = app.world.private.is_none();
    // The database closes on its own thread while the session is unlocked.
    drop((app, env));
    drop(session);
    Ok(if kept { outcome } else { outcome.map(not_kept) })
}

/// Says the same of a session that is gone now.
fn not_kept(error: CliError) -> CliError {
    let CliError { kind, source, .. } = error;
    match kind {
        Kind::Waiting => {
            let error = CliError::message(
                kind,
                "calls that need your approval were not run, and the session was not kept",
            );
            error.hint("leave `--no-session-persistence` out to decide them later, or allow them by a rule")
        }
        _ => CliError { kind, source, hints: vec!["the session was not kept".to_owned()] },
    }
}

/// Prints the hooks' messages so far.
fn say_words(words: &mut Option<mpsc::Receiver<String>>) {
    console::notes(std::iter::from_fn(|| words.as_mut()?.try_recv().ok()));
}

/// Chooses the model. No frame is pending here, so local servers are looked for at once.
pub(super) async fn choose_model(world: &World, loaded: &LoadedSettings) -> Result<Models> {
    let pace = if Terminals::of_process().stdout { Pace::Reading } else { Pace::Instant };
    let models = Models::choose(&loaded.settings, Arc::clone(&world.clock), pace).map_err(AppError::from)?;
    models.ensure_named().await.map_err(AppError::from)?;
    if models.may_discover() {
        models.discover().await;
        let choice = models.current();
        if let Origin::Found { server } = choice.origin {
            console::note(&format!("co: this goes to {server} on this machine ({})", choice.model));
        }
    }
    Ok(models)
}

async fn outcome(session: &Session, went: HeadlessOutcome, signal: Option<u8>) -> Result<Option<CliError>> {
    let id = session.id();
    let (end, capped) = match went {
        HeadlessOutcome::Ended(TurnResult { end, capped, .. }) => (end, capped),
        HeadlessOutcome::CutOff => (TurnEnd::Interrupted, None),
        HeadlessOutcome::NotStarted => {
            let kind = signal.map_or(Kind::BrokenPipe, Kind::Interrupted);
            return Ok(Some(CliError::message(kind, "stopped before the turn began; nothing was sent")));
        }
        HeadlessOutcome::NothingToResume => {
            console::note("co: no turn of this session is waiting; nothing to continue");
            return Ok(None);
        }
    };
    let error = match end {
        TurnEnd::Completed => return shown_only(session).await,
        TurnEnd::Deferred => waiting_error(session, signal).await?,
        TurnEnd::Interrupted => match signal {
            Some(signal) => {
                let error = CliError::message(Kind::Interrupted(signal), "stopped; all work is saved");
                error.hint(format!("continue with: co resume {id}"))
            }
            // The front end ended by itself, because the reader of standard output is gone.
            None => CliError::message(Kind::BrokenPipe, "the output was closed"),
        },
        TurnEnd::LimitReached { limit } => limit_error(limit, id, capped.map(|question| question.flag())),
        TurnEnd::Failed { error } => CliError::provider(&error),
    };
    Ok(Some(error))
}

/// Returns the error of a completed turn with undecided requests: calls that were shown and not run.
async fn shown_only(session: &Session) -> Result<Option<CliError>> {
    let id = session.id();
    let turn = session.history().turns();
    let mut left = session.store().requests(RequestFilter::UndecidedOf(id.clone()), NAMED).await?;
    left.retain(|one| one.turn == turn);
    let message = match left.len() {
        0 => return Ok(None),
        1 => "1 call was previewed, not run; it is waiting for your approval".to_owned(),
        many => format!("{many} calls were previewed, not run; they are waiting for your approval"),
    };
    Ok(Some(decidable(CliError::message(Kind::Waiting, message), &left, id)))
}

/// Returns the error of a turn that waits for the user: how to decide, and how to continue.
async fn waiting_error(session: &Session, signal: Option<u8>) -> Result<CliError> {
    let id = session.id();
    let waiting = session.store().requests(RequestFilter::UndecidedOf(id.clone()), NAMED).await?;
    let message = match waiting.len() {
        1 => "1 approval is waiting for you; the turn is kept until it is decided".to_owned(),
        many => format!("{many} approvals are waiting for you; the turn is kept until they are decided"),
    };
    let kind = signal.map_or(Kind::Waiting, Kind::Interrupted);
    Ok(decidable(CliError::message(kind, message), &waiting, id))
}

/// Adds how to decide these requests and how to go on.
fn decidable(mut error: CliError, waiting: &[StoredRequest], session: &SessionId) -> CliError {
    error.hints.extend(waiting.iter().map(|one| format!("co approvals yes {}", one.id())));
    error.hint(format!("co resume {session}"))
}

/// Returns the error of a turn ended by a limit; `raise` is the flag that would let it continue, if a cap
/// ended it.
fn limit_error(limit: Limit, session: &SessionId, raise: Option<String>) -> CliError {
    let (kind, hint) = match limit {
        Limit::Requests => (Kind::TurnLimit, "`--set max_requests=50` allows more"),
        Limit::Tokens => (Kind::Budget, "a new prompt starts a new budget"),
        Limit::Cap(cap) => {
            let raise = raise.unwrap_or_else(|| format!("--set {}=…", cap.setting()));
            return CliError::message(Kind::Budget, sentences::limit(limit))
                .hint(format!("continue with a higher cap: co resume {session} --print {raise}"));
        }
        Limit::Repetition => (Kind::TurnLimit, "tell it in a new prompt what to do instead"),
        Limit::Output => (Kind::Error, "`--set max_output_tokens=…` allows more if the model does"),
    };
    CliError::message(kind, sentences::limit(limit)).hint(hint).hint("the conversation is saved: co -c")
}
