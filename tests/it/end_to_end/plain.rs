//! The plain front end of the real binary: on a terminal, on a dumb one, and between pipes.

use std::io::{Read as _, Write as _};
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::hostile::{person, script};
use super::kit::{LARGE, each, ended, logged, on_terminal, run_through, sent_lines};
use super::terminal_state::{Tty, is_harmless};
use crate::co::{Co, Service, Wire};
use crate::tui::terminal::Terminal;

/// Time after which a program that was asked to end is gone.
const SOON: Duration = Duration::from_secs(2);

/// Longer than the time in which a question takes no answer.
const PAUSE: Duration = Duration::from_millis(600);

/// How often a line was refused because it came before the question, or too soon behind it.
fn refused(text: &str) -> usize {
    text.matches("too soon").count() + text.matches("before the question").count()
}

/// Answers a question; one that has just appeared takes no answer yet.
#[track_caller]
fn answer(co: &mut Terminal, line: &str, then: &str) {
    let written = |raw: &[u8]| String::from_utf8_lossy(raw).into_owned();
    let expected = written(&co.raw()).matches(then).count() + 1;
    loop {
        let before = refused(&written(&co.raw()));
        // Nothing is an answer without a pause before it.
        assert!(!co.shows_within(PAUSE, "\u{1}"));
        co.keys(line);
        co.keys("<ret>");
        co.wait_raw(then, |raw| {
            let text = written(raw);
            text.matches(then).count() >= expected || refused(&text) > before
        });
        if written(&co.raw()).matches(then).count() >= expected {
            return;
        }
    }
}

/// Not one escape, and nothing else that acts on a terminal.
#[track_caller]
fn is_plain(bytes: &[u8]) {
    is_harmless("the output", bytes);
    assert!(!bytes.contains(&0x1b), "{}", String::from_utf8_lossy(bytes));
}

const CONVERSATION: &str = r#"
reply
  thinking Two to read, three to ask. | sig=abc
  text I look at both and write.
  call read_file {"path":"a.txt"} | id=call_read
  call list_dir {} | id=call_list
  call write_file {"path":"plan.txt","content":"one"} | id=call_plan
reply
  call write_file {"path":"other.txt","content":"no"} | id=call_other
reply
  call shell {"command":"sudo rm -rf nothing-here"} | id=call_high
reply
  text All is settled.
reply
  text Counting: one. Two. 
  gate counting
  text three
reply
  text Later then.
  call write_file {"path":"later.txt","content":"late"} | id=call_late
reply
  text It is written now.
"#;

#[test]
fn a_conversation_on_a_terminal() {
    each(&[Wire::Anthropic, Wire::Chat], 2, |wire| {
        let service = Service::new(CONVERSATION);
        // Without an editor arguments are changed line by line.
        let co =
            Co::new().with(&service, *wire).env("PATH", "/nowhere").file("work/a.txt", "the first line\n");
        let mut screen = on_terminal(&co, &["--plain"], (140, 1000));
        screen.wait_for("You:");
        let tty = Tty::of(&screen);
        screen.keys("plan it<ret>");
        screen.wait_for("Approval 1 of 1, medium risk");
        answer(&mut screen, "3", "or an empty line when done");
        answer(&mut screen, "content.2=two", "Changed.");
        answer(&mut screen, "", "yes approves the call with these arguments");
        answer(&mut screen, "yes", "Approval 1: approved with changes.");
        screen.wait_for("to other.txt");
        answer(&mut screen, "2", "Reason for the model");
        answer(&mut screen, "not that one", "Approval 1: denied.");
        screen.wait_for("Approval 1 of 1, HIGH risk");
        answer(&mut screen, "1", "HIGH risk: type yes");
        answer(&mut screen, "1", "Not approved.");
        answer(&mut screen, "2", "Reason for the model");
        answer(&mut screen, "", "Approval 1: denied.");
        screen.wait_for("All is settled.");
        assert_eq!(co.read("plan.txt").as_deref(), Some("one\ntwo"));
        assert_eq!(co.read("other.txt"), None);
        assert!(sent_lines(&service, 3).iter().any(|line| line.contains("not that one")));
        screen.wait_until("a prompt", |screen| screen.ends_with("You:"));
        screen.keys("count<ret>");
        logged(&service, "gate counting");
        screen.wait_for("Counting: one.");
        screen.keys("<c-c>");
        screen.wait_for("Stopping.");
        screen.wait_for("Stopped.");
        screen.wait_until("a prompt", |screen| screen.ends_with("You:"));
        screen.keys("later<ret>");
        screen.wait_for("to later.txt");
        answer(&mut screen, "4", "Approval 1: postponed.");
        screen.wait_for("here with /decide");
        screen.wait_until("a prompt", |screen| screen.ends_with("You:"));
        screen.keys("/decide<ret>");
        screen.wait_until("it again", |screen| screen.matches("to later.txt").count() >= 2);
        answer(&mut screen, "1", "Approval 1: approved.");
        screen.wait_for("It is written now.");
        screen.wait_until("a prompt", |screen| screen.ends_with("You:"));
        screen.keys("<c-d>");
        assert_eq!(screen.wait_exit().code, 0);
        assert!(screen.screen().contains("co: session \"plan it\" saved"), "{}", screen.screen());
        assert!(tty.is_cooked());
        is_plain(&screen.raw());
        service.is_content();
    });
}

