//! `co`: a conversation, on the full screen or in lines of text. The front end starts first; store, session
//! and models are opened concurrently.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::args::Flags;
use super::console;
use super::error::{CliError, Kind, Result};
use super::input::Terminals;
use super::setup;
use crate::accounts::{Models, Pace};
use crate::app::{AppError, begin_store};
use crate::approval::Decider;
use crate::config::{LoadedSettings, Notify, Settings};
use crate::frontend::channel::{self, FrontendUpdates};
use crate::frontend::images::Prompt;
use crate::frontend::plain::{self, PlainError, PlainOptions, Setup, Source};
use crate::frontend::protocol::ClientRequest;
use crate::runtime::SessionTarget;
use crate::runtime::interactive::{Interactive, interactive};
use crate::store::Store;
use crate::tui::keys::Keymap;
use crate::tui::panel::KEY_TABLE;
use crate::tui::{
    self, Call, Fold, Glyphs, Host, Motion, MouseMode, TerminalEnv, TuiError, TuiLink, TuiOptions,
};
use crate::workspace::{World, load_settings};

/// The capacity of the ask channel between the front end and the session's owner.
const LINK: usize = 64;

/// How a conversation is displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Screen,
    Plain,
    /// Lines, because the terminal cannot draw a screen.
    PlainOnly,
}

impl Shape {
    /// Returns the display that the user chose or needs; `at` tells which standard streams are terminals.
    pub fn of(settings: &Settings, world: &World, at: Terminals) -> Self {
        let accessible = world.env.get("ACCESSIBLE").is_some_and(|value| !matches!(value.as_str(), "" | "0"));
        let dumb = world.env.get("TERM").is_some_and(|term| term == "dumb");
        if settings.plain || accessible {
            Self::Plain
        } else if dumb && at.interactive() {
            Self::PlainOnly
        } else {
            Self::Screen
        }
    }
}

/// Loads the settings and determines how a conversation is displayed.
pub(super) fn prepare(world: &World, flags: Flags, at: Terminals) -> Result<(LoadedSettings, Shape)> {
    let loaded = load_settings(world, flags)?;
    let shape = Shape::of(&loaded.settings, world, at);
    Ok((loaded, shape))
}

/// Runs a conversation, which begins with the first prompt, if there is one.
pub(super) async fn run(
    world: World,
    (loaded, shape): (LoadedSettings, Shape),
    flags: Flags,
    (target, first): (SessionTarget, Option<String>),
    at: Terminals,
) -> Result<()> {
    if shape == Shape::Screen {
        return screen(world, loaded, (target, first)).await;
    }
    let (loaded, models) = ready(&world, loaded, flags, at).await?;
    let editor = match shape {
        _ if !at.interactive() => None,
        Shape::PlainOnly => world.named_editor(),
        Shape::Plain | Shape::Screen => world.text_editor(),
    };
    let setup = Setup {
        source: if at.stdin { Source::Terminal } else { Source::Pipe },
        echoes: at.interactive(),
        shows_thoughts: loaded.settings.verbose,
        has_editor: editor.is_some(),
    };
    let preface = match shape {
        Shape::PlainOnly => {
            Some("This terminal (TERM=dumb) cannot draw a screen, so co uses plain lines.".to_owned())
        }
        Shape::Plain | Shape::Screen => None,
    };
    let store = begin_store(&world, &loaded.settings)?;
    let (asks, updates, owner) = own(store, (world, loaded, models), target, Decider::Plain);
    let first = first.map(Prompt::written);
    let shown = plain::run(PlainOptions { updates, asks, setup, first, editor, preface }).await;
    let owned = outcome(owner).await;
    match shown {
        // The owner's error is more specific.
        Err(PlainError::OwnerGone) if owned.is_err() => owned,
        Err(error) => Err(CliError::new(Kind::Error, error)),
        Ok(None) => owned,
        Ok(Some(signal)) => Err(ended_by(signal, owned.as_ref().err())),
    }
}

/// Starts the session's owner; returns the front end's ends of the link to it, and its end.
fn own(
    store: Store,
    (world, loaded, models): (World, LoadedSettings, Arc<Models>),
    target: SessionTarget,
    decider: Decider,
) -> (mpsc::Sender<ClientRequest>, FrontendUpdates, JoinHandle<Result<(), AppError>>) {
    let (ask, asks) = mpsc::channel(LINK);
    let (updates, received) = channel::updates();
    let run = Interactive { world, loaded, models, store, target, asks, updates, decider };
    (ask, received, tokio::spawn(interactive(run)))
}

