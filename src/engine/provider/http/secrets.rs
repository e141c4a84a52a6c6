//! Redacts what no error may repeat: keys, secret headers, passwords.
//!
//! Services quote the key that they refuse, and gateways echo whole requests. The HTTP layer knows what it
//! sent, so it redacts that from a body before the body is parsed and from each error before it is returned.
//! Has no `Debug`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;

use crate::provider::ProviderError;
use crate::stdx::secrecy::names_a_secret;

/// The replacement for a secret.
const MARK: &str = "[redacted]";

/// The shortest secret that is redacted, in bytes: shorter ones would match ordinary words.
const SHORTEST: usize = 8;

/// All secrets in the requests to one endpoint.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// Adds a secret; ignores one that is too short.
    pub fn add(&mut self, secret: &str) {
        if secret.len() >= SHORTEST && !self.0.iter().any(|known| known == secret) {
            self.0.push(secret.to_owned());
            // The longest first: where one secret is a prefix of another, the rest of the longer one must not
            // remain.
            self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// Adds the secrets of an address: a password as written, decoded and as sent, and secret query fields.
    pub fn add_address(&mut self, address: &str) {
        let Ok(url) = Url::parse(address) else { return };
        for (name, value) in url.query_pairs() {
            if names_a_secret(&name) {
                self.add(&value);
            }
        }
        let fields = url.query().unwrap_or_default().split('&').filter_map(|field| field.split_once('='));
        for (_, value) in fields.filter(|(name, _)| names_a_secret(name)) {
            self.add(value);
        }
        if let Some(password) = url.password() {
            self.add(password);
            let (name, decoded) = (decode_percent(url.username()), decode_percent(password));
            self.add(&STANDARD.encode(format!("{name}:{decoded}")));
            self.add(&decoded);
        }
    }

    pub fn into_list(self) -> Vec<String> {
        self.0
    }

    /// Returns the text without the secrets. The beginning of a secret at the text's end, where it was cut,
    /// is redacted too.
    pub fn hide(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for secret in &self.0 {
            if out.contains(secret.as_str()) {
                out = out.replace(secret.as_str(), MARK);
            }
            let (kept, ellipsis) = match out.strip_suffix('…') {
                Some(kept) => (kept, "…"),
                None => (out.as_str(), ""),
            };
            let begun = (SHORTEST..secret.len())
                .rev()
                .filter_map(|length| secret.get(..length))
                .find_map(|start| kept.strip_suffix(start));
            if let Some(before) = begun {
                out = format!("{before}{MARK}{ellipsis}");
            }
        }
        out
    }

    /// Redacts the bytes of a body; bytes that are not UTF-8 are replaced.
    pub fn hide_in(&self, body: Vec<u8>) -> Vec<u8> {
        if self.0.is_empty() {
            return body;
        }
        self.hide(&String::from_utf8_lossy(&body)).into_bytes()
    }

    /// Redacts an error's message, code and request id.
    pub fn hide_in_error(&self, mut error: ProviderError) -> ProviderError {
        error.message = self.hide(&error.message);
        error.code = error.code.map(|code| self.hide(&code));
        error.request_id = error.request_id.map(|id| self.hide(&id));
        error
    }
}

/// Decodes the `%XX` escapes of an address.
fn decode_percent(text: &str) -> String {
    let mut url = Url::parse("http://x/").expect("a constant address");
    // Outside of queries a plus is a literal plus.
    url.set_query(Some(&format!("v={}", text.replace('+', "%2B"))));
    url.query_pairs().map(|(_, value)| value.into_owned()).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out() {
        let mut secrets = Secrets::default();
        secrets.add("sk-12345678");
        secrets.add("sk-12345678-long");
        secrets.add("short");
        secrets.add_address("http://name:p%40ssword9@proxy.example:1?key=query-secret&x=harmless-value");
        for (text, expected) in [
            ("the key sk-12345678 is wrong", "the key [redacted] is wrong"),
            ("sk-12345678-long, sk-12345678", "[redacted], [redacted]"),
            ("short", "short"),
            ("cut off: sk-12345678-lo", "cut off: [redacted]"),
            ("cut off: sk-12345", "cut off: [redacted]"),
            ("cut off: sk-12345…", "cut off: [redacted]…"),
            ("cut off: sk-1", "cut off: sk-1"),
            ("p@ssword9 p%40ssword9 bmFtZTpwQHNzd29yZDk=", "[redacted] [redacted] [redacted]"),
            ("query-secret harmless-value", "[redacted] harmless-value"),
        ] {
            assert_eq!(secrets.hide(text), expected);
        }
    }
}
