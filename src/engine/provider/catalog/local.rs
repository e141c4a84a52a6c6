//! Searches for a model server on this machine.
//!
//! Sends requests to loopback only, only where the caller allows it, and only after the first frame is drawn.
//! Accepts an answer only in the form of the server in question: other programs listen on these ports too.

use std::time::Duration;

use serde_json::Value;

use super::presets::{LocalForm, PRESETS, Preset};
use crate::provider::http;
use crate::provider::json_fields::string;

/// The longest answer that is read, in bytes.
const LONGEST_ANSWER: usize = 1024 * 1024;

/// An address to check for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// A preset of a local server.
    pub preset: &'static Preset,
    /// `http://127.0.0.1:11434`: the URL before the path of the list, without a slash at its end.
    pub url: String,
}

impl Probe {
    /// Returns every kind of server at its usual port, in order of preference.
    pub fn usual() -> Vec<Self> {
        let known = PRESETS.iter().filter_map(|preset| Some((preset, preset.local?.port)));
        known.map(|(preset, port)| Self { preset, url: format!("http://127.0.0.1:{port}") }).collect()
    }

    /// Returns the probe of a server at an address from the settings, with or without the version at its end.
    pub fn at(preset: &'static Preset, address: &str) -> Self {
        let address = address.trim();
        let place = address.split_once('?').map_or(address, |(place, _)| place).trim_end_matches('/');
        let url = place.strip_suffix("/v1").unwrap_or(place).trim_end_matches('/').to_owned();
        Self { preset, url }
    }
}

/// A server that answered and has a chat model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningServer {
    pub preset: &'static Preset,
    /// The probe's URL.
    pub url: String,
    /// Never empty; in the server's order.
    pub models: Vec<String>,
}

/// Queries all places at the same time; each has `patience` to answer. Keeps the order of `probes`.
/// Cancel-safe.
pub async fn probe_local(probes: Vec<Probe>, patience: Duration) -> Vec<RunningServer> {
    let Ok(client) = http::local_client(patience) else { return Vec::new() };
    let asked = probes.into_iter().map(|probe| {
        let client = client.clone();
        async move { tokio::time::timeout(patience, ask(&client, probe)).await.ok().flatten() }
    });
    futures::future::join_all(asked).await.into_iter().flatten().collect()
}

async fn ask(client: &reqwest::Client, probe: Probe) -> Option<RunningServer> {
    let server = probe.preset.local?;
    let mut response = client.get(format!("{}{}", probe.url, server.path)).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.ok()? {
        body.extend_from_slice(&bytes);
        if body.len() > LONGEST_ANSWER {
            return None;
        }
    }
    let models = models(server.form, &serde_json::from_slice(&body).ok()?)?;
    Some(RunningServer { preset: probe.preset, url: probe.url, models })
}

/// Returns the chat models, if the answer has this server's form and lists any.
fn models(form: LocalForm, answer: &Value) -> Option<Vec<String>> {
    let list = match form {
        LocalForm::Ollama => "models",
        LocalForm::LmStudio | LocalForm::LlamaCpp => "data",
    };
    let named = |item: &Value| match form {
        LocalForm::Ollama => item.get("digest").or(item.get("details")).map(|_| string(item, "name")),
        LocalForm::LmStudio => {
            let kind = item.get("type").and_then(Value::as_str)?;
            Some(string(item, "id").filter(|_| kind != "embeddings"))
        }
        LocalForm::LlamaCpp => (string(item, "owned_by")? == "llamacpp").then(|| string(item, "id")),
    };
    let items = answer.get(list).and_then(Value::as_array)?;
    let models: Option<Vec<Option<String>>> = items.iter().map(named).collect();
    let models: Vec<String> = models?.into_iter().flatten().collect();
    (!models.is_empty()).then_some(models)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::OLLAMA;
    use super::*;
    use kit::replay::server::{Page, Plan, ReplayServer};

    #[test]
    fn only_the_own_form_counts() {
        let ollama = json!({ "models": [{ "name": "qwen3:8b", "digest": "d", "size": 1 }, { "name": "llama3", "details": {} }] });
        let studio = json!({ "object": "list", "data": [{ "id": "e", "type": "embeddings" }, { "id": "qwen", "type": "llm" }] });
        let llama = json!({ "object": "list", "data": [{ "id": "m.gguf", "object": "model", "owned_by": "llamacpp" }] });
        let other =
            json!({ "object": "list", "data": [{ "id": "x", "object": "model", "owned_by": "vllm" }] });
        let answers =
            [&ollama, &studio, &llama, &other, &json!([]), &json!({ "models": [] }), &json!({ "data": "x" })];
        let expected = [
            (LocalForm::Ollama, 0, vec!["qwen3:8b", "llama3"]),
            (LocalForm::LmStudio, 1, vec!["qwen"]),
            (LocalForm::LlamaCpp, 2, vec!["m.gguf"]),
        ];
        for (form, own, names) in expected {
            for (at, answer) in answers.iter().enumerate() {
                let found = models(form, answer);
                let expected = (at == own).then(|| names.iter().map(ToString::to_string).collect());
                assert_eq!(found, expected, "{form:?}: {answer}");
            }
        }
    }

    #[test]
    fn an_address_of_ones_own_keeps_its_path() {
        for (address, url) in [
            ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
            ("http://127.0.0.1:1234/v1/", "http://127.0.0.1:1234"),
            ("http://box.test/ollama", "http://box.test/ollama"),
            ("http://box.test/models/v1?key=k", "http://box.test/models"),
        ] {
            assert_eq!(Probe::at(&OLLAMA, address).url, url);
        }
    }

    #[tokio::test]
    async fn servers_are_found_in_order() {
        let page =
            |path: &str, status: u16, body: Value| Page { path: path.into(), status, body: body.to_string() };
        let pages = vec![
            page("/api/tags", 200, json!({ "models": [{ "name": "qwen3", "digest": "d" }] })),
            page("/api/v0/models", 500, json!({})),
            page("/v1/models", 200, json!({ "data": [{ "id": "m", "owned_by": "llamacpp" }] })),
        ];
        let server = ReplayServer::start(Plan { pages, ..Plan::default() }).await.unwrap();
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut probes: Vec<Probe> =
            Probe::usual().into_iter().map(|probe| Probe { url: server.url(), ..probe }).collect();
        probes.push(Probe { preset: &OLLAMA, url: format!("http://127.0.0.1:{closed}") });
        let found = probe_local(probes, Duration::from_secs(20)).await;
        let shown: Vec<(&str, &str, Vec<String>)> =
            found.iter().map(|found| (found.preset.name, found.url.as_str(), found.models.clone())).collect();
        let base = server.url();
        let expected = [
            ("ollama", base.as_str(), vec!["qwen3".to_owned()]),
            ("llamacpp", base.as_str(), vec!["m".to_owned()]),
        ];
        assert_eq!(shown, expected);
    }

    #[tokio::test]
    async fn a_server_that_says_nothing_is_not_waited_for() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let probe = Probe { preset: &OLLAMA, url: format!("http://{}", silent.local_addr().unwrap()) };
        assert_eq!(probe_local(vec![probe], Duration::from_millis(100)).await, vec![]);
    }
}
