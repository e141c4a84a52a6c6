//! Finds where the pieces of a patch stand in a text, and replaces them. It never guesses. Pure.

use crate::stdx::text;
use crate::tool::DiffKind;
use crate::tool::diff::{bare, split_lines};

/// A piece of changes to neighbouring lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hunk {
    /// The line of the old text at which it should begin, from 1.
    pub line: Option<usize>,
    /// A line somewhere above it.
    pub under: Option<String>,
    pub lines: Vec<HunkLine>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct HunkLine {
    pub kind: DiffKind,
    pub text: String,
    /// Whether a newline follows.
    pub ends: bool,
}

/// Why a piece does not fit. The text says what to do.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    #[error("part {part} is empty")]
    Empty { part: usize },
    #[error("part {part} adds {} without any line of context, so it is not clear where; give the lines around it", text::count(*count, "line"))]
    NoContext { part: usize, count: usize },
    #[error("`{text}`, after `@@` of part {part}, is not in the file below the part before it")]
    NotUnder { part: usize, text: String },
    #[error(
        "part {part} is not in the file below the part before it; its first line is: {text}. Read the file again, and copy its lines exactly"
    )]
    Missing { part: usize, text: String },
    #[error("part {part} overlaps the part before it; join the two")]
    Overlap { part: usize },
    #[error("part {part} fits at {} places (lines {lines}); give more lines around it", count)]
    Many { part: usize, count: usize, lines: String },
}

/// Returns the text with all pieces applied, in their order.
pub fn apply(text: &str, hunks: &[Hunk]) -> Result<String, FitError> {
    let lines = split_lines(text);
    let ends = LineEnding::of(&lines);
    let mut new = String::new();
    let mut at = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let begin = place(&lines, hunk, at, index + 1)?;
        lines.iter().skip(at).take(begin - at).for_each(|line| new.push_str(line));
        at = begin;
        for line in &hunk.lines {
            match line.kind {
                DiffKind::Context => {
                    new.push_str(lines.get(at).copied().unwrap_or_default());
                    at += 1;
                }
                DiffKind::Removed => at += 1,
                DiffKind::Added | DiffKind::Hunk => {
                    // After a last line without an end.
                    if !new.is_empty() && !new.ends_with('\n') {
                        new.push_str(ends.text());
                    }
                    new.push_str(line.text.trim_end_matches('\r'));
                    if line.ends {
                        new.push_str(ends.text());
                    }
                }
            }
        }
    }
    lines.iter().skip(at).for_each(|line| new.push_str(line));
    Ok(new)
}

/// How the lines of a text end.
enum LineEnding {
    Lf,
    CrLf,
}

impl LineEnding {
    fn of(lines: &[&str]) -> Self {
        let crlf = lines.iter().filter(|line| line.ends_with("\r\n")).count();
        if crlf * 2 > lines.len() { Self::CrLf } else { Self::Lf }
    }

    fn text(&self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }
}

