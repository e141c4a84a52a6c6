//! Runs a command as a child process, plain or in a sandbox, and ends it reliably.
//!
//! A command is over when its shell exits; remaining processes of its group are then ended, and processes
//! that left the group are reported. It must never wait for a background process that holds the output open,
//! never keep more than a few chunks of output, and never run longer than one second past a cancel, a drop or
//! the timeout. Needs a tokio runtime; when the runtime shuts down, the group is killed at once. Called
//! through the [`Sandbox`] trait by the `shell` tool and by `!cmd`.

#[cfg(target_os = "linux")]
use std::ffi::OsString;
use std::io;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::FusedFuture as _;
use futures::stream::{BoxStream, unfold};
use futures::{FutureExt as _, StreamExt as _};
use rustix::process::Pid;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

#[cfg(target_os = "linux")]
use super::bubblewrap;
use super::child::{Group, Program, SHELL, StartedChild, is_there, start};
#[cfg(target_os = "linux")]
use super::docker::{self, Container, Docker};
#[cfg(target_os = "linux")]
use super::mounts::MountPoints;
use super::policy::{SandboxPaths, SandboxPolicy, closed_settings};
#[cfg(target_os = "linux")]
use super::stage::{STAGE, StageOrder, StageRole};
use super::survivors::{MARKER, end_survivors, survivors};
use super::{Command, Confinement, ExecEvent, Exit, Isolation, Sandbox, Survivor, SurvivorOutcome};
use crate::stdx::fs::is_of_dead_process;
use crate::stdx::pending::{PendingGuard, PendingWork};

/// The time between SIGTERM and SIGKILL for processes left by a command that has ended.
const GRACE: Duration = Duration::from_millis(200);

/// The same for a command that is being cut off: the user who pressed Esc is waiting.
const CUT_GRACE: Duration = Duration::from_millis(40);

/// How long to read the last output of a command that was cut off.
const CUT_DRAIN: Duration = Duration::from_millis(20);

/// How long to wait until what a command that was cut off needed is removed.
const CLEANING: Duration = Duration::from_millis(800);

/// How long to read the output of background processes after the shell exited.
const DRAIN: Duration = Duration::from_millis(100);

/// Maximum bytes per read.
const CHUNK: usize = 16 * 1024;

/// The number of unread chunks to buffer; beyond that, the command is blocked until the reader catches up.
const CHUNKS_WAITING: usize = 8;

/// Runs commands as child processes, started in one of several ways.
#[derive(Debug, Clone)]
pub struct Subprocess {
    launch: Launch,
    isolation: Isolation,
}

/// How a command is started.
#[derive(Debug, Clone)]
pub enum Launch {
    /// By the shell, with the user's own rights.
    Plain,
    /// By this program as a stage, confined by Landlock.
    Landlock(Arc<StageSetup>),
    /// The same, inside of this bubblewrap.
    Bubblewrap(Arc<StageSetup>, PathBuf),
    /// In a container.
    #[cfg(target_os = "linux")]
    Docker(Arc<StageSetup>, Arc<Docker>),
    /// Not at all, for this reason.
    Unavailable(String),
}

/// The data for starting stages.
#[derive(Debug)]
pub struct StageSetup {
    helper: PathBuf,
    paths: SandboxPaths,
    /// The folder of locks; made when it is needed.
    locks: PathBuf,
    made: OnceLock<StageFolders>,
}

/// The state that the first command needs: made then, because most starts of the program run none.
#[derive(Debug)]
struct StageFolders {
    paths: SandboxPaths,
    /// The folder for temporary files of all commands; removed with this.
    temporary: TempDir,
}

impl StageSetup {
    /// `helper` is this program, `locks` a folder in which every `co` of the user can lock files.
    #[must_use]
    pub fn new(helper: PathBuf, paths: SandboxPaths, locks: PathBuf) -> Self {
        Self { helper, paths, locks, made: OnceLock::new() }
    }

    fn folders(&self) -> io::Result<&StageFolders> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        remove_abandoned();
        let mut paths = self.paths.clone();
        if rustix::process::getuid().is_root() {
            paths.own.extend(closed_settings());
        }
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        let prefix = format!("{TEMPORARY_PREFIX}{}-", std::process::id());
        // With links resolved, as all paths of a policy.
        let folder = std::env::temp_dir().canonicalize()?;
        let temporary = tempfile::Builder::new().prefix(&prefix).permissions(private).tempdir_in(folder)?;
        let made = StageFolders { paths, temporary };
        Ok(self.made.get_or_init(|| made))
    }
}

/// How the names of folders for temporary files begin; the process that made it follows.
const TEMPORARY_PREFIX: &str = "co-sandbox-";

