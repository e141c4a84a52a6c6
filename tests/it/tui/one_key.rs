//! One key for a yes: how many keys decisions take, when a card takes the keys by itself, and what typing beside a card
//! decides.

use co::agent::port::{Event, Op, Settlement};
use co::approval::{Approval, Decider, Request};
use co::frontend::protocol::{ClientQuery, ClientRequest};
use co::message::{Source, ToolName};
use co::tool::{Access, DiffKind, DiffLine, Preview, Risk};
use co::tui::Input;
use co::tui::model::Focus;
use proptest::prelude::*;
use serde_json::json;

use crate::tui::kit::{
    Screen, asked, at_all_sizes, decided, diff_request, id, parse_keys, round, shell_request,
};

fn settled(number: u32) -> Event {
    let settled = Settlement::Decided { approval: Approval::yes(), by: Decider::Tui };
    Event::ApprovalSettled { request: id(number), settled }
}

/// A new file of so many lines.
fn new_file(number: u32, lines: usize) -> Request {
    let line = |number| DiffLine { kind: DiffKind::Added, number, text: format!("line {number}") };
    let mut request = shell_request(number, "", Risk::Medium);
    request.tool = ToolName::new("write_file");
    request.args = json!({ "path": "a.txt", "content": "…" });
    request.plan.summary = format!("write {lines} lines to a.txt (new file)");
    request.plan.access = Access::Paths { reads: Vec::new(), writes: vec!["/w/a.txt".into()] };
    request.plan.preview = Preview::Diff { path: "a.txt".to_owned(), lines: (1..=lines).map(line).collect() };
    request
}

fn decisions(screen: &Screen) -> Vec<&ClientRequest> {
    screen.asks().into_iter().filter(|ask| matches!(ask, ClientRequest::Op(Op::Decide { .. }))).collect()
}

fn yes(number: u32) -> ClientRequest {
    decided(number, Approval::yes())
}

/// Presses keys as a person does, with time before each in which the screen may show what comes next.
fn pressed(screen: Screen, keys: &[&str]) -> Screen {
    keys.iter().fold(screen, |screen, key| screen.keys(key).wait(300).wait(600))
}

/// A card after a pause: it has taken the keys, and its guard time is over.
fn rested(screen: Screen) -> Screen {
    screen.wait(1_000).wait(600)
}

