//! Handles the time while the terminal is in other hands (suspension, the user's editor) and the return.
//!
//! The session continues meanwhile: its updates are processed, nothing is drawn. Called by the shell's loop.

use std::io;
use std::process::ExitStatus;

use rustix::process::Signal;
use tokio::time::Instant;

use super::{NextFrame, Shell, ShellControl, TerminalState, screen};
use crate::frontend::external_editor::ExternalEditor;
use crate::tui::msg::{EditTarget, EditedText, Input};

impl Shell {
    /// Gives the terminal to the user's editor.
    pub(super) fn edit(&mut self, text: &str, target: EditTarget) -> ShellControl {
        if self.terminal_state != TerminalState::Present {
            return ShellControl::Continue;
        }
        let Some(editor) = self.options.editor.clone() else {
            let reason = "no editor is set or installed: set $VISUAL or $EDITOR, e.g. EDITOR=nano".to_owned();
            return self.take(Input::Edited(EditedText { target, text: Err(reason) }), NextFrame::Now);
        };
        // From here on the keys belong to the editor.
        self.input.close();
        self.screen.leave();
        self.terminal_state = TerminalState::Away;
        match ExternalEditor::start(&editor, text, target.extension(), target.clone()) {
            Ok(outside) => {
                self.outside = Some(outside);
                ShellControl::Continue
            }
            Err(error) => {
                let text = Err(format!("the editor could not be started: {error}"));
                self.back_with(EditedText { target, text })
            }
        }
    }

    pub(super) fn on_return(&mut self, ended: io::Result<ExitStatus>) -> ShellControl {
        match self.outside.take() {
            Some(outside) => {
                let text = outside.saved_text(ended);
                self.back_with(EditedText { target: outside.target.clone(), text })
            }
            None => ShellControl::Continue,
        }
    }

    fn back_with(&mut self, edited: EditedText) -> ShellControl {
        self.terminal_state = TerminalState::Present;
        self.back_since = Some(Instant::now());
        self.input.open();
        match self.come_back() {
            ShellControl::Continue => self.take(Input::Edited(edited), NextFrame::Now),
            ShellControl::Exit => ShellControl::Exit,
        }
    }

    /// Gives the terminal back and stops, as Ctrl+Z does; continues here after SIGCONT.
    pub(super) fn suspend(&mut self) -> ShellControl {
        self.screen.leave();
        self.stopped_itself = true;
        // An editor that stopped itself stopped this process too; both continue together. The whole group is
        // stopped, as the terminal would do: a parent that waits for us must stop too.
        match rustix::process::kill_current_process_group(Signal::STOP) {
            Ok(()) if self.terminal_state == TerminalState::Away => ShellControl::Continue,
            Ok(()) => self.come_back(),
            Err(_) => self.on_terminal_loss(),
        }
    }

    /// Handles a SIGCONT after another process stopped us.
    pub(super) fn on_resume(&mut self) -> ShellControl {
        let own = std::mem::take(&mut self.stopped_itself);
        if own || self.terminal_state == TerminalState::Away {
            return ShellControl::Continue;
        }
        self.screen.leave();
        self.come_back()
    }

    fn come_back(&mut self) -> ShellControl {
        if self.screen.enter_again().is_err() {
            return self.on_terminal_loss();
        }
        self.titled = None;
        let (columns, rows) = screen::size().unwrap_or((self.model.columns, self.model.rows));
        self.take(Input::Resize { columns, rows }, NextFrame::Now)
    }
}
