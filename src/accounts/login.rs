//! Sets up a service: tries its key with one cheap request, keeps it, and makes it the one that answers.
//!
//! Shared by the first screen, `/login` and `co auth`. A key is passed as a [`Secret`] to the service and to
//! the key file only; at most its last characters are shown.

mod settings;

use std::sync::Arc;
use std::time::Duration;

pub use self::settings::write_choice;
use super::error::ModelError;
use super::keys::{KeyCommandError, KeyFileError, Keys};
use super::services::{HttpService, Service, names};
pub use crate::config::WriteError;
use crate::config::{Secret, Settings, checked_url};
pub use crate::frontend::protocol::Credentials;
use crate::frontend::protocol::{Consent, HAS_KEY, LoginFailure, LoginNeed, ServiceLine};
use crate::provider::catalog::{self, ListEndpoint};
use crate::provider::http::get_json;
use crate::provider::{ErrorClass, ProviderError};
use crate::stdx::secrecy::shown_address;

/// How long a service may take to answer a check.
const PATIENCE: Duration = Duration::from_secs(15);

/// Keys with fewer characters are not hinted at.
const SHOWN_FROM: usize = 16;

/// Why a service cannot be used, in a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Command(#[from] KeyCommandError),
    #[error(transparent)]
    KeyFile(#[from] KeyFileError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("{0}")]
    Refused(String),
    /// Nothing was sent: others could read the key on its way, and the user did not agree to that.
    #[error("{0}")]
    Unencrypted(String),
}

impl From<LoginError> for LoginFailure {
    fn from(error: LoginError) -> Self {
        if let LoginError::Unencrypted(warning) = error {
            Self::Unencrypted(warning)
        } else {
            Self::Failed(error.to_string())
        }
    }
}

/// Returns the services that can be set up; servers that answer on this machine come first.
#[must_use]
pub fn offers(settings: &Settings, keys: &Keys, found: &[Service]) -> Vec<ServiceLine> {
    let here = |name: &str| found.iter().any(|service| service.name() == name);
    let mut offers: Vec<ServiceLine> =
        names(settings).filter_map(|name| offer(name, settings, keys, here(name))).collect();
    offers.sort_by_key(|offer| !here(&offer.name));
    offers
}

fn offer(name: &str, settings: &Settings, keys: &Keys, is_here: bool) -> Option<ServiceLine> {
    let target = match HttpService::by_name(name, settings, keys) {
        Ok(target) => Some(target),
        Err(ModelError::NoAddress { .. }) => None,
        Err(_) => return None,
    };
    let row = match &target {
        Some(target) => target.preset,
        None => crate::provider::catalog::preset(name)?,
    };
    let title = if row.name == name { row.title } else { name };
    let has_key = target.as_ref().is_some_and(|target| target.key.is_some());
    let note = match (is_here, has_key, row.local) {
        (true, _, _) => "answers on this machine",
        (false, true, _) => HAS_KEY,
        (false, false, Some(_)) => "runs on your own machine",
        (false, false, None) => "",
    };
    Some(ServiceLine {
        name: name.to_owned(),
        title: title.to_owned(),
        address: if target.is_some() { LoginNeed::Known } else { LoginNeed::Needed },
        key: match (row.needs_key, has_key, row.local) {
            (false, _, Some(_)) => LoginNeed::Known,
            // A wrong key can be replaced.
            (_, true, _) => LoginNeed::Optional,
            (true, false, _) => LoginNeed::Needed,
            (false, false, None) => LoginNeed::Optional,
        },
        keys_url: row.keys_url,
        note: note.to_owned(),
    })
}

/// Tries the entered data together with the existing settings, and returns the service's models. Nothing is
/// sent if a key would be sent unencrypted without the user's agreement.
pub async fn try_out(
    entered: &Credentials,
    settings: &Settings,
    keys: &Keys,
) -> Result<Vec<String>, LoginError> {
    let mut settings = settings.clone();
    if let Some(url) = &entered.base_url {
        let url =
            checked_url(url).map_err(|wrong| LoginError::Refused(format!("The address is {wrong}.")))?;
        settings.own(&entered.service).base_url = Some(url);
    }
    let mut target = HttpService::by_name(&entered.service, &settings, keys)?;
    if let Some(key) = &entered.key {
        keys.learn(key);
        target.key = Some(crate::config::Key::Literal(key.clone()));
    }
    match (target.warning(), entered.unencrypted) {
        (Some(warning), Consent::NotAsked) => Err(LoginError::Unencrypted(warning)),
        (Some(_) | None, Consent::Given) | (None, Consent::NotAsked) => check(&target, &settings, keys).await,
    }
}

