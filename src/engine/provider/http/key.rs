//! A provider's key: the only thing a caller can do with it is send it.

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::secrets::Secrets;

/// A secret. It has no `Debug`, no `Display` and no serialisation, so it cannot get into a log, a record or a
/// terminal.
#[derive(Clone)]
pub struct ApiKey(String);

/// The header that carries a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer …`
    Bearer,
    /// `x-api-key: …` (Anthropic)
    XApiKey,
    /// `x-goog-api-key: …` (Gemini)
    XGoogApiKey,
    /// `api-key: …` (Azure)
    ApiKey,
}

impl ApiKey {
    /// Creates a key from its configured text without surrounding spaces and line ends. `None` where it is
    /// empty.
    pub fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        (!key.is_empty()).then(|| Self(key.to_owned()))
    }

    /// Registers the key to be redacted from errors.
    pub(super) fn hide_with(&self, secrets: &mut Secrets) {
        secrets.add(&self.0);
        // The user may set a header to `Bearer …`: the word before the space is not secret.
        secrets.add(self.0.rsplit(' ').next().unwrap_or_default());
    }

    /// Returns the value of a secret header, after `prefix`. `None` where it holds characters that no header can
    /// have.
    pub(super) fn value(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Returns the header to send. `None` where the key holds characters that no header can have.
    pub(super) fn header(&self, header: KeyHeader) -> Option<(HeaderName, HeaderValue)> {
        let (name, prefix) = match header {
            KeyHeader::Bearer => (AUTHORIZATION, "Bearer "),
            KeyHeader::XApiKey => (HeaderName::from_static("x-api-key"), ""),
            KeyHeader::XGoogApiKey => (HeaderName::from_static("x-goog-api-key"), ""),
            KeyHeader::ApiKey => (HeaderName::from_static("api-key"), ""),
        };
        Some((name, self.value(prefix)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_headers() {
        for (key, header, expected) in [
            (" sk-1\n", KeyHeader::Bearer, Some("authorization: Bearer sk-1")),
            ("sk-1", KeyHeader::XApiKey, Some("x-api-key: sk-1")),
            ("sk-1", KeyHeader::XGoogApiKey, Some("x-goog-api-key: sk-1")),
            ("sk-1", KeyHeader::ApiKey, Some("api-key: sk-1")),
            ("sk\n1", KeyHeader::Bearer, None),
            ("sk\u{1}1", KeyHeader::XApiKey, None),
        ] {
            let made = ApiKey::new(key).unwrap().header(header);
            let shown = made.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
            assert_eq!(shown.as_deref(), expected);
        }
        assert!(ApiKey::new(" \n").is_none());
    }
}
