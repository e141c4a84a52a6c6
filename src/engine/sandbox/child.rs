//! One child process: started in its own session, ended with this process, and never left as a zombie.
//!
//! Each child has a thread that starts it, waits for its end and reaps it. This thread guarantees two
//! properties. The kernel sends the parent-death signal when the *thread* that forked ends, not the process:
//! this thread never ends before its child. A process id stays reserved until the process is reaped: this
//! happens only after the last signal to the group was sent, so no signal can reach another process that got
//! the same id. This file and `privacy.rs` contain the program's only `unsafe` code. Called by the subprocess
//! sandbox and for hooks.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;

use super::Exit;

/// The shell that runs the command; present on every supported system.
pub(super) const SHELL: &str = "/bin/sh";

/// A started child, and this process's ends of its pipes.
pub struct StartedChild<P> {
    pub group: Group,
    /// How the program itself ended; its group may still be running.
    pub exit: oneshot::Receiver<io::Result<Exit>>,
    pub pipes: P,
}

/// A program that communicates over its stdin, stdout and stderr.
pub struct Program {
    /// The file, or its name in the `PATH` of `env`.
    pub file: PathBuf,
    pub args: Vec<OsString>,
    /// Absolute.
    pub cwd: PathBuf,
    /// The child's whole environment.
    pub env: Vec<(String, String)>,
    /// Its stdin, where the caller does not make one; without it there is none.
    pub input: Option<Arc<PipeReader>>,
    /// Where its stderr goes; without one it goes where its stdout does.
    pub errors: Option<Arc<PipeWriter>>,
}

/// This process's ends of the three pipes.
pub struct ParentPipes {
    pub input: PipeWriter,
    pub output: PipeReader,
    pub errors: PipeReader,
}

/// The process group of a child. Dropping it kills the remaining processes of the group and allows the child
/// to be reaped.
pub struct Group {
    id: Pid,
    _release: oneshot::Sender<()>,
}

impl Group {
    /// Sends SIGTERM to the group.
    pub fn terminate(&self) {
        self.send(Signal::TERM);
    }

    /// Returns the group's id, which is the process id of its first process.
    pub fn id(&self) -> Pid {
        self.id
    }

    fn send(&self, signal: Signal) {
        // It fails only if the whole group is gone, which is the intended result.
        let _ = kill_process_group(self.id, signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.send(Signal::KILL);
    }
}

/// Starts the program that `make` returns, with its input; the pipe has stdout and stderr, in the order they were
/// written. Errs if its folder is gone, or the system refuses a thread, a pipe or a process. Cancel-safe: a child that
/// starts after the caller was dropped is killed. `make` may block; what it returns besides is kept until the child's end.
pub async fn start<K>(
    make: impl FnOnce() -> io::Result<(Program, K)> + Send + 'static,
) -> io::Result<StartedChild<PipeReader>> {
    begin(move || {
        let (program, kept) = make()?;
        Ok((silent(&program)?, kept))
    })
    .await
}

/// Runs a program without stdin to its end, or for so long; returns its output, and whether it ended by itself with
/// success. Blocking.
pub fn run_to_end(program: &Program, limit: Duration) -> io::Result<(String, bool)> {
    let (mut child, mut output) = silent(program)?;
    let id = Pid::from_child(&child);
    let (ended, waits) = std::sync::mpsc::sync_channel::<()>(1);
    let watch = thread::spawn(move || {
        if waits.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = kill_process_group(id, Signal::KILL);
        }
    });
    let mut text = Vec::new();
    io::Read::read_to_end(&mut output, &mut text)?;
    // The child is reaped only after the watch is over, so that its id is still its own there.
    drop(ended);
    let _ = watch.join();
    let status = child.wait()?;
    Ok((String::from_utf8_lossy(&text).into_owned(), status.success()))
}

/// Like [`start`], for a program that reads its stdin and whose stdout and stderr are separate.
pub async fn talk(program: Program) -> io::Result<StartedChild<ParentPipes>> {
    begin(move || Ok((spoken_with(&program)?, ()))).await
}

type ForkResult<P> = io::Result<(std::process::Child, P)>;

