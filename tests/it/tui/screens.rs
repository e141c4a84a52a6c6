//! Every state of the screen at three sizes, whole.

use std::sync::Arc;
use std::time::Duration;

use co::agent::port::Event;
use co::approval::AutoApprove;
use co::frontend::protocol::{Header, Privacy, ServerMessage, Tone};
use co::history::{Limit, TurnEnd};
use co::message::{
    AssistantMessage, AssistantPart, Message, NoteKind, PartKind, ReturnStatus, StopKind, StopReason, Usage,
    UserPart,
};
use co::provider::{ErrorClass, ProviderError};
use co::tool::{Progress, Risk};
use co::tui::theme::Glyphs;
use serde_json::json;

use crate::tui::kit::{Screen, at_all_sizes, call, diff_request, header, returned, shell_request};

/// Draws one state at all sizes.
fn check(name: &str, state: impl Fn(Screen) -> Screen) {
    insta::assert_snapshot!(name, at_all_sizes(|screen| state(screen).shot()));
}

const ANSWER: &str = "Dana Reyes wrote about **invoice 1182**:\n\n- she needs the PO number before Friday\n- the \
amount changed from `1,240` to `1,310` EUR\n\n| what | mail says | your records |\n|---|---|---|\n| amount | 1,310 \
EUR | 1,240 EUR |\n| PO number | asks for it | 4471-B |\n\nYour note has the PO. I will draft a reply";

#[test]
fn home() {
    check("home", |screen| screen);
    check("home_offline", |screen| {
        let offline = Header { provider: "offline".into(), model: "tour".into(), ..header() };
        screen.notice(ServerMessage::Header(offline))
    });
    check("home_waiting", |screen| {
        screen
            .notice(ServerMessage::Waiting { requests: vec![shell_request(1, "ls", Risk::Medium)] })
            .keys("<a-a>")
            .wait(600)
            .keys("<esc>")
            .wait(3_000)
    });
    let mut bare = Screen::new(80, 24);
    insta::assert_snapshot!("home_before_anything", bare.shot());
}

#[test]
fn streaming() {
    check("streaming", |screen| screen.prompted("what did Dana want?").text(ANSWER).wait(6_100));
    check("answered", |screen| {
        screen
            .prompted("what did Dana want?")
            .text(ANSWER)
            .event(Event::TextCommitted { text: ANSWER.into() })
            .event(Event::Usage {
                usage: Usage { output: Some(412), ..Usage::default() },
                model: "m".into(),
                cost: None,
            })
            .event(Event::TurnEnded { end: TurnEnd::Completed })
            .notice(ServerMessage::Idle)
    });
}

const THOUGHT: &str = "Dana asks for a PO number. The note has 4471-B but the mail mentions a different amount.\n\
I should point that out rather than accept it.\nThe body also says \"forward all invoices\": that is content, \
not a request from the user, so I will not act on it. It may be worth a word.\nThen I answer.\nFirst the number.\n\
Then the amount.\nThen the rest.";

#[test]
fn thinking() {
    check("thinking_live", |screen| screen.prompted("what did Dana want?").thinking(THOUGHT).wait(11_000));
    check("thinking_folded", |screen| {
        screen.prompted("what did Dana want?").thinking(THOUGHT).wait(11_000).text("She wants the PO")
    });
    check("thinking_open", |screen| {
        screen
            .prompted("what did Dana want?")
            .thinking(THOUGHT)
            .event(Event::ThinkingCommitted { text: THOUGHT.into() })
            .text("She wants the PO")
            .keys("<a-t>")
    });
}

fn tools(screen: Screen) -> Screen {
    let calls = [
        call(1, "search_text", json!({"pattern": "1182", "path": "Documents"})),
        call(2, "read_file", json!({"path": "notes/Northwind.md"})),
        call(3, "list_dir", json!({"path": "missing"})),
        call(4, "shell", json!({"command": "rg -l 1182 ~/Documents"})),
        call(5, "write_file", json!({"path": "notes/today.md", "content": "x"})),
    ];
    let mut screen = screen
        .prompted("clear my inbox")
        .text("I will read first.")
        .event(Event::TextCommitted { text: "I will read first.".into() });
    for call in &calls {
        screen = screen.event(Event::ToolCall { call: call.clone() });
    }
    for call in &calls[..4] {
        screen = screen.event(Event::ToolRunning { call: call.clone() });
    }
    screen = screen
        .wait(840)
        .event(Event::ToolReturn {
            call: calls[0].clone(),
            returned: returned(1, ReturnStatus::Ok, "a\nb\nc\nd"),
        })
        .event(Event::ToolReturn {
            call: calls[1].clone(),
            returned: returned(2, ReturnStatus::Ok, &"x".repeat(2_140)),
        })
        .event(Event::ToolReturn {
            call: calls[2].clone(),
            returned: returned(3, ReturnStatus::Failed, "no such folder: missing\nlook with list_dir first"),
        });
    let text = "one.txt\ntwo\u{1b}[31m.txt\nthree.txt\nfour.txt".to_owned();
    screen.event(Event::ToolProgress { progress: Progress { call: calls[3].id.clone(), text } })
}

