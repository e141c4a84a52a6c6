//! Redaction of addresses and of texts for display, and detection of names whose values are secret.
//!
//! Pure. Called wherever addresses are shown to the user, and by the HTTP shell.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::{Captures, Regex};

/// Texts that may be keys and tokens by their form. `keep` and `url` stay; a text without a digit is none.
const FORMS: &str = concat!(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)-----END [A-Z ]*PRIVATE KEY-----",
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[ \t\r\n]+(?:[A-Za-z0-9+/=]{16,}[ \t\r\n]*)+",
    r"|\bsk-[A-Za-z0-9_-]{20,}|\b[spr]k_(?:live|test)_[A-Za-z0-9]{10,}",
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}",
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}",
    r"|\b(?:hf_|npm_|gsk_|pypi-|xai-)[A-Za-z0-9]{20,}",
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"|(?P<url>[a-z][a-z0-9+.-]*://[^ \t\r\n:/@]+:)[^ \t\r\n/@]+@",
    r#"|(?P<keep>(?i:(?:bearer|basic)[ \t\r\n]+|(?:password|passwd|secret|token|api[_-]?key)[A-Za-z0-9_-]{0,20}["']?[ \t\r\n]*[:=][ \t\r\n]*["']?))"#,
    r"[A-Za-z0-9+/._~=-]{8,}",
);

/// Markers that every such text contains, in any case. Most texts contain none, and need no pattern: making it takes
/// longer than a short turn.
const HINTS: &[&str] = &[
    "private key-----",
    "sk-",
    "k_live_",
    "k_test_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "akia",
    "asia",
    "aiza",
    "hf_",
    "npm_",
    "gsk_",
    "pypi-",
    "xai-",
    "eyj",
    "://",
    "bearer",
    "basic",
    "passw",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
];

/// Returns a text in which keys, tokens and private keys are replaced. By form only: what looks like none stays, and what
/// looks like one goes.
#[must_use]
pub fn mask(text: &str) -> Cow<'_, str> {
    static PATTERN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(FORMS).expect("the pattern is fixed and tested"));
    if !has_hint(text) {
        return Cow::Borrowed(text);
    }
    PATTERN.replace_all(text, |found: &Captures<'_>| {
        let whole = found.get(0).map_or("", |whole| whole.as_str());
        if let Some(url) = found.name("url") {
            return format!("{}{MASK}@", url.as_str());
        }
        let keep = found.name("keep").map_or("", |keep| keep.as_str());
        let value = whole.strip_prefix(keep).unwrap_or(whole);
        // Words have no digits.
        let is_word = !value.starts_with('-') && !value.bytes().any(|byte| byte.is_ascii_digit());
        if is_word { whole.to_owned() } else { format!("{keep}{MASK}") }
    })
}

/// Whether a text contains what all keys and tokens contain, so that [`mask`] may change it or what follows it.
#[must_use]
pub fn has_hint(text: &str) -> bool {
    static HINTED: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let mut hints = AhoCorasick::builder();
        // Quick to build, because most processes search only a little.
        hints.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::NoncontiguousNFA)).prefilter(false);
        hints.build(HINTS).expect("the hints are few")
    });
    HINTED.is_match(text)
}

/// The text that replaces a key.
const MASK: &str = "[masked]";

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
            ("AKIAIOSFODNN7EXAMPLE", "[masked]"),
            ("Authorization: Bearer abc123def456ghi", "Authorization: Bearer [masked]"),
            ("password = hunter2hunter2", "password = [masked]"),
            ("\"api_key\": \"0123456789abcdef\"", "\"api_key\": \"[masked]\""),
            ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4", "[masked]"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nend", "[masked]\nend"),
            ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq1234\n", "[masked]"),
            ("password = Summer-Vacation2024", "password = [masked]"),
            ("Bearer abcdefghijklmnopqrst99", "Bearer [masked]"),
            ("sk-ant-api03-0123456789abcdef-_AbCdEfGhIj", "[masked]"),
            ("AWS_SECRET_ACCESS_KEY=abcd1234/efgh+ijkl", "AWS_SECRET_ACCESS_KEY=[masked]"),
            ("postgres://u:p4ssw0rd123@h/db", "postgres://u:[masked]@h/db"),
            ("see secret 2024-11-23", ""),
            ("the token ./tests/v1/fixtures.json", ""),
            ("npm-check-updates-for-everybody, hf_some_long_function_name_here", ""),
            ("grep for -----BEGIN PRIVATE KEY----- and go on", ""),
            ("https://example.org:8443/a@b", ""),
            ("the token of my appreciation, basic arithmetic, a secret garden", ""),
            ("a skip-list of sk-8 and task-manager-for-everybody", ""),
        ] {
            let expected = if shown.is_empty() { text } else { shown };
            assert_eq!(mask(text), expected);
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
