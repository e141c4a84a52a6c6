//! One child process: started in a session of its own, bound to the life of this process, never left a zombie.
//!
//! Every child has a thread that starts it, waits for its end and reaps it. That thread is what makes two promises
//! hold. The kernel sends the parent-death signal when the *thread* that forked ends, not the process: here it cannot
//! end before its child. And a process id stays taken until it is reaped: here that happens only after the last
//! signal to the group was sent, so no signal can hit a stranger that got the same number.
//! This file and `shield.rs` hold the only `unsafe` of the program. Called by the subprocess sandbox, and for hooks.

use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;

use super::{Command, Exit};

/// The shell that reads the command; part of every system we run on.
const SHELL: &str = "/bin/sh";

/// A started child, and our ends of its pipes.
pub struct Started<P> {
    pub group: Group,
    /// How the program itself ended; its group may live on.
    pub exit: oneshot::Receiver<io::Result<Exit>>,
    pub pipes: P,
}

/// A program that is spoken with.
pub struct Program {
    /// The file, or its name in the `PATH` of `env`.
    pub file: PathBuf,
    pub args: Vec<String>,
    /// Absolute.
    pub cwd: PathBuf,
    /// The child's whole environment.
    pub env: Vec<(String, String)>,
}

/// Our ends of its three pipes.
pub struct Talk {
    pub input: PipeWriter,
    pub output: PipeReader,
    pub errors: PipeReader,
}

/// The process group of a child. Dropping it kills what is left of the group, and lets the child be reaped.
pub struct Group {
    id: Pid,
    _release: oneshot::Sender<()>,
}

impl Group {
    /// Asks the group to end.
    pub fn terminate(&self) {
        self.send(Signal::TERM);
    }

    /// The group's id, which is the shell's process id.
    pub fn id(&self) -> Pid {
        self.id
    }

    fn send(&self, signal: Signal) {
        // Fails only when the whole group is gone, which is what the signal is for.
        let _ = kill_process_group(self.id, signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.send(Signal::KILL);
    }
}

/// Starts `command`; the pipe has stdout and stderr, in the order they were written. Errs when its folder is gone, or
/// the system refuses a thread, a pipe or a process. Cancel-safe: a child that is started after the caller went away is
/// killed.
pub async fn start(command: Command) -> io::Result<Started<PipeReader>> {
    begin(move || shell(&command)).await
}

/// As [`start`], for a program that reads its stdin and whose stdout and stderr are told apart.
pub async fn talk(program: Program) -> io::Result<Started<Talk>> {
    begin(move || spoken_with(&program)).await
}

type Forked<P> = io::Result<(std::process::Child, P)>;

async fn begin<P: Send + 'static>(
    fork: impl FnOnce() -> Forked<P> + Send + 'static,
) -> io::Result<Started<P>> {
    let (started, starting) = oneshot::channel();
    thread::Builder::new().name("co-child".to_owned()).spawn(move || supervise(fork, started))?;
    starting.await.unwrap_or_else(|_| Err(io::Error::other("the thread that starts commands ended early")))
}

/// The life of one child, on its own thread.
fn supervise<P>(fork: impl FnOnce() -> Forked<P>, started: oneshot::Sender<io::Result<Started<P>>>) {
    let (mut child, pipes) = match fork() {
        Ok(forked) => forked,
        Err(error) => {
            let _ = started.send(Err(error));
            return;
        }
    };
    let id = Pid::from_child(&child);
    let (ended, exit) = oneshot::channel();
    let (release, released) = oneshot::channel();
    // Nobody there to take it: the group comes back, and its drop kills the child.
    drop(started.send(Ok(Started { group: Group { id, _release: release }, exit, pipes })));
    let _ = ended.send(wait_without_reaping(id));
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

fn shell(command: &Command) -> Forked<PipeReader> {
    is_there(&command.cwd)?;
    let (output, writer) = io::pipe()?;
    let mut shell = std::process::Command::new(SHELL);
    shell
        .arg("-c")
        .arg(&command.script)
        .current_dir(&command.cwd)
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    detach(&mut shell);
    // Dropped with `shell` on return, the parent's ends of the writer close: the child's are the last.
    Ok((shell.spawn()?, output))
}

fn spoken_with(program: &Program) -> Forked<Talk> {
    is_there(&program.cwd)?;
    let ((stdin, input), (output, stdout), (errors, stderr)) = (io::pipe()?, io::pipe()?, io::pipe()?);
    let mut command = std::process::Command::new(&program.file);
    command
        .args(&program.args)
        .current_dir(&program.cwd)
        .env_clear()
        .envs(program.env.iter().map(|(name, value)| (name, value)))
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr);
    detach(&mut command);
    Ok((command.spawn()?, Talk { input, output, errors }))
}

fn is_there(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let message = format!("the folder {} is gone; restore it or start in another one", folder.display());
    Err(io::Error::new(io::ErrorKind::NotFound, message))
}

/// Lets the child begin a session: no controlling terminal, a process group of its own, and death with its parent.
#[expect(unsafe_code, reason = "a new session can only be begun in the child, between fork and exec")]
fn detach(command: &mut std::process::Command) {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. The closure makes a few system calls
    // and compares two numbers; it takes no lock and allocates nothing (an `io::Error` of an errno is plain data).
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            drop_ptrace_capability();
            die_with(parent)
        });
    }
}

/// Gives up the right to read the memory of other processes, `co`'s among them, for this process and all it starts.
#[cfg(target_os = "linux")]
fn drop_ptrace_capability() {
    // Only a privileged process has the right, and only it needs to give it up.
    let _ = rustix::thread::remove_capability_from_bounding_set(rustix::thread::CapabilitySet::SYS_PTRACE);
}

#[cfg(not(target_os = "linux"))]
fn drop_ptrace_capability() {}

/// Asks the kernel to kill this process when the thread that forked it ends.
#[cfg(target_os = "linux")]
fn die_with(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the line above; then no signal will come.
    if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
}

/// Other systems have no such signal: there, what outlives a killed `co` is not ended.
#[cfg(not(target_os = "linux"))]
fn die_with(_parent: Pid) -> io::Result<()> {
    Ok(())
}
