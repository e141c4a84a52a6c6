//! Redaction of addresses for display, and detection of names whose values are secret.
//!
//! Pure. Called wherever addresses are shown to the user, and by the HTTP shell.

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
