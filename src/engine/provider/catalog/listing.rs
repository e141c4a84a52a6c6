//! Reads a service's own list of its models, in the forms that services use.
//!
//! Tolerates missing and new fields, but takes a window or a price only where the list states it for this
//! very service. A local server may load a model with a smaller window than the model was trained for, so the
//! trained maximum is ignored. Bounded in time, size and pages. Called by `app`.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::presets::{LMSTUDIO, Preset};
use crate::config::{Codec, ThinkingStyle};
use crate::provider::decoder::malformed;
use crate::provider::http::{Endpoint, get_json};
use crate::provider::json_fields::string;
use crate::provider::wire_text::percent_encode;
use crate::provider::{Price, Profile, ProviderError};

/// The most pages that are requested.
const MOST_PAGES: usize = 20;

/// The most models that are kept of one service.
const MOST_MODELS: usize = 10_000;

/// The longest model name that is accepted, in bytes.
const LONGEST_NAME: usize = 256;

/// Where a service lists its models, and in which form.
#[derive(Clone)]
pub struct ListEndpoint {
    pub endpoint: Endpoint,
    /// Below the endpoint's base URL, e.g. `/v1/models`.
    pub path: String,
    pub form: ListForm,
}

impl ListEndpoint {
    /// Returns that of a service that speaks through this codec.
    pub fn of(preset: &Preset, codec: Codec, mut endpoint: Endpoint) -> Self {
        let own_form = preset.local.filter(|_| preset.name == LMSTUDIO.name);
        let (path, form) = match (codec, own_form) {
            (Codec::OpenAiChat, Some(_)) => ("/api/v0/models", ListForm::LmStudio),
            (Codec::Anthropic, _) => ("/v1/models", ListForm::Anthropic),
            (Codec::Gemini, _) => ("/v1beta/models", ListForm::Gemini),
            (Codec::Ollama, _) => ("/api/tags", ListForm::Ollama),
            (Codec::OpenAiChat | Codec::OpenAiResponses, _) => ("/models", ListForm::OpenAi),
        };
        // LM Studio provides more data outside of `/v1`.
        if matches!(form, ListForm::LmStudio) {
            endpoint.base_url = endpoint.base_url.trim_end_matches("/v1").to_owned();
        }
        Self { endpoint, path: path.to_owned(), form }
    }
}

/// The form of a model list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListForm {
    /// `{"data": [{"id"}]}`, with the fields that hosts add: `context_length` and `pricing` (OpenRouter,
    /// Together), `max_model_len` (vLLM), `context_window` (Groq), `max_context_length` (Mistral),
    /// `meta.n_ctx` (llama.cpp).
    OpenAi,
    /// `{"data": [{"id", "max_input_tokens", "max_tokens"}], "has_more", "last_id"}`
    Anthropic,
    /// `{"models": [{"name", "inputTokenLimit", "supportedGenerationMethods"}], "nextPageToken"}`
    Gemini,
    /// `{"models": [{"name"}]}`; `/api/ps` reports the loaded models.
    Ollama,
    /// `{"data": [{"id", "type", "loaded_context_length"}]}`
    LmStudio,
}

/// A model as a service lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedModel {
    /// The name used in requests.
    pub name: String,
    /// The properties that the list states.
    pub profile: Profile,
}

/// Returns the models that a service offers, sorted by name. `patience` limits all pages together.
/// Cancel-safe.
pub async fn list(place: &ListEndpoint, patience: Duration) -> Result<Vec<ListedModel>, ProviderError> {
    let until = Instant::now() + patience;
    let mut models: Vec<ListedModel> = Vec::new();
    let mut next = None;
    for _ in 0..MOST_PAGES {
        let path = page_path(place, next.as_deref());
        let page = get(place, &path, until).await?;
        let (listed, more) = read(place.form, &page)?;
        models.extend(listed);
        next = more;
        if next.is_none() || models.len() >= MOST_MODELS {
            break;
        }
    }
    if place.form == ListForm::Ollama {
        // The list is valid without it: an older server does not have this endpoint.
        if let Ok(loaded) = get(place, "/api/ps", until).await {
            add_loaded(&mut models, &loaded);
        }
    }
    models.truncate(MOST_MODELS);
    models.sort_by(|one, other| one.name.cmp(&other.name));
    models.dedup_by(|one, other| one.name == other.name);
    Ok(models)
}

