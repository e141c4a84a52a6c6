//! The rule at a card: the widths that are offered, its text, what it sends, and what its row says then.

use co::agent::port::{Event, Settlement};
use co::approval::rules::RuleScope;
use co::approval::{Approval, Decider, Remember};
use co::frontend::protocol::{
    ClientQuery, ClientRequest, OfferedRule, PastCalls, QueryAnswer, RuleCheck, ServerMessage,
};
use co::tool::{Preview, Risk};
use co::tui::msg::{EditTarget, EditedText};
use co::tui::{Cmd, Input};

use crate::tui::cards::{asking, card, check, test_run};
use crate::tui::kit::{Screen, asked, decided, id, shell_request};

const DRAFT: &str =
    "[[rule]]\nallow = \"shell\"\ncommand = [\"cargo\", \"test\"]\nreason = \"tests may run\"\n";

fn past(matched: usize, denied: usize) -> RuleCheck {
    RuleCheck { past: Ok(PastCalls { matched, of: 200, denied }) }
}

fn wrong() -> RuleCheck {
    RuleCheck { past: Err("line 2: there is no tool named \"shel\"; write \"shell\"".to_owned()) }
}

fn draft(check: RuleCheck) -> QueryAnswer {
    offered(&[("`cargo test` with harmless flags", DRAFT)], check)
}

fn offered(widths: &[(&str, &str)], check: RuleCheck) -> QueryAnswer {
    let width = |(&(words, text), check): (&(&str, &str), RuleCheck)| OfferedRule {
        words: words.to_owned(),
        text: text.to_owned(),
        check,
    };
    let widths = widths.iter().zip(std::iter::repeat(check)).map(width).collect();
    QueryAnswer::DraftRule { widths }
}

/// A card whose rule is offered in three widths.
fn wide(screen: Screen, risk: Risk, key: &str) -> Screen {
    let reads = "git's read-only subcommands";
    let widths =
        [("exactly this command", "a = 1"), ("`git log` with harmless flags", "b = 1"), (reads, "c = 1")];
    let mut request = shell_request(1, "git log --oneline -20", risk);
    request.why = vec!["git runs programs that the repository's settings name".to_owned()];
    asking(screen, request).keys(key).answer_to(drafting(1), offered(&widths, past(34, 2)))
}

/// A card whose rule was drafted and is shown as text.
fn rule_of(screen: Screen, risk: Risk) -> Screen {
    asking(screen, test_run(risk)).keys("r").answer_to(drafting(1), draft(past(34, 0))).keys("e")
}

fn rule() -> Screen {
    rule_of(Screen::open(80, 24), Risk::Medium)
}

/// The queries and requests of the rule, without others.
fn rule_asks(screen: &Screen) -> Vec<ClientRequest> {
    screen.asks().into_iter().cloned().collect()
}

fn drafting(number: u32) -> ClientQuery {
    ClientQuery::DraftRule { request: id(number) }
}

fn checking(text: &str) -> ClientQuery {
    ClientQuery::CheckRule { text: text.to_owned() }
}

fn drafts() -> ClientRequest {
    asked(drafting(1))
}

fn checks(text: &str) -> ClientRequest {
    asked(checking(text))
}

fn saves(text: &str, scope: RuleScope) -> ClientRequest {
    ClientRequest::SaveRule { request: id(1), text: text.to_owned(), scope }
}

fn drafted() -> String {
    DRAFT.trim_end().to_owned()
}

