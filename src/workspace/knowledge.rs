//! Knowledge files: their front matter, and how much of them and of a project's instructions the prompt takes. Pure.

use std::path::Path;

use serde::Deserialize;

use crate::stdx::text::{binary_size, front_matter, one_line_summary};

/// Bytes of the user's file, and of a project's, beyond which a warning is given.
pub const USER: usize = 3 * 1024;
pub const PROJECT: usize = 7 * 1024;

/// Bytes of all files together beyond which a warning is given, and beyond which they are cut.
const MUCH: usize = 10 * 1024;
const MOST: usize = 20 * 1024;

/// The entries of a front matter; both are for the user only.
#[derive(Deserialize)]
struct FrontMatter {
    #[serde(rename = "version")]
    _version: Option<u32>,
    updated: Option<String>,
}

/// The size that files of a kind take so far.
#[derive(Debug)]
pub struct Budget {
    used: usize,
    /// Their kind, as a sentence begins.
    kind: &'static str,
}

impl Budget {
    pub fn of(kind: &'static str) -> Self {
        Self { used: 0, kind }
    }

    /// Returns the body of a file with front matter, as [`Budget::take`].
    pub fn fit(
        &mut self,
        path: &Path,
        text: &str,
        usual: usize,
        problems: &mut Vec<String>,
    ) -> Option<String> {
        let (head, body) = front_matter(text);
        if let Some(wrong) = head.and_then(mistake) {
            problems.push(format!("{}: its front matter is not used: {wrong}.", path.display()));
        }
        self.take(path, body, usual, problems)
    }

    /// Returns the text of a file as far as it fits; `None` if nothing is left of it. `usual` is the size beyond which a
    /// warning is given.
    pub fn take(
        &mut self,
        path: &Path,
        text: &str,
        usual: usize,
        problems: &mut Vec<String>,
    ) -> Option<String> {
        let (shown, body) = (path.display(), text.trim());
        if body.len() > usual {
            problems.push(format!(
                "{shown} has {}; more than {} cost much in every request.",
                binary_size(body.len()),
                binary_size(usual)
            ));
        }
        let room = MOST.saturating_sub(self.used);
        let kept = body.split_at(body.floor_char_boundary(room)).0;
        if kept.len() < body.len() {
            problems.push(format!(
                "{shown} was cut: {} may have {} together. Shorten them.",
                self.kind.to_lowercase(),
                binary_size(MOST)
            ));
        }
        self.used += kept.len();
        (!kept.trim().is_empty()).then(|| kept.trim_end().to_owned())
    }

    /// Returns a warning if all files together are large.
    pub fn warning(&self) -> Option<String> {
        (self.used > MUCH).then(|| {
            format!(
                "{} have {} together; more than {} cost much in every request.",
                self.kind,
                binary_size(self.used),
                binary_size(MUCH)
            )
        })
    }
}

/// Returns what is wrong with a front matter, if anything is.
fn mistake(head: &str) -> Option<String> {
    match serde_saphyr::from_str::<FrontMatter>(head) {
        Ok(FrontMatter { updated: Some(updated), .. }) if !is_moment(&updated) => {
            Some(format!("`updated` is no date as 2026-01-31: {}", one_line_summary(&updated, 40)))
        }
        Ok(_) => None,
        Err(error) => Some(one_line_summary(&error.to_string(), 120)),
    }
}

fn is_moment(text: &str) -> bool {
    text.parse::<jiff::Timestamp>().is_ok() || text.parse::<jiff::civil::DateTime>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_checked_and_the_body_is_used() {
        for (text, body, wrong) in [
            ("plain", Some("plain"), None),
            ("---\nversion: 1\nupdated: 2026-02-09T14:30:00Z\n---\n\nbody\n", Some("body"), None),
            ("---\nupdated: 2026-02-09\n---\nbody", Some("body"), None),
            ("---\nversion: one\n---\nbody", Some("body"), Some("c.md: its front matter is not used: ")),
            (
                "---\nupdated: soon\n---\nbody",
                Some("body"),
                Some("`updated` is no date as 2026-01-31: soon."),
            ),
            ("---\n: [\n---\nbody", Some("body"), Some("c.md: its front matter is not used: ")),
            // Without an end it is no front matter.
            ("---\nversion: 1\nbody", Some("---\nversion: 1\nbody"), None),
            ("---\nversion: 1\n---\n", None, None),
            ("", None, None),
        ] {
            let mut problems = Vec::new();
            let got = Budget::of("Knowledge files").fit(Path::new("c.md"), text, USER, &mut problems);
            assert_eq!(got.as_deref(), body, "{text:?}");
            let said = problems.join("\n");
            assert_eq!(said.is_empty(), wrong.is_none(), "{text:?}: {said}");
            assert!(wrong.is_none_or(|wrong| said.contains(wrong)), "{text:?}: {said}");
        }
    }

    #[test]
    fn much_is_said_and_too_much_is_cut_at_a_character() {
        for (user, project, kept, said) in [
            (USER, PROJECT, USER + PROJECT, 0),
            (USER + 1, 10, USER + 11, 1),
            (USER, PROJECT + 1, USER + PROJECT + 1, 2),
            (USER, 30_000, MOST, 3),
            (30_000, 10, MOST, 4),
        ] {
            let (mut budget, mut problems) = (Budget::of("Knowledge files"), Vec::new());
            let texts = [(user, USER), (project, PROJECT)].map(|(size, usual)| {
                budget.fit(Path::new("c.md"), &"x".repeat(size), usual, &mut problems).unwrap_or_default()
            });
            problems.extend(budget.warning());
            let size: usize = texts.iter().map(String::len).sum();
            assert_eq!((size, problems.len()), (kept, said), "{user} {project}: {problems:#?}");
        }
        // Instructions have as much, and their front matter is text.
        let (mut budget, mut problems) = (Budget::of("Instructions"), Vec::new());
        let text = format!("---\na: b\n---\n{}", "x".repeat(MOST));
        let got = budget.take(Path::new("AGENTS.md"), &text, PROJECT, &mut problems).unwrap();
        assert!(got.len() == MOST && got.starts_with("---\na: b\n"), "{}", got.len());
        problems.extend(budget.warning());
        assert_eq!(
            problems,
            [
                "AGENTS.md has 20 KiB; more than 7 KiB cost much in every request.",
                "AGENTS.md was cut: instructions may have 20 KiB together. Shorten them.",
                "Instructions have 20 KiB together; more than 10 KiB cost much in every request.",
            ]
        );
        let text = "é".repeat(MOST);
        let got =
            Budget::of("Knowledge files").fit(Path::new("c.md"), &format!("x{text}"), USER, &mut Vec::new());
        assert_eq!(got.unwrap().len(), MOST - 1);
    }
}
