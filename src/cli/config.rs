//! `co config`: every setting, its value and its source.

use super::args::Flags;
use super::console::Console;
use super::error::Result;
use crate::app::advice;
use crate::config::describe;
use crate::workspace::{World, load_settings};

pub(super) fn run(world: &World, flags: Flags, console: &mut Console) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let mut text = describe(&loaded).join("\n");
    text.push('\n');
    console.out(&text)?;
    for warning in advice(&loaded) {
        console.note(&format!("co: {warning}"));
    }
    Ok(())
}
