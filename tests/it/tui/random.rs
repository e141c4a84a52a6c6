//! Whatever comes in whatever order, at whatever size: the screen holds, is harmless, and approves nothing by accident.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use co::agent::caps::{CapAnswer, CapQuestion};
use co::agent::port::{Event, Op, Settlement};
use co::approval::{Approval, Decider, Request, Taint};
use co::config::Cap;
use co::frontend::Lifecycle;
use co::frontend::protocol::{
    ClientQuery, ClientRequest, CommandLine, EarlierLine, Header, OfferedRule, PastCalls, Privacy,
    QueryAnswer, RuleCheck, ServerMessage, SessionLine, Tone,
};
use co::history::{SessionId, TurnEnd};
use co::message::{Message, ReturnStatus, Source, ToolName, UserPart};
use co::provider::ErrorClass;
use co::tool::{Category, Progress, Risk, SideEffect, ToolSpec};
use co::tui::model::Focus;
use co::tui::msg::{Mouse, PointerEvent};
use co::tui::theme::Glyphs;
use co::tui::{Input, Motion};
use proptest::prelude::*;
use serde_json::json;

use crate::tui::batch::{Knowledge, marked_request, settled};
use crate::tui::kit::{Screen, approved, call, header, id, returned};

const HOSTILE: &[&str] = &[
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "a\u{202e}b\u{2066}c\u{200f}",
    "z\u{200b}w\u{200d}\u{feff}v\u{2060}\u{ad}",
    "日本語のとても長い文字列です、幅は二つずつ",
    "👩\u{200d}👩\u{200d}👧 family 🏳\u{fe0f}\u{200d}🌈 🇩🇪",
    "tab\there\t\tand there",
    "one\ntwo\r\nthree\rfour",
    "e\u{301}\u{301}\u{301} \u{301}alone",
    "\n| a | 日本 |\n|---|--:|\n| 👩 | much longer than the other one |\n",
    "\n```rust\nfn main() { let 日 = \"\u{202e}\"; }\n",
    "\n# head\n- [x] item\n  1. two\n> quote *open `open",
    "[link](https://a.example/\u{202e}x) <https://日本.example>",
    "\u{9b}31m\u{0}\u{7f}\u{85}\u{2028}\u{e0041}",
    "\u{ff21}\u{3000}wide  space",
    "wordwordwordwordwordwordwordwordwordwordwordwordwordwordwordwordwordwordwordwordwordword",
    "plain words of some length that are wrapped somewhere",
    " ",
    "",
    "/help @src !ls",
];

const KEYS: &[&str] = &[
    "<tab>", "<tab>", "<a-a>", "<up>", "<down>", "<left>", "<right>", "<space>", "a", "y", "y", "y", "n",
    "v", "w", "e", "s", "r", "1", "<ret>", "<esc>", "<pgdn>", "<pgdn>", "<pgup>", "?", "/", "@", "!", "x",
    "<c-home>", "<c-end>", "<c-s>", "<c-f>", "<c-r>", "<c-o>", "<a-t>", "<c-t>", "<a-m>", "<c-k>", "<c-u>",
    "<c-w>", "<c-y>", "<c-_>", "<bs>", "<del>", "<a-ret>", "<c-j>", "<c-l>", "<a-r>", "<c-g>", "<home>",
    "<end>", "<s-tab>", "<s-up>", "g", "g", "r",
];

/// One thing that happens to the screen.
#[derive(Debug, Clone)]
enum Step {
    Key(&'static str),
    Paste(String),
    Event(Box<Event>),
    Notice(Box<ServerMessage>),
    Answer(Box<(ClientQuery, QueryAnswer)>),
    Ask(u32, u8, usize, String),
    Settle(u32, usize),
    /// The draft of a rule for this request, good or not.
    Draft(u32, String, bool),
    /// The last text of a rule that was asked about is good, or not.
    Checked(bool),
    Waiting(Vec<u32>),
    Resize(u16, u16),
    /// The terminal has another size already than the model knows of.
    Torn(u16, u16),
    Mouse(PointerEvent, u16, u16),
    Wait(u64),
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(HOSTILE), 1..4).prop_map(|parts| parts.concat())
}

