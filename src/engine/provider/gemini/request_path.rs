//! Builds the request path: this wire names the model in it.

use crate::provider::wire_text::percent_encode;

/// Returns the path for a streamed reply of `model`: `x`, `models/x`, `tunedModels/x` or, behind a gateway,
/// `team/x`.
pub fn of(model: &str) -> String {
    let model = model.trim_matches('/');
    let (collection, name) = match model.split_once('/') {
        Some(("models", name)) => ("models", name),
        Some(("tunedModels", name)) => ("tunedModels", name),
        Some(_) | None => ("models", model),
    };
    // Slashes stay, because gateways use them as separators.
    let name = percent_encode(name, b"-._~@/");
    format!("/v1beta/{collection}/{name}:streamGenerateContent?alt=sse")
}
