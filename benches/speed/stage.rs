//! The measured processes, in an environment of their own, without and with a terminal, and their cost.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};

/// The time that a program gets before the bench gives it up.
const PATIENCE: Duration = Duration::from_secs(120);

/// The terminal of every figure.
pub const COLUMNS: u16 = 120;
pub const ROWS: u16 = 40;

/// The measured program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    Co,
    Floor,
}

/// A home folder with a workspace in it.
pub struct Stage {
    folder: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Stage {
    /// With this model service, or on the built-in offline provider.
    pub fn new(url: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let home = folder.path().display().to_string();
        let mut env = vec![
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", home),
            ("TERM", "xterm-256color".to_owned()),
            ("CO_DISCOVER_LOCAL", "false".to_owned()),
            ("CO_WELCOME", "false".to_owned()),
            ("CO_MAX_REQUESTS", "0".to_owned()),
        ];
        match url {
            Some(url) => env.extend([
                ("CO_PROVIDER", "openai-compatible".to_owned()),
                ("CO_BASE_URL", url.to_owned()),
                ("CO_MODEL", "bench".to_owned()),
            ]),
            None => env.push(("CO_PROVIDER", "offline".to_owned())),
        }
        let env = env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { folder, env }
    }

    /// The same with a variable set.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Where the program keeps its store.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join(".local/share/co")
    }

    /// Where the user's settings and rules are.
    pub fn settings(&self) -> PathBuf {
        self.folder.path().join(".config/co")
    }

    fn program(binary: Binary) -> (PathBuf, &'static [&'static str]) {
        match binary {
            Binary::Co => (PathBuf::from(env!("CARGO_BIN_EXE_co")), &[]),
            Binary::Floor => (std::env::current_exe().unwrap(), &["floor"]),
        }
    }

    /// Runs the program to its end without a terminal, its output into a pipe that is drained at once; returns its cost.
    pub fn run(&self, binary: Binary, args: &[&str]) -> Cost {
        let before = children_cpu();
        let start = Instant::now();
        let output = self.output(binary, args);
        let wall = ms(start.elapsed());
        assert!(output.status.success(), "{args:?} ended with {}", output.status);
        Cost { wall, cpu: children_cpu() - before }
    }

    /// Runs the program to its end as [`Stage::run`] does; returns its output.
    pub fn output(&self, binary: Binary, args: &[&str]) -> Output {
        let (program, first) = Self::program(binary);
        Command::new(program)
            .args(first)
            .args(args)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(self.workspace())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Starts it on a terminal.
    pub fn open(&self, binary: Binary, args: &[&str]) -> Screen {
        let (program, first) = Self::program(binary);
        let mut command = CommandBuilder::new(program);
        command.args(first.iter().chain(args));
        command.cwd(self.workspace());
        command.env_clear();
        for (name, value) in &self.env {
            command.env(name, value);
        }
        Screen::start(command)
    }
}

/// Milliseconds.
pub struct Cost {
    pub wall: f64,
    pub cpu: f64,
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// CPU of all children that were waited for, in milliseconds.
fn children_cpu() -> f64 {
    use nix::sys::time::TimeValLike as _;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1_000.0
}

/// A program on a terminal, and the screen it draws.
pub struct Screen {
    shared: Arc<Shared>,
    writer: Box<dyn std::io::Write + Send>,
    _master: Box<dyn MasterPty + Send>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    pub started: Instant,
    pid: u32,
}

struct Shared {
    seen: Mutex<ScreenState>,
    changed: Condvar,
}

struct ScreenState {
    parser: vt100::Parser,
    bytes: usize,
    at: Instant,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, ScreenState> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Screen {
    fn start(command: CommandBuilder) -> Self {
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let (rows, columns) = (ROWS.try_into().unwrap(), COLUMNS.try_into().unwrap());
        let seen = ScreenState { parser: vt100::Parser::new(rows, columns, 0), bytes: 0, at: Instant::now() };
        let shared = Arc::new(Shared { seen: Mutex::new(seen), changed: Condvar::new() });
        let fed = Arc::clone(&shared);
        let started = Instant::now();
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        thread::spawn(move || {
            let mut piece = vec![0; 1 << 16];
            while let Ok(read) = reader.read(&mut piece) {
                if read == 0 {
                    break;
                }
                let mut seen = fed.lock();
                seen.at = Instant::now();
                seen.parser.process(&piece[..read]);
                seen.bytes += read;
                drop(seen);
                fed.changed.notify_all();
            }
        });
        let pid = child.process_id().unwrap();
        Self { shared, writer, _master: pair.master, child, started, pid }
    }

    pub fn type_in(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Waits until the screen is as wanted; gives when the bytes that made it so were read.
    pub fn until(&self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) -> Instant {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.shared.lock();
        loop {
            if wanted(seen.parser.screen()) {
                return seen.at;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain for {what}:\n{}", seen.parser.screen().contents());
            seen = self.shared.changed.wait_timeout(seen, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub fn until_text(&self, text: &str) -> Instant {
        self.until(text, |screen| screen.contents().contains(text))
    }

    /// Bytes that it has written.
    pub fn bytes(&self) -> usize {
        self.shared.lock().bytes
    }

    /// CPU of all its threads so far, in milliseconds.
    pub fn cpu(&self) -> f64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid)).unwrap();
        let nanos: f64 = tasks
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok())
            .filter_map(|stat| stat.split_whitespace().next()?.parse::<f64>().ok())
            .sum();
        nanos / 1e6
    }

    /// Its memory as the kernel counts it, in MiB.
    pub fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }

    pub fn close(mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
