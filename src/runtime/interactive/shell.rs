//! `!command`: runs the user's own command and streams its output. One at a time, during a turn or between turns,
//! without model and approval. The model gets a note with the next prompt, except for private commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::command::{Privacy, code};
use crate::history::SessionId;
use crate::runtime::orphans::process_list;
use crate::runtime::own_mark;
use crate::sandbox::survivors::MARKER;
use crate::sandbox::tasks::{FULL, StartedCommand, Task, Tasks};
use crate::sandbox::{Backend, Command, Confinement, ExecEvent, Exit, SurvivorOutcome, looks_held};
use crate::tool::builtin::whole_characters;

/// The user's command, if one runs, and the ends of what runs in the background.
pub(super) struct Shell {
    running: Option<RunningCommand>,
    tasks: Tasks,
    /// The folder of the session whose tasks are reported.
    session: PathBuf,
    /// Number of commands started.
    count: usize,
}

/// A command as the user entered it.
pub(super) struct UserCommand {
    pub(super) command: String,
    pub(super) privacy: Privacy,
    pub(super) confinement: Confinement,
}

struct RunningCommand {
    command: String,
    folder: PathBuf,
    /// The mark of its processes.
    mark: String,
    privacy: Privacy,
    is_sandboxed: bool,
    /// Set when it becomes a task.
    unlimited: Arc<AtomicBool>,
    /// Never shared; the lock makes the owner's future `Send`.
    stream: Mutex<BoxStream<'static, std::io::Result<ExecEvent>>>,
    cancel: CancellationToken,
    started: Instant,
    /// The first bytes of an incomplete character.
    torn: Vec<u8>,
    kept: OutputEnds,
}

/// An event of the running command.
pub(super) enum ShellEvent {
    Output(String),
    /// A message besides the output.
    Said(String),
    Ended {
        outcome: String,
        took: Duration,
        /// For the next prompt; `None` for a private command.
        note: Option<String>,
    },
    /// A command in the background ended.
    TaskEnded(Task),
}

impl Shell {
    pub(super) fn new(tasks: Tasks) -> Self {
        Self { running: None, tasks, session: PathBuf::new(), count: 0 }
    }

    /// Tells of the tasks of the session with this folder from now on.
    pub(super) fn enter(&mut self, session: PathBuf) {
        self.session = session;
    }

    /// Moves the running command to the background of the session with this folder. `None` if none runs.
    pub(super) fn background(&mut self, session: &Path) -> Option<ShellEvent> {
        if self.running.is_some() && !self.tasks.has_room(session) {
            return Some(ShellEvent::Said(format!("{FULL}.")));
        }
        if self.running.as_ref().is_some_and(|running| running.privacy == Privacy::Private) {
            // The model could read a task.
            return Some(ShellEvent::Said("A private command stays in the foreground.".to_owned()));
        }
        let running = self.running.take()?;
        let took = running.started.elapsed();
        let started = StartedCommand {
            command: running.command,
            mark: running.mark,
            events: running.stream.into_inner(),
            cancel: running.cancel,
            input: None,
            output: running.kept.text().into_bytes(),
            unlimited: running.unlimited,
        };
        let outcome = match self.tasks.add(session, started) {
            Ok(number) => format!("in the background as task {number}; `/tasks` lists it"),
            Err(error) => format!("ended: {error}"),
        };
        Some(ShellEvent::Ended { outcome, took, note: None })
    }

    /// Starts a command. A running one is dropped, which kills it.
    pub(super) fn start(&mut self, app: &App, session: &SessionId, folder: &Path, started: UserCommand) {
        let UserCommand { command, privacy, confinement } = started;
        let cancel = CancellationToken::new();
        let mut env = app.tools.child_env.clone();
        self.count += 1;
        let mark = own_mark(session, self.count);
        env.push((MARKER.to_owned(), mark.clone()));
        let unlimited = Arc::default();
        let spawned = Command {
            script: command.clone(),
            cwd: folder.to_owned(),
            env,
            timeout: app.settings.shell.max_timeout,
            confinement,
            unlimited: Arc::clone(&unlimited),
            ..Command::default()
        };
        let stream = app.tools.sandbox.spawn(spawned, cancel.clone());
        self.running = Some(RunningCommand {
            command,
            folder: folder.to_owned(),
            mark,
            privacy,
            unlimited,
            is_sandboxed: app.tools.sandbox.isolation().backend != Backend::None
                && confinement != Confinement::Unsandboxed,
            stream: Mutex::new(stream),
            cancel,
            started: Instant::now(),
            torn: Vec::new(),
            kept: OutputEnds::new(app.settings.tool_output_limit),
        });
    }

    /// Returns the running command.
    pub(super) fn command(&self) -> Option<&str> {
        self.running.as_ref().map(|running| running.command.as_str())
    }

    pub(super) fn stop(&self) {
        if let Some(running) = &self.running {
            running.cancel.cancel();
        }
    }

    /// Returns the next event of the command, or of what runs in the background. Cancel-safe; never resolves while nothing
    /// runs.
    pub(super) async fn next(&mut self) -> ShellEvent {
        let (tasks, folder) = (self.tasks.clone(), self.session.clone());
        tokio::select! {
            event = self.next_of_command() => event,
            task = tasks.next_end(&folder) => ShellEvent::TaskEnded(task),
        }
    }

