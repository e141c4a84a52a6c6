//! The real binary in a real terminal: keys in, screen out. For tests of the whole program.
//!
//! A reader thread feeds everything the program writes to an emulated screen, so the program never blocks on output;
//! each piece wakes the waiting test, which gives up after [`PATIENCE`] with the screen in the message. Nothing sleeps.
//!
//! ```ignore
//! let mut co = Terminal::start(Launch::new(env!("CARGO_BIN_EXE_co"), &folder).env("HOME", &home));
//! co.wait_for("Type a message");
//! co.keys("hello<ret>");
//! co.wait_for("the answer");
//! co.keys("<c-d>");
//! assert_eq!(co.wait_exit().code, 0);
//! ```

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

/// The longest a test waits for one thing. A busy machine is slow, a broken program is silent.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The program to start, and its folder. The environment is exactly what is given here, and `TERM`.
#[derive(Debug, Clone)]
pub struct Launch {
    program: PathBuf,
    folder: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    columns: u16,
    rows: u16,
}

impl Launch {
    /// 100 columns by 40 rows, no arguments.
    pub fn new(program: impl AsRef<Path>, folder: impl AsRef<Path>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            folder: folder.as_ref().to_owned(),
            args: Vec::new(),
            env: vec![("TERM".into(), "xterm-256color".into())],
            columns: 100,
            rows: 40,
        }
    }

    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    pub fn envs<N: AsRef<OsStr>, V: AsRef<OsStr>>(self, all: impl IntoIterator<Item = (N, V)>) -> Self {
        all.into_iter().fold(self, |launch, (name, value)| launch.env(name, value))
    }

    pub fn size(self, columns: u16, rows: u16) -> Self {
        Self { columns, rows, ..self }
    }

    fn command(&self) -> CommandBuilder {
        let mut command = CommandBuilder::new(&self.program);
        command.cwd(&self.folder);
        command.args(&self.args);
        command.env_clear();
        for (name, value) in &self.env {
            command.env(name, value);
        }
        command
    }

    fn pty_size(&self) -> PtySize {
        pty_size(self.columns, self.rows)
    }
}

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code; 1 where a signal ended it.
    pub code: u32,
    pub by_signal: bool,
}

/// A running program and its screen. Killed when dropped.
pub struct Terminal {
    shared: Arc<Shared>,
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    pid: u32,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    /// Every byte the program wrote.
    raw: Vec<u8>,
    reading: bool,
    exit: Option<Exit>,
}

impl Default for State {
    fn default() -> Self {
        Self { parser: vt100::Parser::default(), raw: Vec::new(), reading: true, exit: None }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

impl Terminal {
    /// Starts the program in a terminal of its own. It is the leader of its session and group, as under a shell.
    pub fn start(launch: &Launch) -> Self {
        let pair = native_pty_system().openpty(launch.pty_size()).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let mut child = pair.slave.spawn_command(launch.command()).unwrap();
        let pid = child.process_id().unwrap();
        drop(pair.slave);
        let shared = Arc::new(Shared::default());
        shared.lock().parser = vt100::Parser::new(cells(launch.rows), cells(launch.columns), 1_000);
        let seen = Arc::clone(&shared);
        thread::spawn(move || {
            let mut bytes = [0; 16 * 1024];
            // A terminal whose last program is gone answers with an error instead of the end.
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                seen.change(|state| {
                    state.parser.process(&bytes[..read]);
                    state.raw.extend_from_slice(&bytes[..read]);
                });
            }
            seen.change(|state| state.reading = false);
        });
        let ended = Arc::clone(&shared);
        thread::spawn(move || {
            let status = child.wait().unwrap();
            let exit = Exit { code: status.exit_code(), by_signal: status.signal().is_some() };
            ended.change(|state| state.exit = Some(exit));
        });
        Self { shared, master: pair.master, writer, pid }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn is_alive(&self) -> bool {
        self.shared.lock().exit.is_none()
    }

    /// The screen as a person sees it, without trailing blanks.
    pub fn screen(&self) -> String {
        shown(&self.shared.lock())
    }

    /// Every byte the program has written so far, escapes included.
    pub fn raw(&self) -> Vec<u8> {
        self.shared.lock().raw.clone()
    }

    /// Waits until this text is on the screen, and returns the screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?} on the screen"), |screen| screen.contains(text))
    }

    /// Waits until the screen does not show this text, and returns the screen.
    #[track_caller]
    pub fn wait_gone(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?} gone from the screen"), |screen| !screen.contains(text))
    }

