//! The question at a cap on the screen: how it looks, which keys answer it, and which never do.

use co::agent::caps::{CapAnswer, CapQuestion};
use co::agent::port::{Event, Op};
use co::config::Cap;
use co::frontend::protocol::{ClientRequest, Completeness, CostSummary, Header, ServerMessage};
use co::history::{Limit, TurnEnd};
use co::message::{Usage, Usd};
use co::tui::Cmd;

use crate::tui::kit::{Screen, at_all_sizes, header, shell_request};

fn question() -> CapQuestion {
    CapQuestion {
        cap: Cap::DayUsd,
        spent: 1_980_000_000,
        limit: 2_000_000_000,
        adds: Some(50_000_000),
        unpriced: 0,
        raised: 4_000_000_000,
        model: "claude-sonnet-4-6".to_owned(),
    }
}

fn money(today: u64, cap: Option<u64>, known: Completeness) -> Header {
    let money = CostSummary { session: Usd(310_000_000), today: Usd(today), cap: cap.map(Usd), known };
    Header { money: Some(money), ..header() }
}

fn working(screen: Screen) -> Screen {
    let usage = Usage { input: Some(41_200), output: Some(412), ..Usage::default() };
    screen
        .notice(ServerMessage::Header(money(1_980_000_000, Some(2_000_000_000), Completeness::All)))
        .prompted("clear my inbox")
        .text("I will read first.")
        .event(Event::TextCommitted { text: "I will read first.".into() })
        .event(Event::Usage { usage, model: "m".into(), cost: Some(Usd(140_000_000)) })
}

fn capped(screen: Screen) -> Screen {
    working(screen).event(Event::CapReached { question: question() }).wait(600)
}

#[test]
fn states() {
    let warned = |screen: Screen| {
        let text = "$1.62 of $2.00 used today (cap.day_usd).".to_owned();
        working(screen).event(Event::Status { text }).wait(1_000)
    };
    let unknown = CapQuestion { adds: None, unpriced: 3, cap: Cap::SessionUsd, ..question() };
    let shots: [(&str, &dyn Fn(Screen) -> Screen); 7] = [
        ("warned", &warned),
        ("asked", &capped),
        ("has_keys", &|screen| capped(screen).keys("<tab>")),
        ("typing", &|screen| capped(screen).keys("and be brief")),
        ("sent", &|screen| capped(screen).keys("<tab>").wait(600).keys("g")),
        ("unknown", &|screen| {
            working(screen).event(Event::CapReached { question: unknown.clone() }).keys("<tab>").wait(600)
        }),
        ("stopped", &|screen| {
            let end = TurnEnd::LimitReached { limit: Limit::Cap(Cap::DayUsd) };
            capped(screen).event(Event::TurnEnded { end }).notice(ServerMessage::Idle)
        }),
    ];
    for (name, state) in shots {
        insta::assert_snapshot!(format!("cap_{name}"), at_all_sizes(|screen| state(screen).shot()));
    }
}

#[test]
fn costs_are_shown_once_there_are_some() {
    let mut all = String::new();
    for (name, header) in [
        ("no cost", header()),
        ("no cap", money(140_000_000, None, Completeness::All)),
        ("a price is unknown", money(140_000_000, Some(2_000_000_000), Completeness::Partly)),
    ] {
        let shot =
            at_all_sizes(|screen| screen.notice(ServerMessage::Header(header.clone())).prompted("hi").shot());
        let shot: Vec<&str> = shot
            .lines()
            .filter(|line| line.contains(" co ") || line.contains('$') || line.contains("COST"))
            .collect();
        all.push_str(&format!("=== {name}\n{}\n", shot.join("\n")));
    }
    insta::assert_snapshot!("cap_costs", all);
}

/// The answers to the cap.
fn said(screen: &Screen) -> Vec<CapAnswer> {
    let answer = |cmd: &Cmd| match cmd {
        Cmd::Send(ClientRequest::Op(Op::Cap { cap: Cap::DayUsd, answer })) => Some(*answer),
        _ => None,
    };
    screen.cmds.iter().filter_map(answer).collect()
}

#[test]
fn keys_answer_once_the_question_has_them_and_was_there_for_a_moment() {
    let fresh = || working(Screen::open(80, 24)).event(Event::CapReached { question: question() });
    for (what, screen, expected) in [
        ("without the keys letters are text", fresh().wait(600).keys("grs"), vec![]),
        ("too soon", fresh().keys("<tab>grs"), vec![]),
        (
            "a key that is held down",
            fresh().keys("<tab>gggg").wait(400).keys("g").wait(400).keys("g"),
            vec![],
        ),
        ("reflexes", fresh().keys("<tab>").wait(600).keys("<ret><space>y<esc>"), vec![]),
        ("go on", fresh().keys("<tab>").wait(600).keys("g"), vec![CapAnswer::GoOn]),
        ("raise", fresh().keys("<tab>").wait(600).keys("r"), vec![CapAnswer::Raise]),
        ("stop", fresh().keys("<tab>").wait(600).keys("s"), vec![CapAnswer::Stop]),
        ("once", fresh().keys("<tab>").wait(600).keys("gsr"), vec![CapAnswer::GoOn]),
        ("all that waits, too", fresh().keys("<a-a>").wait(600).keys("g"), vec![CapAnswer::GoOn]),
    ] {
        assert_eq!(said(&screen), expected, "{what}");
    }
}

#[test]
fn it_is_no_request_and_takes_no_words_away() {
    let asked = Event::CapReached { question: question() };
    let screen = working(Screen::open(80, 24)).event(asked.clone()).wait(600).keys("and be brief<ret>");
    assert_eq!(screen.model.cards.count(), 0, "nothing waits in the inbox");
    assert!(
        screen.cmds.contains(&Cmd::Send(ClientRequest::Line { text: "and be brief".into() })),
        "{:?}",
        screen.cmds
    );
    assert_eq!(screen.wait(2_000).model.wake_at(), None, "a turn that waits for the person rests");
    // A reason that is being written is not taken off the screen, and its letters answer nothing.
    let request = shell_request(3, "make", co::tool::Risk::Medium);
    let screen = working(Screen::open(80, 24)).asked(request).keys("<tab>").wait(600).keys("n");
    let mut screen = screen.keys("go ").event(asked).wait(600).keys("grs");
    assert_eq!(said(&screen), []);
    assert!(screen.shot().contains("go grs"), "{}", screen.shot());
    // Esc leads back to writing, and from there it stops the turn.
    let mut screen = capped(Screen::open(80, 24)).keys("<tab>").wait(600).keys("<esc>");
    assert_eq!(said(&screen), []);
    screen.press("<esc>");
    assert!(screen.cmds.contains(&Cmd::Send(ClientRequest::Op(Op::Interrupt))));
}
