//! The calls of a turn on the screen: the change each made, its outcome in words, by whom and why it was denied,
//! the end of a failed output, and what is left of a reply that broke off.

use std::sync::Arc;

use co::agent::port::{Event, Settlement};
use co::approval::{Approval, Decider};
use co::frontend::protocol::ServerMessage;
use co::history::TurnEnd;
use co::message::{
    AssistantMessage, AssistantPart, CallReport, Message, PartKind, ReturnStatus, StopKind, StopReason,
    ToolCall, ToolReturn,
};
use co::provider::{ErrorClass, ProviderError};
use co::store::PastDecision;
use co::tool::Preview;
use co::tool::diff::diff;
use ratatui_core::style::Color;
use serde_json::json;

use super::kit::{Screen, at_all_sizes, call, diff_request, id, returned, shell_request};
use co::tool::Risk;

const OLD: &str = "fn main() {\n    let name = \"world\";\n    println!(\"hello {name}\");\n}\n";
const NEW: &str = "fn main() {\n    let name = \"moon\";\n    println!(\"hello {name}\");\n    exit(0);\n}\n";

fn edit() -> ToolCall {
    call(1, "edit_file", json!({ "path": "src/main.rs", "old": "a", "new": "b" }))
}

/// The return of a call that changed a file.
fn changed(number: u32, old: &str, new: &str) -> ToolReturn {
    let done = CallReport { change: diff(old, new), ..CallReport::default() };
    ToolReturn {
        done: Some(Box::new(done)),
        ..returned(number, ReturnStatus::Ok, "changed src/main.rs\n@@ …")
    }
}

fn said(number: u32, status: ReturnStatus, words: &str, text: &str) -> ToolReturn {
    ToolReturn { done: CallReport::from_words(words.to_owned()), ..returned(number, status, text) }
}

fn ran(screen: Screen, call: &ToolCall, end: ToolReturn) -> Screen {
    screen
        .event(Event::ToolCall { call: call.clone() })
        .event(Event::ToolRunning { call: call.clone() })
        .event(Event::ToolReturn { call: call.clone(), returned: end })
}

fn long() -> String {
    (1..=40).map(|n| format!("line {n}\n")).collect()
}

#[test]
fn an_applied_change_stays() {
    let shown = at_all_sizes(|screen| {
        let screen = ran(screen.prompted("greet the moon"), &edit(), changed(1, OLD, NEW));
        let write = call(2, "write_file", json!({ "path": "lines.txt", "content": long() }));
        ran(screen, &write, changed(2, "", &long())).shot()
    });
    insta::assert_snapshot!("seen_change", shown);
    let mut open = ran(Screen::open(80, 60).prompted("go"), &edit(), changed(1, "", &long())).keys("<c-o>");
    let shot = open.shot();
    assert!(shot.contains(" 40 + line 40") && !shot.contains("more lines"), "{shot}");
    assert!(!shot.contains("changed src/main.rs"), "what the model is told is no news: {shot}");
}

#[test]
fn what_the_model_was_told_is_shown_on_request() {
    let screen = ran(Screen::open(80, 30).prompted("go"), &edit(), changed(1, OLD, NEW));
    let mut told = screen.keys("<tab><down>").keys("<space>");
    let shot = told.shot();
    assert!(shot.contains("the model was told:") && shot.contains("changed src/main.rs"), "{shot}");
    let mut hidden = told.keys("<space>");
    assert!(!hidden.shot().contains("the model was told"));
}

#[test]
fn a_change_is_coloured_by_line_word_and_code() {
    let mut screen = ran(Screen::open(80, 24).prompted("go"), &edit(), changed(1, OLD, NEW));
    let shot = screen.shot();
    let row = |text: &str| shot.lines().position(|line| line.contains(text)).unwrap();
    let (removed, added) = (row("- "), row("exit(0)"));
    let buffer = screen.painted();
    let background = |text: &str| {
        let row = row(text);
        let line = shot.lines().nth(row).unwrap();
        let column = line.split_once(text).map(|(before, _)| before.chars().count()).unwrap();
        buffer[(u16::try_from(column).unwrap(), u16::try_from(row).unwrap())].bg
    };
    assert_eq!(background("exit(0)"), Color::Indexed(22));
    assert_eq!(background("moon"), Color::Indexed(28));
    assert_eq!(background("world"), Color::Indexed(88));
    // The background goes on to the edge.
    assert_eq!(buffer[(79, u16::try_from(added).unwrap())].bg, Color::Indexed(22));
    assert_eq!(buffer[(79, u16::try_from(removed).unwrap())].bg, Color::Indexed(52));
}

