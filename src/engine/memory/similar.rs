//! Whether two memories say the same: a similarity from 0 to 100, and what is never merged. Pure.
//!
//! Words in any order count as the same, so that "tests with pytest" is "pytest for tests". Statements that share their words
//! and differ in what they say (a negation, an opposite, a number, what comes before what) are not alike at all.

use std::collections::BTreeSet;

/// The characters of each text that are compared.
const COMPARED: usize = 2_000;

/// Words that turn a statement round.
const NEGATIONS: &str = "not no never none nothing without cannot dont doesnt didnt isnt arent wasnt wont cant shouldnt nor \
    neither nicht kein keine nie ohne pas jamais sans";

/// Words of which a statement has one where its opposite has the other.
const OPPOSITES: &str = include_str!("opposites.txt");

/// Words around which the order of the others says who comes first.
const ORDERS: &str =
    "over than instead rather before after from to versus vs above below under not of for by into as is are";

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// Returns how alike two texts are, from 0 to 100; 0 for statements that contradict each other.
#[must_use]
pub fn similarity(one: &str, other: &str) -> u8 {
    let (one, other) = (words(one), words(other));
    if one == other {
        return 100;
    }
    if contradict(&one, &other) {
        return 0;
    }
    let sorted = |words: &[String]| {
        let mut words = words.to_vec();
        words.sort_unstable();
        words.join(" ")
    };
    let alike = strsim::normalized_levenshtein(&sorted(&one), &sorted(&other));
    // From 0 to 1.
    (alike * 100.0).round() as u8
}

fn words(text: &str) -> Vec<String> {
    let text: String = text
        .chars()
        .take(COMPARED)
        .filter(|c| !matches!(c, '\'' | '’'))
        .flat_map(char::to_lowercase)
        .collect();
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn contradict(one: &[String], other: &[String]) -> bool {
    let negations = |words: &[String]| words.iter().filter(|word| is_in(NEGATIONS, word)).count();
    if negations(one) != negations(other) {
        return true;
    }
    let (ours, theirs): (BTreeSet<&str>, BTreeSet<&str>) =
        (one.iter().map(String::as_str).collect(), other.iter().map(String::as_str).collect());
    let differ =
        |a: &str, b: &str| ours.contains(a) && !ours.contains(b) && theirs.contains(b) && !theirs.contains(a);
    let mut pairs = OPPOSITES.split_ascii_whitespace().filter_map(|pair| pair.split_once('/'));
    if pairs.any(|(a, b)| differ(a, b) || differ(b, a)) {
        return true;
    }
    let numbers = |words: &BTreeSet<&str>| -> Vec<String> {
        words
            .iter()
            .filter(|word| word.chars().any(|c| c.is_ascii_digit()))
            .map(|word| (*word).to_owned())
            .collect()
    };
    if numbers(&ours) != numbers(&theirs) {
        return true;
    }
    is_turned_round(one, other, &ours, &theirs)
}

/// Whether the words that both have are in another order, and the order says something.
fn is_turned_round(one: &[String], other: &[String], ours: &BTreeSet<&str>, theirs: &BTreeSet<&str>) -> bool {
    let says_order = |words: &BTreeSet<&str>| words.iter().any(|word| is_in(ORDERS, word));
    if !says_order(ours) && !says_order(theirs) {
        return false;
    }
    let shared = |words: &[String], others: &BTreeSet<&str>| -> Vec<String> {
        let is_shared = |word: &&String| others.contains(word.as_str()) && !is_in(ORDERS, word);
        words.iter().filter(is_shared).cloned().collect()
    };
    shared(one, theirs) != shared(other, ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_alike_and_opposites_are_not() {
        for (one, other, at_least, below) in [
            ("User prefers pytest", "user prefers PyTest.", 100, 101),
            ("Prefers pytest testing", "testing: prefers pytest", 100, 101),
            ("Prefers dark roast coffee in general", "Prefers dark roast coffee generally", 85, 101),
            ("The user likes short answers", "The user likes short answer", 85, 101),
            ("Prefers A over B", "Prefers B over A", 0, 1),
            ("Uses vim rather than emacs", "Uses emacs rather than vim", 0, 1),
            ("Fly from Rome to Oslo", "Fly from Oslo to Rome", 0, 1),
            ("Ann is the manager of Bob", "Bob is the manager of Ann", 0, 1),
            ("User likes meetings in spring", "User does not like meetings in spring", 0, 1),
            ("User doesn't eat meat", "User eats meat", 0, 1),
            ("Never deploy on Friday", "Always deploy on Friday", 0, 1),
            ("Dark theme is enabled", "Dark theme is disabled", 0, 1),
            ("The server listens on port 8080", "The server listens on port 9090", 0, 1),
            ("Meeting room 12 is for Anna", "Meeting room 14 is for Anna", 0, 1),
            ("Prefers tabs in Go code", "Prefers spaces in Go code", 0, 1),
            ("Lives in Lisbon", "Drinks green tea", 0, 50),
            ("", "words", 0, 1),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                let found = similarity(one, other);
                assert!((at_least..below).contains(&found), "{one:?} and {other:?}: {found}");
            }
        }
    }
}