/// Removes the folders for temporary files of processes that were killed.
fn remove_abandoned() {
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY_PREFIX));
        if owner.is_some_and(is_of_dead_process) {
            // It fails for folders of other users.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Subprocess {
    /// Runs commands without isolation.
    #[must_use]
    pub fn plain() -> Self {
        Self::new(Launch::Plain, Isolation::NONE)
    }

    #[must_use]
    pub fn new(launch: Launch, isolation: Isolation) -> Self {
        Self { launch, isolation }
    }

    /// Returns how its commands are started.
    #[must_use]
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    fn launch_of(&self, confinement: Confinement) -> &Launch {
        match confinement {
            Confinement::Unsandboxed => &Launch::Plain,
            Confinement::ReadOnly | Confinement::Workspace | Confinement::Network => &self.launch,
        }
    }

    /// Whether a stage on this system is the parent of the command.
    fn is_staged(&self, confinement: Confinement) -> bool {
        matches!(self.launch_of(confinement), Launch::Landlock(_) | Launch::Bubblewrap(..))
    }

    /// Returns the program to start for a command, and what must be kept until it ended. Blocking.
    pub fn program(&self, command: &Command) -> io::Result<(Program, CommandResources)> {
        is_there(&command.cwd)?;
        match self.launch_of(command.confinement) {
            Launch::Plain => {
                let args = vec!["-c".into(), command.script.clone().into()];
                let (cwd, env) = (command.cwd.clone(), command.env.clone());
                let (input, errors) = (command.input.clone(), command.errors.clone());
                let program = Program { file: SHELL.into(), args, cwd, env, input, errors };
                Ok((program, CommandResources::default()))
            }
            Launch::Unavailable(why) => Err(io::Error::other(why.clone())),
            #[cfg(target_os = "linux")]
            Launch::Landlock(place) => place.alone(command),
            #[cfg(target_os = "linux")]
            Launch::Bubblewrap(place, bubblewrap) => place.inside(command, bubblewrap),
            #[cfg(target_os = "linux")]
            Launch::Docker(place, docker) => place.docker_program(command, docker),
            #[cfg(not(target_os = "linux"))]
            Launch::Landlock(_) | Launch::Bubblewrap(..) => {
                Err(io::Error::other("sandboxes work on Linux only"))
            }
        }
    }
}

/// Mount points and containers of this process that are not removed yet.
static RESOURCES: PendingWork = PendingWork::new();

/// Waits, at most `patience`, until the mount points and containers of ended commands are removed; returns whether they are.
/// Blocking; call it when no command runs any more.
pub fn wait_removed(patience: Duration) -> bool {
    RESOURCES.wait(patience)
}

/// Resources that are kept until a command ended.
#[derive(Debug, Default)]
pub struct CommandResources {
    #[cfg(target_os = "linux")]
    _points: Option<MountPoints>,
    #[cfg(target_os = "linux")]
    _container: Option<Container>,
    /// Declared last, so that it is dropped after the fields before it.
    _pending: Option<PendingGuard>,
}

#[cfg(target_os = "linux")]
impl CommandResources {
    fn begin() -> Self {
        Self { _pending: Some(RESOURCES.begin()), ..Self::default() }
    }
}

#[cfg(target_os = "linux")]
impl StageSetup {
    fn policy(command: &Command, folders: &StageFolders) -> SandboxPolicy {
        SandboxPolicy::new(command.confinement, &command.cwd, folders.temporary.path(), &folders.paths)
    }

    /// The command's environment, with caches and temporary files in a folder of its own.
    fn env(command: &Command, temporary: &Path) -> Vec<(String, String)> {
        let mut env = command.env.clone();
        for (name, folder) in [("TMPDIR", ""), ("XDG_CACHE_HOME", "cache"), ("npm_config_cache", "npm")] {
            let value = temporary.join(folder).display().to_string();
            env.retain(|(known, _)| known != name);
            env.push((name.to_owned(), value.trim_end_matches('/').to_owned()));
        }
        env
    }

    /// Returns the file of the stage.
    fn stage(&self) -> PathBuf {
        // A command may have replaced the file of this program; the process has what was started.
        let is_this = std::env::current_exe().is_ok_and(|this| this == self.helper);
        if is_this { "/proc/self/exe".into() } else { self.helper.clone() }
    }

    fn alone(&self, command: &Command) -> io::Result<(Program, CommandResources)> {
        let role = StageRole::Alone { parent: std::process::id() };
        let folders = self.folders()?;
        let order = StageOrder { policy: Self::policy(command, folders), role };
        let program = Program {
            file: self.stage(),
            args: stage_arguments(&order, &command.script)?,
            cwd: command.cwd.clone(),
            env: Self::env(command, folders.temporary.path()),
            input: command.input.clone(),
            errors: command.errors.clone(),
        };
        Ok((program, CommandResources::default()))
    }

