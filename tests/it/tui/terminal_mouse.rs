//! The real binary and a mouse: the wheel scrolls, a drag marks and copies, and a mouse that is given back does nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;

use crate::co::{Co, Service, Wire};
use crate::end_to_end::kit::{on_terminal, say};
use crate::end_to_end::terminal_state::{Tty, is_harmless, is_restored};
use crate::tui::terminal::Terminal;

const USUAL: (u16, u16) = (80, 24);

fn has(raw: &[u8], mark: &str) -> bool {
    memmem::find(raw, mark.as_bytes()).is_some()
}

/// The program after an answer of 60 lines, the last of which is on the screen.
fn answered(co: Co) -> (Co, Service, Terminal) {
    let lines: String = (1..=60).map(|line| format!("- line {line} of it\\n")).collect();
    let service = Service::new(&format!("reply\n  text \"{lines}\"\n"));
    let co = co.with(&service, Wire::Anthropic);
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    say(&mut screen, "count");
    screen.wait_for("line 60 of it");
    screen.wait_for("? keys");
    (co, service, screen)
}

/// The row, from 1, that shows this text, and the column, from 1, at which it begins.
fn place_of(screen: &Terminal, text: &str) -> (usize, usize) {
    let shown = screen.screen();
    let found = shown.lines().enumerate().find_map(|(row, line)| {
        let (before, _) = line.split_once(text)?;
        Some((row + 1, before.chars().count() + 1))
    });
    found.unwrap_or_else(|| panic!("no {text:?} in\n{shown}"))
}

fn drag(screen: &mut Terminal, row: usize, from: usize, to: usize) {
    for (button, column, end) in [(0, from, 'M'), (32, to, 'M'), (0, to, 'm')] {
        screen.send(format!("\x1b[<{button};{column};{row}{end}").as_bytes());
    }
}

#[test]
fn the_wheel_scrolls_up_and_down() {
    let (_co, _service, mut screen) = answered(Co::new());
    assert!(!screen.screen().contains("line 30 of it"), "{}", screen.screen());
    for _ in 0..10 {
        screen.send(b"\x1b[<64;10;10M");
    }
    screen.wait_for("line 30 of it");
    screen.wait_for("Ctrl+End");
    for _ in 0..20 {
        screen.send(b"\x1b[<65;10;10M");
    }
    screen.wait_for("line 60 of it");
    screen.wait_gone("Ctrl+End");
}

#[test]
fn a_drag_marks_and_copies() {
    let (_co, _service, mut screen) = answered(Co::new());
    let tty = Tty::of(&screen);
    let (row, column) = place_of(&screen, "line 58 of it");
    drag(&mut screen, row, column, column + "line 58".len() - 1);
    let sequence = format!("\x1b]52;c;{}\x07", STANDARD.encode("line 58"));
    screen.wait_raw("the copy", |raw| has(raw, &sequence));
    let shown = screen.wait_for("sent to the terminal's clipboard (7 B)");
    assert_eq!(shown.matches("clipboard").count(), 1, "it is said once:\n{shown}");
    let marked = screen.look(|shown| {
        let cell = |column: usize| shown.cell(place(row), place(column)).is_some_and(vt100::Cell::inverse);
        (cell(column), cell(column + 6), cell(column + 7))
    });
    assert_eq!(marked, (true, true, false));
    screen.keys("x");
    screen.wait_for("> x");
    screen.keys("<backspace><c-d>");
    assert_eq!(screen.wait_exit().code, 0);
    is_restored(&screen, &tty);
    is_harmless("the terminal", &screen.raw());
}

/// A place of the emulated screen, which counts from 0.
fn place(at: usize) -> u16 {
    u16::try_from(at - 1).unwrap()
}

#[test]
fn a_mouse_that_was_given_back_sends_nothing() {
    for (co, gives_back) in [(Co::new(), true), (Co::new().env("CO_MOUSE", "false"), false)] {
        let (_co, _service, mut screen) = answered(co);
        if gives_back {
            screen.keys("<a-m>");
            screen.wait_raw("the mouse given back", |raw| has(raw, "\x1b[?1006l\x1b[?1002l"));
        } else {
            assert!(!has(&screen.raw(), "\x1b[?1002h"));
        }
        let (row, column) = place_of(&screen, "line 58 of it");
        // A terminal would not report it; one that does all the same moves nothing.
        drag(&mut screen, row, column, column + 6);
        screen.keys("x");
        screen.wait_for("> x");
        assert!(!has(&screen.raw(), "\x1b]52"), "nothing is copied");
        let marked =
            screen.look(|shown| shown.cell(place(row), place(column)).is_some_and(vt100::Cell::inverse));
        assert!(!marked);
    }
}
