//! Output of `/commands` and `!commands` never cuts what streams: the transcript is the one without it, plus its cells.

use std::time::Duration;

use co::agent::port::Event;
use co::frontend::protocol::{Privacy, ServerMessage, Tone};
use co::history::TurnEnd;
use co::message::ReturnStatus;
use proptest::prelude::*;

use crate::tui::kit::{Screen, at_all_sizes, call, returned};

/// Every line of local output holds this word, so that it can be taken out again.
const MARK: &str = "LOCAL";

const TEXTS: &[&str] = &[
    "Plain words of some length, which are wrapped somewhere on a narrow screen.",
    "# A title\n\nOne paragraph.\n\n- a list\n- with **two** items\n\nThe end.",
    "Code follows:\n\n```rust\nfn main() {\n    println!(\"a\");\n}\n```\n\nand words behind it.",
    "| a | b |\n|---|---|\n| one | two |\n| three | four |\n\nA table and *more*.",
    "1. one\n2. two\n   - inside\n\n> a quote\n> goes on",
];

/// An action on the screen.
#[derive(Debug, Clone)]
enum Step {
    Turn(Box<Event>),
    Local(usize),
    Resize(u16),
}

/// One reply: thinking and text in pieces, then both whole, then a call with its return.
fn reply(number: usize, thinks: bool, text: &str, piece: usize, calls: bool) -> Vec<Event> {
    let mut events = Vec::new();
    let pieces = |text: &str| {
        let chars: Vec<char> = text.chars().collect();
        chars.chunks(piece).map(|chunk| chunk.iter().collect::<String>()).collect::<Vec<_>>()
    };
    let thought = format!("First I think about number {number}, at some length.");
    if thinks {
        events.extend(pieces(&thought).into_iter().map(|text| Event::ThinkingDelta { text }));
    }
    events.extend(pieces(text).into_iter().map(|text| Event::TextDelta { text }));
    if thinks {
        events.push(Event::ThinkingCommitted { text: thought });
    }
    events.push(Event::TextCommitted { text: text.to_owned() });
    if calls {
        let number = u32::try_from(number).unwrap();
        let call = call(number, "read_file", serde_json::json!({ "path": "a.txt" }));
        let returned = returned(number, ReturnStatus::Ok, "one line");
        events.push(Event::ToolCall { call: call.clone() });
        events.push(Event::ToolReturn { call, returned });
    }
    events
}

