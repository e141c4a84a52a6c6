//! Commands that run in the background of a session, called tasks.
//!
//! A task goes on while the conversation does, and ends with its session. Its output is kept in a file of the session,
//! bounded, and a file beside it describes the task to other processes. Nothing here decides whether a command may run:
//! the `shell` tool and `!cmd` hand over what was started already.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::survivors::survivors;
use super::{ExecEvent, Exit};
use crate::stdx::clock::Clock;
use crate::stdx::fs::{create_private_dir, open_private, write_private};

/// The maximum number of running tasks of one session.
pub const MOST: usize = 16;

/// The maximum number of bytes that are kept of a task's output.
pub const MAX_OUTPUT: u64 = 16 * 1024 * 1024;

/// The maximum number of bytes that one reading returns; older ones are left out.
const MAX_READ: u64 = 1024 * 1024;

/// The maximum size of a file that describes a task, and the highest number of one.
const MAX_DESCRIPTION: u64 = 256 * 1024;
const MAX_NUMBER: usize = 1_000_000;

/// Longer than any session: tasks have no time limit.
pub const UNLIMITED: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A task that was described this recently may have no process yet.
const STARTING: Duration = Duration::from_secs(2);

/// How long the end of a session waits for its tasks.
const CLOSING: Duration = Duration::from_millis(1_500);

/// The tasks of this process. Clones share them.
#[derive(Clone)]
pub struct Tasks(Arc<TaskTable>);

struct TaskTable {
    all: Mutex<Vec<TaskEntry>>,
    /// Counts the tasks that ended.
    ended: watch::Sender<u64>,
    /// Counts how often what runs was to be moved to the background.
    moves: watch::Sender<u64>,
    clock: Arc<dyn Clock>,
}

struct TaskEntry {
    /// The session's folder.
    folder: PathBuf,
    task: Task,
    input: Option<PipeWriter>,
    cancel: CancellationToken,
    /// How much of the output was read.
    read: u64,
    /// Whether its end was reported, or read by the model.
    is_reported: bool,
}

/// A task as it is described to other processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Unique in its session, from 1.
    pub number: usize,
    pub command: String,
    /// The mark of its processes: [`super::survivors::MARKER`].
    pub mark: String,
    pub started: Timestamp,
    pub end: Option<TaskEnd>,
}

/// How and when a task ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskEnd {
    pub outcome: String,
    pub at: Timestamp,
}

impl Task {
    /// Says in a few words whether it runs, or how it ended.
    #[must_use]
    pub fn state(&self) -> &str {
        self.end.as_ref().map_or("running", |end| &end.outcome)
    }
}

/// A started command, to become a task.
pub struct StartedCommand {
    pub command: String,
    pub mark: String,
    pub events: BoxStream<'static, io::Result<ExecEvent>>,
    /// Ends it.
    pub cancel: CancellationToken,
    /// The end of its standard input that is written to.
    pub input: Option<PipeWriter>,
    /// Its output so far.
    pub output: Vec<u8>,
    /// That of its command: tasks have no time limit.
    pub unlimited: Arc<AtomicBool>,
}

/// New output of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskOutput {
    pub task: Task,
    pub text: String,
    /// Bytes of new output that are left out before the text.
    pub skipped: u64,
    /// The file with all of it.
    pub file: PathBuf,
}

/// Returns the two ends of an input for a task. Writing never waits.
pub fn task_input() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

