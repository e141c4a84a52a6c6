//! Splits a line where it may be broken: runs of space, runs of narrow graphemes, single wide graphemes.
//!
//! The only place that defines where text may wrap; used by [`wrap`](super::wrap) for plain text and by the
//! screen for styled text. It measures only whether a grapheme is wide.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// A piece of a line. Joined in order, the pieces are the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// White space at which a line may break; this excludes non-breaking spaces.
    Space(&'a str),
    /// Graphemes without a break between them.
    Narrow(&'a str),
    /// One grapheme of more than one cell, with a possible break on either side.
    Wide(&'a str),
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Space,
    Narrow,
    Wide,
}

/// Returns the pieces of `line`, in order.
pub fn tokens(line: &str) -> impl Iterator<Item = Token<'_>> {
    let ascii = line.is_ascii();
    let mut rest = line;
    std::iter::from_fn(move || {
        let (class, end) = if ascii { ascii_token(rest)? } else { token(rest)? };
        let (taken, after) = rest.split_at(end);
        rest = after;
        Some(match class {
            Class::Space => Token::Space(taken),
            Class::Narrow => Token::Narrow(taken),
            Class::Wide => Token::Wide(taken),
        })
    })
}

/// Handles the common case without grapheme segmentation.
fn ascii_token(rest: &str) -> Option<(Class, usize)> {
    let space = rest.as_bytes().first()?.is_ascii_whitespace();
    let end = rest.bytes().position(|byte| byte.is_ascii_whitespace() != space).unwrap_or(rest.len());
    Some((if space { Class::Space } else { Class::Narrow }, end))
}

fn token(rest: &str) -> Option<(Class, usize)> {
    let first = rest.graphemes(true).next()?;
    let class_of_first = class(first);
    let end = match class_of_first {
        Class::Wide => first.len(),
        Class::Space | Class::Narrow => rest
            .grapheme_indices(true)
            .find(|(_, grapheme)| class(grapheme) != class_of_first)
            .map_or(rest.len(), |(at, _)| at),
    };
    Some((class_of_first, end))
}

fn class(grapheme: &str) -> Class {
    let breaks = |c: char| c.is_whitespace() && !matches!(c, '\u{A0}' | '\u{2007}' | '\u{202F}');
    if grapheme.chars().all(breaks) {
        Class::Space
    } else if grapheme.width() > 1 {
        Class::Wide
    } else {
        Class::Narrow
    }
}
