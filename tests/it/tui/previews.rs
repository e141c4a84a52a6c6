//! The preview of a call while its arguments arrive, and how the row or the card takes it over.

use co::agent::port::Event;
use co::message::{CallReport, DiffKind, DiffLine, ReturnStatus, ToolCall, ToolReturn};
use co::tool::{Preview, Risk};
use serde_json::{Value, json};

use crate::tui::kit::{Screen, at_all_sizes, call, plan, returned, shell_request};

/// The text of the calls; it is nowhere else on the screen.
const TEXT: &str = "zzz";

fn args(index: usize, name: &str, delta: &str) -> Event {
    Event::ToolArgs { index, name: name.to_owned(), delta: delta.to_owned() }
}

fn content(lines: usize) -> String {
    (1..=lines).map(|n| format!("    let {TEXT}_{n} = {n};\n")).collect()
}

/// A screen on which a call arrived as pieces of so many characters, each drawn.
fn arrived(mut screen: Screen, call: &ToolCall, step: usize) -> Screen {
    let text = call.args.to_string();
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(step) {
        screen.tell_event(args(0, call.name.as_str(), &piece.iter().collect::<String>()));
        screen.shot();
    }
    screen
}

fn written(path: &str, content: &str) -> ToolCall {
    call(1, "write_file", json!({"path": path, "content": content}))
}

#[test]
fn texts_grow_below_their_row() {
    let check = |name: &str, tool: &str, value: &Value, cut: usize| {
        let shots = at_all_sizes(|screen| {
            let text = value.to_string();
            let (begin, _) = text.split_at(text.len() - cut);
            screen.prompted("do it").text("I write it.").event(args(0, tool, begin)).shot()
        });
        insta::assert_snapshot!(name, shots);
    };
    check("preview_write", "write_file", &json!({"path": "src/main.rs", "content": content(30)}), 8);
    check(
        "preview_write_short",
        "write_file",
        &json!({"path": "a\u{202e}b.rs", "content": "one\n\u{1b}[2Jtwo"}),
        2,
    );
    check(
        "preview_edit",
        "edit_file",
        &json!({"path": "a.md", "old": "was\nthis", "new": "is\nthat\nnow"}),
        2,
    );
    check("preview_shell", "shell", &json!({"command": "set -e\nfor f in *.txt; do\n  cat \"$f\"\ndone"}), 2);
    check(
        "preview_patch",
        "apply_patch",
        &json!({"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"}),
        2,
    );
}

/// Nothing jumps from the first piece to the return: the pane's lines only grow until the change takes their place.
#[test]
fn it_stays_while_the_call_is_committed_planned_and_runs() {
    let text = content(30);
    let call = written("src/main.rs", &text);
    let mut screen = arrived(Screen::open(80, 24).prompted("go"), &call, 40);
    let before = screen.shot();
    assert!(before.contains("… 20 lines above") && before.contains("zzz_30"), "{before}");
    let rows =
        |shot: &str| shot.lines().filter(|line| line.contains(TEXT)).map(str::to_owned).collect::<Vec<_>>();
    for event in [
        Event::ToolCall { call: call.clone() },
        Event::ToolPlanned { call: call.clone(), plan: plan("write", Preview::None, Risk::Medium) },
        Event::ToolRunning { call: call.clone() },
    ] {
        screen.tell_event(event);
        assert_eq!(rows(&screen.shot()), rows(&before));
    }
    let lines = text.lines().zip(1..).map(|(line, number)| DiffLine {
        kind: DiffKind::Added,
        number,
        text: line.to_owned(),
    });
    let done = CallReport { change: lines.collect(), ..CallReport::default() };
    let returned = ToolReturn { done: Some(Box::new(done)), ..returned(1, ReturnStatus::Ok, "created") };
    screen.tell_event(Event::ToolReturn { call, returned });
    let after = screen.shot();
    assert!(after.contains("zzz_1 ") && !after.contains("lines above"), "{after}");
}

/// The preview shows the arguments that will run: it ends when they turn out to be others.
#[test]
fn other_arguments_than_those_shown_end_it() {
    let shown = written("a.rs", "zzz");
    let other = written("a.rs", "other");
    let mut committed = arrived(Screen::open(80, 24).prompted("go"), &shown, 9)
        .event(Event::ToolCall { call: other.clone() });
    assert!(!committed.shot().contains(TEXT), "{}", committed.shot());
    let changed =
        arrived(Screen::open(80, 24).prompted("go"), &shown, 9).event(Event::ToolCall { call: shown });
    let mut changed = changed.event(Event::ToolRunning { call: other });
    assert!(!changed.shot().contains(TEXT), "{}", changed.shot());
}

/// However far a call arrived: nothing of the preview stays once its reply starts again, the call waits or ended, or the
/// turn is over.
#[test]
fn nothing_of_it_stays() {
    let calls = [
        written("a.rs", &content(14)),
        call(1, "edit_file", json!({"path": "a", "old": "zzz", "new": "zzz\nzzz"})),
        call(1, "shell", json!({"command": "echo \\\n zzz"})),
        call(1, "apply_patch", json!({"patch": "+zzz\n-zzz\n"})),
    ];
    for one in &calls {
        let text = one.args.to_string();
        for end in (1..=text.len()).step_by(11).chain([text.len()]) {
            let (begin, _) = text.split_at(end);
            let screen = || Screen::open(80, 24).prompted("go").event(args(0, one.name.as_str(), begin));
            let mut request = shell_request(1, "ls", Risk::Medium);
            request.call = one.id.clone();
            let committed = |screen: Screen| screen.event(Event::ToolCall { call: one.clone() });
            let mut ends = [
                screen().event(Event::PartialReset).text("anew"),
                screen().event(Event::TurnEnded { end: co::history::TurnEnd::Interrupted }),
                committed(screen()).event(Event::TurnEnded { end: co::history::TurnEnd::Interrupted }),
                committed(screen()).event(Event::ToolReturn {
                    call: one.clone(),
                    returned: returned(1, ReturnStatus::Ok, "done"),
                }),
                committed(screen()).asked(request).wait(600),
            ];
            for (at, screen) in ends.iter_mut().enumerate() {
                let shot = screen.shot();
                // The row itself names a part of a patch.
                let shown = shot.lines().filter(|line| line.contains(TEXT) && !line.contains('◆'));
                assert_eq!(shown.count(), 0, "{} {end} {at}\n{shot}", one.name);
            }
        }
    }
}
