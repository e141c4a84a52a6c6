//! The contract with the user: what runs stops on request, at once and completely; a window may change
//! its size at any time; no letter that is typed gets lost.

use std::io::Write as _;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use memchr::memmem;
use rustix::process::Signal;

use super::kit::{
    LARGE, USUAL, approve, each, focus_card, logged, on_terminal, press_until, run, say, sent_lines,
};
use super::terminal_state::{Tty, is_harmless, is_restored};
use crate::co::{Co, Service, Wire};
use crate::tui::terminal::Terminal;

/// A person sees the answer to a key within 0.1 s, and what it stopped has ended within 1 s, on a machine that does
/// nothing else. The bounds leave room for one that does; what was measured is printed.
const SEEN: Duration = Duration::from_secs(1);
const DONE: Duration = Duration::from_secs(2);

/// Work that is stopped: the model's replies, the text on the screen at that time, the word for its end, and its record
/// in the store, as a model reads it when the session goes on.
#[derive(Debug)]
struct Moment {
    name: &'static str,
    replies: &'static str,
    seen: &'static str,
    before: fn(&mut Terminal),
    end: &'static str,
    kept: &'static [&'static str],
    waiting: usize,
}

const STOPPED: &str = "· stopped";
/// An open request stays open; nothing runs, so nothing is interrupted.
const WAITS: &str = "waiting for your decision";
const HAS_KEYS: &str = "· card ─";
const NOTED: &str = "user [note from co: interrupted]";
const UNNOTED: &str = "user go\n\n[note from co: interrupted]";
const CUT: &str = "return [interrupted] interrupted; what it had already done is not undone\nup 42\n";

const MOMENTS: &[Moment] = &[
    Moment {
        name: "streaming",
        replies: "reply\n  text Counting: one two\n  gate never\n",
        seen: "Counting: one two",
        before: |_| {},
        end: STOPPED,
        kept: &["user go", "assistant Counting: one two", NOTED],
        waiting: 0,
    },
    Moment {
        name: "nothing was answered yet",
        replies: "reply\n  gate never\n",
        seen: "Esc interrupt",
        before: |_| {},
        end: STOPPED,
        kept: &[UNNOTED],
        waiting: 0,
    },
    Moment {
        name: "backing off",
        replies: "reply\n  error 429 rate_limit_error slow down | retry-after=40\n",
        seen: "retry 1 of",
        before: |_| {},
        end: STOPPED,
        kept: &[UNNOTED],
        waiting: 0,
    },
    Moment {
        name: "a command runs",
        replies: "reply\n  call shell {\"command\":\"echo up $((40+2)); exec sleep 4321\"} | id=c1\n",
        seen: "up 42",
        before: approve,
        end: STOPPED,
        kept: &["user go", "call shell ", CUT, NOTED],
        waiting: 0,
    },
    Moment {
        name: "a command that does not want to end runs",
        replies: "reply\n  call shell {\"command\":\"trap '' TERM INT HUP; (sleep 4321 & echo up $((40+2)); wait); sleep 4321\"} | id=c1\n",
        seen: "up 42",
        before: approve,
        end: STOPPED,
        kept: &["user go", "call shell ", CUT, NOTED],
        waiting: 0,
    },
    Moment {
        name: "a card is shown",
        replies: "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\"} | id=c1\n",
        seen: "Tab or Alt+A: decide",
        before: |_| {},
        end: WAITS,
        kept: &["user go", "call write_file ", "return [undecided]", "user go on"],
        waiting: 1,
    },
    Moment {
        name: "a card has the keys",
        replies: "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\"} | id=c1\n",
        seen: HAS_KEYS,
        before: |screen| {
            focus_card(screen);
        },
        end: WAITS,
        kept: &["user go", "call write_file ", "return [undecided]", "user go on"],
        waiting: 1,
    },
];

/// The program in the midst of this moment.
fn amidst(moment: &Moment, co: &Co) -> Terminal {
    let mut screen = on_terminal(co, &[], (100, 30));
    screen.wait_for("unsandboxed");
    say(&mut screen, "go");
    (moment.before)(&mut screen);
    screen.wait_for(moment.seen);
    screen
}

#[test]
fn keys_stop_what_runs() {
    let keys = ["<esc>", "<c-c>"];
    let mut cases: Vec<(&Moment, &str)> = Vec::new();
    for moment in MOMENTS {
        // On a card Esc means something else.
        let keys = keys.iter().filter(|key| moment.waiting == 0 || **key == "<c-c>");
        cases.extend(keys.map(|key| (moment, *key)));
    }
    each(&cases, 4, |(moment, key)| {
        let service = Service::new(moment.replies);
        let co = Co::new().with(&service, Wire::Anthropic);
        let mut screen = amidst(moment, &co);
        stops(&mut screen, moment.name, key, moment.end);
        is_quiet(&co, &[screen.pid()]);
        screen.keys("<c-d>");
        assert_eq!(screen.wait_exit().code, 0);
        keeps(moment, co);
    });
}

