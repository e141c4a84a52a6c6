//! The real binary at the edges of a terminal: the person's own editor, the background, title, calls, mouse, sizes,
//! large pastes.

use std::path::Path;

use memchr::memmem;

use crate::co::{Co, Service, Wire};
use crate::end_to_end::kit::{each, logged, on_terminal, press_until, say, sent_lines};
use crate::end_to_end::terminal_state::{Tty, count, is_harmless, is_restored};
use crate::tui::terminal::Terminal;

const USUAL: (u16, u16) = (80, 24);
const QUESTION: &str = "\x1b]11;?\x1b\\";
/// The colour of the prompt sign on a light background.
const LIGHT: &str = "38;5;25";

fn has(raw: &[u8], mark: &str) -> bool {
    memmem::find(raw, mark.as_bytes()).is_some()
}

/// The program, ready, whose editor is this shell script.
fn with_editor(co: Co, script: &str) -> (Co, Terminal) {
    let co = co.file("ed.sh", script);
    let words = format!("sh '{}' --wait", co.home().join("ed.sh").display());
    let co = co.env("EDITOR", words);
    let screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    (co, screen)
}

#[test]
fn a_text_goes_to_the_editor_and_back() {
    let script = "stat -c %a \"$2\" > ~/mode; stty -a > ~/tty; cp \"$2\" ~/before; echo \"$1 $2\" > ~/words\n\
                  printf 'written outside\\n' > \"$2\"\n";
    let (co, mut screen) = with_editor(Co::new(), script);
    screen.keys("draft é");
    screen.wait_for("draft é");
    let tty = Tty::of(&screen);
    screen.keys("<c-g>");
    screen.wait_for("> written outside");
    let note = |name: &str| std::fs::read_to_string(co.home().join(name)).unwrap();
    assert_eq!((note("mode").trim(), note("before").as_str()), ("600", "draft é\n"));
    assert!(note("tty").contains(" icanon") && note("tty").contains(" echo "), "{}", note("tty"));
    let words = note("words");
    let file = words.trim().strip_prefix("--wait ").unwrap();
    assert!(file.ends_with(".md") && !Path::new(file).exists(), "{words}");
    screen.keys("!");
    screen.wait_for("> written outside!");
    assert_eq!(count(&screen.raw(), "\x1b[?1002h"), 2, "the mouse is ours again");
    screen.keys("<c-u><c-d>");
    assert_eq!(screen.wait_exit().code, 0);
    is_restored(&screen, &tty);
    is_harmless("the terminal", &screen.raw());
}

#[test]
fn what_goes_wrong_in_the_editor_is_said_and_loses_nothing() {
    let cases = [
        ("exit 3", "the editor exited with 3"),
        ("exit 127", "could not be started"),
        ("kill -9 $$", "the editor was killed"),
        ("rm \"$2\"", "left no file"),
        ("printf '\\377\\376' > \"$2\"", "not UTF-8"),
        ("true", "nothing was changed"),
    ];
    each(&cases, 3, |(script, said)| {
        let (_co, mut screen) = with_editor(Co::new(), script);
        screen.keys("keep me<c-x><c-e>");
        screen.wait_for(said);
        screen.wait_for("> keep me");
        screen.keys("!");
        screen.wait_for("> keep me!");
    });
    // No editor is named, and none is installed there.
    let co = Co::new().env("PATH", "/nowhere");
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    screen.keys("keep me<c-g>");
    screen.wait_for("set $VISUAL or $EDITOR");
    screen.wait_for("> keep me");
}

