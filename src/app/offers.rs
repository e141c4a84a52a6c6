//! What the services that are set up offer: their own lists, and what is known of each model.
//!
//! All services are asked side by side, and one that does not answer takes nothing from the others. Called by `co
//! models`; nothing is printed here.

use std::time::Duration;

use super::models::first_choice;
use super::profiles;
use super::services::{self, Service};
use crate::config::{Secret, Settings};
use crate::provider::catalog::{self, Codec, ListEndpoint, ListForm, Listed, Probe};
use crate::provider::http::{ApiKey, Endpoint, KeyHeader, Network, Timeouts};
use crate::provider::{Profile, ProviderError};

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
    /// Where it was asked.
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

/// The service that was asked for is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no service `{wanted}` is set up")]
pub struct NoSuchService {
    pub wanted: String,
    /// Those that are.
    pub ready: Vec<String>,
}

/// What the services offer, or only one of them. In the order in which services are chosen.
pub async fn offers(
    settings: &Settings,
    only: Option<&str>,
    lists: Lists,
) -> Result<Vec<Offer>, NoSuchService> {
    let mut settings = settings.clone();
    // This also gives the general address and key to the service that they are for.
    let in_use =
        first_choice(&mut settings).ok().map(|(service, model, _)| (service.name().to_owned(), model));
    let mut services = Service::configured(&settings);
    if lists == Lists::Live && settings.discover_local {
        services.extend(services::discover(Probe::usual()).await);
    }
    if let Some(wanted) = only {
        let ready: Vec<String> = services.iter().map(|service| service.name().to_owned()).collect();
        services.retain(|service| service.name() == wanted);
        if services.is_empty() {
            let local = Service::local(wanted);
            services.push(local.ok_or_else(|| NoSuchService { wanted: wanted.to_owned(), ready })?);
        }
    }
    let asked = services.iter().map(|service| offer(service, &settings, lists, in_use.as_ref()));
    Ok(futures::future::join_all(asked).await)
}

async fn offer(
    service: &Service,
    settings: &Settings,
    lists: Lists,
    in_use: Option<&(String, String)>,
) -> Offer {
    let place = list_endpoint(service, settings);
    let address = place.as_ref().map(|place| place.endpoint.base_url.clone());
    let listed = match (&place, lists) {
        (Some(place), Lists::Live) => catalog::list(place, PATIENCE).await,
        (Some(_) | None, Lists::Live | Lists::Known) => Ok(known(service)),
    };
    let offered = |Listed { name, told }: Listed| OfferedModel {
        profile: profiles::profile(service, &name, settings, told),
        in_use: in_use.is_some_and(|(provider, model)| provider == service.name() && *model == name),
        name,
    };
    let models = listed.map(|listed| listed.into_iter().map(offered).collect());
    Offer { service: service.name().to_owned(), address, models }
}

/// What the service is known to have, without asking it: its models in the table, and those that were named.
fn known(service: &Service) -> Vec<Listed> {
    let rows = catalog::rows(service.name()).map(|row| row.name.to_owned());
    let mut names: Vec<String> = service.models();
    names.extend(rows);
    names.sort();
    names.dedup();
    names.into_iter().map(|name| Listed { name, told: Profile::default() }).collect()
}

/// What a service says of one model; nothing where it does not say it, or does not answer.
pub(super) async fn told(service: &Service, model: &str, settings: &Settings) -> Profile {
    let Some(place) = list_endpoint(service, settings) else { return Profile::default() };
    let listed = catalog::list(&place, PATIENCE).await.unwrap_or_default();
    let found = listed.into_iter().find(|listed| listed.name == model);
    found.map(|listed| listed.told).unwrap_or_default()
}

/// Where a service lists its models.
fn list_endpoint(service: &Service, settings: &Settings) -> Option<ListEndpoint> {
    let (address, key, key_header, (path, form)) = match service {
        Service::Offline => return None,
        Service::Known(row) => {
            let own = services::own_settings(row, settings);
            let address = own.base_url.as_deref().unwrap_or(row.base_url);
            (address, own.api_key.as_ref(), row.key_header, list_of(row.codec))
        }
        Service::Compatible => {
            let set = &settings.endpoint;
            let place = ("/models", ListForm::OpenAi);
            (set.base_url.as_deref()?, set.api_key.as_ref(), KeyHeader::Bearer, place)
        }
        Service::Local(found) => {
            let place = match found.server.name {
                "ollama" => ("/api/tags", ListForm::Ollama),
                "lmstudio" => ("/api/v0/models", ListForm::LmStudio),
                _ => ("/v1/models", ListForm::OpenAi),
            };
            (found.base_url.trim_end_matches("/v1"), None, KeyHeader::Bearer, place)
        }
    };
    let endpoint = Endpoint {
        name: service.name().to_owned(),
        base_url: address.to_owned(),
        key: key.map(Secret::expose).and_then(ApiKey::new),
        key_header,
        headers: Vec::new(),
        network: Network {
            proxy: settings.proxy.as_ref().map(|proxy| proxy.expose().to_owned()),
            ca_file: settings.ca_file.clone(),
        },
        timeouts: Timeouts { connect: settings.connect_timeout, idle: settings.idle_timeout },
    };
    Some(ListEndpoint { endpoint, path: path.to_owned(), form })
}

/// Where servers of a wire list their models, below the base URL, and how.
fn list_of(codec: Codec) -> (&'static str, ListForm) {
    match codec {
        Codec::Anthropic => ("/v1/models", ListForm::Anthropic),
        Codec::OpenAiChat(_) | Codec::OpenAiResponses => ("/models", ListForm::OpenAi),
        Codec::Gemini => ("/models", ListForm::Gemini),
        Codec::Ollama => ("/api/tags", ListForm::Ollama),
    }
}
