//! The state in which a program leaves a terminal, and the bytes that may reach one.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use memchr::memmem;
use rustix::fs::{Mode, OFlags};
use rustix::termios::{LocalModes, tcgetattr};

use crate::tui::terminal::Terminal;

/// The terminal of a running program, to be looked at from outside.
pub struct Tty(PathBuf);

impl Tty {
    pub fn of(terminal: &Terminal) -> Self {
        Self(std::fs::read_link(format!("/proc/{}/fd/0", terminal.pid())).unwrap())
    }

    /// Whether lines are edited and echoed by the terminal, as a shell expects it.
    pub fn is_cooked(&self) -> bool {
        // Without making it the terminal of this process.
        let fd: OwnedFd = rustix::fs::open(&self.0, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let wanted = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcgetattr(&fd).unwrap().local_modes.contains(wanted)
    }
}

/// The normal screen, with a cursor, and every mode off that was asked for.
#[track_caller]
pub fn is_restored(terminal: &Terminal, tty: &Tty) {
    // A program that was stopped may be so before its last words are read.
    terminal.wait_raw("the alternate screen to be left", |raw| {
        count(raw, "\x1b[?1049h") == count(raw, "\x1b[?1049l")
            && count(raw, "\x1b[22;2t") == count(raw, "\x1b[23;2t")
    });
    terminal.look(|screen| {
        assert!(!screen.alternate_screen(), "the alternate screen was left");
        assert!(!screen.hide_cursor(), "the cursor is shown");
        assert!(!screen.bracketed_paste(), "pastes are not marked any more");
    });
    assert!(tty.is_cooked(), "lines are edited by the terminal");
    let raw = terminal.raw();
    for (on, off) in [
        ("\x1b[>1u", "\x1b[<1u"),
        ("\x1b[?1004h", "\x1b[?1004l"),
        ("\x1b[?1002h", "\x1b[?1002l"),
        ("\x1b[?1006h", "\x1b[?1006l"),
        ("\x1b[?2026h", "\x1b[?2026l"),
        ("\x1b[22;2t", "\x1b[23;2t"),
    ] {
        assert_eq!(count(&raw, on), count(&raw, off), "as many {on:?} as {off:?}");
    }
}

pub fn count(raw: &[u8], mark: &str) -> usize {
    memmem::find_iter(raw, mark).count()
}

/// Fails on every byte sequence that the program has no business to send: anything but the few sequences that draw a
/// screen, and characters that hide or reorder text.
#[track_caller]
pub fn is_harmless(what: &str, bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{what}: no UTF-8: {error}"));
    assert_eq!(harm(text), None, "{what}");
}

/// The first forbidden sequence in it, with the bytes around it.
fn harm(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (_, after) = rest.split_at(c.len_utf8());
        let next = match c {
            '\u{1b}' => after_sequence(after),
            '\n' | '\r' | '\t' => Some(after),
            c => (!acts_or_hides(c)).then_some(after),
        };
        match next {
            Some(next) => rest = next,
            None => return Some(rest.chars().take(24).collect()),
        }
    }
    None
}

/// The rest of an allowed sequence, whose escape character is gone already.
fn after_sequence(text: &str) -> Option<&str> {
    // The question for the background, and the window's title: never what others wrote.
    if let Some(rest) = text.strip_prefix("]11;?\u{1b}\\") {
        return Some(rest);
    }
    if let Some(rest) = text.strip_prefix("]2;co") {
        let (title, rest) = rest.split_once('\u{7}')?;
        return title.chars().all(|c| c == ' ' || c == '◇' || c.is_ascii_digit()).then_some(rest);
    }
    // Where words lead: an address that can end nothing, and the end of it.
    if let Some(rest) = text.strip_prefix("]8;") {
        let (link, rest) = rest.split_once("\u{1b}\\")?;
        let (id, address) = link.split_once(';')?;
        let ours = id.strip_prefix("id=co").is_some_and(|number| number.parse::<u32>().is_ok());
        let leads = ["https://", "http://", "mailto:"].iter().any(|scheme| address.starts_with(scheme));
        let fits = (ours && leads) || link == ";";
        return (fits && address.chars().all(|c| c.is_ascii_graphic())).then_some(rest);
    }
    // Text that the user copied.
    if let Some(rest) = text.strip_prefix("]52;c;") {
        let (copied, rest) = rest.split_once('\u{7}')?;
        return copied.chars().all(|c| c.is_ascii_alphanumeric() || "+/=".contains(c)).then_some(rest);
    }
    let text = text.strip_prefix('[')?;
    let end = text.find(|c: char| ('@'..='~').contains(&c))?;
    let (params, rest) = text.split_at(end);
    let (last, rest) = rest.split_at(1);
    let numbers = params.chars().all(|c| c.is_ascii_digit() || c == ';' || c == ':');
    let known = match last {
        // Colours and weights; the cursor's place; clearing.
        "m" | "H" | "J" | "K" => numbers,
        // Modes: cursor shown, alternate screen, synchronized updates, marked pastes, focus reports, the mouse.
        "h" | "l" => ["?25", "?1049", "?2026", "?2004", "?1004", "?1002", "?1006"].contains(&params),
        // Rows that only move.
        "r" | "S" | "T" => numbers,
        // The title of before, put aside and brought back.
        "t" => ["22;2", "23;2"].contains(&params),
        // Unambiguous keys.
        "u" => [">1", "<1"].contains(&params),
        _ => false,
    };
    known.then_some(rest)
}

fn acts_or_hides(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{34f}' | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[test]
fn harm_is_noticed() {
    for harmless in ["", "a\r\n", "\x1b[38;5;12mé\x1b[0m\x1b[2J", "\x1b[?2026h\x1b[3;4Hx\x1b[?2026l"] {
        assert_eq!(harm(harmless), None);
    }
    for harmful in [
        "\x1b]0;t\x07",
        "\x1bPq\x1b\\",
        "\x1b[?1000h",
        "\x1bc",
        "\u{9b}31m",
        "\u{202e}b",
        "\u{200b}",
        "\x07",
        "\x1b[6n",
        "\x1b[",
    ] {
        assert_eq!(harm(&format!("a{harmful}")).as_deref(), Some(harmful));
    }
}
