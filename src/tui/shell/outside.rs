//! The person's own editor: a file of the owner only, a program that has the terminal, and the text back.
//!
//! It takes nothing from the screen: whoever calls it has left the screen before and reads no keys meanwhile. No
//! outcome loses a text: what was given stays with the model until something else comes back.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::{Builder, TempPath};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::sandbox::shield::give_environment;
use crate::tui::msg::{Edited, Target};

/// How long an editor has for ending when the program is told to end.
const LAST_WAIT: Duration = Duration::from_millis(300);

/// An editor that runs. Told to end when dropped, as editors that keep a copy want it.
pub struct Outside {
    child: Child,
    file: TempPath,
    target: Target,
}

impl Outside {
    /// Writes the file and starts `editor` on it: a shell's words, so that `code -w` and quotes work.
    pub fn start(editor: &str, text: &str, target: Target) -> io::Result<Self> {
        // Files of this kind can be read and written by their owner only.
        let mut file = Builder::new().prefix("co-").suffix(&format!(".{}", target.extension())).tempfile()?;
        file.write_all(text.as_bytes())?;
        // As editors expect and leave it; it is taken away again.
        file.write_all(b"\n")?;
        let file = file.into_temp_path();
        // No shell stays in between, whom a signal for the editor would end; `env` takes `NAME=value vim` too.
        let script = format!("exec env {editor} \"$@\"");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script, editor]).arg(&file);
        give_environment(command.as_std_mut());
        let child = command.spawn()?;
        Ok(Self { child, file, target })
    }

    /// Waits for the editor's end. Cancel-safe.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// The text as it was saved, or why there is none.
    pub fn edited(self, ended: io::Result<ExitStatus>) -> Edited {
        let text = match ended {
            Ok(status) if status.success() => read(&self.file),
            Ok(status) => Err(refusal(status)),
            Err(error) => Err(format!("the editor was lost: {error}")),
        };
        Edited { target: self.target.clone(), text }
    }

    /// Tells the editor to end, and gives it a moment to keep what it has and to restore the terminal.
    pub async fn end(mut self) {
        self.tell_to_end();
        // One that does not end then is left alone.
        let _ = timeout(LAST_WAIT, self.child.wait()).await;
    }

    fn tell_to_end(&self) {
        let running = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = running {
            // One that ended this very moment does not mind.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

fn read(file: &Path) -> Result<String, String> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("the editor left no file".to_owned());
        }
        Err(error) => return Err(format!("the file cannot be read: {error}")),
    };
    let mut text = String::from_utf8(bytes).map_err(|_| "what was saved is not UTF-8".to_owned())?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

/// 126 and 127 are the shell's own words: found but no program, not found.
fn refusal(status: ExitStatus) -> String {
    match status.code() {
        Some(126 | 127) => "the editor could not be started: see $VISUAL and $EDITOR".to_owned(),
        // A shell in between says so of the program behind it.
        Some(129..) | None => "the editor was killed".to_owned(),
        Some(code) => format!("the editor ended with {code}"),
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.tell_to_end();
    }
}