impl Tasks {
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let counter = || watch::Sender::new(0);
        Self(Arc::new(TaskTable { all: Mutex::default(), ended: counter(), moves: counter(), clock }))
    }

    /// Makes a task of a started command, in the session with this folder. Errs, and ends the command, if there are too
    /// many or its file cannot be made. Needs a tokio runtime.
    pub fn add(&self, folder: &Path, started: StartedCommand) -> io::Result<usize> {
        let StartedCommand { command, mark, events, cancel, input, output, unlimited } = started;
        let mut all = self.0.all.lock();
        if running_count(&all, folder) >= MOST {
            cancel.cancel();
            return Err(io::Error::other(FULL));
        }
        unlimited.store(true, Ordering::Relaxed);
        create_private_dir(folder)?;
        let known = tasks_in(folder).into_iter().map(|task| task.number);
        let held = all.iter().filter(|held| held.folder == folder).map(|held| held.task.number);
        let number = known.chain(held).max().unwrap_or(0).saturating_add(1);
        let file = open_private(&output_file(folder, number))?;
        file.set_len(0)?;
        let task = Task { number, command, mark, started: self.0.clock.now(), end: None };
        describe(folder, &task)?;
        let folder = folder.to_owned();
        all.push(TaskEntry { folder: folder.clone(), task, input, cancel, read: 0, is_reported: false });
        drop(all);
        tokio::spawn(self.clone().follow(folder, number, events, output, tokio::fs::File::from_std(file)));
        Ok(number)
    }

    async fn follow(
        self,
        folder: PathBuf,
        number: usize,
        mut events: BoxStream<'static, io::Result<ExecEvent>>,
        output: Vec<u8>,
        file: tokio::fs::File,
    ) {
        let mut log = Log { file, written: 0 };
        log.push(&output).await;
        let mut outcome = "ended unexpectedly".to_owned();
        while let Some(event) = events.next().await {
            match event {
                Ok(ExecEvent::Output(bytes)) => log.push(&bytes).await,
                Ok(ExecEvent::Survivors { .. }) => {}
                Ok(ExecEvent::Exited(exit)) => outcome = exit_text(exit),
                Err(error) => outcome = format!("could not run: {error}"),
            }
        }
        let end = TaskEnd { outcome, at: self.0.clock.now() };
        let mut all = self.0.all.lock();
        if let Some(entry) = all.iter_mut().find(|entry| entry.is(&folder, number)) {
            entry.task.end = Some(end);
            entry.input = None;
            // Without the file other processes still see that nothing of it runs.
            let _ = describe(&folder, &entry.task);
        }
        drop(all);
        self.0.ended.send_modify(|count| *count += 1);
    }

    /// Whether a session may have one more task.
    #[must_use]
    pub fn has_room(&self, folder: &Path) -> bool {
        running_count(&self.0.all.lock(), folder) < MOST
    }

    /// Whether a task of any session runs.
    #[must_use]
    pub fn any_runs(&self) -> bool {
        self.0.all.lock().iter().any(|entry| entry.task.end.is_none())
    }

    /// Returns the tasks of a session, the oldest first.
    #[must_use]
    pub fn of(&self, folder: &Path) -> Vec<Task> {
        let all = self.0.all.lock();
        all.iter().filter(|entry| entry.folder == folder).map(|entry| entry.task.clone()).collect()
    }

    fn task(&self, folder: &Path, number: usize) -> Option<Task> {
        self.0.all.lock().iter().find(|entry| entry.is(folder, number)).map(|entry| entry.task.clone())
    }

    /// Waits until a task ends. Returns at once for one that does not exist. Cancel-safe.
    pub async fn wait(&self, folder: &Path, number: usize) {
        let mut ended = self.0.ended.subscribe();
        while self.task(folder, number).is_some_and(|task| task.end.is_none()) {
            // The sender lives as long as this.
            let _ = ended.changed().await;
        }
    }

    /// Returns what a task printed since the last reading; `None` if there is no such task. Blocking.
    pub fn read(&self, folder: &Path, number: usize) -> Option<io::Result<TaskOutput>> {
        let mut all = self.0.all.lock();
        let entry = all.iter_mut().find(|entry| entry.is(folder, number))?;
        let path = output_file(folder, number);
        Some(new_output(&path, &mut entry.read).map(|(text, skipped)| {
            entry.is_reported |= entry.task.end.is_some();
            TaskOutput { task: entry.task.clone(), text, skipped, file: path }
        }))
    }

    /// Writes to the standard input of a task. Errs with what to do. Blocking, for a moment.
    pub fn write(&self, folder: &Path, number: usize, text: &str) -> Result<(), String> {
        let mut all = self.0.all.lock();
        let entry = all.iter_mut().find(|entry| entry.is(folder, number)).ok_or_else(|| no_task(number))?;
        match (&entry.task.end, &mut entry.input) {
            (Some(end), _) => Err(format!("task {number} has ended: {}", end.outcome)),
            (None, None) => Err(format!("task {number} has no input: it was moved to the background")),
            (None, Some(input)) => input
                .write_all(text.as_bytes())
                .map_err(|error| format!("task {number} does not take its input: {error}")),
        }
    }

    /// Ends a task; [`Self::wait`] returns when it has ended. Errs if there is none that runs.
    pub fn end(&self, folder: &Path, number: usize) -> Result<(), String> {
        let all = self.0.all.lock();
        let entry = all.iter().find(|entry| entry.is(folder, number)).ok_or_else(|| no_task(number))?;
        match &entry.task.end {
            Some(end) => Err(format!("task {number} has ended: {}", end.outcome)),
            None => {
                entry.cancel.cancel();
                Ok(())
            }
        }
    }

    /// Ends all tasks of a session, and waits for a moment until they have ended; returns how many ran.
    pub async fn end_all(&self, folder: &Path) -> usize {
        let running: Vec<usize> = {
            let mut all = self.0.all.lock();
            let own = all.iter_mut().filter(|entry| entry.folder == folder && entry.task.end.is_none());
            own.map(|entry| {
                entry.is_reported = true;
                entry.cancel.cancel();
                entry.task.number
            })
            .collect()
        };
        let ended = async {
            for number in &running {
                self.wait(folder, *number).await;
            }
        };
        let _ = tokio::time::timeout(CLOSING, ended).await;
        running.len()
    }

    /// Waits for the end of a task of this session that was not reported yet. Cancel-safe.
    pub async fn next_end(&self, folder: &Path) -> Task {
        let mut ended = self.0.ended.subscribe();
        loop {
            if let Some(task) = self.take_end(folder) {
                return task;
            }
            let _ = ended.changed().await;
        }
    }

    fn take_end(&self, folder: &Path) -> Option<Task> {
        let mut all = self.0.all.lock();
        let entry = all
            .iter_mut()
            .find(|entry| entry.folder == folder && entry.task.end.is_some() && !entry.is_reported)?;
        entry.is_reported = true;
        Some(entry.task.clone())
    }

    /// Moves the commands that run in the foreground now to the background.
    pub fn move_running(&self) {
        self.0.moves.send_modify(|count| *count += 1);
    }

    /// Tells when what runs from now on is to be moved to the background.
    #[must_use]
    pub fn moves(&self) -> watch::Receiver<u64> {
        self.0.moves.subscribe()
    }
}

