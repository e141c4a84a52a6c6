//! The model's list of steps: below its row, in the side panel, and after a session is opened again.

use co::agent::port::Event;
use co::frontend::protocol::ServerMessage;
use co::message::{AssistantMessage, AssistantPart, Message, PartKind, ReturnStatus, StopKind, StopReason};
use serde_json::json;

use crate::tui::kit::{Screen, call, returned};

const LIST: &str = "[x] read the notes\n[>] edit them\n[ ] tidy up\n";

#[test]
fn the_list_is_shown_and_survives_a_resume() {
    let todo = call(1, "todo", json!({}));
    let ended = |number, status, text| Event::ToolReturn {
        call: call(number, "todo", json!({})),
        returned: returned(number, status, text),
    };
    let screen = Screen::open(140, 40).prompted("go").event(Event::ToolCall { call: todo.clone() });
    let mut screen = screen.event(ended(1, ReturnStatus::Ok, LIST));
    let shown = |shot: &str| {
        for part in ["STEPS", "1 of 3", "▸ edit them", "✓ read the notes", "  tidy up"] {
            assert!(shot.contains(part), "{part}\n{shot}");
        }
    };
    let shot = screen.shot();
    shown(&shot);
    assert!(shot.contains("[>] edit them"), "below its row: {shot}");
    // One that failed changes nothing.
    let mut screen = screen.event(ended(2, ReturnStatus::Failed, "2 items are in_progress\n[x] no"));
    shown(&screen.shot());
    let part = AssistantPart::new(PartKind::ToolCall(todo));
    let reply = AssistantMessage {
        parts: vec![part],
        asked: String::new(),
        model: String::new(),
        stop: StopReason::new(StopKind::ToolUse),
    };
    let returns = vec![returned(1, ReturnStatus::Ok, LIST)];
    let messages = vec![Message::Assistant(reply), Message::ToolReturns { returns }];
    shown(
        &Screen::open(140, 40)
            .notice(ServerMessage::Transcript {
                messages: messages.iter().cloned().map(Into::into).collect(),
                decided: Vec::new(),
            })
            .shot(),
    );
    // Another session has none.
    let mut other = Screen::open(140, 40)
        .notice(ServerMessage::Transcript {
            messages: messages.into_iter().map(Into::into).collect(),
            decided: Vec::new(),
        })
        .notice(ServerMessage::Transcript { messages: Vec::new(), decided: Vec::new() });
    assert!(!other.shot().contains("STEPS"));
    let narrow =
        Screen::open(80, 24).prompted("go").event(Event::ToolCall { call: call(1, "todo", json!({})) });
    let mut narrow = narrow.event(ended(1, ReturnStatus::Ok, LIST));
    assert!(narrow.shot().contains("[>] edit them"), "{}", narrow.shot());
}
