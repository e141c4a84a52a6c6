//! The services that can be connected to, and how settings apply to each of them.
//!
//! Names, addresses and models of services are presets in `provider/catalog`; this module combines them with
//! settings and keys. Called by [`super::models`] and by `co auth`.

mod connect;

use std::sync::Arc;
use std::time::Duration;

use super::error::ModelError;
use super::keys::Keys;
use crate::config::{Codec, Key, ProviderSettings, Settings};
use crate::provider::catalog::{
    OPENAI_COMPATIBLE, PRESETS, Preset, Probe, RunningServer, preset, probe_local,
};
use crate::provider::http::is_unencrypted;
use crate::provider::offline::{Offline, Pace};
use crate::provider::openai_chat::Quirks;
use crate::stdx::clock::Clock;
use crate::stdx::secrecy::shown_address;
use crate::stdx::text::nearest;

/// How long a server on this machine may take to answer the search.
const PATIENCE: Duration = Duration::from_millis(200);

/// A service that may answer.
#[derive(Clone)]
pub enum Service {
    Offline,
    Http(Box<HttpService>),
}

/// A service over HTTP, with all its settings. No `Debug`: it contains a key.
#[derive(Clone)]
pub struct HttpService {
    /// The name before the slash in `/model`.
    pub name: String,
    pub preset: &'static Preset,
    pub codec: Codec,
    /// The service's deviations from Chat Completions.
    pub chat: Quirks,
    /// Without a trailing slash.
    pub base_url: String,
    pub key: Option<Key>,
    headers: Vec<(String, Key)>,
    /// The default model first, then others to list.
    pub models: Vec<String>,
    pub num_ctx: Option<u32>,
    /// Whether it is a server that was found on this machine.
    pub was_found: bool,
}

/// The data that every connection needs.
#[derive(Clone)]
pub(super) struct ConnectionContext {
    pub settings: Settings,
    pub keys: Arc<Keys>,
    pub clock: Arc<dyn Clock>,
    /// How fast the built-in provider streams.
    pub pace: Pace,
}

impl Service {
    /// Returns the service of that name. Errs if there is none, or if something that it needs is missing.
    pub fn by_name(name: &str, settings: &Settings, keys: &Keys) -> Result<Self, ModelError> {
        if name == Offline::NAME {
            return Ok(Self::Offline);
        }
        let target = HttpService::by_name(name, settings, keys)?;
        target.has_its_key()?;
        Ok(Self::Http(Box::new(target)))
    }

    /// Returns the services that are ready, in order of preference. Errs if the key file must not be used.
    pub fn configured(settings: &Settings, keys: &Keys) -> Result<Vec<Self>, ModelError> {
        let mut ready = Vec::new();
        for name in names(settings) {
            let set = settings.providers.get(name);
            let addressed = set.is_some_and(|set| set.base_url.is_some() || set.model.is_some());
            let keyed = set.is_some_and(|set| set.api_key.is_some()) || keys.stored_key(name)?.is_some();
            let is_own = set.is_some() && preset(name).is_none();
            if (addressed || keyed || is_own)
                && let Ok(service) = Self::by_name(name, settings, keys)
            {
                ready.push(service);
            }
        }
        Ok(ready)
    }

    /// Returns a server that was found on this machine, with the settings for its kind.
    pub fn from_running(found: RunningServer, settings: &Settings, keys: &Keys) -> Option<Self> {
        let mut target = HttpService::by_name(found.preset.name, settings, keys).ok()?;
        let is_set = settings.providers.get(found.preset.name).is_some_and(|set| set.base_url.is_some());
        if !is_set {
            target.base_url = target.preset.at(&found.url, target.codec);
        }
        target.models.retain(|model| found.models.contains(model));
        for model in found.models {
            if !target.models.contains(&model) {
                target.models.push(model);
            }
        }
        target.was_found = true;
        Some(Self::Http(Box::new(target)))
    }

    /// Returns the model servers that answer on this machine now, if the settings allow the search.
    pub async fn search(settings: &Settings, keys: &Keys) -> Vec<Self> {
        if settings.discover_local { discover(places(settings), settings, keys).await } else { Vec::new() }
    }

