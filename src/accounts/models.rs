//! The model in use: the choice among providers, and switching.
//!
//! Order of the choice: an explicit setting, else a key, else a server on this machine, else offline. Only the search
//! for a server uses the network, and only when it is called.

mod learn;
mod list;

pub use self::list::ModelCheck;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::choice::{Origin, first_choice};
use super::error::ModelError;
use super::keys::Keys;
use super::login::{self, Credentials, LoginError};
use super::profiles;
use super::services::{self, ConnectionContext, Service};
use crate::agent::driver::ActiveModel;
use crate::agent::prompt::Steering;
use crate::config::{Settings, ThinkingLevel};
use crate::provider::Profile;
use crate::provider::catalog::{self, Probe};
use crate::provider::offline::Pace;
use crate::stdx::clock::Clock;

/// The model in use, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The name before the slash in `/model`.
    pub provider: String,
    pub model: String,
    pub origin: Origin,
    /// Tokens of the model's window, if known.
    pub context_tokens: Option<u32>,
}

impl ModelChoice {
    /// Returns `provider/model`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}

/// The models of this process.
pub struct Models {
    context: Mutex<Arc<ConnectionContext>>,
    active: watch::Sender<Arc<ActiveModel>>,
    choice: watch::Sender<ModelChoice>,
    found: Mutex<Vec<Service>>,
    /// The models that services listed, by service name.
    listed: Mutex<BTreeMap<String, Vec<String>>>,
    /// The reports of services about their models, by provider and model.
    reported: Mutex<HashMap<(String, String), Profile>>,
    /// The models that the user switched to, the latest last.
    switched: Mutex<Vec<String>>,
    warning: Mutex<Option<String>>,
}

impl Models {
    /// Chooses by settings and keys alone; nothing is sent.
    pub fn choose(settings: &Settings, clock: Arc<dyn Clock>, pace: Pace) -> Result<Self, ModelError> {
        let mut settings = settings.clone();
        let keys = Arc::new(Keys::of(&settings));
        let (service, model, origin) = first_choice(&mut settings, &keys)?;
        let context = ConnectionContext { settings, keys, clock, pace };
        let made = make(&context, &service, &model, Profile::default())?;
        let choice = describe(&service, &made, origin);
        Ok(Self {
            warning: Mutex::new(service.warning()),
            context: Mutex::new(Arc::new(context)),
            active: watch::Sender::new(Arc::new(made)),
            choice: watch::Sender::new(choice),
            found: Mutex::default(),
            listed: Mutex::default(),
            reported: Mutex::default(),
            switched: Mutex::default(),
        })
    }