/// Returns the index of the line at which a piece begins.
fn place(lines: &[&str], hunk: &Hunk, from: usize, part: usize) -> Result<usize, FitError> {
    if hunk.lines.is_empty() {
        return Err(FitError::Empty { part });
    }
    let old: Vec<&str> = hunk
        .lines
        .iter()
        .filter(|line| line.kind != DiffKind::Added)
        .map(|line| line.text.trim_end_matches('\r'))
        .collect();
    let mut start = from;
    if let Some(under) = &hunk.under {
        let found = lines.iter().skip(from).position(|line| bare(line).trim() == under.trim());
        start = from + found.ok_or_else(|| FitError::NotUnder { part, text: under.clone() })?;
    }
    if old.is_empty() {
        return match hunk.line {
            _ if lines.is_empty() => Ok(0),
            // A unified diff without context says after which line.
            Some(line) if line >= from && line <= lines.len() => Ok(line),
            _ => Err(FitError::NoContext { part, count: hunk.lines.len() }),
        };
    }
    let fits = |at: &usize| {
        lines
            .get(*at..*at + old.len())
            .is_some_and(|there| there.iter().zip(&old).all(|(there, line)| bare(there) == *line))
    };
    let found: Vec<usize> = (start..lines.len()).filter(fits).collect();
    let stated = hunk.line.map(|line| line.saturating_sub(1)).filter(|line| found.contains(line));
    match (found.as_slice(), stated) {
        ([only], _) => Ok(*only),
        (_, Some(stated)) => Ok(stated),
        ([], None) if (0..start).any(|at| fits(&at)) => Err(FitError::Overlap { part }),
        ([], None) => {
            Err(FitError::Missing { part, text: old.first().copied().unwrap_or_default().to_owned() })
        }
        (many, None) => {
            let numbers: Vec<String> = many.iter().take(10).map(|at| (at + 1).to_string()).collect();
            Err(FitError::Many { part, count: many.len(), lines: numbers.join(", ") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    /// Applies the first file's hunks of a patch.
    fn patched(text: &str, patch: &str) -> Result<String, String> {
        let files = parse(patch)?;
        apply(text, &files[0].hunks).map_err(|fault| fault.to_string())
    }

    #[test]
    fn pieces_fit_exactly_or_not_at_all() {
        let ten: String = (1..=10).map(|n| format!("{n}\n")).collect();
        let unified = |body: &str| format!("--- a/f\n+++ b/f\n{body}");
        let envelope = |body: &str| format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n");
        let two = "a\nx\nb\na\nx\nb\n";
        for (text, patch, expected) in [
            (
                ten.as_str(),
                unified("@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n"),
                Ok(ten.replace("3\n", "three\n")),
            ),
            // Counts and lines that are wrong are no harm, as long as the place is clear.
            (&ten, unified("@@ -7,9 +7,9 @@ fn\n 2\n-3\n+three\n 4\n"), Ok(ten.replace("3\n", "three\n"))),
            (&ten, unified("@@ -1,0 +2 @@\n+x\n"), Ok(ten.replacen("1\n", "1\nx\n", 1))),
            (two, unified("@@ -5 +5 @@\n-x\n+y\n"), Ok("a\nx\nb\na\ny\nb\n".to_owned())),
            (two, unified("@@ -3 +3 @@\n-x\n+y\n"), Err("fits at 2 places (lines 2, 5)")),
            (two, envelope("@@\n-x\n+y\n"), Err("fits at 2 places")),
            (two, envelope("-x\n+y\n b\n a\n"), Ok("a\ny\nb\na\nx\nb\n".to_owned())),
            ("fn a\n x\nfn b\n x\n", envelope("@@ fn b\n- x\n+ y\n"), Ok("fn a\n x\nfn b\n y\n".to_owned())),
            (
                "fn a\n x\n",
                envelope("@@ fn c\n- x\n+ y\n"),
                Err("`fn c`, after `@@` of part 1, is not in the file"),
            ),
            (&ten, envelope("@@\n-3\n+c\n 4\n@@\n 4\n-5\n+e\n"), Err("part 2 overlaps the part before it")),
            (
                &ten,
                envelope("@@\n-12\n+c\n"),
                Err("part 1 is not in the file below the part before it; its first line is: 12"),
            ),
            (&ten, envelope("+c\n"), Err("adds 1 line without any line of context")),
            ("a\r\nb\r\n", envelope("-b\n+c\n+d\n"), Ok("a\r\nc\r\nd\r\n".to_owned())),
            ("a\nb", envelope(" b\n+c\n"), Ok("a\nb\nc\n".to_owned())),
            (
                "a\nb",
                unified(
                    "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
                ),
                Ok("a\nc".to_owned()),
            ),
            ("a\n\nb\n", envelope(" a\n\n-b\n+c\n"), Ok("a\n\nc\n".to_owned())),
            ("-- x\n", unified("@@ -1 +1 @@\n--- x\n+++ y\n"), Ok("++ y\n".to_owned())),
            (
                "a\n",
                "*** Begin Patch\n*** Update File: f\n-a\n+b\n".to_owned(),
                Err("`*** End Patch` is missing"),
            ),
            ("a\n", "hello".to_owned(), Err("the patch names no file")),
            (
                "a\n",
                format!(
                    "{}diff --git a/e b/e\nnew file mode 100644\nindex 0..e\n",
                    unified("@@ -1 +1 @@\n-a\n+b\n")
                ),
                Err("this part cannot be applied: new file mode"),
            ),
            (
                "a\n",
                format!("{}Binary files a/x and b/x differ\n", unified("@@ -1 +1 @@\n-a\n+b\n")),
                Err("Binary files"),
            ),
            ("a\n", unified(""), Err("there are no changes for f")),
            ("a\n", unified("@@ -1 +1 @@\n"), Err("may be cut off")),
            ("a\n", unified("@@ nonsense @@\n"), Err("this is not `@@ -LINE")),
            ("a\n", envelope("a\n"), Err("begins with neither")),
        ] {
            match (patched(text, &patch), expected) {
                (Ok(new), Ok(expected)) => assert_eq!(new, expected, "{patch}"),
                (Err(fault), Err(expected)) => assert!(fault.contains(expected), "{patch}: {fault}"),
                (got, expected) => panic!("{patch}: {got:?}, not {expected:?}"),
            }
        }
    }
}
