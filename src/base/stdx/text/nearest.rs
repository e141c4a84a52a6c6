//! "Did you mean": finds the known name closest to a mistyped one.

/// The minimum similarity of two names, from 0 (nothing in common) to 1 (equal).
const ALIKE: f64 = 0.6;

/// Returns the candidate most similar to `name`, or `None` if none is similar enough. Letter case is ignored,
/// and a candidate that starts with a `name` of three or more letters qualifies. On a tie the first wins.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let score = likeness(&name, &candidate.to_lowercase());
        if score >= ALIKE && best.is_none_or(|(top, _)| score > top) {
            best = Some((score, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn likeness(name: &str, candidate: &str) -> f64 {
    let score = strsim::normalized_damerau_levenshtein(name, candidate);
    let completes = name.chars().count() >= 3 && candidate.starts_with(name);
    if completes { score.max(ALIKE) } else { score }
}
