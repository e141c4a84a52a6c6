//! Which web addresses may be asked. Pure: names are not resolved here.

use url::{Host, Url};

use super::super::work::misuse;
use crate::stdx::public_address::{why_name_is_not_public, why_not_public};
use crate::stdx::text::sanitize_line;
use crate::tool::ToolError;

/// The longest address in bytes.
const LONGEST: usize = 8 * 1024;

/// The domains that may be asked; each covers its subdomains.
#[derive(Debug, Clone, Default)]
pub struct Domains {
    /// If there are any, only these.
    pub allowed: Vec<String>,
    /// Never these, whatever is allowed.
    pub blocked: Vec<String>,
}

impl Domains {
    /// Creates the lists of the settings; what is no domain is left out.
    #[must_use]
    pub fn of(allowed: &[String], blocked: &[String]) -> Self {
        let all = |list: &[String]| list.iter().filter_map(|text| domain(text)).collect();
        Self { allowed: all(allowed), blocked: all(blocked) }
    }

    /// Says which setting excludes a host.
    fn excluding_setting(&self, host: &str) -> Option<&'static str> {
        let is_in = |list: &[String]| list.iter().any(|domain| covers(domain, host));
        if is_in(&self.blocked) {
            return Some("it is in `web.blocked_domains`");
        }
        (!self.allowed.is_empty() && !is_in(&self.allowed)).then_some("it is not in `web.allowed_domains`")
    }

    /// Checks everything about an address that is known without the network. Errs with a hint.
    pub fn check(&self, url: &Url) -> Result<(), ToolError> {
        let no = |why: &str| Err(misuse(format!("{} cannot be fetched: {why}", address_line(url))));
        if !matches!(url.scheme(), "http" | "https") {
            return no("only http:// and https:// addresses can");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return no("it holds a name or a password");
        }
        let private = match url.host() {
            None => return no("it names no host"),
            Some(Host::Domain(name)) => why_name_is_not_public(name),
            Some(Host::Ipv4(address)) => why_not_public(address.into()),
            Some(Host::Ipv6(address)) => why_not_public(address.into()),
        };
        if let Some(what) = private {
            return no(&format!("its host is {what}, and only public hosts are reached"));
        }
        match self.excluding_setting(url.host_str().unwrap_or_default()) {
            Some(why) => no(why),
            None => Ok(()),
        }
    }
}

/// Reads an address as a model writes it; a fragment is dropped. Errs with a hint.
pub fn parse(text: &str) -> Result<Url, ToolError> {
    let text = text.trim();
    if text.len() > LONGEST {
        return Err(misuse(format!("the address is longer than {LONGEST} bytes")));
    }
    let mut url = Url::parse(text).map_err(|error| {
        let shown = sanitize_line(text);
        misuse(format!(
            "{shown:?} is not a web address ({error}); write all of it, as https://example.com/page"
        ))
    })?;
    url.set_fragment(None);
    Ok(url)
}

/// Formats an address without its query and login, for errors.
pub fn address_line(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    // A URL that cannot have a name or a password has none.
    let _ = (url.set_username(""), url.set_password(None));
    sanitize_line(url.as_str()).into_owned()
}

/// Reads a domain as people write it: `docs.rs`, `*.docs.rs`, `https://docs.rs/x`; in the form in which addresses have it.
#[must_use]
pub fn domain(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let text = text.split(['/', '?', '#', ':']).next().unwrap_or_default();
    match Host::parse(text.trim_start_matches("*.").trim_matches('.')).ok()? {
        Host::Domain(name) if name.contains('.') => Some(name),
        Host::Domain(_) | Host::Ipv6(_) => None,
        Host::Ipv4(address) => Some(address.to_string()),
    }
}

/// Whether a host is this domain or below it.
pub fn covers(domain: &str, host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str, domains: &Domains) -> String {
        match parse(text).and_then(|url| domains.check(&url).map(|()| url)) {
            Ok(url) => url.to_string(),
            Err(error) => format!("! {error}"),
        }
    }

    #[test]
    fn addresses_are_checked_before_anything_is_asked() {
        let any = Domains::default();
        for (text, expected) in [
            ("https://example.com", "https://example.com/"),
            (" https://Example.com/a b?q=1#top ", "https://example.com/a%20b?q=1"),
            ("https://ex\u{e4}mple.com/", "https://xn--exmple-cua.com/"),
            ("example.com", "! \"example.com\" is not a web address"),
            ("", "! \"\" is not a web address"),
            ("file:///etc/passwd", "! file:///etc/passwd cannot be fetched: only http"),
            ("ftp://example.com/", "! ftp://example.com/ cannot be fetched: only http"),
            ("https://me:pw@example.com/", "! https://example.com/ cannot be fetched: it holds a name"),
            (
                "http://127.0.0.1:8080/x?key=1",
                "! http://127.0.0.1:8080/x cannot be fetched: its host is this machine",
            ),
            // Other spellings of the same addresses.
            ("http://2130706433/", "! http://127.0.0.1/ cannot be fetched: its host is this machine"),
            ("http://0x7f.1/", "! http://127.0.0.1/ cannot be fetched: its host is this machine"),
            ("http://0/", "! http://0.0.0.0/ cannot be fetched: its host is an unspecified"),
            (
                "http://[::ffff:10.0.0.1]/",
                "! http://[::ffff:a00:1]/ cannot be fetched: its host is a private",
            ),
            ("http://[::]/", "! http://[::]/ cannot be fetched: its host is an unspecified"),
            (
                "http://169.254.169.254/latest",
                "! http://169.254.169.254/latest cannot be fetched: its host is a link-local",
            ),
            ("http://100.100.1.1/", "! http://100.100.1.1/ cannot be fetched: its host is a network behind"),
            (
                "http://metadata.google.internal/",
                "! http://metadata.google.internal/ cannot be fetched: its host is a metadata",
            ),
            (
                "http://localhost./",
                "! http://localhost./ cannot be fetched: its host is a name of this machine",
            ),
        ] {
            let found = checked(text, &any);
            assert!(found.starts_with(expected), "{text:?}: {found}");
        }
        assert!(checked(&format!("https://a.b/{}", "x".repeat(9000)), &any).contains("longer than"));
    }

    #[test]
    fn lists_of_domains_cover_subdomains_and_nothing_else() {
        let domains = |allowed: &[&str], blocked: &[&str]| {
            let all = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
            Domains::of(&all(allowed), &all(blocked))
        };
        let allowed = ["docs.rs", "*.Example.com", "b\u{fc}cher.de"];
        let lists = domains(&allowed, &["https://bad.example.com:443/x", "no domain", "localhost"]);
        assert_eq!(lists.blocked, ["bad.example.com"]);
        for (host, is_allowed) in [
            ("docs.rs", true),
            ("DOCS.RS.", true),
            ("static.docs.rs", true),
            ("notdocs.rs", false),
            ("docs.rs.evil.net", false),
            ("example.com", true),
            ("a.b.example.com", true),
            ("bad.example.com", false),
            ("x.bad.example.com", false),
            ("other.org", false),
            ("xn--bcher-kva.de", true),
        ] {
            assert_eq!(lists.excluding_setting(host).is_none(), is_allowed, "{host}");
        }
        assert_eq!(domains(&[], &["a.b"]).excluding_setting("c.d"), None);
    }
}
