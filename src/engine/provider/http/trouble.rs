//! Describes what failed on the way to a server, in one precise sentence.
//!
//! Names hosts and ports only: an address can hold a key, a proxy's address a password. Codecs interpret the
//! server's replies; this file reports failures of whatever is in between (a network, a proxy, a login page).

use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

use reqwest::header::{CONTENT_ENCODING, LOCATION};
use reqwest::{Response, Url};
use rustls::CertificateError;

use super::address;
use super::connects::ConnectionCounter;
use super::network::ProxyRoute;
use super::secrets::Secrets;
use super::setup_error::{causes, deepest};
use crate::provider::decoder::{malformed, web_page};
use crate::provider::{ErrorClass, ProviderError};
use crate::stdx::moment::duration;
use crate::stdx::secrecy::shown_address;

/// Local servers that users start by hand: usual port, name, and the command that starts them.
const LOCAL: [(u16, &str, &str); 5] = [
    (11_434, "Ollama", "ollama serve"),
    (1_234, "LM Studio", "lms server start"),
    (8_080, "llama.cpp", "llama-server -m MODEL.gguf"),
    (8_000, "vLLM", "vllm serve MODEL"),
    (4_000, "LiteLLM", "litellm"),
];

/// Where requests go, as far as an error may name it, and what is needed to describe their failures.
pub(super) struct Destination {
    /// `host` or `host:port`.
    shown: String,
    /// The port, where the server is on this machine.
    local_port: Option<u16>,
    proxy: Option<ProxyRoute>,
    /// A proxy opens a tunnel for these requests; others it passes on.
    is_https: bool,
    connect: Duration,
    pub secrets: Secrets,
    pub connects: ConnectionCounter,
}

impl Destination {
    pub fn new(
        base: &Url,
        proxy: Option<ProxyRoute>,
        connect: Duration,
        secrets: Secrets,
        connects: ConnectionCounter,
    ) -> Self {
        let local_port = address::is_loopback(base).then(|| base.port_or_known_default()).flatten();
        let (shown, is_https) = (address::host_and_port(base), base.scheme() == "https");
        Self { shown, local_port, proxy, is_https, connect, secrets, connects }
    }

    /// Describes why a request did not get through.
    pub fn send_error(&self, error: reqwest::Error) -> ProviderError {
        let (timed_out, connecting) = (error.is_timeout(), error.is_connect());
        let error = error.without_url();
        if timed_out {
            let (to, limit) = (self.towards(), duration(self.connect));
            return network(format!("could not reach {to}: no connection within {limit}"));
        }
        if let Some(tls) = find::<rustls::Error>(&error) {
            return self.tls_error(tls);
        }
        if let Some(refused) = self.refused_by_proxy(&error) {
            return refused;
        }
        if !connecting {
            return network(format!("the connection to {} was lost: {}", self.towards(), deepest(&error)));
        }
        let reason = self.reason(&error);
        match &self.proxy {
            Some(proxy) if (!self.is_https || says(&error, "tunnel error: failed to create")) => {
                let message = format!("could not reach the proxy {}: {reason}", proxy.shown);
                // Like any host, the proxy may be reachable again soon.
                ProviderError { should_retry: Some(true), ..ProviderError::new(ErrorClass::Proxy, message) }
            }
            Some(_) | None => network(format!("could not reach {}: {reason}", self.shown)),
        }
    }

    /// Returns the error for a status that a proxy or a network sends, but no model service.
    pub fn in_the_way(&self, status: u16) -> Option<ProviderError> {
        let error = match status {
            407 => self.wants_credentials(),
            511 => web_page(),
            _ => return None,
        };
        Some(ProviderError { status: Some(status), ..error })
    }

    fn towards(&self) -> String {
        match &self.proxy {
            Some(proxy) => format!("{} through the proxy {}", self.shown, proxy.shown),
            None => self.shown.clone(),
        }
    }

    fn reason(&self, error: &reqwest::Error) -> String {
        if says(error, "dns error") {
            return "no such host, or this machine is offline".to_owned();
        }
        match find::<std::io::Error>(error).map(std::io::Error::kind) {
            Some(ErrorKind::ConnectionRefused) => match self.local_port {
                Some(port) => format!("connection refused; {}", start(port)),
                None => "connection refused".to_owned(),
            },
            Some(ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable) => {
                "no route to the host; is this machine offline?".to_owned()
            }
            Some(_) | None => deepest(error),
        }
    }

    fn refused_by_proxy(&self, error: &reqwest::Error) -> Option<ProviderError> {
        let proxy = self.proxy.as_ref()?;
        if says(error, "proxy authorization required") {
            return Some(self.wants_credentials());
        }
        if says(error, "tunnel error: unsuccessful") || says(error, "tunnel error: unexpected end of file") {
            let message = format!("the proxy {} refuses to connect to {}", proxy.shown, self.shown);
            return Some(ProviderError::new(ErrorClass::Proxy, message));
        }
        None
    }

