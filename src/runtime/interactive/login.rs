//! Sets up services for the front end. An attempt runs in the background; its key is sent to the service and the key
//! file only.

use std::sync::Arc;

use super::client::{ClientHandler, say};
use crate::accounts::login::{Credentials, may_offer, offers, skip, write_choice};
use crate::accounts::{Models, Origin};
use crate::command::{Notice, code};
use crate::config::user_file;
use crate::frontend::protocol::{LoginFailure, LoginReason, ModelLine, ServerMessage};

impl ClientHandler {
    /// Looks for a model server on this machine in the background, if no model was chosen, and for data about the model
    /// in use. If no server is found, the first run offers to set up a service.
    pub(super) fn discover(&mut self) {
        let models = Arc::clone(&self.app.models);
        let is_first = !std::mem::replace(&mut self.welcomed, true);
        let offer = is_first && models.current().origin == Origin::Offline && may_offer(&self.app.settings);
        let updates = self.updates.clone();
        tokio::spawn(async move {
            if models.may_discover() {
                models.discover().await;
            }
            models.learn().await;
            if offer && models.current().origin == Origin::Offline {
                // The front end may be gone.
                let _ = updates.notice(services(&models, LoginReason::First)).await;
            }
        });
    }

    /// Sends the services that can be set up, servers on this machine first.
    pub(super) async fn offer_services(&self) {
        self.app.models.search().await;
        self.tell(services(&self.app.models, LoginReason::Asked)).await;
    }

    /// Tries the input in the background; stores it if it works.
    pub(super) fn try_service(&mut self, entered: Credentials) {
        let (models, updates) = (Arc::clone(&self.app.models), self.updates.clone());
        let file = user_file(&self.app.world.env);
        let task = tokio::spawn(async move {
            let service = entered.service.clone();
            let replaces = entered.key.is_some() && models.has_set_key(&service);
            let outcome = models.set_up(entered, file.as_deref()).await.map_err(LoginFailure::from);
            let line = |model: String| ModelLine {
                name: format!("{service}/{model}"),
                note: String::new(),
                current: false,
            };
            let outcome = outcome.map(|models| models.into_iter().map(line).collect());
            if replaces && outcome.is_ok() {
                let text =
                    "The key in the environment or in your settings goes before this one at the next start: \
                            remove it there. `co auth list` shows which counts."
                        .to_owned();
                say(&updates, Notice::warning("login", text)).await;
            }
            let _ = updates.notice(ServerMessage::LoginTried { service: service.clone(), outcome }).await;
        });
        // One at a time: a new attempt cancels the previous one.
        if let Some(before) = self.login.replace(task) {
            before.abort();
        }
    }

    /// Records that the user does not want to be asked again.
    pub(super) fn skip_login(&self) {
        let app = Arc::clone(&self.app);
        tokio::task::spawn_blocking(move || skip(&app.settings));
    }

    /// Switches to a model, and writes it to the user's settings.
    pub(super) async fn keep_model(&mut self, name: &str) {
        let Some(choice) = self.or_say("model", self.app.models.switch(name)).await else { return };
        let file = user_file(&self.app.world.env);
        let (service, model) = (choice.provider.clone(), choice.model.clone());
        let written = tokio::task::spawn_blocking(move || {
            write_choice(file.as_deref(), &service, None, Some(&model)).map_err(|error| error.to_string())
        });
        let written = written.await.unwrap_or_else(|error| Err(error.to_string()));
        let answers = format!("{} is used from the next request", code(&choice.name()));
        let say = match written {
            Ok(path) => {
                let path = code(&path.display().to_string());
                Notice::plain("model", format!("{answers} and after a restart (saved in {path})."))
            }
            Err(error) => Notice::warning("model", format!("{answers}, but not after a restart: {error}.")),
        };
        self.say(say).await;
        self.warn_of_model().await;
    }

    /// Warns about the model in use before anything is sent.
    pub(super) async fn warn_of_model(&self) {
        if let Some(warning) = self.app.models.warning() {
            self.say(Notice::warning("model", warning)).await;
        }
    }
}

fn services(models: &Models, why: LoginReason) -> ServerMessage {
    let services = models.with_found(offers);
    ServerMessage::Services { services, why }
}
