//! The text printed on the normal screen after the full screen has closed.

use super::line::{Line, Margin};
use super::markdown::{Languages, Page, render};
use super::model::Model;
use super::theme::Role;
use crate::stdx::text::sanitize_line;

/// The number of lines of the last answer that are repeated.
const MOST_LINES: usize = 40;

/// Sanitized text for the caller to print, line by line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExitLines {
    /// The last answer of this run, without colours; only its end if it is long.
    pub answer: Vec<String>,
    /// The messages of the session's owner: what was saved and how to continue.
    pub lines: Vec<String>,
    /// The number of the signal that ended the screen.
    pub signal: Option<u8>,
}

impl ExitLines {
    pub fn of(model: &Model) -> Self {
        let lines = model.goodbye.iter().map(|line| sanitize_line(line).into_owned()).collect();
        Self { answer: answer(model), lines, signal: None }
    }

    /// Returns the whole text, each line with its line end.
    pub fn text(&self) -> String {
        self.answer.iter().chain(&self.lines).flat_map(|line| [line.as_str(), "\n"]).collect()
    }
}

fn answer(model: &Model) -> Vec<String> {
    let Some(source) = &model.last_answer else { return Vec::new() };
    let first = Line::of(model.glyphs.answer, Role::Answer).with(" ", Role::Text);
    let margin = Margin::new(first, Line::of("  ", Role::Text));
    let page = Page {
        width: model.context().width.max(12),
        margin,
        glyphs: model.glyphs,
        languages: Languages::NONE,
    };
    let lines: Vec<String> =
        render(source, &page).iter().map(|line| line.text().trim_end().to_owned()).collect();
    let hidden = lines.len().saturating_sub(MOST_LINES);
    let note = (hidden > 0).then(|| format!("… {hidden} lines before"));
    note.into_iter().chain(lines.into_iter().skip(hidden)).collect()
}
