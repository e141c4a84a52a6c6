//! What the services that are set up offer: their own lists, and what is known of each model.
//!
//! All services are asked side by side, and one that does not answer takes nothing from the others. Called by `co
//! models`; nothing is printed here.

use std::time::Duration;

use super::choice::first_choice;
use super::error::ModelError;
use super::keys::Keys;
use super::profiles;
use super::services::{Service, Target};
use crate::config::{Codec, Settings};
use crate::provider::catalog::{self, LMSTUDIO, ListEndpoint, ListForm, ListedModel};
use crate::provider::http::Endpoint;
use crate::provider::{ErrorClass, Profile, ProviderError};
use crate::stdx::secrecy::shown_address;

/// How long a service has for its whole list.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the lists come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// The services are asked.
    Live,
    /// What is known without asking anybody.
    Known,
}

/// What one service offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// As it is typed behind `/model`, before the slash.
    pub service: String,
    /// Where it was asked, without what is secret in it.
    pub address: Option<String>,
    pub models: Result<Vec<OfferedModel>, ProviderError>,
}

/// A model that can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedModel {
    /// As the service knows it.
    pub name: String,
    pub profile: Profile,
    /// Whether it would answer now.
    pub in_use: bool,
}

/// What the services offer, or only one of them. In the order in which services are chosen.
pub async fn offers(settings: &Settings, only: Option<&str>, lists: Lists) -> Result<Vec<Offer>, ModelError> {
    let mut settings = settings.clone();
    let keys = Keys::of(&settings);
    // This also gives the general address and key to the service that they are for.
    let in_use =
        first_choice(&mut settings, &keys).ok().map(|(service, model, _)| (service.name().to_owned(), model));
    let services = match only {
        Some(wanted) => vec![Service::named(wanted, &settings, &keys)?],
        None => ready(&settings, &keys, lists).await?,
    };
    let asked = services.iter().map(|service| offer(service, &settings, &keys, lists, in_use.as_ref()));
    Ok(futures::future::join_all(asked).await)
}

/// The services that are set up, and those that are found on this machine.
async fn ready(settings: &Settings, keys: &Keys, lists: Lists) -> Result<Vec<Service>, ModelError> {
    let mut services = Service::configured(settings, keys)?;
    if lists == Lists::Live {
        let found = Service::search(settings, keys).await;
        services.retain(|service| found.iter().all(|one| one.name() != service.name()));
        services.extend(found);
    }
    Ok(services)
}

async fn offer(
    service: &Service,
    settings: &Settings,
    keys: &Keys,
    lists: Lists,
    in_use: Option<&(String, String)>,
) -> Offer {
    let address = match service {
        Service::Offline => None,
        Service::Http(target) => Some(shown_address(&target.base_url)),
    };
    let listed = match (service, lists) {
        (Service::Http(target), Lists::Live) => listed(target, settings, keys).await,
        (Service::Offline | Service::Http(_), Lists::Live | Lists::Known) => Ok(known(service)),
    };
    let offered = |ListedModel { name, told }: ListedModel| OfferedModel {
        profile: profiles::profile(service, &name, settings, told),
        in_use: in_use.is_some_and(|(provider, model)| provider == service.name() && *model == name),
        name,
    };
    let models = listed.map(|listed| listed.into_iter().map(offered).collect());
    Offer { service: service.name().to_owned(), address, models }
}

/// What the service is known to have, without asking it: its models in the table, and those that were named.
fn known(service: &Service) -> Vec<ListedModel> {
    let rows = catalog::rows(service.name()).map(|row| row.name.to_owned());
    let mut names: Vec<String> = service.models();
    names.extend(rows);
    names.sort();
    names.dedup();
    names.into_iter().map(|name| ListedModel { name, told: Profile::default() }).collect()
}

/// What a service lists now; the person asked, so commands that give keys are run.
async fn listed(
    target: &Target,
    settings: &Settings,
    keys: &Keys,
) -> Result<Vec<ListedModel>, ProviderError> {
    let endpoint = target.endpoint(settings, keys).await;
    let endpoint = endpoint.map_err(|error| ProviderError::new(ErrorClass::Auth, error.to_string()))?;
    catalog::list(&list_place(target, endpoint), PATIENCE).await
}

/// What a service says of one model; nothing where it does not say it, does not answer, or a command would have to be
/// run for its key: nobody asked for that.
pub(super) async fn told(service: &Service, model: &str, settings: &Settings) -> Profile {
    let Service::Http(target) = service else { return Profile::default() };
    let Some(endpoint) = target.plain_endpoint(settings) else { return Profile::default() };
    let listed = catalog::list(&list_place(target, endpoint), PATIENCE).await.unwrap_or_default();
    let found = listed.into_iter().find(|listed| listed.name == model);
    found.map(|listed| listed.told).unwrap_or_default()
}

/// Where a service lists its models, and in which form.
pub(super) fn list_place(target: &Target, endpoint: Endpoint) -> ListEndpoint {
    let own_form = target.preset.local.filter(|_| target.preset.name == LMSTUDIO.name);
    let (path, form) = match (target.codec, own_form) {
        (Codec::OpenAiChat, Some(_)) => ("/api/v0/models", ListForm::LmStudio),
        (Codec::Anthropic, _) => ("/v1/models", ListForm::Anthropic),
        (Codec::Gemini, _) => ("/v1beta/models", ListForm::Gemini),
        (Codec::Ollama, _) => ("/api/tags", ListForm::Ollama),
        (Codec::OpenAiChat | Codec::OpenAiResponses, _) => ("/models", ListForm::OpenAi),
    };
    // LM Studio says more beside its `/v1` than below it.
    let base_url = match form {
        ListForm::LmStudio => endpoint.base_url.trim_end_matches("/v1").to_owned(),
        ListForm::Anthropic | ListForm::Gemini | ListForm::Ollama | ListForm::OpenAi => endpoint.base_url,
    };
    ListEndpoint { endpoint: Endpoint { base_url, ..endpoint }, path: path.to_owned(), form }
}
