//! Builds request URLs from base URLs as users write them and the paths that codecs append.
//!
//! Pure. Called by the HTTP layer.

use reqwest::Url;

use super::setup_error::SetupError;
use crate::stdx::secrecy::shown_address;

/// Paths that local servers offer only below `/v1`, although users often omit it from the base URL.
const BELOW_V1: [&str; 2] = ["/chat/completions", "/responses"];

/// Parses and checks a base URL.
pub(super) fn base(url: &str) -> Result<Url, SetupError> {
    let fail = |reason: &str| SetupError::BaseUrl { url: shown_address(url), reason: reason.to_owned() };
    let parsed = Url::parse(url.trim()).map_err(|error| fail(&error.to_string()))?;
    if !["http", "https"].contains(&parsed.scheme()) {
        return Err(fail("it must begin with http:// or https://"));
    }
    if parsed.host_str().is_none_or(str::is_empty) {
        return Err(fail("it names no host"));
    }
    if parsed.password().is_some() || !parsed.username().is_empty() {
        return Err(fail("it contains a password; put the key in its own setting"));
    }
    Ok(parsed)
}

/// Returns the URL of a codec's path below a base URL. Users write the base with or without the version at
/// its end, with a query (Azure's `api-version`), or paste the endpoint's whole URL.
pub(super) fn join(base: &Url, path: &str) -> Url {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let before = base.path().trim_end_matches('/');
    let mut ends = before.rsplit('/');
    // In a base URL that ends with a publisher (Vertex) the version comes earlier.
    let versioned = ends.next().is_some_and(is_version) || ends.next() == Some("publishers");
    let unversioned = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let path = match unversioned {
        Some((first, rest)) if versioned && is_version(first) => format!("/{rest}"),
        Some(_) | None => path.to_owned(),
    };
    let whole = if before.ends_with(&path) {
        before.to_owned()
    } else if before.is_empty() && is_loopback(base) && BELOW_V1.contains(&path.as_str()) {
        format!("/v1{path}")
    } else {
        format!("{before}{path}")
    };
    let mut url = base.clone();
    url.set_path(&whole);
    let queries: Vec<&str> =
        query.into_iter().chain(base.query()).filter(|query| !query.is_empty()).collect();
    url.set_query((!queries.is_empty()).then(|| queries.join("&")).as_deref());
    url
}

/// Whether a path segment is a version (`v1`, `v1beta`, `v2alpha1`): `v`, a digit, then letters or digits.
fn is_version(segment: &str) -> bool {
    let mut rest = segment.bytes();
    rest.next() == Some(b'v')
        && rest.next().is_some_and(|byte| byte.is_ascii_digit())
        && rest.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Whether a URL points to this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let named = host == "localhost" || host.ends_with(".localhost");
    named || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Formats `host` or `host:port` for display.
pub(super) fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_joined() {
        let cases = [
            ("https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/", "/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/v1", "/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/v1//", "/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("https://x.example/anthropic", "/v1/messages", "https://x.example/anthropic/v1/messages"),
            ("https://api.openai.com/v1", "/chat/completions", "https://api.openai.com/v1/chat/completions"),
            (
                "https://v.example/v1beta1/projects/p/locations/l/publishers/google",
                "/v1beta/models/x:y",
                "https://v.example/v1beta1/projects/p/locations/l/publishers/google/models/x:y",
            ),
            ("https://gemini.example/v1alpha", "/v1beta/models/x", "https://gemini.example/v1alpha/models/x"),
            ("https://api.perplexity.ai", "/chat/completions", "https://api.perplexity.ai/chat/completions"),
            ("http://localhost:8000", "/chat/completions", "http://localhost:8000/v1/chat/completions"),
            ("http://127.0.0.1:8000/", "/responses", "http://127.0.0.1:8000/v1/responses"),
            ("http://localhost:11434", "/api/chat", "http://localhost:11434/api/chat"),
            ("https://x.example/v1/messages", "/v1/messages", "https://x.example/v1/messages"),
            ("https://x.example/v1/responses?a=b", "/responses", "https://x.example/v1/responses?a=b"),
            (
                "https://g.example/v1beta",
                "/v1beta/models/m:s?alt=sse",
                "https://g.example/v1beta/models/m:s?alt=sse",
            ),
            ("https://g.example/v1", "/v1beta/models/m:s?alt=sse", "https://g.example/v1/models/m:s?alt=sse"),
            (
                "https://g.example",
                "/v1beta/models/m:s?alt=sse",
                "https://g.example/v1beta/models/m:s?alt=sse",
            ),
            (
                "https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
                "/chat/completions",
                "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
            ),
            ("https://g.example?k=v", "/v1beta/x?alt=sse", "https://g.example/v1beta/x?alt=sse&k=v"),
            ("https://x.example/video", "/v1/messages", "https://x.example/video/v1/messages"),
        ];
        for (address, path, expected) in cases {
            assert_eq!(join(&base(address).unwrap(), path).as_str(), expected);
        }
    }

    #[test]
    fn base_urls_are_checked() {
        for (url, good) in [
            ("https://api.openai.com/v1", true),
            (" http://localhost:11434/v1\n", true),
            ("localhost:11434", false),
            ("ftp://x", false),
            ("", false),
            ("http://", false),
            ("https://name:pass@x.example", false),
        ] {
            assert_eq!(base(url).is_ok(), good, "{url:?}");
        }
        let loopback = |url: &str| is_loopback(&base(url).unwrap());
        assert!(loopback("http://127.0.0.1:1") && loopback("http://[::1]:1") && loopback("http://localhost"));
        assert!(!loopback("https://api.openai.com"));
    }
}
