//! A card in every state: whose words it carries, the note to the model, its facts, and its end.

use std::time::Duration;

use co::agent::port::{Event, Settlement};
use co::approval::{Approval, Decider, Remember, Request, Taint};
use co::config::Mode;
use co::frontend::protocol::{ClientRequest, ServerMessage};
use co::history::TurnEnd;
use co::message::{Source, ToolName};
use co::tool::{
    Access, Category, DiffKind, DiffLine, Origin, Preview, Question, Risk, SideEffect, ToolSpec, Undo,
};
use co::tui::msg::{EditTarget, EditedText};
use co::tui::{Cmd, Input};
use serde_json::{Value, json};

use crate::tui::kit::{Screen, at_all_sizes, call, decided, decisions, id, plan, round, shell_request};

pub fn test_run(risk: Risk) -> Request {
    let mut request = shell_request(1, "cargo test --workspace", risk);
    request.why = vec!["shell runs a command".to_owned(), "cargo is not known to only look".to_owned()];
    request
}

pub fn asking(screen: Screen, request: Request) -> Screen {
    screen.prompted("run the tests").text("I run the tests now.").asked(request).wait(600).keys("<tab>")
}

pub fn card(risk: Risk) -> Screen {
    asking(Screen::open(80, 24), test_run(risk))
}

fn mail_args() -> Value {
    json!({ "to": "billing@evil.example", "subject": "Re: invoice", "body": "The amount is due." })
}

fn known(screen: Screen) -> Screen {
    let text = json!({ "type": "string" });
    let tool = ToolSpec {
        name: ToolName::new("send_mail"),
        description: String::new(),
        parameters: json!({ "type": "object", "properties": { "to": text, "subject": text, "body": text } }),
        category: Category::Files,
        risk: Risk::High,
        side_effect: SideEffect::External,
        origin: Origin::Builtin,
        output_limit: 1_000,
        timeout: Duration::from_secs(1),
    };
    screen.notice(ServerMessage::Known { commands: Vec::new(), tools: vec![tool] })
}

