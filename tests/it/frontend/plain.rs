//! The plain front end without a program around it: updates and lines in, text and asks out.

use std::time::Duration;

use co::agent::caps::{CapAnswer, CapQuestion};
use co::agent::port::{Event, Op, Settlement};
use co::approval::{Approval, Decider, Remember, Request, Taint};
use co::config::Cap;
use co::frontend::plain::{Input, Plain, Setup, Source};
use co::frontend::protocol::{
    ClientQuery, ClientRequest, Privacy, QueryAnswer, QueryId, ServerMessage, SessionLine, Tone, Update,
};
use co::history::{Limit, SessionId, TurnEnd};
use co::message::{DiffKind, DiffLine, Message, ReturnStatus, Source as CallSource, ToolName, UserPart};
use co::provider::{ErrorClass, ProviderError};
use co::tool::{Access, Preview, Question, Risk, Undo};
use proptest::prelude::*;
use serde_json::json;

use crate::tui::kit::{
    call, decided, decisions, diff_request, header, id, line, plan, returned, shell_request,
};

pub(super) const TERMINAL: Setup =
    Setup { source: Source::Terminal, echoes: true, shows_thoughts: false, has_editor: false };
pub(super) const PIPE: Setup =
    Setup { source: Source::Pipe, echoes: false, shows_thoughts: false, has_editor: false };

/// The front end, its clock, and all its output, with the typed lines where a terminal would show them.
pub(super) struct PlainFixture {
    pub(super) plain: Plain,
    setup: Setup,
    now_ms: u64,
    pub(super) text: String,
    pub(super) asks: Vec<ClientRequest>,
    /// The queries whether all is handled that have no answer yet.
    unhandled: Vec<QueryId>,
    pub(super) over: bool,
}

impl PlainFixture {
    pub(super) fn new(setup: Setup) -> Self {
        Self {
            plain: Plain::new(setup),
            setup,
            now_ms: 1_000,
            text: String::new(),
            asks: Vec::new(),
            unhandled: Vec::new(),
            over: false,
        }
    }

    /// One that knows its session and has nothing to do.
    pub(super) fn open(setup: Setup) -> Self {
        let mut front = Self::new(setup).notice(ServerMessage::Header(header())).notice(ServerMessage::Idle);
        front.text.clear();
        front
    }

    /// One whose turn runs and asks.
    pub(super) fn asking(request: Request) -> Self {
        Self::open(TERMINAL).say("go").prompted("go").asked(request).wait(100).wait(600)
    }

    pub(super) fn input(mut self, input: Input) -> Self {
        self.plain.take(self.now_ms, input);
        let turned = self.turn();
        if turned {
            self.plain.take(self.now_ms, Input::Asked { before: Vec::new(), begun: String::new() });
            self.turn();
        }
        self
    }

    pub(super) fn turn(&mut self) -> bool {
        let turned = self.plain.take_output();
        self.text.push_str(&turned.text);
        for ask in turned.asks {
            match ask {
                ClientRequest::Query { id, query: ClientQuery::Handled } => self.unhandled.push(id),
                ask => self.asks.push(ask),
            }
        }
        self.over |= turned.over;
        turned.question
    }

    pub(super) fn event(self, event: Event) -> Self {
        self.input(Input::Update(Box::new(Update::Event(event))))
    }

    /// A message that answers no line.
    pub(super) fn unrelated(self, notice: ServerMessage) -> Self {
        self.input(Input::Update(Box::new(Update::Message(notice))))
    }

    /// A message after which all is handled that was sent before it.
    pub(super) fn notice(mut self, notice: ServerMessage) -> Self {
        let answered = std::mem::take(&mut self.unhandled);
        answered.into_iter().fold(self.unrelated(notice), |front, id| {
            front.unrelated(ServerMessage::Answer { id, answer: QueryAnswer::Handled })
        })
    }

    pub(super) fn say(mut self, line: &str) -> Self {
        assert!(self.plain.listens(), "{line:?} is not wanted now:\n{}", self.text);
        if self.setup.echoes {
            self.text.push_str(&format!("{line}\n"));
        }
        self.input(Input::Line(line.to_owned()))
    }

    pub(super) fn wait(mut self, ms: u64) -> Self {
        self.now_ms += ms;
        self.input(Input::Tick)
    }

    pub(super) fn prompted(self, text: &str) -> Self {
        let parts = vec![UserPart::Text { text: text.to_owned() }];
        self.notice(ServerMessage::TurnBegan).event(Event::Prompted { parts })
    }