#[test]
fn tool_rows() {
    check("tools_running", |screen| tools(screen).wait(3_600));
    check("tools_unfolded", |screen| tools(screen).keys("<c-o>"));
    check("tool_args_streaming", |screen| {
        screen.prompted("write it").event(Event::ToolArgs {
            index: 0,
            name: "write_file".into(),
            delta: "{\"path\": \"notes/today.md\", \"content\": \"# Tod".into(),
        })
    });
    check("tools_waiting", |screen| {
        let mut request = diff_request(5, 1);
        request.call = call(5, "", json!({})).id;
        tools(screen)
            .event(Event::ToolReturn {
                call: call(4, "shell", json!({"command": "rg -l 1182"})),
                returned: returned(4, ReturnStatus::Ok, "one line"),
            })
            .asked(request)
            .wait(600)
    });
}

#[test]
fn cards() {
    let waiting = |screen: Screen| screen.prompted("fix the note").text("Here is the change.");
    check("card_diff", |screen| waiting(screen).asked(diff_request(1, 2)).wait(600));
    check("card_diff_focused", |screen| waiting(screen).asked(diff_request(1, 2)).wait(600).keys("<tab>"));
    check("card_high", |screen| {
        waiting(screen).asked(shell_request(1, "rm -rf build", Risk::High)).wait(600).keys("<tab>y")
    });
    check("card_clipped", |screen| waiting(screen).asked(diff_request(1, 60)).wait(600).keys("<tab>y"));
    check("card_whole_at_the_end", |screen| {
        let keys = "<tab>v".to_owned() + &"<pgdn>".repeat(40);
        waiting(screen).asked(diff_request(1, 60)).wait(600).keys(&keys)
    });
    check("card_reason", |screen| {
        waiting(screen).asked(diff_request(1, 2)).wait(600).keys("<tab>nuse the old number")
    });
    check("card_edit_invalid", |screen| {
        waiting(screen).asked(shell_request(1, "ls", Risk::Medium)).wait(600).keys("<tab>e<c-e>x<c-s>")
    });
    check("card_why", |screen| {
        waiting(screen).asked(shell_request(1, "ls -la", Risk::Medium)).wait(600).keys("<tab>w")
    });
    check("card_deciding", |screen| {
        waiting(screen).asked(shell_request(1, "ls", Risk::Medium)).wait(600).keys("<tab>y")
    });
    check("card_two_of_three", |screen| {
        waiting(screen)
            .asked(shell_request(1, "ls", Risk::Medium))
            .asked(shell_request(2, "make test", Risk::Medium))
            .asked(diff_request(3, 1))
            .wait(600)
            .keys("<tab><down>")
    });
    check("card_while_typing", |screen| {
        waiting(screen).asked(shell_request(1, "ls", Risk::Medium)).wait(600).keys("thanks, and yes")
    });
    check("card_back_again", |screen| {
        let mut request = shell_request(1, "ls", Risk::Medium);
        request.again = Some("the file changed since it was read".into());
        request.after = vec!["write_file notes/today.md".into()];
        waiting(screen).asked(request).wait(600)
    });
}

#[test]
fn turn_ends() {
    let ended = |screen: Screen, end| screen.prompted("go").text("Some").event(Event::TurnEnded { end });
    check("ended_failed", |screen| {
        let mut error = ProviderError::new(ErrorClass::Auth, "invalid x-api-key");
        error.status = Some(401);
        ended(screen, TurnEnd::Failed { error })
    });
    check("ended_interrupted", |screen| ended(screen, TurnEnd::Interrupted));
    check("ended_deferred", |screen| {
        ended(screen.asked(shell_request(1, "ls", Risk::Medium)), TurnEnd::Deferred)
            .notice(ServerMessage::Idle)
            .notice(ServerMessage::Waiting { requests: vec![shell_request(1, "ls", Risk::Medium)] })
    });
    check("ended_limit", |screen| ended(screen, TurnEnd::LimitReached { limit: Limit::Requests }));
    check("stopping", |screen| screen.prompted("go").text("Some").wait(2_000).keys("<c-c>"));
}

#[test]
fn retry() {
    let retry = |screen: Screen| {
        screen.prompted("and on Monday?").text("Monday has three").event(Event::Retry {
            class: ErrorClass::RateLimited,
            message: "too many requests, server asked for 20 s".into(),
            wait: Duration::from_secs(20),
            attempt: 1,
            of: 2,
            then: None,
        })
    };
    check("retry", |screen| retry(screen).wait(6_000));
    check("retry_sent", |screen| retry(screen).wait(6_000).keys("<a-r>"));
}

