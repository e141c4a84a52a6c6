//! Nothing that a model, a tool, a file name or a server says reaches the terminal as a control sequence: it is shown
//! as marks, on the screen and in what is printed.

use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use super::kit::{each, logged, on_terminal, press_until, replies, run, say, serve};
use super::terminal_state::{Tty, is_harmless, is_restored};
use crate::co::{Co, Service, Wire};

/// Sets the title and the clipboard, clears the screen, asks the terminal, reorders and hides.
const EVIL: &str = "\u{1b}]0;title\u{7}\u{1b}]52;c;aGk=\u{7}\u{1b}[2J\u{1b}Pq\u{1b}\\\u{9b}31m\u{202e}back\u{202c}\u{200b}\u{feff}\u{8}\u{34f}\u{180b}\u{180f}\u{2066}\u{2028}\u{90}q\u{9c}\u{7f}\u{e0041}";

/// The texts of it that are seen, at the least.
const SEEN: [&str; 4] = ["␛]0;title␇", "␛[2J", "<U+009B>31m", "<U+202E>back"];

/// A word that marks where it came from, the harm, and a word behind it.
fn evil(word: &str) -> String {
    format!("{word}{EVIL}{word}")
}

pub fn script() -> String {
    let file = format!("evil{EVIL}.txt");
    format!(
        "reply\n  thinking {thinking}\n  text {text}\n  call read_file {read}\n  call list_dir {{}}\n  \
         call search_text {search}\n  call shell {shell}\n  call write_file {write}\n  call {nosuch} {{}}\n\
         reply\n  text {done}\n\
         reply\n  error 400 {code} {message}\n",
        thinking = json!(evil("thinking")),
        text = json!(format!(
            "**{}** `{}` [{}](http://{})",
            evil("text"),
            evil("code"),
            evil("link"),
            evil("url")
        )),
        read = json!({ "path": file }),
        search = json!({ "pattern": evil("pattern") }),
        shell = json!({ "command": format!("echo {}", evil("command")) }),
        write = json!({ "path": file.replace("evil", "new"), "content": evil("content") }),
        nosuch = "no_such_tool",
        done =
            json!(format!("```\n{}\n```\n| a | b |\n|---|---|\n| {} | x |\n", evil("block"), evil("cell"))),
        code = "bad",
        message = evil("refused").replace('\n', " "),
    )
}

pub fn person() -> Co {
    let co = Co::new();
    let name = format!("evil{EVIL}.txt");
    std::fs::write(co.workspace().join(&name), evil("inside")).unwrap();
    let torn = std::ffi::OsStr::from_bytes(b"torn\xff\x1b]0;x\x07");
    std::fs::write(co.workspace().join(torn), "x").unwrap();
    co
}

#[test]
fn nothing_harmful_reaches_the_screen() {
    each(&[Wire::Anthropic, Wire::Chat], 2, |wire| {
        let service = Service::new(&script());
        let co = person().with(&service, *wire).env("CO_HTTP_RETRIES", "0");
        let mut screen = on_terminal(&co, &["--verbose"], (100, 60));
        screen.wait_for("unsandboxed");
        let tty = Tty::of(&screen);
        say(&mut screen, "go");
        let shown = screen.wait_until("both requests", |screen| screen.contains("2 actions"));
        for seen in SEEN {
            assert!(shown.contains(seen), "{seen}\n{shown}");
        }
        screen.keys("<a-a>");
        screen.wait_for("· list ─");
        // Everything that the list can show.
        for key in ["<down>", "v", "v", "w", "<up>", "v", "v", "w"] {
            screen.keys(key);
        }
        press_until(&mut screen, "<ret>", "· card ─");
        for _ in 0..2 {
            // Everything that the card can show.
            press_until(&mut screen, "v", "arguments");
            press_until(&mut screen, "q", "· card ─");
            press_until(&mut screen, "w", "undo");
            press_until(&mut screen, "n", "reason for the model");
            let before = screen.screen();
            screen.keys("no<ret>");
            screen.wait_until("the next", |screen| {
                screen != before && !screen.contains("reason for the model")
            });
        }
        screen.wait_for("block");
        screen.keys("<c-o>");
        screen.wait_for("torn");
        say(&mut screen, "!printf 'out\\033]0;t\\007\\033[2J\\302\\233\\342\\200\\256x\\377end\\n'");
        screen.wait_for("out<U+009B><U+202E>x");
        say(&mut screen, "again");
        logged(&service, "sent 3");
        screen.wait_for("refused␛]0;title␇");
        say(&mut screen, "/nosuch");
        say(&mut screen, "/status");
        screen.wait_for("version");
        screen.keys("<c-c><c-c>");
        assert_eq!(screen.wait_exit().code, 0);
        is_harmless("the terminal", &screen.raw());
        is_restored(&screen, &tty);
        service.is_content();
    });
}

#[test]
fn nothing_harmful_is_printed() {
    let service = serve(replies(&script()));
    let co = person().with(&service, Wire::Anthropic).env("CO_HTTP_RETRIES", "0");
    let prompt = evil("prompt").replace('\0', "");
    let model = format!("model={prompt}");
    let first = run(&co, &["-v", "-p", &prompt]);
    assert_eq!(first.code, Some(4), "{first:?}");
    let ids = co.waiting();
    assert_eq!(ids.len(), 2);
    let mut printed = vec![first];
    for args in [
        vec!["sessions"],
        vec!["sessions", "--json"],
        vec!["approvals"],
        vec!["approvals", "--json"],
        vec!["approvals", "show", &ids[0]],
        vec!["approvals", "show", &ids[1]],
        vec!["approvals", "show", &ids[1], "--json"],
        vec!["approvals", "no", &ids[0], "--note", &prompt],
        vec!["approvals", "no", &ids[1]],
        vec!["resume", "--print"],
        vec!["-c", "-p", "more"],
        vec!["-c", "-p", "more", "--output", "json"],
        vec!["status"],
        vec!["audit"],
        vec!["audit", "--json"],
        vec!["audit", "show", &ids[1]],
        vec!["usage", "--by", "model"],
        vec!["usage", "--by", "session"],
        vec!["rules", "explain", &ids[1]],
        vec!["--set", &model, "config"],
        vec!["--set", &model, "models"],
        vec!["trust"],
        vec!["hooks"],
        vec!["hooks", "trust", &prompt],
        vec!["hooks", "test", &prompt],
        vec!["rules", "check"],
        vec!["approvals", "yes", &prompt],
        vec!["--set", &prompt],
        vec!["--model", &prompt, "status"],
        vec![&prompt],
    ] {
        printed.push(run(&co, &args));
    }
    for ran in printed {
        is_harmless(&format!("standard output of {ran:?}"), ran.out.as_bytes());
        is_harmless(&format!("standard error of {ran:?}"), ran.err.as_bytes());
    }
}
