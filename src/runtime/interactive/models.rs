//! The list of models and the switch to one of them. Services are asked in the background.

use std::sync::Arc;

use futures::FutureExt as _;

use super::client::{ClientHandler, say};
use crate::accounts::{ModelCheck, Models};
use crate::command::{Notice, code};
use crate::frontend::channel::Updates;
use crate::frontend::protocol::ServerMessage;
use crate::history::History;
use crate::provider::offline::Offline;

/// Models used before that come first in lists.
const RECENT: usize = 10;

impl ClientHandler {
    /// Returns the names of the models used last. A store that cannot be read is reported elsewhere.
    pub(super) async fn used_models(&self) -> Vec<String> {
        self.app.store.used_models(RECENT).await.unwrap_or_default()
    }

    /// Lists the models that are known; the services' own lists follow as they arrive.
    pub(super) async fn list_models(&self) {
        let (models, updates, used) =
            (Arc::clone(&self.app.models), self.updates.clone(), self.used_models().await);
        self.tell(ServerMessage::Models { models: models.lines(&used) }).await;
        tokio::spawn(async move {
            let report = |failed: Vec<String>, pending: usize| {
                let message = ServerMessage::ModelsChanged { models: models.lines(&used), failed, pending };
                let updates = updates.clone();
                // The front end may be gone.
                async move {
                    let _ = updates.notice(message).await;
                }
                .boxed()
            };
            models.ask_lists(report).await;
        });
    }

    /// Goes on with the model that answered last in a session, unless this run names one. The fallback and the tour only
    /// stood in for another.
    pub(super) async fn go_on_with_model(&mut self, history: &History) {
        let (models, settings) = (&self.app.models, &self.app.settings);
        let Some(name) = history.answered_by() else { return };
        let stood_in = settings.fallback_model.as_deref() == Some(name)
            || name.split_once('/').is_none_or(|(provider, _)| provider == Offline::NAME);
        if stood_in || self.app.names_model() || models.current().name() == name {
            return;
        }
        let said = match models.switch(name) {
            Ok(choice) => {
                let learning = Arc::clone(models);
                tokio::spawn(async move { learning.learn().await });
                Notice::plain("model", format!("Going on with {}, as before.", code(&choice.name())))
            }
            Err(error) => Notice::warning("model", format!("This session used {}: {error}.", code(name))),
        };
        self.say(said).await;
    }

    /// Switches to a model: at once to a known one, to another once its service was asked.
    pub(super) async fn switch(&mut self, name: &str) {
        let (models, updates) = (Arc::clone(&self.app.models), self.updates.clone());
        if models.knows(name) {
            return take(&models, &updates, name, None).await;
        }
        let name = name.to_owned();
        self.background_commands.spawn(async move {
            match models.check(&name).await {
                Ok(checked) => take(&models, &updates, &name, Some(checked)).await,
                Err(error) => say(&updates, Notice::error("model", format!("{error}."))).await,
            }
        });
    }
}

/// Switches to the model, and says so with what could not be checked.
async fn take(models: &Arc<Models>, updates: &Updates, name: &str, checked: Option<ModelCheck>) {
    let choice = match models.switch(name) {
        Ok(choice) => choice,
        Err(error) => return say(updates, Notice::error("model", format!("{error}."))).await,
    };
    let text = format!("{} answers from the next request on.", code(&choice.name()));
    let notice = match checked {
        None | Some(ModelCheck::Found) => Notice::plain("model", text),
        Some(ModelCheck::Unchecked(None)) => Notice::warning(
            "model",
            format!("{text} {} lists no models, so the name was not checked.", choice.provider),
        ),
        Some(ModelCheck::Unchecked(Some(error))) => {
            Notice::warning("model", format!("{text} The name was not checked: {}.", error.describe()))
        }
    };
    say(updates, notice).await;
    if let Some(warning) = models.warning() {
        say(updates, Notice::warning("model", warning)).await;
    }
    let models = Arc::clone(models);
    tokio::spawn(async move { models.learn().await });
}
