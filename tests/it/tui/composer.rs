//! The composer's powers without a terminal: pasted blocks, the stash, the person's own editor, calls, drafts.

use std::time::{Duration, Instant};

use co::agent::port::Event;
use co::approval::RequestId;
use co::frontend::protocol::{ClientRequest, ServerMessage};
use co::history::TurnEnd;
use co::tool::Risk;
use co::tui::msg::{Alert, EditTarget, EditedText, Window};
use co::tui::{Cmd, Input};

use crate::tui::kit::{Screen, shell_request};

fn open() -> Screen {
    Screen::open(80, 24)
}

fn written(screen: &Screen) -> String {
    screen.model.composer.editor.text()
}

fn drafts(screen: &Screen) -> Vec<String> {
    let draft = |ask: &&ClientRequest| {
        if let ClientRequest::Draft { text } = ask { Some(text.clone()) } else { None }
    };
    screen.asks().iter().filter_map(draft).collect()
}

fn edits(screen: &Screen) -> Vec<(String, EditTarget)> {
    let edit = |cmd: &Cmd| match cmd {
        Cmd::Edit { text, target } => Some((text.clone(), target.clone())),
        _ => None,
    };
    screen.cmds.iter().filter_map(edit).collect()
}

fn alerts(screen: &Screen) -> Vec<Alert> {
    screen
        .cmds
        .iter()
        .filter_map(|cmd| if let Cmd::Alert(alert) = cmd { Some(*alert) } else { None })
        .collect()
}

fn edited(mut screen: Screen, target: EditTarget, text: Result<&str, &str>) -> Screen {
    let text = text.map(str::to_owned).map_err(str::to_owned);
    screen.feed(Input::Edited(EditedText { target, text }));
    screen
}

fn focus(mut screen: Screen, window: Window) -> Screen {
    screen.feed(Input::Window(window));
    screen
}

/// Nine short lines: one more than stays text.
fn block() -> String {
    (1..=9).map(|line| format!("line {line}\n")).collect()
}

#[test]
fn a_pasted_block_is_one_place_and_a_key_shows_it() {
    let mut screen = open().keys("see ").paste(&block());
    let shot = screen.shot();
    assert!(shot.contains("> see [pasted 9 lines, 63 B]"), "{shot}");
    assert!(shot.contains("Ctrl+O show the paste"), "{shot}");
    assert_eq!(written(&open().paste(&block()).keys("<bs>")), "", "one key takes it away");
    assert_eq!(written(&open().paste(&block()).keys("<bs><c-_>")), block(), "and undo brings it back");
    let mut screen = screen.keys("<c-o>");
    assert_eq!(written(&screen), format!("see {}", block()));
    assert!(screen.shot().contains("line 7"), "{}", screen.shot());
    let back = screen.keys("<c-_>");
    assert!(back.model.composer.editor.chip_before().is_some());
    let restored = back.keys("x<c-o>");
    assert!(
        written(&restored).ends_with('x') && restored.model.composer.editor.items().len() == 6,
        "not from afar"
    );
}

#[test]
fn a_block_too_large_to_be_shown_stays_one() {
    let big = "0123456789\n".repeat(10_000);
    let mut screen = open().paste(&big).keys("<c-o>");
    assert!(screen.model.composer.editor.chip_before().is_some());
    let shot = screen.shot();
    assert!(shot.contains("[pasted 10,000 lines, 110 kB]") && shot.contains("Ctrl+G opens it"), "{shot}");
    let screen = screen.keys("<c-g>");
    assert_eq!(edits(&screen), [(big, EditTarget::Composer)]);
}

#[test]
fn ten_megabytes_and_bytes_of_any_kind_are_sent_whole() {
    let binary = "\u{fffd}\u{1b}[31m\0\u{7}\u{200b}é\r\n".repeat(800_000);
    let clean = binary.replace("\r\n", "\n").replace('\0', "");
    assert!(binary.len() > 10_000_000);
    let screen = open().keys("look ").paste(&binary).keys(" ok<ret>");
    let lines: Vec<&ClientRequest> = screen.asks();
    assert!(lines.contains(&&ClientRequest::Line { text: format!("look {clean} ok") }));
}

#[test]
fn typing_beside_a_large_block_stays_fast() {
    let typing = |screen: Screen| {
        let screen = screen.keys("a");
        let began = Instant::now();
        let screen = screen.keys(&"word ".repeat(20));
        assert!(written(&screen).ends_with("word "));
        began.elapsed()
    };
    let alone = typing(open());
    let beside = typing(open().paste(&"some text\n".repeat(1_000_000)));
    // A walk over the block would take milliseconds a key.
    assert!(beside < alone * 10 + Duration::from_millis(500), "{beside:?} beside, {alone:?} alone");
}

