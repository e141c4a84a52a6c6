//! The first look without key and network: a folder is listed, a note is written after a yes, in a small and a large
//! window, and inside tmux where that is wanted.

use super::kit::{LARGE, USUAL, approve, each, on_terminal, say};
use super::terminal_state::{Tty, is_harmless, is_restored};
use crate::co::Co;
use crate::skip::skipped;
use crate::tui::terminal::{Launch, Terminal};

fn person() -> Co {
    Co::new().file("work/alpha.txt", "one\ntwo\n").file("work/beta.md", "# beta\n")
}

#[test]
fn the_first_look_needs_nothing() {
    each(&[USUAL, LARGE], 2, |size| {
        let co = person();
        let mut screen = on_terminal(&co, &[], *size);
        let tty = Tty::of(&screen);
        look(&mut screen, &co);
        assert!(!tty.is_cooked(), "keys come as they are pressed");
        screen.keys("<c-d>");
        assert_eq!(screen.wait_exit().code, 0);
        is_restored(&screen, &tty);
        is_harmless("the terminal", &screen.raw());
        let left = screen.screen();
        assert!(left.contains("co: session \"list the files here\" saved"), "{left}");
        assert!(left.contains("co -c"), "{left}");
        assert!(!left.contains("unsandboxed"), "the full screen is gone: {left}");
    });
}

/// The tour as a person takes it.
fn look(screen: &mut Terminal, co: &Co) {
    let first = screen.wait_for("No language model is connected");
    let header = first.lines().next().unwrap().to_owned();
    assert!(header.contains("offline") && header.contains("unsandboxed"), "{header}");
    say(screen, "list the files here");
    screen.wait_until("the folder and who answers", |screen| {
        screen.contains("alpha.txt") && screen.contains("beta.md") && screen.contains("list_dir")
    });
    screen.wait_for("? keys");
    say(screen, "write a note to note.md");
    screen.wait_for("write_file note.md");
    // Typed without looking: letters that others follow are text.
    screen.keys("yes, and");
    screen.wait_for("> yes, and");
    screen.keys("<c-u>");
    assert_eq!(co.read("note.md"), None);
    approve(screen);
    screen.wait_for("? keys");
    assert!(co.read("note.md").unwrap().contains("Written by the tour"));
}

#[test]
fn the_first_look_inside_tmux() {
    if std::env::var_os("CO_TEST_TMUX").is_none() {
        skipped("the first look inside tmux (set CO_TEST_TMUX=1)");
        return;
    }
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join("tmux"))
        .find(|path| path.is_file());
    let Some(tmux) = found else {
        skipped("the first look inside tmux (tmux is not installed)");
        return;
    };
    let co = person();
    let sockets = tempfile::tempdir().unwrap();
    let settings = sockets.path().join("tmux.conf");
    std::fs::write(&settings, "set -g status off\nset -sg escape-time 0\nset -g default-terminal screen\n")
        .unwrap();
    let settings = settings.display().to_string();
    let args =
        ["-S", &sockets.path().join("socket").display().to_string(), "-u", "-f", &settings, "new-session"];
    let program = env!("CARGO_BIN_EXE_co");
    let outer = Launch::new(tmux, co.workspace()).args(args).args([program]).envs(co.variables().to_vec());
    let mut screen = Terminal::start(&outer.env("LANG", "C.UTF-8").env("SHELL", "/bin/sh").size(80, 24));
    look(&mut screen, &co);
    screen.keys("<c-d>");
    screen.wait_for("[exited]");
    assert_eq!(screen.wait_exit().code, 0);
}