#[test]
fn each_kind_of_approval_takes_few_keys() {
    let open = |requests: &[Request]| {
        let screen = Screen::open(140, 40).prompted("go");
        rested(requests.iter().cloned().fold(screen, Screen::asked))
    };
    let edits: Vec<Request> = (1..=5).map(|number| diff_request(number, 1)).collect();
    let file = new_file(1, 400);
    let cases: [(&str, Screen, &[&str], Vec<ClientRequest>); 5] = [
        ("one", open(&[shell_request(1, "ls", Risk::Medium)]), &["y"], vec![yes(1)]),
        ("HIGH", open(&[shell_request(1, "rm -r x", Risk::High)]), &["y", "y"], vec![yes(1)]),
        (
            "five edits on one screen",
            open(&edits),
            &["v", "y"],
            vec![round(&[1, 2, 3, 4, 5], &Approval::yes())],
        ),
        ("a new file of 400 lines", open(&[file]), &["v", "<end>", "Y"], vec![yes(1)]),
        ("five edits one by one", open(&edits), &["y", "y", "y", "y", "y"], (1..=5).map(yes).collect()),
    ];
    for (name, screen, keys, expected) in cases {
        let screen = pressed(screen, keys);
        assert_eq!(decisions(&screen), expected.iter().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn a_chain_of_four_takes_four_keys() {
    let mut screen = Screen::open(80, 24).prompted("go");
    for number in 1..=4 {
        screen = screen.asked(shell_request(number, &format!("step {number}"), Risk::Medium));
        // The first one waits for a pause; the others follow at once.
        screen = if number == 1 { rested(screen) } else { screen.wait(600) };
        screen = screen.keys("y").wait(300).event(settled(number)).wait(200);
        assert_eq!(decisions(&screen).len(), usize::try_from(number).unwrap());
    }
}

#[test]
fn a_card_takes_the_keys_only_from_an_idle_empty_composer() {
    let asked = |screen: Screen| screen.prompted("go").asked(shell_request(1, "ls", Risk::Medium));
    let focus = |screen: Screen| screen.model.focus;
    let typed = || Screen::open(80, 24).keys("thanks");
    assert_eq!(focus(asked(Screen::open(80, 24)).wait(900)), Focus::Composer, "a key came just now");
    assert_eq!(focus(asked(Screen::open(80, 24)).wait(1_000)), Focus::Card);
    assert_eq!(focus(asked(typed()).wait(5_000)), Focus::Composer, "the composer holds text");
    assert_eq!(focus(asked(Screen::open(80, 24).keys("?")).wait(5_000)), Focus::Composer, "a panel is open");
    let long =
        asked(Screen::open(80, 24).prompted("a").text(&"Words.\n\n".repeat(90))).wait(10).keys("<pgup>");
    assert_eq!(focus(long.wait(5_000)), Focus::Composer, "the card is out of sight");
    // A card does not take the focus again after the user left it, until the next request or prompt.
    let left = || asked(Screen::open(80, 24)).wait(1_000).wait(600).keys("<tab><tab><tab>");
    assert_eq!(focus(left().wait(5_000)), Focus::Composer);
    assert_eq!(focus(left().asked(shell_request(2, "pwd", Risk::Low)).wait(5_000)), Focus::Card);
    assert_eq!(focus(left().keys("and<ret>").wait(5_000)), Focus::Card);
    // In the first half second no answer counts, and none is lost to the composer.
    let early = asked(Screen::open(80, 24)).wait(1_000).keys("y").wait(300);
    assert!(decisions(&early).is_empty() && early.model.composer.is_empty());
    assert_eq!(decisions(&early.wait(600).keys("y").wait(300)), [&yes(1)]);
}

#[test]
fn text_goes_to_the_composer_with_its_first_letter() {
    let card = || rested(Screen::open(80, 24).prompted("go").asked(shell_request(1, "ls", Risk::Medium)));
    for text in ["yes, and", "no way", "and", "run it", "edit x", "1 more", "yy", "nn!", "Why", "v2 please"] {
        let mut screen = card();
        for c in text.chars() {
            let keys = if c == ' ' { "<space>".to_owned() } else { c.to_string() };
            screen = screen.keys(&keys).wait(100);
        }
        let screen = screen.wait(1_000);
        if text.chars().all(|c| c == 'y') {
            assert_eq!(decisions(&screen), [&yes(1)], "a key that is held is one press");
            continue;
        }
        assert!(decisions(&screen).is_empty(), "{text}");
        assert_eq!(
            (screen.model.composer.editor.text().as_str(), screen.model.focus),
            (text, Focus::Composer)
        );
    }
    let pasted = card().keys("y").paste(" and more").wait(1_000);
    assert!(decisions(&pasted).is_empty());
    assert_eq!(pasted.model.composer.editor.text(), "y and more");
    let cancelled = card().keys("y<esc>").wait(1_000);
    assert!(decisions(&cancelled).is_empty() && cancelled.model.composer.is_empty());
    let gone = card().keys("y").event(settled(1)).asked(shell_request(2, "rm x", Risk::Low)).wait(300);
    assert!(decisions(&gone).is_empty(), "it was pressed at another request");
}

#[test]
fn some_keys_want_tab_first() {
    let card = || rested(Screen::open(80, 24).prompted("go").asked(shell_request(1, "ls", Risk::Medium)));
    for key in ["a", "r", "e", "1", "Y"] {
        let screen = card().keys(key).wait(1_000);
        assert!(decisions(&screen).is_empty(), "{key}");
        assert_eq!(screen.model.composer.editor.text(), key);
    }
    assert_eq!(card().keys("<tab>a").asks(), [&asked(ClientQuery::DraftRule { request: id(1) })]);
    assert_eq!(decisions(&card().keys("<tab>y")), [&yes(1)], "after Tab a yes needs no pause");
    assert_eq!(
        decisions(&card().keys("n").wait(300).keys("not<space>yet<ret>")).len(),
        1,
        "a reason is text"
    );
}

#[test]
fn a_held_key_decides_one_thing() {
    // The keyboard's delay before it repeats a key, in milliseconds.
    for delay in [250, 500, 660] {
        for tab in ["", "<tab>"] {
            let mut screen = Screen::open(80, 24).prompted("go").asked(shell_request(1, "a", Risk::Medium));
            screen = rested(screen).keys(tab).keys("y").wait(delay);
            for number in 2..60 {
                if !decisions(&screen).is_empty() {
                    screen = screen.event(settled(number - 1));
                }
                screen = screen.asked(shell_request(number, "b", Risk::Medium)).keys("y").wait(30);
            }
            assert!(decisions(&screen).len() <= 1, "{delay} {tab:?}: {:?}", decisions(&screen));
        }
    }
}

#[test]
fn the_pager_shows_finds_and_approves() {
    let open =
        |request: Request| rested(Screen::open(80, 24).prompted("go").asked(request)).keys("v").wait(300);
    let mut screen = open(new_file(1, 400));
    let shot = screen.shot();
    assert!(shot.contains("write_file a.txt") && shot.contains("not seen"), "{shot}");
    assert!(shot.contains("Y yes, unread"), "{shot}");
    let mut end = screen.keys("<end>");
    let shot = end.shot();
    assert!(shot.contains("\"path\": \"a.txt\"") && shot.contains("not seen"), "{shot}");
    let found = end.keys("/line 250<ret>").marked_shot();
    assert!(found.contains("«line 250»"), "{found}");
    let mut unseen = open(new_file(1, 400)).keys("y");
    assert!(decisions(&unseen).is_empty());
    assert!(unseen.shot().contains("Y approves it unread"), "{}", unseen.shot());
    let whole = open(new_file(1, 60)).keys(&"<space>".repeat(8)).wait(300).keys("y");
    assert_eq!(decisions(&whole), [&yes(1)], "paged through");
    assert!(whole.model.panel.is_none());
    // A command, HIGH and untrusted text want to be read.
    let mut command = shell_request(1, "true", Risk::Medium);
    command.plan.preview = Preview::Text { text: "x\n".repeat(300) };
    let mut tainted = new_file(1, 300);
    let source = Source::Program;
    tainted.taint =
        vec![co::approval::Taint { arg: "/content".into(), words: "line".into(), source, from: None }];
    let mut high = new_file(1, 300);
    high.risk = Risk::High;
    for request in [command, tainted, high] {
        let mut screen = open(request).keys("<end>Y");
        assert!(decisions(&screen).is_empty());
        assert!(screen.shot().contains("needs to be read"), "{}", screen.shot());
    }
    // Of several, one key approves neither HIGH nor untrusted text.
    let mixed = Screen::open(80, 40).prompted("go").asked(diff_request(1, 1)).asked(diff_request(2, 1));
    let mixed = rested(mixed.asked(shell_request(3, "rm -r x", Risk::High))).keys("v").wait(300).keys("y");
    assert_eq!(decisions(&mixed), [&round(&[1, 2], &Approval::yes())]);
    // Decided elsewhere, it closes.
    let mut gone = open(new_file(1, 60)).event(settled(1));
    assert!(gone.model.panel.is_none() && gone.shot().contains("decided elsewhere"));
}

#[test]
fn screens() {
    let check = |name: &str, state: &dyn Fn(Screen) -> Screen| {
        insta::assert_snapshot!(name, at_all_sizes(|screen| state(screen).shot()));
    };
    let asked =
        |screen: Screen| screen.prompted("go").text("I run it.").asked(shell_request(1, "ls", Risk::Medium));
    check("one_key_arming", &|screen| asked(screen).wait(1_000).wait(300));
    check("one_key_ready", &|screen| rested(asked(screen)));
    check("one_key_deferred", &|screen| rested(asked(screen)).keys("y"));
    check("one_key_high_again", &|screen| {
        let screen = screen.prompted("go").asked(shell_request(1, "rm -r build", Risk::High));
        rested(screen).keys("y").wait(300).wait(200)
    });
    check("one_key_list", &|screen| {
        rested(screen.prompted("go").asked(diff_request(1, 1)).asked(shell_request(2, "make", Risk::Medium)))
    });
    check("pager_file", &|screen| rested(screen.prompted("go").asked(new_file(1, 400))).keys("v").wait(300));
    check("pager_found", &|screen| {
        rested(screen.prompted("go").asked(new_file(1, 400))).keys("v").wait(300).keys("/line 99<ret>")
    });
    check("pager_stacked", &|screen| {
        let screen =
            (1..=5).fold(screen.prompted("go"), |screen, number| screen.asked(diff_request(number, 1)));
        rested(screen).keys("v").wait(300)
    });
}

/// Words that begin like keys of a card.
const WORDS: &[&str] =
    &["yes and", "no thanks", "a lot", "really", "edit it", "yay", "nay", "1 more", "vary", "why"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// Typing at every moment around a card decides nothing, and loses no letter.
    #[test]
    fn typing_around_a_card_decides_nothing(
        word in proptest::sample::select(WORDS),
        before in 0_u64..3_000,
        pauses in proptest::collection::vec(20_u64..290, 12),
        arrives in 0_usize..12,
        risk in proptest::sample::select(vec![Risk::Low, Risk::Medium, Risk::High]),
    ) {
        let mut screen = Screen::open(80, 24).prompted("go");
        if arrives % 2 == 0 {
            screen = screen.asked(shell_request(1, "one", risk));
        }
        screen = screen.wait(before);
        let keys: Vec<_> = word.chars().map(|c| if c == ' ' { "<space>".to_owned() } else { c.to_string() }).collect();
        for (at, (key, pause)) in keys.iter().zip(pauses.iter().cycle()).enumerate() {
            if at == arrives {
                screen = screen.asked(shell_request(2, "two", risk));
            }
            for key in parse_keys(key) {
                screen.feed(Input::Key(key));
            }
            screen = screen.wait(*pause);
        }
        let screen = screen.wait(3_000);
        prop_assert!(decisions(&screen).is_empty());
        prop_assert_eq!(screen.model.composer.editor.text(), word);
    }
}

/// Postponed cards take no keys by themselves after the new ones are decided.
#[test]
fn keys_for_what_is_new_do_not_reach_what_was_postponed() {
    let ls = |number| shell_request(number, "ls", Risk::Medium);
    let screen = Screen::open(80, 24).prompted("go").asked(shell_request(1, "git push", Risk::High));
    let screen = rested(screen).keys("<tab><esc>").asked(ls(2)).wait(600);
    let screen = screen.keys("<a-a>").wait(600);
    assert_eq!(
        screen.model.cards.current().map(|card| card.request.id.clone()),
        Some(id(2)),
        "what is new is first"
    );
    let decided = screen.keys("y").wait(300).event(settled(2)).wait(600);
    assert_eq!(decided.model.focus, Focus::Composer);
    let typed = decided.keys("edit<space>it");
    assert_eq!(typed.model.composer.editor.text(), "edit it");
}

/// Esc closes the reasons of a card before it postpones the card.
#[test]
fn escape_closes_the_reasons_first() {
    let card = || {
        rested(Screen::open(80, 24).prompted("go").asked(shell_request(1, "ls", Risk::Medium))).keys("<tab>w")
    };
    assert!(decisions(&card().keys("<esc>")).is_empty());
    assert_eq!(decisions(&card().keys("<esc><esc>")), [&decided(1, Approval::Later)]);
}
