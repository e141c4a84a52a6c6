//! Marking, copying, folding and the mouse, without a terminal.

use std::time::Duration;

use co::agent::port::Event;
use co::frontend::protocol::{ClientRequest, Privacy, ServerMessage};
use co::history::TurnEnd;
use co::message::{ReturnStatus, UserPart};
use co::tool::{Progress, Risk};
use co::tui::model::Focus;
use co::tui::msg::{Cmd, Input, MouseMode, PointerEvent};
use co::tui::panel::Panel;
use co::tui::transcript::TextPosition;
use proptest::prelude::*;
use serde_json::json;

use crate::tui::kit::{Screen, at_all_sizes, call, diff_request, returned, shell_request};

const ANSWER: &str = "Dana Reyes wrote about **invoice 1182**, which is due on Friday and was never paid by anybody \
that I know of:\n\n- she needs the `PO` number\n  - before Friday\n- the amount changed\n\n1. one\n2. two\n\n- [x] done\n\n\
> a quoted line\n\n```\nfn main() {\n\tgo();\n}\n```\n\n| what | mail says |\n|---|---|\n| amount | 1,310 EUR |\n\n---\n\nDone.";

/// An answer as it comes out where all of it is marked.
const COPIED: &str = "Dana Reyes wrote about invoice 1182, which is due on Friday and was never paid by anybody \
that I know of:\n\n- she needs the PO number\n  - before Friday\n- the amount changed\n\n1. one\n2. two\n\n- [x] done\n\n\
> a quoted line\n\nfn main() {\n\tgo();\n}\n\n| what | mail says |\n|---|---|\n| amount | 1,310 EUR |\n\n---\n\nDone.";

fn answered(columns: u16, rows: u16) -> Screen {
    Screen::open(columns, rows)
        .prompted("what did Dana want?")
        .event(Event::TextCommitted { text: ANSWER.into() })
        .event(Event::TurnEnded { end: TurnEnd::Completed })
        .notice(ServerMessage::Idle)
        .wait(10)
}

fn tools(screen: Screen) -> Screen {
    let one = call(1, "shell", json!({"command": "rg -l 1182 ~/Documents"}));
    let two = call(2, "read_file", json!({"path": "notes/Northwind.md"}));
    let output = (1..=9).map(|line| format!("out {line}\tof 1182")).collect::<Vec<_>>().join("\n");
    screen
        .prompted("clear my inbox")
        .thinking("First the notes.\nThen the mail. Then the invoice 1182 of Dana.")
        .wait(2_000)
        .text("I will read first.")
        .event(Event::TextCommitted { text: "I will read first.".into() })
        .event(Event::ToolCall { call: one.clone() })
        .event(Event::ToolCall { call: two.clone() })
        .event(Event::ToolRunning { call: one.clone() })
        .event(Event::ToolReturn { call: one, returned: returned(1, ReturnStatus::Ok, &output) })
        .event(Event::ToolReturn { call: two, returned: returned(2, ReturnStatus::Ok, "PO: 4471-B") })
        .wait(10)
}

/// The row of the screen that shows a text.
fn row_of(screen: &mut Screen, text: &str) -> u16 {
    let shot = screen.shot();
    let row =
        shot.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text} in\n{shot}"));
    u16::try_from(row).unwrap()
}

fn check(name: &str, state: impl Fn(Screen) -> Screen) {
    insta::assert_snapshot!(name, at_all_sizes(|screen| state(screen).marked_shot()));
}

#[test]
fn states() {
    check("select_block", |screen| tools(screen).keys("<tab><up>"));
    check("select_lines", |screen| tools(screen).keys("<tab><up><up>v<down><down>"));
    check("select_drag", |screen| tools(screen).drag((5, 4), (12, 8)));
    check("select_one_unfolded", |screen| tools(screen).keys("<tab><up><ret>"));
    check("select_nothing_folded", |screen| tools(screen).keys("<tab><up><up><ret>"));
    check("select_running", |screen| {
        let call = call(3, "shell", json!({"command": "make"}));
        let text = "one\ntwo\nthree\nfour\nfive".into();
        let screen = tools(screen).event(Event::ToolCall { call: call.clone() });
        screen
            .event(Event::ToolRunning { call: call.clone() })
            .event(Event::ToolProgress { progress: Progress { call: call.id, text } })
            .wait(1_200)
    });
}

