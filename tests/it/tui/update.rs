//! The effects of keys, without a terminal: requests that are sent, and those that never are.

use std::time::Duration;

use co::agent::port::{Event, Op, Settlement};
use co::approval::{Approval, Decider, Remember};
use co::frontend::Lifecycle;
use co::frontend::protocol::{ClientQuery, ClientRequest, Privacy, ServerMessage};
use co::history::TurnEnd;
use co::message::{Message, ReturnStatus, ToolName, UserPart};
use co::provider::ErrorClass;
use co::tool::Risk;
use co::tui::{Cmd, Fold, Input};
use proptest::prelude::*;
use serde_json::json;

use crate::tui::kit::{
    Screen, approved, asked, call, decided, diff_request, header, id, line, returned, round, shell_request,
};

/// A running turn with one request on the screen, past its guard.
fn asking(request: co::approval::Request) -> Screen {
    Screen::open(80, 24).prompted("go").asked(request).wait(600)
}

fn medium() -> Screen {
    asking(shell_request(1, "ls", Risk::Medium))
}

fn high() -> Screen {
    asking(shell_request(1, "rm -rf build", Risk::High))
}

fn no(reason: Option<&str>) -> ClientRequest {
    decided(1, Approval::Deny { reason: reason.map(str::to_owned) })
}

fn instead(args: serde_json::Value) -> ClientRequest {
    let instead = Some((ToolName::new("shell"), args));
    decided(1, Approval::Approve { instead, remember: Remember::Once, note: None, rule: None })
}