    fn inside(&self, command: &Command, bubblewrap: &Path) -> io::Result<(Program, CommandResources)> {
        let folders = self.folders()?;
        let policy = Self::policy(command, folders);
        let (mut args, points) = bubblewrap::arguments(&policy, &self.helper, &self.locks)?;
        let temporary = Path::new(bubblewrap::TEMPORARY);
        let writes = policy.writes.iter().filter(|path| **path != policy.temporary).cloned();
        let writes = writes.chain([temporary.to_owned()]).collect();
        // Hidden paths are not mounted, or covered by something empty.
        let policy = SandboxPolicy { writes, hidden: Vec::new(), ..policy };
        let order = StageOrder { policy, role: StageRole::Inside };
        args.extend(stage_arguments(&order, &command.script)?);
        let (file, cwd) = (bubblewrap.to_owned(), command.cwd.clone());
        let (env, input) = (Self::env(command, temporary), command.input.clone());
        let errors = command.errors.clone();
        let program = Program { file, args, cwd, env, input, errors };
        Ok((program, CommandResources { _points: Some(points), ..CommandResources::begin() }))
    }
}

#[cfg(target_os = "linux")]
impl StageSetup {
    fn docker_program(
        &self,
        command: &Command,
        docker: &Arc<Docker>,
    ) -> io::Result<(Program, CommandResources)> {
        let folders = self.folders()?;
        let policy = Self::policy(command, folders);
        let env = Self::env(command, Path::new(docker::TEMPORARY));
        let has_input = command.input.is_some();
        let (role, container) =
            docker.container(&policy, &self.paths.reads, &env, (&self.locks, has_input))?;
        let order = StageOrder { policy, role };
        let program = Program {
            file: self.stage(),
            args: stage_arguments(&order, &command.script)?,
            cwd: "/".into(),
            // By its mark in the environment other processes detect that it runs.
            env: docker.client_env(&env),
            input: command.input.clone(),
            errors: command.errors.clone(),
        };
        Ok((program, CommandResources { _container: Some(container), ..CommandResources::begin() }))
    }
}

#[cfg(target_os = "linux")]
fn stage_arguments(order: &StageOrder, script: &str) -> io::Result<Vec<OsString>> {
    Ok(vec![STAGE.into(), serde_json::to_string(order)?.into(), script.into()])
}

type Event = io::Result<ExecEvent>;

type Events = mpsc::Sender<Event>;

impl Sandbox for Subprocess {
    fn isolation(&self) -> Isolation {
        self.isolation
    }

    fn spawn(
        &self,
        command: Command,
        cancel: CancellationToken,
    ) -> BoxStream<'static, io::Result<ExecEvent>> {
        let (events, receiver) = mpsc::channel(CHUNKS_WAITING);
        tokio::spawn(drive(self.clone(), command, cancel, events));
        unfold(Some(receiver), next_event).boxed()
    }
}

/// Returns the next event; none follows the exit, even if the last processes of the group are still ending.
async fn next_event(
    receiver: Option<mpsc::Receiver<Event>>,
) -> Option<(Event, Option<mpsc::Receiver<Event>>)> {
    let mut receiver = receiver?;
    let event = receiver.recv().await?;
    let is_last = matches!(event, Ok(ExecEvent::Exited(_)));
    Some((event, if is_last { None } else { Some(receiver) }))
}

/// Why a command is over.
enum End {
    /// The shell exited.
    Itself(Exit),
    /// It must be ended.
    Cut(Exit),
}

async fn drive(sandbox: Subprocess, command: Command, cancel: CancellationToken, events: Events) {
    if cancel.is_cancelled() {
        let _ = events.send(Ok(ExecEvent::Exited(Exit::Cancelled))).await;
        return;
    }
    let marker = command.env.iter().find(|(name, _)| name == MARKER).map(|(_, value)| value.clone());
    let (limit, unlimited) = (command.timeout, Arc::clone(&command.unlimited));
    let is_staged = sandbox.is_staged(command.confinement);
    let opened = match start(move || sandbox.program(&command)).await {
        Ok(started) => open(started, &events),
        Err(error) => Err(error),
    };
    let (group, mut exit, mut forwarder) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let _ = events.send(Err(error)).await;
            return;
        }
    };
    let end = tokio::select! {
        biased;
        () = cancel.cancelled() => End::Cut(Exit::Cancelled),
        () = events.closed() => End::Cut(Exit::Cancelled),
        status = &mut exit => match status {
            Ok(Ok(status)) => End::Itself(status),
            // The outcome is unknown; remaining processes must not continue.
            Ok(Err(_)) | Err(_) => End::Cut(Exit::Signal(rustix::process::Signal::KILL.as_raw())),
        },
        () = timed_out(limit, &unlimited) => End::Cut(Exit::TimedOut),
        never = forwarder.forever() => match never {},
    };
    match end {
        // A stage that exits has ended what the command started, and bubblewrap the rest of its namespace.
        End::Itself(status @ Exit::Code(_)) if is_staged => {
            finish(status, group, &mut forwarder, None, &events).await;
        }
        End::Itself(status) => finish(status, group, &mut forwarder, marker, &events).await,
        End::Cut(status) => cut(status, group, exit, &mut forwarder, marker, &events).await,
    }
}

