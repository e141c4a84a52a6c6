//! The arguments of calls while they stream in: one line at the end of those that write or run a text.

use std::collections::BTreeMap;

use crate::stdx::json_stream::StringReader;
use crate::stdx::text::{count, one_line_summary};
use crate::tool::TextKind;
use crate::tool::builtin::text_args;

/// Width of a path or a command in the line, in cells.
const WIDTH: usize = 100;

/// The calls of the reply that streams, by their index in it.
#[derive(Debug, Default)]
pub(super) struct StreamedArguments(BTreeMap<usize, StringReader>);

impl StreamedArguments {
    /// Takes a piece of a call's arguments. Returns a line at their end, once.
    pub(super) fn take(&mut self, index: usize, tool: &str, delta: &str) -> Option<String> {
        let (text, kind) = text_args(tool).last()?;
        let place = match kind {
            TextKind::File | TextKind::Old | TextKind::New => "path",
            TextKind::Command => text,
            TextKind::Patch => "",
        };
        let reader = self.0.entry(index).or_insert_with(|| StringReader::new([place, text]));
        let was_closed = reader.is_closed();
        reader.feed(delta);
        if was_closed || !reader.is_closed() {
            return None;
        }
        let lines = count(reader.get(text)?.lines().count(), "line");
        let named = reader.get(place).map_or_else(String::new, |place| one_line_summary(place, WIDTH));
        let gap = if named.is_empty() { "" } else { " " };
        Some(format!("Received {tool}{gap}{named}: {lines}."))
    }

    /// Forgets the calls: the reply is committed, or starts again.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_is_printed_at_the_end_however_the_arguments_are_cut() {
        for (tool, args, expected) in [
            (
                "write_file",
                r#"{"content":"a\nb\n","path":"n\u001b.md"}"#,
                Some("Received write_file n␛.md: 2 lines."),
            ),
            ("write_file", r#"{"path":"x\"}","content":""}"#, Some("Received write_file x\"}: 0 lines.")),
            (
                "edit_file",
                r#"{"path":"a","old":"x\ny","new":"z","all":true}"#,
                Some("Received edit_file a: 1 line."),
            ),
            ("shell", r#"{"command":"ls\nrm x"}"#, Some("Received shell ls …: 2 lines.")),
            ("apply_patch", r#"{"patch":"--- a\n+++ b\n"}"#, Some("Received apply_patch: 2 lines.")),
            ("read_file", r#"{"path":"a"}"#, None),
            ("shell", r#"{"command":"ls"#, None),
            ("shell", r#"{}"#, None),
        ] {
            for step in [1, 3, args.len()] {
                let mut arguments = StreamedArguments::default();
                let chars: Vec<char> = args.chars().collect();
                let lines: Vec<String> = chars
                    .chunks(step)
                    .filter_map(|piece| arguments.take(0, tool, &piece.iter().collect::<String>()))
                    .collect();
                assert_eq!(lines, expected.into_iter().collect::<Vec<_>>(), "{args} by {step}");
            }
        }
    }
}
