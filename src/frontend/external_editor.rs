//! Runs the user's editor on a private file and reads the text back.
//!
//! It does not manage the terminal: the caller prints nothing and reads nothing meanwhile. No outcome loses a text: the
//! caller keeps the original until an edited one is returned.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::{Builder, TempPath};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::sandbox::privacy::give_environment;

/// The timeout for an editor to end after a signal to this program.
const LAST_WAIT: Duration = Duration::from_millis(300);

/// A running editor, and what its text is for. It receives SIGTERM when dropped, so that editors can keep a copy.
pub struct ExternalEditor<Target> {
    child: Child,
    file: TempPath,
    pub target: Target,
}

impl<Target> ExternalEditor<Target> {
    /// Writes a file with this extension and starts `editor` on it. `editor` is parsed as shell words, so `code -w` and
    /// quotes work.
    pub fn start(editor: &str, text: &str, extension: &str, target: Target) -> io::Result<Self> {
        // Such files are readable and writable by their owner only.
        let mut file = Builder::new().prefix("co-").suffix(&format!(".{extension}")).tempfile()?;
        file.write_all(text.as_bytes())?;
        // Editors expect and keep a final newline; it is removed again.
        file.write_all(b"\n")?;
        let file = file.into_temp_path();
        let child = editor_command(editor, &file).spawn()?;
        Ok(Self { child, file, target })
    }

    /// Returns the saved text, or why there is none.
    pub fn saved_text(&self, ended: io::Result<ExitStatus>) -> Result<String, String> {
        match ended {
            Ok(status) if status.success() => read(&self.file),
            Ok(status) => Err(refusal(status)),
            Err(error) => Err(format!("lost track of the editor: {error}")),
        }
    }

    /// Sends SIGTERM to the editor and waits briefly, so that it can save a copy and restore the terminal.
    pub async fn end(mut self) {
        self.tell_to_end();
        // An editor that does not end in time is left running.
        let _ = timeout(LAST_WAIT, self.child.wait()).await;
    }

    fn tell_to_end(&self) {
        let running = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = running {
            // A failure means that the editor has just ended.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// Returns the command that opens a file. It is split by a shell, so that `code -w` and quotes work; `exec` leaves no shell
/// that a signal for the editor would end, and `env` accepts `NAME=value vim` too.
pub fn editor_command(editor: &str, file: &Path) -> Command {
    let script = format!("exec env {editor} \"$@\"");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script, editor]).arg(file);
    give_environment(command.as_std_mut());
    command
}

fn read(file: &Path) -> Result<String, String> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("the editor left no file".to_owned());
        }
        Err(error) => return Err(format!("the file cannot be read: {error}")),
    };
    let mut text = String::from_utf8(bytes).map_err(|_| "the saved file is not UTF-8".to_owned())?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

/// Says why an editor that ended has no text. 126 and 127 are the shell's own codes: found but not executable, and not
/// found.
pub fn refusal(status: ExitStatus) -> String {
    match status.code() {
        Some(126 | 127) => "the editor could not be started: see $VISUAL and $EDITOR".to_owned(),
        // A shell in between reports a signal of its child in this way.
        Some(129..) | None => "the editor was killed".to_owned(),
        Some(code) => format!("the editor exited with {code}"),
    }
}

impl<Target> Drop for ExternalEditor<Target> {
    fn drop(&mut self) {
        self.tell_to_end();
    }
}

/// Waits for the editor's end; without an editor, forever. Cancel-safe.
pub async fn wait_for_exit<Target>(outside: &mut Option<ExternalEditor<Target>>) -> io::Result<ExitStatus> {
    match outside {
        Some(outside) => outside.child.wait().await,
        None => std::future::pending().await,
    }
}