impl TaskEntry {
    fn is(&self, folder: &Path, number: usize) -> bool {
        self.folder == folder && self.task.number == number
    }
}

/// The refusal where a session has the most tasks.
pub const FULL: &str = "16 tasks run already; end one first";

const _: () = assert!(MOST == 16, "the text names the number");

fn running_count(all: &[TaskEntry], folder: &Path) -> usize {
    all.iter().filter(|held| held.folder == folder && held.task.end.is_none()).count()
}

/// The file of a task's output, while it is written.
struct Log {
    file: tokio::fs::File,
    written: u64,
}

impl Log {
    /// A disk error loses output, never the task.
    async fn push(&mut self, bytes: &[u8]) {
        let room = usize::try_from(MAX_OUTPUT.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        if kept.is_empty() || self.file.write_all(kept).await.is_err() {
            return;
        }
        self.written += kept.len() as u64;
        if self.written == MAX_OUTPUT {
            let _ = self.file.write_all(b"\n[more output is not kept]\n").await;
        }
        let _ = self.file.flush().await;
    }
}

/// Returns what was appended to a file, and how much of it is left out before that.
fn new_output(path: &Path, read: &mut u64) -> io::Result<(String, u64)> {
    let mut file = fs::File::open(path)?;
    let end = file.metadata()?.len();
    let skipped = end.saturating_sub(*read).saturating_sub(MAX_READ);
    file.seek(SeekFrom::Start(*read + skipped))?;
    let mut bytes = Vec::new();
    file.take(MAX_READ).read_to_end(&mut bytes)?;
    *read += skipped + bytes.len() as u64;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), skipped))
}

fn no_task(number: usize) -> String {
    format!("there is no task {number} in this session; tasks end when co does")
}

fn exit_text(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit {code}"),
        Exit::Signal(signal) => format!("ended by signal {signal}"),
        Exit::TimedOut => "timed out".to_owned(),
        Exit::Cancelled => "ended by request".to_owned(),
    }
}

/// Returns the file with a task's output.
#[must_use]
pub fn output_file(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("task-{number}.txt"))
}

fn describe(folder: &Path, task: &Task) -> io::Result<()> {
    write_private(&folder.join(format!("task-{}.json", task.number)), &serde_json::to_vec(task)?)
}

/// Returns the tasks that a session of any process had, by number. One that did not end while its `co` ran has ended with
/// it. Blocking.
#[must_use]
pub fn tasks_in(folder: &Path) -> Vec<Task> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_task = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("task-") && name.ends_with(".json"))
    };
    // A process that is being started does not have the mark yet.
    let is_new = |path: &Path| {
        let changed = fs::metadata(path).and_then(|found| found.modified());
        changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age < STARTING))
    };
    let read = |path: PathBuf| {
        // Whatever else lies there.
        let found = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        if found.len() > MAX_DESCRIPTION {
            return None;
        }
        let mut task: Task = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        if !path.ends_with(format!("task-{}.json", task.number)) || task.number > MAX_NUMBER {
            return None;
        }
        if task.end.is_none() && !is_new(&path) && survivors(&task.mark).is_empty() {
            task.end = Some(TaskEnd { outcome: "ended with its session".to_owned(), at: task.started });
        }
        Some(task)
    };
    let mut found: Vec<Task> = entries.map(|entry| entry.path()).filter(is_task).filter_map(read).collect();
    found.sort_by_key(|task| task.number);
    found
}

