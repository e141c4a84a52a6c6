//! Who answers: the choice among providers, and switching.
//!
//! Without configuration: an explicit setting, else a key, else a server on this machine, else offline. Only the search
//! for a server touches the network, and only when it is called. Keys stay in the type that hides them. Called by the
//! rest of `app` and by `cli`.

mod learn;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::profiles;
use super::services::{self, Service, Wiring};
use crate::agent::driver::ActiveModel;
use crate::command::ModelLine;
use crate::config::{ProviderChoice, Settings, Thinking};
use crate::provider::catalog::{ANTHROPIC, OPENAI, Probe};
use crate::provider::http::SetupError;
use crate::provider::offline::Pace;
use crate::provider::{Profile, ThinkingLevel};
use crate::stdx::clock::Clock;

/// The model in use, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// As it is typed behind `/model`, before the slash.
    pub provider: String,
    pub model: String,
    pub origin: Origin,
    /// Tokens of the model's window, where it is known.
    pub context_tokens: Option<u32>,
}

/// Why this model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Setting,
    /// A key or an address for this service is set.
    Key {
        title: &'static str,
    },
    /// A server on this machine.
    Found {
        server: String,
    },
    /// The person switched to it.
    Switched,
    /// Nothing else is there.
    Offline,
}

/// Why a model cannot answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("{provider} needs a key: set {env} in the environment, or `api_key` in your settings")]
    NoKey { provider: &'static str, env: &'static str },
    #[error("openai-compatible needs `base_url`, e.g. --set base_url=http://localhost:8000/v1")]
    NoAddress,
    #[error("{provider} needs a model's name: --model {provider}/NAME")]
    NoModel { provider: String },
    #[error("`api_key` is set, but not for whom: set `provider` too")]
    KeyForNobody,
    #[error("no provider `{provider}` is ready here; `/model` lists those that are")]
    NotReady { provider: String },
    #[error("fallback_model `{name}` cannot be used ({why}); nothing stands behind the model")]
    Fallback { name: String, why: String },
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// The models of this process.
pub struct Models {
    wiring: Wiring,
    active: watch::Sender<Arc<ActiveModel>>,
    choice: watch::Sender<ModelChoice>,
    found: Mutex<Vec<Service>>,
    /// What services said of their models, by provider and model.
    told: Mutex<HashMap<(String, String), Profile>>,
}

impl Models {
    /// Chooses by settings and keys alone; nothing is sent.
    pub fn choose(settings: &Settings, clock: Arc<dyn Clock>, pace: Pace) -> Result<Self, ModelError> {
        let mut settings = settings.clone();
        let (service, model, origin) = first_choice(&mut settings)?;
        let wiring = Wiring { settings, clock, pace };
        let made = make(&wiring, &service, &model, Profile::default())?;
        let choice = describe(&service, &made, origin);
        Ok(Self {
            wiring,
            active: watch::Sender::new(Arc::new(made)),
            choice: watch::Sender::new(choice),
            found: Mutex::default(),
            told: Mutex::default(),
        })
    }

    /// What turns are run with.
    pub fn active(&self) -> watch::Receiver<Arc<ActiveModel>> {
        self.active.subscribe()
    }

    /// What is shown of it.
    pub fn choices(&self) -> watch::Receiver<ModelChoice> {
        self.choice.subscribe()
    }

    pub fn current(&self) -> ModelChoice {
        self.choice.borrow().clone()
    }

    /// Whether a server on this machine would be welcome: nothing else was chosen, and the person allows the search.
    pub fn may_discover(&self) -> bool {
        self.wiring.settings.discover_local && self.current().origin == Origin::Offline
    }

    /// Looks for model servers on this machine and takes the first, unless the person has chosen meanwhile.
    pub async fn discover(&self) {
        self.discover_at(Probe::usual()).await;
    }

    /// The same at places of choice.
    pub async fn discover_at(&self, places: Vec<Probe>) {
        let found = services::discover(places).await;
        let first = found.first().cloned();
        self.found.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        let Some(service) = first.filter(|_| self.may_discover()) else { return };
        let wanted = self.wiring.settings.model.clone().or_else(|| service.default_model());
        if let (Some(model), Some(server)) = (wanted, service.server()) {
            let origin = Origin::Found { server };
            // A server that cannot be used is as good as none.
            let _ = self.use_model(&service, &model, origin);
        }
    }

    /// Switches at once: `provider/model`, a provider alone, or a model of the provider in use.
    pub fn switch(&self, name: &str) -> Result<ModelChoice, ModelError> {
        let name = name.trim();
        let (provider, model) = split(name);
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

    /// The model that stands behind whichever is in use, as it is set. Errs where it is set and cannot answer.
    pub fn fallback(&self) -> Result<Option<Arc<ActiveModel>>, ModelError> {
        let Some(name) = &self.wiring.settings.fallback_model else { return Ok(None) };
        let unready = |error: ModelError| ModelError::Fallback { name: name.clone(), why: error.to_string() };
        let made = || {
            let (provider, model) = split(name.trim());
            let service = self.named(provider.unwrap_or(&self.current().provider))?;
            let model = model
                .map(str::to_owned)
                .or_else(|| service.default_model())
                .ok_or_else(|| ModelError::NoModel { provider: service.name().to_owned() })?;
            make(&self.wiring, &service, &model, Profile::default())
        };
        made().map(|model| Some(Arc::new(model))).map_err(unready)
    }

    /// What can be switched to, the one in use first.
    pub fn lines(&self) -> Vec<ModelLine> {
        let current = self.current();
        let name = format!("{}/{}", current.provider, current.model);
        let note = noted(why(&current.origin), &self.active.borrow().profile);
        let mut lines = vec![ModelLine { name, note, current: true }];
        let mut add = |service: &Service, note: String| {
            for model in service.models() {
                let name = format!("{}/{model}", service.name());
                if lines.iter().all(|line| line.name != name) {
                    let told = self.told(service.name(), &model);
                    let known = profiles::profile(service, &model, &self.wiring.settings, told);
                    lines.push(ModelLine { name, note: noted(note.clone(), &known), current: false });
                }
            }
        };
        for service in Service::configured(&self.wiring.settings) {
            add(&service, "a key is set".to_owned());
        }
        for service in self.found.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            add(
                service,
                service.server().map(|server| format!("{server} on this machine")).unwrap_or_default(),
            );
        }
        add(&Service::Offline, why(&Origin::Offline));
        lines
    }

