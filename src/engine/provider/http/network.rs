//! The route to a server: direct or through a proxy, and which certificates are trusted.
//!
//! Servers on this machine are always reached directly. The `proxy` setting takes precedence over the
//! system's; `NO_PROXY` applies to both. Called by the HTTP layer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::Url;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::address;
use super::connects::ConnectionCounter;
use super::secrets::Secrets;
use super::setup_error::{SetupError, deepest};

/// The user's network settings, in addition to the system's. Has no `Debug`: a proxy's address can hold a
/// password.
#[derive(Clone, Default)]
pub struct Network {
    /// `http://HOST:PORT`, optionally with a name and a password before the host; `None` = the system's.
    pub proxy: Option<String>,
    /// A PEM file of certificates that are trusted in addition to the system's.
    pub ca_file: Option<PathBuf>,
}

/// The proxy through which a server is reached.
pub(super) struct ProxyRoute {
    intercept: Intercept,
    /// `host:port`.
    pub shown: String,
}

impl ProxyRoute {
    /// Whether the proxy has a name and a password configured.
    pub fn has_credentials(&self) -> bool {
        self.intercept.basic_auth().is_some()
    }

    /// Registers its password, in plain and in encoded form, to be redacted from errors.
    pub fn hide_with(&self, secrets: &mut Secrets) {
        let sent = self.intercept.basic_auth().and_then(|value| value.to_str().ok());
        let Some(pair) = sent.and_then(|value| value.strip_prefix("Basic ")) else { return };
        secrets.add(pair);
        let decoded = STANDARD.decode(pair).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some((_, password)) = decoded.as_deref().and_then(|pair| pair.split_once(':')) {
            secrets.add(password);
        }
    }
}

impl Network {
    /// Returns the secrets in these settings, which no error may repeat.
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets = Secrets::default();
        if let Some(proxy) = self.proxy.as_deref().map(str::trim) {
            secrets.add_address(proxy);
            secrets.add_address(&format!("http://{proxy}"));
        }
        secrets.into_list()
    }

    /// Returns the proxy for this address; `None` where it is reached directly.
    pub(super) fn via(&self, url: &Url) -> Result<Option<ProxyRoute>, SetupError> {
        if address::is_loopback(url) {
            return Ok(None);
        }
        let matcher = match &self.proxy {
            Some(proxy) => Matcher::builder().all(check_proxy(proxy)?).no(no_proxy()).build(),
            None => Matcher::from_system(),
        };
        let Some(intercept) = url.as_str().parse().ok().and_then(|to| matcher.intercept(&to)) else {
            return Ok(None);
        };
        let uri = intercept.uri();
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(proxy_error("only http:// and https:// proxies can be used"));
        }
        let host = uri.host().unwrap_or_default();
        let shown = uri.port_u16().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Ok(Some(ProxyRoute { intercept, shown }))
    }

    /// Creates a client for any addresses, reached directly, whose hosts `resolver` finds. It follows no redirect and keeps
    /// no cookies.
    pub fn web_client(
        &self,
        connect: Duration,
        resolver: Arc<dyn reqwest::dns::Resolve>,
    ) -> Result<reqwest::Client, SetupError> {
        let builder = builder(connect).dns_resolver(resolver);
        let own = self.ca_file.as_deref().map(certificates).transpose()?;
        let builder = own.into_iter().fold(builder, reqwest::ClientBuilder::tls_certs_merge);
        builder.build().map_err(|error| SetupError::Client { reason: deepest(&error) })
    }

    /// Creates a client for one address. It follows no redirect: the key must not be sent to another host. Without TLS
    /// it loads no certificates, because loading the system's takes longer than a whole turn on loopback.
    pub(super) fn client(
        &self,
        connect: Duration,
        via: Option<&ProxyRoute>,
        may_use_tls: bool,
        connects: &ConnectionCounter,
    ) -> Result<reqwest::Client, SetupError> {
        let mut builder = builder(connect).connector_layer(connects.clone());
        if let Some(via) = via {
            builder = builder.proxy(proxy(&via.intercept)?);
        }
        let own = self.ca_file.as_deref().map(certificates).transpose()?;
        builder = match own {
            _ if !may_use_tls => builder.tls_certs_only([]),
            Some(own) => builder.tls_certs_merge(own),
            None => builder,
        };
        builder.build().map_err(|error| SetupError::Client { reason: deepest(&error) })
    }
}

fn builder(connect: Duration) -> reqwest::ClientBuilder {
    // Without a crypto provider the TLS library panics; installing it twice is harmless.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(connect)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("co/", env!("CARGO_PKG_VERSION")))
        .no_proxy()
}

