//! `/trust`, and a word on folders that are not trusted.

use super::desk::Desk;
use crate::app::trust::Belongings;
use crate::approval::FolderTrust;
use crate::command::{Say, code};

impl Desk {
    /// Tells the person, once, what of the session's folder does not count.
    pub(super) async fn tell_of_folder(&self) {
        if let Some(text) = self.app.untrusted_notice(&self.folder).await {
            self.say(Say::warning("not trusted", text)).await;
        }
    }

    /// Trusts the session's folder; what it brings counts from the next turn on.
    pub(super) async fn trust(&mut self) {
        if self.app.trust_of(&self.folder) == FolderTrust::Trusted {
            let text = "This folder is trusted already. `co trust --list` lists all such folders.";
            return self.say(Say::plain("trust", text)).await;
        }
        let (folder, world) = (self.folder.clone(), self.app.world.clone());
        let found = tokio::task::spawn_blocking(move || Belongings::of(&folder, &world)).await;
        let found = found.unwrap_or_default();
        match self.app.trust_folder(&self.folder).await {
            Ok(file) => {
                let mut text = format!(
                    "{} is trusted now, with all inside it; {} says so. It brings {}: rules and hooks count from the \
                     next turn on, settings from the next start.",
                    code(&self.folder.display().to_string()),
                    code(&file.display().to_string()),
                    found.in_words(),
                );
                if !found.hooks.is_empty() {
                    text.push_str(" Each hook runs once you trust it too: `co hooks trust`.");
                }
                self.say(Say::plain("trust", text)).await;
            }
            Err(error) => {
                self.say(Say::error("trust", format!("{error}. Nothing is trusted that was not before.")))
                    .await;
            }
        }
    }
}
