//! A cell as text to read: folded separately, copied whole, searched.
//!
//! Copying and searching use the source; no lines are laid out for them. Called by `update` and the search.

use std::borrow::Cow;

use super::{Cell, CellKind, Fold, RenderContext, text};
use crate::stdx::ansi::bare;

/// The searchable text of a cell: the part always shown, and the part hidden by folding.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchableText<'a> {
    pub shown: Cow<'a, str>,
    pub folded: Cow<'a, str>,
}

impl Cell {
    /// Returns `context` with this cell's own folding applied.
    pub(super) fn own(&self, context: &RenderContext) -> RenderContext {
        match self.fold {
            Some(fold) => RenderContext { details: fold, thinking: fold, ..*context },
            None => *context,
        }
    }

    /// Whether folding makes a difference.
    pub fn can_fold(&self) -> bool {
        match &self.kind {
            CellKind::Thinking(_) => true,
            CellKind::Call(row) => !row.moves() && !row.output().is_empty(),
            CellKind::Shell(shell) => shell.is_long(),
            CellKind::User { text, short } => short.is_some() || text::is_long(text),
            CellKind::Note { text: _, more } => !more.is_empty(),
            CellKind::Answer(_)
            | CellKind::CallDraft(_)
            | CellKind::Settled { .. }
            | CellKind::Local { .. }
            | CellKind::Failure { .. }
            | CellKind::Waits { .. } => false,
        }
    }

    /// Whether part of it is hidden.
    pub fn is_folded(&self, context: &RenderContext) -> bool {
        let own = self.own(context);
        let fold = if matches!(&self.kind, CellKind::Thinking(_)) && own.thinking == Fold::Open {
            Fold::Open
        } else {
            own.details
        };
        self.can_fold() && fold == Fold::Folded
    }

    /// Folds or unfolds this cell.
    pub fn turn(&mut self, context: &RenderContext) {
        let now = if self.is_folded(context) { Fold::Folded } else { Fold::Open };
        let tells =
            if let CellKind::Call(row) = &mut self.kind { row.toggle_text_for_model(now) } else { false };
        self.fold = Some(if tells { Fold::Open } else { now.turned() });
        self.touch();
    }

    /// Unfolds this cell.
    pub fn unfold(&mut self) {
        self.fold = Some(Fold::Open);
    }

    /// Returns to the general folding.
    pub fn fold_with_all(&mut self) {
        self.fold = None;
        if let CellKind::Call(row) = &mut self.kind {
            row.for_model = Fold::Folded;
            self.touch();
        }
    }

    pub fn is_thinking(&self) -> bool {
        matches!(self.kind, CellKind::Thinking(_))
    }

    /// Returns the text for copying the whole cell.
    pub fn source(&self) -> Cow<'_, str> {
        match &self.kind {
            CellKind::Note { text, more } if !more.is_empty() => Cow::Owned(format!("{text}\n{more}")),
            CellKind::User { text, .. } | CellKind::Waits { text } | CellKind::Note { text, .. } => {
                Cow::Borrowed(text)
            }
            CellKind::Answer(answer) => answer.source(),
            CellKind::Thinking(thinking) => Cow::Borrowed(thinking.source()),
            CellKind::CallDraft(_) => Cow::Borrowed(""),
            CellKind::Call(row) if row.output().is_empty() => {
                Cow::Owned(format!("{} {}", row.name, row.subject))
            }
            CellKind::Call(row) => row.output(),
            CellKind::Settled { tool, subject, outcome, tone: _ } => {
                Cow::Owned(format!("{tool} {subject} {outcome}"))
            }
            CellKind::Local { title, text, tone: _ } if title.is_empty() => Cow::Borrowed(text),
            CellKind::Local { title, text, tone: _ } => Cow::Owned(format!("{title}\n{text}")),
            CellKind::Shell(shell) if shell.output().is_empty() => Cow::Borrowed(shell.command()),
            CellKind::Shell(shell) => bare(shell.output()),
            CellKind::Failure { message, advice } => Cow::Owned(format!("{message}\n{advice}")),
        }
    }

    /// Returns the text for the search.
    pub fn searchable_text(&self) -> SearchableText<'_> {
        let shown = |text| SearchableText { shown: text, folded: Cow::Borrowed("") };
        match &self.kind {
            CellKind::Thinking(thinking) => {
                SearchableText { shown: Cow::Borrowed(""), folded: Cow::Borrowed(thinking.source()) }
            }
            CellKind::Call(row) => SearchableText {
                shown: Cow::Owned(format!("{}\n{}", row.name, row.subject)),
                folded: row.shown_output(),
            },
            CellKind::Shell(shell) => {
                SearchableText { shown: Cow::Borrowed(shell.command()), folded: bare(shell.output()) }
            }
            CellKind::Note { text, more } => {
                SearchableText { shown: Cow::Borrowed(text), folded: Cow::Borrowed(more) }
            }
            CellKind::Settled { tool, subject, .. } => shown(Cow::Owned(format!("{tool}\n{subject}"))),
            CellKind::User { .. }
            | CellKind::Answer(_)
            | CellKind::CallDraft(_)
            | CellKind::Local { .. }
            | CellKind::Failure { .. }
            | CellKind::Waits { .. } => shown(self.source()),
        }
    }

    /// Whether its source is Markdown.
    pub fn is_markdown(&self) -> bool {
        matches!(&self.kind, CellKind::Answer(_) | CellKind::Local { .. })
    }

    #[cfg(test)]
    pub fn holds_lines(&self) -> bool {
        self.cache.is_some()
    }
}
