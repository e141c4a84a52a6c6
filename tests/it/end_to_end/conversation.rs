//! A conversation in each wire format: parallel calls, an edited approval, a denial with a reason, an interrupt in
//! mid-stream, and a request that another process approves after the first was killed.

use super::kit::{each, logged, on_terminal, press_until, run, sent_lines};
use crate::co::{Co, Service, Wire};
use crate::tui::terminal::Terminal;

const SCRIPT: &str = r#"
reply
  thinking Two to read, two to write. | sig=abc
  text I look at both and write two files.
  call read_file {"path":"a.txt"} | id=call_read
  call list_dir {} | id=call_list
  call write_file {"path":"plan.txt","content":"one"} | id=call_plan
  call write_file {"path":"other.txt","content":"no"} | id=call_other
reply
  text Then I leave the other file alone.
reply
  text Counting: one two
  gate counting
  text three
reply
  text I will go on later.
  call write_file {"path":"later.txt","content":"late"} | id=call_late
reply
  text It is written now.
"#;

/// How the first process is left while a request waits.
#[derive(Debug, Clone, Copy)]
enum ProcessState {
    /// The card is on the screen.
    Asking,
    /// The person put it off, and the turn ended.
    Postponed,
    /// Not at all: it continues by itself once another process has decided.
    Alive,
}

#[test]
fn a_conversation_survives_its_process() {
    let cases: Vec<(Wire, ProcessState)> = Wire::ALL
        .into_iter()
        .flat_map(|wire| {
            [ProcessState::Asking, ProcessState::Postponed, ProcessState::Alive].map(|left| (wire, left))
        })
        .collect();
    each(&cases, 5, |(wire, left)| converse(*wire, *left));
}

fn converse(wire: Wire, left: ProcessState) {
    let service = Service::new(SCRIPT);
    let co = Co::new().with(&service, wire).file("work/a.txt", "the first line\n");
    let mut first = on_terminal(&co, &[], (100, 40));
    first.wait_for("unsandboxed");
    parallel_calls(&mut first, &co, &service);
    interrupt(&mut first, &service);
    deferral(first, &co, &service, left);
    service.is_content();
}

fn parallel_calls(first: &mut Terminal, co: &Co, service: &Service) {
    first.keys("plan it<ret>");
    first.wait_until("both reads done, both cards there", |screen| {
        screen.lines().filter(|line| line.contains('✓')).count() == 2 && screen.contains("2 actions")
    });
    first.keys("<a-a>");
    first.wait_for("· list ─");
    to_card(first, "to plan.txt (new file)");
    press_until(first, "<ret>", "· card ─");
    press_until(first, "e", "editing arguments");
    first.keys("<tab><c-j>two<c-s>");
    first.wait_for("to other.txt (new file)");
    press_until(first, "n", "reason for the model");
    first.keys("not that one<ret>");
    first.wait_for("Then I leave the other file alone.");
    assert_eq!(co.read("plan.txt").as_deref(), Some("one\ntwo"));
    assert_eq!(co.read("other.txt"), None);
    let text = sent_lines(service, 2);
    let told = "[The user changed this call before approving it. What really ran: \
                write_file {\"path\":\"plan.txt\",\"content\":\"one\\ntwo\"}]\ncreated plan.txt: 2 lines, 7 bytes";
    let expected = [
        "user plan it",
        "assistant I look at both and write two files.",
        "call read_file {\"path\":\"a.txt\"}",
        "call list_dir {}",
        "call write_file {\"path\":\"plan.txt\",\"content\":\"one\"}",
        "call write_file {\"path\":\"other.txt\",\"content\":\"no\"}",
        "return      1\tthe first line\n",
        "return a.txt  15 bytes\n",
        &format!("return {told}"),
        "return [denied] The user said no, it did not run. Reason: not that one",
    ];
    assert_eq!(text, expected);
}

/// The cursor is on the call that was planned first; the list is in call order.
fn to_card(first: &mut Terminal, text: &str) {
    if !first.screen().contains(text) {
        press_until(first, "<up>", text);
    }
}

fn interrupt(first: &mut Terminal, service: &Service) {
    first.keys("count<ret>");
    logged(service, "gate counting");
    first.wait_for("Counting: one two");
    first.keys("<esc>");
    logged(service, "gone 3");
    first.wait_for("stopped");
    let screen = first.screen();
    assert!(screen.contains("Counting: one two") && !screen.contains("three"), "{screen}");
}

fn deferral(mut first: Terminal, co: &Co, service: &Service, left: ProcessState) {
    first.keys("go on<ret>");
    first.wait_for("to later.txt (new file)");
    let text = sent_lines(service, 4);
    let expected = [
        "user count",
        "assistant Counting: one two",
        "user [note from co: interrupted]\nThe user interrupted the last turn. Work may be half-done; look before \
         you go on with it.\n[end of note]\n\ngo on",
    ];
    assert!(text.ends_with(&expected.map(str::to_owned)), "{text:#?}");
    match left {
        ProcessState::Asking | ProcessState::Alive => {}
        ProcessState::Postponed => {
            first.keys("<tab>");
            first.wait_for("· card ─");
            press_until(&mut first, "<esc>", "postponed");
        }
    }
    match left {
        ProcessState::Asking | ProcessState::Postponed => first.kill(),
        ProcessState::Alive => {}
    }
    let waiting = co.waiting();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    let yes = run(co, &["approvals", "yes", &waiting[0]]);
    assert_eq!(yes.code, Some(0), "{yes:?}");
    match left {
        ProcessState::Asking | ProcessState::Postponed => {
            assert_eq!(co.read("later.txt"), None, "deciding runs nothing");
            let resumed = run(co, &["resume", "--print"]);
            assert_eq!(
                (resumed.code, resumed.out.as_str()),
                (Some(0), "It is written now.\n"),
                "{}",
                resumed.err
            );
        }
        ProcessState::Alive => drop(first.wait_for("It is written now.")),
    }
    assert_eq!(co.read("later.txt").as_deref(), Some("late"));
    let text = sent_lines(service, 5);
    assert_eq!(text.last().unwrap(), "return created later.txt: 1 line, 4 bytes");
    assert_eq!(co.waiting(), Vec::<String>::new());
    let again = run(co, &["approvals", "no", &waiting[0]]);
    assert_eq!(again.code, Some(1), "the first answer stands: {again:?}");
    assert_eq!(service.server.requests().len(), 5);
}
