//! One small GET request for JSON about the service itself, for instance its list of models.
//!
//! It is bounded in time and size, follows no redirect (the key must not be sent to another host), and
//! reports failures with the same messages and classes as a model request. It retries nothing. Called by
//! `catalog/listing.rs`; it also serves to check a key with one cheap call.

use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderValue};
use serde_json::Value;

use super::trouble::{connection_error, redirect_error};
use super::{Endpoint, Route};
use crate::provider::classify::{classify_reply, classify_value};
use crate::provider::decoder::{malformed, web_page};
use crate::provider::{ErrorClass, ProviderError, RetryHeaders};
use crate::stdx::moment::duration;
use crate::stdx::text::binary_size;

/// The longest answer that is read, in bytes: ten times the longest known list.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;

/// Gets `path` below the endpoint's base URL. `headers` are sent in addition to the key's; `patience` limits
/// the whole exchange, from the DNS look-up to the last byte. An answer with an `error` field is an error
/// whatever its status. Cancel-safe.
pub async fn get_json(
    endpoint: &Endpoint,
    path: &str,
    headers: &[(&str, &str)],
    patience: Duration,
) -> Result<Value, ProviderError> {
    let unusable = |reason: String| ProviderError::new(ErrorClass::BadRequest, reason);
    let connect = endpoint.timeouts.connect.min(patience);
    let mut route = Route::to(endpoint, connect).map_err(|error| unusable(error.to_string()))?;
    route.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let (url, headers) = route.towards(path, headers)?;
    let request = route.client.get(url).headers(headers);
    let answered = match tokio::time::timeout(patience, answer(&route, request)).await {
        Ok(answered) => answered,
        Err(_) => {
            // Part of a shared time limit may be spent already: report the time that this request had.
            Err(ProviderError::new(ErrorClass::Idle, format!("no answer within {}", duration(patience))))
        }
    };
    answered.map_err(|error| route.destination.secrets.hide_in_error(error))
}

/// Sends a request and returns the JSON of its answer; errs on a redirect.
async fn answer(route: &Route, request: reqwest::RequestBuilder) -> Result<Value, ProviderError> {
    let mut response = request.send().await.map_err(|error| route.destination.send_error(error))?;
    let status = response.status();
    if status.is_redirection() {
        return Err(redirect_error(&response));
    }
    if let Some(error) = route.destination.in_the_way(status.as_u16()) {
        return Err(error);
    }
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(|error| connection_error(&error))? {
        body.extend_from_slice(&bytes);
        if body.len() > LONGEST_ANSWER {
            let most = binary_size(LONGEST_ANSWER);
            return Err(malformed(format!("the answer is longer than {most}")));
        }
    }
    if !status.is_success() {
        return Err(classify_reply(status.as_u16(), &RetryHeaders::default(), &body));
    }
    match serde_json::from_slice::<Value>(&body) {
        Ok(value) if value.get("error").is_some_and(|error| !error.is_null()) => Err(classify_value(&value)),
        Ok(value) => Ok(value),
        Err(_) if body.trim_ascii_start().first() == Some(&b'<') => Err(web_page()),
        Err(_) => Err(malformed("the response is not JSON: the address is not that of an API")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{ApiKey, KeyHeader, Network, Timeouts};
    use super::*;
    use kit::replay::server::{Page, Plan, ReplayServer};

    const LONG: Duration = Duration::from_secs(20);

    fn endpoint(base_url: String) -> Endpoint {
        Endpoint {
            name: "test".to_owned(),
            base_url,
            key: ApiKey::new("sk-secret"),
            key_header: KeyHeader::Bearer,
            headers: Vec::new(),
            network: Network::default(),
            timeouts: Timeouts::default(),
        }
    }

    #[tokio::test]
    async fn answers_are_read_and_failures_classified() {
        let page =
            |path: &str, status: u16, body: &str| Page { path: path.into(), status, body: body.into() };
        let pages = vec![
            page("/good", 200, "{\"data\": []}"),
            page("/html", 200, "\n<!doctype html><p>Sign in</p>"),
            page("/text", 200, "hello"),
            page("/denied", 401, "{\"error\": {\"message\": \"Incorrect API key provided\"}}"),
            page("/inside", 200, "{\"error\": {\"message\": \"busy\", \"type\": \"overloaded_error\"}}"),
            page("/moved", 302, ""),
            page("/broken", 500, "<html>"),
            page("/null", 200, "{\"error\": null, \"data\": []}"),
        ];
        let server = ReplayServer::start(Plan { pages, ..Plan::default() }).await.unwrap();
        let endpoint = endpoint(server.url());
        let cases = [
            ("/good", Ok(json!({ "data": [] }))),
            ("/null", Ok(json!({ "data": [], "error": null }))),
            ("/html", Err(ErrorClass::Malformed)),
            ("/text", Err(ErrorClass::Malformed)),
            ("/denied", Err(ErrorClass::Auth)),
            ("/inside", Err(ErrorClass::Overloaded)),
            ("/moved", Err(ErrorClass::NotFound)),
            ("/broken", Err(ErrorClass::Server)),
            ("/missing", Err(ErrorClass::NotFound)),
        ];
        for (path, expected) in cases {
            let got = get_json(&endpoint, path, &[("x-extra", "1")], LONG).await;
            if let Err(error) = &got {
                assert!(!error.to_string().contains("sk-secret"), "{error}");
            }
            assert_eq!(got.map_err(|error| error.class), expected, "{path}");
        }
    }

    #[tokio::test]
    async fn nobody_is_waited_for_longer_than_told() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        let place = endpoint(format!("http://{address}"));
        let error = get_json(&place, "/x", &[], Duration::from_micros(49_995)).await.unwrap_err();
        assert_eq!((error.class, error.message.as_str()), (ErrorClass::Idle, "no answer within 49ms"));
        drop(silent);
        let refused = get_json(&place, "/x", &[], LONG).await.unwrap_err();
        assert_eq!(refused.class, ErrorClass::Network);
        let bad = get_json(&endpoint("localhost:1".to_owned()), "/x", &[], LONG).await.unwrap_err();
        assert_eq!(bad.class, ErrorClass::BadRequest);
    }
}
