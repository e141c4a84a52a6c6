//! The lower end of a card: what its stage asks for, and the keys.

use super::{Holds, NARROW, Sheet};
use crate::tui::cards::{Card, Stage};
use crate::tui::cells::Fold;
use crate::tui::composer::Rows;
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::theme::Role;

impl Sheet<'_> {
    /// What the stage asks for, above the keys.
    pub(super) fn foot(&self, card: &Card) -> Vec<Line> {
        let mut lines = Vec::new();
        match &card.stage {
            Stage::Confirming(_) => {
                lines.push(Line::of("HIGH: y once more to approve, Esc back", Role::High));
            }
            Stage::Reason(editor) => {
                lines.push(Line::of("no: tell the model why (optional)", Role::Text));
                let rows = Rows::of(editor, self.inner - 4);
                for row in (self.reason_from(&rows)..rows.height()).take(self.reason_rows()) {
                    let mark = if row == 0 { "> " } else { "  " };
                    lines.push(Line::of(mark, Role::Waiting).joined(rows.line(editor, row)));
                }
            }
            Stage::Deciding(word) => lines.push(Line::of(format!("{word}: deciding…"), Role::Waiting)),
            Stage::Asking | Stage::Editing(_) => {}
        }
        if let Some(advice) = &card.advice {
            let spans = [Span::new(format!("! {advice}"), Role::Waiting)];
            lines.extend(wrap_spans(&spans, self.inner, &Margin::default()));
        }
        lines
    }

    pub(super) fn keys(&self, card: &Card) -> Line {
        if self.frame.holds == Holds::Nothing {
            return keys_line(&[("Tab", "or Alt+A: decide")], self.frame.look.glyphs.dot);
        }
        let tool = card.request.tool.as_str();
        let always = if tool == "shell" {
            "exactly this command, this session".to_owned()
        } else {
            format!("{tool}, this session")
        };
        let mut keys: Vec<(&str, &str)> = match &card.stage {
            Stage::Reason(_) => vec![("Enter", "send the no"), ("Ctrl+G", "$EDITOR"), ("Esc", "back")],
            Stage::Deciding(_) => vec![("Tab", "back to writing")],
            Stage::Asking | Stage::Confirming(_) | Stage::Editing(_) => {
                vec![("y", if card.is_high() { "y yes" } else { "yes" }), ("n", "no…"), ("e", "edit")]
            }
        };
        if let Stage::Asking | Stage::Confirming(_) = &card.stage {
            if !card.is_high() {
                keys.push(("a", &always));
            }
            if card.hunks.count() > 0 {
                keys.push(("1-9", "skip"));
            }
            keys.extend([whole_key(card), ("w", "why"), ("Esc", self.escape(card))]);
        }
        let long = keys_line(&keys, self.frame.look.glyphs.dot);
        if long.width() + 6 <= self.width {
            return long;
        }
        for key in &mut keys {
            key.1 = match key.0 {
                _ if self.width < NARROW && key.0 != "Esc" => "",
                "a" => "session",
                _ => key.1,
            };
        }
        keys_line(&keys, self.frame.look.glyphs.dot)
    }
}

impl Sheet<'_> {
    /// Where Esc leads from here: back from the first `y`, back to the list, or later.
    fn escape(&self, card: &Card) -> &'static str {
        let (_, of) = self.frame.position;
        match &card.stage {
            Stage::Confirming(_) => "back",
            Stage::Asking | Stage::Reason(_) | Stage::Deciding(_) | Stage::Editing(_) if of > 1 => "back",
            Stage::Asking | Stage::Reason(_) | Stage::Deciding(_) | Stage::Editing(_) => "later",
        }
    }
}

/// What `v` does next.
pub fn whole_key(card: &Card) -> (&'static str, &'static str) {
    match card.whole {
        Fold::Folded => ("v", "all"),
        Fold::Open => ("v", "less"),
    }
}

/// Keys and what they do, side by side.
pub fn keys_line(keys: &[(&str, &str)], dot: &str) -> Line {
    let mut line = Line::new();
    for (index, (key, words)) in keys.iter().enumerate() {
        if index > 0 {
            line = line.with(format!(" {dot} "), Role::Dim);
        }
        line = line.with(key, Role::Key);
        if !words.is_empty() {
            line = line.with(format!(" {words}"), Role::Dim);
        }
    }
    line
}