async fn begin<P: Send + 'static, K>(
    fork: impl FnOnce() -> io::Result<((std::process::Child, P), K)> + Send + 'static,
) -> io::Result<StartedChild<P>> {
    let (started, starting) = oneshot::channel();
    thread::Builder::new().name("co-child".to_owned()).spawn(move || supervise(fork, started))?;
    starting.await.unwrap_or_else(|_| Err(io::Error::other("the thread that starts commands ended early")))
}

/// Runs one child from start to reaping, on its own thread.
fn supervise<P, K>(
    fork: impl FnOnce() -> io::Result<((std::process::Child, P), K)>,
    started: oneshot::Sender<io::Result<StartedChild<P>>>,
) {
    let ((mut child, pipes), kept) = match fork() {
        Ok(forked) => forked,
        Err(error) => {
            let _ = started.send(Err(error));
            return;
        }
    };
    let id = Pid::from_child(&child);
    let (ended, exit) = oneshot::channel();
    let (release, released) = oneshot::channel();
    // If the receiver is gone, the group is returned, and dropping it kills the child.
    drop(started.send(Ok(StartedChild { group: Group { id, _release: release }, exit, pipes })));
    let exit = wait_without_reaping(id);
    // Before anyone learns of the end: this process may end next.
    drop(kept);
    let _ = ended.send(exit);
    let _ = released.blocking_recv();
    let _ = child.wait();
}

fn wait_without_reaping(id: Pid) -> io::Result<Exit> {
    loop {
        match waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) => {
                let by_signal = status.terminating_signal().map(Exit::Signal);
                return Ok(by_signal.unwrap_or(Exit::Code(status.exit_status().unwrap_or(-1))));
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn silent(program: &Program) -> ForkResult<PipeReader> {
    let (output, writer) = io::pipe()?;
    let mut command = command(program)?;
    let input = program.input.as_deref().map(PipeReader::try_clone).transpose()?;
    let errors = program.errors.as_deref().unwrap_or(&writer).try_clone()?;
    command.stdin(input.map_or_else(Stdio::null, Stdio::from)).stdout(writer).stderr(errors);
    // When `command` is dropped on return, the parent's write ends close, so only the child's remain open.
    Ok((command.spawn()?, output))
}

fn spoken_with(program: &Program) -> ForkResult<ParentPipes> {
    let ((stdin, input), (output, stdout), (errors, stderr)) = (io::pipe()?, io::pipe()?, io::pipe()?);
    let mut command = command(program)?;
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    Ok((command.spawn()?, ParentPipes { input, output, errors }))
}

fn command(program: &Program) -> io::Result<std::process::Command> {
    is_there(&program.cwd)?;
    let mut command = std::process::Command::new(&program.file);
    command
        .args(&program.args)
        .current_dir(&program.cwd)
        .env_clear()
        .envs(program.env.iter().map(|(name, value)| (name, value)));
    detach(&mut command);
    Ok(command)
}

pub(super) fn is_there(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let message =
        format!("the folder {} no longer exists; restore it or start in another one", folder.display());
    Err(io::Error::new(io::ErrorKind::NotFound, message))
}

/// Makes the child start a session: no controlling terminal, its own process group, death with its parent.
#[expect(unsafe_code, reason = "a new session can only be begun in the child, between fork and exec")]
fn detach(command: &mut std::process::Command) {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. The closure makes a few system
    // calls and compares two numbers; it takes no lock and allocates nothing (an `io::Error` of an errno is
    // plain data).
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            drop_ptrace_capability();
            die_with(parent)
        });
    }
}

/// Drops the capability to read other processes' memory, including `co`'s, for this process and its children.
#[cfg(target_os = "linux")]
fn drop_ptrace_capability() {
    // This fails for unprivileged processes, which do not have the capability.
    let _ = rustix::thread::remove_capability_from_bounding_set(rustix::thread::CapabilitySet::SYS_PTRACE);
}

#[cfg(not(target_os = "linux"))]
fn drop_ptrace_capability() {}

/// Asks the kernel to kill this process when the thread that forked it ends.
#[cfg(target_os = "linux")]
fn die_with(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // If the parent died before the line above, no signal will be sent.
    if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
}

/// Other systems have no such signal: processes that outlive a killed `co` are not ended there.
#[cfg(not(target_os = "linux"))]
fn die_with(_parent: Pid) -> io::Result<()> {
    Ok(())
}