fn turns() -> impl Strategy<Value = Vec<Event>> {
    let one = (any::<bool>(), 0..TEXTS.len(), 1..9_usize, any::<bool>());
    proptest::collection::vec(one, 1..4).prop_map(|replies| {
        let events = replies.into_iter().enumerate().flat_map(|(number, (thinks, text, piece, calls))| {
            reply(number, thinks, TEXTS[text], piece, calls)
        });
        events.chain([Event::TurnEnded { end: TurnEnd::Completed }]).collect()
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    (turns(), any::<u64>()).prop_map(|(events, seed)| {
        let mut dice = seed | 1;
        let mut roll = |sides: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % sides
        };
        let mut steps = Vec::new();
        for event in events {
            match roll(8) {
                0 => steps.push(Step::Local(steps.len())),
                1 => steps.push(Step::Resize(40 + u16::try_from(roll(80)).unwrap())),
                _ => {}
            }
            steps.push(Step::Turn(Box::new(event)));
        }
        steps
    })
}

/// The transcript at the end, without local output and blank lines.
fn read(steps: &[Step], with_local: bool) -> (Vec<String>, usize) {
    let mut screen = Screen::open(80, 400).prompted("go");
    for step in steps {
        match step {
            Step::Turn(event) => screen.tell_event(Event::clone(event)),
            Step::Resize(columns) => screen.size(*columns, 400),
            Step::Local(number) if with_local => local(&mut screen, *number),
            Step::Local(_) => {}
        }
    }
    screen.size(80, 400);
    let shown = screen.shot();
    let lines = shown.lines().map(str::trim).filter(|line| !line.is_empty());
    let (local, turn): (Vec<_>, Vec<_>) = lines.map(str::to_owned).partition(|line| line.contains(MARK));
    (turn, local.len())
}

/// A reply that streams on out of sight, above the output of a command that fills the screen.
fn covered(screen: Screen) -> Screen {
    let output: String = (1..=60).map(|line| format!("{MARK} output {line}\n")).collect();
    screen
        .prompted("go")
        .text("The first line.\n\n")
        .notice(ServerMessage::ShellBegan { command: "seq".to_owned(), privacy: Privacy::Shared })
        .notice(ServerMessage::ShellOutput { text: output })
        .notice(ServerMessage::ShellEnded { outcome: "exit 0".to_owned(), took: Duration::from_millis(2) })
        .wait(100)
        .keys("<c-o>")
        .text("The second line.\n\nThe third line.\n\n")
        .wait(100)
}

#[test]
fn what_streams_on_above_local_output_is_told() {
    insta::assert_snapshot!("local_output_covers_the_answer", at_all_sizes(|screen| covered(screen).shot()));
    let told = |screen: &mut Screen| screen.shot().lines().find(|line| line.contains('↑')).map(str::to_owned);
    let mut screen = covered(Screen::open(80, 24));
    assert!(told(&mut screen).is_some_and(|rule| rule.contains("↑ 4 new lines")), "{}", screen.shot());
    // It stays when the reply is over, and when the user scrolls where the end is not.
    let whole = "The first line.\n\nThe second line.\n\nThe third line.";
    let mut screen = screen
        .event(Event::TextCommitted { text: whole.to_owned() })
        .event(Event::TurnEnded { end: TurnEnd::Completed })
        .wait(100)
        .keys("<up>");
    assert!(told(&mut screen).is_some(), "{}", screen.shot());
    // A press on it goes there; lines that were seen are not counted any more.
    let shot = screen.shot();
    let row = shot.lines().position(|line| line.contains('↑')).unwrap();
    let mut screen = screen.click(70, u16::try_from(row).unwrap()).wait(100);
    assert!(screen.shot().contains("The third line.") && told(&mut screen).is_none(), "{}", screen.shot());
    let mut screen = screen.keys("<c-end>").wait(100);
    assert!(screen.shot().contains("output 60") && told(&mut screen).is_none(), "{}", screen.shot());
}

#[test]
fn what_streams_on_above_is_counted_with_what_is_below() {
    let mut screen = covered(Screen::open(80, 24)).keys("<pgup>").wait(100);
    let line = ServerMessage::Local { title: MARK.to_owned(), text: MARK.to_owned(), tone: Tone::Plain };
    screen.tell(line);
    let mut screen = screen.wait(100);
    assert!(screen.shot().contains(" new lines "), "{}", screen.shot());
    let count = |screen: &mut Screen| {
        let shot = screen.shot();
        let (before, _) = shot.split_once(" new lines ").unwrap();
        before.rsplit(' ').next().unwrap().parse::<usize>().unwrap()
    };
    let before = count(&mut screen);
    let mut screen = screen.text("The fourth line.\n\n").wait(100);
    assert_eq!(count(&mut screen), before + 2, "{}", screen.shot());
}

fn local(screen: &mut Screen, number: usize) {
    let word = format!("{MARK}{number}");
    if number.is_multiple_of(2) {
        return screen.tell(ServerMessage::Local { title: word.clone(), text: word, tone: Tone::Plain });
    }
    screen.tell(ServerMessage::ShellBegan { command: word.clone(), privacy: Privacy::Shared });
    screen.tell(ServerMessage::ShellOutput { text: format!("{word} output\n") });
    screen.tell(ServerMessage::ShellEnded { outcome: word, took: Duration::from_millis(2) });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn local_output_never_cuts_what_streams(steps in steps()) {
        let locals = steps.iter().filter(|step| matches!(step, Step::Local(_))).count();
        let (plain, none) = read(&steps, false);
        let (with, lines) = read(&steps, true);
        prop_assert_eq!(none, 0);
        prop_assert!(lines >= locals, "{} of {} local outputs are shown", lines, locals);
        prop_assert_eq!(with, plain);
    }
}
