//! Requests to the web: redirects by hand, sizes and times bounded while a body arrives.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Response, StatusCode};
use url::Url;

use super::super::work::{misuse, terminal};
use super::address::{Domains, address_line};
use super::resolver::{ClientResolver, HostResolver, ONLY_PUBLIC};
use super::shape::plain;
use crate::provider::http::Network;
use crate::stdx::moment::duration;
use crate::stdx::text::{binary_size, one_line_summary};
use crate::tool::ToolError;

/// The timeout for connecting.
const CONNECT: Duration = Duration::from_secs(10);

/// The most bytes of a body, unpacked.
pub const LONGEST_BODY: usize = 4 * 1024 * 1024;

/// Redirects that are followed.
const MOST_REDIRECTS: usize = 5;

/// The width of a server's own words in an error, in terminal cells.
const WORDS: usize = 300;

/// How much of the body of an error is read, in bytes.
const ERROR_BODY: usize = 16 * 1024;

/// The kind of content that is asked for; a server may send something else.
const WANTED: &str =
    "text/html,application/xhtml+xml,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.5";

/// A client that reaches only hosts that its resolver allows. Opens nothing before the first request.
pub struct WebClient {
    resolver: Arc<dyn HostResolver>,
    network: Network,
    /// From the first request to the last byte, redirects included.
    patience: Duration,
    client: OnceLock<Result<reqwest::Client, String>>,
}

/// A body and what is known about it.
#[derive(Debug)]
pub struct FetchedBody {
    /// After redirects.
    pub url: Url,
    pub content_type: String,
    pub body: Vec<u8>,
    /// Why the body is not whole, if it is not.
    pub cut: Option<String>,
}

impl WebClient {
    pub fn new(resolver: Arc<dyn HostResolver>, network: Network, patience: Duration) -> Self {
        Self { resolver, network, patience, client: OnceLock::new() }
    }

    /// Gets a page, through at most five redirects, each of which must pass `domains` and the resolver. Cancel-safe.
    pub async fn get(&self, url: Url, domains: &Domains) -> Result<FetchedBody, ToolError> {
        let asked = address_line(&url);
        let whole = async {
            let (response, url) = self.follow(url, domains).await?;
            read(check_response(response, &url).await?, url).await
        };
        self.in_time(asked, whole).await
    }

    /// Asks an API at an address of the program's or the user's own; follows no redirect. Cancel-safe.
    pub async fn ask(&self, url: Url, headers: HeaderMap) -> Result<(StatusCode, Vec<u8>), ToolError> {
        let asked = address_line(&url);
        let whole = async {
            let response = self.send(&url, headers).await?;
            let status = response.status();
            Ok((status, read(response, url).await?.body))
        };
        self.in_time(asked, whole).await
    }

    async fn in_time<T>(
        &self,
        asked: String,
        whole: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        let limit = duration(self.patience);
        let late = |_| terminal(format!("{asked} took longer than {limit} and was given up"));
        tokio::time::timeout(self.patience, whole).await.map_err(late)?
    }

    async fn follow(&self, mut url: Url, domains: &Domains) -> Result<(Response, Url), ToolError> {
        let began = address_line(&url);
        for _ in 0..=MOST_REDIRECTS {
            domains.check(&url)?;
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, reqwest::header::HeaderValue::from_static(WANTED));
            let response = self.send(&url, headers).await?;
            let target = response.headers().get(LOCATION).filter(|_| is_redirect(response.status()));
            let Some(target) = target else { return Ok((response, url)) };
            let target = target.to_str().ok().and_then(|target| url.join(target).ok());
            url = target
                .ok_or_else(|| terminal(format!("{} redirects to no web address", address_line(&url))))?;
            url.set_fragment(None);
        }
        Err(terminal(format!(
            "{began} redirects more than {MOST_REDIRECTS} times; the last was to {}",
            address_line(&url)
        )))
    }

    /// Sends one request to an address whose host may be reached.
    async fn send(&self, url: &Url, headers: HeaderMap) -> Result<Response, ToolError> {
        let host = url.host_str().unwrap_or_default().to_owned();
        // The library does not ask a resolver about literal addresses; about names it asks again as it connects.
        self.resolver.addresses(host).await.map_err(terminal)?;
        let client = self.client().map_err(terminal)?;
        client.get(url.clone()).headers(headers).send().await.map_err(|error| request_error(url, error))
    }

    fn client(&self) -> Result<reqwest::Client, String> {
        let create = || {
            let resolver = Arc::new(ClientResolver(Arc::clone(&self.resolver)));
            self.network.web_client(CONNECT, resolver).map_err(|error| error.to_string())
        };
        self.client.get_or_init(create).clone()
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Returns the response if it has what was asked for.
async fn check_response(response: Response, url: &Url) -> Result<Response, ToolError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let name = status.canonical_reason().unwrap_or("unknown status");
    let message = format!("{} answered {} ({name})", address_line(url), status.as_u16());
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        return Err(ToolError::Transient(message));
    }
    let body = read(response, url.clone()).await.map(|fetched| fetched.body).unwrap_or_default();
    let said = plain(&String::from_utf8_lossy(body.get(..ERROR_BODY).unwrap_or(&body)));
    let words = Some(one_line_summary(&said, WORDS)).filter(|words| !words.is_empty());
    Err(terminal(words.map_or(message.clone(), |words| format!("{message}: {words}"))))
}

/// Reads a body as far as it may go. What arrived before a failure counts.
async fn read(mut response: Response, url: Url) -> Result<FetchedBody, ToolError> {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
    let mut body = Vec::new();
    let cut = loop {
        match response.chunk().await {
            Ok(Some(more)) if body.len() + more.len() > LONGEST_BODY => {
                body.extend_from_slice(&more[..LONGEST_BODY - body.len()]);
                break Some(format!("only the first {} were read", binary_size(LONGEST_BODY)));
            }
            Ok(Some(more)) => body.extend_from_slice(&more),
            Ok(None) => break None,
            Err(error) if body.is_empty() => return Err(request_error(&url, error)),
            Err(_) => break Some("the server closed the connection before the end".to_owned()),
        }
    };
    Ok(FetchedBody { url, content_type, body, cut })
}

/// Says why a request failed: by its deepest cause, which names what the system said.
fn request_error(url: &Url, error: reqwest::Error) -> ToolError {
    // The address is said without its query.
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let message = format!(
        "{} could not be fetched: {}",
        address_line(url),
        one_line_summary(&cause.to_string(), WORDS)
    );
    if error.is_builder() {
        return misuse(message);
    }
    // An error of a certificate or an address is not transient.
    let is_final = ["certificate", ONLY_PUBLIC].iter().any(|word| message.contains(word));
    if is_final { terminal(message) } else { ToolError::Transient(message) }
}
