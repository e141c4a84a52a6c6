//! Whether a text names a web address, all of it. Pure.
//!
//! A model that may fetch what it makes up may send what it knows to anyone. So what a text holds is compared whole: an
//! address that only begins like one in the text is another one. Reads each text once, and parses only what begins with the
//! same host.

use memchr::memmem;
use url::Url;

/// Characters around an address that are no part of it, or may be.
const AROUND: &[char] =
    &['\'', '(', ')', '[', ']', '|', '*', '_', ',', ';', '“', '”', '„', '‘', '’', '«', '»'];

/// Characters that no address has in it.
const NEVER: &[char] = &['"', '<', '>', '{', '}', '`', '\\', '^'];

/// Marks that may follow an address in a sentence.
const ENDS: &[char] = &['.', ',', ';', ':', '!', '?', '…'];

/// Whether a text holds this address, written as the library for addresses writes it.
pub(super) fn in_text(text: &str, url: &str) -> bool {
    let Some(host) = host(url) else { return false };
    memmem::find_iter(text.as_bytes(), "://").any(|at| {
        let scheme = ["https", "http"]
            .iter()
            .find(|scheme| text.get(..at).is_some_and(|before| before.ends_with(*scheme)));
        let behind = text.get(at + 3..).unwrap_or_default();
        let Some(scheme) = scheme.filter(|_| may_begin(behind, &host)) else { return false };
        let from = text.get(at - scheme.len()..).unwrap_or_default();
        readings(address_part(from, url)).any(|one| is(one, url))
    })
}

/// The same for what the user wrote, where `https://` may be left out before a path, or before `www.`.
pub(super) fn by_person(text: &str, url: &str) -> bool {
    let Some(host) = host(url) else { return false };
    let bare = |word: &str| {
        let name = word.split('/').next().unwrap_or_default();
        let is_address = name.contains('.') && word.contains('/') || word.starts_with("www.");
        is_address && is(&format!("https://{word}"), url)
    };
    let words = text.split(|c: char| c.is_whitespace() || c.is_control() || NEVER.contains(&c));
    let starts = words.map(|word| word.trim_start_matches(AROUND)).filter(|word| may_begin(word, &host));
    in_text(text, url) || starts.flat_map(|word| readings(address_part(word, url))).any(bare)
}

fn host(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(ToOwned::to_owned)
}

/// Whether a text may begin with a host: what is not ASCII may be another spelling of it.
fn may_begin(text: &str, host: &str) -> bool {
    let begins = text.get(..host.len()).is_some_and(|start| start.eq_ignore_ascii_case(host));
    begins
        || !text.chars().take_while(|c| !matches!(c, '/' | '?' | '#')).take(host.len()).all(|c| c.is_ascii())
}

/// Returns the part of a text that may be this address: up to a character that no address has, and not much longer.
fn address_part<'a>(text: &'a str, url: &str) -> &'a str {
    let longest = text.floor_char_boundary(url.len() * 3 + 64);
    let text = text.get(..longest).unwrap_or(text);
    let end = text.find(|c: char| c.is_whitespace() || c.is_control() || NEVER.contains(&c));
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// Returns where an address that begins here may end: before each character that may be around it, and at the end of the
/// text, in each case also without marks of a sentence.
fn readings(text: &str) -> impl Iterator<Item = &str> {
    let ends = text.char_indices().filter(|(_, c)| AROUND.contains(c)).map(|(at, _)| at);
    ends.chain([text.len()])
        .filter_map(|end| text.get(..end))
        .flat_map(|one| [one, one.trim_end_matches(ENDS)])
}

fn is(text: &str, url: &str) -> bool {
    Url::parse(text).is_ok_and(|mut found| {
        found.set_fragment(None);
        found.as_str() == url
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_named_whole_or_not_at_all() {
        let cases: &[(&str, &str, bool, bool)] = &[
            // text, address, in a page, by the user
            ("see https://a.b/c", "https://a.b/c", true, true),
            ("see https://a.b/c.", "https://a.b/c", true, true),
            ("[docs](https://a.b/c), yes", "https://a.b/c", true, true),
            ("<https://a.b/c>", "https://a.b/c", true, true),
            ("https://a.b/c#part", "https://a.b/c", true, true),
            ("https://A.B", "https://a.b/", true, true),
            ("**https://a.b/x_y**", "https://a.b/x_y", true, true),
            ("https://a.b/wiki/X_(y)", "https://a.b/wiki/X_(y)", true, true),
            ("https://a.b/c", "https://a.b/c?q=secret", false, false),
            ("https://a.b/c", "https://a.b/", false, false),
            ("https://a.b/c", "https://a.b/c/d", false, false),
            ("https://a.b/c?q=1", "https://a.b/c", false, false),
            ("https://a.b/c", "http://a.b/c", false, false),
            ("https://xa.b/c", "https://a.b/c", false, false),
            ("a.b/c", "https://a.b/c", false, true),
            ("read \"a.b/c\"!", "https://a.b/c", false, true),
            ("a.b/", "https://a.b/", false, true),
            ("www.a.b", "https://www.a.b/", false, true),
            // Names of files are no addresses.
            ("a.b", "https://a.b/", false, false),
            ("fix main.rs and setup.py", "https://main.rs/", false, false),
            ("see a/b.c", "https://b.c/", false, false),
            ("a.b/", "https://a.b/x", false, false),
            ("https://b\u{fc}cher.de/x", "https://xn--bcher-kva.de/x", true, true),
            ("{\"url\":\"https://a.b/c\",\"n\":1}", "https://a.b/c", true, true),
            // The same host to a browser.
            ("https://a.\u{200b}b/", "https://a.b/", true, true),
            ("", "https://a.b/", false, false),
        ];
        for (text, url, in_page, by_user) in cases {
            assert_eq!((in_text(text, url), by_person(text, url)), (*in_page, *by_user), "{text} {url}");
        }
    }

    #[test]
    fn one_long_line_costs_one_reading() {
        // A reading of each part by each other part would take minutes.
        let hostile = format!("{}https://a.b/other", "https://a.b/,".repeat(8_000));
        assert!(!in_text(&hostile, "https://a.b/c") && !by_person(&hostile, "https://a.b/c"));
    }
}
