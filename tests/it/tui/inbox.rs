//! The inbox: what keys do to it, how every state looks, and what no sequence of keys and updates does.

use co::agent::port::Event;
use co::approval::{Approval, AutoApprove, Request, RequestId};
use co::config::Mode;
use co::frontend::protocol::{
    ClientQuery, ClientRequest, Header, Holder, InboxLine, QueryAnswer, ServerMessage, Tone,
};
use co::history::SessionId;
use co::message::ToolName;
use co::store::{CallTiming, RequestRow, RequestState, StoredRequest};
use co::tool::{Preview, Risk};
use co::tui::Cmd;
use co::tui::Input;
use co::tui::theme::Glyphs;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;

use crate::tui::kit::{
    Screen, approved, asked, at_all_sizes, diff_request, header, id, parse_keys, round, shell_request,
};

/// A session of the list: its id, title, folder and who has it.
type SessionRow = (&'static str, &'static str, &'static str, Holder);

const HERE: SessionRow = ("01JD8", "inbox triage", "/home/alex/work", Holder::Here);
const LISBON: SessionRow = ("01JC2", "trip to Lisbon, hotels", "/home/alex/trips/lisbon", Holder::NoProcess);
const RUST: SessionRow = ("01JB7", "rust ownership notes", "/home/alex/notes", Holder::Another);

fn line((session, title, workspace, holder): SessionRow, number: u32, request: &Request) -> InboxLine {
    let row = RequestRow {
        id: id(number),
        session: SessionId(session.to_owned()),
        title: Some(title.to_owned()),
        workspace: workspace.into(),
        risk: request.risk,
        tool: request.tool.clone(),
        summary: request.plan.summary.clone(),
        tainted: number == 4,
        state: RequestState::Waiting,
        timing: CallTiming::InTurn,
        created: Timestamp::UNIX_EPOCH - SignedDuration::from_hours(i64::from(number)),
        expires: number.is_multiple_of(2).then(|| "1970-01-05T14:31:00Z".parse().unwrap()),
    };
    InboxLine { row, holder }
}

fn low(number: u32) -> Request {
    let mut request = diff_request(number, 1);
    request.tool = ToolName::new("write_file");
    request.args = json!({ "path": format!("notes/{number}.md"), "content": "x" });
    request.plan.summary = format!("write 1 line to notes/{number}.md (new file)");
    request.risk = Risk::Low;
    request
}

fn high(number: u32) -> Request {
    let mut request = shell_request(number, "rsync -a ~/Tax nas:/backup/tax", Risk::High);
    request.plan.summary = "run `rsync -a ~/Tax nas:/backup/tax`".to_owned();
    request
}

/// Requests 1 to 5, as each is stored.
pub fn whole(number: u32) -> Request {
    match number {
        1 | 3 => low(number),
        4 => high(number),
        2 => shell_request(number, "cargo test", Risk::Medium),
        other => {
            let mut request = diff_request(other, 60);
            request.plan.summary = "write 60 lines to notes/billing.md".to_owned();
            request
        }
    }
}

pub fn lines() -> Vec<InboxLine> {
    [(HERE, 1), (HERE, 2), (LISBON, 3), (LISBON, 4), (RUST, 5)]
        .map(|(of, number)| line(of, number, &whole(number)))
        .to_vec()
}

pub fn stored(line: &InboxLine, request: Request) -> Box<StoredRequest> {
    Box::new(StoredRequest {
        request,
        session: line.row.session.clone(),
        title: line.row.title.clone(),
        workspace: line.row.workspace.clone(),
        turn: 1,
        args_hash: "0".repeat(32),
        state: line.row.state,
        timing: line.row.timing,
        decision: None,
        created: jiff::Timestamp::UNIX_EPOCH,
        decided_at: None,
        seq: 1,
    })
}

impl Screen {
    /// Acts as the owner: answers every query for a request.
    fn answered(mut self) -> Self {
        self.answer();
        self
    }

    fn answer(&mut self) {
        loop {
            let asked = self.cmds.iter().position(|cmd| {
                matches!(cmd, Cmd::Send(ClientRequest::Query { query: ClientQuery::Request { .. }, .. }))
            });
            let Some(Cmd::Send(ClientRequest::Query { query: ClientQuery::Request { request }, .. })) =
                asked.map(|at| self.cmds.remove(at))
            else {
                return;
            };
            let number = u32::from_str_radix(&request.0, 16).unwrap();
            let line = lines().into_iter().find(|line| line.row.id == request);
            let told =
                line.map(|line| stored(&line, whole(number))).ok_or_else(|| "There is none.".to_owned());
            self.tell_answer(ClientQuery::Request { request }, QueryAnswer::Request { request: told });
            self.feed(Input::Frame);
        }
    }

    /// Keys with the owner's answers between them.
    fn at(mut self, keys: &str) -> Self {
        for key in parse_keys(keys) {
            self.feed(Input::Key(key));
            self.feed(Input::Frame);
            self.answer();
        }
        self
    }

    /// The requests sent that are no queries.
    fn changes(&self) -> Vec<ClientRequest> {
        let looks = |ask: &&&ClientRequest| matches!(ask, ClientRequest::Query { .. });
        self.asks().into_iter().filter(|ask| !looks(&ask)).cloned().collect()
    }
}

/// The inbox with these lines, past its first half second.
fn with(screen: Screen, lines: Vec<InboxLine>) -> Screen {
    let count = lines.len();
    screen
        .notice(ServerMessage::Elsewhere { count })
        .keys("<a-a>")
        .answer_to(ClientQuery::Inbox, QueryAnswer::Inbox { lines })
        .wait(600)
        .answered()
}

fn five() -> Screen {
    with(Screen::open(80, 24), lines())
}

fn yes(numbers: &[u32]) -> ClientRequest {
    round(numbers, &Approval::yes())
}

fn no(numbers: &[u32], reason: Option<&str>) -> ClientRequest {
    round(numbers, &Approval::Deny { reason: reason.map(str::to_owned) })
}

#[test]
fn keys() {
    let resume = ClientRequest::ResumeNow { session: SessionId("01JC2".into()) };
    let open = ClientRequest::Open { session: SessionId("01JC2".into()) };
    let cases: Vec<(&str, &str, Vec<ClientRequest>)> = vec![
        ("yes to a LOW one", "y", vec![yes(&[1])]),
        ("yes to a MEDIUM one that was shown", "<down>y", vec![yes(&[2])]),
        ("a key that is held down decides once", "yyyy<down>yyy", vec![yes(&[1])]),
        ("no reflex decides", "<space><ret><ret><tab><esc><ret>", vec![]),
        ("marked LOW", "ay", vec![yes(&[1, 3])]),
        ("marked LOW, and nothing else", "<down><down><down>ay", vec![yes(&[1, 3])]),
        ("marked by hand", "<space><down><space><down>y", vec![yes(&[1, 2])]),
        ("a mark taken back", "<space><down><space><space>y", vec![yes(&[1])]),
        ("HIGH by one key", "<down><down><down>y", vec![]),
        ("HIGH by a key held down", "<down><down><down>yyyyyy", vec![]),
        ("HIGH among others by one key", "<space><down><down><down><space>y", vec![]),
        ("HIGH never by marking all", "Ay", vec![]),
        ("the key for editing goes to the card, or enlarges", "<down><down>ey", vec![yes(&[3])]),
        ("what was not shown whole", "<down><down><down><down>y", vec![]),
        ("no to the chosen one", "n<ret>", vec![no(&[1], None)]),
        (
            "one reason for all",
            "<space><down><down><down><space>nnot yet y<ret>",
            vec![no(&[1, 4], Some("not yet y"))],
        ),
        ("a no taken back", "nbecause<esc>", vec![]),
        ("later", "l", vec![round(&[1], &Approval::Later)]),
        ("resumed", "<down><down>R", vec![resume]),
        ("the one at hand needs no resuming", "R", vec![]),
        ("open elsewhere needs none", "<down><down><down><down>R", vec![]),
        ("another session is opened", "<down><down>o", vec![open]),
        ("the one at hand is open", "o", vec![]),
        ("filtered ones alone are decided", "a/lisbon<ret>y", vec![yes(&[3])]),
        ("letters of the filter are text", "/yany", vec![]),
        ("one session", "<down><down><tab>ay", vec![yes(&[3])]),
        ("out of it", "<esc>y", vec![]),
    ];
    for (name, keys, expected) in cases {
        assert_eq!(five().at(keys).changes(), expected, "{name}");
    }
}

#[test]
fn high_is_confirmed_by_itself_after_a_moment() {
    let once = || five().at("<down><down><down>y");
    assert!(once().shot().contains("HIGH: y again to approve, Esc back"));
    assert_eq!(once().wait(1_100).at("y").changes(), [yes(&[4])]);
    assert!(once().wait(1_100).at("<esc>y").changes().is_empty(), "taken back");
    let marked = || five().at("<space><down><down><down><space>y").wait(1_100);
    assert_eq!(marked().at("y").changes(), [yes(&[1, 4])], "also among others");
    assert!(marked().at("<up><space>y").changes().is_empty(), "another set is another question");
    let mut unseen = with(Screen::open(40, 10), lines()).at("<down><down><down><space>");
    let shot = unseen.shot();
    assert!(shot.contains("[ ] HIGH") && shot.contains("! HIGH is marked once all of it was"), "{shot}");
    assert!(once().wait(1_100).at("<up>").wait(10).at("<down>y").changes().is_empty(), "gone away from");
    let gone: Vec<InboxLine> = lines().into_iter().filter(|line| line.row.id != id(4)).collect();
    let gone = once().wait(1_100).answer_to(ClientQuery::Inbox, QueryAnswer::Inbox { lines: gone }).at("y");
    assert!(gone.changes().is_empty(), "decided elsewhere, and another stands in its place");
    let mut lines = lines();
    lines[3].row.state = RequestState::Approved;
    for first in [once(), marked().at("<up>")] {
        let shot = first.answer_to(ClientQuery::Inbox, QueryAnswer::Inbox { lines: lines.clone() }).shot();
        assert!(!shot.contains("again to approve"), "what was to be approved is less now: {shot}");
    }
    let shot = once().at("<pgup>").shot();
    assert!(shot.contains("▸[ ] low") && !shot.contains("again to approve"), "another is chosen: {shot}");
}

#[test]
fn nothing_is_decided_in_the_first_moment() {
    for keys in ["y", "n<ret>", "l", "R", "o", "ay", "<space>y"] {
        let screen = Screen::open(80, 24)
            .keys("<a-a>")
            .answer_to(ClientQuery::Inbox, QueryAnswer::Inbox { lines: lines() })
            .answered();
        assert!(screen.at(keys).changes().is_empty(), "{keys}");
    }
    // Each key that came too early makes the moment begin anew.
    let early = Screen::open(80, 24)
        .keys("<a-a>")
        .answer_to(ClientQuery::Inbox, QueryAnswer::Inbox { lines: lines() })
        .answered()
        .wait(400)
        .at("y");
    assert!(early.wait(400).at("y").changes().is_empty());
}

#[test]
fn what_is_long_is_shown_whole_first() {
    let end = "<s-down>".repeat(80);
    let last = "<down><down><down><down>";
    assert!(five().at(last).at("y").shot().contains("! part of it is still unread: Ctrl+Down, v view"));
    assert_eq!(five().at(last).at(&end).at("y").changes(), [yes(&[5])]);
    let pages = "<pgdn>".repeat(20);
    assert_eq!(five().at(last).at("<ret>").at(&pages).at("y").changes(), [yes(&[5])], "alone on the screen");
    let resized = five().at(last).at(&end).resize(80, 30).resize(80, 24).wait(600);
    assert_eq!(resized.at("y").changes(), [yes(&[5])], "what was seen whole stays seen");
    let half = five().at(last).at("<s-down><s-down>").resize(70, 30).wait(600);
    assert!(half.at("y").changes().is_empty(), "lines of another width hold other words");
}

#[test]
fn unseen_ones_among_the_marked_come_first() {
    let mut screen = five().at("<down><down><down><down><space>").at("<up><up><up><up>y");
    assert!(screen.changes().is_empty());
    let shot = screen.shot();
    assert!(shot.contains("! part of it is still unread"), "{shot}");
    assert!(shot.contains("▸[x] medium edit_file"), "{shot}");
}

/// The list while another process decides, and after that process failed to.
#[test]
fn others_decide_too() {
    let without = |numbers: &[u32]| {
        lines()
            .into_iter()
            .filter(|line| !numbers.iter().any(|one| line.row.id == id(*one)))
            .collect::<Vec<_>>()
    };
    let mut renewed =
        five().notice(ServerMessage::Elsewhere { count: 4 }).notice(ServerMessage::Elsewhere { count: 3 });
    let asked = renewed.asks().iter().filter(|ask| ***ask == asked(ClientQuery::Inbox)).count();
    assert_eq!(asked, 2, "once when it opened, and once more however often it changed");
    renewed = renewed.answer_to(ClientQuery::Inbox, QueryAnswer::Inbox { lines: without(&[1, 2]) }).wait(10);
    let shot = renewed.shot();
    assert!(shot.contains("! that request was decided elsewhere or has expired"), "{shot}");
    assert!(renewed.at("y").changes().is_empty(), "another stands under the finger now");

    let mut writing = five()
        .at("nbecau")
        .answer_to(ClientQuery::Inbox, QueryAnswer::Inbox { lines: without(&[1]) })
        .at("se<ret>");
    assert!(writing.changes().is_empty());
    assert!(writing.shot().contains("3 sessions"), "still there");
    let ours = five().at("y").answer_to(ClientQuery::Inbox, QueryAnswer::Inbox { lines: without(&[1]) });
    assert!(!{ ours }.shot().contains("! that request"), "what was decided here is no news");
    // A loss of another request leaves the rows alone that were just sent.
    let losing =
        |number| Event::DecisionsLost { requests: vec![id(number)], text: "It was denied.".to_owned() };
    let sent = |mut screen: Screen| screen.shot().matches(" yes… │").count();
    let one = || five().at("y");
    assert_eq!((sent(one()), sent(one().event(losing(2))), sent(one().event(losing(1)))), (1, 1, 0));
    let lost = five().at("y").notice(ServerMessage::Local {
        title: "approvals".into(),
        text: "This request was already denied by you (co approvals); nothing was changed.".into(),
        tone: Tone::Warning,
    });
    assert!({ lost }.shot().contains("! This request was already denied by you"));
}

/// A list that could not be read is no empty list, and what was listed stays; the next change asks again.
#[test]
fn a_list_that_could_not_be_read_is_asked_for_again() {
    let asked =
        |screen: &Screen| screen.asks().iter().filter(|ask| ***ask == asked(ClientQuery::Inbox)).count();
    let opened = Screen::open(80, 24).notice(ServerMessage::Elsewhere { count: 1 }).keys("<a-a>");
    let mut failed = opened.answer_to(ClientQuery::Inbox, QueryAnswer::Failed);
    assert!(failed.shot().contains("The list could not be read"), "{}", failed.shot());
    let mut again = failed.notice(ServerMessage::Elsewhere { count: 2 });
    assert!(again.shot().contains("loading…") && asked(&again) == 2, "{}", again.shot());
    let stale = five().notice(ServerMessage::Elsewhere { count: 4 });
    let mut stale = stale.answer_to(ClientQuery::Inbox, QueryAnswer::Failed);
    assert!(stale.shot().contains("in 3 sessions"), "{}", stale.shot());
    assert_eq!(asked(&stale.notice(ServerMessage::Elsewhere { count: 3 })), 3);
}

/// First the cards of this session, then the inbox; with nothing waiting here the inbox at once.
#[test]
fn one_key_goes_to_all_that_waits() {
    let opens =
        |screen: &Screen| screen.asks().iter().filter(|ask| ***ask == asked(ClientQuery::Inbox)).count();
    assert_eq!(opens(&Screen::open(80, 24).keys("<a-a>")), 1);
    let asked = || Screen::open(80, 24).prompted("go").asked(low(1)).wait(600);
    assert_eq!(opens(&asked().keys("<a-a>")), 0);
    assert_eq!(opens(&asked().keys("<a-a><a-a>")), 1);
    assert_eq!(opens(&asked().keys("<tab><a-a>")), 1);
    assert_eq!(opens(&asked().keys("<tab><esc><a-a>")), 0, "what was postponed comes back first");
    assert!(asked().keys("<a-a><a-a><a-a>").shot().contains("── ask · card ─"), "a third one closes it");
}

/// A request of this session is decided at its card, where it can be edited too.
#[test]
fn a_request_of_this_session_is_a_card() {
    let screen = Screen::open(80, 24).prompted("go").asked(low(1)).asked(whole(2)).wait(600);
    let mut screen = with(screen.keys("<a-a>"), lines()).at("<down><ret>").wait(600);
    let shot = screen.shot();
    assert!(shot.contains("── ask · card ─") && shot.contains("shell cargo test"), "{shot}");
}

#[test]
fn the_badge_is_what_waits() {
    let screen = || Screen::open(140, 40).notice(ServerMessage::Elsewhere { count: 3 });
    for mut screen in [screen(), screen().prompted("go")] {
        assert!(screen.shot().trim_end().lines().rev().nth(1).unwrap().ends_with("◇ 3"), "{}", screen.shot());
    }
    let mut home = screen();
    assert!(home.shot().contains("3 requests in other sessions: Alt+A"), "{}", home.shot());
    let mut panel = screen().prompted("go").asked(whole(2));
    let shot = panel.shot();
    assert!(shot.contains("◇ 4") && shot.contains("3 in other sessions: Alt+A"), "{shot}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever messages arrive in whatever order, the badge counts the requests here and elsewhere.
    #[test]
    fn the_badge_always_equals_the_queue(told in prop::collection::vec((0_u8..5, 1_u32..9, 0_usize..20), 1..40)) {
        let mut screen = Screen::open(80, 24);
        let (mut here, mut elsewhere): (Vec<u32>, usize) = (Vec::new(), 0);
        for (what, number, count) in told {
            match what {
                0 => {
                    screen.tell_event(co::agent::port::Event::ApprovalNeeded { request: low(number) });
                    if !here.contains(&number) { here.push(number); }
                }
                1 => {
                    screen.tell_event(crate::tui::batch::settled(number, Approval::yes()));
                    here.retain(|one| *one != number);
                }
                2 => {
                    screen.tell(ServerMessage::Elsewhere { count });
                    elsewhere = count;
                }
                3 => {
                    let requests: Vec<Request> = (1..=number).map(low).collect();
                    screen.tell(ServerMessage::Waiting { requests });
                    here = (1..=number).collect();
                }
                _ => screen.press("<a-a>"),
            }
            prop_assert_eq!(screen.model.waiting_count(), here.len() + elsewhere);
            let shot = screen.shot();
            let badge = format!("◇ {}", here.len() + elsewhere);
            prop_assert!(shot.trim_end().lines().rev().nth(1).unwrap().ends_with(&badge), "{}", shot);
        }
    }

    /// No keys at all approve what is HIGH within a second, or what was never on the screen.
    #[test]
    fn no_keys_approve_what_was_not_read(keys in "[ynlav/ w]{1,30}") {
        let keys = keys.replace(' ', "<space>");
        let screen = with(Screen::open(80, 24), lines()).at(&keys);
        for ask in screen.changes() {
            prop_assert!(approved(&ask).all(|request| ![id(4), id(5)].contains(request)), "{ask:?}");
        }
    }
}

#[test]
fn ten_thousand_requests_are_listed_and_scrolled_through() {
    let request = low(1);
    let many: Vec<InboxLine> = (0..10_000_u32)
        .map(|number| {
            let mut line = line(HERE, number, &request);
            line.row.session = SessionId(format!("s{}", number / 7));
            line.holder = Holder::NoProcess;
            line
        })
        .collect();
    let started = std::time::Instant::now();
    let mut screen =
        Screen::open(140, 40).keys("<a-a>").answer_to(ClientQuery::Inbox, QueryAnswer::Inbox { lines: many });
    let first = screen.shot();
    let opened = started.elapsed();
    assert!(first.contains("10000 in 1429 sessions"), "{first}");
    let keys = 200;
    screen.press(&"<pgdn>".repeat(keys));
    let each = (started.elapsed() - opened) / 200;
    // Unoptimized, and on a machine that does other things too: the release is many times faster.
    assert!(opened.as_millis() < 1_000 && each.as_millis() < 50, "opened in {opened:?}, {each:?} a page");
    assert!(screen.shot().contains("▸"));
}

#[test]
fn the_mode_stands_in_the_rule() {
    let mut shots = String::new();
    for (mode, auto_approve) in Mode::ALL
        .map(|mode| (mode, AutoApprove::Asking))
        .into_iter()
        .chain([(Mode::Ask, AutoApprove::Yolo), (Mode::Auto, AutoApprove::Yolo)])
    {
        let header = Header { mode, auto_approve, ..header() };
        for mut screen in [
            Screen::open(80, 24).notice(ServerMessage::Header(header.clone())),
            Screen::open(80, 24)
                .prompted("go")
                .asked(low(1))
                .notice(ServerMessage::Header(header))
                .wait(600)
                .keys("<tab>"),
        ] {
            let rule = screen.shot().lines().nth(21).unwrap().to_owned();
            shots.push_str(&format!("{rule}\n"));
        }
    }
    insta::assert_snapshot!("tui_inbox_modes", shots);
}

#[test]
fn a_key_goes_through_the_modes_also_while_a_turn_runs() {
    for screen in [Screen::open(80, 24), Screen::open(80, 24).prompted("go").text("I look")] {
        let mut screen = screen.keys("<s-tab><s-tab><s-tab><s-tab><s-tab>");
        let set = [Mode::Auto, Mode::Plan, Mode::DryRun, Mode::Ask, Mode::Auto]
            .map(|mode| ClientRequest::SetMode { mode });
        assert_eq!(screen.asks(), set.iter().collect::<Vec<_>>());
        let shot = screen.shot();
        assert!(
            shot.contains("── auto ──")
                && shot.contains("auto: edits in this folder and sandboxed commands run"),
            "{shot}"
        );
    }
    let over = Screen::open(80, 24).keys("<a-a><s-tab>");
    assert!(over.changes().is_empty(), "what lies over the rule hides it");
}

#[test]
fn screens() {
    let running = |mut lines: Vec<InboxLine>| {
        lines[2].holder = Holder::Background;
        lines[3].holder = Holder::Background;
        lines
    };
    let later = |mut lines: Vec<InboxLine>| {
        lines[0].row.state = RequestState::Later;
        lines[1].row.expires = Some(Timestamp::UNIX_EPOCH);
        lines
    };
    let empty = at_all_sizes(|screen| with(screen, Vec::new()).shot());
    let looking = at_all_sizes(|screen| screen.keys("<a-a>").shot());
    let one = at_all_sizes(|screen| with(screen, lines()[..1].to_vec()).shot());
    let many = at_all_sizes(|screen| with(screen, lines()).at("<down><down><down>").shot());
    let filtered = at_all_sizes(|screen| with(screen, lines()).at("/lisbon high").shot());
    let unmatched = at_all_sizes(|screen| with(screen, lines()).at("/nothing<ret>").shot());
    let session = at_all_sizes(|screen| with(screen, lines()).at("<down><down><tab>").shot());
    let marked = at_all_sizes(|screen| with(screen, lines()).at("a<down><down><down>").shot());
    let high = at_all_sizes(|screen| with(screen, lines()).at("<down><down><down>y").shot());
    let reason = at_all_sizes(|screen| with(screen, lines()).at("annot before Monday").shot());
    let deciding = at_all_sizes(|screen| with(screen, lines()).at("ay").shot());
    let whole = at_all_sizes(|screen| with(screen, lines()).at("<down><down><down><down><ret><pgdn>").shot());
    let why = at_all_sizes(|screen| with(screen, lines()).at("<down><down><ret>vw").shot());
    let elsewhere = at_all_sizes(|screen| with(screen, running(lines())).at("<down><down>R").shot());
    let expired = at_all_sizes(|screen| with(screen, later(lines())).shot());
    let gone = at_all_sizes(|screen| {
        with(screen, lines())
            .answer_to(ClientQuery::Inbox, QueryAnswer::Inbox { lines: lines()[1..].to_vec() })
            .answered()
            .shot()
    });
    let lost = at_all_sizes(|screen| {
        let text = "1 of 2 was not recorded. This request was already denied by you (co approvals); nothing was changed.";
        with(screen, lines())
            .at("ay")
            .notice(ServerMessage::Local {
                title: "approvals".into(),
                text: text.into(),
                tone: Tone::Warning,
            })
            .shot()
    });
    let mut broken = Screen::open(80, 24).notice(ServerMessage::Elsewhere { count: 1 }).keys("<a-a>");
    broken.tell_answer(ClientQuery::Inbox, QueryAnswer::Inbox { lines: lines()[..1].to_vec() });
    let request = Err("there is no request of that id.".to_owned());
    broken.tell_answer(ClientQuery::Request { request: id(1) }, QueryAnswer::Request { request });
    let ascii = with(Screen::with(80, 24, &Glyphs::ASCII).notice(ServerMessage::Header(header())), lines())
        .at("a")
        .shot();
    for (name, shot) in [
        ("empty", empty),
        ("looking", looking),
        ("one", one),
        ("many", many),
        ("filtered", filtered),
        ("unmatched", unmatched),
        ("session", session),
        ("marked", marked),
        ("high", high),
        ("reason", reason),
        ("deciding", deciding),
        ("whole", whole),
        ("why", why),
        ("elsewhere", elsewhere),
        ("expired", expired),
        ("gone", gone),
        ("lost", lost),
        ("broken", broken.shot()),
        ("ascii", ascii),
    ] {
        insta::assert_snapshot!(format!("tui_inbox_{name}"), shot);
    }
}

/// Text by others moves no cursor and hides nothing.
#[test]
fn words_of_others_are_harmless() {
    let mut line = lines().remove(0);
    line.row.title = Some("a\u{1b}[2Jb\u{202e}c".to_owned());
    line.row.summary = "run\u{7} `ls`\n\nrm -rf ~".to_owned();
    line.row.tool = ToolName::new("t\u{1b}ool");
    line.row.workspace = "/tmp/\u{1b}[31mx".into();
    let mut request = low(1);
    request.plan.preview = Preview::Text { text: "a\u{1b}[2Jb".into() };
    let told = Ok(stored(&line, request));
    let mut screen = Screen::open(80, 24)
        .keys("<a-a>")
        .answer_to(ClientQuery::Inbox, QueryAnswer::Inbox { lines: vec![line] });
    screen.tell_answer(ClientQuery::Request { request: id(1) }, QueryAnswer::Request { request: told });
    // The picture asserts that no cell holds anything a terminal would act upon.
    assert!(screen.shot().contains("␛"));
    let _: RequestId = id(1);
}
