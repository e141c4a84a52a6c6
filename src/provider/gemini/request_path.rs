//! Builds the request path: this wire names the model in it.

use std::fmt::Write as _;

/// Returns the path for a streamed reply of `model`: `x`, `models/x`, `tunedModels/x` or, behind a gateway,
/// `team/x`.
pub fn of(model: &str) -> String {
    let model = model.trim_matches('/');
    let (collection, name) = match model.split_once('/') {
        Some(("models", name)) => ("models", name),
        Some(("tunedModels", name)) => ("tunedModels", name),
        Some(_) | None => ("models", model),
    };
    format!("/v1beta/{collection}/{}:streamGenerateContent?alt=sse", encoded(name))
}

/// Escapes a name for a path. Slashes stay, because gateways use them as separators.
fn encoded(name: &str) -> String {
    let mut path = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~@/".contains(&byte) {
            path.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path
}
