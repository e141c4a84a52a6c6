//! A command from the user's own settings that prints a key.
//!
//! It runs once, when its key is first needed, without a terminal and with a time limit. Its output is the
//! key and is used for nothing else; its standard error is reported if it fails.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

use crate::config::Secret;
use crate::sandbox::privacy::give_environment;
use crate::stdx::moment::duration;
use crate::stdx::text::{one_line_summary, sanitize};

/// Time limit of the command; the user may have to unlock something.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Time limit for reading the rest of its output after it has ended.
const REST: Duration = Duration::from_millis(200);

/// Maximum bytes of a key, and of standard error.
const LONGEST: u64 = 16 * 1024;

/// Width of the reported part of standard error, in cells.
const LONGEST_OUTPUT: usize = 300;

/// Why there is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyCommandError {
    #[error("the key should come from ${variable}, which is not set")]
    Missing { variable: String },
    #[error("the key command could not be started: {reason}")]
    Start { reason: String },
    #[error("the key command failed with {how}{}", output_suffix(output))]
    Failed { how: String, output: String },
    #[error("the key command did not finish within {}; run it in a shell to see what it is waiting for", duration(*patience))]
    TimedOut { patience: Duration },
    #[error("the key command did not print a key: it must print only the key, on one line")]
    NoKey,
}

fn output_suffix(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!(": {output}") }
}

/// Runs a command to its end; returns the key that it printed.
pub(super) async fn run(script: &str, patience: Duration) -> Result<Secret, KeyCommandError> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).process_group(0).kill_on_drop(true);
    give_environment(command.as_std_mut());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| KeyCommandError::Start { reason: error.to_string() })?;
    let group = Group::of(&child);
    let (mut printed, mut output) = (Vec::new(), Vec::new());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let ended = {
        let both = async { tokio::join!(read(out, &mut printed), read(err, &mut output)) };
        tokio::time::timeout(patience, wait_for_exit(&mut child, both)).await
    };
    let Ok(status) = ended else { return Err(KeyCommandError::TimedOut { patience }) };
    group.release();
    let status = status.map_err(|error| KeyCommandError::Start { reason: error.to_string() })?;
    if !status.success() {
        let output = one_line_summary(&sanitize(&String::from_utf8_lossy(&output)), LONGEST_OUTPUT);
        return Err(KeyCommandError::Failed { how: status.to_string(), output });
    }
    let key = String::from_utf8(printed).map_err(|_| KeyCommandError::NoKey)?;
    let key = key.trim();
    if key.is_empty() || key.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(KeyCommandError::NoKey);
    }
    Ok(Secret::new(key.to_owned()))
}

/// Waits for the command and its output, but not for processes that it left running with the same pipes.
async fn wait_for_exit(child: &mut Child, pipes: impl Future) -> std::io::Result<ExitStatus> {
    tokio::pin!(pipes);
    let status = tokio::select! {
        status = child.wait() => status,
        _ = &mut pipes => return child.wait().await,
    };
    // The pipes contain all its output and are at their end, unless another process holds them open.
    let _ = tokio::time::timeout(REST, pipes).await;
    status
}

async fn read(pipe: Option<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) {
    if let Some(mut pipe) = pipe {
        // Output that cannot be read counts as missing.
        let _ = (&mut pipe).take(LONGEST).read_to_end(bytes).await;
        // The rest is read and dropped, so that the command does not wait for a reader.
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
}

/// The process group of a command; dropping it kills the group.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    /// Releases the group of a command that has ended: a helper that it left running belongs to the user.
    fn release(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::keys::Keys;
    use crate::config::{Key, Settings};

    #[tokio::test]
    async fn the_key_alone_counts_and_failures_say_why() {
        let cases = [
            ("echo '  sk-1  '", Ok("sk-1")),
            ("echo noise >&2; echo sk-2", Ok("sk-2")),
            ("true", Err("did not print a key")),
            ("printf 'a\\nb'", Err("did not print a key")),
            ("echo sk-hunter2; echo 'vault is locked' >&2; exit 3", Err("exit status: 3: vault is locked")),
            ("printf '\\033[31mred' >&2; exit 1", Err("red")),
        ];
        for (script, expected) in cases {
            let got = run(script, PATIENCE).await;
            match (got, expected) {
                (Ok(key), Ok(expected)) => assert_eq!(key.expose(), expected),
                (Err(error), Err(expected)) => {
                    let output = error.to_string();
                    assert!(output.contains(expected) && !output.contains("hunter2"), "{script}: {output}");
                    assert!(!output.contains('\u{1b}'), "{output:?}");
                }
                (got, expected) => panic!("{script}: {:?} for {expected:?}", got.err()),
            }
        }
        let late = run("sleep 600", Duration::from_millis(50)).await.err();
        assert_eq!(late, Some(KeyCommandError::TimedOut { patience: Duration::from_millis(50) }));
    }

    #[tokio::test]
    async fn what_it_leaves_behind_is_not_waited_for() {
        for script in ["sleep 5 & echo sk-1", "setsid sleep 5 & echo sk-1"] {
            let got = tokio::time::timeout(Duration::from_secs(4), run(script, PATIENCE)).await;
            assert_eq!(got.expect("in time").unwrap().expose(), "sk-1", "{script}");
        }
    }

    /// A process that holds the pipe open is alive: the end of the pipe means that all processes have ended.
    #[tokio::test]
    async fn dropped_it_ends_with_all_that_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let script = format!("exec 3>{}; echo begun >&3; sleep 20 & sleep 20", pipe.display());
        let (begun, started) = tokio::sync::oneshot::channel();
        let ended = tokio::task::spawn_blocking(move || {
            use std::io::{BufRead as _, BufReader};
            let mut lines = BufReader::new(std::fs::File::open(pipe).unwrap()).lines();
            begun.send(lines.next().unwrap().unwrap()).unwrap();
            assert!(lines.next().is_none());
        });
        tokio::select! {
            _ = run(&script, PATIENCE) => panic!("it was to be dropped"),
            word = started => assert_eq!(word.unwrap(), "begun"),
        }
        tokio::time::timeout(Duration::from_secs(10), ended).await.expect("all ended").unwrap();
    }

    #[tokio::test]
    async fn it_runs_once() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("ran");
        let keys = Keys::of(&Settings::default());
        let key = Key::Command(format!("echo x >> {}; echo sk-9", mark.display()));
        let both = tokio::join!(keys.expose(&key), keys.expose(&key));
        assert!(both.0.is_ok() && both.1.is_ok());
        assert_eq!(std::fs::read_to_string(mark).unwrap(), "x\n");
    }
}
