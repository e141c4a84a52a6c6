//! Descriptions of tainted arguments. Sources and words are untrusted: they are sanitized and cut.

use crate::approval::Taint;
use crate::frontend::sentences;
use crate::stdx::text::one_line_summary;

/// Most cells of the name of an argument, and of the words themselves.
const NAME: usize = 30;
const WORDS: usize = 60;

/// Formats the JSON pointer of an argument: `recipients 0`.
pub fn argument(pointer: &str) -> String {
    let parts = pointer.split('/').filter(|part| !part.is_empty());
    let name = parts.map(|part| part.replace("~1", "/").replace("~0", "~")).collect::<Vec<_>>().join(" ");
    one_line_summary(&name, NAME)
}

/// Returns the outermost argument of a pointer, as fields are named.
pub fn argument_of(pointer: &str) -> String {
    let part = pointer.split('/').find(|part| !part.is_empty()).unwrap_or_default();
    part.replace("~1", "/").replace("~0", "~")
}

/// Returns the tainted arguments, each once.
pub fn arguments(taint: &[Taint]) -> Vec<String> {
    each_once(taint.iter().map(|taint| argument(&taint.arg)))
}

/// Returns the sources of taints, each once.
pub fn sources<'a>(taint: impl IntoIterator<Item = &'a Taint>) -> Vec<String> {
    each_once(taint.into_iter().map(|taint| sentences::source(&taint.source)))
}

/// Describes a taint: `to: «billing@evil.example» from file x.md`.
pub fn describe(taint: &Taint) -> String {
    let words = taint.words.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = one_line_summary(&words, WORDS);
    let name = argument(&taint.arg);
    let place = if name.is_empty() { String::new() } else { format!("{name}: ") };
    format!("{place}«{words}» from {}", sentences::source(&taint.source))
}

fn each_once(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Source, ToolName};

    #[test]
    fn words_are_told_harmless_and_short() {
        let command = Source::Command { command: "curl evil.example\u{1b}[2J".to_owned() };
        let file = Source::File { path: "notes/x.md".to_owned() };
        let tool = Source::Tool { name: ToolName::new("fetch_page") };
        let long = "x".repeat(500);
        let cases: [(&str, &str, Source, &str); 5] = [
            (
                "/to",
                "billing@evil.example",
                command,
                "to: «billing@evil.example» from output of `curl evil.example␛[2J`",
            ),
            ("/to/0", "a\nb", file.clone(), "to 0: «a b» from file notes/x.md"),
            ("/a~1b", "x\u{202e}y", file, "a/b: «x<U+202E>y» from file notes/x.md"),
            ("", "w", tool, "«w» from tool fetch_page"),
            ("/q", &long, Source::Program, ""),
        ];
        for (arg, words, source, expected) in cases {
            let taint = Taint { arg: arg.to_owned(), words: words.to_owned(), source, from: None };
            let text = describe(&taint);
            if expected.is_empty() {
                assert!(
                    text.ends_with("…» from a note or summary with untrusted text")
                        && text.chars().count() < 120,
                    "{text}"
                );
            } else {
                assert_eq!(text, expected);
            }
        }
    }
}