    async fn next_of_command(&mut self) -> ShellEvent {
        loop {
            let Some(running) = &mut self.running else { return std::future::pending().await };
            let happened = running.stream.get_mut().next().await;
            match happened {
                Some(Ok(ExecEvent::Output(bytes))) => {
                    let text = running.text(&bytes);
                    if !text.is_empty() {
                        return ShellEvent::Output(text);
                    }
                }
                Some(Ok(ExecEvent::Survivors { found, outcome })) => {
                    let list = process_list(&found);
                    return ShellEvent::Said(match outcome {
                        SurvivorOutcome::Running => format!("Still running in the background: {list}."),
                        SurvivorOutcome::Ended => format!("Detached processes were ended with it: {list}."),
                    });
                }
                Some(Ok(ExecEvent::Exited(exit))) => {
                    let held = running.is_sandboxed
                        && exit != Exit::Code(0)
                        && running.kept.looks_held(&running.folder);
                    return self.end(if held { format!("{}{HELD}", outcome(exit)) } else { outcome(exit) });
                }
                Some(Err(error)) => return self.end(format!("could not run: {error}")),
                None => return self.end("ended unexpectedly".to_owned()),
            }
        }
    }

    fn end(&mut self, outcome: String) -> ShellEvent {
        let Some(running) = self.running.take() else {
            return ShellEvent::Ended { outcome, took: Duration::ZERO, note: None };
        };
        let took = running.started.elapsed();
        let note = match running.privacy {
            Privacy::Private => None,
            Privacy::Shared => Some(running.note(&outcome)),
        };
        ShellEvent::Ended { outcome, took, note }
    }
}

impl RunningCommand {
    /// Returns the complete characters received.
    fn text(&mut self, bytes: &[u8]) -> String {
        let text = whole_characters(&mut self.torn, bytes);
        self.kept.push(&text);
        text
    }

    fn note(self, outcome: &str) -> String {
        let output = self.kept.text();
        let output = if output.trim().is_empty() { "(no output)".to_owned() } else { output };
        format!("The user ran {} themselves: {outcome}.\n{output}", code(&self.command))
    }
}

/// The beginning and end of an output, bounded while it is received.
struct OutputEnds {
    head: String,
    tail: String,
    half: usize,
    dropped: usize,
}

impl OutputEnds {
    fn new(limit: usize) -> Self {
        Self { head: String::new(), tail: String::new(), half: limit / 2, dropped: 0 }
    }

    fn push(&mut self, text: &str) {
        let room = self.half.saturating_sub(self.head.len());
        let (head, rest) = text.split_at(text.floor_char_boundary(room));
        if self.tail.is_empty() {
            self.head.push_str(head);
            self.tail.push_str(rest);
        } else {
            self.tail.push_str(text);
        }
        if self.tail.len() > 2 * self.half {
            let cut = self.tail.ceil_char_boundary(self.tail.len() - self.half);
            self.dropped += cut;
            self.tail.drain(..cut);
        }
    }

    /// Whether it looks as if a sandbox held the command.
    fn looks_held(&self, folder: &Path) -> bool {
        looks_held(&self.head, folder) || looks_held(&self.tail, folder)
    }

    fn text(self) -> String {
        let tail = if self.dropped == 0 && self.tail.len() <= self.half {
            self.tail.as_str()
        } else {
            last_bytes(&self.tail, self.half)
        };
        match self.dropped + self.tail.len() - tail.len() {
            0 => format!("{}{tail}", self.head),
            dropped => format!("{}\n[… {dropped} bytes left out …]\n{tail}", self.head),
        }
    }
}

fn last_bytes(text: &str, room: usize) -> &str {
    text.split_at(text.ceil_char_boundary(text.len().saturating_sub(room))).1
}

/// Added to the outcome of a command that the sandbox may have held.
const HELD: &str = "; the sandbox may have held it (`!unsandboxed …` runs it outside)";

fn outcome(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit {code}"),
        Exit::Signal(signal) => format!("ended by signal {signal}"),
        Exit::TimedOut => "ended: timed out".to_owned(),
        Exit::Cancelled => "stopped".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_whole_over_cuts() {
        for (bytes, whole) in [
            (b"abc".as_slice(), 3),
            ("aé".as_bytes(), 3),
            (&"aé".as_bytes()[..2], 1),
            (&"a🚀".as_bytes()[..3], 1),
            (b"a\xffb", 3),
            (b"\xff\xc3", 1),
            (b"", 0),
        ] {
            let mut torn = Vec::new();
            whole_characters(&mut torn, bytes);
            assert_eq!(bytes.len() - torn.len(), whole, "{bytes:?}");
        }
    }

    #[test]
    fn both_ends_are_kept_and_the_gap_is_counted() {
        let kept = |limit, parts: &[&str]| {
            let mut kept = OutputEnds::new(limit);
            parts.iter().for_each(|part| kept.push(part));
            kept.text()
        };
        assert_eq!(kept(8, &["ab", "cd", "ef", "gh"]), "abcdefgh");
        assert_eq!(kept(8, &["abcdefghi"]), "abcd\n[… 1 bytes left out …]\nfghi");
        let many = kept(8, &["abcd"; 100]);
        assert_eq!(many, "abcd\n[… 392 bytes left out …]\nabcd");
    }
}
