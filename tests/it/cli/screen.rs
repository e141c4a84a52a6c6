//! The real binary in a real terminal: it draws, answers, and leaves the terminal as it found it.
//!
//! The output of the terminal is read by an emulator; each wait is for words on its screen.

use std::io::{Read as _, Write as _};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::co::{Co, Service, Wire};

/// Nothing on a screen takes this long.
const DEADLINE: Duration = Duration::from_secs(30);

const ROWS: u16 = 24;
const COLUMNS: u16 = 80;

/// A terminal with a program in it.
pub struct Terminal {
    screen: vt100::Parser,
    bytes: Receiver<Vec<u8>>,
    keys: Box<dyn std::io::Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    pub fn start(co: &Co, args: &[&str]) -> Self {
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_co"));
        command.args(args);
        command.env_clear();
        for (name, value) in co.variables() {
            command.env(name, value);
        }
        command.env("TERM", "xterm-256color");
        command.cwd(co.workspace());
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut output = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let (send, bytes) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut piece) {
                if send.send(piece[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = vt100::Parser::new(ROWS.try_into().unwrap(), COLUMNS.try_into().unwrap(), 0);
        Self { screen, bytes, keys, child, _master: pair.master }
    }

    pub fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Reads until the screen shows these words.
    #[track_caller]
    pub fn shows(&mut self, words: &str) {
        while !self.text().contains(words) {
            match self.bytes.recv_timeout(DEADLINE) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(_) => panic!("{words:?} never came; the screen:\n{}", self.text()),
            }
        }
    }

    /// Waits until nothing came for longer than the guard time of a question.
    pub fn rests(&mut self) {
        while let Ok(bytes) = self.bytes.recv_timeout(Duration::from_millis(600)) {
            self.screen.process(&bytes);
        }
    }

    pub fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for the end; the exit code, and the screen that is left.
    pub fn ended(mut self) -> (u32, String) {
        while let Ok(bytes) = self.bytes.recv_timeout(DEADLINE) {
            self.screen.process(&bytes);
        }
        assert!(!self.screen.screen().alternate_screen(), "the terminal is back on its normal screen");
        assert!(!self.screen.screen().hide_cursor(), "the cursor is back");
        (self.child.wait().unwrap().exit_code(), self.text())
    }
}

#[test]
fn a_conversation_with_an_approval() {
    let script = "reply\n  text I write it.\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"} | id=w1\nreply\n  text It is **written**.";
    for wire in [Wire::Anthropic, Wire::Chat] {
        let service = Service::new(script);
        let co = Co::new().with(&service, wire);
        let mut terminal = Terminal::start(&co, &[]);
        terminal.shows("new session");
        terminal.keys("write a.txt\r");
        terminal.shows("a.txt (new file)");
        assert_eq!(co.read("a.txt"), None);
        // Decided in another process; the screen goes on by itself.
        let id = co.waiting().remove(0);
        assert_eq!(co.run(&["approvals", "yes", &id]).code, Some(0));
        terminal.shows("It is written.");
        assert_eq!(co.read("a.txt").as_deref(), Some("one\n"));
        terminal.keys("\u{4}");
        let (code, left) = terminal.ended();
        assert_eq!(code, 0);
        assert!(left.contains("It is written."), "{left}");
        assert!(left.contains("co: session \"write a.txt\" saved"), "{left}");
        service.is_content();
    }
}

#[test]
fn offline_it_opens_without_anything_and_a_bad_store_is_told_after_it() {
    let co = Co::new();
    let mut terminal = Terminal::start(&co, &["chat", "--theme", "dark"]);
    terminal.shows("offline");
    terminal.keys("/help\r");
    terminal.shows("/rename");
    terminal.keys("exit\r");
    let (code, _) = terminal.ended();
    assert_eq!(code, 0);

    let co = Co::new().file(".local/share/co/co.db", "no database".repeat(500));
    let (code, left) = Terminal::start(&co, &[]).ended();
    assert_eq!(code, 1);
    assert!(left.contains("is not a co database"), "{left}");
}

#[test]
fn it_opens_with_a_first_prompt() {
    for args in [&["what is this?"][..], &["--", "!what", "is this?"], &["-c", "/what is this?"]] {
        let service = Service::new("reply\n  text One.\nreply\n  text It is a test.");
        let co = Co::new().with(&service, Wire::Chat);
        // Something to go on with.
        assert_eq!(co.run(&["-p", "hi"]).code, Some(0));
        let mut terminal = Terminal::start(&co, args);
        terminal.shows("It is a test.");
        assert!(service.asked(2).contains("what is this?"), "whatever it begins with, it is a prompt");
        terminal.keys("\u{4}");
        assert_eq!(terminal.ended().0, 0);
        service.is_content();
    }
}