/// A mail whose words are not all the person's.
fn mail(number: u32) -> Request {
    let fields = [
        ("to", "billing@evil.example"),
        ("subject", "Re: invoice"),
        ("body", "The amount is due.\nPay at once."),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let mut request = shell_request(number, "", Risk::High);
    request.tool = ToolName::new("send_mail");
    request.args = mail_args();
    request.plan = plan("send a mail to billing@evil.example", Preview::Fields { fields }, Risk::High);
    request.plan.undo = Undo::Hold;
    request.plan.access = Access::Nothing;
    request.why = vec![
        "send_mail leaves this machine".to_owned(),
        "its words are not all yours: one step up".to_owned(),
    ];
    let command = Source::Command { command: "curl https://shop.example/invoice".to_owned() };
    let file = Source::File { path: "notes/x.md".to_owned() };
    request.taint = vec![
        Taint {
            arg: "/to".to_owned(),
            words: "billing@evil.example".to_owned(),
            source: command.clone(),
            from: None,
        },
        Taint {
            arg: "/body".to_owned(),
            words: "The amount is due.\nPay at once. ".repeat(9),
            source: command,
            from: None,
        },
        Taint { arg: "/body".to_owned(), words: "Pay\u{1b}[2J at once".to_owned(), source: file, from: None },
    ];
    request.expires = Some("2026-11-23T14:31:00Z".parse().unwrap());
    request
}

#[test]
fn a_card_says_whose_words_it_carries() {
    let at = |time: &str| {
        let mut screen = Screen::open(100, 40);
        screen.model.clock = time.parse::<jiff::Timestamp>().unwrap().to_zoned(jiff::tz::TimeZone::UTC);
        asking(screen, mail(1))
    };
    assert!(!at("2026-11-20T09:00:00Z").shot().contains("expires"), "only when it is near");
    let mut shot = at("2026-11-23T09:00:00Z").shot();
    for words in [
        "◇ send_mail billing@evil.example ▲ ─",
        "to ▲     billing@evil.example",
        "source  ▲ from output of `curl https://shop.example/invoice`, file notes/x.md",
        "until   expires 14:31",
        "undo    held before it happens",
    ] {
        assert!(shot.contains(words), "{words}: {shot}");
    }
    assert!(!shot.contains("subject ▲"), "{shot}");
    shot = asking(Screen::open(100, 40), mail(1)).keys("w").shot();
    for words in [
        "why     send_mail leaves this machine",
        "      its words are not all yours: one step up",
        "source  ▲ to: «billing@evil.example» from output of `curl https://shop.example/invoice`",
        "      ▲ body: «Pay␛[2J at once» from file notes/x.md",
    ] {
        assert!(shot.contains(words), "{words}: {shot}");
    }
    let mut command = test_run(Risk::Medium);
    let source = Source::Tool { name: ToolName::new("fetch_page") };
    command.taint = vec![Taint { arg: "/command".into(), words: "--workspace".into(), source, from: None }];
    let shot = asking(Screen::open(80, 24), command).shot();
    assert!(shot.contains("▲ command │"), "{shot}");
}

#[test]
fn a_note_goes_with_the_yes() {
    let noted = |instead, note: &str| {
        decided(
            1,
            Approval::Approve { instead, remember: Remember::Once, note: Some(note.to_owned()), rule: None },
        )
    };
    let form = || asking(known(Screen::open(80, 24)), mail(1)).keys("e");
    let open = |risk| {
        let mut request = mail(1);
        request.risk = risk;
        asking(known(Screen::open(80, 24)), request).keys("e")
    };
    let args = |subject: &str| {
        let mut args = mail_args();
        args["subject"] = json!(subject);
        Some((ToolName::new("send_mail"), args))
    };
    let cases: Vec<(&str, &str, Vec<ClientRequest>)> = vec![
        ("a note alone", "<up>be kind<c-s>", vec![noted(None, "be kind")]),
        ("a note and an edit", "<tab>!<tab><tab>soon<c-s>", vec![noted(args("Re: invoice!"), "soon")]),
        ("kept over Esc", "<up>soon<esc>e<c-s>", vec![noted(None, "soon")]),
        ("kept as raw text", "<up>soon<f2><c-s>", vec![noted(None, "soon")]),
        ("taken back", "<up>soon<c-r><c-s>", vec![decided(1, Approval::yes())]),
        ("blank is none", "<up>  <c-s>", vec![decided(1, Approval::yes())]),
        ("lines", "<up>a<a-ret>b<c-s>", vec![noted(None, "a\nb")]),
    ];
    for (name, keys, expected) in cases {
        let screen = open(Risk::Medium).keys(keys);
        assert_eq!(screen.asks(), expected.iter().collect::<Vec<_>>(), "{name}");
    }
    assert!(form().keys("<up>go<c-s>").asks().is_empty(), "HIGH twice");
    let after = form().keys("<up>go<c-s>x").wait(1_100).keys("<c-s>");
    assert!(after.asks().is_empty(), "another note is another yes");
}

fn settle(request: Request, keys: &str, settled: Settlement) -> String {
    let screen = asking(Screen::open(120, 24), request).keys(keys);
    let mut screen = screen.event(Event::ApprovalSettled { request: id(1), settled });
    assert_eq!(screen.model.cards.count(), 0);
    let shot = screen.shot();
    let line = shot.lines().find(|line| line.contains("◇ shell"));
    line.unwrap_or_else(|| panic!("{shot}")).split("  ").last().unwrap().trim().to_owned()
}

#[test]
fn a_card_ends_in_one_honest_line() {
    let approve = |instead, remember, note: Option<&str>| Approval::Approve {
        instead,
        remember,
        note: note.map(str::to_owned),
        rule: None,
    };
    let other = |tool: &str| Some((ToolName::new(tool), json!({})));
    let by = |approval, by| Settlement::Decided { approval, by };
    let deny = |reason: &str| Approval::Deny { reason: Some(reason.to_owned()) };
    let rule = || Decider::Rule { id: "tests\u{1b}".to_owned() };
    let ruled = || Approval::Approve {
        instead: None,
        remember: Remember::Session,
        note: None,
        rule: Some("[[rule]]\neffect = \"allow\"\ntool = \"shell\"\nreason = \"all of it\"".to_owned()),
    };
    let once = Remember::Once;
    let cases = vec![
        ("", by(Approval::yes(), Decider::Tui), "✓ approved by you"),
        ("", by(approve(other("shell"), once, None), Decider::Tui), "✓ approved with changes by you"),
        (
            "",
            by(approve(other("list_dir"), once, None), Decider::Tui),
            "✓ approved as another call, list_dir by you",
        ),
        ("", by(approve(None, once, Some("x")), Decider::Tui), "✓ approved by you, with the note “x”"),
        (
            "",
            by(Approval::for_session(), Decider::Tui),
            "✓ allowed by you for this session: exactly this command",
        ),
        ("", by(ruled(), Decider::Tui), "✓ allowed by you for this session: all of it"),
        ("", by(approve(None, Remember::Rule, None), Decider::Tui), "✓ allowed by you with a rule"),
        ("", by(Approval::yes(), Decider::Cli), "✓ approved by you (co approvals)"),
        ("", by(Approval::yes(), Decider::Script), "✓ approved by a script"),
        ("", by(Approval::yes(), rule()), "✓ allowed by rule tests␛"),
        ("", by(Approval::yes(), Decider::Mode { mode: Mode::Auto }), "✓ allowed by auto mode"),
        ("", by(Approval::yes(), Decider::Yolo), "✓ allowed by yolo"),
        ("", by(Approval::yes(), Decider::Hook), "✓ allowed by a hook"),
        ("", by(Approval::yes(), Decider::Grant), "✓ allowed by a session approval"),
        ("", by(deny("not now"), Decider::Tui), "✗ denied by you: not now"),
        ("", by(deny("no"), rule()), "✗ denied by rule tests␛: no"),
        ("", by(deny("no"), Decider::Hook), "✗ denied by a hook: no"),
        ("y", by(deny("no"), Decider::Cli), "✗ denied by you (co approvals): no; your yes came too late"),
        ("a", by(Approval::yes(), Decider::Cli), "✓ approved by you (co approvals)"),
        (
            "n<ret>",
            by(Approval::yes(), Decider::Cli),
            "✓ approved by you (co approvals); your no came too late",
        ),
        ("", Settlement::Withdrawn, "◇ withdrawn because the turn was stopped"),
        ("", Settlement::Superseded, "◇ replaced by a new request"),
        ("", Settlement::Expired, "◇ expired, not run"),
        ("y", Settlement::Expired, "◇ expired, not run; your yes came too late"),
    ];
    for (keys, settled, expected) in cases {
        assert_eq!(
            settle(shell_request(1, "ls", Risk::Medium), keys, settled.clone()),
            expected,
            "{keys:?} {settled:?}"
        );
    }
}

#[test]
fn what_waits_for_another_says_so() {
    let screen = Screen::open(120, 30).prompted("go");
    let screen = screen.event(Event::ToolCall { call: call(2, "shell", json!({ "command": "make" })) });
    let screen = screen.asked(test_run(Risk::Low)).asked(shell_request(2, "make", Risk::Low)).wait(600);
    let mut screen = screen.keys("<tab><down><space>y");
    assert!(screen.shot().contains("! 2 is approved and runs after 1"), "{}", screen.shot());
    let mut screen = screen.event(Event::ApprovalSettled {
        request: id(2),
        settled: Settlement::Decided { approval: Approval::yes(), by: Decider::Tui },
    });
    assert!(screen.shot().contains("runs after shell cargo test --workspace"), "{}", screen.shot());
    // It says so no longer than it is true.
    let mut ran = screen.event(Event::ToolRunning { call: call(2, "shell", json!({ "command": "make" })) });
    assert!(!ran.shot().contains("runs after"), "{}", ran.shot());
    // A call that touches nothing waits for nothing.
    let mut free = shell_request(2, "make", Risk::Low);
    free.plan.access = Access::Nothing;
    let screen = Screen::open(120, 30).prompted("go").asked(test_run(Risk::Low)).asked(free).wait(600);
    let mut screen = screen.keys("<tab><down><space>y");
    assert!(!screen.shot().contains("waits for 1"), "{}", screen.shot());
}

#[test]
fn what_depends_on_a_call_is_dropped_with_it() {
    let mut second = shell_request(2, "make install", Risk::Medium);
    second.depends = vec![test_run(Risk::Low).call];
    let screen = Screen::open(80, 24).prompted("go").asked(test_run(Risk::Low)).asked(second).wait(600);
    let mut screen = screen.keys("<tab>");
    let shot = screen.shot();
    assert!(shot.contains("2 needs 1: denying 1 cancels 2") && shot.contains("· after 1"), "{shot}");
    let mut marked = screen.keys("<down><space>");
    assert!(marked.shot().contains("2 runs only after 1, which is not marked"), "{}", marked.shot());
}

#[test]
fn what_was_said_of_a_turn_that_waits_ends_with_the_wait() {
    let waits = || {
        Screen::open(80, 24)
            .prompted("go")
            .asked(test_run(Risk::Medium))
            .event(Event::TurnEnded { end: TurnEnd::Deferred })
            .notice(ServerMessage::Idle)
            .notice(ServerMessage::Waiting { requests: vec![test_run(Risk::Medium)] })
            .wait(600)
    };
    assert!(waits().resize(80, 40).shot().contains("waiting for your decision: here"));
    let ends: Vec<(&str, Screen)> = vec![
        ("decided", waits().event(Event::ApprovalSettled { request: id(1), settled: Settlement::Expired })),
        ("nothing waits", waits().notice(ServerMessage::Waiting { requests: Vec::new() })),
        ("it goes on", waits().notice(ServerMessage::TurnBegan)),
    ];
    for (name, screen) in ends {
        let shot = screen.resize(80, 40).shot();
        assert!(
            shot.contains("the turn waited for your decision") && !shot.contains("waiting for you:"),
            "{name}: {shot}"
        );
    }
}

/// Requests that the dry-run mode made of a plan.
fn dry(number: u32, request: Request) -> Request {
    let why = vec!["dry-run mode only previews".to_owned()];
    Request { id: id(number), call: call(number, "", json!({})).id, why, ..request }
}

fn dry_plan(screen: Screen) -> Screen {
    let mut last = dry(3, mail(3));
    last.depends = vec![call(1, "", json!({})).id];
    let requests = vec![dry(1, test_run(Risk::Medium)), dry(2, shell_request(2, "make", Risk::Low)), last];
    screen.notice(ServerMessage::Waiting { requests }).wait(600)
}

#[test]
fn a_plan_is_one_list_and_is_decided_between_turns() {
    let mut screen = dry_plan(Screen::open(80, 24)).keys("<tab>");
    assert!(screen.shot().contains("◇ plan: 3 actions (dry-run)"), "{}", screen.shot());
    let screen = screen.keys("<space><down><space>y");
    assert_eq!(screen.asks(), [&round(&[1, 2], &Approval::yes())]);
    let mut mixed = dry_plan(Screen::open(80, 24)).asked(shell_request(4, "ls", Risk::Low)).wait(600);
    assert!(mixed.shot().contains("◇ 4 actions ─"), "{}", mixed.shot());
}

/// A megabyte of text in a card: it is read outside, and then decided.
fn megabyte(screen: Screen) -> Screen {
    let line = "0123456789abcdef ".repeat(6);
    let text = format!("{line}\n").repeat(10_000);
    let mut request = shell_request(1, &text, Risk::Medium);
    request.plan.summary = format!("run a command of {} kB in work", text.len() / 1_000);
    asking(screen, request)
}

#[test]
fn a_megabyte_is_laid_out_once_and_read_outside() {
    let screen = megabyte(Screen::open(80, 24));
    let mut screen = screen.keys("<pgdn><pgdn><up><down>y");
    assert!(screen.asks().is_empty(), "not all of it was seen");
    assert!(screen.shot().contains("Ctrl+G"), "{}", screen.shot());
    assert_eq!(screen.model.cards.current().unwrap().body.layouts, 1);
    let mut screen = screen.keys("<c-g>");
    let target = EditTarget::Reading(id(1));
    assert!(
        screen.cmds.iter().any(
            |cmd| matches!(cmd, Cmd::Edit { text, target: to } if *to == target && text.len() > 1_000_000)
        )
    );
    screen.feed(Input::Edited(EditedText {
        target: target.clone(),
        text: Err("the editor could not be started".to_owned()),
    }));
    let mut screen = screen.wait(300).keys("y");
    assert!(screen.asks().is_empty(), "it was not shown");
    screen.feed(Input::Edited(EditedText { target: target.clone(), text: Ok(String::new()) }));
    assert_eq!(screen.wait(300).keys("y").asks(), [&decided(1, Approval::yes())]);
    let mut other = shell_request(1, &"other ".repeat(200_000), Risk::Medium);
    other.why = vec!["it is another one".to_owned()];
    let mut changed = megabyte(Screen::open(80, 24)).keys("<c-g>").asked(other).wait(600);
    changed.feed(Input::Edited(EditedText { target, text: Ok(String::new()) }));
    assert!(changed.keys("y").asks().is_empty(), "what was read is not what is asked now");
}

/// Text that is cut off never counts as seen, and is shown on demand.
#[test]
fn a_long_text_is_laid_out_as_far_as_it_is_looked_for() {
    let text = "0123456789".repeat(15_000);
    let previews = [
        ("text", Preview::Text { text: text.clone() }),
        ("arguments", Preview::None),
        ("fields", Preview::Fields { fields: vec![("a".into(), "b".into()), ("text".into(), text.clone())] }),
        (
            "diff",
            Preview::Diff {
                path: "p".into(),
                lines: (0..15_000)
                    .map(|number| DiffLine { kind: DiffKind::Added, number, text: "0123456789".into() })
                    .collect(),
            },
        ),
    ];
    for (name, preview) in previews {
        let mut request = shell_request(1, &text, Risk::Medium);
        request.plan.preview = preview;
        let mut screen = asking(Screen::open(160, 50), request);
        let more = |screen: &Screen| screen.model.cards.current().unwrap().body.more;
        assert!(more(&screen) > 0, "{name}");
        assert!(screen.shot().contains(" kB more: PgDn, v view]"), "{name}: {}", screen.shot());
        let mut pages = 0;
        while more(&screen) > 0 {
            screen = screen.keys("<pgdn>");
            pages += 1;
            assert!(pages < 1_000, "{name}");
        }
        let screen = screen.keys(&"<pgdn>".repeat(9)).keys("y");
        assert!(screen.asks().is_empty(), "{name}: nothing of it counted before it was all there");
    }
}

fn question(screen: Screen) -> Screen {
    let mut request = shell_request(1, "", Risk::Low);
    request.tool = ToolName::new("ask_person");
    request.args = json!({ "question": "Which invoice?" });
    request.plan = plan("ask you", Preview::None, Risk::Low);
    request.plan.access = Access::Nothing;
    request.plan.question = Some(Question {
        text: "Which of the two invoices is the right one? Both carry the number 1182.".to_owned(),
        options: vec![
            "the one of 3 November, 1,240 EUR".to_owned(),
            "the one of 9 November, 1,310 EUR".to_owned(),
        ],
        many: false,
    });
    request.why = vec!["the model asks you".to_owned()];
    asking(screen, request)
}

/// The answers that were sent.
fn answers(screen: &Screen) -> Vec<Value> {
    let answer = |(_, approval): &(_, Approval)| match approval {
        Approval::Approve { instead: Some((_, args)), .. } => Some(args["answer"].clone()),
        _ => None,
    };
    screen.asks().into_iter().flat_map(decisions).filter_map(answer).collect()
}

#[test]
fn a_question_is_answered_by_numbers_or_words() {
    let mut screen = question(Screen::open(80, 24)).keys("y");
    assert!(screen.shot().contains("choose with 1 to 2, or write an answer"), "{}", screen.shot());
    assert!(answers(&screen).is_empty() && answers(&screen.keys("3")).is_empty());
    assert_eq!(
        answers(&question(Screen::open(80, 24)).keys("2")),
        [json!("the one of 9 November, 1,310 EUR")]
    );
    let many = |screen: Screen| {
        let mut screen = question(screen);
        let card = screen.model.cards.current_mut().unwrap();
        card.request.plan.question.as_mut().unwrap().many = true;
        screen.keys("122")
    };
    let mut screen = many(Screen::open(80, 24));
    assert!(answers(&screen).is_empty());
    assert!(
        screen.shot().contains("1  [x] the one of 3") && screen.shot().contains("2  [ ] the one"),
        "{}",
        screen.shot()
    );
    let mut screen = screen.keys("2");
    assert!(screen.shot().contains("2  [x] the one"), "{}", screen.shot());
    assert_eq!(
        answers(&many(Screen::open(80, 24)).keys("2y")),
        [json!("the one of 3 November, 1,240 EUR; the one of 9 November, 1,310 EUR")]
    );
    // Without options, yes opens the form.
    let mut screen = question(Screen::open(80, 24));
    screen.model.cards.current_mut().unwrap().request.plan.question.as_mut().unwrap().options.clear();
    let mut screen = screen.keys("y");
    assert!(screen.shot().contains("Which invoice?"), "{}", screen.shot());
}

/// Draws one state at all sizes.
pub fn check(name: &str, state: impl Fn(Screen) -> Screen) {
    insta::assert_snapshot!(name, at_all_sizes(|screen| state(screen).shot()));
}

fn many(screen: Screen) -> Screen {
    let mut install = shell_request(3, "make install", Risk::High);
    install.depends = vec![test_run(Risk::Low).call];
    let screen = screen.prompted("go").asked(test_run(Risk::Low)).asked(mail(2)).asked(install);
    screen.wait(600).keys("<tab>a")
}

#[test]
fn cards_look_like_this() {
    check("cards_low", |screen| asking(screen, test_run(Risk::Low)));
    check("cards_medium", |screen| asking(screen, test_run(Risk::Medium)));
    check("cards_high", |screen| asking(screen, mail(1)));
    check("cards_confirming", |screen| asking(screen, mail(1)).keys("y"));
    check("cards_words", |screen| asking(screen, mail(1)).keys("w"));
    check("cards_note", |screen| {
        asking(known(screen), mail(1))
            .keys("e<tab>!<tab><tab>moved by an hour, keep Thursdays after 15:00 in mind")
    });
    check("cards_question", question);
    check("cards_megabyte", megabyte);
    check("cards_back", |screen| {
        let again = "what it rests on changed: Cargo.toml was written meanwhile".to_owned();
        asking(screen, Request { again: Some(again), ..test_run(Risk::Medium) })
    });
    check("cards_list", many);
    check("cards_list_at_words", |screen| many(screen).keys("<down>"));
    check("cards_dry_run", |screen| dry_plan(screen).keys("<tab>"));
}

#[test]
fn ends_look_like_this() {
    check("cards_ends", |screen| {
        let commands = ["make", "make test", "make install", "make clean", "make dist", "make docs"];
        let numbers = || (1..).zip(commands);
        let screen = numbers().fold(screen.prompted("go"), |screen, (number, command)| {
            let made = call(number, "shell", json!({ "command": command }));
            screen.event(Event::ToolCall { call: made })
        });
        let screen = numbers().fold(screen, |screen, (number, command)| {
            screen.asked(shell_request(number, command, Risk::Medium))
        });
        let deny = Approval::Deny { reason: Some("not on a Friday".to_owned()) };
        let ends = [
            Settlement::Expired,
            Settlement::Superseded,
            Settlement::Decided { approval: Approval::yes(), by: Decider::Cli },
            Settlement::Decided { approval: deny, by: Decider::Cli },
            Settlement::Decided { approval: Approval::yes(), by: Decider::Mode { mode: Mode::Auto } },
            Settlement::Decided {
                approval: Approval::yes(),
                by: Decider::Rule { id: "make-docs".to_owned() },
            },
        ];
        (1..).zip(ends).fold(screen.wait(600), |screen, (number, settled)| {
            screen.event(Event::ApprovalSettled { request: id(number), settled })
        })
    });
}

/// A change of a file that is longer than the screen.
fn long_change(risk: Risk) -> Request {
    let line = |number| DiffLine { kind: DiffKind::Added, number, text: format!("line {number}") };
    let mut request = shell_request(1, "", risk);
    request.tool = ToolName::new("write_file");
    request.args = json!({ "path": "a.txt", "content": "…" });
    request.plan.summary = "write 300 lines to a.txt (new file)".to_owned();
    request.plan.access = Access::Paths { reads: Vec::new(), writes: vec!["/w/a.txt".into()] };
    request.plan.preview = Preview::Diff { path: "a.txt".to_owned(), lines: (1..=300).map(line).collect() };
    request
}

#[test]
fn the_end_of_a_long_change_is_one_key_away_and_a_file_may_be_approved_unread() {
    let open = |request| asking(Screen::open(80, 24), request);
    for end in ["G", "<end>", "<c-end>"] {
        let mut screen = open(long_change(Risk::Medium)).keys(end);
        let shot = screen.shot();
        assert!(shot.contains("line 300") && !shot.contains("line 10 "), "{end}: {shot}");
        // Skipped lines were not seen.
        let mut screen = screen.keys("y");
        assert!(screen.asks().is_empty());
        assert!(screen.shot().contains("Y approves"), "{}", screen.shot());
        assert!(screen.keys("<home>").shot().contains("line 1 "), "and back");
    }
    // Offered first: with Caps Lock each `y` is a `Y`. A key that is held down is one press.
    let screen = open(long_change(Risk::Medium)).keys("YYYY");
    assert!(screen.asks().is_empty());
    assert_eq!(screen.wait(300).keys("Y").asks(), [&decided(1, Approval::yes())]);
    // A key that did not count changes nothing: all else still wants a look.
    let long = Screen::open(80, 24).prompted("go").text(&"Words.\n\n".repeat(90));
    let mut away = long.asked(long_change(Risk::Medium)).wait(600).keys("<tab>y");
    away.model.transcript.to_top();
    assert!(!away.model.transcript.follows());
    assert!(away.keys("Y").wait(600).keys("a").asks().is_empty());
    let mut command = shell_request(1, "true", Risk::Medium);
    command.plan.preview = Preview::Text { text: "x\n".repeat(300) };
    let mut tainted = long_change(Risk::Medium);
    tainted.taint = vec![Taint {
        arg: "/content".to_owned(),
        words: "line".to_owned(),
        source: Source::Program,
        from: None,
    }];
    for request in [command, long_change(Risk::High), tainted] {
        let mut screen = open(request).keys("YGY");
        assert!(screen.asks().is_empty());
        assert!(screen.shot().contains("are approved unread"), "{}", screen.shot());
        assert!(!screen.keys("y").shot().contains("Y approves"), "it is not offered");
    }
}
