//! Tests with real processes. A life line is a named pipe that a process holds open: its closing shows that
//! the process died, without relying on a clock. Deadlines only turn a hang into a failure.

use std::fs::File;
use std::path::{Path, PathBuf};

use futures::StreamExt as _;

use super::*;

/// Longer than any loaded machine needs, shorter than `sleep 1000`.
const HANG: Duration = Duration::from_secs(20);

/// Checks that the constants keep the trait's guarantee: everything ends within a second.
const _: () = assert!(GRACE.as_millis() + 2 * DRAIN.as_millis() < 1000);

struct Run {
    output: Vec<u8>,
    survivors: Vec<(String, SurvivorOutcome)>,
    exit: Exit,
}

fn command(folder: &Path, script: &str) -> Command {
    let marker = format!("test-{}", folder.display());
    let env = [("PATH", std::env::var("PATH").unwrap()), (MARKER, marker)];
    Command {
        script: script.to_owned(),
        cwd: folder.to_path_buf(),
        env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        timeout: HANG,
        confinement: Confinement::Workspace,
        ..Command::default()
    }
}

async fn collect(mut events: BoxStream<'static, io::Result<ExecEvent>>) -> io::Result<Run> {
    let mut run = Run { output: Vec::new(), survivors: Vec::new(), exit: Exit::Code(-1) };
    let mut exits = 0;
    while let Some(event) = timeout(HANG, events.next()).await.expect("the stream hangs") {
        assert_eq!(exits, 0, "something follows the exit");
        match event? {
            ExecEvent::Output(bytes) => run.output.extend(bytes),
            ExecEvent::Survivors { found, outcome } => {
                run.survivors.extend(found.into_iter().map(|survivor| (survivor.command, outcome)));
            }
            ExecEvent::Exited(exit) => {
                run.exit = exit;
                exits += 1;
            }
        }
    }
    assert_eq!(exits, 1);
    Ok(run)
}

async fn run(folder: &Path, script: &str) -> io::Result<Run> {
    collect(Subprocess::plain().spawn(command(folder, script), CancellationToken::new())).await
}

#[tokio::test]
async fn commands_end_with_their_output_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&str, &[u8], Exit); 9] = [
        ("echo a; echo b >&2; echo c", b"a\nb\nc\n", Exit::Code(0)),
        ("exit 3", b"", Exit::Code(3)),
        ("no_such_program_here 2>/dev/null", b"", Exit::Code(127)),
        ("kill -9 $$", b"", Exit::Signal(9)),
        ("cat; echo end", b"end\n", Exit::Code(0)),
        (r"printf '\377\000x'", b"\xff\x00x", Exit::Code(0)),
        ("test -t 0 || test -t 1 || test -t 2 || echo none", b"none\n", Exit::Code(0)),
        ("(: </dev/tty) 2>/dev/null || echo no terminal", b"no terminal\n", Exit::Code(0)),
        ("sleep 1000 & echo started", b"started\n", Exit::Code(0)),
    ];
    for (script, output, exit) in cases {
        let run = run(dir.path(), script).await.unwrap();
        assert_eq!((run.output.as_slice(), run.exit), (output, exit), "{script}");
        assert_eq!(run.survivors, [], "{script}");
    }
}

#[tokio::test]
async fn the_environment_is_the_given_one() {
    let dir = tempfile::tempdir().unwrap();
    let run = run(dir.path(), "env").await.unwrap();
    let output = String::from_utf8(run.output).unwrap();
    // Shells add some variables of their own.
    let mut names: Vec<&str> = output
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .filter(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name))
        .collect();
    names.sort_unstable();
    assert_eq!(names, [MARKER, "PATH"]);
}

#[tokio::test]
async fn a_command_that_cannot_start_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let cases =
        [(dir.path().join("gone"), "true", "no longer exists"), (dir.path().into(), "a\0b", "nul byte")];
    for (folder, script, expected) in cases {
        let error = run(&folder, script).await.err().unwrap().to_string();
        assert!(error.contains(expected), "{script}: {error}");
    }
}

#[tokio::test]
async fn a_cancel_before_the_start_starts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let run = collect(Subprocess::plain().spawn(command(dir.path(), "touch made"), cancel)).await.unwrap();
    assert_eq!((run.exit, dir.path().join("made").exists()), (Exit::Cancelled, false));
}

#[tokio::test]
async fn endless_output_waits_for_its_reader_and_ends_on_cancel() {
    let dir = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    let mut events = Subprocess::plain().spawn(command(dir.path(), "yes"), cancel.clone());
    for _ in 0..64 {
        assert!(matches!(events.next().await, Some(Ok(ExecEvent::Output(_)))));
    }
    cancel.cancel();
    let rest = collect(events).await.unwrap();
    assert_eq!(rest.exit, Exit::Cancelled);
    assert!(rest.output.iter().all(|byte| b"y\n".contains(byte)));
}

fn make_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// A pipe that a process holds open as long as it lives.
struct LifeLine {
    path: PathBuf,
    held: Option<pipe::Receiver>,
}

