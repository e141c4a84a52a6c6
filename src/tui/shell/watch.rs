//! Handles panics while the screen is in use: a panic of the screen's own thread restores the terminal and is
//! then printed; one of another thread is shown as a fault in the transcript, because the program continues.

use std::panic::PanicHookInfo;
use std::sync::Arc;
use std::thread::ThreadId;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::screen::Screen;

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

/// Installed while the screen is in use; restores the former hook when dropped.
pub struct PanicWatch {
    shared: Arc<PanicState>,
    former: Arc<Hook>,
}

#[derive(Default)]
struct PanicState {
    /// The thread that is updating or drawing at the moment.
    ours: Mutex<Option<ThreadId>>,
    others: Mutex<Vec<String>>,
    happened: Notify,
}

impl PanicWatch {
    pub fn install(screen: &Screen) -> Self {
        let former: Arc<Hook> = Arc::from(std::panic::take_hook());
        let shared = Arc::new(PanicState::default());
        let (hook, seen, screen) = (Arc::clone(&former), Arc::clone(&shared), screen.clone());
        // The copy in the hook must not restore the terminal when the hook is replaced.
        let screen = std::mem::ManuallyDrop::new(screen);
        std::panic::set_hook(Box::new(move |info| {
            if seen.is_ours() {
                screen.leave();
                hook(info);
            } else {
                seen.note(info);
            }
        }));
        Self { shared, former }
    }

    /// Runs a piece of the screen's own work; a panic in it restores the terminal first.
    pub fn guarding<T>(&self, work: impl FnOnce() -> T) -> T {
        self.shared.set(Some(std::thread::current().id()));
        let done = work();
        self.shared.set(None);
        done
    }

    /// Returns the message of the next panic of another thread. Cancel-safe.
    pub async fn trouble(&self) -> String {
        loop {
            let notified = self.shared.happened.notified();
            let next = self.shared.others.lock().pop();
            match next {
                Some(text) => return text,
                None => notified.await,
            }
        }
    }
}

impl PanicState {
    fn set(&self, thread: Option<ThreadId>) {
        *self.ours.lock() = thread;
    }

    fn is_ours(&self) -> bool {
        let ours = *self.ours.lock();
        ours == Some(std::thread::current().id())
    }

    fn note(&self, info: &PanicHookInfo<'_>) {
        let text = format!("internal error: {info}");
        tracing::error!(%info, "a thread panicked");
        self.others.lock().push(text);
        self.happened.notify_one();
    }
}

impl Drop for PanicWatch {
    fn drop(&mut self) {
        // A panicking thread cannot change the hook; the process is ending then anyway.
        if std::thread::panicking() {
            return;
        }
        let former = Arc::clone(&self.former);
        std::panic::set_hook(Box::new(move |info| former(info)));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use portable_pty::{CommandBuilder, PtySize, native_pty_system};

    use super::*;
    use crate::tui::msg::MouseMode;

    /// Set for the child process that panics on its own terminal.
    const CHILD: &str = "CO_TEST_PANICS";

    /// Does nothing except in the child process of the test below.
    #[test]
    fn panics_on_its_terminal() {
        if std::env::var_os(CHILD).is_none() {
            return;
        }
        let screen = Screen::enter(true, MouseMode::Ours).unwrap();
        let watch = PanicWatch::install(&screen);
        watch.guarding(|| panic!("on purpose"));
    }

    #[test]
    fn a_panic_of_ours_gives_the_terminal_back_before_it_is_printed() {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let mut command = CommandBuilder::new("/bin/sh");
        let child = "\"$0\" --exact tui::shell::watch::tests::panics_on_its_terminal --nocapture; stty -a";
        command.args(["-c", child]);
        command.arg(std::env::current_exe().unwrap());
        command.env(CHILD, "1");
        let mut running = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut bytes = Vec::new();
        // A terminal whose last program is gone returns an error instead of end of file.
        let _ = pair.master.try_clone_reader().unwrap().read_to_end(&mut bytes);
        running.wait().unwrap();
        let said = String::from_utf8_lossy(&bytes);
        let at = |mark: &str| said.find(mark).unwrap_or_else(|| panic!("no {mark:?} in {said:?}"));
        for (on, off) in [
            ("\x1b[?1049h", "\x1b[?1049l"),
            ("\x1b[?1002h", "\x1b[?1002l"),
            ("\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[>1u", "\x1b[<1u"),
            ("\x1b[22;2t", "\x1b[23;2t"),
        ] {
            assert!(at(on) < at(off) && at(off) < at("on purpose"), "{on:?} in {said:?}");
        }
        assert!(said.contains(" icanon") && said.contains(" echo "), "{said:?}");
    }
}
