//! Services that search the web: what they are asked, and what their answers mean. Pure but for [`Engine::search`].

use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;

use super::super::work::{misuse, terminal};
use super::address::covers;
use super::client::WebClient;
use super::resolver::{AnyHost, HostResolver};
use crate::stdx::text::one_line_summary;
use crate::tool::ToolError;

/// Where Brave's API is.
const BRAVE: &str = "https://api.search.brave.com/res/v1/web/search";

/// The widths of a title and of a snippet, in terminal cells.
const TITLE: usize = 160;
const SNIPPET: usize = 320;

/// A service that searches.
#[derive(Clone)]
pub enum Engine {
    Brave {
        address: Url,
        key: HeaderValue,
    },
    /// An own server; its API must be switched on.
    SearXng {
        address: Url,
    },
}

/// One result; each text is one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResult {
    pub title: String,
    pub url: String,
    pub snippet: String,
}

impl Engine {
    /// Brave's search with this key; `None` if the key cannot be sent.
    pub fn brave(key: &str) -> Option<Self> {
        let mut key = HeaderValue::from_str(key.trim()).ok().filter(|key| !key.is_empty())?;
        key.set_sensitive(true);
        Some(Self::Brave { address: Url::parse(BRAVE).ok()?, key })
    }

    /// The SearXNG server at this address; `None` if it is none.
    pub fn searxng(address: &str) -> Option<Self> {
        let mut address = Url::parse(address.trim()).ok().filter(|url| !url.cannot_be_a_base())?;
        let path = address.path().trim_end_matches('/');
        let path = format!("{}/search", path.strip_suffix("/search").unwrap_or(path));
        address.set_path(&path);
        Some(Self::SearXng { address })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Brave { .. } => "Brave Search",
            Self::SearXng { .. } => "the SearXNG server",
        }
    }

    /// Returns which hosts it may be on: an own server is wherever the user says.
    pub fn hosts(&self, public: &Arc<dyn HostResolver>) -> Arc<dyn HostResolver> {
        match self {
            Self::Brave { .. } => Arc::clone(public),
            Self::SearXng { .. } => Arc::new(AnyHost),
        }
    }

    /// The address of the service, without what is asked.
    pub fn address(&self) -> &Url {
        match self {
            Self::Brave { address, .. } | Self::SearXng { address } => address,
        }
    }

    /// Searches; results of other domains are left out if `domains` names any. Cancel-safe.
    pub async fn search(
        &self,
        client: &WebClient,
        query: &str,
        domains: &[String],
        most: usize,
    ) -> Result<Vec<SearchResult>, ToolError> {
        let (url, headers) = self.request(query, domains, most);
        let (status, body) = client.ask(url, headers).await?;
        let found = self.results(status.as_u16(), &body)?;
        let is_wanted = |one: &SearchResult| {
            let host = Url::parse(&one.url).ok().and_then(|url| url.host_str().map(ToOwned::to_owned));
            domains.is_empty() || host.is_some_and(|host| domains.iter().any(|domain| covers(domain, &host)))
        };
        Ok(found.into_iter().filter(is_wanted).take(most).collect())
    }

    fn request(&self, query: &str, domains: &[String], most: usize) -> (Url, HeaderMap) {
        let sites = domains.iter().map(|domain| format!("site:{domain}")).collect::<Vec<_>>().join(" OR ");
        let query = if sites.is_empty() { query.to_owned() } else { format!("{query} ({sites})") };
        let (mut url, mut headers) = (self.address().clone(), HeaderMap::new());
        url.query_pairs_mut().append_pair("q", &query);
        match self {
            Self::Brave { key, .. } => {
                url.query_pairs_mut().append_pair("count", &most.to_string());
                headers.insert(HeaderName::from_static("x-subscription-token"), key.clone());
            }
            Self::SearXng { .. } => {
                url.query_pairs_mut().append_pair("format", "json");
            }
        }
        headers.insert(reqwest::header::ACCEPT, HeaderValue::from_static("application/json"));
        (url, headers)
    }

    fn results(&self, status: u16, body: &[u8]) -> Result<Vec<SearchResult>, ToolError> {
        let name = self.name();
        match (status, self) {
            (200..=299, _) => {}
            (401 | 403, Self::Brave { .. }) => {
                let message = format!("{name} refused the key ({status}); correct `web.brave_api_key`");
                return Err(ToolError::Unavailable(message));
            }
            (403, Self::SearXng { .. }) => {
                let message = format!(
                    "{name} refused ({status}); its settings must list `json` under `search.formats`"
                );
                return Err(ToolError::Unavailable(message));
            }
            (429, _) => {
                return Err(ToolError::Transient(format!("{name} is asked too often (429)")));
            }
            (500.., _) => return Err(ToolError::Transient(format!("{name} failed ({status})"))),
            (422, Self::Brave { .. }) if is_about_key(body) => {
                let message = format!("{name} does not know the key; correct `web.brave_api_key`");
                return Err(ToolError::Unavailable(message));
            }
            (400 | 422, _) => {
                return Err(misuse(format!("{name} does not accept this search ({status}); ask for less")));
            }
            _ => return Err(terminal(format!("{name} answered {status}"))),
        }
        let Ok(answer) = serde_json::from_slice::<Value>(body) else {
            return Err(terminal(format!("{name} did not answer with JSON; check its address")));
        };
        let (list, snippet) = match self {
            Self::Brave { .. } => (answer.pointer("/web/results"), "description"),
            Self::SearXng { .. } => (answer.get("results"), "content"),
        };
        let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        Ok(list.iter().filter_map(|one| result(one, snippet)).collect())
    }
}

