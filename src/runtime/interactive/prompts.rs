//! The session's prompt from files: read again for each turn, and what was wrong with them is said once.

use std::sync::Arc;

use super::client::ClientHandler;
use crate::agent::context::ToolBudget;
use crate::agent::driver::ActiveModel;
use crate::agent::prompt::{self, Preamble, PromptPart};
use crate::command::Say;
use crate::config::INSTRUCTIONS;
use crate::history::History;

impl ClientHandler {
    /// Says what is new about the prompt's files.
    pub(super) async fn tell_of_prompt(&self) {
        for text in self.app.prompts.take_news() {
            self.say(Say::plain("prompt", text)).await;
        }
    }

    /// Returns what the next turn sends before the conversation, and the model that gets it.
    pub(super) async fn preamble(&self, history: &History) -> (Preamble, Arc<ActiveModel>) {
        let app = &self.app;
        let model = app.models.active().borrow().clone();
        let window = app.settings.context_tokens.or(model.profile.window);
        let room = ToolBudget::of(app.view_settings(), window, history);
        let (book, policy) = (app.prompt_book(&self.folder).await, app.permissions.policy());
        (Preamble::of(&book, history.workspace(), &policy, (&app.registry.tools(), &room)), model)
    }

    /// Returns the parts of the prompt that the next turn sends.
    pub(super) async fn prompt_parts(&self, history: &History) -> Vec<PromptPart> {
        let (preamble, model) = self.preamble(history).await;
        let app = &self.app;
        let isolation = app.sandbox.isolation();
        let now = prompt::situation(&app.permissions.policy(), isolation, app.world.clock.now());
        prompt::parts(&preamble, &model, now)
    }

    /// Returns the file with instructions of the session's folder that `/init` would update.
    pub(super) fn guide(&self) -> Option<String> {
        // The usual names first.
        let found = INSTRUCTIONS.iter().rev().filter(|name| self.folder.join(name).is_file());
        found.max_by_key(|name| **name == "AGENTS.md").map(|name| (*name).to_owned())
    }
}
