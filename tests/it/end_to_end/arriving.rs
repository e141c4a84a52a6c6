//! A call whose arguments still arrive: the real screen shows what it is about to write, and keeps nothing of it when the
//! reply is stopped; the plain front end says one line at their end.

use kit::replay::server::Delivery;
use serde_json::{Value, json};

use super::kit::{USUAL, on_terminal, recording, replies, say, serve};
use crate::co::{Co, Wire};

/// A reply of one `write_file` call up to this much of its arguments, as the service streams it.
fn stream(args: &str, piece: usize) -> String {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let mut text =
        event(json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
        "model": "replay", "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}}));
    text += &event(
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "write_file", "input": {}}}),
    );
    for piece in args.as_bytes().chunks(piece) {
        let piece = str::from_utf8(piece).unwrap();
        text += &event(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}),
        );
    }
    text
}

#[test]
fn the_screen_shows_it_and_forgets_what_was_stopped() {
    let lines: String = (1..=40).map(|n| format!("let x_{n} = {n};\n")).collect();
    let args = json!({"path": "src/made.rs", "content": lines}).to_string();
    let begun = stream(args.trim_end_matches("\"}"), 3);
    let end = begun.len();
    let service = serve(vec![recording(
        200,
        &[("content-type", "text/event-stream")],
        begun,
        Delivery::SilentAfter(end),
    )]);
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("replay");
    say(&mut screen, "write it");
    let shot = screen.wait_for("let x_40 = 40;");
    assert!(
        shot.contains("src/made.rs") && shot.contains("… 30 lines above") && !shot.contains("x_30 "),
        "{shot}"
    );
    screen.keys("<c-c>");
    let shot = screen.wait_for("· stopped");
    assert!(!shot.contains("x_40"), "{shot}");
    assert_eq!(co.read("src/made.rs"), None);
}

#[test]
fn the_plain_face_says_one_line() {
    let script =
        "reply\n  call write_file {\"content\":\"a\\nb\\n\",\"path\":\"n.md\"}\nreply\n  text Done.\n";
    let service = serve(replies(script));
    let rules = "[[rule]]\neffect = \"allow\"\ntool = \"write_file\"\n";
    let co = Co::new().file(".config/co/rules.toml", rules).with(&service, Wire::Anthropic);
    let ran = co.piped("write it\n", &["--plain"]);
    let expected = "Received write_file n.md: 2 lines.\n";
    assert!(ran.out.contains(expected) && ran.out.matches("Received").count() == 1, "{ran:?}");
}