#[test]
fn a_card_shows_a_change_on_the_same_backgrounds() {
    let mut request = diff_request(1, 1);
    request.plan.preview = Preview::Diff { path: "src/main.txt".to_owned(), lines: diff(OLD, NEW) };
    // One below the other, and side by side.
    for (columns, rows) in [(80, 24), (140, 40)] {
        let mut screen = Screen::open(columns, rows).prompted("go").asked(request.clone()).wait(600);
        let shot = screen.shot();
        let buffer = screen.painted();
        let background = |text: &str| {
            let row = shot.lines().position(|line| line.contains(text)).unwrap();
            let (before, _) = shot.lines().nth(row).unwrap().split_once(text).unwrap();
            let column = before.chars().count();
            buffer[(u16::try_from(column).unwrap(), u16::try_from(row).unwrap())].bg
        };
        for (text, colour) in [
            ("exit(0)", Color::Indexed(22)),
            ("moon", Color::Indexed(28)),
            ("world", Color::Indexed(88)),
            ("- ", Color::Indexed(52)),
            ("fn main", Color::Reset),
        ] {
            assert_eq!(background(text), colour, "{text}\n{shot}");
        }
    }
}

#[test]
fn stored_calls_say_who_decided_and_when() {
    let other = call(2, "shell", json!({ "command": "make" }));
    let denied = call(3, "shell", json!({ "command": "rm x" }));
    let asked = call(4, "ask_user", json!({ "question": "Which?" }));
    let calls = [edit(), other, denied, asked];
    let part = |call: &ToolCall| AssistantPart::new(PartKind::ToolCall(call.clone()));
    let reply = Message::Assistant(AssistantMessage {
        parts: calls.iter().map(part).collect(),
        asked: String::new(),
        model: String::new(),
        stop: StopReason::new(StopKind::ToolUse),
    });
    let returns = vec![
        changed(1, OLD, NEW),
        said(2, ReturnStatus::Failed, "exit 2", "exit 2\nmake: error\n"),
        said(3, ReturnStatus::Denied, "denied by you: not that one", "The user said no."),
        said(4, ReturnStatus::Ok, "the red one", "the red one"),
    ];
    let decided = |screen: &Screen| {
        let no = Approval::Deny { reason: Some("not that one".to_owned()) };
        let other = Approval::to(calls[3].name.clone(), json!({}));
        let by = [Decider::Tui, Decider::Cli, Decider::Tui, Decider::Plain];
        let approvals = [Approval::yes(), Approval::for_session(), no, other];
        let ago =
            [0, 1, 26, 24 * 9].map(|hours| screen.model.now() - jiff::SignedDuration::from_hours(hours));
        let all = calls.iter().zip(approvals).zip(by).zip(ago);
        all.map(|(((call, approval), by), at)| PastDecision { call: call.id.clone(), approval, by, at })
            .collect()
    };
    insta::assert_snapshot!(
        "stored_decisions",
        at_all_sizes(|screen| {
            let messages =
                vec![Message::user("go"), reply.clone(), Message::ToolReturns { returns: returns.clone() }];
            let decided = decided(&screen);
            screen.notice(ServerMessage::Transcript { messages: shared(messages), decided }).shot()
        })
    );
}