fn capped(model: String) -> CapQuestion {
    let (spent, limit, raised) = (990, 1_000, 2_000);
    CapQuestion { cap: Cap::DayTokens, spent, limit, adds: Some(50), unpriced: 0, raised, model }
}

fn event() -> impl Strategy<Value = Event> {
    (0usize..17, 1u32..6, text()).prop_map(|(which, number, text)| {
        let called = || call(number, "shell", json!({ "command": text }));
        match which {
            0 | 1 => Event::TextDelta { text },
            2 => Event::TextCommitted { text },
            3 => Event::ThinkingDelta { text },
            4 => Event::ThinkingCommitted { text },
            5 => Event::ToolArgs { index: 0, name: "shell".into(), delta: format!("{{\"command\":{text:?}") },
            6 => Event::ToolCall { call: called() },
            7 => Event::ToolRunning { call: called() },
            8 => Event::ToolProgress { progress: Progress { call: called().id, text } },
            9 => {
                Event::ToolReturn { call: called(), returned: returned(number, ReturnStatus::Failed, &text) }
            }
            10 => Event::ToolReturn { call: called(), returned: returned(number, ReturnStatus::Ok, &text) },
            11 => Event::Prompted { parts: vec![UserPart::Text { text }] },
            12 => Event::Retry {
                class: ErrorClass::Overloaded,
                message: text.clone(),
                wait: Duration::from_secs(u64::from(number)),
                attempt: 1,
                of: 3,
                then: Some(text),
            },
            13 => Event::PartialReset,
            14 => {
                let class = ErrorClass::Network;
                Event::FellBack { from: text.clone(), to: text.clone(), class, why: text }
            }
            15 => Event::Refused { why: text },
            16 => Event::CapReached { question: capped(text) },
            17 => Event::CapAnswered { question: capped(text), answer: CapAnswer::GoOn },
            _ => Event::Status { text },
        }
    })
}

fn notice() -> impl Strategy<Value = ServerMessage> {
    (0usize..10, text(), any::<bool>()).prop_map(|(which, text, here)| match which {
        0 => ServerMessage::Header(Header { title: text.clone(), model: text, ..header() }),
        1 => ServerMessage::Local { title: text.clone(), text, tone: Tone::Warning },
        2 => ServerMessage::ShellBegan { command: text, privacy: Privacy::Shared },
        3 => ServerMessage::ShellOutput { text },
        4 => ServerMessage::ShellEnded { outcome: text, took: Duration::from_secs(2) },
        5 => ServerMessage::Inputs { lines: vec![text] },
        6 => ServerMessage::Sessions { sessions: vec![session_line(text, here)], query: String::new() },
        7 => ServerMessage::Keys { filter: text },
        8 => ServerMessage::TurnBegan,
        _ => ServerMessage::Idle,
    })
}

fn session_line(text: String, here: bool) -> SessionLine {
    SessionLine {
        id: SessionId("01AA".into()),
        title: text.clone(),
        workspace: text.into(),
        here,
        updated: jiff::Timestamp::UNIX_EPOCH,
        turns: 3,
        waiting: 2,
    }
}