    fn named(&self, provider: &str) -> Result<Service, ModelError> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = found.iter().find(|service| service.name() == provider) {
            return Ok(service.clone());
        }
        match ProviderChoice::named(provider) {
            Some(ProviderChoice::Auto) => Err(ModelError::NotReady { provider: provider.to_owned() }),
            Some(choice) => Service::explicit(choice, &self.wiring.settings),
            None => {
                Service::local(provider).ok_or_else(|| ModelError::NotReady { provider: provider.to_owned() })
            }
        }
    }

    fn use_model(&self, service: &Service, model: &str, origin: Origin) -> Result<ModelChoice, ModelError> {
        let told = self.told(service.name(), model);
        let made = make(&self.wiring, service, model, told)?;
        let choice = describe(service, &made, origin);
        self.active.send_replace(Arc::new(made));
        self.choice.send_replace(choice.clone());
        Ok(choice)
    }
}

fn make(wiring: &Wiring, service: &Service, model: &str, told: Profile) -> Result<ActiveModel, ModelError> {
    let settings = &wiring.settings;
    let profile = profiles::profile(service, model, settings, told);
    let thinking = match settings.thinking {
        Thinking::Off => ThinkingLevel::Off,
        Thinking::Low => ThinkingLevel::Low,
        Thinking::Medium => ThinkingLevel::Medium,
        Thinking::High => ThinkingLevel::High,
    };
    Ok(ActiveModel {
        max_output_tokens: most_output(settings, &profile),
        thinking,
        profile,
        ..ActiveModel::new(service.connect(wiring)?, model)
    })
}

/// The limit that was set, or what the model can say where that is less: services refuse more.
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

/// The choice that settings and keys make. The general address and key become those of the chosen service: another
/// one that is switched to later must never get them.
pub(super) fn first_choice(settings: &mut Settings) -> Result<(Service, String, Origin), ModelError> {
    let named = settings.model.clone();
    let (provider, model) = named.as_deref().map_or((None, None), split);
    let explicit = provider.and_then(ProviderChoice::named).unwrap_or(settings.provider);
    let (service, origin) = match (provider.and_then(Service::local), explicit) {
        (Some(local), _) => (local, Origin::Setting),
        (None, ProviderChoice::Auto) => by_keys(settings)?,
        (
            None,
            ProviderChoice::Offline
            | ProviderChoice::OpenAi
            | ProviderChoice::Anthropic
            | ProviderChoice::OpenAiCompatible,
        ) => {
            match explicit {
                ProviderChoice::Anthropic => services::adopt(&ANTHROPIC, settings),
                ProviderChoice::OpenAi => services::adopt(&OPENAI, settings),
                ProviderChoice::Auto | ProviderChoice::Offline | ProviderChoice::OpenAiCompatible => {}
            }
            (Service::explicit(explicit, settings)?, Origin::Setting)
        }
    };
    let model = match (model, service.default_model()) {
        // A bare name says nothing to the built-in provider; it is for the server that may be found.
        (Some(_), Some(own)) if service == Service::Offline && provider.is_none() => own,
        (Some(model), _) => model.to_owned(),
        (None, Some(own)) => own,
        (None, None) => return Err(ModelError::NoModel { provider: service.name().to_owned() }),
    };
    Ok((service, model, origin))
}

fn by_keys(settings: &mut Settings) -> Result<(Service, Origin), ModelError> {
    if settings.endpoint.base_url.is_some() {
        let service = Service::explicit(ProviderChoice::OpenAiCompatible, settings)?;
        return Ok((service, Origin::Setting));
    }
    if let Some(row) = Service::by_key(settings) {
        services::adopt(row, settings);
        return Ok((Service::Known(row), Origin::Key { title: row.title }));
    }
    if settings.endpoint.api_key.is_some() {
        return Err(ModelError::KeyForNobody);
    }
    Ok((Service::Offline, Origin::Offline))
}

/// `provider/model`, a provider alone, or a model alone: only names of providers are taken for such.
fn split(name: &str) -> (Option<&str>, Option<&str>) {
    let known = |name: &str| ProviderChoice::named(name).is_some() || services::is_local_name(name);
    match name.split_once('/') {
        Some((provider, model)) if known(provider) && !model.is_empty() => (Some(provider), Some(model)),
        Some((provider, _)) if known(provider) => (Some(provider), None),
        Some(_) => (None, Some(name)),
        None if known(name) => (Some(name), None),
        None => (None, Some(name)),
    }
}

/// With what is known of the model.
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