#[test]
fn stored_calls_look_like_live_ones() {
    let shell = call(2, "shell", json!({ "command": "make" }));
    let denied = call(3, "shell", json!({ "command": "rm x" }));
    let ends = [
        changed(1, OLD, NEW),
        said(2, ReturnStatus::Failed, "exit 2", "exit 2\nmake: error\n"),
        said(3, ReturnStatus::Denied, "denied by you: not that one", "The user said no."),
    ];
    let calls = [edit(), shell, denied];
    let part = |call: &ToolCall| AssistantPart::new(PartKind::ToolCall(call.clone()));
    let reply = Message::Assistant(AssistantMessage {
        parts: calls.iter().map(part).collect(),
        asked: String::new(),
        model: String::new(),
        stop: StopReason::new(StopKind::ToolUse),
    });
    let messages = vec![Message::user("go"), reply, Message::ToolReturns { returns: ends.to_vec() }];
    let stored = Screen::open(80, 24)
        .notice(ServerMessage::Transcript { messages: shared(messages), decided: Vec::new() })
        .shot();
    let mut live = Screen::open(80, 24).prompted("go");
    for (call, end) in calls.iter().zip(ends) {
        live = live
            .event(Event::ToolCall { call: call.clone() })
            .event(Event::ToolReturn { call: call.clone(), returned: end });
    }
    let transcript = |shot: &str| shot.lines().skip(2).take(19).map(str::to_owned).collect::<Vec<_>>();
    let (stored, live) = (transcript(&stored), transcript(&live.shot()));
    assert!(stored.iter().any(|line| line.contains("denied by you: not that one")), "{stored:#?}");
    // Only a live call knows how long it took.
    let untimed = |line: &String| line.replace("  0s", "").trim_end().to_owned();
    assert_eq!(stored, live.iter().map(untimed).collect::<Vec<_>>());
}

#[test]
fn outcomes_are_in_words() {
    let row = |end: ToolReturn| {
        let ran = call(1, "shell", json!({ "command": "x" }));
        let shot = self::ran(Screen::open(80, 24).prompted("go"), &ran, end).shot();
        shot.lines().find(|line| line.contains("shell")).unwrap().to_owned()
    };
    for (status, words, expected) in [
        (ReturnStatus::Ok, "12 files", "✓ 12 files"),
        (ReturnStatus::Ok, "", "✓  "),
        (ReturnStatus::Failed, "exit 3", "✗ exit 3"),
        (ReturnStatus::Failed, "", "✗ failed"),
        (ReturnStatus::Denied, "denied by yolo", "✗ denied by yolo"),
    ] {
        let row = row(said(1, status, words, "a\nb\nc\n"));
        assert!(row.contains(expected) && !row.contains("3 lines") && !row.contains(" B"), "{row}");
    }
}

#[test]
fn a_failed_command_shows_the_end_of_its_output_in_its_colours() {
    let make = call(1, "shell", json!({ "command": "make" }));
    let output: String = (1..=30).map(|n| format!("\u{1b}[31mstep {n}\u{1b}[0m\u{1b}[2K\n")).collect();
    let end = said(1, ReturnStatus::Failed, "exit 2", &format!("exit 2\n{output}"));
    let mut screen = ran(Screen::open(80, 24).prompted("go"), &make, end);
    let shot = screen.shot();
    assert!(
        shot.contains("step 30") && shot.contains("… 20 lines before") && !shot.contains("step 20"),
        "{shot}"
    );
    assert!(!shot.contains('␛') && shot.matches("exit 2").count() == 1, "{shot}");
    let row = shot.lines().position(|line| line.contains("step 30")).unwrap();
    let cell = screen.painted()[(5, u16::try_from(row).unwrap())].clone();
    assert_eq!((cell.symbol(), cell.fg), ("s", Color::Indexed(1)));
}

#[test]
fn a_row_says_what_ran_and_how_much_of_it() {
    let request = diff_request(1, 1);
    let asked = call(1, "edit_file", request.args.clone());
    let shell = shell_request(2, "rm -r build", Risk::Medium);
    let approve = |args| Approval::to(co::message::ToolName::new("shell"), args);
    let mut screen = Screen::open(80, 24)
        .prompted("go")
        .event(Event::ToolCall { call: asked.clone() })
        .event(Event::ToolCall { call: call(2, "shell", shell.args.clone()) })
        .asked(request.clone())
        .asked(shell);
    let args = json!({ "command": "rm -r build/tmp" });
    for (number, approval) in [(1, Approval::to(asked.name.clone(), json!({}))), (2, approve(args.clone()))] {
        let settled = Settlement::Decided { approval, by: Decider::Tui };
        screen = screen.event(Event::ApprovalSettled { request: id(number), settled });
    }
    let Preview::Diff { lines, .. } = request.plan.preview else { panic!("a diff") };
    let done = CallReport { change: lines, hunks_asked: Some(4), ..CallReport::default() };
    let end = ToolReturn { done: Some(Box::new(done)), ..returned(1, ReturnStatus::Ok, "ok") };
    let screen = screen.event(Event::ToolReturn { call: asked, returned: end });
    let ran = call(2, "shell", args);
    let mut screen = screen.event(Event::ToolRunning { call: ran.clone() }).event(Event::ToolReturn {
        call: ran,
        returned: said(2, ReturnStatus::Ok, "no output", "[no output]"),
    });
    let shot = screen.shot();
    assert!(shot.contains("+1 -1") && shot.contains("1 of 4 hunks applied"), "{shot}");
    assert!(shot.contains("rm -r build/tmp") && shot.contains("approved with changes by you"), "{shot}");
}