#[test]
fn a_rule_is_saved_as_it_was_found_good() {
    let text = drafted();
    let changed = format!("{text}x");
    let answered = |screen: Screen, text: &str, check| {
        screen.answer_to(checking(text), QueryAnswer::CheckRule { check })
    };
    let folder = RuleScope::Project;
    let cases: Vec<(&str, Screen, Vec<ClientRequest>)> = vec![
        ("opened", card(Risk::Medium).keys("r"), vec![drafts()]),
        ("no draft yet", card(Risk::Medium).keys("rx<c-s>"), vec![drafts()]),
        ("saved as drafted", rule().keys("<c-s>"), vec![drafts(), saves(&text, folder)]),
        ("saved once", rule().keys("<c-s><c-s><c-s>"), vec![drafts(), saves(&text, folder)]),
        ("everywhere", rule().keys("<tab><c-s>"), vec![drafts(), saves(&text, RuleScope::User)]),
        ("this session", rule().keys("<tab><tab><c-s>"), vec![drafts(), saves(&text, RuleScope::Session)]),
        ("around", rule().keys("<tab><tab><tab><c-s>"), vec![drafts(), saves(&text, folder)]),
        (
            "not unchecked",
            rule().keys("<down><down><down><down><c-e>x<c-s>"),
            vec![drafts(), checks(&changed)],
        ),
        (
            "one check at a time",
            rule().keys("<down><down><down><down><c-e>xyz"),
            vec![drafts(), checks(&changed)],
        ),
        (
            "then of the latest text",
            answered(rule().keys("<down><down><down><down><c-e>xyz"), &changed, past(1, 0)).keys("<c-s>"),
            vec![drafts(), checks(&changed), checks(&format!("{text}xyz"))],
        ),
        (
            "good again",
            answered(rule().keys("<down><down><down><down><c-e>x"), &changed, past(1, 0)).keys("<c-s>"),
            vec![drafts(), checks(&changed), saves(&changed, folder)],
        ),
        (
            "not while it is wrong",
            answered(rule().keys("<down><down><down><down><c-e>x"), &changed, wrong()).keys("<c-s>"),
            vec![drafts(), checks(&changed)],
        ),
        (
            "as drafted again",
            answered(
                answered(rule().keys("<down><down><down><down><c-e>x<c-r>"), &changed, wrong()),
                &text,
                past(34, 0),
            )
            .keys("<c-s>"),
            vec![drafts(), checks(&changed), checks(&text), saves(&text, folder)],
        ),
        (
            "a draft that is wrong",
            card(Risk::Medium).keys("r").answer_to(drafting(1), draft(wrong())).keys("<c-s>"),
            vec![drafts()],
        ),
        ("Esc saves nothing", rule().keys("<esc>"), vec![drafts()]),
        (
            "and loses nothing",
            answered(rule().keys("<down><down><down><down><c-e>x<esc>r"), &changed, past(1, 0)).keys("<c-s>"),
            vec![drafts(), checks(&changed), saves(&changed, folder)],
        ),
        (
            "a yes after Esc is a plain one",
            rule().keys("<esc><esc>y"),
            vec![drafts(), decided(1, Approval::yes())],
        ),
        (
            "letters are text",
            rule().keys("<down><down><down><down><c-e>y"),
            vec![drafts(), checks(&format!("{text}y"))],
        ),
        (
            "Enter is a line",
            rule().keys("<down><down><down><down><c-e><ret>"),
            vec![drafts(), checks(&format!("{text}\n"))],
        ),
        (
            "of another card",
            rule().answer_to(checking("z"), QueryAnswer::CheckRule { check: wrong() }).keys("<c-s>"),
            vec![drafts(), saves(&text, folder)],
        ),
    ];
    for (name, screen, expected) in cases {
        assert_eq!(rule_asks(&screen), expected, "{name}");
    }
}

