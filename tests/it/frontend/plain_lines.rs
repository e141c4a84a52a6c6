//! Lines of the plain front end: those that arrive at once or over a pipe, and those that it prints of turns.

use std::time::Duration;

use co::agent::port::{Event, Op};
use co::frontend::images::Prompt;
use co::frontend::plain::{Input, Plain};
use co::frontend::protocol::{ClientRequest, Privacy, ServerMessage, Tone};
use co::history::TurnEnd;
use co::message::{CallReport, ReturnStatus};
use co::tool::Risk;
use serde_json::json;

use super::plain::{PIPE, PlainFixture, TERMINAL, ls};
use crate::tui::kit::{call, header, line, returned, shell_request};

#[test]
fn lines_that_arrive_at_once_are_one_prompt() {
    let front = PlainFixture::open(TERMINAL).input(Input::Pasted(vec!["one".to_owned(), "two\r".to_owned()]));
    assert_eq!(front.asks, []);
    assert!(front.text.contains("Pasted 2 lines."), "{}", front.text);
    let sent = front.say("what is this?");
    assert_eq!(sent.asks, [line("one\ntwo\nwhat is this?")]);
    let asked = PlainFixture::asking(shell_request(1, "ls", Risk::Medium))
        .input(Input::Pasted(vec!["1".to_owned(), "1".to_owned()]));
    assert_eq!(asked.asks, [line("go")], "a paste answers nothing");
}

#[test]
fn retry_between_turns_is_the_command_of_all_front_ends() {
    assert_eq!(PlainFixture::open(TERMINAL).say("/retry").asks, [line("/retry")]);
    let running = PlainFixture::open(TERMINAL).say("go").prompted("go").say("/retry");
    assert_eq!(running.asks.last(), Some(&ClientRequest::Op(Op::RetryNow)));
}

#[test]
fn requests_of_one_reply_are_asked_in_the_order_of_their_calls() {
    let request = |number: u32| {
        let mut request = shell_request(number, &format!("step {number}"), Risk::Medium);
        request.call = call(number, "shell", json!({})).id;
        request
    };
    let front = PlainFixture::open(TERMINAL).say("go").prompted("go");
    let front = [3, 1, 2].into_iter().fold(front, |front, number| front.asked(request(number)));
    let front = front.wait(100).wait(600);
    assert!(front.text.contains("Approval 1 of 3") && front.text.contains("step 1"), "{}", front.text);
    assert!(!front.text.contains("step 2"), "{}", front.text);
}

#[test]
fn a_reply_that_breaks_keeps_its_last_words() {
    let front = PlainFixture::open(TERMINAL).say("go").prompted("go").text("It began in 2019. Then somebody");
    let front = front.event(Event::PartialReset);
    assert!(
        front.text.contains("Then somebody\nThe reply was cut off and starts again.\n"),
        "{}",
        front.text
    );
}

#[test]
fn a_plan_says_that_it_was_not_done_and_how_to_go_on() {
    let call = call(1, "shell", json!({ "command": "make" }));
    let mut planned = returned(1, ReturnStatus::Denied, "plan mode");
    planned.done = Some(Box::new(CallReport { is_planned: true, ..CallReport::default() }));
    let front = PlainFixture::open(TERMINAL).say("go").prompted("go");
    let front = front.event(Event::ToolReturn { call, returned: planned }).ended(TurnEnd::Completed);
    assert!(
        front.text.contains("planned, not done.") && front.text.contains("/go carries the plan out"),
        "{}",
        front.text
    );
}

#[test]
fn the_colours_of_a_command_are_no_text() {
    let call = call(1, "shell", json!({ "command": "make" }));
    let failed = returned(1, ReturnStatus::Failed, "\u{1b}[31mFAIL\u{1b}[0m: 2 tests");
    let front = PlainFixture::open(TERMINAL).say("go").prompted("go");
    let front = front.event(Event::ToolReturn { call, returned: failed });
    assert!(front.text.contains("  FAIL: 2 tests\n"), "{}", front.text);
}

#[test]
fn lines_of_a_pipe_come_one_at_a_time() {
    let mut front = PlainFixture::open(PIPE).say("one");
    assert!(!front.plain.listens());
    front = front.notice(ServerMessage::Header(header())).prompted("one").text("A").ended(TurnEnd::Completed);
    assert!(!front.plain.listens());
    front = front.idle().say("/help");
    assert!(!front.plain.listens());
    let local =
        ServerMessage::Local { title: "commands".into(), text: "- `/help`".into(), tone: Tone::Plain };
    front = front.notice(local).notice(ServerMessage::Header(header())).say("!ls");
    assert!(!front.plain.listens());
    front = front
        .notice(ServerMessage::ShellBegan { command: "ls".into(), privacy: Privacy::Shared })
        .notice(ServerMessage::ShellOutput { text: "a\n".into() })
        .notice(ServerMessage::ShellEnded { outcome: "exit 0".into(), took: Duration::ZERO });
    assert!(front.plain.listens());
    let front = front.input(Input::End);
    assert_eq!(front.asks, [line("one"), line("/help"), line("!ls"), ClientRequest::Close]);
}

#[test]
fn at_the_end_of_a_pipe_what_waits_is_postponed() {
    let front = PlainFixture::open(PIPE).say("go").prompted("go").asked(ls()).wait(100);
    let front = front.input(Input::End);
    assert_eq!(front.asks, [line("go"), ClientRequest::Op(Op::Defer)]);
    let front = front.asked(shell_request(2, "pwd", Risk::Low)).wait(100);
    assert_eq!(front.asks.last(), Some(&ClientRequest::Op(Op::Defer)));
    let front = front.ended(TurnEnd::Deferred).idle();
    assert_eq!(front.asks.last(), Some(&ClientRequest::Close));
    let lines = vec!["co: session \"go\" saved · 2 approvals waiting".into()];
    let front = front.notice(ServerMessage::Goodbye { lines });
    assert!(front.over);
    insta::assert_snapshot!("plain_end_of_a_pipe", front.text);
}

#[test]
fn a_first_prompt_is_sent_once_nothing_runs() {
    for setup in [TERMINAL, PIPE] {
        let first = Prompt::written("!fix it".to_owned());
        let mut front = PlainFixture::new(setup);
        front.plain = Plain::new(setup).asking(Some(first.clone()));
        let front = front.notice(ServerMessage::Header(header()));
        assert_eq!(front.asks, []);
        let front = front.notice(ServerMessage::Idle);
        assert_eq!(front.asks, [ClientRequest::Prompt(first.clone())]);
        // The end of a pipe waits for its answer.
        let front = if setup == PIPE { front.input(Input::End) } else { front };
        let front = front.prompted("!fix it").ended(TurnEnd::Completed);
        assert_eq!(front.asks, [ClientRequest::Prompt(first)], "{}", front.text);
        assert_eq!(front.idle().asks.len(), if setup == PIPE { 2 } else { 1 });
    }
}
