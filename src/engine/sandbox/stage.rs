//! The stage of this program between `co` and a sandboxed command: it confines the command, and ends what the command
//! started when `co` ends.
//!
//! A backend starts this same binary with [`STAGE`] as its first argument, a [`StageOrder`] as JSON, and the script. The
//! stage stays as the parent of the command: every descendant it can see ends with the command, with `co` (by any death),
//! or beyond the number of processes. Alone it confines only the command; inside of bubblewrap, itself as well. It runs
//! before anything else of the program, with one thread. Linux only.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use super::policy::SandboxPolicy;

/// The first argument of a stage; no user types it.
pub const STAGE: &str = "__sandbox";

/// The exit code of a stage that could not confine: the command did not run.
pub const NOT_CONFINED: u8 = 125;

/// The order for a stage.
#[derive(Debug, Serialize, Deserialize)]
pub struct StageOrder {
    pub policy: SandboxPolicy,
    pub role: StageRole,
}

/// The place of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StageRole {
    /// Started by `co`, whose process id this is.
    Alone { parent: u32 },
    /// Inside of bubblewrap.
    Inside,
    /// Started by `co` to run the script in a container with this name: `client` is Docker's, `args` all but the script.
    Container { parent: u32, client: PathBuf, name: String, args: Vec<String> },
}

/// Runs the stage if these are its arguments; returns its exit code then.
#[must_use]
pub fn enter(args: &[OsString]) -> Option<ExitCode> {
    match args {
        [_, stage, order, script] if stage == STAGE => Some(run(order, script)),
        [..] => None,
    }
}

#[cfg(target_os = "linux")]
fn run(order: &OsString, script: &OsString) -> ExitCode {
    linux::run(order, script)
}

