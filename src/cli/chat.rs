//! `co`: the full screen. It is drawn first; store, session and models are built beside it.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::console::Console;
use super::error::{CliError, Kind};
use crate::app::conductor::{Interactive, interactive};
use crate::app::{AppError, Models, Opening, Pace, World, load_settings};
use crate::config::ThemeChoice as Wanted;
use crate::tui::keys::Keymap;
use crate::tui::{self, Fold, Motion, Surroundings, ThemeChoice, TuiError, TuiLink, TuiOptions};

/// Words between the screen and the session's owner that may wait.
const LINK: usize = 64;

pub(super) async fn run(
    world: World,
    flags: Vec<(String, String)>,
    opening: Opening,
    console: &mut Console,
) -> Result<(), CliError> {
    let loaded = load_settings(&world, flags)?;
    let models = Arc::new(
        Models::choose(&loaded.settings, Arc::clone(&world.clock), Pace::Reading).map_err(AppError::from)?,
    );
    let options = TuiOptions {
        theme: match loaded.settings.theme {
            Wanted::Auto => ThemeChoice::Auto,
            Wanted::Dark => ThemeChoice::Dark,
            Wanted::Light => ThemeChoice::Light,
        },
        surroundings: Surroundings::from_lookup(|name| world.env.get(name).cloned()),
        motion: Motion::default(),
        // What is wrong with them the owner tells, with its other advice.
        keymap: Keymap::with(&loaded.settings.keys).0,
        thinking: if loaded.settings.verbose { Fold::Open } else { Fold::Folded },
    };
    let (ask, asks) = mpsc::channel(LINK);
    let (face, updates) = mpsc::channel(LINK);
    let owner = tokio::spawn(interactive(Interactive { world, loaded, models, opening, asks, face }));
    let screen = tui::run(TuiLink { updates, asks: ask }, options).await;
    // The screen is gone, and with it its end of the link: the owner ends what runs and saves.
    let owned = match owner.await {
        Ok(owned) => owned.map_err(CliError::from),
        Err(error) => Err(CliError::from(AppError::Broken { detail: error.to_string() })),
    };
    match screen {
        Ok(lines) => console.out(&lines.text())?,
        // The owner's own reason says more.
        Err(TuiError::OwnerGone) if owned.is_err() => {}
        Err(error) => return Err(CliError::new(Kind::Error, error)),
    }
    owned
}
