//! Everything that happens to a terminal and its program from outside: other sizes, large pastes, keys that end and
//! suspend, signals, and a window that is closed.

use std::io::Read as _;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, test_kill_process, waitid};

use serde_json::json;

use super::kit::{USUAL, approve, each, ended, logged, on_terminal, run, say, sent_lines};
use super::terminal_state::{Tty, is_harmless, is_restored};
use crate::co::{Co, Service, Wire};
use crate::tui::terminal::{PATIENCE, Terminal};

/// Time after which a program that was asked to end is gone; it gives itself 0.8 s, the rest is for slow machines.
const SOON: Duration = Duration::from_secs(2);

#[test]
fn the_screen_follows_its_window() {
    let words = "Every word of this long line is drawn again after each change of the size of the window.";
    let service = Service::new(&format!("reply\n  text {words}\n  gate small\n  text \" The end.\"\n"));
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    say(&mut screen, "go");
    logged(&service, "gate small");
    screen.wait_for("Every word");
    for (size, seen) in [((39, 24), "too small"), ((1, 1), "t"), ((60, 12), "after each"), ((140, 40), words)]
    {
        screen.resize(size.0, size.1);
        screen.wait_for(seen);
    }
    screen.resize(1, 1);
    service.server.gate().release("small");
    logged(&service, "sent 1");
    screen.resize(100, 30);
    screen.wait_until("all of it, once", |screen| {
        screen.contains("end.") && screen.matches("Every word").count() == 1 && screen.contains("? keys")
    });
    let shown = screen.screen();
    assert_eq!(shown.lines().count(), 30, "{shown}");
    screen.keys("<c-d>");
    assert_eq!(screen.wait_exit().code, 0);
}

#[test]
fn a_large_paste_is_one_thing() {
    let service = Service::new("reply\n  text I have read it.\n");
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    let line = "0123456789abcdef <b>&é\n";
    let text = line.repeat(1_048_576 / line.len());
    screen.keys("look: ");
    screen.paste(&text);
    screen.wait_for("[pasted ");
    screen.keys("<ret>");
    screen.wait_for("I have read it.");
    let sent = sent_lines(&service, 1);
    assert_eq!(sent[0].len(), "user look: ".len() + text.trim_end().len());
    assert!(sent[0].ends_with(text.trim_end()));
    is_harmless("the terminal", &screen.raw());
}

/// Keys that leave, each with the text of the composer before.
const LEAVING: &[(&str, &str)] =
    &[("", "<c-d>"), ("", "<c-c><c-c>"), ("a draft", "<c-c><c-c>"), ("", "/quit<ret>"), ("", "exit<ret>")];

#[test]
fn keys_that_leave_leave_the_terminal_as_it_was() {
    each(LEAVING, 3, |(draft, keys)| {
        let co = Co::new();
        let mut screen = on_terminal(&co, &[], USUAL);
        screen.wait_for("unsandboxed");
        let tty = Tty::of(&screen);
        screen.keys(draft);
        screen.wait_for(format!("> {draft}").trim_end());
        screen.keys(keys);
        assert_eq!(screen.wait_exit().code, 0);
        is_restored(&screen, &tty);
        // Nothing happened, so there is nothing to say.
        assert_eq!(screen.screen().trim(), "");
    });
}

#[test]
fn ctrl_d_deletes_where_there_is_text() {
    let co = Co::new();
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    screen.keys("abc<home><c-d>");
    screen.wait_for("> bc");
    screen.keys("<c-c>");
    screen.wait_for("Up restores it");
    screen.keys("<up>");
    screen.wait_for("> bc");
}