#[test]
fn the_turn_goes_on_while_the_editor_has_the_terminal() {
    let service = Service::new("reply\n  text One.\n  gate away\n  text \" Two.\"\n");
    let co = Co::new().with(&service, Wire::Anthropic);
    let (_co, mut screen) = with_editor(
        co,
        "trap 'echo INT HEARD' INT; echo EDITOR UP; until read l; do :; done; echo \"$l\" > \"$2\"\n",
    );
    say(&mut screen, "go");
    logged(&service, "gate away");
    screen.wait_for("One.");
    screen.keys("<c-g>");
    screen.wait_for("EDITOR UP");
    screen.keys("<c-c>");
    screen.wait_for("INT HEARD");
    service.server.gate().release("away");
    logged(&service, "sent 1");
    assert!(!screen.screen().contains("Two."), "the terminal is the editor's:\n{}", screen.screen());
    screen.keys("typed there<ret>");
    screen.wait_for("> typed there");
    screen.wait_for("One. Two.");
    screen.wait_for("? keys");
}

#[test]
fn a_program_told_to_end_takes_its_editor_with_it() {
    let (_co, mut screen) =
        with_editor(Co::new(), "trap 'echo TERM HEARD; exit' TERM; echo EDITOR UP; while :; do read l; done");
    screen.keys("abc<c-g>");
    screen.wait_for("EDITOR UP");
    screen.signal(rustix::process::Signal::TERM);
    screen.wait_for("TERM HEARD");
    screen.wait_exit();
}

#[test]
fn the_background_decides_the_colours_whenever_it_is_told() {
    // The bytes of the terminal, in pieces, and the resulting text of the composer.
    let cases: [(&[&str], &str); 5] = [
        (&["\x1b]11;rgb:ffff/ffff/ffff\x1b\\"], ">"),
        (&["ab", "\x1b]11;rgb:ffff/ffff/ffff\x07", "cd"], "> abcd"),
        (&["ab\x1b]11;rgb:f/f/f\x1b\\cd"], "> abcd"),
        (&["ab", "\x1b]11;rgb:ffff", "/ffff/ffff\x1b\\", "cd"], "> abcd"),
        (&["ab", "\x1b", "]11;rgb:ffff/ffff/ffff\x1b", "\\cd"], "> abcd"),
    ];
    each(&cases, 3, |(pieces, composer)| {
        let co = Co::new();
        let mut screen = on_terminal(&co, &[], USUAL);
        screen.wait_raw("the question", |raw| has(raw, QUESTION));
        screen.wait_for("unsandboxed");
        assert!(!has(&screen.raw(), LIGHT), "dark until it is told");
        for piece in *pieces {
            screen.send(piece.as_bytes());
        }
        screen.wait_raw("the light colours", |raw| has(raw, LIGHT));
        screen.wait_until(composer, |shown| shown.lines().any(|line| line.trim() == *composer));
        screen.keys("<c-u><c-d>");
        assert_eq!(screen.wait_exit().code, 0);
    });
}

#[test]
fn nothing_is_asked_where_it_would_change_nothing() {
    for (name, value) in [("CO_THEME", "dark"), ("NO_COLOR", "1"), ("TERM", "linux")] {
        let co = Co::new().env(name, value);
        let mut screen = on_terminal(&co, &[], USUAL);
        screen.wait_for("unsandboxed");
        screen.keys("<a-]>11x");
        screen.wait_for("> 11x");
        assert!(!has(&screen.raw(), "\x1b]11"), "{name}={value}");
    }
}

#[test]
fn the_window_says_what_waits_and_calls_only_those_who_look_away() {
    let script = "reply\n  call shell {\"command\": \"true\"}\nreply\n  text Done.\n";
    for away in [true, false] {
        let service = Service::new(script);
        let co = Co::new().with(&service, Wire::Anthropic).env("TERM_PROGRAM", "iTerm.app");
        let mut screen = on_terminal(&co, &[], USUAL);
        screen.wait_for("unsandboxed");
        assert!(has(&screen.raw(), "\x1b]2;co\x07"));
        screen.keys("go<ret>");
        screen.send(if away { b"\x1b[O" } else { b"\x1b[I" });
        screen.wait_raw("the title", |raw| has(raw, "\x1b]2;co ◇1\x07"));
        screen.wait_for("Tab or Alt+A: decide");
        let called = "\x1b]9;co needs you: a request is waiting";
        assert_eq!(count(&screen.raw(), called), usize::from(away), "{away}");
    }
}