#[cfg(not(target_os = "linux"))]
fn run(_order: &OsString, _script: &OsString) -> ExitCode {
    ExitCode::from(NOT_CONFINED)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsStr;
    use std::io::{self, Write as _};
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::{Command, ExitCode, ExitStatus, Stdio};
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, WaitOptions};
    use tokio::signal::unix::{SignalKind, signal};

    use super::{NOT_CONFINED, StageOrder, StageRole};
    use crate::sandbox::child::SHELL;
    use crate::sandbox::confine::{Namespaces, PreparedConfinement};
    use crate::sandbox::survivors::MARKER;

    /// The time between SIGTERM and SIGKILL for what is left when the command exits.
    const GRACE: Duration = Duration::from_millis(150);

    /// The same when `co` ends the command, which sends SIGTERM to the group itself.
    const CUT_GRACE: Duration = Duration::from_millis(20);

    /// How often the number of processes is looked at.
    const WATCH: Duration = Duration::from_millis(250);

    /// How long to go on killing: a process in uninterruptible sleep may outlast it.
    const ENDING: Duration = Duration::from_secs(2);

    pub(super) fn run(order: &OsStr, script: &OsStr) -> ExitCode {
        match run_stage(order, script) {
            Ok(code) => code,
            Err(error) => {
                let _ = writeln!(io::stderr(), "co: the sandbox could not be entered: {error}");
                ExitCode::from(NOT_CONFINED)
            }
        }
    }

    fn run_stage(order: &OsStr, script: &OsStr) -> io::Result<ExitCode> {
        let order: StageOrder = serde_json::from_slice(order.as_encoded_bytes())?;
        let mut shell = Command::new(SHELL);
        shell.arg("-c").arg(script);
        match order.role {
            StageRole::Inside => {
                let most = order.policy.limits.processes;
                PreparedConfinement::prepare(order.policy, Namespaces::Own)?.enter()?;
                run_supervised(shell, most)
            }
            StageRole::Container { parent, client, name, args } => {
                end_with(parent)?;
                let mut run = Command::new(&client);
                run.args(args).arg(script);
                let mut remove = Command::new(client);
                remove.args(["rm", "-f", &name]);
                run_contained(run, remove)
            }
            StageRole::Alone { parent } => {
                end_with(parent)?;
                rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
                let most = order.policy.limits.processes;
                let confined = PreparedConfinement::prepare(order.policy, Namespaces::Host)?;
                enter_in_child(&mut shell, confined);
                run_supervised(shell, most)
            }
        }
    }

    /// Makes the kernel send SIGTERM when `co` ends.
    fn end_with(parent: u32) -> io::Result<()> {
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
        let now = rustix::process::getppid();
        if now.is_none_or(|now| now.as_raw_nonzero().get().unsigned_abs() != parent) {
            return Err(io::Error::other("co has ended"));
        }
        Ok(())
    }

    /// Runs a container until it ends. Ended early, its client ends at once, and the container is removed by a process that
    /// outlives this one.
    fn run_contained(run: Command, mut remove: Command) -> io::Result<ExitCode> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut term = signal(SignalKind::terminate())?;
            let mut child = tokio::process::Command::from(run).spawn()?;
            tokio::select! {
                biased;
                status = child.wait() => Ok(exit_like(status?)),
                _ = term.recv() => {
                    child.start_kill()?;
                    // Without the mark of the command, by which its processes are ended.
                    remove.env_remove(MARKER);
                    remove.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                    // Not in the group, which is about to be killed.
                    remove.process_group(0).spawn()?;
                    Ok(exit_like(ExitStatus::from_raw(Signal::KILL.as_raw())))
                }
            }
        })
    }

    fn run_supervised(shell: Command, most: usize) -> io::Result<ExitCode> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(supervise(shell, most))
    }

    #[expect(unsafe_code, reason = "the command is confined in the child, between fork and exec")]
    fn enter_in_child(shell: &mut Command, confined: PreparedConfinement) {
        // SAFETY: this process has one thread when it forks, so no lock can be held by another one; the closure makes
        // system calls on what was prepared.
        unsafe {
            shell.pre_exec(move || confined.enter());
        }
    }

    /// Runs the command until it exits or is ended, and then ends what is left of it.
    async fn supervise(shell: Command, most: usize) -> io::Result<ExitCode> {
        let mut term = signal(SignalKind::terminate())?;
        let mut child = tokio::process::Command::from(shell).spawn()?;
        let mut watch = tokio::time::interval(WATCH);
        let end = loop {
            tokio::select! {
                biased;
                // Without a status the command is ended as on a request to end.
                status = child.wait() => break status.ok(),
                _ = term.recv() => break None,
                _ = watch.tick() => {
                    if could_exceed(most) && descendants().len() > most {
                        let _ = writeln!(io::stderr(), "co: ended: the command had more than {most} processes");
                        break None;
                    }
                }
            }
        };
        let grace = if end.is_some() { GRACE } else { CUT_GRACE };
        end_descendants(grace).await;
        let status = match end {
            Some(status) => status,
            None => ExitStatus::from_raw(Signal::KILL.as_raw()),
        };
        Ok(exit_like(status))
    }

    /// Whether this machine runs more than so many processes and threads; much cheaper than counting one's own.
    fn could_exceed(most: usize) -> bool {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let total =
            load.split_ascii_whitespace().nth(3).and_then(|field| field.split_once('/')?.1.parse().ok());
        total.is_none_or(|total: usize| total > most)
    }

    /// Ends this process as the command ended.
    fn exit_like(status: ExitStatus) -> ExitCode {
        if let Some(signal) = status.signal().and_then(Signal::from_named_raw) {
            let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
        }
        let code = status.code().or(status.signal().map(|signal| 128 + signal));
        ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(NOT_CONFINED))
    }

    /// Ends all descendants, gently first.
    async fn end_descendants(grace: Duration) {
        let began = Instant::now();
        let mut signal = Signal::TERM;
        let mut signalled = Vec::new();
        loop {
            // Orphans have become children, so that without any child nothing is left, and nothing need be searched.
            let has_children = loop {
                match rustix::process::wait(WaitOptions::NOHANG) {
                    Ok(Some(_)) => {}
                    Ok(None) => break true,
                    Err(_) => break false,
                }
            };
            if !has_children {
                return;
            }
            if began.elapsed() > ENDING {
                // Processes that fork faster than they are found are in this group, or a namespace is needed.
                let _ = rustix::process::kill_current_process_group(Signal::KILL);
            }
            let left = descendants();
            if began.elapsed() > grace {
                signal = Signal::KILL;
            }
            for pid in left {
                if signal == Signal::KILL || !signalled.contains(&pid) {
                    let _ = rustix::process::kill_process(pid, signal);
                    signalled.push(pid);
                }
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Returns all living descendants of this process.
    fn descendants() -> Vec<Pid> {
        let mut parents: Vec<(i32, i32)> = Vec::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let Some((pid, parent)) = pid.and_then(|pid| Some((pid, parent_of(pid)?))) else { continue };
            parents.push((pid, parent));
        }
        let mut found = vec![rustix::process::getpid().as_raw_nonzero().get()];
        let mut at = 0;
        while let Some(parent) = found.get(at).copied() {
            found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
            at += 1;
        }
        found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
    }

    /// Returns the parent of a process that is not a zombie.
    fn parent_of(pid: i32) -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name before it may contain anything.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        (state != "Z" && state != "X").then_some(parent)
    }
}