    /// Moves the general address and key to this service, so that no other gets them.
    pub fn adopt(name: &str, settings: &mut Settings) {
        let general = std::mem::take(&mut settings.endpoint);
        if general.base_url.is_none() && general.api_key.is_none() {
            return;
        }
        let own = settings.own(name);
        if general.moved_by_project {
            // The service's own keys were set for the service's own address.
            own.moved_by_project = true;
            own.api_key = None;
            own.headers.clear();
        }
        // An address that only the project names gets none of the user's keys.
        let goes_to_project = own.moved_by_project && general.base_url.is_none() && !general.is_projects_key;
        own.base_url = general.base_url.or(own.base_url.take());
        own.api_key = general.api_key.filter(|_| !goes_to_project).or(own.api_key.take());
    }

    /// Returns the service over HTTP; `None` for the built-in one.
    pub fn target(&self) -> Option<&HttpService> {
        match self {
            Self::Offline => None,
            Self::Http(target) => Some(target),
        }
    }

    /// Returns the name before the slash in `/model`.
    pub fn name(&self) -> &str {
        self.target().map_or(Offline::NAME, |target| &target.name)
    }

    /// Returns the name to show to users.
    pub fn title(&self) -> &str {
        match self.target() {
            Some(target) if target.name == target.preset.name => target.preset.title,
            Some(_) | None => self.name(),
        }
    }

    /// Returns the name of a server on this machine to show to users.
    pub fn server(&self) -> Option<String> {
        let HttpService { preset, .. } = self.target().filter(|target| target.was_found)?;
        let port = preset.local.map(|server| format!(" (port {})", server.port));
        Some(format!("{}{}", preset.title, port.unwrap_or_default()))
    }

    /// Returns the model that is used when none is named.
    pub fn default_model(&self) -> Option<String> {
        self.models().into_iter().next()
    }

    /// Returns the model that is named, or else the default one. Errs if there is neither.
    pub fn model_or_default(&self, named: Option<String>) -> Result<String, ModelError> {
        let model = named.or_else(|| self.default_model());
        model.ok_or_else(|| ModelError::NoModel { provider: self.name().to_owned() })
    }

    /// Returns the models that are known without a request to the service.
    pub fn models(&self) -> Vec<String> {
        self.target().map_or_else(|| vec![Offline::MODEL.to_owned()], |target| target.models.clone())
    }

    /// Whether the service requires a key.
    pub fn needs_a_key(&self) -> bool {
        self.target().is_some_and(|target| target.preset.needs_key)
    }

    /// Returns a warning for the user before a key is sent there.
    pub fn warning(&self) -> Option<String> {
        self.target()?.warning()
    }
}

impl HttpService {
    /// Returns a warning if a key would be sent there unencrypted.
    pub fn warning(&self) -> Option<String> {
        let has_secret =
            self.key.is_some() || !self.headers.is_empty() || shown_address(&self.base_url) != self.base_url;
        (has_secret && is_unencrypted(&self.base_url)).then(|| {
            format!(
                "The key for {} would be sent unencrypted to {}; anyone on the network can read it. Use https://, or a \
                 tunnel to this machine.",
                self.name,
                shown_address(&self.base_url)
            )
        })
    }

    /// Returns the service of that name, with or without a key.
    pub fn by_name(name: &str, settings: &Settings, keys: &Keys) -> Result<Self, ModelError> {
        let nothing = ProviderSettings::default();
        let set = settings.providers.get(name).unwrap_or(&nothing);
        let row = base_of(name, settings)?;
        let elsewhere = set.base_url.as_deref().is_some_and(|url| Some(url) != row.base_url);
        let usual = if elsewhere { row.elsewhere } else { row.codec };
        let chat = quirks(name, row.chat, set)?;
        let codec = set.wire.unwrap_or(usual);
        let address = set.base_url.as_deref().or(row.base_url);
        let address = address.ok_or_else(|| ModelError::NoAddress { provider: name.to_owned() })?;
        let key = match &set.api_key {
            Some(key) => Some(key.clone()),
            None if set.moved_by_project => None,
            None => keys.stored_key(name)?.map(Key::Literal),
        };
        let mut models: Vec<String> = set.model.iter().chain(&set.models).cloned().collect();
        models.extend(row.default_model.filter(|_| models.is_empty()).map(str::to_owned));
        models.dedup();
        Ok(Self {
            name: name.to_owned(),
            preset: row,
            codec,
            chat,
            base_url: row.at(address, codec),
            key,
            headers: set.headers.iter().map(|(name, key)| (name.clone(), key.clone())).collect(),
            models,
            num_ctx: set.num_ctx,
            was_found: false,
        })
    }