/// Makes one cheap request with a service's key: its list of models; if that is public, another one first.
pub async fn check(
    target: &HttpService,
    settings: &Settings,
    keys: &Keys,
) -> Result<Vec<String>, LoginError> {
    target.has_its_key()?;
    let endpoint = target.endpoint(settings, keys).await?;
    let refused = |error: ProviderError| LoginError::Refused(sentence(target, &error));
    if let Some(path) = target.preset.check {
        get_json(&endpoint, path, &[], PATIENCE).await.map_err(refused)?;
    }
    let listed = catalog::list(&ListEndpoint::of(target.preset, target.codec, endpoint), PATIENCE).await;
    let listed = match target.preset.check {
        None => listed.map_err(refused)?,
        // The key is valid, even if the list cannot be retrieved.
        Some(_) => listed.unwrap_or_default(),
    };
    let mut names: Vec<String> = listed.into_iter().map(|listed| listed.name).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// Says what is wrong and what to do, in one sentence.
fn sentence(target: &HttpService, error: &ProviderError) -> String {
    let (name, url) = (&target.name, shown_address(&target.base_url));
    let said = error.to_string();
    let said = said.trim_end_matches('.');
    let cannot = format!("{name} cannot be reached");
    let network = format!("; check the network and the base URL {url}.");
    let (what, advice) = match error.class {
        ErrorClass::Auth if target.key.is_none() => {
            (format!("{name} needs a key"), format!("; `co auth add {name}` saves one."))
        }
        ErrorClass::Auth => (
            format!("{name} rejected this key"),
            "; copy the whole key again, or create a new one.".to_owned(),
        ),
        ErrorClass::Permission => {
            let what = format!("{name} accepts this key but does not permit this");
            (what, "; check the key's permissions there.".to_owned())
        }
        ErrorClass::NotFound => (format!("No such service at {url}"), "; check the base URL.".to_owned()),
        ErrorClass::Malformed => {
            (format!("{url} does not look like {name}"), "; check the base URL.".to_owned())
        }
        ErrorClass::Network => (cannot, network),
        ErrorClass::Tls | ErrorClass::Proxy => (cannot, format!(". {}", error.advice())),
        ErrorClass::Idle => (format!("{name} does not answer"), network),
        ErrorClass::Billing | ErrorClass::Quota => {
            ("The key is valid, but its account has no credit".to_owned(), ".".to_owned())
        }
        ErrorClass::RateLimited | ErrorClass::Overloaded | ErrorClass::Server => {
            let what = format!("{name} has a problem, so the key could not be checked");
            (what, "; try again later.".to_owned())
        }
        ErrorClass::BadRequest
        | ErrorClass::Truncated
        | ErrorClass::ContextOverflow
        | ErrorClass::BadReply
        | ErrorClass::Filtered => {
            (format!("{name} refused the check"), format!("; check the key and the base URL {url}."))
        }
    };
    format!("{what}: {said}{advice}")
}

/// Whether a first run offers to set up a service: not if the user declined before.
#[must_use]
pub fn may_offer(settings: &Settings) -> bool {
    settings.welcome && !mark(settings).exists()
}

/// Records that the user does not want to be asked. Blocking and short; if it fails they are asked again.
pub fn skip(settings: &Settings) {
    let mark = mark(settings);
    let noted = mark.parent().map_or(Ok(()), crate::stdx::fs::create_private_dir);
    if let Err(error) = noted.and_then(|()| crate::stdx::fs::open_private(&mark).map(drop)) {
        tracing::warn!(%error, "skipping the first screen could not be saved");
    }
}

fn mark(settings: &Settings) -> std::path::PathBuf {
    settings.data_dir.join("auth/skipped")
}

/// Returns a key in the form for display: nothing of a short one, the last four characters of a long one.
#[must_use]
pub fn hint(key: &Secret) -> String {
    let text = key.expose();
    let length = text.chars().count();
    if length < SHOWN_FROM {
        return "…".to_owned();
    }
    let tail: String = text.chars().skip(length - 4).collect();
    format!("…{}", crate::stdx::text::sanitize_line(&tail))
}

/// Keeps the entered key in the key file. The blocking work runs on another thread.
pub async fn keep(entered: &Credentials, keys: &Arc<Keys>) -> Result<(), KeyFileError> {
    let Some(key) = entered.key.clone() else { return Ok(()) };
    let (keys, service) = (Arc::clone(keys), entered.service.clone());
    let kept = tokio::task::spawn_blocking(move || keys.keep(&service, &key).map(drop));
    kept.await.unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_hardly_shown() {
        for (key, shown) in
            [("", "…"), ("sk-short", "…"), ("sk-123456789abcdef", "…cdef"), ("schlüsselschlüssel", "…ssel")]
        {
            assert_eq!(hint(&Secret::new(key.to_owned())), shown);
        }
    }
}