/// Presses the key: it is answered, the turn ends, the composer takes text.
#[track_caller]
fn stops(screen: &mut Terminal, name: &str, key: &str, end: &str) {
    let began = Instant::now();
    screen.keys(key);
    screen.wait_until("an answer to the key", |screen| screen.contains("stopping") || screen.contains(end));
    let seen = began.elapsed();
    screen.wait_for(end);
    screen.wait_gone("stopping");
    let done = began.elapsed();
    if screen.screen().contains(HAS_KEYS) {
        press_until(screen, "<esc>", "postponed");
    }
    screen.keys("next");
    screen.wait_for("> next");
    screen.keys("<c-u>");
    screen.wait_gone("> next");
    tell(&format!("{name}, {key}: seen after {seen:?}, done after {done:?}"));
    assert!(seen < SEEN && done < DONE, "{name}, {key}: {seen:?}, {done:?}");
}

/// Prints what was measured.
fn tell(measured: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{measured}");
}

/// The store holds what it should.
#[track_caller]
fn keeps(moment: &Moment, co: Co) {
    assert_eq!(co.waiting().len(), moment.waiting, "requests that wait");
    let next = Service::new("reply\n  text I see.\n");
    let co = co.with(&next, Wire::Anthropic);
    let ran = run(&co, &["-c", "-p", "go on"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "I see.\n"), "{ran:?}");
    let sent = sent_lines(&next, 1);
    let fits = sent.len() == moment.kept.len()
        && sent.iter().zip(moment.kept).all(|(line, kept)| line.starts_with(kept));
    assert!(fits && sent.last().is_some_and(|line| line.ends_with("go on")), "{sent:#?}");
    next.is_content();
    is_quiet(&co, &[]);
}

/// Nothing lives that was started by a program with this home, but these.
#[track_caller]
fn is_quiet(co: &Co, but: &[u32]) {
    let home = format!("HOME={}", co.home().display());
    let mut living = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process that is gone by now is not there to be read, and a corpse has no environment.
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
        let ours = environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes());
        if ours && !but.contains(&pid) {
            living.push(std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default());
        }
    }
    assert_eq!(living, Vec::<String>::new(), "still alive");
}

#[test]
fn keys_stop_a_connection_that_nobody_answers() {
    each(&["<esc>", "<c-c>"], 2, |key| {
        let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", deaf.local_addr().unwrap());
        let co = Co::new().env("CO_PROVIDER", "anthropic").env("CO_BASE_URL", url).env("CO_MODEL", "m");
        let mut screen = on_terminal(&co, &[], USUAL);
        screen.wait_for("unsandboxed");
        say(&mut screen, "go");
        let (_connection, _) = deaf.accept().unwrap();
        stops(&mut screen, "connecting", key, STOPPED);
        screen.keys("<c-d>");
        assert_eq!(screen.wait_exit().code, 0);
    });
}

#[test]
fn a_key_stops_what_was_sent_just_before_it() {
    each(&["<esc>", "<c-c>"], 2, |key| {
        let service = Service::new("reply\n  text Some\n  gate never\n");
        let co = Co::new().with(&service, Wire::Chat);
        let mut screen = on_terminal(&co, &[], USUAL);
        screen.wait_for("unsandboxed");
        screen.keys(&format!("go<ret>{key}"));
        screen.wait_for(STOPPED);
    });
}

#[test]
fn signals_end_it_wherever_it_is() {
    let cases: Vec<(&Moment, Signal)> = MOMENTS
        .iter()
        .flat_map(|moment| [Signal::TERM, Signal::HUP].map(|signal| (moment, signal)))
        .collect();
    each(&cases, 4, |(moment, signal)| {
        let service = Service::new(moment.replies);
        let co = Co::new().with(&service, Wire::Anthropic);
        let screen = amidst(moment, &co);
        let tty = Tty::of(&screen);
        let began = Instant::now();
        screen.signal(*signal);
        let exit = screen.exit_within(DONE);
        tell(&format!("{}, {signal:?}: ended after {:?}", moment.name, began.elapsed()));
        assert!(exit.is_some_and(|exit| !exit.by_signal), "{exit:?}\n{}", screen.screen());
        screen.wait_exit();
        is_restored(&screen, &tty);
        is_harmless("the terminal", &screen.raw());
        let left = screen.screen();
        assert!(left.contains("co: session \"go\" saved"), "{left}");
        is_quiet(&co, &[]);
        keeps(moment, co);
    });
}

/// Words that all differ, and can be counted.
fn numbered(from: usize, to: usize) -> String {
    (from..to).map(|number| format!("w{number:03} ")).collect()
}