impl LifeLine {
    fn new(folder: &Path) -> Self {
        let path = folder.join("life");
        make_pipe(&path);
        Self { path, held: None }
    }

    /// Waits until the process holds the pipe.
    async fn up(&mut self) {
        let path = self.path.clone();
        let opening = tokio::task::spawn_blocking(move || File::open(path));
        let file = timeout(HANG, opening).await.expect("the life line is never opened").unwrap().unwrap();
        let mut held = pipe::Receiver::from_file(file).unwrap();
        let mut word = [0; 3];
        timeout(HANG, held.read_exact(&mut word)).await.expect("no word on the life line").unwrap();
        assert_eq!(&word, b"up\n");
        self.held = Some(held);
    }

    fn assert_alive(&self) {
        let read = self.held.as_ref().unwrap().try_read(&mut [0; 8]);
        assert_eq!(read.map_err(|error| error.kind()), Err(io::ErrorKind::WouldBlock), "it died too early");
    }

    async fn assert_dies(&mut self) {
        let read = timeout(HANG, self.held.as_mut().unwrap().read(&mut [0; 8])).await;
        assert_eq!(read.expect("it lives on").unwrap(), 0);
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    Cancel,
    Drop,
    Timeout,
}

/// Ways in which a grandchild tries to survive, and whether each takes it out of its group.
const GRANDCHILDREN: [(&str, bool); 4] = [
    ("(exec 9>life; echo up >&9; sleep 1000) & wait", false),
    ("(trap '' TERM; exec 9>life; echo up >&9; while :; do sleep 1000; done) & wait", false),
    ("trap '' TERM HUP INT; exec 9>life; echo up >&9; while :; do sleep 1000; done", false),
    ("setsid sh -c 'exec 9>life; echo up >&9; sleep 1000; :' & wait", true),
];

#[tokio::test]
async fn nothing_of_a_command_outlives_its_end() {
    let cases = GRANDCHILDREN.into_iter().flat_map(|(script, escapes)| {
        [How::Cancel, How::Drop, How::Timeout].map(|how| check_end(script, escapes, how))
    });
    futures::future::join_all(cases).await;
}

async fn check_end(script: &str, escapes: bool, how: How) {
    let dir = tempfile::tempdir().unwrap();
    let mut line = LifeLine::new(dir.path());
    let mut command = command(dir.path(), script);
    if how == How::Timeout {
        command.timeout = Duration::from_secs(2);
    }
    let cancel = CancellationToken::new();
    let events = Subprocess::plain().spawn(command, cancel.clone());
    line.up().await;
    let (run, expected) = match how {
        How::Cancel => {
            // Control: the probe distinguishes a living process from a dead one, and nothing ends by itself.
            line.assert_alive();
            cancel.cancel();
            (collect(events).await.unwrap(), Exit::Cancelled)
        }
        How::Drop => {
            line.assert_alive();
            drop(events);
            return line.assert_dies().await;
        }
        How::Timeout => (collect(events).await.unwrap(), Exit::TimedOut),
    };
    line.assert_dies().await;
    assert_eq!(run.exit, expected, "{script}");
    let named = run
        .survivors
        .iter()
        .any(|(name, outcome)| name.contains("sleep 1000") && *outcome == SurvivorOutcome::Ended);
    assert_eq!(named, escapes, "{script}: {:?}", run.survivors);
}

#[tokio::test]
async fn the_exit_of_the_shell_ends_its_group_and_names_who_left_it() {
    let cases = [
        ("(exec 9>life; echo up >&9; sleep 1000) & read go <gate; exit 7", false),
        ("setsid sh -c 'exec 9>life; echo up >&9; sleep 1000; :' & read go <gate; exit 7", true),
    ];
    for (script, escapes) in cases {
        let dir = tempfile::tempdir().unwrap();
        let mut line = LifeLine::new(dir.path());
        let gate = dir.path().join("gate");
        make_pipe(&gate);
        let command = command(dir.path(), script);
        let marker = command.env[1].1.clone();
        let events = Subprocess::plain().spawn(command, CancellationToken::new());
        line.up().await;
        line.assert_alive();
        tokio::task::spawn_blocking(|| std::fs::write(gate, "go\n")).await.unwrap().unwrap();
        let run = collect(events).await.unwrap();
        assert_eq!(run.exit, Exit::Code(7), "{script}");
        let named = run
            .survivors
            .iter()
            .any(|(name, outcome)| name.contains("sleep") && *outcome == SurvivorOutcome::Running);
        assert_eq!(named, escapes, "{script}: {:?}", run.survivors);
        if escapes {
            line.assert_alive();
            assert_eq!(survivors("no such mark"), []);
            let ended = end_survivors(&marker);
            assert!(ended.iter().any(|survivor| survivor.command.contains("sleep")), "{ended:?}");
        }
        line.assert_dies().await;
        assert_eq!(survivors(&marker), []);
    }
}
