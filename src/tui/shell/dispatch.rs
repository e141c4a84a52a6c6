//! Carries out the commands that `update` returns.
//!
//! Called by the shell after every message; a failure because the terminal is gone leads to a hangup.

use std::io;

use super::{NextFrame, Shell, ShellControl, TerminalState, frame_writer, notification, osc};
use crate::tui::keys::{Action, Context};
use crate::tui::msg::{Alert, Cmd, Input};

impl Shell {
    pub(super) fn carry_out(&mut self, cmds: Vec<Cmd>) -> ShellControl {
        let mut control = ShellControl::Continue;
        for cmd in cmds {
            match cmd {
                Cmd::Send(ask) => self.outbox.push_back(ask),
                Cmd::Ask(query) => self.outbox.push_back(self.queries.ask(query)),
                Cmd::Suspend => control = control.or(self.suspend()),
                Cmd::Redraw => {
                    let forgot = self.forget_screen();
                    control = control.or(self.or_lost(&forgot));
                }
                Cmd::Edit { text, target } => control = control.or(self.edit(&text, target)),
                Cmd::Copy { text } => control = control.or(self.copy(&text)),
                Cmd::Mouse(mode) => {
                    let set = self.screen.set_mouse(mode);
                    control = control.or(self.or_lost(&set));
                }
                Cmd::Name { text, folder } => self.jobs.name(text, folder),
                Cmd::ReadClipboard => self.jobs.read_clipboard(),
                Cmd::Load(languages) => self.jobs.load(languages),
                Cmd::Alert(alert) => control = control.or(self.call(alert)),
                Cmd::Exit => return ShellControl::Exit,
            }
        }
        control
    }

    fn or_lost(&mut self, sent: &io::Result<()>) -> ShellControl {
        if sent.is_err() { self.on_terminal_loss() } else { ShellControl::Continue }
    }

    /// Sends a sequence other than drawing to the terminal, if the terminal is in use and supports it.
    fn tell(&mut self, bytes: &[u8]) -> ShellControl {
        if self.terminal_state != TerminalState::Present || !self.options.surroundings.is_modern() {
            return ShellControl::Continue;
        }
        let sent = frame_writer::write(bytes);
        self.or_lost(&sent)
    }

    fn copy(&mut self, text: &str) -> ShellControl {
        let host = self.options.host;
        let (control, word) = if !self.options.surroundings.is_modern() {
            (ShellControl::Continue, "not copied: this terminal has no clipboard".to_owned())
        } else {
            match osc::copy(text, host.multiplexer) {
                Some(bytes) => (self.tell(&bytes), osc::copy_sentence(text.len(), host)),
                None => {
                    let mouse = self.model.keymap.key_label(Context::Global, Action::ToggleMouse);
                    (ShellControl::Continue, osc::too_long(text.len(), &mouse))
                }
            }
        };
        if control == ShellControl::Exit {
            control
        } else {
            self.take(Input::Word { text: word }, NextFrame::Now)
        }
    }

    fn call(&mut self, alert: Alert) -> ShellControl {
        let bytes = osc::call(&notification::call(&self.model, alert), self.options.host.call);
        if bytes.is_empty() || self.terminal_state != TerminalState::Present {
            return ShellControl::Continue;
        }
        // Even the oldest terminals support the bell.
        let sent = frame_writer::write(&bytes);
        self.or_lost(&sent)
    }
}
