//! Matches a typed query against names: commands, files, sessions, earlier lines.
//!
//! Pure; equal matches keep their order. Called by the completion popup and the pickers.

use std::borrow::Cow;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use unicode_segmentation::UnicodeSegmentation as _;

use super::line::{Line, Span, TextStyle};

/// How a query is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchMode {
    /// Its letters, in order.
    Name,
    /// Its letters, in order; text after a `/` counts as a beginning.
    Path,
    /// Each of its words literally, anywhere.
    Text,
}

/// A query prepared for many texts. Lower-case letters also match capitals; capitals match only themselves.
pub struct Query {
    pattern: Pattern,
    matcher: Matcher,
    buffer: Vec<char>,
}

impl Query {
    pub fn new(text: &str, like: MatchMode) -> Self {
        let kind = match like {
            MatchMode::Name | MatchMode::Path => AtomKind::Fuzzy,
            MatchMode::Text => AtomKind::Substring,
        };
        let config = match like {
            MatchMode::Name | MatchMode::Text => Config::DEFAULT,
            MatchMode::Path => Config::DEFAULT.match_paths(),
        };
        Self {
            pattern: Pattern::new(text, CaseMatching::Smart, Normalization::Smart, kind),
            matcher: Matcher::new(config),
            buffer: Vec::new(),
        }
    }

    /// Returns the score of `text`, if it matches; everything matches an empty query.
    pub fn score(&mut self, text: &str) -> Option<u32> {
        let text = with_end_space(text);
        self.pattern.score(Utf32Str::new(&text, &mut self.buffer), &mut self.matcher)
    }

    /// Returns the matched graphemes of a matching text, in order.
    pub fn marks(&mut self, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        let text = with_end_space(text);
        self.pattern.indices(Utf32Str::new(&text, &mut self.buffer), &mut self.matcher, &mut found);
        let mut marks: Vec<usize> = found.into_iter().filter_map(|at| usize::try_from(at).ok()).collect();
        marks.sort_unstable();
        marks.dedup();
        marks
    }

    /// Returns the indices of the matching texts, best first.
    pub fn best<'a>(&mut self, texts: impl Iterator<Item = &'a str>) -> Vec<usize> {
        let mut found: Vec<(u32, usize)> =
            texts.enumerate().filter_map(|(at, text)| Some((self.score(text)?, at))).collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.into_iter().map(|(_, at)| at).collect()
    }
}

/// Appends a space to text that is not ASCII, because the matcher does not find a word at its very end.
fn with_end_space(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(format!("{text} ")) }
}

/// Returns a text with the marked graphemes emphasised.
pub fn marked_line(text: &str, marks: &[usize], style: TextStyle) -> Line {
    let mut line = Line::new();
    let stands_out = TextStyle { bold: true, underline: true, ..style };
    for (at, grapheme) in text.graphemes(true).enumerate() {
        let style = if marks.binary_search(&at).is_ok() { stands_out } else { style };
        line.push(Span::styled(grapheme, style));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_equals_keep_their_order() {
        let cases: &[(&str, MatchMode, &[&str], &[&str])] = &[
            ("", MatchMode::Name, &["b", "a"], &["b", "a"]),
            ("mod", MatchMode::Name, &["commode", "model", "clear"], &["model", "commode"]),
            ("mdl", MatchMode::Name, &["model"], &["model"]),
            ("main", MatchMode::Path, &["domain.rs", "src/main.rs"], &["src/main.rs", "domain.rs"]),
            ("README", MatchMode::Path, &["readme.md", "README.md"], &["README.md"]),
            ("readme", MatchMode::Path, &["readme.md", "README.md"], &["readme.md", "README.md"]),
            ("po 44", MatchMode::Text, &["the PO is 4471", "44 po", "4 4 p o"], &["the PO is 4471", "44 po"]),
            ("word", MatchMode::Text, &["caf\u{e9} word", "caf\u{e9} wort"], &["caf\u{e9} word"]),
            ("uber", MatchMode::Name, &["Über"], &["Über"]),
            ("日", MatchMode::Name, &["日本"], &["日本"]),
        ];
        for (query, like, texts, expected) in cases {
            let mut found = Query::new(query, *like).best(texts.iter().copied());
            if *like == MatchMode::Text {
                found.sort_unstable();
            }
            let found: Vec<&str> = found.into_iter().map(|at| texts[at]).collect();
            assert_eq!(found, *expected, "{query:?}");
        }
    }

    #[test]
    fn what_matches_stands_out_and_stays_harmless() {
        let show =
            |query: &str, text: &str| {
                let marks = Query::new(query, MatchMode::Name).marks(text);
                let line = marked_line(text, &marks, TextStyle::default());
                line.spans
                    .iter()
                    .map(|span| {
                        if span.style.underline {
                            format!("[{}]", span.text())
                        } else {
                            span.text().to_owned()
                        }
                    })
                    .collect::<String>()
            };
        assert_eq!(show("mdl", "model"), "[m]o[d]e[l]");
        assert_eq!(show("本c", "a日本\u{1b}c"), "a日[本]␛[c]");
        assert_eq!(show("", "model"), "model");
    }
}
