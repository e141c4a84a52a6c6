//! How a line contributes to a copy: where its margin ends, and how it continues the line before it.
//!
//! Set where lines are wrapped; read by `copied` and by the search in the transcript.

use std::ops::Range;

use crate::stdx::text::sanitize;

/// How a line is copied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopyRules {
    /// Cells at the start that the program adds: gutter, bars, indents.
    pub margin: usize,
    /// Cells at the end that the program adds: the background up to the edge.
    pub padding: usize,
    /// The source text of the margin, for a copy that begins in it: `- `, `> `.
    pub lead: String,
    pub join: Join,
    pub exact: Option<Box<SourceLine>>,
}

/// How a line continues the one before it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Join {
    /// It begins a line of the source.
    #[default]
    Start,
    /// It continues after a wrap, which replaced this white space; empty inside a word.
    Gap(String),
    /// It is a remark by the program and is not copied.
    Ours,
}

/// The text of a whole source line, where the cells do not show it: tabs, rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    text: String,
    /// The cells of the columns. A selection inside one is copied as it is; any other takes the whole row.
    columns: Vec<Range<usize>>,
}

impl SourceLine {
    pub fn new(text: &str, columns: Vec<Range<usize>>) -> Box<Self> {
        Box::new(Self { text: sanitize(text).into_owned(), columns })
    }

    /// Copies `text` whatever part of the line is selected: for a rule, or the line below a table's head.
    pub fn whole(text: &str) -> Box<Self> {
        Self::new(text, std::iter::once(usize::MAX..usize::MAX).collect())
    }

    /// Shifts the columns for a margin.
    #[must_use]
    pub fn moved(mut self: Box<Self>, by: usize) -> Box<Self> {
        for column in &mut self.columns {
            *column = column.start.saturating_add(by)..column.end.saturating_add(by);
        }
        self
    }

    pub fn columns(&self) -> &[Range<usize>] {
        &self.columns
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the cells are all in one column.
    pub fn is_within_a_column(&self, marked: &Range<usize>) -> bool {
        self.columns.iter().any(|column| marked.start >= column.start && marked.end <= column.end)
    }
}