#[cfg(test)]
mod tests {
    use super::super::subprocess::Subprocess;
    use super::super::{Command, Confinement, Sandbox as _};
    use super::*;
    use crate::stdx::clock::SystemClock;

    /// Starts a command as a task of a session.
    fn started(tasks: &Tasks, folder: &Path, script: &str) -> io::Result<usize> {
        let (reader, writer) = task_input()?;
        let cancel = CancellationToken::new();
        let mark = format!("{}-{script}", folder.display());
        let path = ("PATH".to_owned(), std::env::var("PATH").unwrap());
        let command = Command {
            script: script.to_owned(),
            cwd: folder.to_owned(),
            env: vec![path, (super::super::survivors::MARKER.to_owned(), mark.clone())],
            timeout: UNLIMITED,
            confinement: Confinement::Workspace,
            input: Some(Arc::new(reader)),
            ..Command::default()
        };
        let unlimited = Arc::clone(&command.unlimited);
        let events = Subprocess::plain().spawn(command, cancel.clone());
        let (command, output) = (script.to_owned(), Vec::new());
        tasks.add(
            folder,
            StartedCommand { command, mark, events, cancel, input: Some(writer), output, unlimited },
        )
    }

    #[tokio::test]
    async fn a_task_is_written_to_read_and_described_to_other_processes() {
        let folder = tempfile::tempdir().unwrap();
        let tasks = Tasks::new(Arc::new(SystemClock));
        let number = started(&tasks, folder.path(), "read line; echo got $line; exit 3").unwrap();
        assert_eq!(tasks_in(folder.path())[0].state(), "running");
        tasks.write(folder.path(), number, "hello\n").unwrap();
        assert_eq!(tasks.next_end(folder.path()).await.state(), "exit 3");
        let read = tasks.read(folder.path(), number).unwrap().unwrap();
        assert_eq!((read.text.as_str(), read.skipped, read.task.state()), ("got hello\n", 0, "exit 3"));
        assert_eq!(tasks.read(folder.path(), number).unwrap().unwrap().text, "", "each output is read once");
        assert_eq!(tasks.write(folder.path(), number, "x"), Err("task 1 has ended: exit 3".to_owned()));
        assert_eq!(tasks.end(folder.path(), 7), Err(no_task(7)));
        assert_eq!(tasks_in(folder.path()), tasks.of(folder.path()));
    }

    #[tokio::test]
    async fn a_session_has_so_many_tasks_and_ends_them() {
        let folder = tempfile::tempdir().unwrap();
        let tasks = Tasks::new(Arc::new(SystemClock));
        for number in 1..=MOST {
            assert_eq!(started(&tasks, folder.path(), "sleep 300").unwrap(), number);
        }
        let error = started(&tasks, folder.path(), "sleep 300").unwrap_err().to_string();
        assert_eq!(error, "16 tasks run already; end one first");
        assert_eq!(tasks.end_all(folder.path()).await, MOST);
        assert!(tasks.of(folder.path()).iter().all(|task| task.state() == "ended by request"));
        assert_eq!(tasks.take_end(folder.path()), None, "the end of the session says it");
    }

    #[test]
    fn what_a_killed_process_left_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let (command, mark) = ("npm run dev".to_owned(), "no-process-has-this-mark".to_owned());
        let task = Task { number: 4, command, mark, started: Timestamp::UNIX_EPOCH, end: None };
        describe(folder.path(), &task).unwrap();
        let file = fs::File::open(folder.path().join("task-4.json")).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        fs::write(folder.path().join("task-5.json"), "broken").unwrap();
        let found = tasks_in(folder.path());
        assert_eq!(found.iter().map(Task::state).collect::<Vec<_>>(), ["ended with its session"]);
    }

    #[test]
    fn more_output_than_is_read_at_once_is_left_out_and_counted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "x".repeat(usize::try_from(MAX_READ).unwrap() + 10);
        fs::write(file.path(), &text).unwrap();
        let mut read = 0;
        let (new, skipped) = new_output(file.path(), &mut read).unwrap();
        assert_eq!((new.len() as u64, skipped, read), (MAX_READ, 10, MAX_READ + 10));
    }
}
