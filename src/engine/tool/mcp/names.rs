//! Names and texts of servers, made fit for models and terminals. What is read here was written by somebody unknown.

use crate::message::ToolName;
use crate::stdx::fs::fingerprint;
use crate::stdx::secrecy::shown_address;
use crate::stdx::text::{one_line_summary, sanitize};

/// The longest name of a tool that every provider takes, in characters.
const LONGEST: usize = 64;

/// The digits that tell cut or changed names apart.
const DIGITS: usize = 6;

/// The most characters of a description that a model reads.
const DESCRIPTION: usize = 2_000;

/// The most cells of a text for people.
const LINE: usize = 200;

/// Returns the name of a server's tool: `prefix_tool` in letters, digits, `_` and `-`. One that had to be changed or cut ends
/// with a hash of the whole.
pub fn tool(prefix: &str, name: &str) -> ToolName {
    let whole = format!("{prefix}_{name}");
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain: String = whole.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if plain == whole && plain.len() <= LONGEST {
        return ToolName::new(plain);
    }
    let hash = fingerprint(whole.as_bytes());
    let digits: String = hash.chars().take(DIGITS).collect();
    let kept: String = plain.chars().take(LONGEST - DIGITS - 1).collect();
    ToolName::new(format!("{kept}_{digits}"))
}

/// Returns a name for people.
pub fn display_name(name: &str) -> String {
    one_line_summary(name, LONGEST)
}

/// Returns a text of a server as one line for people.
pub fn line(text: &str) -> String {
    one_line_summary(text, LINE)
}

/// Returns an error of the library as one line for people, without secrets in the addresses that it names.
pub fn error(text: &str) -> String {
    let shown = |word: &str| match word.find("http") {
        Some(at) if word.contains("://") => {
            let (before, address) = word.split_at(at);
            let end = address.trim_end_matches([')', '.', ',', ';']).len();
            let (address, after) = address.split_at(end);
            format!("{before}{}{after}", shown_address(address))
        }
        Some(_) | None => word.to_owned(),
    };
    line(&text.split(' ').map(shown).collect::<Vec<_>>().join(" "))
}

/// Returns a description for models, without characters that hide or reorder text.
pub fn description(text: &str) -> String {
    let clean = sanitize(text).into_owned();
    match clean.char_indices().nth(DESCRIPTION) {
        None => clean,
        Some((at, _)) => format!("{}…", clean.get(..at).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_every_provider_and_stay_apart() {
        let long = "x".repeat(100);
        for (prefix, name, expected) in [
            ("fs", "read_file", "fs_read_file".to_owned()),
            ("fs", "get-it", "fs_get-it".to_owned()),
            ("fs", "a.b", "fs_a_b_".to_owned()),
            ("fs", "日本\u{202e}", "fs____".to_owned()),
            ("fs", &long, format!("fs_{}_", "x".repeat(54))),
        ] {
            let found = tool(prefix, name);
            assert!(found.as_str().starts_with(&expected) && found.as_str().len() <= LONGEST, "{found}");
            assert!(found.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
        }
        assert_ne!(tool("fs", "a.b"), tool("fs", "a:b"));
        assert_ne!(tool("fs", &long), tool("fs", &format!("{long}y")));
    }

    #[test]
    fn descriptions_are_cut_and_hide_nothing() {
        assert_eq!(description("Reads.\u{1b}[2J\u{202e}evil"), sanitize("Reads.\u{1b}[2J\u{202e}evil"));
        assert!(!description("a\u{202e}b\u{7}").contains(['\u{202e}', '\u{7}']));
        assert_eq!(description(&"x".repeat(5_000)).chars().count(), DESCRIPTION + 1);
    }
}
