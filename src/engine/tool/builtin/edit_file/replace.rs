//! Exact replacement in a text, and hints for a model whose piece of text does not match. Pure.

use crate::tool::builtin::text_file::with_ends_of;
use crate::tool::diff::UnchangedEnds;

/// How many occurrences to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrences {
    One,
    All,
}

/// Why nothing was replaced. The text says what to do.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("`old` is empty; give the text to replace, or write the whole file with write_file")]
    Empty,
    #[error("`old` and `new` are the same; nothing to change")]
    Same,
    #[error("`old` is not in the file; read it again and copy the text exactly, without line numbers")]
    Missing,
    #[error(
        "`old` is not in the file; line {line} is like its first line, but white space or what follows differs"
    )]
    Near { line: usize },
    #[error("`old` occurs {count} times (at lines {lines}); give more of the text around it, or set `all`")]
    Many { count: usize, lines: String },
}

/// The maximum number of line numbers to list.
const NAMED: usize = 10;

/// Returns `text` with `old` replaced by `new`. If all its lines end in CR LF, both pieces are converted.
pub fn replace(text: &str, old: &str, new: &str, meant: Occurrences) -> Result<String, Fault> {
    if old.is_empty() {
        return Err(Fault::Empty);
    }
    let (old, new) = (with_ends_of(text, old), with_ends_of(text, new));
    if old == new {
        return Err(Fault::Same);
    }
    let places: Vec<usize> = text.match_indices(&*old).map(|(at, _)| at).collect();
    match (places.len(), meant) {
        (0, _) => Err(near(text, &old)),
        (1, _) | (_, Occurrences::All) => Ok(text.replace(&*old, &new)),
        (count, Occurrences::One) => {
            let numbers = places.iter().take(NAMED).map(|at| line_of(text, *at).to_string());
            let mut lines = numbers.collect::<Vec<_>>().join(", ");
            if count > NAMED {
                lines.push_str(", …");
            }
            Err(Fault::Many { count, lines })
        }
    }
}

/// Returns the sizes of the parts of `text` before the first and after the last occurrence of `old`.
pub fn unchanged_ends(text: &str, old: &str) -> UnchangedEnds {
    let old = with_ends_of(text, old);
    let (Some(head), Some(last)) = (text.find(&*old), text.rfind(&*old)) else {
        return UnchangedEnds::default();
    };
    UnchangedEnds { head, tail: text.len() - last - old.len() }
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

fn near(text: &str, old: &str) -> Fault {
    let Some(first) = old.lines().map(str::trim).find(|line| !line.is_empty()) else { return Fault::Missing };
    match text.lines().position(|line| line.trim() == first) {
        Some(index) => Fault::Near { line: index + 1 },
        None => Fault::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacement_is_exact_or_refused() {
        use Occurrences::{All, One};
        let many = |count, lines: &str| Err(Fault::Many { count, lines: lines.to_owned() });
        let cases = [
            ("a b c", "b", "x", One, Ok("a x c")),
            ("a\nb\n", "a\nb\n", "", One, Ok("")),
            ("a b b", "b", "x", All, Ok("a x x")),
            ("a\nb\nb\n", "b", "x", One, many(2, "2, 3")),
            ("a", "", "x", One, Err(Fault::Empty)),
            ("a", "a", "a", One, Err(Fault::Same)),
            ("a", "A", "x", All, Err(Fault::Missing)),
            ("if x {\n\ty\n}\n", "if x {\n    y\n}", "z", One, Err(Fault::Near { line: 1 })),
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", One, Ok("x\r\ny\r\nz\r\nc\r\n")),
            ("a\r\nb\r\n", "b", "x\ny", One, Ok("a\r\nx\r\ny\r\n")),
            ("a\r\nb\n", "b\n", "x\ny\n", One, Ok("a\r\nx\ny\n")),
            ("a\nb", "a\nb", "a\r\nb", One, Ok("a\r\nb")),
            ("aaa", "aa", "b", All, Ok("ba")),
        ];
        for (text, old, new, meant, expected) in cases {
            assert_eq!(replace(text, old, new, meant), expected.map(str::to_owned), "{text:?} {old:?}");
        }
        let lines = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …";
        assert_eq!(replace(&"x\n".repeat(12), "x", "y", One), many(12, lines).map(str::to_owned));
    }
}