async fn get(place: &ListEndpoint, path: &str, until: Instant) -> Result<Value, ProviderError> {
    let headers: &[(&str, &str)] =
        if matches!(place.form, ListForm::Anthropic) { &[("anthropic-version", "2023-06-01")] } else { &[] };
    get_json(&place.endpoint, path, headers, until.saturating_duration_since(Instant::now())).await
}

fn page_path(place: &ListEndpoint, next: Option<&str>) -> String {
    let path = &place.path;
    let more =
        |key: &str| next.map(|next| format!("&{key}={}", percent_encode(next, b"-._~"))).unwrap_or_default();
    match place.form {
        ListForm::Anthropic => format!("{path}?limit=1000{}", more("after_id")),
        ListForm::Gemini => format!("{path}?pageSize=1000{}", more("pageToken")),
        ListForm::OpenAi | ListForm::Ollama | ListForm::LmStudio => path.clone(),
    }
}

/// Returns the models of one page, and the token for requesting the next page.
fn read(form: ListForm, page: &Value) -> Result<(Vec<ListedModel>, Option<String>), ProviderError> {
    let items = match form {
        ListForm::Gemini | ListForm::Ollama => page.get("models"),
        // Together's answer is the array itself.
        ListForm::OpenAi => page.get("data").or(Some(page)),
        ListForm::Anthropic | ListForm::LmStudio => page.get("data"),
    };
    let Some(items) = items.and_then(Value::as_array) else {
        return Err(malformed("the response is not a list of models: the address is not that of this API"));
    };
    let item = match form {
        ListForm::OpenAi => open_ai,
        ListForm::Anthropic => anthropic,
        ListForm::Gemini => gemini,
        ListForm::Ollama => ollama,
        ListForm::LmStudio => lm_studio,
    };
    let good = |listed: &ListedModel| !listed.name.is_empty() && listed.name.len() <= LONGEST_NAME;
    let listed = items.iter().filter_map(item).filter(good).collect();
    let next = match form {
        ListForm::Anthropic if page.get("has_more") == Some(&Value::Bool(true)) => string(page, "last_id"),
        ListForm::Gemini => string(page, "nextPageToken"),
        ListForm::Anthropic | ListForm::OpenAi | ListForm::Ollama | ListForm::LmStudio => None,
    };
    Ok((listed, next))
}

/// Returns the number of tokens at the first of these places that has one; 0 means unknown.
fn tokens(item: &Value, places: &[&str]) -> Option<u32> {
    let number = |place: &&str| item.pointer(place).and_then(Value::as_u64);
    places.iter().find_map(number).and_then(|tokens| u32::try_from(tokens).ok()).filter(|tokens| *tokens > 0)
}

/// Kinds of models that are not chat models.
const OTHER_KINDS: &[&str] = &[
    "embedding",
    "embeddings",
    "image",
    "audio",
    "video",
    "rerank",
    "moderation",
    "transcribe",
    "tts",
    "speech",
];

fn open_ai(item: &Value) -> Option<ListedModel> {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
    let chats = item.pointer("/capabilities/completion_chat").and_then(Value::as_bool);
    let outputs = item.pointer("/architecture/output_modalities").and_then(Value::as_array);
    let speaks = outputs.is_none_or(|outputs| outputs.iter().any(|output| output == "text"));
    if OTHER_KINDS.contains(&kind) || chats == Some(false) || !speaks {
        return None;
    }
    let windows =
        ["/context_length", "/context_window", "/max_model_len", "/max_context_length", "/meta/n_ctx"];
    let inputs = item.pointer("/architecture/input_modalities").and_then(Value::as_array);
    let sees = inputs.map(|inputs| inputs.iter().any(|input| input == "image"));
    let vision = item.pointer("/capabilities/vision").and_then(Value::as_bool);
    let profile = Profile {
        window: tokens(item, &windows),
        max_output: tokens(item, &["/top_provider/max_completion_tokens", "/max_completion_tokens"]),
        price: item.get("pricing").and_then(price),
        images: sees.or(vision),
        ..Profile::default()
    };
    Some(ListedModel { name: string(item, "id")?, profile })
}