#[test]
fn suspended_and_continued_it_is_as_before() {
    let co = Co::new();
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    let tty = Tty::of(&screen);
    screen.keys("a draft");
    screen.wait_for("> a draft");
    for _ in 0..2 {
        let before = screen.screen();
        screen.keys("<c-z>");
        is_stopped(&screen);
        is_restored(&screen, &tty);
        screen.signal(Signal::CONT);
        screen.wait_until("the same screen again", |screen| screen == before);
        assert!(screen.look(vt100::Screen::alternate_screen) && !tty.is_cooked());
    }
    // Stopped and continued by somebody else.
    screen.signal(Signal::STOP);
    is_stopped(&screen);
    screen.signal(Signal::CONT);
    screen.keys(" more");
    screen.wait_for("> a draft more");
    screen.keys("<c-c><c-c>");
    assert_eq!(screen.wait_exit().code, 0);
    is_restored(&screen, &tty);
    is_harmless("the terminal", &screen.raw());
}

/// Waits until the program is stopped, as by Ctrl+Z.
#[track_caller]
fn is_stopped(screen: &Terminal) {
    let pid = pid_of(screen.pid());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let stopped = waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED);
        let _ = tell.send(stopped.is_ok());
    });
    assert_eq!(told.recv_timeout(PATIENCE), Ok(true), "it was not stopped\n{}", screen.screen());
}

fn pid_of(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}