    fn wants_credentials(&self) -> ProviderError {
        let message = match &self.proxy {
            Some(proxy) if proxy.has_credentials() => {
                format!("the proxy {} rejected the user name and password", proxy.shown)
            }
            Some(proxy) => format!("the proxy {} requires a user name and password", proxy.shown),
            None => "a proxy requires a user name and password".to_owned(),
        };
        ProviderError::new(ErrorClass::Proxy, message)
    }

    /// Describes a TLS failure.
    fn tls_error(&self, error: &rustls::Error) -> ProviderError {
        let to = &self.shown;
        let message = match error {
            rustls::Error::InvalidCertificate(reason) => match reason {
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    format!("the certificate of {to} has expired")
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    format!("the certificate of {to} is not valid yet")
                }
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                    format!("the certificate of {to} is for another host")
                }
                CertificateError::UnknownIssuer => {
                    format!("the certificate of {to} has an unknown issuer")
                }
                other => format!("the certificate of {to} cannot be trusted: {}", certificate_words(other)),
            },
            rustls::Error::InvalidMessage(_) => {
                format!("{to} does not speak TLS; should the base URL begin with http://?")
            }
            other => format!("TLS with {to} failed: {other}"),
        };
        ProviderError::new(ErrorClass::Tls, message)
    }
}

/// Describes a certificate error that has no sentence above.
fn certificate_words(error: &CertificateError) -> String {
    let words = error.to_string();
    // A self-signed CA certificate that is also used as the server's.
    if words.contains("CaUsedAsEndEntity") {
        return "it is a CA certificate, not a server certificate".to_owned();
    }
    words
}

/// Suggests what to do where no server listens on a local port.
fn start(port: u16) -> String {
    match LOCAL.iter().find(|(usual, ..)| *usual == port) {
        Some((_, name, command)) => format!("perhaps {name} is not running: `{command}` starts it"),
        None => "perhaps the model server is not running".to_owned(),
    }
}

fn network(message: String) -> ProviderError {
    ProviderError::new(ErrorClass::Network, message)
}

/// The error for a connection that broke during the reply.
pub(super) fn connection_error(error: &reqwest::Error) -> ProviderError {
    if ["gzip", "deflate"].iter().any(|word| says(error, word)) {
        return malformed("the server's answer could not be decompressed");
    }
    let cut = ["unexpected EOF", "end of file before message length"];
    if cut.iter().any(|words| says(error, words)) {
        return network("the server closed the connection".to_owned());
    }
    network(format!("the connection was lost: {}", deepest(error)))
}

/// Whether a request failed because its kept connection was closed, which does not mean that the server is
/// down.
pub(super) fn was_closed(error: &reqwest::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, TimedOut, UnexpectedEof};
    let closed = [BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, TimedOut, UnexpectedEof];
    let kind = find::<std::io::Error>(error).map(std::io::Error::kind);
    let died = kind.is_some_and(|kind| closed.contains(&kind));
    error.is_request() && !error.is_connect() && (died || says(error, "connection closed"))
}

/// Returns an error where an answer is compressed, although the request did not ask for it.
pub(super) fn compression_error(response: &Response) -> Option<ProviderError> {
    let how = response.headers().get(CONTENT_ENCODING)?.to_str().unwrap_or("something unknown");
    if how.eq_ignore_ascii_case("identity") || how.trim().is_empty() {
        return None;
    }
    let message = format!("the response is compressed as {how}, which `co` did not request and cannot read");
    Some(ProviderError { should_retry: Some(false), ..malformed(message) })
}

/// Returns the error for a redirect, which is not followed: the key would be sent to another host.
pub(super) fn redirect_error(response: &Response) -> ProviderError {
    let to = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    // The query is internal to the network, and long.
    let to = to.map(|to| shown_address(to.split(['?', '#']).next().unwrap_or_default()));
    let to = to.unwrap_or_else(|| "elsewhere".to_owned());
    let message = format!(
        "the server redirects to {to}, which is not followed: it may be a network login page, or the base URL is wrong"
    );
    let status = Some(response.status().as_u16());
    ProviderError { status, ..ProviderError::new(ErrorClass::NotFound, message) }
}

/// Returns the first error of this type in the chain of causes.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    causes(error).find_map(|error| error.downcast_ref())
}

/// Whether the message of an error in the chain of causes contains `words`.
fn says(error: &(dyn Error + 'static), words: &str) -> bool {
    causes(error).any(|error| error.to_string().contains(words))
}