    /// Returns the keys of this process.
    pub fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.context().keys)
    }

    fn context(&self) -> Arc<ConnectionContext> {
        Arc::clone(&self.context.lock())
    }

    /// Changes the settings of the connections that are made from now on.
    fn change_settings(&self, change: impl FnOnce(&mut Settings)) {
        let mut context = self.context.lock();
        change(&mut Arc::make_mut(&mut context).settings);
    }

    /// Looks for servers on this machine without choosing one, if the settings allow the search.
    pub async fn search(&self) {
        let context = self.context();
        let found = Service::search(&context.settings, &context.keys).await;
        self.note_found(found);
    }

    /// Passes what is known about services to `look`, to list them.
    pub fn with_found<T>(&self, look: impl FnOnce(&Settings, &Keys, &[Service]) -> T) -> T {
        let context = self.context();
        look(&context.settings, &context.keys, &self.found.lock())
    }

    /// Tries a service with the entered data; if it works, stores its key and address, and remembers its models. `file`
    /// is the user's settings file.
    pub async fn set_up(&self, entered: Credentials, file: Option<&Path>) -> Result<Vec<String>, LoginError> {
        let context = self.context();
        let models = login::try_out(&entered, &context.settings, &context.keys).await?;
        login::keep(&entered, &context.keys).await?;
        if entered.key.is_some() && self.has_set_key(&entered.service) {
            self.change_settings(|settings| settings.own(&entered.service).api_key = None);
        }
        if let Some(url) = &entered.base_url {
            login::write_choice(file, &entered.service, Some(url), None)?;
            let url = url.trim().trim_end_matches('/').to_owned();
            self.change_settings(|settings| settings.own(&entered.service).base_url = Some(url));
        }
        if entered.key.is_some() || entered.base_url.is_some() {
            // The found service has the previous key and address.
            let mut found = self.found.lock();
            found.retain(|service| service.name() != entered.service);
        }
        self.renew(&entered.service)?;
        let mut listed = self.listed.lock();
        listed.insert(entered.service, models.clone());
        Ok(models)
    }

    /// Whether the settings or the environment set a key for this service. It goes before a stored one at each start.
    pub fn has_set_key(&self, service: &str) -> bool {
        self.context().settings.providers.get(service).is_some_and(|own| own.api_key.is_some())
    }

    /// Connects the model in use anew, if this service has it: its key or its address changed.
    fn renew(&self, service: &str) -> Result<(), ModelError> {
        let ModelChoice { provider, model, origin, .. } = self.current();
        if provider != service {
            return Ok(());
        }
        self.use_model(&self.service(service)?, &model, origin).map(drop)
    }

    pub fn thinking(&self) -> ThinkingLevel {
        self.context().settings.thinking
    }

    /// Sets how much models think, from the next request on.
    pub fn set_thinking(&self, thinking: ThinkingLevel) {
        self.change_settings(|settings| settings.thinking = thinking);
        self.active.send_modify(|active| Arc::make_mut(active).thinking = thinking);
    }

    /// Adds servers that were found; each counts once.
    fn note_found(&self, found: Vec<Service>) {
        let mut known = self.found.lock();
        known.retain(|old| found.iter().all(|new| new.name() != old.name()));
        known.extend(found);
    }

    /// Returns a warning about the model in use, for the user before anything is sent.
    pub fn warning(&self) -> Option<String> {
        self.warning.lock().clone()
    }

    /// Returns the model with which turns run.
    pub fn active(&self) -> watch::Receiver<Arc<ActiveModel>> {
        self.active.subscribe()
    }

    /// Returns the choice to display.
    pub fn choices(&self) -> watch::Receiver<ModelChoice> {
        self.choice.subscribe()
    }

    pub fn current(&self) -> ModelChoice {
        self.choice.borrow().clone()
    }

    /// Whether to look for a server on this machine: nothing else was chosen, and the settings allow it.
    pub fn may_discover(&self) -> bool {
        self.context().settings.discover_local && self.current().origin == Origin::Offline
    }

    /// Checks that the model named in the settings can answer, so that the offline tour does not replace it. Without a
    /// service for it, searches this machine first.
    pub async fn ensure_named(&self) -> Result<(), ModelError> {
        let Some(model) = self.context().settings.model.clone() else { return Ok(()) };
        if self.may_discover() {
            self.discover().await;
        }
        if self.current().origin != Origin::Offline {
            return Ok(());
        }
        let vendor = catalog::vendor(&model);
        Err(ModelError::NoService { model, vendor })
    }

    /// Looks for model servers on this machine and uses the first, unless the user has chosen one meanwhile.
    pub async fn discover(&self) {
        self.discover_at(services::places(&self.context().settings)).await;
    }

    /// The same at given addresses.
    pub async fn discover_at(&self, places: Vec<Probe>) {
        let context = self.context();
        let found = services::discover(places, &context.settings, &context.keys).await;
        let first = found.first().cloned();
        self.note_found(found);
        let Some(service) = first.filter(|_| self.may_discover()) else { return };
        let wanted = context.settings.model.clone().or_else(|| service.default_model());
        if let (Some(model), Some(server)) = (wanted, service.server()) {
            let origin = Origin::Found { server };
            // A server that cannot be used counts as none.
            let _ = self.use_model(&service, &model, origin);
        }
    }

    /// Switches immediately: `provider/model`, a provider alone, or a model of the provider in use.
    pub fn switch(&self, name: &str) -> Result<ModelChoice, ModelError> {
        let (service, model) = self.named_model(name)?;
        let model = service.model_or_default(model)?;
        let choice = self.use_model(&service, &model, Origin::Switched)?;
        let mut switched = self.switched.lock();
        switched.retain(|name| *name != choice.name());
        switched.push(choice.name());
        Ok(choice)
    }

    /// Returns the fallback of the model in use, as configured and known now. `None` if it cannot answer;
    /// [`Self::trouble`] reports that once.
    pub fn fallback(&self) -> Option<Arc<ActiveModel>> {
        self.second(&FALLBACK).ok().flatten().map(|(model, _)| Arc::new(model))
    }

    /// Returns the model that writes summaries, if one is set and can answer.
    pub fn summarizer(&self) -> Option<Arc<ActiveModel>> {
        self.second(&SUMMARIZER).ok().flatten().map(|(model, _)| Arc::new(model))
    }

    /// Returns warnings about the fallback and the model for summaries, before anything is sent: that one cannot answer, or
    /// that its key would be sent unencrypted. Sentences.
    pub fn trouble(&self) -> Vec<String> {
        let reported = [FALLBACK, SUMMARIZER].into_iter().filter_map(|second| match self.second(&second) {
            Ok(model) => model.and_then(|(_, warning)| warning),
            Err(problem) => Some(problem.to_string()),
        });
        reported.collect()
    }

    /// Returns a second model, if one is set, and a warning about it.
    fn second(&self, second: &SecondModel) -> Result<Option<(ActiveModel, Option<String>)>, ModelError> {
        let context = self.context();
        let Some(name) = (second.name)(&context.settings) else { return Ok(None) };
        let made = || {
            let (service, model) = self.named_model(name)?;
            let model = service.model_or_default(model)?;
            let reported = self.reported_profile(service.name(), &model);
            Ok((make(&context, &service, &model, reported)?, service.warning()))
        };
        made().map(Some).map_err(|error: ModelError| {
            let SecondModel { setting, instead, .. } = *second;
            ModelError::Configured { setting, name: name.clone(), why: error.to_string(), instead }
        })
    }

    fn service(&self, provider: &str) -> Result<Service, ModelError> {
        let found = self.found.lock();
        if let Some(service) = found.iter().find(|service| service.name() == provider) {
            return Ok(service.clone());
        }
        let context = self.context();
        Service::by_name(provider, &context.settings, &context.keys)
    }

    fn use_model(&self, service: &Service, model: &str, origin: Origin) -> Result<ModelChoice, ModelError> {
        let reported = self.reported_profile(service.name(), model);
        let made = make(&self.context(), service, model, reported)?;
        let choice = describe(service, &made, origin);
        *self.warning.lock() = service.warning();
        self.active.send_replace(Arc::new(made));
        self.choice.send_replace(choice.clone());
        Ok(choice)
    }
}

