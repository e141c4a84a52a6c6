//! The trusted folders of a process, the ones that the user trusts meanwhile among them. What `co` itself writes of a
//! project's memories, as the user agreed to, stays trusted. Blocking. Clones share the list.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::World;
use super::trust::{TrustedTexts, trusted_contents};
use crate::config::{FolderTrust, Settings, TrustRecord};
use crate::memory::ProjectTrust;

/// The folders that the settings of a process trust, and those that the user trusted since.
#[derive(Clone)]
pub struct TrustedProjects {
    world: World,
    folders: Arc<Mutex<Vec<PathBuf>>>,
}

impl TrustedProjects {
    #[must_use]
    pub fn new(world: &World, settings: &Settings) -> Self {
        let folders = Arc::new(Mutex::new(settings.trusted_folders.clone()));
        Self { world: world.clone(), folders }
    }

    /// Adds a folder that the user trusted.
    pub fn add(&self, folder: PathBuf) {
        self.folders.lock().push(folder);
    }

    /// Returns the contents of a folder that is trusted now, and what is wrong with other files there.
    #[must_use]
    pub fn contents(&self, folder: &Path) -> TrustedTexts {
        let trusted = self.folders.lock().clone();
        trusted_contents(&trusted, &self.world, folder)
    }

    /// Returns whether a folder is trusted now.
    #[must_use]
    pub fn trust_of(&self, folder: &Path) -> FolderTrust {
        self.contents(folder).map_or(FolderTrust::Untrusted, |_| FolderTrust::Trusted)
    }
}

impl ProjectTrust for TrustedProjects {
    fn is_trusted(&self, project: &Path) -> bool {
        self.trust_of(project) == FolderTrust::Trusted
    }

    fn note_write(&self, project: &Path, file: &str, text: Option<&str>) -> io::Result<()> {
        TrustRecord::change(&self.world.env, project, |contents| {
            let mut contents = contents?;
            match text {
                Some(text) => drop(contents.insert(file.to_owned(), text.to_owned())),
                None => drop(contents.remove(file)),
            }
            Some(contents)
        })
    }
}