#[test]
fn the_width_of_what_is_allowed_is_chosen() {
    let (session, folder, user) = (RuleScope::Session, RuleScope::Project, RuleScope::User);
    let cases = [
        ("ay", Some(("a = 1", session))),
        ("a<c-s>", Some(("a = 1", session))),
        ("ry", Some(("a = 1", folder))),
        ("r<tab>y", Some(("a = 1", user))),
        ("a<tab>y", Some(("a = 1", folder))),
        ("a<down>y", Some(("b = 1", session))),
        ("a2y", Some(("b = 1", session))),
        ("a3y", Some(("c = 1", session))),
        ("a<down><down><down>y", Some(("c = 1", session))),
        ("a<down><up><up>y", Some(("a = 1", session))),
        ("a9y", Some(("a = 1", session))),
        ("a3<esc>ry", Some(("c = 1", folder))),
        ("a2e<c-s>", Some(("b = 1", session))),
        ("a2e<esc>3y", Some(("c = 1", session))),
        ("a2yyy3y", Some(("b = 1", session))),
        ("a", None),
        ("a<ret>", None),
        ("a<space>", None),
        ("a2n<ret>", None),
        ("a<esc>", None),
    ];
    for (keys, expected) in cases {
        let (open, rest) = keys.split_at(1);
        let screen = wide(Screen::open(80, 24), Risk::Medium, open).keys(rest);
        let saved = expected.map(|(text, scope)| saves(text, scope));
        assert_eq!(rule_asks(&screen), [drafts()].into_iter().chain(saved).collect::<Vec<_>>(), "{keys}");
    }
    let early = asking(Screen::open(80, 24), test_run(Risk::Medium)).keys("ay");
    assert_eq!(rule_asks(&early), [drafts()], "nothing is offered yet");
    let wrong = asking(Screen::open(80, 24), test_run(Risk::Medium))
        .keys("a")
        .answer_to(drafting(1), draft(wrong()))
        .keys("y");
    assert_eq!(rule_asks(&wrong), [drafts()]);
    assert!(
        rule_asks(&wide(Screen::open(80, 24), Risk::High, "a").keys("y")).is_empty(),
        "HIGH has no session"
    );
    let high = wide(Screen::open(80, 24), Risk::High, "r").keys("y");
    assert_eq!(rule_asks(&high), [drafts()]);
    assert_eq!(rule_asks(&high.wait(1_100).keys("y")), [drafts(), saves("a = 1", folder)]);
}

#[test]
fn a_row_says_what_was_allowed() {
    let settled = |screen: Screen, approval| {
        let settled = Settlement::Decided { approval, by: Decider::Tui };
        screen.event(Event::ApprovalSettled { request: id(1), settled }).shot()
    };
    let remembered = |remember| Approval::Approve { instead: None, remember, note: None, rule: None };
    for (keys, remember, expected) in [
        ("a2y", Remember::Session, "allowed by you for this session: `git log` with harmless flags"),
        ("ry", Remember::Rule, "allowed by you in this folder: exactly this command"),
        ("r<tab>3y", Remember::Rule, "allowed by you everywhere: git's read-only subcommands"),
    ] {
        let (open, rest) = keys.split_at(1);
        let shot = settled(wide(Screen::open(120, 24), Risk::Medium, open).keys(rest), remembered(remember));
        assert!(shot.contains(expected), "{keys}: {shot}");
    }
    let mut edited = rule().keys("<down><down><down><down><c-e>x");
    let text = format!("{}x", drafted());
    edited = edited.answer_to(checking(&text), QueryAnswer::CheckRule { check: past(1, 0) }).keys("<c-s>");
    let shot = settled(edited, remembered(Remember::Rule));
    assert!(shot.contains("allowed by you in this folder: what the rule says"), "{shot}");
}

#[test]
fn a_rule_for_high_needs_a_second_key_after_a_moment() {
    let high = || rule_of(Screen::open(80, 24), Risk::High);
    let saved = saves(&drafted(), RuleScope::Project);
    assert_eq!(
        rule_asks(&high().keys("<c-s><c-s><c-s>")),
        [drafts()],
        "a key held down is no second thought"
    );
    assert!(high().keys("<c-s>").shot().contains("HIGH: Ctrl+S again to save and approve"));
    assert_eq!(rule_asks(&high().keys("<c-s>").wait(1_100).keys("<c-s>")), [drafts(), saved]);
    let other = high().keys("<c-s>").wait(1_100).keys("<tab><c-s>");
    assert_eq!(rule_asks(&other), [drafts()], "another scope is another question");
    let left = high().keys("<c-s><esc><esc>r").wait(1_100).keys("<c-s>");
    assert_eq!(rule_asks(&left), [drafts()], "left in between");
}

