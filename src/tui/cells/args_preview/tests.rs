//! The preview of arguments that arrive in pieces of any size, and its cost.

use serde_json::json;

use super::*;
use crate::tui::cells::{Fold, Motion};
use crate::tui::markdown::count;
use crate::tui::theme::Glyphs;

fn context(width: usize, rows: usize, languages: Languages) -> RenderContext {
    RenderContext {
        width,
        rows,
        glyphs: &Glyphs::UNICODE,
        details: Fold::Folded,
        thinking: Fold::Folded,
        now_ms: 0,
        motion: Motion::Full,
        languages,
        details_key: None,
        stop_key: None,
    }
}

fn preview(tool: &str) -> ArgsPreview {
    ArgsPreview::new(tool, &["path"])
}

fn drawn(preview: &mut ArgsPreview, context: &RenderContext) -> Vec<String> {
    let lines = preview.lines(context, &Margin::even(Line::of("| ", Role::Dim)));
    lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
}

#[test]
fn any_cut_shows_the_same_and_the_height_only_grows() {
    let many: String = (1..=14).map(|n| format!("line {n}\\n")).collect();
    let many = format!("{{\"path\":\"a.md\",\"content\":\"{many}the end\"}}");
    let cases: &[(&str, &str, &[&str])] = &[
        ("write_file", r#"{"path":"a.rs","content":"one\n\ttwo\n"}"#, &["|   1   one", "|   2       two"]),
        (
            "write_file",
            r#"{"content":"say \"path\": \"no\"\\\n","path":"a"}"#,
            &["|   1   say \"path\": \"no\"\\"],
        ),
        (
            "write_file",
            r#"{"content":"\u00e9\ud83d\ude00\u001b[2J\u202e\r\nx"}"#,
            &["|   1   é😀␛[2J<U+202E>␍", "|   2   x"],
        ),
        ("write_file", r#"{"content":"first\nof it","content":"x"}"#, &["|   1   x"]),
        (
            "write_file",
            r#"{"content":"0123456789012345678901234567890123456789"}"#,
            &["|   1   0123456789012345678901234567890123", "|       456789"],
        ),
        ("write_file", r#"{"content":{"content":"below"},"path":"a"}"#, &[]),
        ("edit_file", r#"{"path":"a","old":"is\n","new":"was\nhere"}"#, &["| - is", "| + was", "| + here"]),
        ("edit_file", r#"{"path":"a","new":"was","old":"is"}"#, &["| - is", "| + was"]),
        ("shell", r#"{"command":"ls"}"#, &[]),
        ("shell", r#"{"command":"ls &&\n  rm x"}"#, &["|   ls &&", "|     rm x"]),
        ("apply_patch", r#"{"patch":"--- a\n+++ b\n"}"#, &["|   --- a", "|   +++ b"]),
        ("read_file", r#"{"path":"a","content":"b"}"#, &[]),
        (
            "write_file",
            &many,
            &[
                "| … 5 lines above",
                "|   6   line 6",
                "|   7   line 7",
                "|   8   line 8",
                "|   9   line 9",
                "|  10   line 10",
                "|  11   line 11",
                "|  12   line 12",
                "|  13   line 13",
                "|  14   line 14",
                "|  15   the end",
            ],
        ),
    ];
    let context = context(42, 24, Languages::NONE);
    for (tool, args, expected) in cases {
        for step in [1, 2, 7, args.len()] {
            let mut growing = preview(tool);
            let (mut fed, mut before) = (String::new(), 0);
            let chars: Vec<char> = args.chars().collect();
            for piece in chars.chunks(step) {
                let piece: String = piece.iter().collect();
                fed.push_str(&piece);
                growing.push(&piece);
                let shown = drawn(&mut growing, &context);
                let mut whole = preview(tool);
                whole.push(&fed);
                assert_eq!(shown, drawn(&mut whole, &context), "{fed}");
                // Only a repeated key begins again.
                assert!(shown.len() >= before || args.contains("first"), "{fed}");
                before = shown.len();
            }
            assert_eq!(drawn(&mut growing, &context), *expected, "{args} by {step}");
        }
    }
}

#[test]
fn small_screens_show_fewer_lines() {
    let mut growing = preview("write_file");
    growing.push(r#"{"content":"1\n2\n3\n4\n5\n6\n7\n8\n9\n"#);
    for (rows, shown) in [(5, 2), (10, 2), (15, 6), (40, 9)] {
        let drawn = drawn(&mut growing, &context(42, rows, Languages::NONE));
        assert_eq!(drawn.iter().filter(|line| !line.contains('…')).count(), shown, "{rows} rows: {drawn:?}");
    }
}

/// The path may come after the content, and a language may be loaded while it streams.
#[test]
fn what_is_still_shown_is_highlighted_when_its_language_is_known() {
    let rust = Language::by_name("rust").unwrap();
    let is_coloured = |preview: &mut ArgsPreview, languages| {
        let lines = preview.lines(&context(42, 24, languages), &Margin::default());
        lines.iter().all(|line| line.spans.iter().any(|span| span.style.role == Role::CodeKeyword))
    };
    let mut growing = preview("write_file");
    growing.push(r#"{"content":"let x;\nlet y;\nlet z", "#);
    assert_eq!(growing.named_languages(), Languages::NONE);
    assert!(!is_coloured(&mut growing, Languages::of(rust)));
    growing.push(r#""path":"a.r"#);
    assert_eq!(growing.named_languages(), Languages::NONE, "the path may go on");
    growing.push(r#"s"}"#);
    assert_eq!(growing.named_languages(), Languages::of(rust));
    assert!(!is_coloured(&mut growing, Languages::NONE), "it is not loaded yet");
    assert!(is_coloured(&mut growing, Languages::of(rust)));
}

#[test]
fn each_line_is_highlighted_once() {
    let json = Language::by_name("json").unwrap();
    let context = context(80, 24, Languages::of(json));
    let mut growing = preview("write_file");
    growing.push(r#"{"path":"a.json","content":""#);
    count::take();
    for _ in 0..1_000 {
        for piece in ["[1, 2", ", 3]", "\\n"] {
            growing.push(piece);
            drawn(&mut growing, &context);
        }
    }
    let (_, highlighted) = count::take();
    // Each whole line, and its two states before that.
    assert!(highlighted <= 1_000 * 3 * 9, "{highlighted} bytes");
}

#[test]
fn a_long_line_is_laid_out_by_its_end() {
    let mut growing = preview("write_file");
    growing.push(&format!(r#"{{"content":"{}the end"#, "x".repeat(1_000_000)));
    let shown = drawn(&mut growing, &context(42, 24, Languages::NONE));
    assert_eq!(shown.len(), MOST_ROWS + 1, "{shown:?}");
    assert!(shown.last().unwrap().ends_with("the end"));
}

#[test]
fn only_the_texts_of_the_call_are_kept() {
    let mut shown = preview("edit_file");
    shown.push(r#"{"path":"a","old":"x","new":"\u0079"}"#);
    for (tool, args, same) in [
        ("edit_file", json!({"path": "a", "old": "x", "new": "y"}), true),
        ("edit_file", json!({"path": "a", "old": "x", "new": "z"}), false),
        ("edit_file", json!({"path": "a", "new": "y"}), false),
        ("write_file", json!({"path": "a", "old": "x", "new": "y"}), false),
    ] {
        assert_eq!(shown.shows(tool, &args), same, "{tool} {args}");
    }
}