#[test]
fn a_mouse_that_is_the_terminals_is_not_asked_for() {
    let co = Co::new().env("CO_MOUSE", "false");
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    say(&mut screen, "/help");
    screen.wait_for("Everything else is a prompt.");
    // One arrow is a key, several at once are the wheel: it goes through no history.
    screen.send(b"\x1b[A\x1b[A\x1b[A");
    screen.keys("x");
    screen.wait_until("only x", |shown| shown.lines().any(|line| line == " > x"));
    screen.keys("<backspace><up>");
    screen.wait_for("> /help");
    assert!(!has(&screen.raw(), "\x1b[?1002h"));
    screen.keys("<a-m>");
    screen.wait_raw("the mouse asked for", |raw| has(raw, "\x1b[?1002h\x1b[?1006h"));
    let tty = Tty::of(&screen);
    screen.keys("<c-u><c-d>");
    assert_eq!(screen.wait_exit().code, 0);
    is_restored(&screen, &tty);
}

#[test]
fn mouse_reports_type_nothing() {
    let co = Co::new();
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    for report in ["<64;10;10M", "<65;10;10M", "<0;200;5M", "<32;11;5M", "<0;11;5m", "<2;1;1M", "<35;9;9M"] {
        screen.send(format!("\x1b[{report}").as_bytes());
    }
    screen.keys("abc");
    screen.wait_until("only abc", |shown| shown.lines().any(|line| line == " > abc"));
}

#[test]
fn a_window_of_any_size_and_back() {
    let co = Co::new();
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    screen.keys("abc");
    // A key that comes with a change of size can be lost in the terminal library.
    screen.wait_for("> abc");
    for size in [(1, 1), (0, 0), (0, 24), (80, 0), (2, 200), (300, 2)] {
        screen.resize(size.0, size.1);
    }
    screen.resize(100, 30);
    screen.wait_until("the whole screen", |shown| shown.contains("> abc") && shown.lines().count() == 30);
    press_until(&mut screen, "d", "> abcd");
}

#[test]
fn ten_megabytes_of_anything_are_pasted_and_sent() {
    let service = Service::new("reply\n  text I have read it.\n");
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    let line = "all\0kinds\u{7}of\u{1b}[31mbytes\u{1b}]0;x\u{9b}\r\n";
    let mut text = line.repeat(10_000_000 / line.len()).into_bytes();
    text.extend_from_slice(b"\xff\xfe end");
    screen.send(b"\x1b[200~");
    screen.send(&text);
    screen.send(b"\x1b[201~ok");
    screen.wait_for("ok");
    screen.keys("<ret>");
    screen.wait_for("I have read it.");
    let sent = &sent_lines(&service, 1)[0];
    assert!(sent.len() > 9_000_000 && sent.ends_with("\u{fffd}\u{fffd} endok"), "{}", sent.len());
    is_harmless("the terminal", &screen.raw());
}

#[test]
fn signs_can_be_ascii_and_still() {
    let service = Service::new("reply\n  text Hello.\n  gate still\n");
    let co = Co::new().with(&service, Wire::Anthropic).env("CO_ASCII", "1").env("CO_REDUCED_MOTION", "1");
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    say(&mut screen, "go");
    logged(&service, "gate still");
    let shown = screen.wait_for("Hello.");
    assert!(shown.is_ascii(), "{shown}");
}

#[test]
fn the_kitty_protocols_keys_come_right() {
    let co = Co::new();
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    screen.keys("a");
    for chord in ["\x1b[13;2u", "\x1b[13;3u"] {
        screen.send(chord.as_bytes());
        screen.keys("b");
    }
    screen.wait_until("three lines", |shown| {
        shown.lines().filter(|line| line.trim_end() == "   b").count() == 2
    });
    // Esc as the protocol sends it; the release of a key, which was not requested.
    screen.send(b"\x1b[27u\x1b[97;1:3u");
    screen.keys("c");
    screen.wait_for("   bc");
}
