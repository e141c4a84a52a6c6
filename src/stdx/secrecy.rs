//! Redaction of addresses and of texts for display, and detection of names whose values are secret.
//!
//! Pure. Called wherever addresses are shown to the user, and by the HTTP shell.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Texts that are keys and tokens by their form; the group `keep` stays.
const FORMS: &str = concat!(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    r"|\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{16,}",
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}",
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}",
    r"|\b(?:hf|npm|pypi|gsk|xai)[-_][A-Za-z0-9_-]{20,}",
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r#"|(?P<keep>(?i:bearer|basic|password|passwd|secret|token|api[_-]?key)["']?(?:\s+|\s*[:=]\s*["']?))[A-Za-z0-9+/._~-]*[0-9][A-Za-z0-9+/._~=-]{7,}"#,
);

/// Returns a text in which keys, tokens and private keys are replaced. By form only: what looks like none stays.
#[must_use]
pub fn masked(text: &str) -> Cow<'_, str> {
    static PATTERN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(FORMS).expect("the pattern is fixed and tested"));
    PATTERN.replace_all(text, "${keep}[masked]")
}

/// Substrings of the names of headers and query fields whose values are secret.
const NAMES: [&str; 8] = ["auth", "key", "token", "secret", "cookie", "pass", "sig", "credential"];

/// The placeholder for a redacted value.
const HIDDEN: &str = "(hidden)";

/// Whether a header or a query field of that name holds a secret.
#[must_use]
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|part| name.contains(part))
}

/// Returns an address without the user name and password before its host and without secret values in its
/// query. A text that is not a valid address is processed as one as far as possible.
#[must_use]
pub fn shown_address(address: &str) -> String {
    let (place, query) =
        address.split_once('?').map_or((address, None), |(place, query)| (place, Some(query)));
    let (scheme, rest) = place.split_once("://").map_or(("", place), |(scheme, rest)| (scheme, rest));
    let (host, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let mut shown = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    shown.push_str(host);
    shown.push_str(path);
    if let Some(query) = query {
        let fields = query.split('&').map(|field| match field.split_once('=') {
            Some((name, _)) if names_a_secret(name) => format!("{name}={HIDDEN}"),
            Some(_) | None => field.to_owned(),
        });
        shown.push('?');
        shown.push_str(&fields.collect::<Vec<_>>().join("&"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_tokens_are_masked() {
        for (text, shown) in [
            ("key sk-ant-api03-abcdefghijklmnop1234 ok", "key [masked] ok"),
            ("sk_live_abcdefghijklmnop1234", "[masked]"),
            ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[masked]"),
            ("AKIAABCDEFGHIJKLMNOP", "[masked]"),
            ("Authorization: Bearer abc123def456ghi", "Authorization: Bearer [masked]"),
            ("password = hunter2hunter2", "password = [masked]"),
            ("\"api_key\": \"0123456789abcdef\"", "\"api_key\": \"[masked]\""),
            ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4", "[masked]"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nend", "[masked]\nend"),
            ("-----BEGIN PRIVATE KEY-----\nMIIE", "[masked]"),
            ("the token of my appreciation, basic arithmetic, a secret garden", ""),
            ("a skip-list of sk-8 and task-manager-for-everybody", ""),
        ] {
            let expected = if shown.is_empty() { text } else { shown };
            assert_eq!(masked(text), expected);
        }
    }

    #[test]
    fn names_tell_what_is_secret() {
        for (name, secret) in [
            ("Authorization", true),
            ("x-goog-api-key", true),
            ("X-Auth-Token", true),
            ("HTTP-Referer", false),
            ("anthropic-beta", false),
            ("api-version", false),
        ] {
            assert_eq!(names_a_secret(name), secret, "{name}");
        }
    }

    #[test]
    fn addresses_are_shown_without_secrets() {
        for (address, shown) in [
            ("https://api.example/v1", "https://api.example/v1"),
            ("https://name:pass@x.example:8/a@b", "https://x.example:8/a@b"),
            ("ftp://x/?key=sk-1&alt=sse", "ftp://x/?key=(hidden)&alt=sse"),
            ("https://x/?api-version=2024-10-21", "https://x/?api-version=2024-10-21"),
            ("name:pass@x.example:3128", "x.example:3128"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(shown_address(address), shown);
        }
    }
}
