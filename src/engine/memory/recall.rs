//! Finds the memories that apply to a text: the words to search for, and the rank of memories with them. Pure.
//!
//! A rank is that of BM25 with each word counted once (memories are short), more for words in tags, for what is recent and for
//! what was used.

use std::collections::BTreeSet;

/// The words of a query; of more, the longest are taken.
const MOST: usize = 12;

/// How many hits of a word are looked at, the latest first. What more memories have is a common word.
pub const HITS: usize = 400;

/// Words that say nothing of what a text is about.
const STOP: &str = include_str!("stop.txt");

/// Returns the words that a text is searched by, in lower case, each once.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    // Words that do not count are taken as seen from the start.
    let mut seen: BTreeSet<&str> = STOP.split_ascii_whitespace().collect();
    let lower = text.to_lowercase();
    let is_long = |word: &str| word.chars().nth(1).is_some() || !word.is_ascii();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let mut found: Vec<&str> = words.filter(|word| is_long(word) && seen.insert(word)).collect();
    if found.len() > MOST {
        let mut by_length = found.clone();
        by_length.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let longest: BTreeSet<&str> = by_length.into_iter().take(MOST).collect();
        found.retain(|word| longest.contains(word));
    }
    found.into_iter().map(str::to_owned).collect()
}

/// The keys that a memory is ranked by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Candidate {
    /// The words of the query that it has, by their numbers.
    pub words: BTreeSet<usize>,
    /// Those of them that are in its tags.
    pub tagged: BTreeSet<usize>,
    /// Its number of words.
    pub length: u32,
    /// Days since it was written or used.
    pub days: f64,
    /// How often it was used.
    pub uses: u32,
}

/// The memories of all, for the weight of a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corpus {
    pub memories: f64,
    /// The average number of words.
    pub length: f64,
}

/// Returns the weight of a word that this many memories have. Of a common word, a tenth of all is assumed.
#[must_use]
pub fn weight(hits: usize, corpus: Corpus) -> f64 {
    let common = if hits >= HITS { corpus.memories / 10.0 } else { 0.0 };
    let hits = (hits as f64).max(common);
    (1.0 + (corpus.memories - hits + 0.5).max(0.0) / (hits + 0.5)).ln()
}

/// Returns the rank of a memory, given the weights of the words; more is better.
#[must_use]
pub fn rank(one: &Candidate, weights: &[f64], corpus: Corpus) -> f64 {
    let weight = |at: &usize| weights.get(*at).copied().unwrap_or(0.0);
    let length = f64::from(one.length) / corpus.length.max(1.0);
    let saturation = 2.2 / (1.0 + 1.2 * (0.25 + 0.75 * length));
    let words: f64 = one.words.iter().map(weight).sum::<f64>() * saturation;
    let tags: f64 = one.tagged.iter().map(weight).sum::<f64>() * 0.5;
    let recent = 0.3 * (-one.days.max(0.0) / 90.0).exp();
    let used = 0.1 * f64::from(one.uses).ln_1p();
    (words + tags) * (1.0 + recent + used.min(0.5))
}

/// Whether a memory applies to a text that did not ask for it: it shares two words with it, a tag, or a word that few have.
#[must_use]
pub fn applies(one: &Candidate, hits: &[usize], corpus: Corpus) -> bool {
    let few = (corpus.memories / 50.0).max(3.0);
    let is_rare = |at: &usize| hits.get(*at).is_some_and(|hits| (*hits as f64) <= few);
    one.words.len() > 1 || !one.tagged.is_empty() || one.words.iter().any(is_rare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_its_words() {
        for (text, expected) in [
            ("Which tests do you use for python-testing?", "tests python testing"),
            ("What is it?", ""),
            ("C++ or C", ""),
            ("日本 the 日本 x", "日本"),
            ("port 80, \"quoted\" OR NEAR(a b)", "port 80 quoted near"),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
        let many: String = (0..100).map(|number| format!("word{number} ")).collect();
        assert_eq!(words(&many).len(), MOST);
    }

    #[test]
    fn more_words_tags_recent_and_used_ones_come_first() {
        let corpus = Corpus { memories: 1_000.0, length: 10.0 };
        let weights = [weight(5, corpus), weight(HITS, corpus)];
        let base = Candidate { words: [0].into(), length: 10, days: 100.0, ..Candidate::default() };
        let rank = |one: &Candidate| rank(one, &weights, corpus);
        for better in [
            Candidate { words: [0, 1].into(), ..base.clone() },
            Candidate { tagged: [0].into(), ..base.clone() },
            Candidate { days: 1.0, ..base.clone() },
            Candidate { uses: 9, ..base.clone() },
            Candidate { length: 4, ..base.clone() },
        ] {
            assert!(rank(&better) > rank(&base), "{better:?}");
        }
        let common = Candidate { words: [1].into(), ..base.clone() };
        assert!(rank(&base) > rank(&common));
        assert!(applies(&base, &[5, HITS], corpus) && !applies(&common, &[5, HITS], corpus));
    }
}
