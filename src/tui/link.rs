//! Links: addresses made safe for the terminal, and the screen cells that carry them.
//!
//! An address comes from a model or a tool. Only schemes that a user expects to open are kept, and every byte
//! that is not allowed unencoded in an address is percent-encoded, so that none can end the escape sequence
//! that contains it. Called by the Markdown renderer, carried by spans, collected by the view for the shell.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// The longest encoded address, in bytes; terminals refuse longer ones, and a truncated address is useless.
const LONGEST: usize = 2_000;

/// An address that may be sent to the terminal: printable ASCII without spaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link(Arc<str>);

impl Link {
    /// Returns the link to `address`; `None` if its scheme is not allowed or it is too long.
    pub fn to(address: &str) -> Option<Self> {
        let address = address.trim();
        if !leads_somewhere(address) {
            return None;
        }
        let mut encoded = String::with_capacity(address.len());
        for byte in address.bytes().take(LONGEST + 1) {
            if is_plain(byte) {
                encoded.push(char::from(byte));
            } else {
                write!(encoded, "%{byte:02X}").expect("writing to a string cannot fail");
            }
        }
        (encoded.len() <= LONGEST).then(|| Self(encoded.into()))
    }

    pub fn address(&self) -> &str {
        &self.0
    }
}

/// Cells of one row that carry a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedCells {
    pub row: u16,
    pub columns: Range<u16>,
    pub link: Link,
}

/// Whether an address has an allowed scheme and something behind it. Local files are not allowed: a model
/// could name any.
fn leads_somewhere(address: &str) -> bool {
    ["https://", "http://", "mailto:"].into_iter().any(|scheme| {
        let parts = address.split_at_checked(scheme.len());
        parts.is_some_and(|(start, rest)| start.eq_ignore_ascii_case(scheme) && !rest.is_empty())
    })
}

/// Whether a byte is allowed unencoded in an address (RFC 3986), including the percent sign.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
}

/// Returns the byte ranges of the bare web addresses in `text`.
pub fn bare_addresses(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = next_scheme(text, from) {
        let (_, rest) = text.split_at(start);
        let ends =
            |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '|' | '\\' | '^' | '{' | '}');
        let end = rest.find(ends).unwrap_or(rest.len());
        let (whole, _) = rest.split_at(end);
        let address = if whole.len() > LONGEST { "" } else { without_closing(whole) };
        let host = address.split_once("://").map_or("", |(_, host)| host);
        if host.starts_with(|c: char| c.is_alphanumeric() || c == '[') {
            found.push(start..start + address.len());
        }
        from = start + end.max(1);
    }
    found
}

fn next_scheme(text: &str, from: usize) -> Option<usize> {
    let mut from = from;
    loop {
        let (_, rest) = text.split_at_checked(from)?;
        let at = from + rest.find("http")?;
        let (before, rest) = text.split_at(at);
        let begins = !before.ends_with(char::is_alphanumeric);
        if begins && (rest.starts_with("https://") || rest.starts_with("http://")) {
            return Some(at);
        }
        from = at + 4;
    }
}

/// Removes full stops and brackets behind an address, which belong to the sentence, unless the address opened
/// the bracket.
fn without_closing(address: &str) -> &str {
    let mut address = address;
    loop {
        let closes = |open: char, close: char| {
            address.ends_with(close) && address.matches(close).count() > address.matches(open).count()
        };
        let stops =
            address.ends_with(['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~', '…', '、', '。', '）']);
        if !(stops || closes('(', ')') || closes('[', ']')) {
            return address;
        }
        let mut chars = address.chars();
        chars.next_back();
        address = chars.as_str();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_expected_addresses_are_links() {
        let cases: &[(&str, Option<&str>)] = &[
            ("https://a.example/b?c=d#e", Some("https://a.example/b?c=d#e")),
            (" HTTP://a ", Some("HTTP://a")),
            ("mailto:a@b.example", Some("mailto:a@b.example")),
            ("file:///tmp/a b", None),
            ("file://elsewhere/x", None),
            ("https://", None),
            ("javascript:alert(1)", None),
            ("ssh://host", None),
            ("relative/path", None),
            ("https://a/\u{1b}]8;;x\u{7}", Some("https://a/%1B]8;;x%07")),
            ("https://ä.example/日", Some("https://%C3%A4.example/%E6%97%A5")),
            ("https://a/\u{202e}x", Some("https://a/%E2%80%AEx")),
        ];
        for (address, expected) in cases {
            assert_eq!(Link::to(address).as_ref().map(Link::address), *expected, "{address:?}");
        }
        assert_eq!(Link::to(&format!("https://a/{}", "x".repeat(LONGEST))), None);
    }

    #[test]
    fn bare_addresses_end_where_the_sentence_goes_on() {
        let cases: &[(&str, &[&str])] = &[
            ("see https://a.example/b.", &["https://a.example/b"]),
            ("(http://a/b)", &["http://a/b"]),
            ("https://a/b_(c) and http://d", &["https://a/b_(c)", "http://d"]),
            ("xhttp://no https:// http://", &[]),
            ("https://a/b?", &["https://a/b"]),
            ("http", &[]),
        ];
        for (text, expected) in cases {
            let found: Vec<&str> =
                bare_addresses(text).into_iter().filter_map(|range| text.get(range)).collect();
            assert_eq!(found, *expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn an_address_is_printable_ascii(tail in "\\PC{0,20}|[\u{0}-\u{ff}]{0,20}") {
            if let Some(link) = Link::to(&format!("https://x{tail}")) {
                prop_assert!(link.address().bytes().all(|byte| byte.is_ascii_graphic()));
            }
            bare_addresses(&tail);
        }
    }
}
