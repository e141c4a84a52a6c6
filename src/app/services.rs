//! The services that can be connected to, and how settings reach each of them.
//!
//! Names, addresses and models of the services are rows of `provider/catalog`; here stands only how they are set up.
//! Called by [`super::models`].

use std::sync::Arc;
use std::time::Duration;

use super::models::ModelError;
use crate::config::{Endpoint as Set, ProviderChoice, Secret, Settings};
use crate::provider::Provider;
use crate::provider::anthropic::Anthropic;
use crate::provider::catalog::{
    ANTHROPIC, Codec, Found, LOCAL_SERVERS, LocalServer, OPENAI, Probe, SERVICES, ServiceRow, probe_local,
};
use crate::provider::gemini::Gemini;
use crate::provider::http::{ApiKey, Endpoint, HttpProvider, KeyHeader, Network, Timeouts};
use crate::provider::offline::{Offline, Pace};
use crate::provider::ollama::Ollama;
use crate::provider::openai_chat::{OpenAiChat, Quirks};
use crate::provider::openai_responses::OpenAiResponses;
use crate::stdx::clock::Clock;

/// How long a server on this machine has to answer the search.
const PATIENCE: Duration = Duration::from_millis(200);

/// A service that may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Service {
    Offline,
    /// One that is known by name.
    Known(&'static ServiceRow),
    /// The server at `base_url`.
    Compatible,
    /// A server on this machine.
    Local(Found),
}

/// What every connection is made with.
#[derive(Clone)]
pub(super) struct Wiring {
    pub settings: Settings,
    pub clock: Arc<dyn Clock>,
    /// How fast the built-in provider speaks.
    pub pace: Pace,
}

impl Service {
    /// The service that the person named. Errs where it lacks what it needs.
    pub fn explicit(choice: ProviderChoice, settings: &Settings) -> Result<Self, ModelError> {
        match choice {
            ProviderChoice::Auto | ProviderChoice::Offline => Ok(Self::Offline),
            ProviderChoice::Anthropic => Self::known(&ANTHROPIC, settings),
            ProviderChoice::OpenAi => Self::known(&OPENAI, settings),
            ProviderChoice::OpenAiCompatible if settings.endpoint.base_url.is_none() => {
                Err(ModelError::NoAddress)
            }
            ProviderChoice::OpenAiCompatible => Ok(Self::Compatible),
        }
    }

    /// A server on this machine by its name, at its usual address, whether it runs or not.
    pub fn local(name: &str) -> Option<Self> {
        let server: &'static LocalServer = LOCAL_SERVERS.iter().find(|server| server.name == name)?;
        let base_url = format!("{}/v1", Probe::at_port(server, server.port).url);
        Some(Self::Local(Found { server, base_url, models: Vec::new() }))
    }

    /// Those that have what they need.
    pub fn configured(settings: &Settings) -> Vec<Self> {
        let choices = [ProviderChoice::Anthropic, ProviderChoice::OpenAi, ProviderChoice::OpenAiCompatible];
        choices.into_iter().filter_map(|choice| Self::explicit(choice, settings).ok()).collect()
    }

