//! The requests of a login. A server names its authorization servers, and must not make this program request addresses of
//! its own machine or network, unless the server itself is there: each hop is checked, and connected to the checked address.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http::header::LOCATION;
use reqwest::{Method, Request, Url, redirect};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};

use super::connect::client_builder;
use crate::tool::builtin::{AnyHost, ClientResolver, HostResolver, PublicHosts};

/// How long a request may take if the library does not say.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most bytes of an answer.
const LONGEST: usize = 1 << 20;

const MOST_REDIRECTS: usize = 10;

/// The hosts that the login of one server may reach.
struct LoginHosts {
    /// Of the server; the user named it.
    own: String,
    /// Whether that is this machine.
    is_here: bool,
}

impl LoginHosts {
    fn of(server: &Url) -> Self {
        let own = server.host_str().unwrap_or_default().to_ascii_lowercase();
        let literal = own.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let is_here = own == "localhost" || literal.is_ok_and(|address| address.is_loopback());
        Self { own, is_here }
    }
}

impl HostResolver for LoginHosts {
    fn addresses(&self, host: String) -> BoxFuture<'static, Result<Vec<IpAddr>, String>> {
        let (is_own, is_here) = (host.eq_ignore_ascii_case(&self.own), self.is_here);
        Box::pin(async move {
            if is_own || is_here {
                let found = AnyHost.addresses(host.clone()).await?;
                if is_own || found.iter().all(IpAddr::is_loopback) {
                    return Ok(found);
                }
            }
            PublicHosts.addresses(host).await
        })
    }
}

/// Makes the requests of one server's login.
pub(super) struct GuardedClient {
    hosts: Arc<LoginHosts>,
    client: reqwest::Client,
}

impl GuardedClient {
    /// Errs with the reason.
    pub fn new(server: &str) -> Result<Self, String> {
        let server = Url::parse(server).map_err(|error| format!("{server:?} is no address: {error}"))?;
        let hosts = Arc::new(LoginHosts::of(&server));
        let resolver: Arc<dyn HostResolver> = Arc::<LoginHosts>::clone(&hosts);
        let builder = client_builder().redirect(redirect::Policy::none()).no_proxy();
        let client = builder.dns_resolver(Arc::new(ClientResolver(resolver))).build();
        Ok(Self { hosts, client: client.map_err(|error| error.to_string())? })
    }

    async fn send(
        &self,
        mut request: Request,
        follows: bool,
        patience: Duration,
    ) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        for _ in 0..=MOST_REDIRECTS {
            // The library does not ask a resolver about literal addresses; about names it asks again as it connects.
            self.hosts.addresses(request.url().host_str().unwrap_or_default().to_owned()).await?;
            *request.timeout_mut() = Some(patience);
            let (from, is_get, headers) =
                (request.url().clone(), request.method() == Method::GET, request.headers().clone());
            let response = self.client.execute(request).await?;
            let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
            let target = target.and_then(|target| from.join(target).ok());
            match target.filter(|_| follows && is_get && response.status().is_redirection()) {
                None => return read_whole(response).await,
                Some(target) => {
                    let is_same = target.origin() == from.origin();
                    request = Request::new(Method::GET, target);
                    if is_same {
                        *request.headers_mut() = headers;
                    }
                }
            }
        }
        Err(format!("it redirects more than {MOST_REDIRECTS} times").into())
    }
}

/// Reads an answer to its end.
async fn read_whole(
    mut response: reqwest::Response,
) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
    let mut body = Vec::new();
    while let Some(more) = response.chunk().await? {
        if body.len() + more.len() > LONGEST {
            return Err(format!("its answer is longer than {LONGEST} bytes").into());
        }
        body.extend_from_slice(&more);
    }
    let mut answer = http::Response::new(body);
    *answer.status_mut() = response.status();
    answer.headers_mut().clone_from(response.headers());
    Ok(answer)
}

impl OAuthHttpClient for GuardedClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let follows = request.redirect_policy == OAuthHttpRedirectPolicy::Follow;
            let patience = request.timeout.unwrap_or(PATIENCE);
            self.send(Request::try_from(request.request)?, follows, patience).await
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[tokio::test]
    async fn a_login_reaches_public_hosts_and_where_its_server_stands() {
        for (server, host, is_reached) in [
            ("http://127.0.0.1:1/mcp", "127.0.0.1", true),
            ("http://[::1]:1/mcp", "127.0.0.1", true),
            ("http://localhost:1/mcp", "127.0.0.1", true),
            ("http://127.0.0.1:1/mcp", "10.0.0.1", false),
            ("http://127.0.0.1:1/mcp", "169.254.169.254", false),
            ("http://10.0.0.1/mcp", "10.0.0.1", true),
            ("http://10.0.0.1/mcp", "10.0.0.2", false),
            ("http://10.0.0.1/mcp", "127.0.0.1", false),
            ("https://mcp.example/", "127.0.0.1", false),
            ("https://mcp.example/", "[::ffff:10.0.0.1]", false),
            ("https://mcp.example/", "100.64.0.1", false),
            ("https://mcp.example/", "8.8.8.8", true),
        ] {
            let hosts = LoginHosts::of(&Url::parse(server).unwrap());
            let found = hosts.addresses(host.to_owned()).await;
            assert_eq!(found.is_ok(), is_reached, "{server} {host}: {found:?}");
        }
    }

    #[tokio::test]
    async fn each_hop_is_checked() {
        for (target, follows, why) in [
            ("http://10.0.0.1/", true, Some("10.0.0.1, which is a private network")),
            ("/again", true, Some("redirects more than 10 times")),
            ("http://10.0.0.1/", false, None),
        ] {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let own = format!("http://{}/", listener.local_addr().unwrap());
            let answer = format!(
                "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let _ = stream.read(&mut [0; 4096]);
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
            let client = GuardedClient::new(&own).unwrap();
            let request = Request::new(Method::GET, Url::parse(&own).unwrap());
            let answer = client.send(request, follows, PATIENCE).await;
            match (why, answer) {
                (None, answer) => assert_eq!(answer.unwrap().status(), 302),
                (Some(why), answer) => {
                    let error = answer.unwrap_err().to_string();
                    assert!(error.contains(why), "{target}: {error}");
                }
            }
        }
    }
}