/// Returns the settings and the models for lines of text; on a first run, those after the user set up a
/// service, if they did.
async fn ready(
    world: &World,
    loaded: LoadedSettings,
    flags: Flags,
    at: Terminals,
) -> Result<(LoadedSettings, Arc<Models>)> {
    let chosen = models(world, &loaded).await?;
    if !setup::first_run(world, &loaded, &chosen, at).await? {
        return Ok((loaded, chosen));
    }
    let loaded = load_settings(world, flags)?;
    let chosen = models(world, &loaded).await?;
    Ok((loaded, chosen))
}

async fn models(world: &World, loaded: &LoadedSettings) -> Result<Arc<Models>> {
    let models = Models::choose(&loaded.settings, Arc::clone(&world.clock), Pace::Reading);
    let models = models.map_err(AppError::from)?;
    models.ensure_named().await.map_err(AppError::from)?;
    Ok(Arc::new(models))
}

/// How long the session's owner may take to end after the front end closed: a blocked store must not hold up
/// the user.
///
/// Longer than hooks and the user's own command may take to end.
const GOODBYE: Duration = Duration::from_secs(5);

/// Waits for the session's owner and returns its result.
async fn outcome(owner: JoinHandle<Result<(), AppError>>) -> Result<()> {
    match tokio::time::timeout(GOODBYE, owner).await {
        Ok(Ok(owned)) => owned.map_err(CliError::from),
        Ok(Err(error)) => Err(CliError::from(AppError::Broken { detail: error.to_string() })),
        Err(_) => {
            let error = CliError::error("the session did not end in time; the last input may not be saved");
            Err(error.hint("everything before it is saved: co -c"))
        }
    }
}

/// Runs a conversation on the full screen.
async fn screen(
    world: World,
    loaded: LoadedSettings,
    (target, first): (SessionTarget, Option<String>),
) -> Result<()> {
    let store = begin_store(&world, &loaded.settings)?;
    let models = models(&world, &loaded).await?;
    let options = options(&world, &loaded.settings);
    let (asks, updates, owner) = own(store, (world, loaded, models), target, Decider::Tui);
    if let Some(first) = first {
        // The channel is empty; the owner takes the prompt once the session is open.
        let _ = asks.try_send(ClientRequest::Prompt(Prompt::written(first)));
    }
    let screen = tui::run(TuiLink { updates, asks }, options).await;
    // The screen and its end of the link are closed, so the owner ends running work and saves.
    let owned = outcome(owner).await;
    match screen {
        Ok(lines) => {
            // If the terminal is gone, nothing reads these lines.
            let written = console::out(&lines.text());
            match lines.signal {
                Some(signal) => Err(ended_by(signal, owned.as_ref().err())),
                None => owned.and(written),
            }
        }
        // The owner's error is more specific.
        Err(TuiError::OwnerGone) if owned.is_err() => owned,
        Err(error) => Err(CliError::new(Kind::Error, error)),
    }
}

/// Returns the error of a conversation ended by a signal; possibly not everything was saved.
fn ended_by(signal: u8, error: Option<&CliError>) -> CliError {
    let saved = if error.is_none() { "all work is saved" } else { "the last work may not be saved" };
    CliError::message(Kind::Interrupted(signal), format!("ended by a signal; {saved}"))
}

/// Returns the screen's options, from the settings and the terminal's environment.
fn options(world: &World, settings: &Settings) -> TuiOptions {
    let lookup = |name: &str| world.env.get(name).cloned();
    let surroundings = TerminalEnv::from_lookup(lookup);
    let known = Host::from_lookup(lookup);
    let call = match settings.notify {
        Notify::Auto => known.call,
        Notify::Bell => Call::Bell,
        Notify::Off => Call::Never,
    };
    TuiOptions {
        theme: settings.theme,
        glyphs: if settings.ascii { &Glyphs::ASCII } else { surroundings.glyphs() },
        surroundings,
        motion: if settings.reduced_motion { Motion::Reduced } else { Motion::Full },
        thinking: if settings.verbose { Fold::Open } else { Fold::Folded },
        // The owner reports errors in the keys, with its other advice.
        keymap: Keymap::with(&KEY_TABLE, &settings.keys).0,
        mouse: if settings.mouse { MouseMode::Ours } else { MouseMode::Terminals },
        host: Host { call, ..known },
        editor: world.editor(),
        pasted: world.sessions(settings).join("pasted"),
        home: lookup("HOME").map(PathBuf::from),
    }
}