    /// The first service that a key or an address of its own is set for.
    pub fn by_key(settings: &Settings) -> Option<&'static ServiceRow> {
        SERVICES.iter().find(|row| {
            let own = own_settings(row, settings);
            own.api_key.is_some() || own.base_url.is_some()
        })
    }

    fn known(row: &'static ServiceRow, settings: &Settings) -> Result<Self, ModelError> {
        let own = own_settings(row, settings);
        // A server of one's own may want no key; the public one does.
        if own.api_key.is_none() && own.base_url.is_none() {
            return Err(ModelError::NoKey { provider: row.name, env: row.key_env });
        }
        Ok(Self::Known(row))
    }

    /// As it is typed behind `/model`, before the slash.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Offline => Offline::NAME,
            Self::Known(row) => row.name,
            Self::Compatible => ProviderChoice::OpenAiCompatible.name(),
            Self::Local(found) => found.server.name,
        }
    }

    /// A server on this machine, as told to a person.
    pub fn server(&self) -> Option<String> {
        match self {
            Self::Local(found) => Some(format!("{} (port {})", found.server.title, found.server.port)),
            Self::Offline | Self::Known(_) | Self::Compatible => None,
        }
    }

    /// The model it answers with when none is named.
    pub fn default_model(&self) -> Option<String> {
        self.models().into_iter().next()
    }

    /// The models that can be named without asking it.
    pub fn models(&self) -> Vec<String> {
        match self {
            Self::Offline => vec![Offline::MODEL.to_owned()],
            Self::Known(row) => vec![row.default_model.to_owned()],
            Self::Compatible => Vec::new(),
            Self::Local(found) => found.models.clone(),
        }
    }

    /// Prepares connections; nothing is sent.
    pub fn connect(&self, wiring: &Wiring) -> Result<Arc<dyn Provider>, ModelError> {
        match self {
            Self::Offline => Ok(Arc::new(Offline::new(wiring.pace))),
            Self::Known(row) => {
                let own = own_settings(row, &wiring.settings);
                let address = own.base_url.as_deref().unwrap_or(row.base_url);
                let endpoint = self.endpoint(wiring, address, own.api_key.as_ref(), row.key_header);
                wire(row.codec, &endpoint, wiring)
            }
            Self::Compatible => {
                let set = &wiring.settings.endpoint;
                let address = set.base_url.as_deref().ok_or(ModelError::NoAddress)?;
                let endpoint = self.endpoint(wiring, address, set.api_key.as_ref(), KeyHeader::Bearer);
                wire(Codec::OpenAiChat(Quirks::COMPATIBLE), &endpoint, wiring)
            }
            Self::Local(found) => {
                let endpoint = self.endpoint(wiring, &found.base_url, None, KeyHeader::Bearer);
                wire(Codec::OpenAiChat(Quirks::COMPATIBLE), &endpoint, wiring)
            }
        }
    }

    fn endpoint(
        &self,
        wiring: &Wiring,
        address: &str,
        key: Option<&Secret>,
        key_header: KeyHeader,
    ) -> Endpoint {
        let settings = &wiring.settings;
        Endpoint {
            name: self.name().to_owned(),
            base_url: address.to_owned(),
            key: key.and_then(|key| ApiKey::new(key.expose())),
            key_header,
            headers: Vec::new(),
            network: Network {
                proxy: settings.proxy.as_ref().map(|proxy| proxy.expose().to_owned()),
                ca_file: settings.ca_file.clone(),
            },
            timeouts: Timeouts { connect: settings.connect_timeout, idle: settings.idle_timeout },
        }
    }
}

fn wire(codec: Codec, endpoint: &Endpoint, wiring: &Wiring) -> Result<Arc<dyn Provider>, ModelError> {
    let clock = Arc::clone(&wiring.clock);
    Ok(match codec {
        Codec::Anthropic => Arc::new(HttpProvider::new(Anthropic, endpoint, clock)?),
        Codec::OpenAiChat(quirks) => Arc::new(HttpProvider::new(OpenAiChat::new(quirks), endpoint, clock)?),
        Codec::OpenAiResponses => Arc::new(HttpProvider::new(OpenAiResponses, endpoint, clock)?),
        Codec::Gemini => Arc::new(HttpProvider::new(Gemini, endpoint, clock)?),
        Codec::Ollama => Arc::new(HttpProvider::new(Ollama::default(), endpoint, clock)?),
    })
}

/// Makes the general address and key those of this service, and of no other.
pub(super) fn adopt(row: &ServiceRow, settings: &mut Settings) {
    let general = std::mem::take(&mut settings.endpoint);
    let own = match row.codec {
        Codec::Anthropic => &mut settings.anthropic,
        Codec::OpenAiChat(_) | Codec::OpenAiResponses | Codec::Gemini | Codec::Ollama => &mut settings.openai,
    };
    own.base_url = general.base_url.or(own.base_url.take());
    own.api_key = general.api_key.or(own.api_key.take());
}

/// What is set for a known service alone.
pub(super) fn own_settings<'a>(row: &ServiceRow, settings: &'a Settings) -> &'a Set {
    match row.codec {
        Codec::Anthropic => &settings.anthropic,
        Codec::OpenAiChat(_) | Codec::OpenAiResponses | Codec::Gemini | Codec::Ollama => &settings.openai,
    }
}

/// Whether a server on this machine goes by that name.
pub(super) fn is_local_name(name: &str) -> bool {
    LOCAL_SERVERS.iter().any(|server| server.name == name)
}

/// The model servers that answer at these places.
pub(super) async fn discover(places: Vec<Probe>) -> Vec<Service> {
    probe_local(places, PATIENCE).await.into_iter().map(Service::Local).collect()
}
