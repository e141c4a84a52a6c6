//! `/trust`, and the notice about untrusted folders.

use std::sync::Arc;

use super::client::ClientHandler;
use crate::command::{Notice, TrustAction, code};
use crate::config::FolderTrust;
use crate::workspace::held_notice;
use crate::workspace::trust::GatedContents;

impl ClientHandler {
    /// Reports, once, which contents of the session's folder are ignored.
    pub(super) async fn tell_of_folder(&self) {
        if let Some(text) = self.app.permissions.untrusted_notice(&self.folder).await {
            self.say(Notice::warning("not trusted", text)).await;
        }
        let app = Arc::clone(&self.app);
        let held = tokio::task::spawn_blocking(move || held_notice(&app.world, &app.settings)).await;
        if let Ok(Some(text)) = held {
            self.say(Notice::warning("tool servers", text)).await;
        }
    }

    /// Shows the contents of the session's folder, or trusts them as shown: all but settings and servers count from the
    /// next turn on.
    pub(super) async fn trust(&mut self, trusting: TrustAction) {
        if self.app.permissions.trusted.trust_of(&self.folder) == FolderTrust::Trusted {
            let text = "This folder is already trusted with its current contents.";
            return self.say(Notice::plain("trust", text)).await;
        }
        let (folder, world) = (self.folder.clone(), self.app.world.clone());
        let found = tokio::task::spawn_blocking(move || GatedContents::of(&folder, &world)).await;
        let found = found.unwrap_or_default();
        match trusting {
            TrustAction::Yes if self.shown_of_folder.as_ref() == Some(&found.contents) => {
                self.trust_now(found).await;
            }
            TrustAction::Yes | TrustAction::Look => {
                self.say(Notice::plain("trust", self.belongings_in_words(&found))).await;
                self.shown_of_folder = Some(found.contents);
            }
        }
    }

    fn belongings_in_words(&self, found: &GatedContents) -> String {
        let head = if found.is_known { "Changed since you trusted it:" } else { "Contents of its files:" };
        let head = (!found.changes.is_empty()).then(|| format!("\n\n{head}"));
        let hook = |(name, events, command): &(String, String, String)| {
            format!("\n- hook {} at {events}: {}", code(name), code(command))
        };
        let server =
            |(name, place): &(String, String)| format!("\n- tool server {}: {}", code(name), code(place));
        let lines = found.keys.iter().map(|key| format!("\n- {}", code(key)));
        let lines = lines.chain(found.hooks.iter().map(hook)).chain(found.servers.iter().map(server));
        let lines = lines.chain(head).chain(found.changes.iter().map(|line| format!("\n- {}", code(line))));
        let problems = found.problems.iter().map(|problem| format!("\n- problem: {}", code(problem)));
        let (folder, all) = (code(&self.folder.display().to_string()), found.description());
        let text: String = lines.chain(problems).collect();
        format!("In {folder}: {all}.{text}\n\nType `/trust yes` to trust exactly these contents.")
    }

    async fn trust_now(&mut self, found: GatedContents) {
        match self.app.permissions.trust_folder(&self.folder, found.contents.clone()).await {
            Ok(file) => {
                let mut text = format!(
                    "{} is now trusted (saved in {}). Found: {}. Rules, hooks, texts, memories and commands \
                     count from the next turn, settings and tool servers from the next start.",
                    code(&self.folder.display().to_string()),
                    code(&file.display().to_string()),
                    found.description(),
                );
                if !found.hooks.is_empty() {
                    text.push_str(" Each hook runs only after `co hooks trust`.");
                }
                if !found.servers.is_empty() {
                    text.push_str(" Each tool server is used after `/mcp` or `co mcp enable`.");
                }
                self.say(Notice::plain("trust", text)).await;
            }
            Err(error) => {
                self.say(Notice::error("trust", format!("{error}. Trust is unchanged."))).await;
            }
        }
    }
}