    pub(super) fn asked(self, request: Request) -> Self {
        self.event(Event::ApprovalNeeded { request })
    }

    pub(super) fn settled(self, number: u32, approval: Approval, by: Decider) -> Self {
        self.event(Event::ApprovalSettled {
            request: id(number),
            settled: Settlement::Decided { approval, by },
        })
    }

    pub(super) fn text(self, text: &str) -> Self {
        self.event(Event::TextDelta { text: text.to_owned() })
    }

    pub(super) fn ended(self, end: TurnEnd) -> Self {
        self.event(Event::TurnEnded { end })
    }

    pub(super) fn idle(self) -> Self {
        self.notice(ServerMessage::Idle)
    }
}

fn no(reason: Option<&str>) -> Approval {
    Approval::Deny { reason: reason.map(str::to_owned) }
}

fn instead(args: serde_json::Value) -> Approval {
    Approval::Approve {
        instead: Some((ToolName::new("shell"), args)),
        remember: Remember::Once,
        note: None,
        rule: None,
    }
}

fn written(path: &str, content: &str) -> Approval {
    Approval::to(ToolName::new("write_file"), json!({"path": path, "content": content}))
}

pub(super) fn ls() -> Request {
    shell_request(1, "ls", Risk::Medium)
}

fn rm() -> Request {
    shell_request(1, "rm -rf build", Risk::High)
}

/// A change of a file, whose content does not fit on a page.
fn long_file() -> Request {
    let mut request = diff_request(1, 300);
    request.plan.access = Access::Paths { reads: Vec::new(), writes: vec!["/w/notes/billing.md".into()] };
    request
}

fn long_command() -> Request {
    let mut request = ls();
    request.plan.preview = Preview::Text { text: "true\n".repeat(300) };
    request
}

fn tainted(request: Request) -> Request {
    let (arg, words) = ("/new".to_owned(), "PO: 4471-B".to_owned());
    Request { taint: vec![Taint { arg, words, source: CallSource::Program, from: None }], ..request }
}