#[test]
fn a_window_may_change_its_size_in_midstream() {
    let script = format!(
        "reply\n  text \"{}\"\n  gate narrow\n  text \"{}\"\n  gate wide\n  text \"{}\"\n  gate done\n  text The end.\n",
        numbered(0, 100),
        numbered(100, 200),
        numbered(200, 300)
    );
    let service = Service::new(&script);
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    say(&mut screen, "go");
    for (gate, last, size) in [("narrow", "w099", (40, 12)), ("wide", "w199", LARGE), ("done", "w299", USUAL)]
    {
        logged(&service, &format!("gate {gate}"));
        screen.wait_for(last);
        is_drawn_right(&screen);
        let since = screen.raw().len();
        screen.resize(size.0, size.1);
        is_drawn_anew(&screen, since);
        assert!(screen.screen().contains(last), "{}", screen.screen());
        is_drawn_right(&screen);
        service.server.gate().release(gate);
    }
    screen.wait_for("The end.");
    screen.wait_for("? keys");
    screen.resize(LARGE.0, LARGE.1);
    screen.wait_for("w000");
    is_drawn_right(&screen);
    let old = words(&screen.screen());
    assert_eq!(old.join(" "), format!("{}The end.", numbered(0, 300)));
    let new = on_terminal(&co, &["-c"], LARGE);
    let fresh =
        new.wait_until("the whole reply", |screen| screen.contains("w000") && screen.contains("The end."));
    let rows = |screen: &str| -> Vec<String> {
        let column = |row: &str| row.split('│').next().unwrap_or_default().trim_end().to_owned();
        screen.lines().map(column).filter(|row| row.contains(" w")).collect()
    };
    assert_eq!(rows(&screen.screen()), rows(&fresh));
}

/// The words of the reply, in the order of the screen.
fn words(screen: &str) -> Vec<String> {
    let numbers = |word: &&str| word.strip_prefix('w').is_some_and(|rest| rest.parse::<u32>().is_ok());
    let said = screen.split_whitespace().filter(|word| numbers(word) || ["The", "end."].contains(word));
    said.map(str::to_owned).collect()
}

/// The screen is what it would be if it were drawn anew, which a program does that was stopped and continued.
#[track_caller]
fn is_drawn_right(screen: &Terminal) {
    // Rows that move by themselves are left out.
    let moves = |row: &&str| row.contains(['◐', '◓', '◑', '◒']);
    let still =
        |screen: &str| screen.lines().filter(|row| !moves(row)).map(str::to_owned).collect::<Vec<_>>();
    screen.wait_raw("a whole frame", |raw| raw.ends_with(FRAME_END));
    let before = still(&screen.screen());
    let since = screen.raw().len();
    screen.signal(Signal::CONT);
    is_drawn_anew(screen, since);
    assert_eq!(still(&screen.screen()), before);
}

const FRAME_END: &[u8] = b"\x1b[?2026l";

/// Waits until the whole screen was drawn anew after so many bytes.
#[track_caller]
fn is_drawn_anew(screen: &Terminal, since: usize) {
    let clears = |raw: &[u8]| memmem::find(raw, b"\x1b[2J").is_some();
    screen.wait_raw("the screen to be drawn anew", |raw| clears(&raw[since..]) && raw.ends_with(FRAME_END));
}

#[test]
fn no_letter_is_lost_while_a_reply_streams() {
    let service = Service::new("reply\n  text*3000 \"word \"\n  gate last\nreply\n  text I have read it.\n");
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    say(&mut screen, "go");
    screen.wait_for("word word");
    let typed = letters(400);
    for letter in typed.chars() {
        screen.keys(&letter.to_string());
    }
    let last = typed.split(' ').next_back().unwrap();
    screen.wait_for(last);
    service.server.gate().release("last");
    logged(&service, "sent 1");
    screen.keys("<ret>");
    screen.wait_for("I have read it.");
    assert!(
        sent_lines(&service, 2).last().unwrap().ends_with(&typed),
        "{:?}",
        sent_lines(&service, 2).last()
    );
}

/// Letters in words, all of which a card knows as keys too.
fn letters(count: usize) -> String {
    "yes no all edit later view? ".chars().cycle().take(count).chain(" end".chars()).collect()
}

#[test]
fn a_card_that_appears_takes_no_letter() {
    let script = "reply\n  gate card\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\"} | id=c1\n";
    let service = Service::new(script);
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut screen = on_terminal(&co, &[], (100, 30));
    screen.wait_for("unsandboxed");
    say(&mut screen, "go");
    logged(&service, "gate card");
    let typed = letters(60);
    for (at, letter) in typed.chars().enumerate() {
        if at == 20 {
            service.server.gate().release("card");
        }
        if at == 40 {
            screen.wait_for("a.txt (new file)");
        }
        screen.keys(&letter.to_string());
    }
    let shown = screen.wait_for(&format!("> {typed}"));
    assert!(shown.contains("a.txt (new file)"), "{shown}");
    assert_eq!((co.read("a.txt"), co.waiting().len()), (None, 1));
}