#[test]
fn a_text_is_stashed_and_restored() {
    let cases = [
        ("abc<c-s>", "", true),
        ("abc<c-s><c-s>", "abc", false),
        ("abc<c-s>def<c-s>", "abc", true),
        ("abc<c-s>def<c-s><c-u><c-s>", "def", false),
        ("<c-s>", "", false),
        ("abc<c-s>quick question<ret><c-s>", "abc", false),
    ];
    for (keys, text, is_stashed) in cases {
        let screen = open().keys(keys);
        assert_eq!(
            (written(&screen).as_str(), screen.model.composer.has_stash()),
            (text, is_stashed),
            "{keys}"
        );
    }
    let mut screen = open().keys("abc<c-s>").wait(6_000);
    let shot = screen.shot();
    assert!(shot.contains("Ctrl+S restore the text") && shot.contains("stashed"), "{shot}");
    let block = open().paste(&block()).keys("<c-s><c-s>");
    assert!(block.model.composer.editor.chip_before().is_some(), "a block stays one");
}

#[test]
fn what_is_saved_includes_the_stashed_text() {
    let kept = |keys: &str| drafts(&open().keys(keys).wait(1_000)).pop();
    assert_eq!(kept("abc<c-s>"), Some("abc".into()));
    assert_eq!(kept("abc<c-s>def"), Some("abc\n\ndef".into()));
    assert_eq!(kept("abc<c-s>def<ret>"), Some("abc".into()), "sent, the other waits on");
    let quit = open().keys("abc<c-s>def<c-c><c-c>");
    assert_eq!(drafts(&quit), ["abc"], "and when it quits at once");
    let mut hangup = open().keys("abc<c-s>def");
    hangup.feed(Input::Hangup);
    assert_eq!(drafts(&hangup), ["abc\n\ndef"]);
    let many = "a\n".repeat(30);
    let restored = open().notice(ServerMessage::Draft { text: many.clone() });
    assert_eq!((written(&restored), restored.model.composer.editor.chip_before()), (many, None));
}

#[test]
fn a_draft_is_kept_each_second_and_a_large_one_less_often() {
    assert_eq!(drafts(&open().keys("abc").wait(999)), Vec::<String>::new());
    assert_eq!(drafts(&open().keys("abc").wait(1_000)), ["abc"]);
    let typing = open().keys("a").wait(600).keys("b").wait(600).keys("c").wait(600);
    assert_eq!(drafts(&typing), ["ab"], "whoever never rests loses a second, not all of it");
    let large = || open().paste(&"x".repeat(1_000_000)).keys("!");
    assert_eq!(drafts(&large().wait(2_000)).len(), 0);
    assert_eq!(drafts(&large().wait(10_000)).len(), 1);
}

#[test]
fn a_text_is_written_outside_and_comes_back() {
    for keys in ["<c-g>", "<c-x><c-e>"] {
        assert_eq!(edits(&open().keys("abc").keys(keys)), [("abc".into(), EditTarget::Composer)], "{keys}");
    }
    assert_eq!(edits(&open().keys("abc<c-x>d<c-e>")), [], "a chord is two keys in a row");
    let composer = || EditTarget::Composer;
    let cases = [
        (Ok("def"), "def", ""),
        (Ok("abc"), "abc", "nothing was changed"),
        (Err("the editor exited with 1"), "abc", "the editor exited with 1; the text is unchanged"),
    ];
    for (text, expected, said) in cases {
        let mut screen = edited(open().keys("abc<c-g>"), composer(), text);
        assert_eq!(written(&screen), expected);
        assert!(screen.shot().contains(said), "{}", screen.shot());
    }
    let screen = edited(open().keys("abc<c-g>"), composer(), Ok("def")).keys("<c-_>");
    assert_eq!(written(&screen), "abc", "undo brings the former text back");
    let screen = edited(open(), composer(), Ok("a\r\nb"));
    assert_eq!(written(&screen), "a\nb");
    let many = "a\n".repeat(30);
    let screen = edited(open(), composer(), Ok(&many));
    assert_eq!(screen.model.composer.editor.chip_before(), None, "what was written by hand stays text");
}

#[test]
fn a_reason_for_several_is_written_outside_too() {
    let asking = || {
        let requests = [shell_request(1, "ls", Risk::Medium), shell_request(2, "pwd", Risk::Medium)];
        let screen = requests.into_iter().fold(Screen::open(80, 24).prompted("go"), Screen::asked);
        screen.wait(600).keys("<tab>").wait(600).keys("<space><down><space>nno<c-g>")
    };
    let both = || EditTarget::Reasons([1, 2].map(|number: u32| RequestId(format!("{number:012x}"))).into());
    assert_eq!(edits(&asking()), [("no".into(), both())]);
    let mut screen = edited(asking(), both(), Ok("not today"));
    assert!(screen.shot().contains("not today"), "{}", screen.shot());
    let mut other = edited(asking(), EditTarget::Reasons(Vec::new()), Ok("not today"));
    let shot = other.shot();
    assert!(
        !shot.contains("not today")
            && (shot.contains("no longer") || shot.contains("decided in the meantime")),
        "{shot}"
    );
}