#[test]
fn a_marked_answer_is_copied_as_text() {
    for columns in [40, 64, 80, 140] {
        let mut screen = answered(columns, 60);
        let (top, end) = (row_of(&mut screen, "Dana Reyes"), row_of(&mut screen, "Done."));
        let screen = screen.drag((0, top), (columns - 1, end));
        assert_eq!(screen.copies(), [COPIED], "at {columns} columns");
    }
}

#[test]
fn parts_are_copied_as_they_stand() {
    type Point = (u16, &'static str);
    let cases: &[(Point, Point, &str)] = &[
        ((3, "Dana Reyes"), (6, "Dana Reyes"), "Dana"),
        ((6, "Dana Reyes"), (3, "Dana Reyes"), "Dana"),
        ((0, "she needs"), (30, "before Fri"), "- she needs the PO number\n  - before Friday"),
        ((5, "she needs"), (7, "she needs"), "she"),
        ((5, "1,310 EUR"), (10, "1,310 EUR"), "amount"),
        ((5, "1,310 EUR"), (18, "1,310 EUR"), "| amount | 1,310 EUR |"),
        ((0, "fn main"), (3, "go();"), "fn main() {"),
        ((3, "quoted"), (30, "quoted"), "> a quoted line"),
    ];
    for ((from, above), (to, below), expected) in cases {
        let mut screen = answered(80, 60);
        let (above, below) = (row_of(&mut screen, above), row_of(&mut screen, below));
        let screen = screen.drag((*from, above), (*to, below));
        assert_eq!(screen.copies(), [*expected], "{above} {below}");
    }
}

#[test]
fn clicks_mark_words_and_lines() {
    let mut screen = answered(80, 60);
    let row = row_of(&mut screen, "Dana Reyes");
    let screen = screen.click(9, row);
    assert_eq!(screen.copies(), Vec::<&str>::new());
    let screen = screen.click(9, row);
    assert_eq!(screen.copies(), ["Reyes"]);
    let screen = screen.click(9, row);
    let line = COPIED.lines().next().unwrap();
    assert_eq!(screen.copies(), ["Reyes", line]);
    let screen = screen.wait(500).click(9, row);
    assert_eq!((screen.copies().len(), screen.model.selection.mark), (2, None));
}

#[test]
fn keys_copy_blocks_and_lines() {
    let copies = |keys: &str| {
        let screen = tools(Screen::open(80, 24)).keys(keys);
        screen.copies().iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()
    };
    let output: String = (1..=9).map(|line| format!("out {line}\tof 1182")).collect::<Vec<_>>().join("\n");
    let thought = "First the notes.\nThen the mail. Then the invoice 1182 of Dana.";
    let cases: Vec<(&str, Vec<&str>)> = vec![
        ("<tab>y", vec!["PO: 4471-B"]),
        ("<tab><up>c", vec![&output]),
        ("<tab>kky", vec!["I will read first."]),
        ("<tab>kkky", vec![thought]),
        ("<tab>kkkky", vec!["clear my inbox"]),
        ("<tab>kkkkkkjy", vec![thought]),
        (
            "<tab>k<ret>v<down><down>y",
            vec!["shell  rg -l 1182 ~/Documents  ✓  0s\nout 1\tof 1182\nout 2\tof 1182"],
        ),
        ("<tab>kkvjy", vec!["I will read first.\n\nshell  rg -l 1182 ~/Documents  ✓  0s"]),
        ("<tab>kk<s-down><s-down>y", vec!["I will read first.\n\nshell  rg -l 1182 ~/Documents  ✓  0s"]),
        ("<tab>kkvkky", vec!["clear my inbox\n\nI will read first."]),
        ("<tab>v<esc>y", vec!["PO: 4471-B"]),
        ("<tab><tab>y", vec![]),
        ("<tab><esc>y", vec![]),
    ];
    for (keys, expected) in cases {
        assert_eq!(copies(keys), expected, "{keys}");
    }
}

#[test]
fn the_keys_go_round() {
    let screen = tools(Screen::open(80, 24)).asked(shell_request(9, "ls", Risk::Medium)).wait(600);
    let mut focus = vec![screen.model.focus];
    let mut screen = screen;
    for _ in 0..3 {
        screen = screen.keys("<tab>");
        focus.push(screen.model.focus);
    }
    assert_eq!(focus, [Focus::Card, Focus::Card, Focus::Transcript, Focus::Composer], "first by itself");
    let screen = Screen::open(80, 24).keys("<tab>");
    assert_eq!(screen.model.focus, Focus::Composer);
}

#[test]
fn what_became_of_a_copy_is_said_by_the_shell_alone() {
    let mut screen = tools(Screen::open(80, 24)).keys("<tab>y");
    assert_eq!(screen.copies().len(), 1);
    let shot = screen.shot();
    assert!(!shot.contains("copied") && !shot.contains("clipboard"), "{shot}");
    let word = "sent to the terminal's clipboard (10 B)".to_owned();
    screen.feed(Input::Word { text: word.clone() });
    let shot = screen.shot();
    assert!(shot.contains(&word), "{shot}");
}

#[test]
fn what_is_copied_is_harmless() {
    let text = "evil \u{1b}[201~ \u{202e}text".to_owned();
    let screen = Screen::open(80, 24).prompted("go").event(Event::TextCommitted { text }).wait(10);
    let screen = screen.keys("<tab>y");
    assert_eq!(screen.copies(), ["evil ␛[201~ <U+202E>text"]);
}

#[test]
fn a_mark_stays_until_it_is_void() {
    let marked = || {
        let mut screen = answered(80, 24).keys("<c-home>");
        let row = row_of(&mut screen, "Dana Reyes");
        screen.drag((3, row), (12, row))
    };
    let spans = |screen: &Screen| screen.model.selection.mark.map(|mark| mark.span());
    let before = spans(&marked());
    assert!(before.is_some());
    let stays = marked().prompted("more").text("and\n\nmore\n\n").wait(100).text("of it").wait(100);
    assert_eq!(spans(&stays), before);
    assert_eq!(spans(&stays.keys("<pgdn><pgup>")), before);
    let gone: Vec<(&str, Screen)> = vec![
        ("a letter", marked().keys("x")),
        ("a resize", marked().resize(60, 24)),
        ("another press", marked().mouse(PointerEvent::Press, 3, 3)),
        (
            "another transcript",
            marked().notice(ServerMessage::Transcript { messages: Vec::new(), decided: Vec::new() }),
        ),
        ("a paste", marked().paste("x")),
    ];
    for (what, screen) in gone {
        assert_eq!(spans(&screen), None, "{what}");
    }
    let fresh = Screen::open(80, 24).prompted("go").text("all of this is void").wait(10);
    let mut fresh = fresh;
    let row = row_of(&mut fresh, "void");
    let fresh = fresh.drag((3, row), (8, row));
    assert!(spans(&fresh).is_some());
    assert_eq!(spans(&fresh.event(Event::PartialReset).text("anew")), None);
}

#[test]
fn the_wheel_scrolls_what_is_under_it() {
    let screen = answered(80, 20);
    let screen = screen.mouse(PointerEvent::WheelUp, 10, 8);
    assert!(!screen.model.transcript.follows());
    let mut twice = answered(80, 20);
    // Several steps of the wheel come between two frames.
    for _ in 0..2 {
        let mouse = co::tui::msg::Mouse { what: PointerEvent::WheelUp, column: 10, row: 8 };
        twice.feed(co::tui::Input::Mouse(mouse));
    }
    let mut again = screen.mouse(PointerEvent::WheelUp, 10, 8);
    assert_eq!(twice.shot(), again.shot());
    let back = again.mouse(PointerEvent::WheelDown, 10, 8).mouse(PointerEvent::WheelDown, 10, 8);
    assert!(back.model.transcript.follows());
    let help = answered(80, 20).keys("?").mouse(PointerEvent::WheelDown, 10, 8);
    assert!(
        matches!(&help.model.panel, Some(Panel::Help(help)) if help.scroll == 3),
        "{:?}",
        help.model.panel
    );
    let card = Screen::open(80, 24).prompted("go").asked(diff_request(1, 60)).wait(600);
    let mut card = card;
    let row = row_of(&mut card, "what is new");
    let card = card.mouse(PointerEvent::WheelDown, 10, row);
    assert_eq!(card.model.cards.current().unwrap().scroll, 3);
    assert!(card.model.transcript.follows());
}

#[test]
fn presses_give_keys_and_decide_nothing() {
    let screen =
        tools(Screen::open(80, 24)).asked(shell_request(9, "ls", Risk::Medium)).wait(600).keys("hello");
    let mut screen = screen;
    let row = row_of(&mut screen, "run a command");
    let screen = screen.click(20, row);
    assert_eq!(screen.model.focus, Focus::Card);
    assert!(screen.asks().is_empty());
    let screen = screen.click(5, 22).keys("X");
    assert_eq!(
        (screen.model.focus, screen.model.composer.editor.text()),
        (Focus::Composer, "heXllo".to_owned())
    );
    let screen = answered(80, 20).mouse(PointerEvent::WheelUp, 10, 8);
    let mut screen = screen;
    let row = row_of(&mut screen, "Ctrl+End");
    assert!(screen.click(75, row).model.transcript.follows());
}

#[test]
fn the_mouse_can_be_given_back() {
    let screen = answered(80, 20).keys("<a-m>");
    assert_eq!(screen.cmds.last(), Some(&Cmd::Mouse(MouseMode::Terminals)));
    let screen = screen.drag((3, 3), (9, 4));
    assert!(screen.copies().is_empty() && screen.model.selection.mark.is_none());
    // Arrows of such a terminal that the shell takes for a wheel scroll too.
    assert!(!screen.mouse(PointerEvent::WheelUp, 0, 2).model.transcript.follows());
}

#[test]
fn a_drag_beyond_the_edge_scrolls() {
    let screen = answered(80, 14);
    let screen = screen.mouse(PointerEvent::Press, 5, 6);
    let mut screen = screen;
    for _ in 0..80 {
        screen = screen.mouse(PointerEvent::Drag, 3, 0);
    }
    let screen = screen.mouse(PointerEvent::Release, 3, 0);
    let copied = screen.copies()[0];
    assert!(copied.starts_with("what did Dana want?\n\nDana Reyes wrote"), "{copied}");
}

#[test]
fn one_cell_folds_by_itself_until_all_do() {
    let mut screen = tools(Screen::open(80, 30));
    let row = row_of(&mut screen, "rg -l");
    let screen = screen.click(20, row);
    let lines = |mut screen: Screen, text: &str| (screen.shot().matches(text).count(), screen);
    let (outputs, screen) = lines(screen, "out ");
    assert_eq!(outputs, 9);
    let (thoughts, screen) = lines(screen, "Then the mail");
    assert_eq!(thoughts, 0);
    let (outputs, screen) = lines(screen.wait(500).click(20, row), "out ");
    assert_eq!(outputs, 0);
    let (thoughts, screen) = lines(screen.keys("<c-o>"), "Then the mail");
    assert_eq!(thoughts, 1);
    let (outputs, screen) = lines(screen, "out ");
    assert_eq!(outputs, 9);
    let (outputs, screen) = lines(screen.keys("<tab><up><space>"), "out ");
    assert_eq!(outputs, 0);
    let (outputs, screen) = lines(screen.keys("<c-o><c-o>"), "out ");
    assert_eq!(outputs, 9);
    let mut screen = screen.keys("<c-o>");
    let row = row_of(&mut screen, "thought");
    let (thoughts, screen) = lines(screen.click(5, row), "Then the mail");
    assert_eq!(thoughts, 1);
    let (thoughts, _) = lines(screen.keys("<a-t><a-t>"), "Then the mail");
    assert_eq!(thoughts, 0);
}

#[test]
fn escape_comes_back_to_the_end_when_nothing_runs() {
    let screen = answered(80, 20).keys("<c-home><esc>");
    assert!(screen.model.transcript.follows());
    let screen = answered(80, 20).prompted("more").keys("<c-home><esc>");
    assert!(!screen.model.transcript.follows(), "Esc stops the turn, and nothing else");
    assert_eq!(screen.asks().len(), 1);
}

fn block() -> impl Strategy<Value = String> {
    let words =
        proptest::collection::vec("[a-z]{1,9}|日本|[a-z]{30}", 1..20).prop_map(|words| words.join(" "));
    prop_oneof![
        words.clone(),
        proptest::collection::vec(words.clone(), 1..4).prop_map(|items| items
            .iter()
            .map(|item| format!("- {item}"))
            .collect::<Vec<_>>()
            .join("\n")),
        proptest::collection::vec(words.clone(), 1..3).prop_map(|items| items
            .iter()
            .map(|item| format!("> {item}"))
            .collect::<Vec<_>>()
            .join("\n>\n")),
        proptest::collection::vec("[a-z ]{0,60}[a-z]|\t[a-z]{1,9}\t[a-z]{1,50}", 1..5)
            .prop_map(|lines| format!("```\n{}\n```", lines.join("\n"))),
        (words.clone(), words).prop_map(|(one, two)| format!("| a | b |\n|---|---|\n| {one} | {two} |")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_whole_copy_does_not_know_the_width(
        blocks in proptest::collection::vec(block(), 1..5),
        width in 40u16..120,
    ) {
        let text = blocks.join("\n\nx\n\n");
        let copy = |columns: u16| {
            let mut screen = Screen::open(columns, 30)
                .event(Event::Prompted { parts: vec![UserPart::Text { text: "go".into() }] })
                .event(Event::TextCommitted { text: text.clone() })
                .wait(10);
            let context = screen.model.context();
            let end = TextPosition { cell: 1, line: usize::MAX, column: usize::MAX - 1 };
            screen.model.transcript.marked_text((TextPosition { cell: 1, line: 0, column: 0 }, end), &context)
        };
        prop_assert_eq!(copy(width), copy(140));
    }

    #[test]
    fn no_region_holds_what_is_ours(
        blocks in proptest::collection::vec(block(), 1..5),
        width in 40u16..120,
        places in ((0usize..40, 0usize..60), (0usize..40, 0usize..60)),
    ) {
        let text = blocks.join("\n\n");
        let mut screen = tools(Screen::open(width, 30)).event(Event::TextCommitted { text: text.clone() }).wait(10);
        let context = screen.model.context();
        let cells = screen.model.transcript.cells().len();
        for first in 0..cells {
            let spot = |(line, column): (usize, usize), cell| TextPosition { cell, line, column };
            let one = spot(places.0, first);
            let two = spot(places.1, cells - 1);
            let copied = screen.model.transcript.marked_text((one, two), &context);
            prop_assert!(!copied.contains(['●', '◆', '┃', '│', '─', '┼', '╎', '▸', '•']), "{copied:?}");
            let lines = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
            prop_assert!(lines(&copied) <= lines(&text) + 9, "{copied:?}");
            prop_assert!(copied.lines().all(|line| line.trim_end() == line));
        }
    }
}

#[test]
fn a_command_that_failed_is_offered_to_run_outside_of_the_sandbox() {
    let shell = |outcome: &str| {
        Screen::open(80, 24)
            .notice(ServerMessage::ShellBegan { command: "make\nall".into(), privacy: Privacy::Shared })
            .notice(ServerMessage::ShellEnded { outcome: outcome.into(), took: Duration::ZERO })
            .wait(10)
    };
    let of_model = |status| {
        let one = call(1, "shell", json!({"command": "touch /etc/x"}));
        Screen::open(80, 24)
            .prompted("go")
            .event(Event::ToolCall { call: one.clone() })
            .event(Event::ToolReturn { call: one, returned: returned(1, status, "exit 1") })
            .event(Event::TurnEnded { end: TurnEnd::Completed })
            .notice(ServerMessage::Idle)
            .wait(10)
    };
    for (screen, text, focus) in [
        (shell("exit 2"), "!unsandboxed make\nall", Focus::Composer),
        (shell("exit 0"), "", Focus::Transcript),
        (of_model(ReturnStatus::Failed), "!unsandboxed touch /etc/x", Focus::Composer),
        (of_model(ReturnStatus::Ok), "", Focus::Transcript),
    ] {
        let screen = screen.keys("<tab>u");
        assert_eq!((screen.model.composer.editor.text().as_str(), screen.model.focus), (text, focus));
        assert!(screen.cmds.iter().all(|cmd| !matches!(cmd, Cmd::Send(ClientRequest::Line { .. }))));
    }
}
