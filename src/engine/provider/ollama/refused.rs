//! Adds advice specific to this server to its errors.

use serde_json::Value;

use crate::provider::{ErrorClass, ProviderError};

/// Adds advice to the error: how to fetch a missing model, where to sign in. `body` is the unmodified body.
pub fn with_advice(mut error: ProviderError, body: &Value) -> ProviderError {
    let inner = body.get("error").and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
    if let Some(words) = inner.as_ref().and_then(inner_message) {
        // The model runner's own error, forwarded as text.
        words.clone_into(&mut error.message);
        if words.contains("context") {
            error.class = ErrorClass::ContextOverflow;
        }
    }
    if let Some(model) = missing_model(&error) {
        let help = format!("; `ollama pull {model}` fetches it");
        error.message.push_str(&help);
    }
    if let Some(url) = body.get("signin_url").and_then(Value::as_str) {
        let help = format!("; sign in at {url}");
        error.message.push_str(&help);
    }
    error
}

/// Returns the message within `{"error":{"message":…}}`.
fn inner_message(inner: &Value) -> Option<&str> {
    inner.get("error")?.get("message")?.as_str()
}

/// Returns the name in `model 'x' not found`; older servers use other quotes and give the advice themselves.
fn missing_model(error: &ProviderError) -> Option<String> {
    if error.class != ErrorClass::NotFound || error.message.contains("pull") {
        return None;
    }
    let (_, after) = error.message.split_once(['\'', '"'])?;
    let (name, _) = after.split_once(['\'', '"'])?;
    Some(name.to_owned())
}
