//! Whether a text names a web address, all of it. Pure.
//!
//! A model that may fetch what it makes up may send what it knows to anyone, letter by letter. What a text holds is
//! compared whole: an address that only begins like one in the text is another one.

use url::Url;

/// Characters around an address that are no part of it.
const AROUND: &[char] = &[
    '"', '\'', '`', '<', '>', '(', ')', '[', ']', '{', '}', '|', '*', '_', ',', ';', '\\', '“', '”', '„',
    '‘', '’', '«', '»',
];

/// Marks that may follow an address in a sentence.
const ENDS: &[char] = &['.', ',', ';', ':', '!', '?', '…'];

/// Whether a text holds this address, as the library for addresses writes it.
pub(super) fn in_text(text: &str, url: &str) -> bool {
    words(text).any(|word| {
        let starts = ["https://", "http://"].iter().flat_map(|scheme| word.match_indices(scheme));
        starts.filter_map(|(at, _)| word.get(at..)).any(|from| readings(from).any(|one| is(one, url)))
    })
}

/// The same for what the user wrote, where `https://` may be left out.
pub(super) fn by_person(text: &str, url: &str) -> bool {
    let bare = |word: &str| word.contains('.') && is(&format!("https://{word}"), url);
    let starts = |word: &str| word.trim_start_matches(AROUND).to_owned();
    in_text(text, url) || words(text).any(|word| readings(&starts(word)).any(bare))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty())
}

/// Returns where an address that begins here may end: before each character that may be around it, and at the end of the
/// word, in each case also without marks of a sentence.
fn readings(word: &str) -> impl Iterator<Item = &str> {
    let ends = word.char_indices().filter(|(_, c)| AROUND.contains(c)).map(|(at, _)| at);
    ends.chain([word.len()])
        .filter_map(|end| word.get(..end))
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
            ("a.b", "https://a.b/", false, true),
            ("a.b", "https://a.b/x", false, false),
            // The same host to a browser.
            ("https://a.\u{200b}b/", "https://a.b/", true, true),
            ("", "https://a.b/", false, false),
        ];
        for (text, url, in_page, by_user) in cases {
            assert_eq!((in_text(text, url), by_person(text, url)), (*in_page, *by_user), "{text} {url}");
        }
    }
}