fn anthropic(item: &Value) -> Option<ListedModel> {
    let supports =
        |what: &str| item.pointer(&format!("/capabilities/{what}/supported")).and_then(Value::as_bool);
    let profile = Profile {
        window: tokens(item, &["/max_input_tokens"]),
        max_output: tokens(item, &["/max_tokens"]),
        thinking: never_where(supports("thinking")),
        images: supports("image_input"),
        ..Profile::default()
    };
    Some(ListedModel { name: string(item, "id")?, profile })
}

fn gemini(item: &Value) -> Option<ListedModel> {
    let methods = item.get("supportedGenerationMethods").and_then(Value::as_array);
    if methods.is_some_and(|methods| !methods.iter().any(|method| method == "generateContent")) {
        return None;
    }
    let name = string(item, "name")?;
    let profile = Profile {
        window: tokens(item, &["/inputTokenLimit"]),
        max_output: tokens(item, &["/outputTokenLimit"]),
        thinking: never_where(item.get("thinking").and_then(Value::as_bool)),
        ..Profile::default()
    };
    Some(ListedModel { name: name.strip_prefix("models/").unwrap_or(&name).to_owned(), profile })
}

/// Skips embedding models: they are of the BERT family.
fn ollama(item: &Value) -> Option<ListedModel> {
    let family = item.pointer("/details/family").and_then(Value::as_str).unwrap_or_default();
    if family.ends_with("bert") {
        return None;
    }
    Some(ListedModel { name: string(item, "name")?, profile: Profile::default() })
}

fn lm_studio(item: &Value) -> Option<ListedModel> {
    let kind = string(item, "type")?;
    if kind == "embeddings" {
        return None;
    }
    let profile = Profile {
        window: tokens(item, &["/loaded_context_length"]),
        images: Some(kind == "vlm"),
        ..Profile::default()
    };
    Some(ListedModel { name: string(item, "id")?, profile })
}

/// Converts a list's statement: that a model cannot think is certain; how to request thinking, a list does
/// not state.
fn never_where(thinks: Option<bool>) -> ThinkingStyle {
    if thinks == Some(false) { ThinkingStyle::Never } else { ThinkingStyle::Unknown }
}

/// Adds the windows of the models that an Ollama server has loaded.
fn add_loaded(models: &mut [ListedModel], loaded: &Value) {
    let Some(items) = loaded.get("models").and_then(Value::as_array) else { return };
    for item in items {
        let (Some(name), Some(window)) = (string(item, "name"), tokens(item, &["/context_length"])) else {
            continue;
        };
        for model in models.iter_mut().filter(|model| model.name == name) {
            model.profile.window = Some(window);
        }
    }
}

/// Reads a price as routers state it: as strings in dollars per token (OpenRouter), or as numbers in dollars
/// per million tokens (Together). A negative price means that it depends on the model that the router
/// selects.
fn price(pricing: &Value) -> Option<Price> {
    let for_one = |key: &str| {
        let dollars: f64 = pricing.get(key)?.as_str()?.trim().parse().ok()?;
        millionths(dollars * 1_000_000.0)
    };
    let for_million = |key: &str| millionths(pricing.get(key)?.as_f64()?);
    if let (Some(input), Some(output)) = (for_one("prompt"), for_one("completion")) {
        // A part priced at 0 although other input costs something is a missing price.
        let part = |key: &str| for_one(key).filter(|price| *price > 0 || input == 0);
        return Some(Price {
            input,
            output,
            cached_input: part("input_cache_read"),
            cache_write: part("input_cache_write"),
            reasoning: part("internal_reasoning").filter(|price| *price > 0),
            long: None,
        });
    }
    // A host that charges by the hour lists zeros here.
    let by_hour = pricing.get("hourly").and_then(Value::as_f64).is_some_and(|hourly| hourly > 0.0);
    match (for_million("input"), for_million("output")) {
        (Some(input), Some(output)) if !by_hour => Some(Price { input, output, ..Price::default() }),
        (Some(_) | None, Some(_) | None) => None,
    }
}

/// Converts dollars to millionths of a dollar; `None` for an implausible price.
fn millionths(dollars: f64) -> Option<u64> {
    if !(0.0..=1_000_000.0).contains(&dollars) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
    let millionths = (dollars * 1_000_000.0).round() as u64;
    Some(millionths)
}

#[cfg(test)]
mod tests;
