//! Logging in to servers in the network: OAuth 2.1 with PKCE, as the protocol's authorization chapter says.
//!
//! The flow and the checks of issuers are the library's. Ours are the file of tokens, which only its owner can read, the
//! loopback address that the browser returns to, and what may be reached (`guarded`).

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, ClientCredentialsConfig, CredentialRefreshGuard,
    CredentialStore, InMemoryCredentialStore, OAuthClientConfig, StoredCredentials,
};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::client::Handlers;
use super::connect::{ConnectError, connect};
use super::guarded::GuardedClient;
use super::{ServerEnvironment, names};
use crate::config::{OAuthGrant, OAuthSettings, ServerSettings, ServerTransport};
use crate::stdx::fs::{create_private_dir, if_exists, lock_private, write_private};
use crate::stdx::moment::duration;

/// The name under which this program registers at an authorization server.
const CLIENT_NAME: &str = "co";

/// How long the user has for logging in.
const LOGGING_IN: Duration = Duration::from_mins(10);

/// How long one request of the browser may take.
const VISIT: Duration = Duration::from_secs(5);

/// The longest request line that the browser may send back, in bytes.
const LONGEST_REQUEST: u64 = 16 << 10;

/// The path to which the browser returns.
const CALLBACK: &str = "/callback";

/// The tokens of one server, in a file of their own.
#[derive(Clone)]
pub(super) struct TokenFile {
    path: PathBuf,
    /// The server's address. Tokens of another one are not used.
    url: String,
    conceal: Arc<dyn Fn(&str) + Send + Sync>,
}

#[derive(Serialize, Deserialize)]
struct Tokens {
    url: String,
    /// Of a client that was registered with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    credentials: Option<StoredCredentials>,
}

impl TokenFile {
    pub fn new(place: &ServerEnvironment, name: &str, url: &str) -> Self {
        let path = place.kept.join(format!("{name}.tokens.json"));
        Self { path, url: url.to_owned(), conceal: Arc::clone(&place.conceal) }
    }

    /// Keeps tokens out of what is stored of conversations.
    fn conceal(&self, credentials: &StoredCredentials) {
        let tokens = serde_json::to_value(&credentials.token_response).unwrap_or_default();
        for name in ["access_token", "refresh_token"] {
            if let Some(token) = tokens.get(name).and_then(serde_json::Value::as_str) {
                (self.conceal)(token);
            }
        }
    }

    fn read(&self) -> io::Result<Option<Tokens>> {
        let Some(bytes) = if_exists(std::fs::read(&self.path))? else { return Ok(None) };
        let tokens: Tokens = serde_json::from_slice(&bytes).map_err(io::Error::other)?;
        Ok(Some(tokens).filter(|tokens| tokens.url == self.url))
    }

    fn change(&self, change: impl FnOnce(&mut Tokens)) -> io::Result<()> {
        let none = || Tokens { url: self.url.clone(), client_secret: None, credentials: None };
        // A file that cannot be read is replaced: only logging in again helps.
        let mut tokens = self.read().ok().flatten().unwrap_or_else(none);
        change(&mut tokens);
        self.path.parent().map_or(Ok(()), create_private_dir)?;
        write_private(&self.path, &serde_json::to_vec(&tokens).map_err(io::Error::other)?)
    }

    /// Removes the tokens; whether there were any.
    pub fn remove(&self) -> io::Result<bool> {
        Ok(if_exists(std::fs::remove_file(&self.path))?.is_some())
    }

    fn file_error(&self, error: &io::Error) -> AuthError {
        AuthError::CredentialStoreError(format!("{}: {error}", self.path.display()))
    }
}

#[async_trait]
impl CredentialStore for TokenFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let tokens = self.read().map_err(|error| self.file_error(&error))?;
        let credentials = tokens.and_then(|tokens| tokens.credentials);
        credentials.iter().for_each(|credentials| self.conceal(credentials));
        Ok(credentials)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.conceal(&credentials);
        self.change(|tokens| tokens.credentials = Some(credentials)).map_err(|error| self.file_error(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.change(|tokens| tokens.credentials = None).map_err(|error| self.file_error(&error))
    }

    /// Another process must not use the refresh token that this one is about to spend.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let path = self.path.with_extension("lock");
        let locked = tokio::task::spawn_blocking(move || lock_private(&path));
        // The task fails only at the end of the runtime.
        let locked = locked.await.map_err(io::Error::other).flatten();
        Ok(Some(CredentialRefreshGuard::new(locked.map_err(|error| self.file_error(&error))?)))
    }
}