#[test]
fn answers() {
    let cases: Vec<(&str, Request, &[&str], Vec<ClientRequest>)> = vec![
        ("yes", ls(), &["1"], vec![decided(1, Approval::yes())]),
        ("yes in a word", ls(), &[" Yes "], vec![decided(1, Approval::yes())]),
        ("reflexes", ls(), &["", "", " ", "y", "ok", "11", "1 ", ""], vec![decided(1, Approval::yes())]),
        ("nothing approves by itself", ls(), &["", "y", "ok", "yes please", "11"], vec![]),
        ("no", ls(), &["2", ""], vec![decided(1, no(None))]),
        ("no, with a reason", ls(), &["no", " not 1 "], vec![decided(1, no(Some("not 1")))]),
        ("later", ls(), &["4"], vec![decided(1, Approval::Later)]),
        ("all of it later", ls(), &["later all"], vec![ClientRequest::Op(Op::Defer)]),
        ("details, then yes", ls(), &["5", "1"], vec![decided(1, Approval::yes())]),
        ("HIGH needs two", rm(), &["1"], vec![]),
        ("HIGH is said", rm(), &["1", "<wait>", "yes"], vec![decided(1, Approval::yes())]),
        ("HIGH by 1 twice", rm(), &["1", "<wait>", "1"], vec![]),
        ("HIGH too soon", rm(), &["1", "yes"], vec![]),
        ("HIGH taken back", rm(), &["1", "<wait>", "", "yes"], vec![]),
        (
            "edited",
            ls(),
            &["3", "<wait>", r#"{"command":"ls -l"}"#, "<wait>", "yes"],
            vec![decided(1, instead(json!({"command": "ls -l"})))],
        ),
        (
            "edited field by field",
            ls(),
            &["3", "<wait>", "command=ls -a", "command=ls -l", "", "<wait>", "yes"],
            vec![decided(1, instead(json!({"command": "ls -l"})))],
        ),
        ("edited, and no yes", ls(), &["3", "<wait>", r#"{"command":"ls -l"}"#, "<wait>", "1"], vec![]),
        ("edited, and yes too soon", ls(), &["3", "<wait>", r#"{"command":"ls -l"}"#, "yes"], vec![]),
        (
            "edited, taken back, and the call as it was asked",
            ls(),
            &["3", "<wait>", r#"{"command":"ls -l"}"#, "<wait>", "", "<wait>", "1"],
            vec![decided(1, Approval::yes())],
        ),
        (
            "edited, taken back, and edited on",
            write_request(),
            &[
                "3",
                "<wait>",
                "path=b.md",
                "",
                "<wait>",
                "no",
                "<wait>",
                "3",
                "<wait>",
                "content.4=- sow oats",
                "",
                "<wait>",
                "yes",
            ],
            vec![decided(1, written("b.md", "# Today\n\n- sow peas\n- sow oats\n"))],
        ),
        (
            "a line of a text",
            write_request(),
            &["3", "<wait>", "content.3=- sow beans", "content.9=x", "content.0=x", "", "<wait>", "yes"],
            vec![decided(1, written("notes/today.md", "# Today\n\n- sow beans\n"))],
        ),
        ("edited to nonsense", ls(), &["3", "<wait>", "{", "[1]", "", "<wait>"], vec![]),
        (
            "edited to the same",
            ls(),
            &["3", "<wait>", r#"{"command":"ls"}"#, "<wait>", "yes"],
            vec![decided(1, Approval::yes())],
        ),
        ("edited to the same, and no yes", ls(), &["3", "<wait>", r#"{"command":"ls"}"#, "<wait>"], vec![]),
        ("edited too soon", ls(), &["3", r#"{"command":"ls"}"#], vec![]),
        (
            "HIGH edited",
            rm(),
            &["3", "<wait>", r#"{"command":"rm x"}"#, "<wait>", "yes", "<wait>", "yes"],
            vec![decided(1, instead(json!({"command": "rm x"})))],
        ),
        ("HIGH edited, one yes", rm(), &["3", "<wait>", r#"{"command":"rm x"}"#, "<wait>", "yes"], vec![]),
        ("long unseen", diff_request(1, 300), &["1", "3", "5", "1"], vec![]),
        ("long seen", diff_request(1, 300), &["5", "5", "1"], vec![decided(1, Approval::yes())]),
        ("a file unread", long_file(), &["1", "Y"], vec![decided(1, Approval::yes())]),
        ("a file unread, by another letter", long_file(), &["y", "yes", "Yes", "1"], vec![]),
        ("HIGH unread", Request { risk: Risk::High, ..long_file() }, &["Y", "<wait>", "yes", "Y"], vec![]),
        ("untrusted text unread", tainted(long_file()), &["Y", "1"], vec![]),
        ("a command unread", long_command(), &["Y", "1"], vec![]),
        ("an unread file is not edited", long_file(), &["3", "{}", "yes"], vec![]),
        ("commands go on", ls(), &["/tools", "!ls"], vec![line("/tools"), line("!ls")]),
    ];
    for (name, request, lines, expected) in cases {
        let mut front = PlainFixture::asking(request);
        front.asks.clear();
        for line in lines {
            front = if *line == "<wait>" { front.wait(600) } else { front.say(line) };
        }
        assert_eq!(front.asks, expected, "{name}\n{}", front.text);
    }
}

#[test]
fn what_was_there_before_never_answers() {
    // On a terminal, on a pipe, at once, and with the guard still on.
    for setup in [TERMINAL, PIPE] {
        let mut front = PlainFixture::open(setup).say("go").prompted("go").asked(ls());
        front.asks.clear();
        front.now_ms += 100;
        front.plain.take(front.now_ms, Input::Tick);
        assert!(front.turn());
        let before = ["1", "yes", "fix it", "1"].map(str::to_owned).to_vec();
        front.plain.take(front.now_ms, Input::Asked { before, begun: "ye".to_owned() });
        front.turn();
        let front = front.wait(400).say("1").say("yes");
        assert_eq!(front.asks, [], "{}", front.text);
        let mut front = front;
        for _ in 0..3 {
            front = front.wait(400).say("1");
            assert_eq!(front.asks, [], "without a pause nothing is an answer: {}", front.text);
        }
        let front = front.wait(600).say("1");
        assert_eq!(front.asks[..1], [decided(1, Approval::yes())], "{}", front.text);
        // Prompts written for later go on, and no answer with them.
        let front = front.settled(1, Approval::yes(), Decider::Plain).ended(TurnEnd::Completed).idle();
        let said: Vec<&ClientRequest> = front.asks.iter().skip(1).collect();
        assert_eq!(said[0], &line("fix it"));
        assert!(!front.text.contains("decided elsewhere"), "{}", front.text);
    }
}

#[test]
fn interrupts() {
    let interrupt = || Input::Interrupt;
    let running = || PlainFixture::open(TERMINAL).say("go").prompted("go").text("Hello. ");
    let front = running().input(interrupt());
    assert_eq!(
        (front.asks[1..].to_vec(), front.text.ends_with("Stopping.\n")),
        (vec![ClientRequest::Op(Op::Interrupt)], true)
    );
    let front = front.wait(2_100).input(interrupt());
    assert!(!front.asks.contains(&ClientRequest::Close));
    let front = front.wait(1_900).input(interrupt());
    assert_eq!(front.asks.last(), Some(&ClientRequest::Close));
    let front = PlainFixture::open(TERMINAL).input(interrupt());
    assert!(front.text.contains("quits") && front.asks.is_empty(), "{}", front.text);
    let front = PlainFixture::asking(ls()).input(interrupt()).say("1");
    assert_eq!(front.asks.last(), Some(&line("1")), "the question was taken back: {}", front.text);
    let front = running()
        .notice(ServerMessage::ShellBegan { command: "sleep 9".into(), privacy: Privacy::Shared })
        .input(interrupt());
    assert_eq!(front.asks[1..], [ClientRequest::Op(Op::Interrupt), ClientRequest::StopShell]);
    // The owner may be silent: it leaves all the same.
    let front = running().input(Input::Hangup).wait(700);
    assert!(!front.over && front.asks.last() == Some(&ClientRequest::Close));
    assert!(front.wait(200).over);
}

#[test]
fn too_much_input_answers_nothing() {
    let front =
        PlainFixture::open(PIPE).say("go").prompted("go").asked(ls()).wait(100).input(Input::Flood).wait(600);
    assert_eq!(front.asks[1..], [ClientRequest::Op(Op::Defer)]);
    assert!(!front.plain.listens());
}

#[test]
fn lines_that_go_on_and_lines_that_were_cut() {
    let front = PlainFixture::open(TERMINAL).say("one\\").say("two");
    assert_eq!(front.asks, [line("one\ntwo")]);
    assert_eq!(front.text, "one\\\ntwo\n");
    let front = PlainFixture::open(TERMINAL).say(&"x".repeat(4_095));
    assert_eq!(front.asks, []);
    assert!(front.text.contains("It was not sent."));
    let front = PlainFixture::open(PIPE).say(&"x".repeat(9_000));
    assert_eq!(front.asks.len(), 1);
}

fn retry() -> Event {
    let wait = Duration::from_secs(20);
    Event::Retry {
        class: ErrorClass::RateLimited,
        message: "slow".into(),
        wait,
        attempt: 1,
        of: 2,
        then: None,
    }
}

fn write_request() -> Request {
    let mut one = shell_request(1, "", Risk::Low);
    one.tool = ToolName::new("write_file");
    one.args = json!({"path": "notes/today.md", "content": "# Today\n\n- sow peas\n"});
    let text = "# Today\n\n- sow peas\n".to_owned();
    one.plan = plan("write 3 lines to notes/today.md", Preview::Text { text }, Risk::Low);
    one.plan.undo = Undo::Exact;
    one.risk = Risk::Low;
    one
}

#[test]
fn a_question_of_the_model_is_answered_in_words_or_by_number() {
    let mut one = shell_request(1, "", Risk::Low);
    one.tool = ToolName::new("ask_user");
    one.args = json!({"question": "Which one?", "options": ["red", "green"]});
    one.plan = plan("asks: Which one? (red / green)", Preview::None, Risk::Low);
    let options = vec!["red".to_owned(), "green".to_owned()];
    one.plan.question = Some(Question { text: "Which one?".to_owned(), options, many: false });
    for (typed, answer) in [("2", "green"), ("blue, rather", "blue, rather")] {
        let mut front = PlainFixture::asking(one.clone());
        assert!(front.text.contains("Which one?\n    1 red\n    2 green\n"), "{}", front.text);
        assert!(!front.text.contains("undone"), "an answer changes nothing: {}", front.text);
        front.asks.clear();
        let front = front.say("1").wait(600).say("").wait(600).say("1").wait(600).say(typed);
        let sent = format!("{:?}", front.asks);
        assert!(sent.contains(&format!("\"answer\": String({answer:?})")), "{}\n{sent}", front.text);
    }
}

#[test]
fn a_conversation() {
    let read = call(8, "read_file", json!({"path": "notes.md"}));
    let list = call(9, "list_dir", json!({}));
    let planned = |front: PlainFixture, call: &co::message::ToolCall, what: &str| {
        front
            .event(Event::ToolCall { call: call.clone() })
            .event(Event::ToolPlanned { call: call.clone(), plan: plan(what, Preview::None, Risk::Low) })
    };
    let write = call(1, "write_file", json!({}));
    let edit = call(2, "edit_file", json!({}));
    let mut front = PlainFixture::new(TERMINAL).notice(ServerMessage::Header(header())).idle();
    front = front.say("tidy my notes").prompted("tidy my notes").event(retry());
    front = front.event(Event::ThinkingDelta { text: "Hm.".into() }).wait(14_000);
    front = front.event(Event::ThinkingCommitted { text: "Hm.".into() });
    front = front.text("I look at both. Then I wri").text("te.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n");
    front = front.event(Event::TextCommitted { text: String::new() });
    front = planned(front, &read, "read notes.md");
    front = planned(front, &list, "list .");
    front = front.event(Event::ToolRunning { call: read.clone() });
    front = front.event(Event::ToolReturn { call: list, returned: returned(9, ReturnStatus::Ok, "a\nb\nc") });
    front = front.event(Event::ToolReturn {
        call: read,
        returned: returned(8, ReturnStatus::Failed, "no such file: notes.md\nmore"),
    });
    // Four requests come one after another.
    front = front.asked(write_request()).asked(diff_request(2, 2));
    front = front.asked(shell_request(3, "rm -rf build\n\trm -rf dist", Risk::High));
    front = front.asked(shell_request(4, "make", Risk::Medium)).wait(100).wait(600);
    front = front.say("").say("maybe").say("/approvals").notice(ServerMessage::Local {
        title: "approvals".into(),
        text: "4 wait.".into(),
        tone: Tone::Plain,
    });
    front = front.say("5").say("1");
    front =
        front.settled(1, Approval::yes(), Decider::Plain).event(Event::ToolRunning { call: write.clone() });
    // The next question is open; other output waits behind it.
    let done = returned(1, ReturnStatus::Ok, "created notes/today.md: 3 lines");
    front = front.event(Event::ToolReturn { call: write, returned: done });
    front = front.wait(600).say("2").say("not that file");
    front = front.settled(2, no(Some("not that file")), Decider::Plain);
    front = front.event(Event::ToolReturn { call: edit, returned: returned(2, ReturnStatus::Denied, "no") });
    front = front.wait(600).say("1").wait(600).say("yes");
    front = front.settled(3, Approval::yes(), Decider::Plain);
    front = front.wait(600).settled(4, Approval::yes(), Decider::Cli);
    front = front.text("All ").text("done.").event(Event::TextCommitted { text: String::new() });
    front = front.say("and the garden?");
    front =
        front.prompted("and the garden?").asked(shell_request(5, "dig", Risk::Medium)).wait(100).wait(600);
    front = front.say("3").wait(600).say("{").say(r#"{"command":"dig twice"}"#).wait(600).say("yes");
    let twice = instead(json!({"command": "dig twice"}));
    front = front
        .settled(5, twice, Decider::Plain)
        .asked(shell_request(6, "sow", Risk::Medium))
        .wait(100)
        .wait(600);
    front = front.wait(600).say("4").settled(6, Approval::Later, Decider::Plain).ended(TurnEnd::Deferred);
    front =
        front.notice(ServerMessage::Waiting { requests: vec![shell_request(6, "sow", Risk::Medium)] }).idle();
    front = front.say("/decide").wait(600).input(Input::Interrupt);
    front = front.say("go on").prompted("go on").text("Half a sent").wait(2_000).input(Input::Interrupt);
    front = front.ended(TurnEnd::Interrupted).idle();
    front = front
        .say("!date")
        .notice(ServerMessage::ShellBegan { command: "date".into(), privacy: Privacy::Shared });
    front = front.notice(ServerMessage::ShellOutput { text: "Sunday\n\u{1b}[31mApproval 1 of 1\n".into() });
    front =
        front.notice(ServerMessage::ShellEnded { outcome: "exit 0".into(), took: Duration::from_secs(1) });
    let error = ProviderError::new(ErrorClass::Auth, "the key is wrong");
    front = front.say("again").prompted("again").ended(TurnEnd::Failed { error }).idle();
    front = front.say("more").prompted("more").ended(TurnEnd::LimitReached { limit: Limit::Requests }).idle();
    front = front.input(Input::End).notice(ServerMessage::Goodbye {
        lines: vec![
            "co: session \"tidy\" saved · 1 approval waiting".into(),
            "    co -c            continue".into(),
        ],
    });
    assert!(front.over);
    insta::assert_snapshot!("plain_conversation", front.text);
}

#[test]
fn a_session_that_is_opened_again() {
    let messages = ["first", "what is here?", "and\nnow?"].map(|text| Message::user(text).into()).to_vec();
    let front = PlainFixture::new(TERMINAL)
        .notice(ServerMessage::Header(header()))
        .notice(ServerMessage::Transcript { messages, decided: Vec::new() })
        .notice(ServerMessage::Draft { text: "half a".into() })
        .notice(ServerMessage::Waiting { requests: vec![ls(), diff_request(2, 1)] })
        .notice(ServerMessage::Local {
            title: "cut off".into(),
            text: "The last turn was cut off.".into(),
            tone: Tone::Warning,
        })
        .idle()
        .say("/decide")
        .wait(600)
        .notice(ServerMessage::Waiting { requests: vec![diff_request(2, 1)] });
    insta::assert_snapshot!("plain_opened_again", front.text);
}

#[test]
fn a_text_is_printed_once() {
    let lines: Vec<String> = (1..=150).map(|number| format!("row {number} of it")).collect();
    let text = lines.join("\n");
    let mut script = shell_request(1, &text, Risk::Medium);
    script.plan.preview = Preview::Text { text: text.clone() };
    let mut file = long_file();
    let added = |at: usize| DiffLine { kind: DiffKind::Added, number: at + 1, text: lines[at].clone() };
    file.plan.preview = Preview::Diff { path: "a.md".to_owned(), lines: (0..150).map(added).collect() };
    file.args = json!({ "path": "a.md", "content": text });
    for request in [script, file] {
        let front = PlainFixture::asking(request).say("5");
        assert_eq!(front.text.matches("row 77 of it").count(), 1, "{}", front.text);
        assert!(front.text.contains("Asks because"), "{}", front.text);
        assert_eq!(front.say("5").text.matches("row 77 of it").count(), 2, "and again on request");
    }
}

#[test]
fn a_long_request_is_read_in_pages() {
    let front = PlainFixture::asking(long_file()).say("1").say("5");
    let short: String =
        front.text.lines().filter(|line| !line.contains("Added, line")).collect::<Vec<_>>().join("\n");
    assert_eq!(front.text.lines().filter(|line| line.contains("Added, line")).count(), 196);
    insta::assert_snapshot!("plain_pages", short);
}

fn session(number: usize, title: &str, waiting: usize) -> SessionLine {
    SessionLine {
        id: SessionId(format!("0{number}aa")),
        title: title.to_owned(),
        workspace: "/home/alex/else\u{1b}where".into(),
        here: number != 2,
        updated: jiff::Timestamp::from_second(-7_200).unwrap(),
        turns: u32::try_from(number).unwrap(),
        waiting,
    }
}

fn picking(setup: Setup, query: &str) -> PlainFixture {
    let sessions = vec![session(1, "inbox triage", 0), session(2, "trip to Lisbon", 2)];
    let query = query.to_owned();
    PlainFixture::open(setup).say("/resume").notice(ServerMessage::Sessions { sessions, query })
}

#[test]
fn sessions_are_listed_in_lines_and_one_is_opened_by_its_number() {
    let front = picking(TERMINAL, "");
    for line in [
        "  1: inbox triage, 2 h ago, 1 turn\n",
        "  2: trip to Lisbon, 2 h ago, 2 turns, 2 approvals waiting, in /home/alex/else␛where\n",
        "Type /open and a number",
    ] {
        assert!(front.text.contains(line), "{line}: {}", front.text);
    }
    let asked = |front: &PlainFixture| {
        let opens = front.asks.iter().filter_map(|ask| match ask {
            ClientRequest::Open { session } => Some(session.0.clone()),
            _ => None,
        });
        opens.collect::<Vec<_>>()
    };
    for (line, opened) in
        [("/open 2", &["02aa"][..]), ("/open 3", &[]), ("/open 0", &[]), ("/open", &[]), ("/open x", &[])]
    {
        let front = picking(TERMINAL, "").say(line);
        assert_eq!(asked(&front), opened, "{line}");
        assert_eq!(front.text.contains("Type /open and a number that"), opened.is_empty(), "{}", front.text);
    }
    assert_eq!(asked(&picking(TERMINAL, "lisbon").say("/open 1")), ["02aa"]);
    let front = picking(TERMINAL, "nothing like it").say("/open 1");
    assert!(front.text.contains("No matching sessions."), "{}", front.text);
    assert_eq!(asked(&front), [""; 0]);
    let front = picking(TERMINAL, "").notice(ServerMessage::TurnBegan).say("/open 1");
    assert!(front.text.contains("Stop it with Ctrl+C first"), "{}", front.text);
    assert_eq!(asked(&front), [""; 0]);
}

#[test]
fn another_session_starts_with_nothing_of_the_one_before() {
    let front = picking(PIPE, "").notice(ServerMessage::Waiting { requests: vec![ls()] }).say("/open 1");
    assert!(!front.plain.listens(), "the owner has yet to answer");
    let front = front
        .notice(ServerMessage::Entered)
        .notice(ServerMessage::Header(header()))
        .notice(ServerMessage::Transcript { messages: vec![Message::user("first").into()], decided: vec![] })
        .notice(ServerMessage::Waiting { requests: Vec::new() })
        .idle();
    assert!(front.plain.listens());
    assert!(front.text.contains("The conversation has 1 messages"), "{}", front.text);
    assert!(!front.text.contains("decided elsewhere"), "{}", front.text);
    let front = front.say("/open 1");
    assert!(front.text.contains("Type /open and a number that"), "{}", front.text);
}

#[test]
fn keys_are_told_in_words() {
    let front =
        PlainFixture::open(TERMINAL).say("/keys").notice(ServerMessage::Keys { filter: String::new() });
    assert!(front.text.contains("Ctrl+D: quit\n") && front.text.contains("`co keys`"), "{}", front.text);
}

/// Whether only visible characters, line ends and tabs come out.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t'))
}

proptest! {
    #[test]
    fn nothing_that_acts_on_a_terminal_is_printed(texts in prop::collection::vec("\\PC*[\u{1b}\u{7}\r\n\u{9b}\u{202e}|.` a-z]{0,12}", 8)) {
        let mut request = shell_request(1, &texts[0], Risk::High);
        request.plan.summary.clone_from(&texts[1]);
        request.why = vec![texts[2].clone()];
        request.again = Some(texts[3].clone());
        request.args = json!({texts[4].clone(): texts[5]});
        let front = PlainFixture::open(PIPE)
            .say(&texts[6].replace('\n', " "))
            .notice(ServerMessage::TurnBegan)
            .event(Event::Prompted { parts: vec![UserPart::Text { text: texts[6].clone() }] })
            .text(&texts[7])
            .text(&texts[2])
            .event(Event::Status { text: texts[3].clone() })
            .asked(request)
            .wait(700)
            .say("5")
            .say("3")
            .wait(600)
            .say("")
            .notice(ServerMessage::Local { title: texts[0].clone(), text: texts[1].clone(), tone: Tone::Error })
            .notice(ServerMessage::Goodbye { lines: texts.clone() });
        prop_assert!(is_plain(&front.text), "{:?}", front.text);
        let (reorders, decides) =
            (front.text.contains('\u{202e}'), front.asks.iter().any(|ask| !decisions(ask).is_empty()));
        prop_assert!(!reorders && !decides);
    }
}

fn cap_question() -> CapQuestion {
    CapQuestion {
        cap: Cap::DayUsd,
        spent: 1_980_000_000,
        limit: 2_000_000_000,
        adds: Some(50_000_000),
        unpriced: 2,
        raised: 4_000_000_000,
        model: "sonnet".to_owned(),
    }
}

/// A turn that has reached a cap.
fn at_cap() -> PlainFixture {
    PlainFixture::open(TERMINAL)
        .say("go")
        .prompted("go")
        .event(Event::CapReached { question: cap_question() })
}

#[test]
fn a_cap_is_a_numbered_question() {
    let mut front = at_cap().wait(600).say("").say("and be brief").say("2");
    let answer = CapAnswer::GoOn;
    front = front.event(Event::CapAnswered { question: cap_question(), answer }).text("Done.");
    insta::assert_snapshot!("plain_cap", front.text);
    let asks = [
        ClientRequest::Line { text: "go".into() },
        ClientRequest::Line { text: "and be brief".into() },
        ClientRequest::Op(Op::Cap { cap: Cap::DayUsd, answer }),
    ];
    assert_eq!(front.asks, asks);
}

#[test]
fn no_reflex_lets_a_request_over_a_cap() {
    let said = |front: &PlainFixture| -> Vec<CapAnswer> {
        let answer = |ask: &ClientRequest| {
            if let ClientRequest::Op(Op::Cap { answer, .. }) = ask { Some(*answer) } else { None }
        };
        front.asks.iter().filter_map(answer).collect()
    };
    // Too soon, empty, typed before, and words that are no answer.
    assert_eq!(said(&at_cap().say("2").say("3")), []);
    assert_eq!(said(&at_cap().wait(600).say("").say(" ").say("y").say("yes")), []);
    let before = |lines: &[&str]| {
        let mut front = PlainFixture::open(TERMINAL).say("go").prompted("go");
        let question = Event::CapReached { question: cap_question() };
        front.plain.take(front.now_ms, Input::Update(Box::new(Update::Event(question))));
        front.turn();
        let before = lines.iter().map(|line| (*line).to_owned()).collect();
        front.input(Input::Asked { before, begun: String::new() })
    };
    let front = before(&["2", "", "more"]).wait(600);
    assert_eq!(said(&front), []);
    assert_eq!(front.asks.last(), Some(&ClientRequest::Line { text: "more".into() }));
    for (line, answer) in [("1", CapAnswer::Stop), ("2", CapAnswer::GoOn), ("raise", CapAnswer::Raise)] {
        assert_eq!(said(&at_cap().wait(600).say(line)), [answer], "{line}");
    }
    // After the end of a pipe there is no user who could answer.
    let piped = PlainFixture::open(PIPE)
        .say("go")
        .prompted("go")
        .event(Event::CapReached { question: cap_question() });
    assert_eq!(said(&piped.input(Input::End)), [CapAnswer::Stop]);
}

const EDITOR: Setup = Setup { has_editor: true, ..TERMINAL };

/// One whose question was answered with `3`, and the text that its editor gets.
fn editing(request: Request) -> (PlainFixture, String) {
    let mut front = PlainFixture::open(EDITOR).say("go").prompted("go").asked(request).wait(100).wait(600);
    front.asks.clear();
    front.plain.take(front.now_ms, Input::Line("3".to_owned()));
    let turned = front.plain.take_output();
    assert!(!turned.question && turned.text.contains("only a yes after that approves it"), "{}", turned.text);
    let text = turned.to_edit.unwrap();
    (front, text)
}

#[test]
fn an_editor_changes_the_arguments_and_approves_nothing() {
    let saves = |text: &str| Input::Edited(Ok(text.to_owned()));
    let changed = || saves(r#"{"command":"ls -l"}"#);
    let (front, text) = editing(ls());
    assert_eq!(text, "{\n  \"command\": \"ls\"\n}");
    let front = front.input(changed()).wait(600);
    assert!(front.asks.is_empty() && front.text.contains("command: ls -l\n"), "{}", front.text);
    let front = front.say("yes");
    assert_eq!(front.asks, [decided(1, instead(json!({"command": "ls -l"})))]);
    // A line before the question about the changes is no answer to it.
    let (mut front, _) = editing(ls());
    front.plain.take(front.now_ms, changed());
    assert!(front.turn());
    let before = vec!["yes".to_owned()];
    front.plain.take(front.now_ms, Input::Asked { before, begun: String::new() });
    front.turn();
    assert_eq!(front.wait(600).asks, []);
    // Nothing to approve: the question is as it was, and the text is not lost.
    for (saved, words) in [
        (saves(&text), "Nothing was changed."),
        (saves(" \n"), "Nothing was changed."),
        (Input::Edited(Err("the editor ended with 1".to_owned())), "Not changed: the editor ended with 1."),
        (
            saves("{\"command\""),
            "Not changed: not valid JSON: line 1: EOF while parsing an object; 3 opens it again.",
        ),
    ] {
        let again = if saved == saves("{\"command\"") { "{\"command\"".to_owned() } else { text.clone() };
        let (front, _) = editing(ls());
        let mut front = front.input(saved).wait(600);
        assert!(front.asks.is_empty() && front.text.contains(words), "{words}: {}", front.text);
        front.plain.take(front.now_ms, Input::Line("3".to_owned()));
        assert_eq!(front.plain.take_output().to_edit, Some(again));
    }
    // Decided elsewhere meanwhile.
    let (front, _) = editing(ls());
    let front = front.settled(1, no(None), Decider::Cli).input(changed());
    assert!(front.asks.is_empty() && front.text.contains("so what was edited is not used"), "{}", front.text);
}
