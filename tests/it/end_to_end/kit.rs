//! Parts that the cases share: the program on a terminal or to its end, and a service of any answers.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use kit::replay::parse_replies;
use kit::replay::server::{Delivery, Plan, Recording, ReplayServer, ServerAnswer};
use rustix::process::{Pid, Signal, kill_process};

pub use super::sent_lines::sent_lines;
use crate::co::{Co, RunOutput, Service};
use crate::tui::terminal::{Launch, PATIENCE, Terminal};

/// The size most people have.
pub const USUAL: (u16, u16) = (80, 24);
pub const LARGE: (u16, u16) = (140, 40);

/// How long a key may go unanswered before it is pressed again.
const AGAIN: Duration = Duration::from_millis(1_100);

/// The program on a terminal.
pub fn on_terminal(co: &Co, args: &[&str], (columns, rows): (u16, u16)) -> Terminal {
    let launch = Launch::new(env!("CARGO_BIN_EXE_co"), co.workspace()).args(args);
    Terminal::start(&launch.envs(co.variables().to_vec()).size(columns, rows))
}

/// The program without a terminal, to its end; one that does not end is killed and has no exit code.
pub fn run(co: &Co, args: &[&str]) -> RunOutput {
    bounded(co, co.command(&co.workspace(), args), "")
}

/// The program started by a shell, in whose script `"$@"` is the program with its arguments.
pub fn run_through(co: &Co, script: &str, args: &[&str], input: &str) -> RunOutput {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_co")]).args(args);
    command.env_clear().envs(co.variables().iter().map(|(name, value)| (name, value)));
    command.current_dir(co.workspace()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    bounded(co, command, input)
}

fn bounded(co: &Co, mut command: Command, input: &str) -> RunOutput {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // A program that reads no input closes the pipe; that is its right.
    std::thread::spawn(move || drop(std::io::Write::write_all(&mut stdin, input.as_bytes())));
    ended(co, child)
}

/// Waits for its end, but not for ever.
pub fn ended(co: &Co, child: Child) -> RunOutput {
    let pid = Pid::from_child(&child);
    let (tell, done) = channel::<()>();
    std::thread::spawn(move || {
        if done.recv_timeout(PATIENCE).is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            // It may end this very moment.
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let ran = co.ended(child);
    drop(tell);
    ran
}

/// A key, pressed until the screen shows that it was taken: a card takes none in its first moment.
#[track_caller]
pub fn press_until(co: &mut Terminal, key: &str, text: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        co.keys(key);
        if co.shows_within(AGAIN, text) {
            return;
        }
        assert!(Instant::now() < deadline, "{key:?} did not lead to {text:?}\n{}", co.screen());
    }
}

const HAS_KEYS: &str = "· card ─";

/// Gives the shown card the keys, unless it took them by itself.
#[track_caller]
pub fn focus_card(co: &mut Terminal) {
    let shown = co.wait_until("a card", |screen| screen.contains("decide") || screen.contains(HAS_KEYS));
    if !shown.contains(HAS_KEYS) {
        // The card may take the keys at this moment, and the key would give them back.
        press_until(co, "<tab>", HAS_KEYS);
    }
}

/// Approves the card that is shown, and empties the composer of what came too late.
#[track_caller]
pub fn approve(co: &mut Terminal) {
    focus_card(co);
    let deadline = Instant::now() + PATIENCE;
    loop {
        co.keys("y");
        if co.is_gone_within(AGAIN, HAS_KEYS) {
            break;
        }
        assert!(Instant::now() < deadline, "y settled nothing\n{}", co.screen());
    }
    co.keys("<c-u>");
}

/// Says a line, whatever stood in the composer.
pub fn say(co: &mut Terminal, line: &str) {
    co.keys("<c-u>");
    co.keys(line);
    co.keys("<ret>");
}

/// A service with these answers, one a request.
pub fn serve(answers: Vec<ServerAnswer>) -> Service {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(ReplayServer::start(Plan { answers, ..Plan::default() })).unwrap();
    Service { server, runtime }
}

/// Replies of a script as answers.
pub fn replies(script: &str) -> Vec<ServerAnswer> {
    parse_replies(script).unwrap().into_iter().map(ServerAnswer::Reply).collect()
}

/// Bytes as an answer.
pub fn body(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> ServerAnswer {
    recording(status, &[("content-type", content_type)], body, Delivery::Whole)
}

pub fn recording(
    status: u16,
    headers: &[(&str, &str)],
    body: impl Into<Vec<u8>>,
    delivery: Delivery,
) -> ServerAnswer {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ServerAnswer::Recording(Recording { status, headers, body: body.into(), delivery })
}

/// Waits until this line is in the service's log.
#[track_caller]
pub fn logged(service: &Service, line: &str) {
    let waited =
        service.runtime.block_on(async { tokio::time::timeout(PATIENCE, service.server.logged(line)).await });
    assert!(waited.is_ok(), "waited in vain for {line:?} in {:?}", service.server.log());
}

/// Runs one check for every case, side by side; every case is named in its own failure.
pub fn each<T: Sync + std::fmt::Debug>(cases: &[T], at_once: usize, check: impl Fn(&T) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for _ in 0..at_once {
            threads.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    let Some(case) = cases.get(at) else { return };
                    let went = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(case)));
                    if went.is_err() {
                        wrong.lock().unwrap().push(format!("{case:?}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} cases failed: {}", wrong.len(), cases.len(), wrong.join("\n"));
}