#[test]
fn decisions() {
    let yes = || decided(1, Approval::yes());
    let cases: Vec<(&str, Screen, &str, Vec<ClientRequest>)> = vec![
        ("yes", medium(), "<tab>y", vec![yes()]),
        ("yes by Alt+A", medium(), "<a-a>y", vec![yes()]),
        ("no focus, no decision", medium(), "yna", vec![]),
        ("nothing that is a reflex", medium(), "<tab><ret><space><ret><tab><tab><space>", vec![]),
        ("decided once", medium(), "<tab>yyynae<ret>", vec![yes()]),
        ("how much this session", medium(), "<tab>a", vec![asked(ClientQuery::DraftRule { request: id(1) })]),
        ("no", medium(), "<tab>n<ret>", vec![no(None)]),
        ("no, with a reason", medium(), "<tab>nnot yet y<ret>", vec![no(Some("not yet y"))]),
        ("no taken back", medium(), "<tab>nbecause<esc>y", vec![yes()]),
        ("put off", medium(), "<tab><esc>", vec![decided(1, Approval::Later)]),
        ("HIGH needs two", high(), "<tab>y", vec![]),
        ("HIGH held down is no second key", high(), "<tab>yyyyyy", vec![]),
        ("HIGH has no session", high(), "<tab>aa", vec![]),
        ("clipped", asking(diff_request(1, 80)), "<tab>ye<c-s>", vec![]),
        ("edited", medium(), "<tab>e<down><end><bs> -la\"<c-s>", vec![instead(json!({"command": "ls -la"}))]),
        ("edited to nonsense", medium(), "<tab>e<c-k><c-s>", vec![]),
        ("edited to a list", medium(), "<tab>e<c-k><c-k><c-k><c-k><c-k><c-k>[1]<c-s>", vec![]),
        ("edited to the same", medium(), "<tab>e<c-s>", vec![yes()]),
        ("editing taken back", medium(), "<tab>ex<esc>y", vec![yes()]),
    ];
    for (name, screen, keys, expected) in cases {
        let screen = screen.keys(keys);
        assert_eq!(screen.asks(), expected.iter().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn high_is_approved_by_a_second_key_after_a_moment() {
    let screen = high().keys("<tab>y").wait(1_100).keys("y");
    assert_eq!(screen.asks(), [&decided(1, Approval::yes())]);
    let screen = high().keys("<tab>e<c-s>").wait(1_100).keys("<c-s>");
    assert_eq!(screen.asks(), [&decided(1, Approval::yes())]);
    let screen = high().keys("<tab>y").wait(600).keys("<esc>").wait(1_100).keys("y");
    assert!(screen.asks().is_empty(), "taken back in between");
}

#[test]
fn what_was_clipped_is_approved_after_scrolling_through() {
    let pages = "<pgdn>".repeat(40);
    for whole in ["", "v"] {
        let screen = asking(diff_request(1, 80)).keys(&format!("<tab>{whole}{pages}y"));
        assert_eq!(screen.asks(), [&decided(1, Approval::yes())], "{whole:?}");
    }
    let screen = asking(diff_request(1, 80)).keys("<tab><pgdn>y");
    assert!(screen.asks().is_empty(), "half of it");
    let screen =
        asking(diff_request(1, 80)).keys(&format!("<tab>{pages}")).resize(60, 14).wait(600).keys("y");
    assert_eq!(screen.asks().len(), 1, "seen stays seen");
    let screen = asking(diff_request(1, 30)).keys("<tab><pgdn>").resize(50, 14).keys("y");
    assert!(screen.asks().is_empty(), "half seen is seen anew");
}

#[test]
fn a_card_takes_no_key_at_first() {
    let fresh = || Screen::open(80, 24).prompted("go").asked(shell_request(1, "ls", Risk::Medium)).wait(400);
    assert!(fresh().keys("<tab>yna<esc>").asks().is_empty());
    assert!(fresh().keys("<tab>yna<esc>").wait(400).keys("y").asks().is_empty(), "each key begins it anew");
    assert_eq!(fresh().keys("<tab>yna<esc>").wait(600).keys("y").asks().len(), 1);
    // The next card takes the place of the first: a double tap must not decide it.
    let settled = Settlement::Decided { approval: Approval::yes(), by: Decider::Tui };
    let screen = medium()
        .asked(shell_request(2, "pwd", Risk::Medium))
        .wait(600)
        .keys("<tab><ret>")
        .wait(600)
        .keys("y")
        .event(Event::ApprovalSettled { request: id(1), settled })
        .keys("y");
    assert_eq!(screen.asks(), [&decided(1, Approval::yes())]);
    assert_eq!(screen.wait(1_100).keys("y").wait(300).asks().len(), 2);
}

#[test]
fn cards_are_moved_through_and_postponed() {
    let two = || {
        let both = medium().asked(shell_request(2, "pwd", Risk::Medium)).wait(600);
        both.keys("<tab>").wait(600).keys("<ret>").wait(600).keys("<down>").wait(600)
    };
    assert_eq!(two().keys("y").asks(), [&decided(2, Approval::yes())]);
    assert_eq!(two().keys("<up>").wait(600).keys("y").asks(), [&decided(1, Approval::yes())]);
    let off = two().keys("<esc>").wait(600).keys("<esc>");
    assert_eq!(off.asks(), [&round(&[1, 2], &Approval::Later)]);
    assert_eq!((off.model.cards.count(), off.model.cards.current().is_some()), (2, false));
    let later = Settlement::Decided { approval: Approval::Later, by: Decider::Tui };
    let back = off
        .event(Event::ApprovalSettled { request: id(1), settled: later })
        .event(Event::TurnEnded { end: TurnEnd::Deferred })
        .notice(ServerMessage::Idle)
        .keys("typed<a-a>")
        .wait(600)
        .keys("<ret>")
        .wait(600)
        .keys("y");
    assert_eq!(back.asks().last(), Some(&&decided(1, Approval::yes())));
    assert_eq!(back.model.composer.editor.text(), "typed");
    // Between turns Esc only postpones the card: it waits already.
    let waiting = Screen::open(80, 24)
        .notice(ServerMessage::Waiting { requests: vec![shell_request(1, "ls", Risk::Medium)] })
        .wait(600)
        .keys("<tab><esc>");
    assert!(waiting.asks().is_empty());
}

#[test]
fn a_decision_that_did_not_count_can_be_said_again() {
    let screen = medium().keys("<tab>y").notice(ServerMessage::Idle).wait(1_100).keys("y");
    assert_eq!(screen.asks(), [&decided(1, Approval::yes()), &decided(1, Approval::yes())]);
}

/// A name, the screen before, keys, what is asked, what the screen then says.
type Case = (&'static str, Screen, &'static str, Vec<ClientRequest>, Vec<&'static str>);

#[test]
fn lines_are_sent_and_queued() {
    let cases: Vec<Case> = vec![
        ("a prompt", Screen::open(80, 24), "hello<ret>", vec![line("hello")], vec![]),
        ("nothing", Screen::open(80, 24), " <ret><ret>", vec![], vec![]),
        ("backslash", Screen::open(80, 24), "a\\<ret>b<ret>", vec![line("a\nb")], vec![]),
        ("a key of help is text", Screen::open(80, 24), "why?<ret>", vec![line("why?")], vec![]),
        ("queued", Screen::open(80, 24).prompted("go"), "more<ret>", vec![line("more")], vec!["more"]),
        (
            "a command is not",
            Screen::open(80, 24).prompted("go"),
            "/status<ret>",
            vec![line("/status")],
            vec![],
        ),
        ("nor a shell line", Screen::open(80, 24).prompted("go"), "!ls<ret>", vec![line("!ls")], vec![]),
        (
            "taken back",
            Screen::open(80, 24).prompted("go"),
            "one<ret>two<ret><a-up>",
            vec![
                line("one"),
                line("two"),
                ClientRequest::Op(Op::TakeBack { parts: vec![UserPart::Text { text: "two".into() }] }),
            ],
            vec!["one"],
        ),
    ];
    let earlier = ServerMessage::Inputs { lines: vec!["old".to_owned(), "older still".to_owned()] };
    let recalled = Screen::open(80, 24).keys("new<ret>").notice(earlier).keys("<up><up>");
    assert_eq!(recalled.model.composer.editor.text(), "older still");
    for (name, screen, keys, asks, queue) in cases {
        let screen = screen.keys(keys);
        assert_eq!(screen.asks(), asks.iter().collect::<Vec<_>>(), "{name}");
        assert_eq!(screen.model.queue, queue, "{name}");
    }
    let taken_up = Screen::open(80, 24).prompted("go").keys("more<ret>").prompted("more");
    assert!(taken_up.model.queue.is_empty());
}

#[test]
fn pastes_come_out_whole() {
    let big = "data\n".repeat(100_000);
    let screen = Screen::open(80, 24).keys("see ").paste(&big).keys("<ret>");
    assert_eq!(screen.asks(), [&line(&format!("see {big}"))]);
    let screen = Screen::open(80, 24).paste("a\r\nb\0c\u{1b}").keys("<ret>");
    assert_eq!(screen.asks(), [&line("a\nbc\u{1b}")]);
}

#[test]
fn the_interrupt_contract() {
    let stop = || ClientRequest::Op(Op::Interrupt);
    let running = || Screen::open(80, 24).prompted("go");
    let shell = || {
        Screen::open(80, 24)
            .notice(ServerMessage::ShellBegan { command: "yes".into(), privacy: Privacy::Shared })
    };
    let retrying = || {
        running().event(Event::Retry {
            class: ErrorClass::Network,
            message: "no route".into(),
            wait: Duration::from_secs(9),
            attempt: 1,
            of: 3,
            then: None,
        })
    };
    let cases: Vec<(&str, Screen, &str, Vec<ClientRequest>)> = vec![
        ("Esc stops", running(), "<esc>", vec![stop()]),
        ("Ctrl+C stops", running(), "<c-c>", vec![stop()]),
        ("twice quits", running(), "<c-c><c-c>", vec![stop(), ClientRequest::Close]),
        ("Esc closes help first", running(), "?<esc>", vec![]),
        ("then stops", running(), "?<esc><esc>", vec![stop()]),
        ("while a card asks", medium(), "<tab><c-c>", vec![stop()]),
        ("while a reason is written", medium(), "<tab>nbecause<c-c>", vec![stop()]),
        ("while backing off", retrying(), "<esc>", vec![stop()]),
        ("retry now, once", retrying(), "<a-r><a-r>", vec![ClientRequest::Op(Op::RetryNow)]),
        ("a command", shell(), "<c-c>", vec![ClientRequest::StopShell]),
        // A prompt sent a moment ago may run already; the owner drops the interrupt where nothing runs.
        ("idle, as far as known", Screen::open(80, 24), "<esc><c-c>", vec![stop(), stop()]),
        ("idle, twice", Screen::open(80, 24), "<c-c><c-c>", vec![stop(), ClientRequest::Close]),
        (
            "a draft is cleared and kept",
            Screen::open(80, 24),
            "draft<c-c>",
            vec![ClientRequest::Remember { text: "draft".into() }],
        ),
        ("typing ends the two seconds", Screen::open(80, 24), "<c-c>x<bs><c-c>", vec![stop(), stop()]),
        ("Ctrl+D deletes in a text", Screen::open(80, 24), "ab<left><c-d><ret>", vec![line("a")]),
        ("Ctrl+D quits", Screen::open(80, 24), "<c-d>", vec![ClientRequest::Close]),
        ("Ctrl+D does not quit with a text", Screen::open(80, 24), "x<c-d>", vec![]),
    ];
    for (name, screen, keys, expected) in cases {
        let screen = screen.keys(keys);
        assert_eq!(screen.asks(), expected.iter().collect::<Vec<_>>(), "{name}");
    }
    let cleared = Screen::open(80, 24).keys("draft<c-c>").keys("<up>");
    assert_eq!(cleared.model.composer.editor.text(), "draft");
    let slow = Screen::open(80, 24).keys("<c-c>").wait(2_100).keys("<c-c>");
    assert!(!slow.asks().contains(&&ClientRequest::Close), "two seconds apart is not twice");
    let shell = ServerMessage::ShellBegan { command: "ls".into(), privacy: Privacy::Shared };
    type ScreenStep = fn(Screen, ServerMessage) -> Screen;
    let between: [(&str, ScreenStep); 3] = [
        ("a paste", |screen, _| screen.paste("x").keys("<bs>")),
        ("a turn", |screen, _| screen.prompted("go")),
        ("a command", |screen, shell| screen.notice(shell)),
    ];
    for (name, between) in between {
        let armed = Screen::open(80, 24).keys("<c-c>");
        let mut after = between(armed, shell.clone());
        assert!(!after.shot().contains("again quits"), "{name}");
        after.press("<c-c>");
        assert!(!after.asks().contains(&&ClientRequest::Close), "{name} ends the two seconds");
    }
}

#[test]
fn ways_out() {
    let over = |screen: &Screen| screen.cmds.contains(&Cmd::Exit);
    let bye = |screen: Screen| screen.notice(ServerMessage::Goodbye { lines: vec!["saved\u{1b}".into()] });
    assert!(over(&bye(Screen::open(80, 24))), "whenever the owner says so");
    let closing = Screen::open(80, 24).keys("<c-d>");
    assert!(!over(&closing) && closing.model.wake_at().is_some());
    assert!(over(&closing.wait(3_100)), "an owner that does not answer is not waited for");
    assert!(over(&Screen::open(80, 24).keys("<c-d><c-c>")), "asked again, it leaves at once");
    let mut gone = Screen::open(80, 24).keys("typed");
    gone.feed(Input::Hangup);
    assert_eq!(gone.asks(), [&ClientRequest::Draft { text: "typed".into() }, &ClientRequest::Close]);
    assert!(over(&gone.wait(900)), "within a second");
    let mut hurry = Screen::open(80, 24).keys("<c-d>");
    hurry.feed(Input::Hangup);
    assert!(over(&hurry.wait(900)));
    assert_eq!(Screen::new(20, 5).keys("<c-c>").model.life, Lifecycle::Closing { until_ms: 4_000 });
}

#[test]
fn drafts_are_kept_each_second() {
    let screen = Screen::open(80, 24).keys("ab").wait(600).keys("c").wait(300);
    assert!(screen.asks().is_empty());
    let screen = screen.wait(200);
    assert_eq!(screen.asks(), [&ClientRequest::Draft { text: "abc".into() }]);
    assert_eq!(screen.model.wake_at(), None);
    let screen = screen.keys("<ret>").wait(1_100);
    assert_eq!(screen.asks()[1..], [&line("abc"), &ClientRequest::Draft { text: String::new() }]);
    let restored = Screen::open(80, 24).notice(ServerMessage::Draft { text: "old".into() });
    assert_eq!(restored.model.composer.editor.text(), "old");
    let typed = Screen::open(80, 24).keys("new").notice(ServerMessage::Draft { text: "old".into() });
    assert_eq!(typed.model.composer.editor.text(), "new");
}

#[test]
fn nothing_wakes_an_idle_screen() {
    let done = Event::TurnEnded { end: TurnEnd::Completed };
    let cases = [
        ("new", Screen::open(80, 24), false),
        ("running", Screen::open(80, 24).prompted("go"), true),
        ("done", Screen::open(80, 24).prompted("go").event(done), false),
        ("waiting for the person", medium(), false),
        (
            "a command",
            Screen::open(80, 24)
                .notice(ServerMessage::ShellBegan { command: "x".into(), privacy: Privacy::Shared }),
            true,
        ),
    ];
    for (name, screen, wakes) in cases {
        assert_eq!(screen.wait(10_000).wait(1_000).model.wake_at().is_some(), wakes, "{name}");
    }
}

#[test]
fn a_void_reply_leaves_no_trace() {
    let mut screen = Screen::open(80, 24)
        .prompted("go")
        .thinking("hm")
        .text("half an ans")
        .event(Event::ToolArgs { index: 0, name: "shell".into(), delta: "{\"comm".into() })
        .event(Event::PartialReset)
        .text("anew");
    let shot = screen.shot();
    assert!(
        shot.contains("go")
            && !shot.contains("half")
            && !shot.contains("thinking")
            && !shot.contains("shell  ")
    );
    let mut kept = Screen::open(80, 24)
        .prompted("go")
        .text("first")
        .event(Event::TextCommitted { text: "first".into() })
        .event(Event::ToolCall { call: call(1, "read_file", json!({"path": "a"})) })
        .text("second")
        .event(Event::PartialReset)
        .text("anew");
    let shot = kept.shot();
    assert!(shot.contains("first") && shot.contains("read_file") && !shot.contains("second"));
}

#[test]
fn a_settled_request_leaves_one_line() {
    let settle = |screen: Screen, settled| screen.event(Event::ApprovalSettled { request: id(1), settled });
    let by = |approval, by| Settlement::Decided { approval, by };
    let cases = [
        (by(Approval::yes(), Decider::Tui), "approved by you"),
        (by(Approval::yes(), Decider::Cli), "approved by you (co approvals)"),
        (by(Approval::Deny { reason: Some("no\u{1b}pe".into()) }, Decider::Tui), "denied by you: no␛pe"),
        (Settlement::Withdrawn, "withdrawn because the turn was stopped"),
        (Settlement::Superseded, "replaced by a new request"),
    ];
    for (settled, words) in cases {
        let mut screen = settle(medium(), settled);
        let shot = screen.shot();
        let line = shot.lines().find(|line| line.contains(words));
        assert!(line.is_some_and(|line| line.contains("shell")), "{words}: {shot}");
        assert_eq!(screen.model.cards.count(), 0);
    }
}

#[test]
fn a_call_has_one_row_also_when_the_turn_is_resumed() {
    let again = || Event::ToolCall { call: call(1, "write_file", json!({"path": "x.md"})) };
    let denied = Settlement::Decided { approval: Approval::Deny { reason: None }, by: Decider::Tui };
    let mut screen = Screen::open(80, 24)
        .prompted("go")
        .event(again())
        .asked(diff_request(1, 1))
        .event(Event::TurnEnded { end: TurnEnd::Deferred })
        .event(Event::ApprovalSettled { request: id(1), settled: denied })
        .notice(ServerMessage::TurnBegan)
        .event(again())
        .event(Event::ToolReturn {
            call: call(1, "write_file", json!({})),
            returned: returned(1, ReturnStatus::Denied, "no"),
        });
    assert_eq!(screen.shot().matches("write_file").count(), 1);
}

#[test]
fn the_last_answer_stands_after_exit() {
    let screen = Screen::open(80, 24)
        .notice(ServerMessage::Transcript {
            messages: vec![Message::user("before").into()],
            decided: Vec::new(),
        })
        .prompted("go")
        .event(Event::TextCommitted { text: "**Done**, see `a\u{1b}`.".into() })
        .notice(ServerMessage::Goodbye { lines: vec!["co: saved\u{7}".into()] });
    let lines = co::tui::ExitLines::of(&screen.model);
    assert_eq!(lines.text(), "● Done, see a␛.\nco: saved␇\n");
    let long = "line\n\n".repeat(100);
    let screen = Screen::open(80, 24).event(Event::TextCommitted { text: long });
    let lines = co::tui::ExitLines::of(&screen.model);
    assert_eq!((lines.answer.len(), lines.answer[0].as_str()), (41, "… 159 lines before"));
}

/// Keys of every kind but the ones that approve.
fn harmless_key() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "<ret>", "<esc>", "<space>", "<tab>", "<a-a>", "<up>", "<down>", "<left>", "<pgup>", "<pgdn>", "n",
        "e", "v", "w", "x", "?", "<c-c>", "<c-o>", "<a-t>", "<bs>", "<c-k>", "<c-w>", "<a-ret>", "<c-home>",
        "<c-end>", "<a-r>", "<a-up>", "{", "日",
    ])
}

fn hostile() -> impl Strategy<Value = String> {
    "[\\x00-\\x1f\\x7f-\\x9fa-c \\n|*`#>\\[\\]&;\u{200d}\u{202e}\u{fe0f}👩日🇩e\u{301}-]{0,60}"
}

#[derive(Debug, Clone)]
enum Step {
    Key(&'static str),
    Text(String),
    Thinking(String),
    Args(String),
    Ask(u32, usize),
    Status(String),
    Local(String),
    Shell(String),
    Commit(String),
    Prompt(String),
    Paste(String),
    Reset,
    End,
    Resize(u16, u16),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => harmless_key().prop_map(Step::Key),
        3 => hostile().prop_map(Step::Text),
        1 => hostile().prop_map(Step::Thinking),
        1 => hostile().prop_map(Step::Args),
        1 => (1u32..5, 0usize..50).prop_map(|(number, lines)| Step::Ask(number, lines)),
        1 => hostile().prop_map(Step::Status),
        1 => hostile().prop_map(Step::Local),
        1 => hostile().prop_map(Step::Shell),
        1 => hostile().prop_map(Step::Commit),
        1 => hostile().prop_map(Step::Prompt),
        1 => hostile().prop_map(Step::Paste),
        1 => Just(Step::Reset),
        1 => Just(Step::End),
        1 => (1u16..150, 1u16..45).prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        2 => (0u64..3_000).prop_map(Step::Wait),
    ]
}

fn take(screen: Screen, step: Step) -> Screen {
    match step {
        Step::Key(key) => screen.keys(key),
        Step::Text(text) => screen.text(&text),
        Step::Thinking(text) => screen.thinking(&text),
        Step::Args(delta) => screen.event(Event::ToolArgs { index: 0, name: delta.clone(), delta }),
        Step::Ask(number, lines) => screen.asked(diff_request(number, lines)),
        Step::Status(text) => screen.event(Event::Status { text }),
        Step::Local(text) => screen.notice(ServerMessage::Local {
            title: text.clone(),
            text,
            tone: co::frontend::protocol::Tone::Warning,
        }),
        Step::Shell(text) => screen
            .notice(ServerMessage::ShellBegan { command: text.clone(), privacy: Privacy::Shared })
            .notice(ServerMessage::ShellOutput { text: text.clone() })
            .notice(ServerMessage::ShellEnded { outcome: text, took: Duration::ZERO }),
        Step::Commit(text) => screen.event(Event::TextCommitted { text }),
        Step::Prompt(text) => screen.prompted(&text),
        Step::Paste(text) => screen.paste(&text),
        Step::Reset => screen.event(Event::PartialReset),
        Step::End => screen.event(Event::TurnEnded { end: TurnEnd::Completed }),
        Step::Resize(columns, rows) => screen.resize(columns, rows),
        Step::Wait(ms) => screen.wait(ms),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    /// Whatever happens: no panic, no control character on the screen, no yes.
    #[test]
    fn no_reflex_approves_and_no_text_escapes(steps in proptest::collection::vec(step(), 1..40)) {
        let mut screen = Screen::open(80, 24);
        for step in steps {
            screen = take(screen, step);
            let shot = screen.shot();
            prop_assert!(!shot.contains(|c: char| c.is_control() && c != '\n'), "{shot:?}");
            prop_assert!(!shot.contains(['\u{202e}', '\u{9b}']), "{shot:?}");
        }
        for ask in screen.asks() {
            prop_assert!(approved(ask).next().is_none(), "{ask:?}");
        }
        let exit = co::tui::ExitLines::of(&screen.model).text();
        prop_assert!(!exit.contains(|c: char| c.is_control() && c != '\n'));
    }
}

#[test]
fn folding_is_remembered() {
    let screen = Screen::open(80, 24).keys("<c-o><a-t><a-t>");
    assert_eq!((screen.model.details, screen.model.thinking), (Fold::Open, Fold::Folded));
    assert_eq!(screen.model.header, Some(header()));
}

/// A key held down: the keyboard repeats it after `first_ms`, and then thirty times a second.
fn held(mut screen: Screen, key: &str, first_ms: u64) -> Screen {
    screen = screen.keys(key).wait(first_ms);
    for _ in 0..60 {
        screen = screen.keys(key).wait(33);
    }
    screen
}

#[test]
fn a_key_that_is_held_down_says_yes_once() {
    for first_ms in [250, 500, 660] {
        let screen = held(high().keys("<tab>"), "y", first_ms);
        assert_eq!(screen.asks(), Vec::<&ClientRequest>::new(), "HIGH, repeated after {first_ms}");
        assert_eq!(screen.wait(1_200).keys("y").asks(), [&decided(1, Approval::yes())], "once let go");
        let screen = held(high().keys("<tab>e"), "<c-s>", first_ms);
        assert_eq!(screen.asks(), Vec::<&ClientRequest>::new(), "HIGH, edited, repeated after {first_ms}");
        let screen = asking(shell_request(1, "ls", Risk::Medium)).keys("<tab>y");
        let next = screen.asked(shell_request(2, "rm notes", Risk::Medium)).keys("<tab>");
        let screen = held(next, "y", first_ms);
        assert_eq!(screen.asks(), [&decided(1, Approval::yes())], "the next card, repeated after {first_ms}");
    }
}

#[test]
fn half_a_yes_to_a_form_is_forgotten_when_it_is_left() {
    for between in ["<esc>e", "<tab>", "<f2>"] {
        let screen = high().keys("<tab>e<c-s>").keys(between).wait(2_000).keys("<c-s>");
        assert_eq!(screen.asks(), Vec::<&ClientRequest>::new(), "{between:?}");
    }
}