/// How the program is asked to end while a command of the model and one of the user run.
#[derive(Debug, Clone, Copy)]
enum EndRequest {
    Signal(Signal),
    Keys(&'static str),
}

const WORKING: &str = "
reply
  text I start it.
  call shell {\"command\":\"echo model $$; exec sleep 4321\"}
reply
  text I see.
";

#[test]
fn told_to_end_it_saves_and_leaves_no_orphan() {
    let cases = [
        EndRequest::Signal(Signal::TERM),
        EndRequest::Signal(Signal::HUP),
        EndRequest::Keys("<c-c><c-c>"),
        EndRequest::Keys("<c-d>"),
    ];
    each(&cases, 4, |told| {
        let service = Service::new(WORKING);
        let co = Co::new().with(&service, Wire::Chat);
        let mut screen = on_terminal(&co, &[], (100, 30));
        screen.wait_for("unsandboxed");
        let tty = Tty::of(&screen);
        say(&mut screen, "!echo person $$; exec sleep 4321");
        let person = named_pid(
            &screen.wait_until("its pid", |screen| named_pid(screen, "person ").is_some()),
            "person ",
        );
        say(&mut screen, "start it");
        approve(&mut screen);
        let model = named_pid(
            &screen.wait_until("its pid", |screen| named_pid(screen, "model ").is_some()),
            "model ",
        );
        let began = Instant::now();
        match told {
            EndRequest::Signal(signal) => screen.signal(*signal),
            EndRequest::Keys(keys) => screen.keys(keys),
        }
        let exit = screen.exit_within(SOON);
        assert!(
            exit.is_some_and(|exit| !exit.by_signal),
            "{exit:?} after {:?}\n{}",
            began.elapsed(),
            screen.screen()
        );
        screen.wait_exit();
        is_restored(&screen, &tty);
        for pid in [person, model] {
            is_gone(pid.unwrap());
        }
        let left = screen.screen();
        assert!(left.contains("co: session \"start it\" saved"), "{left}");
        let next = run(&co, &["-c", "-p", "go on"]);
        assert_eq!(next.code, Some(0), "{next:?}");
        let sent = sent_lines(&service, 2);
        assert!(sent.iter().any(|line| line.starts_with("return [interrupted]")), "{sent:#?}");
        service.is_content();
    });
}

fn named_pid(screen: &str, word: &str) -> Option<Pid> {
    let digits = |at: &str| at.chars().take_while(char::is_ascii_digit).collect::<String>();
    let found = screen.split(word).skip(1).map(digits).find(|digits| !digits.is_empty())?;
    Pid::from_raw(found.parse().ok()?)
}

/// The process is gone, or is a zombie that was not reaped yet.
#[track_caller]
fn is_gone(pid: Pid) {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    let dead = state.rsplit(") ").next().unwrap_or_default().starts_with(['Z', 'X']);
    assert!(state.is_empty() || dead, "process {pid:?} lives on: {state}");
}

#[test]
fn a_closed_window_ends_it() {
    let service = Service::new("reply\n  text Working.\n  gate never\nreply\n  text I see.\n");
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut window = Window::open(&co);
    window.keys(b"work\r");
    logged(&service, "gate never");
    window.read_until("Working");
    window.close();
    logged(&service, "gone 1");
    let next = run(&co, &["-c", "-p", "go on"]);
    assert_eq!((next.code, next.out.as_str()), (Some(0), "I see.\n"), "{next:?}");
    assert!(
        sent_lines(&service, 2).iter().any(|line| line == "assistant Working."),
        "{:#?}",
        sent_lines(&service, 2)
    );
    service.is_content();
}

#[test]
fn a_window_closed_at_first_sight_ends_it() {
    // The background color was asked for and not sent, and a key may be on its way.
    let keys: Vec<&[u8]> = [b"".as_slice(), b"a", b"\x04"].repeat(4);
    each(&keys, 4, |keys| {
        let co = Co::new();
        let mut window = Window::open(&co);
        window.keys(keys);
        window.close();
    });
}

/// A terminal whose other end can be closed, with the program in it.
struct Window {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    output: Box<dyn std::io::Read + Send>,
    keys: Box<dyn std::io::Write + Send>,
    master: Box<dyn portable_pty::MasterPty + Send>,
    pid: Pid,
}

impl Window {
    /// With the program ready.
    #[track_caller]
    fn open(co: &Co) -> Self {
        let size = PtySize { rows: 24, cols: 80, ..PtySize::default() };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_co"));
        command.env_clear();
        command.env("TERM", "xterm-256color");
        co.variables().iter().for_each(|(name, value)| command.env(name, value));
        command.cwd(co.workspace());
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let pid = pid_of(child.process_id().unwrap());
        let (output, keys) = (pair.master.try_clone_reader().unwrap(), pair.master.take_writer().unwrap());
        let mut window = Self { child, output, keys, master: pair.master, pid };
        window.read_until("unsandboxed");
        window
    }

    fn keys(&mut self, keys: &[u8]) {
        std::io::Write::write_all(&mut self.keys, keys).unwrap();
    }

    #[track_caller]
    fn read_until(&mut self, text: &str) {
        read_until(&mut self.output, text, self.pid);
    }

    /// Closes the window; the program ends soon, by itself.
    #[track_caller]
    fn close(self) {
        let Self { mut child, output, keys, master, pid } = self;
        // All ends of the window go.
        drop((output, keys, master));
        let (tell, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(child.wait().unwrap()));
        let ended = ended.recv_timeout(SOON);
        if ended.is_err() {
            let _ = kill_process(pid, Signal::KILL);
        }
        assert!(ended.as_ref().is_ok_and(|status| status.signal().is_none()), "{ended:?}");
    }
}

/// Reads until the program wrote this; a program that does not is killed, which ends the reading.
#[track_caller]
fn read_until(output: &mut Box<dyn std::io::Read + Send>, text: &str, pid: Pid) {
    let (tell, done) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if done.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let mut read = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&read).contains(text) {
        match output.read(&mut piece) {
            Ok(length @ 1..) => read.extend_from_slice(&piece[..length]),
            Ok(_) | Err(_) => panic!("it ended before {text:?}: {}", String::from_utf8_lossy(&read)),
        }
    }
    drop(tell);
    assert!(test_kill_process(pid).is_ok());
}

/// A reader that has stopped reading holds the writer of the output for ever, and not the end of the program.
#[test]
fn an_output_that_nobody_reads_does_not_hold_the_end() {
    let service = Service::new(&format!("reply\n  text*40 {}\n", json!("x".repeat(65_536))));
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut child = co.command(&co.workspace(), &["-p", "go"]).spawn().unwrap();
    drop(child.stdin.take());
    let unread = child.stdout.take().unwrap();
    let started = Instant::now();
    while rustix::io::ioctl_fionread(&unread).unwrap() < 65_536 {
        assert!(started.elapsed() < PATIENCE, "the pipe is filled");
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let ran = ended(&co, child);
    assert_eq!(ran.code, Some(128 + 15), "{}", ran.err);
}
