//! `co status`: the same rows as `/status`, without a session.

use std::sync::Arc;

use super::args::{AsJson, Flags};
use super::console;
use super::error::{CliError, Result};
use crate::accounts::{Models, Pace};
use crate::app::{AppError, advice, open_store_for_lists, tools};
use crate::runtime::{SandboxStatus, Status};
use crate::stdx::text::sanitize_line;
use crate::tool::mcp::configured_servers;
use crate::workspace::{World, load_settings};

/// Prints the rows; errors if the store cannot be used, after printing them.
pub(super) async fn run(what: AsJson, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let models =
        Models::choose(&loaded.settings, Arc::clone(&world.clock), Pace::Instant).map_err(AppError::from)?;
    if models.may_discover() {
        models.discover().await;
    }
    let tools = tools(world, &loaded.settings);
    let store = open_store_for_lists(world, &loaded.settings).await;
    let status = Status::of(
        world,
        &loaded.settings,
        &models,
        SandboxStatus::of(&*tools.sandbox, &tools.sandbox_remarks),
        configured_servers(&loaded.settings.mcp_servers),
        store.as_ref(),
    )
    .await;
    if what.json {
        console::json(&status)?;
    } else {
        let line = |(name, value): (String, String)| format!("{name:9} {}\n", sanitize_line(&value));
        console::out(&status.rows().into_iter().map(line).collect::<String>())?;
    }
    console::notes(advice(&loaded).into_iter().chain(models.warning()).chain(models.trouble()));
    store.map(drop).map_err(CliError::from)
}