#[test]
fn arguments_are_changed_in_an_editor_and_approved_by_a_yes_after_it() {
    let script = "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\"}\nreply\n  text Done.";
    let service = Service::new(script);
    let co = Co::new()
        .with(&service, Wire::Chat)
        .file("editor", "sed -i s/one/two/ \"$1\"; read line; echo \"$line\"");
    let editor = format!("sh {}", co.home().join("editor").display());
    let co = co.env("EDITOR", editor);
    let mut screen = on_terminal(&co, &["--plain", "write a file"], LARGE);
    screen.wait_for("You: write a file");
    screen.wait_for("Approval 1 of 1");
    let tty = Tty::of(&screen);
    answer(&mut screen, "3", "Your editor opens with the arguments.");
    // The line is the editor's.
    screen.keys("yes<ret>");
    screen.wait_for("yes approves the call with these arguments");
    assert!(screen.screen().contains("content: two") && co.read("a.txt").is_none(), "{}", screen.screen());
    answer(&mut screen, "yes", "Approval 1: approved with changes.");
    screen.wait_for("Done.");
    assert_eq!(co.read("a.txt").as_deref(), Some("two"));
    assert!(tty.is_cooked());
    is_plain(&screen.raw());
    service.is_content();
}

const WRITES: &str = "
reply
  text I write.
  gate write
  call write_file {\"path\":\"a.txt\",\"content\":\"one\"}
reply
  text Done.
";

#[test]
fn what_is_typed_before_the_question_does_not_answer_it() {
    let service = Service::new(WRITES);
    let co = Co::new().with(&service, Wire::Chat);
    let mut screen = on_terminal(&co, &["--plain"], LARGE);
    let tty = {
        screen.wait_for("You:");
        Tty::of(&screen)
    };
    screen.keys("write<ret>");
    logged(&service, "gate write");
    // The beginning of a yes, whose end comes too late.
    screen.keys("ye");
    screen.wait_for("ye");
    service.server.gate().release("write");
    screen.wait_for("You were typing: ye");
    assert!(tty.is_cooked());
    screen.keys("s<ret>");
    screen.wait_until("a refusal", |screen| refused(screen) > 0 || screen.contains("Type 1, 2, 3"));
    screen.keys("<ret>");
    assert_eq!(co.waiting().len(), 1);
    answer(&mut screen, "1", "Approval 1: approved.");
    screen.wait_for("Done.");
    assert_eq!(co.read("a.txt").as_deref(), Some("one"));
    screen.keys("exit<ret>");
    assert_eq!(screen.wait_exit().code, 0);
    is_plain(&screen.raw());
}

#[test]
fn lines_of_a_pipe_do_not_answer_what_they_cannot_know() {
    let script = WRITES.replace("  gate write\n", "");
    let service = Service::new(&script.replace("text Done.", "text And more."));
    let co = Co::new().with(&service, Wire::Anthropic);
    let ran = co.piped("write\n1\nyes\nand more\n", &["--plain"]);
    let waiting = co.waiting();
    assert_eq!((ran.code, waiting.len(), co.read("a.txt")), (Some(0), 1, None), "{ran:?}");
    assert_eq!(service.server.requests().len(), 2, "{ran:?}");
    assert!(
        sent_lines(&service, 2).iter().any(|line| line == "user and more"),
        "{:#?}",
        sent_lines(&service, 2)
    );
    insta::assert_snapshot!("plain_pipe", ran.out);
    assert_eq!(ran.err, "");
    is_plain(ran.out.as_bytes());
    // An endless yes approves nothing either, and the program ends by itself.
    let service = Service::new(&script);
    let co = Co::new().with(&service, Wire::Anthropic);
    let ran = run_through(&co, "(echo write; exec yes 1) | \"$@\"", &["--plain"], "");
    assert_eq!((ran.code, co.waiting().len(), co.read("a.txt")), (Some(0), 1, None), "{}", ran.err);
}

/// The program's output so far.
struct Output(std::process::ChildStdout, String);

impl Output {
    #[track_caller]
    fn until(&mut self, wanted: impl Fn(&str) -> bool) {
        let mut piece = [0; 4096];
        while !wanted(&self.1) {
            let length = self.0.read(&mut piece).unwrap();
            assert!(length > 0, "it ended after {}", self.1);
            self.1.push_str(&String::from_utf8_lossy(&piece[..length]));
        }
    }
}

#[test]
fn a_program_that_reads_the_question_can_answer_it() {
    let service = Service::new(&WRITES.replace("  gate write\n", ""));
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut child = co.command(&co.workspace(), &["--plain"]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = Output(child.stdout.take().unwrap(), String::new());
    writeln!(input, "write").unwrap();
    output.until(|text| text.ends_with("Choice: "));
    let mut times = 0;
    let (_open, pause) = std::sync::mpsc::channel::<()>();
    while !output.1.contains("Approval 1: approved.") {
        assert!(pause.recv_timeout(PAUSE).is_err());
        writeln!(input, "1").unwrap();
        output.until(|text| text.contains("Approval 1: approved.") || refused(text) > times);
        times = refused(&output.1);
    }
    output.until(|text| text.contains("Done.\n"));
    drop(input);
    output.until(|text| text.contains("saved\n"));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(co.read("a.txt").as_deref(), Some("one"));
    is_plain(output.1.as_bytes());
}

#[test]
fn nothing_harmful_is_printed_plainly() {
    for wire in [Wire::Anthropic, Wire::Chat] {
        let service = Service::new(&script());
        let co = person().with(&service, wire).env("CO_HTTP_RETRIES", "0");
        let input = "go\nagain\n!printf 'out\\033]0;t\\007\\033[2J\\302\\233\\342\\200\\256x\\377end\\n'\n/nosuch\n/status\n";
        let ran = co.piped(input, &["--plain", "--verbose"]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
        for seen in
            ["␛]0;title␇", "<U+009B>31m", "<U+202E>back", "out␛]0;t␇␛[2J<U+009B><U+202E>x", "Approval 1 of 2"]
        {
            assert!(ran.out.contains(seen), "{seen}\n{}", ran.out);
        }
        is_plain(ran.out.as_bytes());
    }
}

#[test]
fn a_dumb_terminal_gets_lines_by_itself() {
    let cases = [("TERM", "dumb", true), ("CO_PLAIN", "1", false), ("ACCESSIBLE", "1", false)];
    each(&cases, 3, |&(name, value, preface)| {
        let co = Co::new().env(name, value);
        let mut screen = on_terminal(&co, &[], LARGE);
        screen.wait_for("You:");
        assert_eq!(screen.screen().contains("TERM=dumb"), preface, "{}", screen.screen());
        screen.keys("hi<ret>");
        screen.wait_for("I am not a language model");
        screen.wait_until("a prompt", |screen| screen.ends_with("You:"));
        screen.keys("<c-c>");
        screen.wait_for("Ctrl+C again");
        screen.keys("<c-c>");
        assert_eq!(screen.wait_exit().code, 0);
        is_plain(&screen.raw());
    });
}

const WORKING: &str = "
reply
  text I start it. Now
  gate never
";

#[test]
fn told_to_end_it_saves() {
    for signal in [Signal::TERM, Signal::HUP] {
        let service = Service::new(WORKING);
        let co = Co::new().with(&service, Wire::Chat);
        let mut screen = on_terminal(&co, &["--plain"], LARGE);
        screen.wait_for("You:");
        screen.keys("start it<ret>");
        screen.wait_for("I start it.");
        screen.signal(signal);
        let exit = screen.exit_within(SOON);
        assert!(exit.is_some_and(|exit| !exit.by_signal), "{exit:?}\n{}", screen.screen());
        screen.wait_exit();
        assert!(screen.screen().contains("co: session \"start it\" saved"), "{}", screen.screen());
    }
}

#[test]
fn told_to_end_between_pipes_it_saves() {
    let service = Service::new(WORKING);
    let co = Co::new().with(&service, Wire::Chat);
    let mut child: Child = co.command(&co.workspace(), &["--plain"]).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"start it\n").unwrap();
    logged(&service, "gate never");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let ran = ended(&co, child);
    let said = "co: ended by a signal; all work is saved\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(143), said), "{ran:?}");
    assert!(ran.out.contains("co: session \"start it\" saved"), "{ran:?}");
}