#[test]
fn a_rule_is_for_what_was_seen_whole() {
    let mut long = test_run(Risk::Medium);
    long.plan.preview = Preview::Text { text: "x\n".repeat(60) };
    let mut unseen = asking(Screen::open(80, 24), long).keys("r");
    assert!(unseen.asks().is_empty());
    assert!(unseen.shot().contains("read all of it before allowing more"));
}

#[test]
fn a_rule_that_is_not_saved_stays_open() {
    let why = "rules.toml cannot be written: no space".to_owned();
    let mut screen = rule().keys("<c-s>").notice(ServerMessage::RuleNotSaved { request: id(1), why });
    let shot = screen.shot();
    assert!(shot.contains("✗ rules.toml cannot be written: no space") && shot.contains("[[rule]]"), "{shot}");
    let late = |check| rule().keys("<c-s>").answer_to(checking(&drafted()), QueryAnswer::CheckRule { check });
    assert!(late(wrong()).shot().contains("saving and approving…"), "a check is not what became of it");
    let mut saving = late(past(1, 0));
    assert!(saving.shot().contains("saving and approving…"), "a late word on it changes nothing");
    let again = saving.notice(ServerMessage::Idle).wait(1_100).keys("<c-s>");
    assert_eq!(again.asks().iter().filter(|ask| matches!(ask, ClientRequest::SaveRule { .. })).count(), 2);
}

#[test]
fn a_rule_that_allows_nothing_closes_its_form() {
    let mut screen = rule().keys("<c-s>").notice(ServerMessage::RuleAllowsNothing { request: id(1) });
    let shot = screen.shot();
    assert!(!shot.contains("[[rule]]") && !shot.contains("saving and approving…"), "{shot}");
    assert!(shot.contains("y yes"), "the card asks as before: {shot}");
    let again = screen.wait(600).keys("r");
    assert_eq!(
        rule_asks(&again).iter().filter(|ask| **ask == drafts()).count(),
        2,
        "a new form is drafted anew"
    );
    let mut left = rule().keys("<c-s><esc>").notice(ServerMessage::RuleAllowsNothing { request: id(1) });
    assert!(!left.shot().contains("[[rule]]"), "a form that was left stays closed");
}

#[test]
fn a_rule_that_cannot_be_drafted_says_so() {
    let mut screen = card(Risk::Medium).keys("r").answer_to(drafting(1), QueryAnswer::Failed);
    let shot = screen.shot();
    assert!(shot.contains("✗ no rule could be drafted") && !shot.contains("finding similar"), "{shot}");
    let screen = screen.keys("<c-s>");
    assert_eq!(rule_asks(&screen), [drafts()], "nothing is saved");
    assert_eq!(rule_asks(&screen.keys("<esc>r")), [drafts(), drafts()], "asked again");
    let request = id(1);
    let left =
        rule().keys("<c-s><esc>").notice(ServerMessage::RuleNotSaved { request, why: "no space".into() });
    let shot = left.wait(600).keys("r").shot();
    assert!(shot.contains("✗ no space"), "a form that was left says it too: {shot}");
}

#[test]
fn a_rule_is_written_outside() {
    let screen = rule().keys("<c-g>");
    let edits: Vec<&Cmd> = screen.cmds.iter().filter(|cmd| matches!(cmd, Cmd::Edit { .. })).collect();
    assert_eq!(edits, [&Cmd::Edit { text: drafted(), target: EditTarget::Rule(id(1)) }]);
    assert_eq!(EditTarget::Rule(id(1)).extension(), "toml");
    let back = |text: &str| {
        let mut screen = rule();
        screen.feed(Input::Edited(EditedText { target: EditTarget::Rule(id(1)), text: Ok(text.to_owned()) }));
        screen
    };
    assert_eq!(rule_asks(&back("a = 1\n")), [drafts(), checks("a = 1")]);
    let mut huge = back(&"x".repeat(100_000));
    assert_eq!(rule_asks(&huge), [drafts()]);
    assert!(huge.shot().contains("100 kB is too long for a rule: unchanged"));
}

