//! Finds addresses, URLs and hosts in a text: short, but sufficient to send data to the wrong place.
//!
//! A name counts as a host by its last label, because names of files and in code contain dots too. Hosts
//! missed by that rule still count if written with `://` or `@`.

use super::spelling::{DecodedChar, decode_chars};

/// Minimum characters of an address; shorter ones are shared by chance.
const SHORTEST: usize = 8;

/// Two-letter last labels that are far more often file extensions.
const SUFFIXES: [&str; 18] = [
    "cc", "cs", "gz", "hs", "js", "kt", "md", "ml", "pl", "ps", "py", "rb", "rs", "sh", "so", "ts", "vb",
    "xz",
];

/// Last labels of hosts with more than two letters.
const LABELS: [&str; 40] = [
    "academy",
    "agency",
    "app",
    "biz",
    "blog",
    "cloud",
    "club",
    "com",
    "company",
    "dev",
    "digital",
    "edu",
    "email",
    "example",
    "gov",
    "host",
    "info",
    "int",
    "internal",
    "invalid",
    "link",
    "live",
    "local",
    "localhost",
    "mil",
    "mobi",
    "name",
    "net",
    "network",
    "news",
    "onion",
    "online",
    "org",
    "page",
    "pro",
    "shop",
    "site",
    "store",
    "top",
    "xyz",
];

/// An address in its normalized form, and its byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub form: String,
    pub start: usize,
    pub end: usize,
    pub shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// With `://` or `@`.
    Full,
    /// A host by itself.
    Host,
    /// A host at the beginning of what may also be a path.
    InPath,
}

/// Passes every address of a text to `found`, in order; for a URL, the whole URL and its host.
pub(super) fn addresses(text: &str, mut found: impl FnMut(Address)) {
    let mut word: Vec<DecodedChar> = Vec::new();
    for one in decode_chars(text) {
        if parts(one.c) {
            in_word(&word, &mut found);
            word.clear();
        } else if !is_invisible(one.c) {
            word.push(one);
        }
    }
    in_word(&word, &mut found);
}

/// Whether a character separates words that may be addresses.
fn parts(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '"' | '\'' | '`' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | ',' | ';' | '\\' | '^'
        )
        || matches!(c, '“' | '”' | '„' | '‘' | '’' | '«' | '»' | '…')
}

/// Whether a character is invisible and not white space.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e01ef}')
}

fn in_word(word: &[DecodedChar], found: &mut impl FnMut(Address)) {
    if word.len() < SHORTEST {
        return;
    }
    let schemes = schemes(word);
    if !schemes.is_empty() {
        return urls(word, &schemes, found);
    }
    let mails: Vec<usize> = (0..word.len()).filter(|at| word[*at].c == '@').collect();
    if mails.is_empty() { hosts(word, found) } else { mails.iter().for_each(|at| mail(word, *at, found)) }
}

/// For each `://`: the start of the scheme before it, and the index after it.
fn schemes(word: &[DecodedChar]) -> Vec<(usize, usize)> {
    let marks = word.windows(3).enumerate();
    let marks = marks.filter(|(_, three)| three[0].c == ':' && three[1].c == '/' && three[2].c == '/');
    marks
        .map(|(at, _)| {
            let scheme = word[..at].iter().rev().take_while(|one| one.c.is_alphanumeric() || one.c == '+');
            (at - scheme.count(), at + 3)
        })
        .collect()
}

fn urls(word: &[DecodedChar], schemes: &[(usize, usize)], found: &mut impl FnMut(Address)) {
    for (at, (begin, behind)) in schemes.iter().copied().enumerate() {
        let next = schemes.get(at + 1).map_or(word.len(), |(begin, _)| *begin).max(behind);
        give(&word[begin..next], Shape::Full, found);
        let rest = &word[behind..next];
        let authority = rest.iter().take_while(|one| !matches!(one.c, '/' | '?' | '#')).count();
        let login = rest[..authority].iter().rposition(|one| one.c == '@').map_or(0, |at| at + 1);
        let host = rest[login..authority].iter().take_while(|one| one.c != ':').count();
        give(&rest[login..login + host], Shape::Full, found);
    }
}

fn mail(word: &[DecodedChar], at: usize, found: &mut impl FnMut(Address)) {
    let name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '%' | '+' | '-');
    let before = word[..at].iter().rev().take_while(|one| name(one.c)).count();
    let behind = word[at + 1..].iter().take_while(|one| name(one.c)).count();
    give(&word[at - before..at + 1 + behind], Shape::Full, found);
}

fn hosts(word: &[DecodedChar], found: &mut impl FnMut(Address)) {
    let in_path = word.iter().any(|one| one.c == '/');
    let shape = if in_path { Shape::InPath } else { Shape::Host };
    for host in word.split(|one| !(one.c.is_alphanumeric() || matches!(one.c, '.' | '-'))) {
        if is_host(trim_word(host)) {
            give(host, shape, found);
        }
    }
}

fn is_host(name: &[DecodedChar]) -> bool {
    let mut labels: Vec<String> = Vec::new();
    for label in name.split(|one| one.c == '.') {
        labels.push(label.iter().map(|one| one.c).collect());
    }
    let numbers = labels.iter().all(|label| label.parse::<u8>().is_ok());
    let Some((last, others)) = labels.split_last() else { return false };
    if others.is_empty() || labels.iter().any(String::is_empty) {
        return false;
    }
    let letters = last.chars().all(char::is_alphabetic);
    (numbers && labels.len() == 4)
        || (letters && last.chars().count() == 2 && !SUFFIXES.contains(&last.as_str()))
        || LABELS.contains(&last.as_str())
        || last.starts_with("xn--")
}

/// Removes punctuation and quotes around a word.
fn trim_word(word: &[DecodedChar]) -> &[DecodedChar] {
    let outer = |one: &&DecodedChar| !one.c.is_alphanumeric() && one.c != '@';
    let begin = word.iter().take_while(outer).count();
    let end = word.len() - word.iter().rev().take_while(outer).count();
    word.get(begin..end).unwrap_or_default()
}

fn give(word: &[DecodedChar], shape: Shape, found: &mut impl FnMut(Address)) {
    let word = trim_word(word);
    if let [first, .., last] = word
        && word.len() >= SHORTEST
    {
        let form = word.iter().map(|one| one.c).collect();
        found(Address { form, start: first.start, end: last.end, shape });
    }
}
