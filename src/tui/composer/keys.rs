//! Applies moves and edits to an editor.

use super::editor::Editor;
use super::rows::Moved;
use crate::tui::keys::{Move, TextEdit};

impl Editor {
    pub fn edit(&mut self, edit: TextEdit) {
        match edit {
            TextEdit::Newline => self.insert("\n"),
            TextEdit::Backspace => self.backspace(),
            TextEdit::Delete => self.delete(),
            TextEdit::KillToEnd => self.kill_to_end(),
            TextEdit::KillToStart => self.kill_to_start(),
            TextEdit::KillWordBack => self.kill_word_back(),
            TextEdit::KillPartBack => self.kill_part_back(),
            TextEdit::KillWordForward => self.kill_word_forward(),
            TextEdit::Yank => self.yank(),
            TextEdit::YankOlder => self.yank_older(),
            TextEdit::Undo => self.undo(),
            TextEdit::Redo => self.redo(),
        }
    }

    /// Moves the cursor in a text that is `width` cells wide.
    pub fn step(&mut self, to: Move, width: usize) -> Moved {
        match to {
            Move::Left => self.left(),
            Move::Right => self.right(),
            Move::WordLeft => self.word_left(),
            Move::WordRight => self.word_right(),
            Move::LineStart => self.line_start(),
            Move::LineEnd => self.line_end(),
            Move::Up => return self.up(width),
            Move::Down => return self.down(width),
        }
        Moved::Yes
    }
}