fn answer() -> impl Strategy<Value = (ClientQuery, QueryAnswer)> {
    (0usize..4, text(), any::<bool>()).prop_map(|(which, text, here)| match which {
        0 => (ClientQuery::Earlier, QueryAnswer::Earlier { lines: vec![EarlierLine { text, here }] }),
        1 => {
            let paths = vec![text, "src/".into(), "src/main.rs".into()];
            (ClientQuery::Files, QueryAnswer::Files { paths })
        }
        2 => {
            let sessions = vec![session_line(text, here)];
            (ClientQuery::Sessions, QueryAnswer::Sessions { sessions })
        }
        _ => {
            let messages = vec![Message::user(text)];
            (ClientQuery::Preview { session: SessionId("01AA".into()) }, QueryAnswer::Preview { messages })
        }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let mouse = proptest::sample::select(vec![
        PointerEvent::Press,
        PointerEvent::Drag,
        PointerEvent::Release,
        PointerEvent::WheelUp,
        PointerEvent::WheelDown,
    ]);
    let size = || prop_oneof![1 => (1u16..44, 1u16..14), 3 => (40u16..=160, 10u16..=50)];
    prop_oneof![
        14 => proptest::sample::select(KEYS).prop_map(Step::Key),
        1 => text().prop_map(Step::Paste),
        8 => event().prop_map(|event| Step::Event(Box::new(event))),
        3 => notice().prop_map(|notice| Step::Notice(Box::new(notice))),
        1 => answer().prop_map(|answer| Step::Answer(Box::new(answer))),
        3 => (1u32..6, 0u8..3, 0usize..30, text()).prop_map(|(number, risk, lines, text)| Step::Ask(number, risk, lines, text)),
        1 => (1u32..6, 0usize..5).prop_map(|(number, how)| Step::Settle(number, how)),
        2 => (1u32..6, text(), any::<bool>()).prop_map(|(number, text, good)| Step::Draft(number, text, good)),
        2 => any::<bool>().prop_map(Step::Checked),
        1 => proptest::collection::vec(1u32..6, 0..4).prop_map(Step::Waiting),
        2 => size().prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        1 => size().prop_map(|(columns, rows)| Step::Torn(columns, rows)),
        2 => (mouse, 0u16..160, 0u16..50).prop_map(|(what, column, row)| Step::Mouse(what, column, row)),
        3 => (0u64..1_500).prop_map(Step::Wait),
    ]
}

/// Keys that a person presses one after another: chance alone seldom finds these.
const SCENES: &[&[&str]] = &[
    &["<esc>", "<esc>", "<a-a>", "<pgdn>", "<pgdn>", "<pgdn>", "y", "y"],
    &["<esc>", "<a-a>", "v", "<pgdn>", "<pgdn>", "<pgdn>", "y", "y"],
    &["<esc>", "<a-a>", "<space>", "<down>", "<space>", "y", "y"],
    &["<esc>", "<a-a>", "<ret>", "<pgdn>", "<pgdn>", "a", "y"],
    &["<esc>", "<a-a>", "<ret>", "e", "x", "<c-s>", "<c-s>"],
    &["<esc>", "<a-a>", "n", "x"],
    &["<esc>", "<esc>", "<a-a>", "<pgdn>", "<pgdn>", "<pgdn>", "a", "<down>", "y", "y"],
    &[
        "<esc>", "<esc>", "<a-a>", "<pgdn>", "<pgdn>", "<pgdn>", "r", "e", "<c-s>", "<tab>", "x", "<c-s>",
        "<c-s>",
    ],
    &["<esc>", "<tab>", "<tab>", "<up>", "v", "<up>", "<ret>"],
    &["<esc>", "<c-f>", "a", "<ret>", "n", "<a-t>"],
    &["<esc>", "<esc>", "<c-u>", "/", "h"],
    &["<esc>", "<c-u>", "@", "s"],
];

/// A request comes and such keys follow, in haste or not.
fn scene() -> impl Strategy<Value = Vec<Step>> {
    let keys = proptest::sample::select(SCENES);
    let pause = proptest::sample::select(vec![0u64, 100, 600]);
    (keys, pause, 1u32..6, 0u8..3, 0usize..9, text()).prop_map(|(keys, pause, number, risk, lines, text)| {
        let asked = Step::Ask(number, risk, lines, text);
        let pressed = keys.iter().flat_map(|key| [Step::Wait(pause), Step::Key(key)]);
        std::iter::once(asked).chain(pressed).collect()
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = prop_oneof![14 => step().prop_map(|step| vec![step]), 1 => scene()];
    proptest::collection::vec(some, 1..60).prop_map(|some| some.concat())
}

/// A request with hostile words around lines that differ from all others.
fn request(number: u32, risk: u8, lines: usize, text: &str) -> Request {
    let mut request = marked_request(number, risk, lines);
    request.plan.summary = text.to_owned();
    request.why = vec![text.to_owned()];
    let source = Source::Command { command: text.to_owned() };
    let taint = |arg: String| Taint { arg, words: text.to_owned(), source: source.clone(), from: None };
    request.taint = vec![taint("/path".to_owned()), taint(format!("/{text}"))];
    request.taint.truncate(usize::from(risk));
    request.again = lines.is_multiple_of(3).then(|| text.to_owned());
    request.depends = vec![call(1, "", json!({})).id];
    request.args = json!({ "path": text, "content": text });
    request
}

/// An end of a request that was not the person's here.
fn end(number: u32, how: usize) -> Event {
    let by = |approval, by| Settlement::Decided { approval, by };
    let ended = match how {
        0 => return settled(number, Approval::yes()),
        1 => Settlement::Expired,
        2 => Settlement::Superseded,
        3 => Settlement::Withdrawn,
        _ => by(
            Approval::Deny { reason: Some("\u{202e}no".to_owned()) },
            Decider::Rule { id: "\u{1b}r".to_owned() },
        ),
    };
    Event::ApprovalSettled { request: id(number), settled: ended }
}

fn check_of(good: bool) -> RuleCheck {
    let past = PastCalls { matched: 3, of: 200, denied: 1 };
    RuleCheck { past: if good { Ok(past) } else { Err("line 1:\u{202e} wrong\nand more".to_owned()) } }
}

fn known() -> ServerMessage {
    let command = CommandLine {
        name: "help".into(),
        usage: "日本\u{202e}".into(),
        about: "words\u{200b} 👩".into(),
        source: "built-in".into(),
        args: vec!["日本".into()],
    };
    let text = json!({ "type": "string", "description": "\u{202e}what 日本" });
    let tool = ToolSpec {
        name: ToolName::new("write_file"),
        description: String::new(),
        parameters: json!({ "type": "object", "properties": { "path": text, "content": text } }),
        category: Category::Files,
        risk: Risk::Medium,
        side_effect: SideEffect::External,
        origin: co::tool::Origin::Builtin,
        output_limit: 1_000,
        timeout: Duration::from_secs(1),
    };
    ServerMessage::Known { commands: vec![command], tools: vec![tool] }
}

/// The screen, and what is known of it from outside.
struct WatchedScreen {
    screen: Screen,
    known: Knowledge,
    /// Texts of rules, and whether they were last said to be good.
    good: BTreeMap<String, bool>,
    now: u64,
}

impl WatchedScreen {
    fn take(&mut self, step: &Step) {
        let Self { screen, known, now, .. } = self;
        match step {
            Step::Key(key) => {
                if matches!(*key, "y" | "a" | "<c-s>") {
                    known.press(*now);
                }
                screen.press(key);
            }
            Step::Paste(text) => screen.feed(Input::Paste(text.clone())),
            Step::Event(event) => screen.tell_event((**event).clone()),
            Step::Notice(notice) => screen.tell((**notice).clone()),
            Step::Answer(answer) => {
                let (query, answer) = (**answer).clone();
                screen.tell_answer(query, answer);
            }
            Step::Ask(number, risk, lines, text) => {
                let request = request(*number, *risk, *lines, text);
                known.came(&request, *number, *now);
                screen.tell_event(Event::ApprovalNeeded { request });
            }
            Step::Settle(number, how) => {
                if known.waiting.remove(number).is_some() {
                    known.changed_ms = *now;
                }
                screen.tell_event(end(*number, *how));
            }
            Step::Draft(number, text, good) => {
                self.good.insert(text.trim_end_matches('\n').to_owned(), *good);
                let (request, text) = (id(*number), text.clone());
                let width = |text: String| OfferedRule { words: text.clone(), text, check: check_of(*good) };
                let wider = format!("{text} wider");
                self.good.insert(wider.trim_end_matches('\n').to_owned(), *good);
                let widths = vec![width(text), width(wider)];
                screen.tell_answer(ClientQuery::DraftRule { request }, QueryAnswer::DraftRule { widths });
            }
            Step::Checked(good) => {
                let text = |ask: &ClientRequest| match ask {
                    ClientRequest::Query { query: ClientQuery::CheckRule { text }, .. } => Some(text.clone()),
                    _ => None,
                };
                if let Some(text) = screen.asks().into_iter().rev().find_map(text) {
                    self.good.insert(text.clone(), *good);
                    let check = QueryAnswer::CheckRule { check: check_of(*good) };
                    screen.tell_answer(ClientQuery::CheckRule { text }, check);
                }
            }
            Step::Waiting(numbers) => {
                let numbers: BTreeSet<u32> = numbers.iter().copied().collect();
                known.waiting.retain(|number, _| numbers.contains(number));
                let told = |number: &u32| {
                    known
                        .waiting
                        .get(number)
                        .cloned()
                        .unwrap_or_else(|| request(*number, 2, 3, "日本\u{202e}"))
                };
                let requests: Vec<Request> = numbers.iter().map(told).collect();
                for (number, request) in numbers.iter().zip(&requests) {
                    if known.waiting.get(number) != Some(request) {
                        known.came(request, *number, *now);
                    }
                }
                screen.tell(ServerMessage::Waiting { requests });
            }
            Step::Resize(columns, rows) => screen.size(*columns, *rows),
            Step::Torn(columns, rows) => screen.torn(*columns, *rows),
            Step::Mouse(what, column, row) => {
                screen.feed(Input::Mouse(Mouse { what: *what, column: *column, row: *row }));
            }
            Step::Wait(ms) => {
                screen.pass(*ms);
                *now += ms;
            }
        }
    }

    /// Checks what a step did; `before` is the focus before it, and `deferred` whether a key waited for another one.
    fn check(&mut self, step: &Step, before: Focus, deferred: bool) -> Result<(), TestCaseError> {
        let asks: Vec<ClientRequest> =
            self.screen.asks().into_iter().skip(self.known.answered).cloned().collect();
        for ask in &asks {
            if let ClientRequest::Op(Op::Cap { answer: CapAnswer::GoOn | CapAnswer::Raise, .. }) = ask {
                prop_assert!(matches!(step, Step::Key("g" | "r")) || deferred, "over a cap by {step:?}");
                prop_assert_eq!(before, Focus::Card, "over a cap without the keys");
            }
            if let ClientRequest::SaveRule { request, text, .. } = ask {
                prop_assert!(matches!(step, Step::Key("y" | "<c-s>")) || deferred, "saved by {step:?}");
                prop_assert_eq!(before, Focus::Card, "saved without the keys");
                prop_assert_eq!(self.good.get(text), Some(&true), "a rule nobody called good: {:?}", text);
                self.known.approved(request, self.now, deferred)?;
            }
            for request in approved(ask) {
                let by_key = matches!(step, Step::Key("y" | "<c-s>"));
                prop_assert!(by_key || deferred, "approved by {step:?}");
                prop_assert_eq!(before, Focus::Card, "approved without the keys");
                self.known.approved(request, self.now, deferred)?;
            }
        }
        self.known.answered += asks.len();
        let shot = self.screen.shot();
        self.known.drawn(&shot);
        let model = &self.screen.model;
        prop_assert_eq!(model.cards.count(), self.known.waiting.len());
        let status = shot.lines().rev().nth(1).unwrap_or_default();
        if !model.is_too_small() {
            let counted = format!("{} {}", model.glyphs.waiting, model.cards.count());
            prop_assert!(status.ends_with(&counted), "{}", status);
        }
        prop_assert!(
            model.wake_at().is_none_or(|at| at > model.now_ms),
            "it wakes for ever: {:?}",
            model.wake_at()
        );
        Ok(())
    }

    /// Everything that runs ends: then nothing wakes it any more.
    fn rests(&mut self) -> Result<(), TestCaseError> {
        self.screen.tell_event(Event::TurnEnded { end: TurnEnd::Completed });
        self.screen.tell(ServerMessage::ShellEnded { outcome: "done".into(), took: Duration::ZERO });
        self.screen.tell(ServerMessage::Idle);
        for _ in 0..3 {
            self.screen.pass(60_000);
        }
        let model = &self.screen.model;
        prop_assert!(model.life == Lifecycle::Open || model.wake_at().is_none());
        prop_assert_eq!(model.wake_at(), None, "an idle screen has timers");
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(28) })]

    #[test]
    fn the_screen_holds_whatever_comes(
        ascii in any::<bool>(),
        still in any::<bool>(),
        steps in steps(),
    ) {
        let glyphs = if ascii { &Glyphs::ASCII } else { &Glyphs::UNICODE };
        let mut screen = Screen::with(80, 24, glyphs).notice(ServerMessage::Header(header())).notice(known());
        screen.model.motion = if still { Motion::Reduced } else { Motion::Full };
        let mut watched = WatchedScreen { screen, known: Knowledge::default(), good: BTreeMap::new(), now: 1_000 };
        for step in steps {
            let before = watched.screen.model.focus;
            let deferred = watched.screen.model.presses.deferred_key().is_some();
            watched.take(&step);
            watched.check(&step, before, deferred)?;
        }
        watched.rests()?;
    }
}
