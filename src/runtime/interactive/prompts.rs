//! The session's prompt and commands from files: read again when they count, and what was wrong with them is said once.

use std::sync::Arc;

use super::client::ClientHandler;
use crate::agent::context::ToolBudget;
use crate::agent::driver::ActiveModel;
use crate::agent::prompt::{self, Preamble, PromptPart};
use crate::app::view_settings;
use crate::command::{Commands, Notice};
use crate::config::INSTRUCTIONS;
use crate::history::History;
use crate::stdx::text::sanitize_line;
use crate::workspace::command_files;

/// The most remarks on files of commands that are shown at once.
const SHOWN: usize = 10;

impl ClientHandler {
    /// Says what is new about the prompt's files.
    pub(super) async fn tell_of_prompt(&self) {
        for text in self.app.prompts.take_news() {
            self.say(Notice::plain("prompt", text)).await;
        }
    }

    /// Returns what the next turn sends before the conversation, and the model that gets it.
    pub(super) async fn preamble(&self, history: &History) -> (Preamble, Arc<ActiveModel>) {
        let app = &self.app;
        let model = app.models.active().borrow().clone();
        let window = app.settings.context_tokens.or(model.profile.window);
        let room = ToolBudget::of(view_settings(&app.settings), window, history);
        let (book, policy) = (app.prompt_book(&self.folder).await, app.permissions.policy());
        (Preamble::of(&book, history.workspace(), &policy, (&app.tools.registry.tools(), &room)), model)
    }

    /// Returns the parts of the prompt that the next turn sends.
    pub(super) async fn prompt_parts(&self, history: &History) -> Vec<PromptPart> {
        let (preamble, model) = self.preamble(history).await;
        let app = &self.app;
        let isolation = app.tools.sandbox.isolation();
        let now = prompt::situation(&app.permissions.policy(), isolation, app.world.clock.now());
        prompt::parts(&preamble, &model, now)
    }

    /// Returns the file with instructions of the session's folder that `/init` would update.
    pub(super) fn guide(&self) -> Option<String> {
        // The usual names first.
        let found = INSTRUCTIONS.iter().rev().filter(|name| self.folder.join(name).is_file());
        found.max_by_key(|name| **name == "AGENTS.md").map(|name| (*name).to_owned())
    }

    /// Reads the files of commands again, and offers the commands if they changed.
    pub(super) async fn refresh_commands(&mut self) {
        let (app, folder) = (Arc::clone(&self.app), self.folder.clone());
        let read = move || command_files(&app.world, app.permissions.trusted.contents(&folder));
        // Only a panic fails the task.
        let (files, problems) = tokio::task::spawn_blocking(read).await.unwrap_or_default();
        let mut commands = Commands::builtin();
        let remarks = commands.add_custom(&files);
        let problems = problems.iter().map(|problem| format!("{}.", sanitize_line(problem)));
        let new = problems.chain(remarks).filter(|remark| self.reported_commands.insert(remark.clone()));
        let mut new: Vec<String> = new.collect();
        if new.len() > SHOWN {
            let more = new.len() - SHOWN;
            new.truncate(SHOWN);
            new.push(format!("{more} more files of commands have a problem."));
        }
        if !new.is_empty() {
            let list: Vec<String> = new.iter().map(|remark| format!("- {remark}")).collect();
            self.say(Notice::warning("commands", list.join("\n"))).await;
        }
        if self.command_files != files {
            self.command_files = files;
            self.commands = commands;
            self.offer().await;
        }
    }
}