fn broken() -> TurnEnd {
    TurnEnd::Failed { error: ProviderError::new(ErrorClass::Truncated, "the connection was closed") }
}

#[test]
fn a_reply_that_breaks_off_for_good_stays() {
    let half =
        || Screen::open(80, 24).prompted("go").text("The first half of a re").event(Event::PartialReset);
    let mut ended = half().event(Event::TurnEnded { end: broken() });
    let shot = ended.shot();
    assert!(shot.contains("The first half of a re") && shot.contains("the reply was cut off here"), "{shot}");
    let mut again = half().text("The whole reply.").event(Event::TurnEnded { end: TurnEnd::Completed });
    let shot = again.shot();
    assert!(!shot.contains("first half") && shot.contains("The whole reply."), "{shot}");
    assert!(!shot.contains("was cut off"), "{shot}");
    let mut nothing = Screen::open(80, 24).prompted("go").event(Event::TurnEnded { end: broken() });
    assert!(!nothing.shot().contains("was cut off"));
}

#[test]
fn the_status_says_what_goes_on() {
    let status = |mut screen: Screen| screen.shot().lines().nth(23).unwrap().to_owned();
    let asked = || Screen::open(80, 24).prompted("go");
    assert!(status(asked()).contains("no answer yet"));
    assert!(status(asked().text("a")).contains("answering"));
    assert!(status(asked().thinking("a")).contains("thinking"));
    assert!(status(asked().wait(29_000)).contains("no answer yet"));
    assert!(status(asked().wait(30_000)).contains("no answer for 30s"));
    assert!(status(asked().wait(20_000).text("a").wait(20_000)).contains("answering"));
    let shell = call(1, "shell", json!({ "command": "make" }));
    let ran = || {
        asked()
            .event(Event::ToolCall { call: shell.clone() })
            .event(Event::ToolRunning { call: shell.clone() })
    };
    assert!(status(ran().wait(60_000)).contains("1 running"), "a command may take its time");
}

#[test]
fn a_sent_paste_shows_the_words_behind_it() {
    let pasted: String = (1..=500).map(|n| format!("log line {n}\n")).collect();
    let screen = Screen::open(80, 24).keys("why").paste(&pasted).keys("does<space>it<space>fail<ret>");
    let sent = format!("why{pasted}does it fail");
    let mut screen = screen.prompted(&sent);
    let shot = screen.shot();
    assert!(shot.contains("why[pasted 500 lines, 6.3 kB]does it fail"), "{shot}");
    let mut whole = screen.keys("<c-o>");
    assert!(whole.shot().contains("log line 500"));
    // A restart loses which text was pasted.
    let stored =
        ServerMessage::Transcript { messages: vec![Message::user(sent).into()], decided: Vec::new() };
    let shot = Screen::open(80, 60).notice(stored).shot();
    assert!(
        shot.contains("whylog line 1") && shot.contains("does it fail") && shot.contains("more lines"),
        "{shot}"
    );
}

#[test]
fn the_notice_of_new_lines_covers_no_text_and_counts_lines() {
    let text: String = (1..=60).map(|n| format!("- item {n}\n")).collect();
    let mut screen = Screen::open(80, 24).prompted("go").text(&text).wait(10).keys("<pgup>");
    let before = screen.shot();
    assert!(before.lines().nth(21).unwrap().contains("↓ Ctrl+End"), "{before}");
    let mut more = screen.text("- item 61\n- item 62\n- item 63\n").wait(10);
    let after = more.shot();
    assert!(after.lines().nth(21).unwrap().contains("↓ 3 new lines"), "{after}");
    let pane = |shot: &str| shot.lines().skip(2).take(19).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(pane(&before), pane(&after));
    let column =
        u16::try_from(after.lines().nth(21).unwrap().chars().position(|c| c == '↓').unwrap()).unwrap();
    assert!(more.click(column, 21).model.transcript.follows());
}

fn shared(messages: Vec<Message>) -> Vec<Arc<Message>> {
    messages.into_iter().map(Arc::new).collect()
}