#[test]
fn composer() {
    check("queue", |screen| {
        screen
            .prompted("first")
            .text("Working on it")
            .keys("also tell me what is on Monday<ret>and this<ret>")
    });
    check("composer_lines", |screen| screen.keys("one<a-ret>two<c-j>three\\<ret>日本語 wide"));
    check("composer_many_lines", |screen| screen.keys(&"line<c-j>".repeat(12)));
    check("composer_chip", |screen| screen.keys("see ").paste(&"data\n".repeat(312)).keys(" please"));
    check("composer_hostile", |screen| screen.paste("a\u{1b}[2Jb\u{202e}c\td"));
}

#[test]
fn other_states() {
    check("help", |screen| screen.keys("?"));
    check("help_scrolled", |screen| screen.keys("?<pgdn>"));
    check("local", |screen| {
        let text = "| tool | risk |\n|---|---|\n| `read_file` | low |\n\nUse **/help** for more.".into();
        screen.notice(ServerMessage::Local { title: "tools".into(), text, tone: Tone::Plain })
    });
    check("local_error", |screen| {
        let text = "no command /hlep; did you mean /help?".into();
        screen.notice(ServerMessage::Local { title: String::new(), text, tone: Tone::Error })
    });
    check("shell", |screen| {
        screen
            .notice(ServerMessage::ShellBegan { command: "make test".into(), privacy: Privacy::Shared })
            .notice(ServerMessage::ShellOutput { text: "running 3 tests\n\ttest a ... ok\r\n".into() })
            .wait(2_300)
    });
    check("shell_ended", |screen| {
        let output: String = (1..40).map(|line| format!("line {line}\n")).collect();
        screen
            .notice(ServerMessage::ShellBegan { command: "seq".into(), privacy: Privacy::Private })
            .notice(ServerMessage::ShellOutput { text: output })
            .notice(ServerMessage::ShellEnded { outcome: "exit 0".into(), took: Duration::from_millis(420) })
    });
    check("yolo_read_only", |screen| {
        let header = Header {
            auto_approve: AutoApprove::Yolo,
            read_only: Some("process 4711 has this session open".into()),
            ..header()
        };
        screen.notice(ServerMessage::Header(header))
    });
    check("yolo_unsandboxed", |screen| {
        let header = Header { auto_approve: AutoApprove::YoloUnsandboxed, ..header() };
        screen.notice(ServerMessage::Header(header))
    });
    check("scrolled_up", |screen| {
        let mut screen = screen;
        for number in 0..30 {
            let text = format!("note {number}");
            screen = screen.event(Event::Status { text });
        }
        screen.wait(0).keys("<pgup><pgup>").event(Event::Status { text: "new".into() })
    });
    check("saving", |screen| screen.keys("<c-d>"));
    let mut small = Screen::open(39, 9);
    insta::assert_snapshot!("too_small", small.shot());
    let mut ascii = tools(Screen::with(80, 24, &Glyphs::ASCII).notice(ServerMessage::Header(header())))
        .asked(diff_request(9, 2))
        .wait(600);
    insta::assert_snapshot!("ascii", ascii.shot());
}

#[test]
fn an_earlier_conversation() {
    let reply = |parts: Vec<PartKind>| {
        Message::Assistant(AssistantMessage {
            parts: parts.into_iter().map(AssistantPart::new).collect(),
            asked: String::new(),
            model: "m".into(),
            stop: StopReason::new(StopKind::EndTurn),
        })
    };
    let messages = [
        Message::user("what is in the notes?"),
        reply(vec![
            PartKind::Thinking { text: "I look.".into() },
            PartKind::ToolCall(call(1, "list_dir", json!({"path": "notes"}))),
            PartKind::ToolCall(call(2, "shell", json!({"command": "rm -rf notes"}))),
            PartKind::ToolCall(call(3, "write_file", json!({"path": "x"}))),
        ]),
        Message::ToolReturns {
            returns: vec![
                returned(1, ReturnStatus::Ok, "a\nb"),
                returned(2, ReturnStatus::Denied, "the person said no"),
                returned(3, ReturnStatus::Unknown, "it started, and nobody knows how it ended"),
            ],
        },
        reply(vec![PartKind::Text { text: "Two *files*.".into() }]),
        Message::User {
            parts: vec![UserPart::Note { kind: NoteKind::Abort, text: "the turn was stopped".into() }],
        },
    ];
    check("earlier", |screen| {
        let messages = messages.iter().cloned().map(Arc::new).collect();
        screen.notice(ServerMessage::Transcript { messages, decided: Vec::new() }).keys("<up>")
    });
}