#[test]
fn texts_of_a_session_that_is_left_join_the_history() {
    let screen = open().keys("put aside<c-s>half").notice(ServerMessage::Entered);
    assert_eq!((written(&screen).as_str(), screen.model.composer.has_stash()), ("", false));
    assert_eq!(drafts(&screen.wait(20_000)).len(), 0, "the other session's draft is none of these");
    let screen = open().keys("put aside<c-s>half").notice(ServerMessage::Entered).keys("<up>");
    assert_eq!(written(&screen), "half");
    assert_eq!(written(&screen.keys("<up>")), "put aside");
}

#[test]
fn a_pasted_block_stays_one_while_something_is_searched_for() {
    let screen = open().prompted("go").text("one").wait(100).paste(&"line\n".repeat(40)).keys("<tab>/on");
    assert!(screen.model.find.is_some());
    let screen = screen.keys("<c-o><ret><c-o>");
    assert!(screen.model.find.is_some() && screen.model.composer.editor.chip_before().is_some());
}

#[test]
fn a_reason_is_written_outside_for_its_card_only() {
    let id = |number: u32| RequestId(format!("{number:012x}"));
    let asking = || Screen::open(80, 24).prompted("go").asked(shell_request(1, "ls", Risk::Medium)).wait(600);
    let screen = asking().keys("<tab>nno<c-g>");
    assert_eq!(edits(&screen), [("no".into(), EditTarget::Reason(id(1)))]);
    let mut screen = edited(screen, EditTarget::Reason(id(1)), Ok("not today"));
    assert!(screen.shot().contains("not today"), "{}", screen.shot());
    let mut other = edited(asking().keys("<tab>nno"), EditTarget::Reason(id(2)), Ok("not today"));
    let shot = other.shot();
    assert!(
        !shot.contains("not today")
            && (shot.contains("no longer") || shot.contains("decided in the meantime")),
        "{shot}"
    );
    let read =
        ("run a command in work\n\nls\n\n{\n  \"command\": \"ls\"\n}".into(), EditTarget::Reading(id(1)));
    assert_eq!(edits(&asking().keys("<tab><c-g>")), [read], "of a card that only asks all can be read");
}

#[test]
fn the_person_is_called_once_while_looking_elsewhere() {
    let ended = || Event::TurnEnded { end: TurnEnd::Completed };
    let ask = |screen: Screen, number| screen.asked(shell_request(number, "ls", Risk::Medium));
    let away = |screen| focus(screen, Window::Unfocused);
    assert_eq!(alerts(&ask(open().prompted("go"), 1).event(ended())), [], "they look");
    let screen = ask(ask(away(open().prompted("go")), 1), 2);
    assert_eq!(alerts(&screen), [Alert::NeedsYou], "two at once are one call");
    let screen = screen.event(ended());
    assert_eq!(alerts(&screen), [Alert::NeedsYou, Alert::TurnEnded]);
    let screen = ask(away(focus(screen, Window::Focused)), 3);
    assert_eq!(alerts(&screen).len(), 3, "they looked in between");
    let stopped = away(open().prompted("go")).event(Event::TurnEnded { end: TurnEnd::Interrupted });
    assert_eq!(alerts(&stopped), []);
    let queued = away(open().prompted("go").keys("more<ret>")).event(ended());
    assert_eq!(alerts(&queued), [], "the next turn begins at once");
    let waiting = ServerMessage::Waiting { requests: vec![shell_request(1, "ls", Risk::Medium)] };
    let screen = away(open()).notice(waiting.clone()).notice(waiting);
    assert_eq!(alerts(&screen), [Alert::NeedsYou], "what waits already is no news");
}

#[test]
fn the_cursor_stands_where_the_next_character_comes() {
    let cases = [("ab", 5), ("日本", 7), ("日本<left>", 5), ("e\u{301}", 4), ("👨‍👩‍👧x", 6)];
    for (keys, column) in cases {
        let shot = open().keys(keys).shot();
        assert!(shot.ends_with(&format!("cursor {column},22\n")), "{keys}: {shot}");
    }
}

#[test]
fn every_newline_chord_breaks_the_line() {
    for chord in ["<s-ret>", "<a-ret>", "<c-j>", "\\<ret>"] {
        let screen = open().keys(&format!("a{chord}b"));
        assert_eq!(written(&screen), "a\nb", "{chord}");
        assert!(screen.asks().is_empty(), "{chord}");
    }
}

#[test]
fn the_history_lies_past_the_edges_of_the_text() {
    let screen = open().keys("one<ret>two<ret>a<s-ret>b<up>");
    assert_eq!(written(&screen), "a\nb", "in the text first");
    let screen = screen.keys("<up>");
    assert_eq!(written(&screen), "two");
    let screen = screen.keys("<up><down><down>");
    assert_eq!(written(&screen), "a\nb");
}
