//! "Did you mean": the known name that is closest to a mistyped one.

/// How alike two names must be, from 0 (nothing in common) to 1 (equal).
const ALIKE: f64 = 0.6;

/// The candidate that is most like `name`, unless none is like it. Letter case does not count, and a candidate that
/// begins with at least three given letters is always alike. Of equals the first wins.
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