    /// Waits until the screen is as wanted, and gives it; `what` says in the failure what that is.
    #[track_caller]
    pub fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let seen = self.wait(|state| {
            let screen = shown(state);
            (wanted(&screen) || !state.reading).then_some(screen)
        });
        match seen {
            Some(screen) if wanted(&screen) => screen,
            Some(screen) => panic!("the program ended before there was {what}:\n{screen}"),
            None => panic!("waited {PATIENCE:?} for {what}; the screen:\n{}", self.screen()),
        }
    }

    /// Waits until the program has ended and all it wrote is on the screen.
    #[track_caller]
    pub fn wait_exit(&self) -> Exit {
        let exit = self.wait(|state| state.exit.filter(|_| !state.reading));
        exit.unwrap_or_else(|| panic!("waited {PATIENCE:?} for the end; the screen:\n{}", self.screen()))
    }

    /// Whether the screen shows this text soon: for keys that may have to be pressed again.
    pub fn shows_within(&self, patience: Duration, text: &str) -> bool {
        self.within(patience, |state| shown(state).contains(text).then_some(())).is_some()
    }

    /// Whether this text goes from the screen soon.
    pub fn is_gone_within(&self, patience: Duration, text: &str) -> bool {
        self.within(patience, |state| (!shown(state).contains(text)).then_some(())).is_some()
    }

    /// Waits until the bytes it has written so far are as wanted.
    #[track_caller]
    pub fn wait_raw(&self, what: &str, wanted: impl Fn(&[u8]) -> bool) {
        let seen = self.wait(|state| wanted(&state.raw).then_some(()));
        assert!(seen.is_some(), "waited {PATIENCE:?} for {what}; the screen:\n{}", self.screen());
    }

    /// Looks at the emulated screen.
    pub fn look<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.shared.lock().parser.screen())
    }

    /// The end, where it comes this soon.
    pub fn exit_within(&self, patience: Duration) -> Option<Exit> {
        self.within(patience, |state| state.exit)
    }

    /// `None` when patience ran out.
    fn wait<T>(&self, look: impl FnMut(&State) -> Option<T>) -> Option<T> {
        self.within(PATIENCE, look)
    }

    fn within<T>(&self, patience: Duration, mut look: impl FnMut(&State) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + patience;
        let mut state = self.shared.lock();
        loop {
            if let Some(found) = look(&state) {
                return Some(found);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let woken = self.shared.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Presses keys. Plain characters are themselves; `<ret>`, `<esc>`, `<tab>`, `<backspace>`, `<up>`, `<down>`,
    /// `<left>`, `<right>`, `<pageup>`, `<pagedown>`, `<home>`, `<end>`, `<lt>` (the character `<`), `<c-x>` (Ctrl) and
    /// `<a-x>` (Alt) are keys.
    #[track_caller]
    pub fn keys(&mut self, keys: &str) {
        self.send(&bytes_of(keys));
    }

    /// Pastes a text, as a terminal does that was asked to mark pastes.
    pub fn paste(&mut self, text: &str) {
        self.send(format!("\x1b[200~{text}\x1b[201~").as_bytes());
    }

    /// Sends bytes unchanged. If the program is gone, the next wait fails.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.writer.write_all(bytes);
        let _ = self.writer.flush();
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.shared.change(|state| state.parser.screen_mut().set_size(cells(rows), cells(columns)));
        self.master.resize(pty_size(columns, rows)).unwrap();
    }

    /// Sends a signal to the program alone, if it still lives.
    pub fn signal(&self, signal: Signal) {
        let state = self.shared.lock();
        if state.exit.is_none() {
            // One that ended just now does not mind.
            let _ = kill_process(Pid::from_raw(i32::try_from(self.pid).unwrap()).unwrap(), signal);
        }
    }

    /// `kill -9`, and waits until the process is gone. Panics if it was gone before: then nothing was tested.
    #[track_caller]
    pub fn kill(&self) {
        assert!(self.is_alive(), "it ended by itself before it was killed; the screen:\n{}", self.screen());
        self.signal(Signal::KILL);
        let exit = self.wait(|state| state.exit).expect("a killed process ends");
        assert!(exit.by_signal, "it ended by itself just before it was killed: {exit:?}");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

fn pty_size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn cells(count: u16) -> NonZero<u16> {
    // The emulated screen has a cell in any case; the terminal itself may have none.
    NonZero::new(count.max(1)).unwrap()
}

fn shown(state: &State) -> String {
    let rows: Vec<String> =
        state.parser.screen().contents().lines().map(|line| line.trim_end().to_owned()).collect();
    rows.join("\n").trim_end().to_owned()
}

#[track_caller]
fn bytes_of(keys: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = keys;
    while let Some((plain, marked)) = rest.split_once('<') {
        bytes.extend_from_slice(plain.as_bytes());
        let (name, after) = marked.split_once('>').unwrap_or_else(|| panic!("no `>` in {keys:?}"));
        bytes.extend(key(name));
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

#[track_caller]
fn key(name: &str) -> Vec<u8> {
    let fixed: &[u8] = match name {
        "ret" => b"\r",
        "esc" => b"\x1b",
        "tab" => b"\t",
        "s-tab" => b"\x1b[Z",
        "backspace" => b"\x7f",
        "up" => b"\x1b[A",
        "down" => b"\x1b[B",
        "right" => b"\x1b[C",
        "left" => b"\x1b[D",
        "home" => b"\x1b[H",
        "end" => b"\x1b[F",
        "pageup" => b"\x1b[5~",
        "pagedown" => b"\x1b[6~",
        "lt" => b"<",
        held => return held_key(held),
    };
    fixed.to_vec()
}

#[track_caller]
fn held_key(name: &str) -> Vec<u8> {
    match (name.strip_prefix("c-"), name.strip_prefix("a-")) {
        (Some(letter), None) if letter.len() == 1 => vec![letter.as_bytes()[0] & 0x1f],
        (None, Some(rest)) => [b"\x1b".as_slice(), rest.as_bytes()].concat(),
        (Some(_) | None, Some(_) | None) => panic!("no key is called {name:?}"),
    }
}

#[test]
fn keys_go_in_and_the_screen_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let script = "stty -echo; echo \"ready in $PLACE\"; read line; stty size; read line; \
                  printf '\\033[2J\\033[Hread (%s)\\n' \"$line\"; exit 7";
    let launch = Launch::new("/bin/sh", folder.path()).args(["-c", script]).envs([("PLACE", "a tty")]);
    let mut shell = Terminal::start(&launch.size(60, 20));
    shell.wait_for("ready in a tty");
    shell.resize(90, 30);
    shell.keys("<ret>");
    shell.wait_for("30 90");
    shell.paste("a<b");
    shell.keys("<lt><ret>");
    shell.wait_gone("30 90");
    assert_eq!(shell.wait_exit(), Exit { code: 7, by_signal: false });
    assert!(shell.screen().contains("a<b") && shell.screen().contains("<)"), "{}", shell.screen());
    assert!(shell.raw().starts_with(b"ready in a tty\r\n"), "{:?}", shell.raw());
    let echo = Terminal::start(&Launch::new("/bin/sh", folder.path()).args(["-c", "echo up $$; cat"]));
    echo.wait_for(&format!("up {}", echo.pid()));
    echo.kill();
    assert!(!echo.is_alive());
}