/// Whether an error of Brave is about the key.
fn is_about_key(body: &[u8]) -> bool {
    let error: Option<Value> = serde_json::from_slice(body).ok();
    let code = error.as_ref().and_then(|error| error.pointer("/error/code")).and_then(Value::as_str);
    code == Some("SUBSCRIPTION_TOKEN_INVALID")
}

fn result(one: &Value, snippet: &str) -> Option<SearchResult> {
    let text = |name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default();
    let url = Url::parse(text("url")).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    Some(SearchResult {
        title: line(text("title"), TITLE),
        url: url.to_string(),
        snippet: line(text(snippet), SNIPPET),
    })
}

/// Makes one line of a text of a service.
fn line(text: &str, width: usize) -> String {
    let words = without_tags(text);
    one_line_summary(&words.split_whitespace().collect::<Vec<_>>().join(" "), width)
}

/// Removes the marks that services put around words that match, and what they escape.
fn without_tags(text: &str) -> String {
    let mut out = text.to_owned();
    for tag in ["<strong>", "</strong>", "<b>", "</b>", "<em>", "</em>"] {
        out = out.replace(tag, "");
    }
    for (escaped, plain) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&amp;", "&")]
    {
        out = out.replace(escaped, plain);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(engine: &Engine, status: u16, body: &str) -> String {
        match engine.results(status, body.as_bytes()) {
            Ok(found) => {
                found.iter().map(|one| format!("{}|{}|{}\n", one.title, one.url, one.snippet)).collect()
            }
            Err(error) => format!("! {error}"),
        }
    }

    #[test]
    fn answers_of_services_are_read() {
        let brave = Engine::brave("k-1").unwrap();
        let own = Engine::searxng("http://127.0.0.1:8888/").unwrap();
        let results = r#"[{"title":"A <strong>b</strong> &amp; c","url":"https://a.b/x","description":"one\ntwo","content":"three"},
            {"title":"no address"},{"title":"script","url":"javascript:alert(1)"},{"url":"https://c.d"}]"#;
        let brave_answer = format!(r#"{{"web":{{"results":{results}}}}}"#);
        let own_answer = format!(r#"{{"results":{results}}}"#);
        for (engine, status, body, expected) in [
            (&brave, 200, brave_answer.as_str(), "A b & c|https://a.b/x|one two\n|https://c.d/|\n"),
            (&own, 200, own_answer.as_str(), "A b & c|https://a.b/x|three\n|https://c.d/|\n"),
            (&brave, 200, "{}", ""),
            (&brave, 200, r#"{"web":null}"#, ""),
            (
                &own,
                200,
                "<!doctype html><p>hi",
                "! the SearXNG server did not answer with JSON; check its address",
            ),
            (&own, 200, "", "! the SearXNG server did not answer with JSON; check its address"),
            (&brave, 401, "{}", "! Brave Search refused the key (401); correct `web.brave_api_key`"),
            (
                &own,
                403,
                "no",
                "! the SearXNG server refused (403); its settings must list `json` under `search.formats`",
            ),
            (&brave, 429, "{}", "! Brave Search is asked too often (429)"),
            (&brave, 503, "", "! Brave Search failed (503)"),
            (
                &brave,
                422,
                r#"{"error":{"code":"SUBSCRIPTION_TOKEN_INVALID"}}"#,
                "! Brave Search does not know the key; correct `web.brave_api_key`",
            ),
            (&brave, 422, "", "! Brave Search does not accept this search (422); ask for less"),
            (&brave, 404, "", "! Brave Search answered 404"),
        ] {
            assert_eq!(said(engine, status, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn a_search_asks_for_its_domains_and_its_number() {
        let (url, headers) =
            Engine::brave("k-1").unwrap().request("rust & co", &["docs.rs".into(), "a.b".into()], 3);
        assert_eq!(url.query(), Some("q=rust+%26+co+%28site%3Adocs.rs+OR+site%3Aa.b%29&count=3"));
        assert_eq!(headers["x-subscription-token"], "k-1");
        for (address, expected) in [
            ("http://h:1", "http://h:1/search?q=x&format=json"),
            ("http://h:1/search/", "http://h:1/search?q=x&format=json"),
            ("http://h/sx/search", "http://h/sx/search?q=x&format=json"),
            ("http://h/sx/", "http://h/sx/search?q=x&format=json"),
        ] {
            let (url, _) = Engine::searxng(address).unwrap().request("x", &[], 5);
            assert_eq!(url.as_str(), expected);
        }
        assert!(
            Engine::brave(" ").is_none()
                && Engine::brave("a\nb").is_none()
                && Engine::searxng("nowhere").is_none()
        );
    }
}