/// Waits for the timeout; forever if it does not count any more by then.
async fn timed_out(limit: Duration, unlimited: &AtomicBool) {
    sleep(limit).await;
    if unlimited.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}

type OpenChild = (Group, oneshot::Receiver<io::Result<Exit>>, OutputForwarder);

fn open(started: StartedChild<std::io::PipeReader>, events: &Events) -> io::Result<OpenChild> {
    let output = pipe::Receiver::from_owned_fd(started.pipes.into())?;
    Ok((started.group, started.exit, OutputForwarder { output, events: events.clone() }))
}

/// Handles the shell's exit: reads its last output, ends the rest of its group, reports those that left it.
async fn finish(
    status: Exit,
    group: Group,
    forwarder: &mut OutputForwarder,
    marker: Option<String>,
    events: &Events,
) {
    let _ = timeout(DRAIN, forwarder.until_end()).await;
    group.terminate();
    let id = group.id();
    // Concurrently: a slow reader must not prolong the life of the group.
    let ending = async move {
        sleep(GRACE).await;
        drop(group);
    };
    let telling = async {
        let found = look(marker, move |marker| outside(id, survivors(marker))).await;
        tell(found, SurvivorOutcome::Running, status, events).await;
    };
    tokio::join!(ending, telling);
}

/// Ends the command from outside, and with it the processes that left its group.
async fn cut(
    status: Exit,
    group: Group,
    exit: oneshot::Receiver<io::Result<Exit>>,
    forwarder: &mut OutputForwarder,
    marker: Option<String>,
    events: &Events,
) {
    group.terminate();
    let mut exit = exit.fuse();
    let _ = timeout(CUT_GRACE, async { tokio::join!(&mut exit, forwarder.until_end()) }).await;
    // Listed before SIGKILL, since afterwards it is unknown which processes had left the group. Without a
    // mark, or when the runtime shuts down, the closure is dropped unused together with the group, which
    // kills the group as well.
    let found = look(marker, move |marker| {
        let left = outside(group.id(), survivors(marker));
        drop(group);
        end_survivors(marker);
        left
    })
    .await;
    let _ = timeout(CUT_DRAIN, forwarder.until_end()).await;
    // Containers and mount points are removed before the end is reported.
    if !exit.is_terminated() {
        let _ = timeout(CLEANING, exit).await;
    }
    tell(found, SurvivorOutcome::Ended, status, events).await;
}

async fn tell(found: Vec<Survivor>, outcome: SurvivorOutcome, status: Exit, events: &Events) {
    if !found.is_empty() {
        let _ = events.send(Ok(ExecEvent::Survivors { found, outcome })).await;
    }
    let _ = events.send(Ok(ExecEvent::Exited(status))).await;
}

/// Searches the processes on a blocking thread. Without a mark it returns none.
async fn look(
    marker: Option<String>,
    search: impl FnOnce(&str) -> Vec<Survivor> + Send + 'static,
) -> Vec<Survivor> {
    let Some(marker) = marker else { return Vec::new() };
    tokio::task::spawn_blocking(move || search(&marker)).await.unwrap_or_default()
}

/// Keeps the processes outside the group; those in the group are ended separately.
fn outside(group: Pid, mut found: Vec<Survivor>) -> Vec<Survivor> {
    found.retain(|survivor| {
        let pid = i32::try_from(survivor.pid).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| rustix::process::getpgid(Some(pid)).is_ok_and(|id| id != group))
    });
    found
}

/// Forwards output from the pipe to the reader. Its futures may be dropped at any await without loss.
struct OutputForwarder {
    output: pipe::Receiver,
    events: Events,
}

impl OutputForwarder {
    /// Forwards until no process can write any more, or the reader is gone.
    async fn until_end(&mut self) {
        // Reserve the slot before reading, so that bytes that were read are always delivered.
        while let Ok(room) = self.events.reserve().await {
            let mut chunk = Vec::with_capacity(CHUNK);
            match self.output.read_buf(&mut chunk).await {
                Ok(0) | Err(_) => return,
                Ok(_) => room.send(Ok(ExecEvent::Output(chunk))),
            }
        }
    }

    /// Like [`Self::until_end`], but then waits forever: the end of the output is not the end of the command.
    async fn forever(&mut self) -> std::convert::Infallible {
        self.until_end().await;
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests;