/// A server whose tokens are meant.
#[derive(Clone, Copy)]
pub struct Account<'a> {
    pub name: &'a str,
    pub url: &'a str,
    pub oauth: &'a OAuthSettings,
    pub place: &'a ServerEnvironment,
}

/// Returns what adds the tokens of a server to its requests; without tokens, requests go without. Errs with the reason.
pub(super) async fn manager(of: Account<'_>) -> Result<AuthorizationManager, String> {
    let Account { name, url, oauth, place } = of;
    let words = |error: AuthError| error_words(&error);
    let mut manager = guarded_manager(url).await?;
    if oauth.grant == OAuthGrant::ClientCredentials {
        manager.set_credential_store(InMemoryCredentialStore::new());
        let resolution = manager.resolve_metadata().await.map_err(words)?;
        manager.set_metadata(resolution.metadata);
        let client = oauth_client(oauth, place)?.ok_or(
            "`oauth.grant = \"client_credentials\"` needs `oauth.client_id` and `oauth.client_secret`",
        )?;
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: client.client_id,
            client_secret: client.client_secret.unwrap_or_default(),
            scopes: oauth.scopes.clone(),
            resource: Some(url.to_owned()),
        };
        manager.validate_client_credentials_metadata(&config).map_err(words)?;
        manager.configure_client_credentials(&config).map_err(words)?;
        manager.exchange_client_credentials(&config).await.map_err(words)?;
        return Ok(manager);
    }
    let file = TokenFile::new(place, name, url);
    let tokens = file.read().ok().flatten();
    manager.set_credential_store(file);
    if manager.initialize_from_store().await.map_err(words)? {
        let registered = tokens.and_then(|tokens| {
            let client = OAuthClientConfig::new(tokens.credentials?.client_id, String::new());
            Some(client.with_client_secret(tokens.client_secret?))
        });
        // A client that the settings name has its secret there.
        if let Some(mut client) = oauth_client(oauth, place)?.or(registered) {
            // It is not used to refresh a token.
            client.redirect_uri = format!("http://127.0.0.1{CALLBACK}");
            manager.configure_client(client).map_err(words)?;
        }
    }
    Ok(manager)
}

async fn guarded_manager(url: &str) -> Result<AuthorizationManager, String> {
    let client = Arc::new(GuardedClient::new(url)?);
    let manager = AuthorizationManager::new_with_oauth_http_client(url, client).await;
    manager.map_err(|error| error_words(&error))
}

/// Returns the client that the settings name, if they do. Errs if its secret cannot be filled in.
fn oauth_client(
    oauth: &OAuthSettings,
    place: &ServerEnvironment,
) -> Result<Option<OAuthClientConfig>, String> {
    let Some(id) = &oauth.client_id else { return Ok(None) };
    let client = OAuthClientConfig::new(id, String::new()).with_scopes(oauth.scopes.clone());
    let secret = oauth.client_secret.as_ref().map(|secret| place.filled_in(secret.expose())).transpose()?;
    Ok(Some(match secret {
        Some(secret) => client.with_client_secret(secret),
        None => client,
    }))
}

/// Logs in to a server, so that it can be connected. `show` is given the address that the user must open, and must not block.
/// Errs with the reason. Dropping it gives the attempt up.
pub async fn log_in(
    name: &str,
    settings: &ServerSettings,
    place: &ServerEnvironment,
    scopes: &[String],
    show: impl FnOnce(&str),
) -> Result<(), String> {
    let ServerTransport::Http { url, oauth, .. } = &settings.how else {
        return Err("only servers in the network have a login; this one is a program".to_owned());
    };
    let challenge = match connect(name, settings, place, &Handlers::default()).await {
        Ok(_) if scopes.is_empty() => return Err("it can be used already; no login is needed".to_owned()),
        Ok(_) => None,
        Err(ConnectError { challenge: Some(challenge), .. }) => Some(challenge),
        Err(ConnectError { why, .. }) => return Err(why),
    };
    let url = &place.filled_in(url)?;
    authorize(Account { name, url, oauth, place }, scopes, challenge.as_deref(), show).await
}

/// Removes the tokens of a server; whether there were any.
pub fn log_out(name: &str, settings: &ServerSettings, place: &ServerEnvironment) -> io::Result<bool> {
    match &settings.how {
        ServerTransport::Http { url, .. } => {
            let url = place.filled_in(url).unwrap_or_default();
            TokenFile::new(place, name, &url).remove()
        }
        ServerTransport::Program { .. } => Ok(false),
    }
}

