//! Which model answers: the choice among providers, and switching.
//!
//! Order of the choice: an explicit setting, else a key, else a server on this machine, else offline. Only
//! the search for a server uses the network, and only when it is called. Keys stay in the type that hides
//! them. Called by the rest of `app` and by `cli`.

mod learn;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::keys::{KeyFileError, Keys};
use super::login::{self, Entered, TryError};
use super::profiles;
use super::services::{self, Service, Wiring};
use crate::agent::driver::ActiveModel;
use crate::command::ModelLine;
use crate::config::Settings;
use crate::provider::catalog::{self, OPENAI_COMPATIBLE, Probe};
use crate::provider::http::SetupError;
use crate::provider::offline::Pace;
use crate::provider::{ParallelCalls, Profile};
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

/// Why this model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Setting,
    /// A key or an address for this service is set.
    Key {
        title: String,
    },
    /// A server on this machine.
    Found {
        server: String,
    },
    /// The user switched to it.
    Switched,
    /// Nothing else is available.
    Offline,
}

/// Why a model cannot answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("{provider} needs a key: `co auth add {provider}` keeps one{}", or_set(*env))]
    NoKey { provider: String, env: Option<&'static str> },
    #[error("{provider} takes its key from ${variable}, which is not set")]
    NoVariable { provider: String, variable: String },
    #[error(
        "{provider} needs its address, e.g. --set base_url=http://localhost:8000/v1, or `base_url` in a section \
         [providers.{provider}] of your settings"
    )]
    NoAddress { provider: String },
    #[error("{provider} needs a model's name: --model {provider}/NAME; `co models {provider}` lists them")]
    NoModel { provider: String },
    #[error("no service is set up for the model `{model}`, and no server on this machine offers models{}", get(*vendor))]
    NoService { model: String, vendor: Option<&'static str> },
    #[error("`api_key` is set, but not for whom: set `provider` too")]
    KeyForNobody,
    #[error("there is no provider `{provider}`{}; `co auth list` names them all", guess(nearest.as_deref()))]
    NoProvider { provider: String, nearest: Option<String> },
    #[error("`providers.{provider}.preset` is `{preset}`, which is no preset{}", guess(nearest.as_deref()))]
    NoPreset { provider: String, preset: String, nearest: Option<String> },
    #[error("`providers.{provider}.quirks`: {detail}")]
    Quirk { provider: String, detail: String },
    #[error("fallback_model `{name}` cannot be used ({why}); nothing stands behind the model")]
    Fallback { name: String, why: String },
    #[error(transparent)]
    KeyFile(#[from] KeyFileError),
    #[error(transparent)]
    Setup(#[from] SetupError),
}

fn or_set(env: Option<&str>) -> String {
    let own = ", or set `api_key` in your settings".to_owned();
    env.map_or(own, |env| format!(", or set {env} in the environment"))
}

fn get(vendor: Option<&str>) -> String {
    vendor.map(|name| format!(": `co auth add {name}` keeps a key for it")).unwrap_or_default()
}

fn guess(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

/// The models of this process.
pub struct Models {
    wiring: Mutex<Arc<Wiring>>,
    active: watch::Sender<Arc<ActiveModel>>,
    choice: watch::Sender<ModelChoice>,
    found: Mutex<Vec<Service>>,
    /// The models that services listed, by service name.
    listed: Mutex<BTreeMap<String, Vec<String>>>,
    /// What services reported about their models, by provider and model.
    told: Mutex<HashMap<(String, String), Profile>>,
    warning: Mutex<Option<String>>,
}

impl Models {
    /// Chooses by settings and keys alone; nothing is sent.
    pub fn choose(settings: &Settings, clock: Arc<dyn Clock>, pace: Pace) -> Result<Self, ModelError> {
        let mut settings = settings.clone();
        let keys = Arc::new(Keys::of(&settings));
        let (service, model, origin) = first_choice(&mut settings, &keys)?;
        let wiring = Wiring { settings, keys, clock, pace };
        let made = make(&wiring, &service, &model, Profile::default())?;
        let choice = describe(&service, &made, origin);
        Ok(Self {
            warning: Mutex::new(service.warning()),
            wiring: Mutex::new(Arc::new(wiring)),
            active: watch::Sender::new(Arc::new(made)),
            choice: watch::Sender::new(choice),
            found: Mutex::default(),
            listed: Mutex::default(),
            told: Mutex::default(),
        })
    }

    /// Returns the keys of this process.
    pub fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.wiring().keys)
    }

    fn wiring(&self) -> Arc<Wiring> {
        Arc::clone(&self.wiring.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks for servers on this machine without choosing one, if the settings allow the search.
    pub async fn search(&self) {
        let wiring = self.wiring();
        let found = Service::search(&wiring.settings, &wiring.keys).await;
        self.note_found(found);
    }

    /// Passes what is known about services to `look`, to list them.
    pub fn with_found<T>(&self, look: impl FnOnce(&Settings, &Keys, &[Service]) -> T) -> T {
        let wiring = self.wiring();
        look(&wiring.settings, &wiring.keys, &self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tries a service with the entered data; if it works, its key and address are kept, and its models are
    /// known from then on. `file` is the user's settings file.
    pub async fn set_up(&self, entered: Entered, file: Option<&Path>) -> Result<Vec<String>, TryError> {
        let wiring = self.wiring();
        let models = login::try_out(&entered, &wiring.settings, &wiring.keys).await?;
        login::keep(&entered, &wiring.keys).await?;
        if let Some(url) = &entered.base_url {
            login::write_choice(file, &entered.service, Some(url), None)?;
            let mut settings = wiring.settings.clone();
            settings.own(&entered.service).base_url = Some(url.trim().trim_end_matches('/').to_owned());
            let changed = Wiring { settings, ..(*wiring).clone() };
            *self.wiring.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(changed);
        }
        if entered.key.is_some() || entered.base_url.is_some() {
            // The found service has the previous key and address.
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.retain(|service| service.name() != entered.service);
        }
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.insert(entered.service, models.clone());
        Ok(models)
    }

    /// Adds servers that were found; each counts once.
    fn note_found(&self, found: Vec<Service>) {
        let mut known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|old| found.iter().all(|new| new.name() != old.name()));
        known.extend(found);
    }

    /// Returns a warning about the model in use, for the user before anything is sent.
    pub fn warning(&self) -> Option<String> {
        self.warning.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        self.wiring().settings.discover_local && self.current().origin == Origin::Offline
    }

    /// Makes sure that the model which the settings name can answer: the tour never answers in its place. Without a
    /// service for it, servers on this machine are looked for first.
    pub async fn ensure_named(&self) -> Result<(), ModelError> {
        let Some(model) = self.wiring().settings.model.clone() else { return Ok(()) };
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
        self.discover_at(services::places(&self.wiring().settings)).await;
    }

    /// The same at given addresses.
    pub async fn discover_at(&self, places: Vec<Probe>) {
        let wiring = self.wiring();
        let found = services::discover(places, &wiring.settings, &wiring.keys).await;
        let first = found.first().cloned();
        self.note_found(found);
        let Some(service) = first.filter(|_| self.may_discover()) else { return };
        let wanted = wiring.settings.model.clone().or_else(|| service.default_model());
        if let (Some(model), Some(server)) = (wanted, service.server()) {
            let origin = Origin::Found { server };
            // A server that cannot be used counts as none.
            let _ = self.use_model(&service, &model, origin);
        }
    }

    /// Switches immediately: `provider/model`, a provider alone, or a model of the provider in use.
    pub fn switch(&self, name: &str) -> Result<ModelChoice, ModelError> {
        let wiring = self.wiring();
        let (provider, model) = split(name.trim(), &wiring.settings);
        let service = match provider {
            Some(provider) => self.named(provider)?,
            None => self.named(&self.current().provider)?,
        };
        let model = match model {
            Some(model) => model.to_owned(),
            None => service
                .default_model()
                .ok_or_else(|| ModelError::NoModel { provider: service.name().to_owned() })?,
        };
        self.use_model(&service, &model, Origin::Switched)
    }

    /// Returns the fallback of the model in use, as configured and known now. `None` if it cannot answer;
    /// [`Self::fallback_trouble`] reports that once.
    pub fn fallback(&self) -> Option<Arc<ActiveModel>> {
        self.behind().ok().flatten().map(|(model, _)| Arc::new(model))
    }

    /// Returns a warning about the fallback for the user, before anything is sent: that it cannot answer, or
    /// that its key would be sent unencrypted. A sentence.
    pub fn fallback_trouble(&self) -> Option<String> {
        match self.behind() {
            Ok(behind) => behind.and_then(|(_, warning)| warning),
            Err(problem) => Some(problem.to_string()),
        }
    }

    /// Returns the fallback, and a warning about it.
    fn behind(&self) -> Result<Option<(ActiveModel, Option<String>)>, ModelError> {
        let wiring = self.wiring();
        let Some(name) = &wiring.settings.fallback_model else { return Ok(None) };
        let unready = |error: ModelError| ModelError::Fallback { name: name.clone(), why: error.to_string() };
        let made = || {
            let (provider, model) = split(name.trim(), &wiring.settings);
            let service = self.named(provider.unwrap_or(&self.current().provider))?;
            let model = model
                .map(str::to_owned)
                .or_else(|| service.default_model())
                .ok_or_else(|| ModelError::NoModel { provider: service.name().to_owned() })?;
            let told = self.told(service.name(), &model);
            Ok((make(&wiring, &service, &model, told)?, service.warning()))
        };
        made().map(Some).map_err(unready)
    }

    /// Returns the models that can be switched to, the one in use first.
    pub fn lines(&self) -> Vec<ModelLine> {
        let current = self.current();
        let name = format!("{}/{}", current.provider, current.model);
        let note = noted(why(&current.origin), &self.active.borrow().profile);
        let mut lines = vec![ModelLine { name, note, current: true }];
        let wiring = self.wiring();
        let mut add = |service: &Service, models: Vec<String>, note: String| {
            for model in models {
                let name = format!("{}/{model}", service.name());
                if lines.iter().all(|line| line.name != name) {
                    let told = self.told(service.name(), &model);
                    let known = profiles::profile(service, &model, &wiring.settings, told);
                    lines.push(ModelLine { name, note: noted(note.clone(), &known), current: false });
                }
            }
        };
        let ready = Service::configured(&wiring.settings, &wiring.keys);
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for service in ready.unwrap_or_default() {
            let note = format!("{} is set up", service.title());
            let offered = listed.get(service.name()).cloned().unwrap_or_default();
            add(&service, [service.models(), offered].concat(), note);
        }
        for service in self.found.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let note = service.server().map(|server| format!("{server} on this machine"));
            add(service, service.models(), note.unwrap_or_default());
        }
        add(&Service::Offline, Service::Offline.models(), why(&Origin::Offline));
        lines
    }

    fn named(&self, provider: &str) -> Result<Service, ModelError> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = found.iter().find(|service| service.name() == provider) {
            return Ok(service.clone());
        }
        let wiring = self.wiring();
        Service::named(provider, &wiring.settings, &wiring.keys)
    }

    fn use_model(&self, service: &Service, model: &str, origin: Origin) -> Result<ModelChoice, ModelError> {
        let told = self.told(service.name(), model);
        let made = make(&self.wiring(), service, model, told)?;
        let choice = describe(service, &made, origin);
        *self.warning.lock().unwrap_or_else(PoisonError::into_inner) = service.warning();
        self.active.send_replace(Arc::new(made));
        self.choice.send_replace(choice.clone());
        Ok(choice)
    }
}

fn make(wiring: &Wiring, service: &Service, model: &str, told: Profile) -> Result<ActiveModel, ModelError> {
    let settings = &wiring.settings;
    let profile = profiles::profile(service, model, settings, told);
    Ok(ActiveModel {
        max_output_tokens: most_output(settings, &profile),
        thinking: settings.thinking,
        parallel_calls: if settings.parallel_calls { ParallelCalls::Allowed } else { ParallelCalls::One },
        temperature: settings.temperature,
        top_p: settings.top_p,
        profile,
        ..ActiveModel::new(service.connect(wiring)?, model)
    })
}

/// Returns the configured limit, or the model's own if that is lower: services reject more.
fn most_output(settings: &Settings, profile: &Profile) -> Option<u32> {
    settings.max_output_tokens.map(|limit| limit.min(profile.max_output.unwrap_or(limit)))
}

fn describe(service: &Service, made: &ActiveModel, origin: Origin) -> ModelChoice {
    ModelChoice {
        provider: service.name().to_owned(),
        model: made.name.clone(),
        origin,
        context_tokens: made.profile.window,
    }
}

/// Chooses a model by settings and keys. The general address and key become those of the chosen service, so
/// that a service that is switched to later never gets them.
pub(super) fn first_choice(
    settings: &mut Settings,
    keys: &Keys,
) -> Result<(Service, String, Origin), ModelError> {
    let (provider, model) = wanted(settings);
    let (service, origin) = match &provider {
        Some(name) => {
            Service::adopt(name, settings);
            (Service::named(name, settings, keys)?, Origin::Setting)
        }
        None => by_keys(model.as_deref(), settings, keys)?,
    };
    let model = match (model, service.default_model()) {
        // A model name without a provider is not for the built-in one; it is for a server that may be found.
        (Some(_), Some(own)) if matches!(service, Service::Offline) && provider.is_none() => own,
        (Some(model), _) => model,
        (None, Some(own)) => own,
        (None, None) => return Err(ModelError::NoModel { provider: service.name().to_owned() }),
    };
    Ok((service, model, origin))
}

/// Returns the provider and the model that the settings name.
fn wanted(settings: &Settings) -> (Option<String>, Option<String>) {
    let own = |name: &str| Some(name.to_owned());
    match (settings.provider.as_deref(), settings.model.as_deref()) {
        // The names of its models look like `provider/model` themselves.
        (Some(provider), Some(model)) if services::sells_others(provider, settings) => {
            let bare = model.strip_prefix(provider).and_then(|rest| rest.strip_prefix('/'));
            let is_its_own = services::is_a_model_of(provider, model);
            (
                own(provider),
                own(bare.filter(|_| !is_its_own).unwrap_or(model)).filter(|name| !name.is_empty()),
            )
        }
        (Some(provider), Some(model)) => {
            let (other, model) = split(model, settings);
            (own(other.unwrap_or(provider)), model.map(str::to_owned))
        }
        (Some(provider), None) => (own(provider), None),
        (None, Some(model)) => {
            let (provider, model) = split(model, settings);
            (provider.map(str::to_owned), model.map(str::to_owned))
        }
        (None, None) => (None, None),
    }
}

fn by_keys(
    model: Option<&str>,
    settings: &mut Settings,
    keys: &Keys,
) -> Result<(Service, Origin), ModelError> {
    if settings.endpoint.base_url.is_some() {
        Service::adopt(OPENAI_COMPATIBLE.name, settings);
        return Ok((Service::named(OPENAI_COMPATIBLE.name, settings, keys)?, Origin::Setting));
    }
    let ready = Service::configured(settings, keys)?;
    // A service without any named model cannot answer.
    let first = ready.into_iter().find(|service| model.is_some() || service.default_model().is_some());
    if let Some(service) = first {
        Service::adopt(service.name(), settings);
        let service = Service::named(service.name(), settings, keys)?;
        let title = service.title().to_owned();
        return Ok((service, Origin::Key { title }));
    }
    if settings.endpoint.api_key.is_some() {
        return Err(ModelError::KeyForNobody);
    }
    Ok((Service::Offline, Origin::Offline))
}

/// Splits `provider/model`, a provider alone, or a model alone: only names of providers are taken as such.
fn split<'a>(name: &'a str, settings: &Settings) -> (Option<&'a str>, Option<&'a str>) {
    let known = |name: &str| services::is_known(name, settings);
    match name.split_once('/') {
        Some((provider, model)) if known(provider) && !model.is_empty() => (Some(provider), Some(model)),
        Some((provider, _)) if known(provider) => (Some(provider), None),
        Some(_) => (None, Some(name)),
        None if known(name) => (Some(name), None),
        None => (None, Some(name)),
    }
}

/// Returns a sentence for each key of a service without a named model, because such a key is not used.
pub fn unused(settings: &Settings) -> Vec<String> {
    let (provider, model) = wanted(settings);
    if provider.is_some() || model.is_some() {
        return Vec::new();
    }
    // A key file that must not be used is reported where the model is chosen.
    let ready = Service::configured(settings, &Keys::of(settings)).unwrap_or_default();
    let idle = ready.iter().filter(|service| service.default_model().is_none() && service.needs_a_key());
    idle.map(|service| {
        let name = service.name();
        format!("{} is set up, but no model of it is named: model = \"{name}/NAME\"; `co models {name}` lists them.", service.title())
    })
    .collect()
}

/// Returns a sentence if the model names an unknown provider but a similar one exists: the whole name then
/// goes to another service, which the user may not have intended.
pub fn mistaken(settings: &Settings) -> Option<String> {
    let name = settings.model.as_deref()?.trim();
    let (provider, _) = name.split_once('/')?;
    if settings.provider.is_some() || services::is_known(provider, settings) {
        return None;
    }
    let nearest = services::nearest_to(provider, settings)?;
    Some(format!(
        "There is no provider `{provider}` (did you mean `{nearest}`?), so `{name}` is taken as the name of a model."
    ))
}

/// Adds what is known about the model.
fn noted(note: String, known: &Profile) -> String {
    match profiles::in_words(known) {
        Some(words) => format!("{note}; {words}"),
        None => note,
    }
}

fn why(origin: &Origin) -> String {
    match origin {
        Origin::Setting => "from your settings".to_owned(),
        Origin::Key { title } => format!("a key or an address for {title} is set"),
        Origin::Found { server } => format!("{server} on this machine"),
        Origin::Switched => "you switched to it".to_owned(),
        Origin::Offline => "built in: no language model, shows how `co` works".to_owned(),
    }
}

#[cfg(test)]
mod tests;