    /// Errs if it needs a key and has none.
    pub fn has_its_key(&self) -> Result<(), ModelError> {
        if let Some(Key::Missing { variable }) = &self.key {
            return Err(ModelError::NoVariable { provider: self.name.clone(), variable: variable.clone() });
        }
        // A user's own server may need no key; the public one does.
        let public = self.preset.base_url.is_none_or(|url| url == self.base_url);
        if self.key.is_none() && self.headers.is_empty() && self.preset.needs_key && public {
            let env = self.preset.key_envs.first().copied().filter(|_| self.name == self.preset.name);
            return Err(ModelError::NoKey { provider: self.name.clone(), env });
        }
        Ok(())
    }
}

/// Returns the preset that a service is based on.
fn base_of(name: &str, settings: &Settings) -> Result<&'static Preset, ModelError> {
    let set = settings.providers.get(name);
    if let Some(wanted) = set.and_then(|set| set.preset.as_deref()) {
        return preset(wanted).ok_or_else(|| ModelError::NoPreset {
            provider: name.to_owned(),
            preset: wanted.to_owned(),
            nearest: nearest(wanted, PRESETS.iter().map(|preset| preset.name)).map(str::to_owned),
        });
    }
    match (preset(name), set) {
        (Some(row), _) => Ok(row),
        (None, Some(_)) => Ok(&OPENAI_COMPATIBLE),
        (None, None) => {
            let nearest = nearest_to(name, settings);
            Err(ModelError::NoProvider { provider: name.to_owned(), nearest })
        }
    }
}

/// Returns the quirks of its Chat Completions, with the settings applied.
fn quirks(provider: &str, base: Quirks, set: &ProviderSettings) -> Result<Quirks, ModelError> {
    let mut quirks = base;
    for (name, value) in &set.quirks {
        quirks.set(name, value).map_err(|error| {
            let (provider, detail) = (provider.to_owned(), error.to_string());
            ModelError::Quirk { provider, detail }
        })?;
    }
    Ok(quirks)
}

/// Returns the names of all services but the built-in one: the presets, then the user's own.
pub(super) fn names(settings: &Settings) -> impl Iterator<Item = &str> {
    let own = settings.providers.keys().map(String::as_str).filter(|name| preset(name).is_none());
    PRESETS.iter().map(|preset| preset.name).chain(own)
}

/// Whether there is a service of that name.
pub(super) fn is_known(name: &str, settings: &Settings) -> bool {
    name == Offline::NAME || preset(name).is_some() || settings.providers.contains_key(name)
}

/// Returns the known service nearest to an unknown name.
pub(super) fn nearest_to(name: &str, settings: &Settings) -> Option<String> {
    nearest(name, names(settings).chain([Offline::NAME])).map(str::to_owned)
}

/// Whether the models of this service have slashes in their names.
pub(super) fn sells_others(name: &str, settings: &Settings) -> bool {
    base_of(name, settings).is_ok_and(|row| row.names_have_slashes)
}

/// Whether this is a model of that service, including the service's name as a prefix.
pub(super) fn is_a_model_of(name: &str, model: &str) -> bool {
    preset(name).is_some_and(|row| row.default_model == Some(model))
}

/// Returns the usual addresses of local servers, or those in the settings.
pub(super) fn places(settings: &Settings) -> Vec<Probe> {
    let set = |name: &str| settings.providers.get(name).and_then(|own| own.base_url.clone());
    Probe::usual()
        .into_iter()
        .map(|probe| match set(probe.preset.name) {
            Some(url) => Probe::at(probe.preset, &url),
            None => probe,
        })
        .collect()
}

/// Returns the model servers that answer at these addresses.
pub(super) async fn discover(places: Vec<Probe>, settings: &Settings, keys: &Keys) -> Vec<Service> {
    let found = probe_local(places, PATIENCE).await;
    found.into_iter().filter_map(|found| Service::from_running(found, settings, keys)).collect()
}
