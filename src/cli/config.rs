//! `co config`: every setting, its value and its source.

use super::args::{AsJson, Flags};
use super::console;
use super::error::Result;
use crate::app::advice;
use crate::config::{as_json, describe};
use crate::workspace::{World, load_settings};

pub(super) fn run(what: AsJson, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    if what.json {
        console::json(&as_json(&loaded))?;
    } else {
        console::out(&format!("{}\n", describe(&loaded).join("\n")))?;
    }
    console::notes(advice(&loaded));
    Ok(())
}