/// A model that the settings name besides the one in use.
struct SecondModel {
    setting: &'static str,
    name: fn(&Settings) -> Option<&String>,
    /// The consequence of its absence.
    instead: &'static str,
}

const FALLBACK: SecondModel = SecondModel {
    setting: "fallback_model",
    name: |settings| settings.fallback_model.as_ref(),
    instead: "the model has no fallback",
};
const SUMMARIZER: SecondModel = SecondModel {
    setting: "history.summary_model",
    name: |settings| settings.summary_model.as_ref(),
    instead: "the model in use writes summaries",
};

fn make(
    context: &ConnectionContext,
    service: &Service,
    model: &str,
    reported: Profile,
) -> Result<ActiveModel, ModelError> {
    let settings = &context.settings;
    let profile = profiles::profile(service, model, settings, reported);
    let steering = Steering::of(service.name(), model);
    Ok(ActiveModel {
        max_output_tokens: most_output(settings, steering, &profile),
        thinking: settings.thinking,
        parallel_calls: settings.parallel_calls,
        temperature: settings.temperature.or(steering.and_then(|one| one.temperature)),
        top_p: settings.top_p.or(steering.and_then(|one| one.top_p)),
        profile,
        ..ActiveModel::new(service.connect(context)?, model)
    })
}

/// Returns the configured limit, or else the one that suits the model, which leaves most of its window to the
/// conversation; never more than the model's own: services reject more.
fn most_output(settings: &Settings, steering: Option<&Steering>, profile: &Profile) -> Option<u32> {
    let quarter = profile.window.map_or(u32::MAX, |window| window / 4);
    let suits = steering.and_then(|one| one.max_output).map(|limit| limit.min(quarter));
    let limit = settings.max_output_tokens.or(suits)?;
    Some(limit.min(profile.max_output.unwrap_or(limit)))
}

fn describe(service: &Service, made: &ActiveModel, origin: Origin) -> ModelChoice {
    ModelChoice {
        provider: service.name().to_owned(),
        model: made.name.clone(),
        origin,
        context_tokens: made.profile.window,
    }
}

/// Returns what is known about the model, or else where it comes from.
fn model_note(note: String, known: &Profile) -> String {
    profiles::as_text(known).unwrap_or(note)
}

fn why(origin: &Origin) -> String {
    match origin {
        Origin::Setting => "from your settings".to_owned(),
        Origin::Key { title } => format!("a key or an address for {title} is set"),
        Origin::Found { server } => format!("{server} on this machine"),
        Origin::Switched => "you switched to it".to_owned(),
        Origin::Offline => "built in: not a language model, shows how `co` works".to_owned(),
    }
}

#[cfg(test)]
mod tests;
