//! The initial choice of service and model: by the settings, else by keys.

use super::error::ModelError;
use super::keys::Keys;
use super::services::{self, Service};
use crate::config::Settings;
use crate::provider::catalog::OPENAI_COMPATIBLE;

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

/// Chooses a model by settings and keys. The general address and key become those of the chosen service, so
/// that a service that is switched to later never gets them.
pub(super) fn first_choice(
    settings: &mut Settings,
    keys: &Keys,
) -> Result<(Service, String, Origin), ModelError> {
    let (provider, model) = named_model(settings);
    let (service, origin) = match &provider {
        Some(name) => {
            Service::adopt(name, settings);
            (Service::by_name(name, settings, keys)?, Origin::Setting)
        }
        None => by_keys(model.as_deref(), settings, keys)?,
    };
    // A model name without a provider is not for the built-in one; it is for a server that may be found.
    let is_for_it = provider.is_some() || service.target().is_some();
    let model = service.model_or_default(model.filter(|_| is_for_it))?;
    Ok((service, model, origin))
}

/// Returns the provider and the model that the settings name.
fn named_model(settings: &Settings) -> (Option<String>, Option<String>) {
    let provider = settings.provider.as_deref();
    let Some(model) = settings.model.as_deref() else { return (provider.map(str::to_owned), None) };
    // The names of its models look like `provider/model` themselves.
    if let Some(provider) = provider.filter(|provider| services::sells_others(provider, settings)) {
        let bare = model.strip_prefix(provider).and_then(|rest| rest.strip_prefix('/'));
        let is_its_own = services::is_a_model_of(provider, model);
        let model = bare.filter(|_| !is_its_own).unwrap_or(model);
        return (Some(provider.to_owned()), Some(model.to_owned()).filter(|name| !name.is_empty()));
    }
    let (other, model) = split(model, settings);
    (other.or(provider).map(str::to_owned), model.map(str::to_owned))
}

fn by_keys(
    model: Option<&str>,
    settings: &mut Settings,
    keys: &Keys,
) -> Result<(Service, Origin), ModelError> {
    if settings.endpoint.base_url.is_some() {
        Service::adopt(OPENAI_COMPATIBLE.name, settings);
        return Ok((Service::by_name(OPENAI_COMPATIBLE.name, settings, keys)?, Origin::Setting));
    }
    let ready = Service::configured(settings, keys)?;
    // A service without any named model cannot answer.
    let first = ready.into_iter().find(|service| model.is_some() || service.default_model().is_some());
    if let Some(service) = first {
        Service::adopt(service.name(), settings);
        let service = Service::by_name(service.name(), settings, keys)?;
        let title = service.title().to_owned();
        return Ok((service, Origin::Key { title }));
    }
    if settings.endpoint.api_key.is_some() {
        return Err(ModelError::KeyForNobody);
    }
    Ok((Service::Offline, Origin::Offline))
}

/// Splits `provider/model`, a provider alone, or a model alone: only names of providers are taken as such.
pub(super) fn split<'a>(name: &'a str, settings: &Settings) -> (Option<&'a str>, Option<&'a str>) {
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
pub fn unused_keys(settings: &Settings) -> Vec<String> {
    let (provider, model) = named_model(settings);
    if provider.is_some() || model.is_some() {
        return Vec::new();
    }
    // A key file that must not be used is reported where the model is chosen.
    let ready = Service::configured(settings, &Keys::of(settings)).unwrap_or_default();
    let idle = ready.iter().filter(|service| service.default_model().is_none() && service.needs_a_key());
    idle.map(|service| {
        let name = service.name();
        format!(
            "{} is set up, but no model is set: model = \"{name}/NAME\"; `co models {name}` lists them.",
            service.title()
        )
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
        "There is no provider `{provider}` (did you mean `{nearest}`?), so `{name}` is read as a model name."
    ))
}
