//! Connects a service to a provider: its endpoint with its secrets, and its codec.
//!
//! If a command prints a secret, the provider runs it at its first request: nothing runs before it is needed.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::{ConnectionContext, HttpService, Service};
use crate::accounts::error::ModelError;
use crate::accounts::keys::{KeyCommandError, Keys};
use crate::config::{Codec, Key, Settings};
use crate::provider::anthropic::Anthropic;
use crate::provider::gemini::Gemini;
use crate::provider::http::{ApiKey, Endpoint, HttpProvider, Network, Timeouts};
use crate::provider::offline::Offline;
use crate::provider::ollama::Ollama;
use crate::provider::openai_chat::OpenAiChat;
use crate::provider::openai_responses::OpenAiResponses;
use crate::provider::{ErrorClass, ModelRequest, Provider, ProviderError, StreamEvent};

impl Service {
    /// Prepares connections; nothing is sent and nothing is run.
    pub(in crate::accounts) fn connect(
        &self,
        context: &ConnectionContext,
    ) -> Result<Arc<dyn Provider>, ModelError> {
        match self {
            Self::Offline => Ok(Arc::new(Offline::new(context.pace))),
            Self::Http(target) => match target.plain_endpoint(&context.settings) {
                Some(endpoint) => connect_with(target, &endpoint, context),
                None => {
                    let (target, context) = ((**target).clone(), context.clone());
                    let lazy = LazyConnection { target, context, made: OnceCell::new() };
                    Ok(Arc::new(LazyProvider(Arc::new(lazy))))
                }
            },
        }
    }
}

impl HttpService {
    /// Returns the endpoint, if no command has to be run for it.
    pub fn plain_endpoint(&self, settings: &Settings) -> Option<Endpoint> {
        let header =
            |(name, value): &(String, Key)| Some((name.clone(), ApiKey::new(value.secret()?.expose())?));
        let headers = self.headers.iter().map(header).collect::<Option<_>>()?;
        let key = match &self.key {
            Some(key) => ApiKey::new(key.secret()?.expose()),
            None => None,
        };
        Some(self.endpoint_with(settings, key, headers))
    }

    /// Returns the endpoint with all its secrets; runs the commands that print them.
    pub async fn endpoint(&self, settings: &Settings, keys: &Keys) -> Result<Endpoint, KeyCommandError> {
        let mut headers = Vec::new();
        for (name, value) in &self.headers {
            let secret = keys.expose(value).await?;
            headers.extend(ApiKey::new(secret.expose()).map(|value| (name.clone(), value)));
        }
        let key = match &self.key {
            Some(key) => ApiKey::new(keys.expose(key).await?.expose()),
            None => None,
        };
        Ok(self.endpoint_with(settings, key, headers))
    }

    /// Returns the endpoint with these secrets.
    fn endpoint_with(
        &self,
        settings: &Settings,
        key: Option<ApiKey>,
        headers: Vec<(String, ApiKey)>,
    ) -> Endpoint {
        Endpoint {
            name: self.name.clone(),
            base_url: self.base_url.clone(),
            key,
            key_header: self.preset.key_header,
            headers,
            network: Network {
                proxy: settings.proxy.as_ref().map(|proxy| proxy.expose().to_owned()),
                ca_file: settings.ca_file.clone(),
            },
            timeouts: Timeouts { connect: settings.connect_timeout, idle: settings.idle_timeout },
        }
    }
}

fn connect_with(
    target: &HttpService,
    endpoint: &Endpoint,
    context: &ConnectionContext,
) -> Result<Arc<dyn Provider>, ModelError> {
    let clock = Arc::clone(&context.clock);
    Ok(match target.codec {
        Codec::Anthropic => Arc::new(HttpProvider::new(Anthropic, endpoint, clock)?),
        Codec::OpenAiChat => Arc::new(HttpProvider::new(OpenAiChat::new(target.chat), endpoint, clock)?),
        Codec::OpenAiResponses => Arc::new(HttpProvider::new(OpenAiResponses, endpoint, clock)?),
        Codec::Gemini => Arc::new(HttpProvider::new(Gemini, endpoint, clock)?),
        Codec::Ollama => Arc::new(HttpProvider::new(Ollama::new(target.num_ctx), endpoint, clock)?),
    })
}

/// A provider whose key must be obtained first. Its streams outlive a call and share its connection.
#[derive(Clone)]
struct LazyProvider(Arc<LazyConnection>);

struct LazyConnection {
    target: HttpService,
    context: ConnectionContext,
    made: OnceCell<Arc<dyn Provider>>,
}

impl LazyConnection {
    async fn provider(&self) -> Result<Arc<dyn Provider>, ProviderError> {
        let Self { target, context, made } = self;
        let make = async || {
            let endpoint = target.endpoint(&context.settings, &context.keys).await;
            let endpoint = endpoint.map_err(|error| error.to_string())?;
            connect_with(target, &endpoint, context).map_err(|error| error.to_string())
        };
        let made = made.get_or_try_init(make).await;
        made.cloned().map_err(|error| ProviderError::new(ErrorClass::Auth, error))
    }
}

impl Provider for LazyProvider {
    fn name(&self) -> &str {
        &self.0.target.name
    }

    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let Self(later) = self.clone();
        let inside = cancel.clone();
        let replies = stream::once(async move { later.provider().await }).flat_map(move |made| match made {
            Ok(provider) => provider.stream(request.clone(), inside.clone()),
            Err(error) => stream::once(std::future::ready(Err(error))).boxed(),
        });
        replies.take_until(cancel.cancelled_owned()).boxed()
    }
}
