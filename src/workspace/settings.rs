//! The settings of this run. Blocking.

use super::servers::add_project_servers;
use super::world::World;
use crate::config::{self, ConfigError, Loaded};

/// Reads the settings of this run: from the files that exist, the environment, and `flags` as pairs of name and text. The
/// servers of a trusted project are among them.
pub fn load_settings(world: &World, flags: Vec<(String, String)>) -> Result<Loaded, Vec<ConfigError>> {
    let mut loaded = config::load(&config::read_sources(&world.workspace, world.env.clone(), flags)?)?;
    add_project_servers(&mut loaded, world);
    Ok(loaded)
}
