//! Whether a project's memories count: its folder is trusted with its contents of now. What `co` itself writes there, as the
//! user agreed to, stays trusted. Blocking.

use std::io;
use std::path::Path;

use super::World;
use super::trust::{is_in_effect, trust_in};
use crate::config::{FolderTrust, Settings, TrustRecord};
use crate::memory::ProjectTrust;

/// The projects that these settings trust, and those that the user trusted since.
pub struct TrustedProjects {
    pub world: World,
    pub settings: Settings,
}

impl ProjectTrust for TrustedProjects {
    fn is_trusted(&self, project: &Path) -> bool {
        trust_in(&self.settings, &self.world, project) == FolderTrust::Trusted
            || is_in_effect(&self.world, project, Vec::new())
    }

    fn written(&self, project: &Path, file: &str, text: Option<&str>) -> io::Result<()> {
        let mut record = TrustRecord::of(&self.world.env);
        let Some(mut contents) = record.contents(project) else { return Ok(()) };
        match text {
            Some(text) => drop(contents.insert(file.to_owned(), text.to_owned())),
            None => drop(contents.remove(file)),
        }
        record.keep(project, Some(contents))
    }
}