fn proxy(intercept: &Intercept) -> Result<reqwest::Proxy, SetupError> {
    let made = reqwest::Proxy::all(intercept.uri().to_string())
        .map_err(|_| proxy_error("it is not a web address; write http://HOST:PORT"))?;
    Ok(match intercept.basic_auth() {
        Some(credentials) => made.custom_http_auth(credentials.clone()),
        None => made,
    })
}

/// Checks the setting. An error never quotes it, because it may hold a password.
fn check_proxy(proxy: &str) -> Result<String, SetupError> {
    let proxy = proxy.trim();
    let whole = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
    match Url::parse(&whole) {
        Ok(url) if !["http", "https"].contains(&url.scheme()) => {
            Err(proxy_error("only http:// and https:// proxies can be used"))
        }
        Ok(url) if url.host_str().is_some_and(|host| !host.is_empty()) => Ok(whole),
        Ok(_) | Err(_) => Err(proxy_error("it is not a web address; write http://HOST:PORT")),
    }
}

fn proxy_error(reason: &str) -> SetupError {
    SetupError::Proxy { reason: reason.to_owned() }
}

/// Returns the hosts that are reached without a proxy, from the environment.
fn no_proxy() -> String {
    ["NO_PROXY", "no_proxy"].iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default()
}

/// Reads the certificates of a PEM file, each of which must be usable as a trust anchor.
fn certificates(path: &Path) -> Result<Vec<reqwest::Certificate>, SetupError> {
    let fail = |reason: String| SetupError::CaFile { path: path.to_owned(), reason };
    let pem = std::fs::read(path).map_err(|error| fail(format!("cannot be read: {error}")))?;
    let mut found = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|_| fail("contains an incomplete certificate".to_owned()))?;
        RootCertStore::empty()
            .add(certificate.clone())
            .map_err(|_| fail("contains something that is not a certificate".to_owned()))?;
        let made = reqwest::Certificate::from_der(&certificate);
        found.push(made.map_err(|error| fail(deepest(&error)))?);
    }
    if found.is_empty() {
        return Err(fail("contains no certificate; one begins with -----BEGIN CERTIFICATE-----".to_owned()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_checked_and_never_shown() {
        for (proxy, expected) in [
            ("http://proxy.example:3128", Ok("proxy.example:3128")),
            ("proxy.example:3128", Ok("proxy.example:3128")),
            ("https://name:geheim99@proxy.example:8443", Ok("proxy.example:8443")),
            ("socks5://proxy.example:1080", Err("only http:// and https://")),
            ("http://", Err("not a web address")),
            ("http://geheim99 x", Err("not a web address")),
        ] {
            let network = Network { proxy: Some(proxy.to_owned()), ca_file: None };
            let via = network.via(&Url::parse("https://api.example/v1").unwrap());
            match (via, expected) {
                (Ok(Some(via)), Ok(shown)) => {
                    assert_eq!(via.shown, shown);
                    assert_eq!(via.has_credentials(), proxy.contains('@'));
                }
                (Err(error), Err(words)) => {
                    let said = error.to_string();
                    assert!(said.contains(words) && !said.contains("geheim99"), "{said}");
                }
                (via, _) => panic!("{proxy}: {:?}", via.map(|via| via.map(|via| via.shown))),
            }
            for loopback in ["http://localhost:1/v1", "https://127.0.0.1:1", "http://[::1]:1"] {
                assert!(network.via(&Url::parse(loopback).unwrap()).unwrap().is_none(), "{loopback}");
            }
        }
    }

    #[test]
    fn a_ca_file_that_is_none_is_named_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let said = |contents: Option<&str>| {
            if let Some(contents) = contents {
                std::fs::write(&path, contents).unwrap();
            }
            let network = Network { proxy: None, ca_file: Some(path.clone()) };
            let made = network.client(Duration::from_secs(1), None, true, &ConnectionCounter::default());
            made.err().map(|error| error.to_string()).unwrap_or_default()
        };
        for (contents, words) in [
            (None, "cannot be read: No such file"),
            (Some(""), "contains no certificate; one begins with -----BEGIN CERTIFICATE-----"),
            (Some("{}"), "contains no certificate"),
            (Some("-----BEGIN CERTIFICATE-----\nAAAA"), "incomplete certificate"),
            (Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "certificate"),
        ] {
            let said = said(contents);
            assert!(said.contains(words) && said.contains("ca.pem"), "{contents:?}: {said}");
        }
    }
}