#[test]
fn a_row_of_a_list_is_edited_and_gets_a_rule() {
    let list = || {
        let screen = Screen::open(80, 24).prompted("go").asked(test_run(Risk::Medium));
        screen.asked(shell_request(2, "make", Risk::Low)).wait(600).keys("<tab><down>")
    };
    let open = list().keys("r");
    assert_eq!(open.asks(), [&asked(drafting(2))]);
    let width = OfferedRule { words: "w".into(), text: "a = 1".into(), check: past(1, 0) };
    let widths = QueryAnswer::DraftRule { widths: vec![width] };
    // The card came in place of the list: no yes counts for a moment.
    let saved = open.answer_to(drafting(2), widths).keys("<c-s>").wait(600).keys("<c-s>").wait(600);
    let save = ClientRequest::SaveRule { request: id(2), text: "a = 1".into(), scope: RuleScope::Project };
    assert_eq!(saved.asks()[1..], [&save]);
    let mut back = saved.keys("<esc>");
    assert!(back.shot().contains("◇ 2 actions"), "{}", back.shot());
    let mut form = list().keys("e");
    assert!(form.shot().contains("◇ edit shell"), "{}", form.shot());
    assert!(form.keys("<esc>").shot().contains("◇ 2 actions"));
}

#[test]
fn rules_look_like_this() {
    check("cards_rule_drafting", |screen| asking(screen, test_run(Risk::Medium)).keys("r"));
    check("cards_rule_good", |screen| rule_of(screen, Risk::Medium));
    check("cards_rule_unchecked", |screen| {
        rule_of(screen, Risk::Medium).keys("<tab><down><down><down><down><c-e>x")
    });
    check("cards_rule_wrong", |screen| {
        let screen = rule_of(screen, Risk::Medium).keys("<tab><tab><down><down><down><down><c-e>x");
        screen
            .answer_to(checking(&format!("{}x", drafted())), QueryAnswer::CheckRule { check: wrong() })
            .keys("<c-s>")
    });
    check("cards_rule_high", |screen| rule_of(screen, Risk::High).keys("<c-s>"));
    check("cards_rule_saving", |screen| rule_of(screen, Risk::Medium).keys("<c-s>"));
    check("cards_rule_long", |screen| {
        let text: String = (1..40).map(|line| format!("key{line} = \"{}\"\n", "value ".repeat(9))).collect();
        asking(screen, test_run(Risk::Medium))
            .keys("r")
            .answer_to(drafting(1), offered(&[("w", &text)], past(0, 0)))
            .keys("e")
    });
}

#[test]
fn widths_look_like_this() {
    check("cards_widths", |screen| wide(screen, Risk::Medium, "a"));
    check("cards_widths_chosen", |screen| wide(screen, Risk::Medium, "r").keys("3"));
    check("cards_widths_saving", |screen| wide(screen, Risk::Medium, "a").keys("2y"));
    check("cards_widths_high", |screen| {
        let only = offered(&[("exactly this command", "a = 1")], past(0, 0));
        asking(screen, test_run(Risk::High)).keys("r").answer_to(drafting(1), only).keys("y")
    });
    check("cards_widths_long", |screen| {
        let words = "`git log`, `git diff`, `git show`, `cargo test`, `cargo clippy`, `cargo doc` with harmless flags";
        let widths = [("exactly this command", "a = 1"), (words, "b = 1")];
        asking(screen, test_run(Risk::Medium))
            .keys("a")
            .answer_to(drafting(1), offered(&widths, wrong()))
            .keys("<down>")
    });
}
