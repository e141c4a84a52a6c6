//! The models offered by the configured services: their own lists, and the known data of each model. The services are
//! queried concurrently; a failure of one does not affect the others.

use std::time::Duration;

use super::choice::first_choice;
use super::error::ModelError;
use super::keys::Keys;
use super::profiles;
use super::services::{HttpService, Service};
use crate::config::Settings;
use crate::provider::catalog::{self, ListEndpoint, ListedModel};
use crate::provider::{ErrorClass, Profile, ProviderError};
use crate::stdx::secrecy::shown_address;

/// The timeout of a service for its whole list.
const PATIENCE: Duration = Duration::from_secs(5);

/// The source of the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListSource {
    /// The services are queried.
    Live,
    /// The known data only, without a request.
    Known,
}

/// The models of one service.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// The name before the slash in `/model`.
    pub service: String,
    /// The queried address, without any secret in it.
    pub address: Option<String>,
    pub models: Result<Vec<OfferedModel>, ProviderError>,
}

/// A model that can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedModel {
    /// The service's name for it.
    pub name: String,
    pub profile: Profile,
    /// Whether it is the model in use.
    pub in_use: bool,
}

/// Returns the models of all services or only one, in the order in which services are chosen.
pub async fn offers(
    settings: &Settings,
    only: Option<&str>,
    lists: ListSource,
) -> Result<Vec<Offer>, ModelError> {
    let mut settings = settings.clone();
    let keys = Keys::of(&settings);
    // This also assigns the general address and key to their service.
    let in_use =
        first_choice(&mut settings, &keys).ok().map(|(service, model, _)| (service.name().to_owned(), model));
    let services = match only {
        Some(wanted) => vec![Service::by_name(wanted, &settings, &keys)?],
        None => ready_services(&settings, &keys, lists).await?,
    };
    let asked = services.iter().map(|service| offer(service, &settings, &keys, lists, in_use.as_ref()));
    Ok(futures::future::join_all(asked).await)
}

/// Returns the configured services, and those found on this machine.
async fn ready_services(
    settings: &Settings,
    keys: &Keys,
    lists: ListSource,
) -> Result<Vec<Service>, ModelError> {
    let mut services = Service::configured(settings, keys)?;
    if lists == ListSource::Live {
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
    lists: ListSource,
    in_use: Option<&(String, String)>,
) -> Offer {
    let address = service.target().map(|target| shown_address(&target.base_url));
    let listed = match (service.target(), lists) {
        (Some(target), ListSource::Live) => fetch_list(target, settings, keys).await,
        (None, ListSource::Live) | (_, ListSource::Known) => Ok(known_models(service)),
    };
    let offered = |ListedModel { name, profile }: ListedModel| OfferedModel {
        profile: profiles::profile(service, &name, settings, profile),
        in_use: in_use.is_some_and(|(provider, model)| provider == service.name() && *model == name),
        name,
    };
    let models = listed.map(|listed| listed.into_iter().map(offered).collect());
    Offer { service: service.name().to_owned(), address, models }
}

/// Returns the models known without a request: those of the catalog and of the settings.
pub(super) fn known_models(service: &Service) -> Vec<ListedModel> {
    let rows = catalog::rows(service.name()).map(|row| row.name.to_owned());
    let mut names: Vec<String> = service.models();
    names.extend(rows);
    names.sort();
    names.dedup();
    names.into_iter().map(|name| ListedModel { name, profile: Profile::default() }).collect()
}

/// Returns a service's current list; runs commands that print keys, because the user asked for the list.
pub(super) async fn fetch_list(
    target: &HttpService,
    settings: &Settings,
    keys: &Keys,
) -> Result<Vec<ListedModel>, ProviderError> {
    let endpoint = target.endpoint(settings, keys).await;
    let endpoint = endpoint.map_err(|error| ProviderError::new(ErrorClass::Auth, error.to_string()))?;
    catalog::list(&ListEndpoint::of(target.preset, target.codec, endpoint), PATIENCE).await
}

/// Returns the service's data of one model; empty if it has none, does not answer, or needs a command to be run for its
/// key, because the user did not ask for this request.
pub(super) async fn reported_profile(service: &Service, model: &str, settings: &Settings) -> Profile {
    let Some(target) = service.target() else { return Profile::default() };
    let Some(endpoint) = target.plain_endpoint(settings) else { return Profile::default() };
    let listed = catalog::list(&ListEndpoint::of(target.preset, target.codec, endpoint), PATIENCE)
        .await
        .unwrap_or_default();
    let found = listed.into_iter().find(|listed| listed.name == model);
    found.map(|listed| listed.profile).unwrap_or_default()
}
