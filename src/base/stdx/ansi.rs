//! Escape sequences in the output of commands. Pure.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';

/// Returns the text without escape sequences.
pub fn bare(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let only_text = |piece| match piece {
        AnsiPart::Text(text) => Some(text),
        AnsiPart::Colours(_) | AnsiPart::Other => None,
    };
    Cow::Owned(parts(text).filter_map(only_text).collect())
}

/// A part of a text.
pub enum AnsiPart<'a> {
    Text(&'a str),
    /// The parameters of a sequence that sets colours.
    Colours(&'a str),
    /// Any other sequence.
    Other,
}

/// Splits a text at its complete escape sequences; an incomplete one is text.
pub fn parts(text: &str) -> impl Iterator<Item = AnsiPart<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = match sequence(rest) {
            Some(found) => found,
            None => {
                let end =
                    rest.char_indices().skip(1).find(|(_, c)| *c == ESCAPE).map_or(rest.len(), |(at, _)| at);
                let (text, after) = rest.split_at(end);
                (AnsiPart::Text(text), after)
            }
        };
        rest = after;
        Some(piece)
    })
}

/// Splits a complete sequence off the beginning of the text.
fn sequence(text: &str) -> Option<(AnsiPart<'_>, &str)> {
    let body = text.strip_prefix(ESCAPE)?;
    if let Some(body) = body.strip_prefix('[') {
        let end = body.find(|c: char| ('@'..='~').contains(&c))?;
        let (parameters, after) = body.split_at(end);
        let is_plain = parameters.chars().all(|c| (' '..='?').contains(&c));
        let piece = if after.starts_with('m') { AnsiPart::Colours(parameters) } else { AnsiPart::Other };
        return after.get(1..).filter(|_| is_plain).map(|after| (piece, after));
    }
    // Strings for the terminal: titles, links, and what else there is.
    if body.starts_with([']', 'P', 'X', '^', '_']) {
        let (_, after) = body
            .split_once('\u{7}')
            .into_iter()
            .chain(body.split_once("\u{1b}\\"))
            .min_by_key(|(before, _)| before.len())?;
        return Some((AnsiPart::Other, after));
    }
    let after = body.trim_start_matches(|c: char| (' '..='/').contains(&c));
    let last = after.chars().next().filter(|c| ('0'..='~').contains(c))?;
    Some((AnsiPart::Other, after.get(last.len_utf8()..)?))
}