/// Gets tokens for a server that asked for them with `challenge`, a header `WWW-Authenticate`.
pub async fn authorize(
    of: Account<'_>,
    scopes: &[String],
    challenge: Option<&str>,
    show: impl FnOnce(&str),
) -> Result<(), String> {
    let Account { name, url, oauth, place } = of;
    let words = |error: AuthError| error_words(&error);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, oauth.port)).await;
    let listener = listener.map_err(|error| format!("no address for the browser to return to: {error}"))?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let redirect = format!("http://127.0.0.1:{port}{CALLBACK}");
    let file = TokenFile::new(place, name, url);

    let mut manager = guarded_manager(url).await?;
    manager.set_credential_store(file.clone());
    let resolution = manager.resolve_metadata_from_challenge(challenge).await.map_err(words)?;
    manager.set_metadata(resolution.metadata);
    let scopes = match scopes {
        [] if oauth.scopes.is_empty() => manager.select_initial_scopes(&[]).await,
        [] => oauth.scopes.clone(),
        scopes => scopes.to_vec(),
    };
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let mut registered_secret = None;
    let client = match oauth_client(oauth, place)? {
        Some(mut client) => {
            client.redirect_uri.clone_from(&redirect);
            client
        }
        None => {
            let client = manager.register_client(CLIENT_NAME, &redirect, &scopes).await.map_err(words)?;
            registered_secret.clone_from(&client.client_secret);
            client
        }
    };
    manager.configure_client(client).map_err(words)?;
    let address = manager.get_authorization_url(&scopes).await.map_err(words)?;
    let state = query_of(&address, "state").ok_or("the address for logging in has no state")?;
    show(&address);
    let returned = tokio::time::timeout(LOGGING_IN, wait_for_callback(&listener, &redirect, &state)).await;
    let returned = returned.map_err(|_| format!("there was no login within {}", duration(LOGGING_IN)))??;
    let AuthorizationCallback { code, csrf_token, issuer, .. } = returned;
    let exchanged = manager.exchange_code_for_token_with_issuer(&code, &csrf_token, issuer.as_deref()).await;
    exchanged.map_err(words)?;
    file.change(|tokens| tokens.client_secret = registered_secret)
        .map_err(|error| format!("the tokens cannot be kept: {error}"))
}

/// Waits until the browser returns with this state; every other request gets a 404.
async fn wait_for_callback(
    listener: &TcpListener,
    redirect: &str,
    state: &str,
) -> Result<AuthorizationCallback, String> {
    loop {
        let (stream, _) = listener.accept().await.map_err(|error| error.to_string())?;
        // A browser opens connections that it may never use.
        let visit = tokio::time::timeout(VISIT, visit(stream, redirect, state)).await;
        if let Ok(Some(answer)) = visit {
            return answer;
        }
    }
}

/// Answers one request of the browser. `None` if it is not the one that is waited for.
async fn visit(
    stream: TcpStream,
    redirect: &str,
    state: &str,
) -> Option<Result<AuthorizationCallback, String>> {
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    let mut limited = tokio::io::AsyncReadExt::take(&mut stream, LONGEST_REQUEST);
    limited.read_line(&mut first).await.ok()?;
    let target = first.strip_prefix("GET ")?.split(' ').next()?;
    let address = format!("{}{target}", redirect.strip_suffix(CALLBACK).unwrap_or(redirect));
    let is_path = target.split('?').next() == Some(CALLBACK);
    let answer = (is_path && query_of(&address, "state").as_deref() == Some(state)).then(|| {
        match query_of(&address, "error") {
            Some(error) => Err(format!("the authorization server says: {}", names::line(&error))),
            None => AuthorizationCallback::from_redirect_url(&address).map_err(|error| error_words(&error)),
        }
    });
    let (status, page) = match &answer {
        None => ("404 Not Found", "There is nothing here."),
        Some(Ok(_)) => ("200 OK", "This is done here. You can close this page and go back to co."),
        Some(Err(_)) => ("400 Bad Request", "The login failed; co says why."),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    // The page is a courtesy: a browser that is gone does not undo the login.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.shutdown().await;
    answer
}

/// Returns a field of an address's query.
fn query_of(address: &str, field: &str) -> Option<String> {
    let address = reqwest::Url::parse(address).ok()?;
    address.query_pairs().find(|(name, _)| name == field).map(|(_, value)| value.into_owned())
}

/// Says why a login failed, without the library's own names of types.
pub(super) fn error_words(error: &AuthError) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(deeper) = source {
        words = format!("{words}: {deeper}");
        source = deeper.source();
    }
    names::error(&words)
}
