//! Model lists in the forms of the services, over loopback.

use serde_json::json;

use super::*;
use crate::provider::ErrorClass;
use crate::provider::http::{ApiKey, KeyHeader, Network, Timeouts};
use kit::replay::server::{Page, Plan, ReplayServer};

const LONG: Duration = Duration::from_secs(20);

fn page(path: &str, body: &Value) -> Page {
    Page { path: path.to_owned(), status: 200, body: body.to_string() }
}

/// Lists a server with these pages; one string per model: name, window, maximum output, input price, images.
async fn listed(form: ListForm, path: &str, pages: Vec<Page>) -> Result<Vec<String>, ProviderError> {
    let server = ReplayServer::start(Plan { pages, ..Plan::default() }).await.unwrap();
    let endpoint = Endpoint {
        name: "test".to_owned(),
        base_url: server.url(),
        key: ApiKey::new("k"),
        key_header: KeyHeader::Bearer,
        headers: Vec::new(),
        network: Network::default(),
        timeouts: Timeouts::default(),
    };
    let models = list(&ListEndpoint { endpoint, path: path.to_owned(), form }, LONG).await?;
    let short = |ListedModel { name, profile }: &ListedModel| {
        let parts = [
            profile.window.map(|window| format!("window {window}")),
            profile.max_output.map(|most| format!("output {most}")),
            profile
                .price
                .map(|price| format!("price {} {} {:?}", price.input, price.output, price.cached_input)),
            profile.images.map(|images| format!("images {images}")),
            (profile.thinking == ThinkingStyle::Never).then(|| "never thinks".to_owned()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("{name}: {}", parts.join(", "))
    };
    Ok(models.iter().map(short).collect())
}

#[tokio::test]
async fn lists_in_openai_form() {
    let body = json!({ "object": "list", "data": [
        { "id": "gpt-5", "object": "model", "owned_by": "system" },
        { "id": "vllm", "max_model_len": 32_768 },
        { "id": "groq", "context_window": 131_072, "max_completion_tokens": 65_536 },
        { "id": "mistral", "max_context_length": 262_144,
          "capabilities": { "completion_chat": true, "vision": true } },
        { "id": "mistral-embed", "max_context_length": 8_192, "capabilities": { "completion_chat": false } },
        { "id": "llama.gguf", "meta": { "n_ctx": 4_096, "n_ctx_train": 131_072 } },
        { "id": "old-llama.gguf", "meta": { "n_ctx_train": 131_072 } },
        { "id": "bge", "type": "embedding" },
        { "id": "kokoro", "type": "tts" },
        { "id": "router-embed", "architecture": { "output_modalities": ["embeddings"] } },
        { "id": "openrouter", "context_length": 200_000,
          "architecture": { "input_modalities": ["text", "image"] },
          "top_provider": { "context_length": 200_000, "max_completion_tokens": 64_000 },
          "pricing": { "prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003",
                       "internal_reasoning": "0" } },
        { "id": "free", "context_length": 0, "top_provider": { "max_completion_tokens": null },
          "pricing": { "prompt": "0", "completion": "0" } },
        { "id": "auto", "pricing": { "prompt": "-1", "completion": "-1" } },
        { "id": "together", "type": "chat", "pricing": { "hourly": 0, "input": 0.88, "output": 0.9 } },
        { "id": "odd", "context_length": "many", "pricing": "free" },
        { "id": 5 }, { "name": "no id" }, "text", { "id": "" },
        { "id": "gpt-5" },
    ] });
    let got = listed(ListForm::OpenAi, "/v1/models", vec![page("/v1/models", &body)]).await.unwrap();
    let expected = [
        "auto: ",
        "free: price 0 0 None",
        "gpt-5: ",
        "groq: window 131072, output 65536",
        "llama.gguf: window 4096",
        "mistral: window 262144, images true",
        "odd: ",
        "old-llama.gguf: ",
        "openrouter: window 200000, output 64000, price 3000000 15000000 Some(300000), images true",
        "together: price 880000 900000 None",
        "vllm: window 32768",
    ];
    assert_eq!(got, expected);
    let bare = listed(ListForm::OpenAi, "/models", vec![page("/models", &json!([{ "id": "a" }]))]).await;
    assert_eq!(bare.unwrap(), ["a: "]);
}

#[tokio::test]
async fn lists_in_other_forms() {
    let anthropic = json!({ "data": [
        { "type": "model", "id": "claude-x", "max_input_tokens": 1_000_000, "max_tokens": 128_000,
          "capabilities": { "image_input": { "supported": true }, "thinking": { "supported": true } } },
        { "type": "model", "id": "claude-old", "capabilities": { "thinking": { "supported": false } } },
    ], "has_more": false, "first_id": "claude-x", "last_id": "claude-old" });
    let gemini = json!({ "models": [
        { "name": "models/gemini-x", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536, "thinking": true,
          "supportedGenerationMethods": ["generateContent", "countTokens"] },
        { "name": "models/embedding", "inputTokenLimit": 2_048, "supportedGenerationMethods": ["embedContent"] },
    ] });
    let tags = json!({ "models": [{ "name": "qwen3:8b", "details": {} }, { "name": "llama3", "details": {} },
                              { "name": "embed", "details": { "family": "nomic-bert" } }] });
    let ps = json!({ "models": [{ "name": "qwen3:8b", "context_length": 8_192 }, { "name": "gone" }] });
    let studio = json!({ "data": [
        { "id": "qwen", "type": "llm", "max_context_length": 32_768 },
        { "id": "seer", "type": "vlm", "state": "loaded", "max_context_length": 131_072,
          "loaded_context_length": 4_096 },
        { "id": "e", "type": "embeddings" },
    ] });
    let cases = [
        (
            ListForm::Anthropic,
            vec![page("/v1/models", &anthropic)],
            vec!["claude-old: never thinks", "claude-x: window 1000000, output 128000, images true"],
        ),
        (ListForm::Gemini, vec![page("/v1/models", &gemini)], vec!["gemini-x: window 1048576, output 65536"]),
        (
            ListForm::Ollama,
            vec![page("/v1/models", &tags), page("/api/ps", &ps)],
            vec!["llama3: ", "qwen3:8b: window 8192"],
        ),
        (ListForm::Ollama, vec![page("/v1/models", &tags)], vec!["llama3: ", "qwen3:8b: "]),
        (
            ListForm::LmStudio,
            vec![page("/v1/models", &studio)],
            vec!["qwen: images false", "seer: window 4096, images true"],
        ),
    ];
    for (form, pages, expected) in cases {
        assert_eq!(listed(form, "/v1/models", pages).await.unwrap(), expected, "{form:?}");
    }
}

#[tokio::test]
async fn what_is_no_list_is_said_so() {
    let forms =
        [ListForm::OpenAi, ListForm::Anthropic, ListForm::Gemini, ListForm::Ollama, ListForm::LmStudio];
    for form in forms {
        for body in [json!({}), json!({ "data": 5, "models": 5 }), json!("hello")] {
            let error = listed(form, "/m", vec![page("/m", &body)]).await.unwrap_err();
            assert_eq!(error.class, ErrorClass::Malformed, "{form:?} {body}");
        }
        let html = Page { path: "/m".to_owned(), status: 200, body: "<html>Sign in</html>".to_owned() };
        let error = listed(form, "/m", vec![html]).await.unwrap_err();
        assert!(error.message.contains("web page"), "{error}");
        let empty = json!({ "data": [], "models": [] });
        assert_eq!(listed(form, "/m", vec![page("/m", &empty)]).await.unwrap(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn pages_come_to_an_end() {
    // A server that always offers another page gets a bounded number of requests.
    let endless = json!({ "data": [{ "id": "same" }], "has_more": true, "last_id": "a&b c" });
    let got = listed(ListForm::Anthropic, "/v1/models", vec![page("/v1/models", &endless)]).await;
    assert_eq!(got.unwrap(), ["same: "]);
    let endless = json!({ "models": [{ "name": "models/same" }], "nextPageToken": "more" });
    let got = listed(ListForm::Gemini, "/v1beta/models", vec![page("/v1beta/models", &endless)]).await;
    assert_eq!(got.unwrap(), ["same: "]);
    assert_eq!(percent_encode("a&b c/ü", b"-._~"), "a%26b%20c%2F%C3%BC");
}
