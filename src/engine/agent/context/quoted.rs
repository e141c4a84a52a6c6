//! Messages as quoted data, for the model that summarises them. Pure.
//!
//! Each line of a message begins with `> `, so that no text can end its quote.

use std::fmt::Write as _;

use crate::history::History;
use crate::message::{Message, MessagePiece, ReturnPart, ToolReturn};
use crate::stdx::text::head_tail;

/// Maximum bytes of one text of a user or a model.
const SAID: usize = 8_000;

/// Maximum bytes of one quoted line.
const LINE: usize = 400;

/// Maximum bytes of one tool output, and of the arguments of one call.
const OUTPUT: usize = 2_000;

/// Returns the messages before `kept` as quoted data of at most about `most` bytes; the middle is left out if they are
/// longer, and the place is marked.
pub(super) fn quote_messages(history: &History, kept: usize, most: usize) -> String {
    let mut text = String::new();
    for (at, (_, message)) in history.entries().iter().take(kept).enumerate() {
        let number = at + 1;
        if let Message::ToolReturns { returns } = &**message {
            for one in returns {
                quote(&mut text, number, "result", &result(one), OUTPUT);
            }
            continue;
        }
        for piece in message.pieces() {
            match piece {
                MessagePiece::Prompt(said) => quote(&mut text, number, "user", said, SAID),
                MessagePiece::Note(_, said) => quote(&mut text, number, "the program", said, SAID * 2),
                MessagePiece::Image(_) => quote(&mut text, number, "user", "[an image]", SAID),
                MessagePiece::Answer(said) => quote(&mut text, number, "assistant", said, SAID),
                MessagePiece::Call(call) => {
                    let said = format!("{} {}", call.name, call.args);
                    quote(&mut text, number, "assistant calls", &said, OUTPUT);
                }
                MessagePiece::Thought(_) | MessagePiece::Native | MessagePiece::Output(_) => {}
            }
        }
    }
    let cut = head_tail(&text, most);
    if cut.dropped_bytes == 0 {
        return text;
    }
    let (head, tail) = (cut.head.trim_end_matches(|one| one != '\n'), whole_messages(cut.tail));
    format!("{head}[the middle is left out here]\n{tail}")
}

/// Returns the tail from the first message on that begins in it: what is before that would stand under another's name.
fn whole_messages(tail: &str) -> &str {
    let mut rest = tail;
    while let Some((line, after)) = rest.split_once('\n') {
        let number = line.strip_prefix('[').and_then(|line| line.split_once("] "));
        let is_head = number.is_some_and(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
        if is_head && line.ends_with(':') {
            return rest;
        }
        rest = after;
    }
    ""
}

fn quote(text: &mut String, number: usize, who: &str, said: &str, most: usize) {
    let cut = head_tail(said, most);
    // Writing to a string never fails.
    let _ = writeln!(text, "[{number}] {who}:");
    quote_lines(text, cut.head);
    if cut.dropped_bytes > 0 {
        let _ = writeln!(text, "[{} bytes left out]", cut.dropped_bytes);
        quote_lines(text, cut.tail);
    }
}

/// Long lines are broken, so that leaving out a line never leaves out much.
fn quote_lines(text: &mut String, said: &str) {
    // Other characters that may begin a line would begin one without a mark.
    let said = said.replace(['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'], " ");
    for line in said.lines() {
        let mut rest = line;
        loop {
            let (head, tail) = rest.split_at(rest.floor_char_boundary(LINE));
            let _ = writeln!(text, "> {head}");
            if tail.is_empty() {
                break;
            }
            rest = tail;
        }
    }
}

fn result(returned: &ToolReturn) -> String {
    let parts = returned.content.iter().map(|part| match part {
        ReturnPart::Text { text } => text.as_str(),
        ReturnPart::Image { .. } => "[an image]",
    });
    format!("({:?}) {}", returned.status, parts.collect::<Vec<_>>().join("\n"))
}
