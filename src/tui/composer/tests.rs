use proptest::prelude::*;

use super::*;
use crate::tui::keys::{Move, TextEdit};

/// An editor that holds `text`, with the cursor at `|`.
fn at_cursor(text: &str) -> Editor {
    let (before, behind) = text.split_once('|').expect("the cursor is marked");
    let mut editor = Editor::plain(behind);
    editor.insert(before);
    editor
}

fn after(text: &str, does: impl Fn(&mut Editor)) -> String {
    let mut editor = at_cursor(text);
    does(&mut editor);
    shown(&editor)
}

fn moved(editor: &mut Editor, to: Move) {
    editor.step(to, 80);
}

fn shown(editor: &Editor) -> String {
    let mut out = String::new();
    for (at, item) in editor.items().iter().enumerate() {
        if at == editor.cursor() {
            out.push('|');
        }
        out.push_str(item.text());
    }
    if editor.cursor() == editor.items().len() {
        out.push('|');
    }
    out
}

#[test]
fn edits_and_moves() {
    type Does = fn(&mut Editor);
    let cases: &[(&str, Does, &str)] = &[
        ("|b", |e| e.insert("a"), "a|b"),
        ("e|x", |e| e.insert("\u{301}"), "e\u{301}|x"),
        ("a👨‍👩‍👧|", |e| e.edit(TextEdit::Backspace), "a|"),
        ("|", |e| e.edit(TextEdit::Backspace), "|"),
        ("a|👨‍👩‍👧b", |e| e.edit(TextEdit::Delete), "a|b"),
        ("ab|", |e| moved(e, Move::Left), "a|b"),
        ("|ab", |e| moved(e, Move::Right), "a|b"),
        ("one two-x|", |e| moved(e, Move::WordLeft), "one two-|x"),
        ("|one two", |e| moved(e, Move::WordRight), "one| two"),
        ("a\nbc|d", |e| moved(e, Move::LineStart), "a\n|bcd"),
        ("a|b\nc", |e| moved(e, Move::LineEnd), "ab|\nc"),
        ("a|b\nc", |e| e.edit(TextEdit::KillToEnd), "a|\nc"),
        ("ab|\nc", |e| e.edit(TextEdit::KillToEnd), "ab|c"),
        ("x\nab|c", |e| e.edit(TextEdit::KillToStart), "x\n|c"),
        ("one two-x|", |e| e.edit(TextEdit::KillWordBack), "one |"),
        ("one two-x|", |e| e.edit(TextEdit::KillPartBack), "one two-|"),
        ("one| two three", |e| e.edit(TextEdit::KillWordForward), "one| three"),
        (
            "one two|",
            |e| {
                e.edit(TextEdit::KillWordBack);
                e.edit(TextEdit::KillWordBack);
                e.edit(TextEdit::Yank);
                e.edit(TextEdit::Yank);
            },
            "one twoone two|",
        ),
        (
            "one two|",
            |e| {
                e.edit(TextEdit::KillWordBack);
                e.step(Move::Left, 80);
                e.edit(TextEdit::KillWordBack);
                e.edit(TextEdit::Yank);
                e.edit(TextEdit::YankOlder);
            },
            "two| ",
        ),
        (
            "|",
            |e| {
                e.insert("a");
                e.insert("b");
                e.insert(" ");
                e.insert("c");
                e.edit(TextEdit::Undo);
            },
            "ab|",
        ),
        (
            "ab|",
            |e| {
                e.edit(TextEdit::KillToStart);
                e.edit(TextEdit::Undo);
                e.edit(TextEdit::Undo);
                e.edit(TextEdit::Redo);
            },
            "ab|",
        ),
        (
            "a\\|",
            |e| {
                e.break_at_backslash();
            },
            "a\n|",
        ),
    ];
    for (index, (text, does, expected)) in cases.iter().enumerate() {
        assert_eq!(after(text, does), *expected, "case {index}: {text:?}");
    }
}

#[test]
fn the_cursor_moves_over_rows() {
    type Does = fn(&mut Editor) -> bool;
    let cases: &[(&str, Does, bool, &str)] = &[
        ("abcd\nx\nab|cd", |e| e.up(10), true, "abcd\nx|\nabcd"),
        (
            "abcd\nx\nabc|d",
            |e| {
                e.up(10);
                e.up(10)
            },
            true,
            "abc|d\nx\nabcd",
        ),
        ("ab|", |e| e.up(10), false, "ab|"),
        ("a|bcdef", |e| e.down(3), true, "abcd|ef"),
        ("abcdef|", |e| e.up(3), true, "ab|cdef"),
        ("日本|語", |e| e.up(4), true, "|日本語"),
        ("ab|", |e| e.down(10), false, "ab|"),
    ];
    for (text, does, moved, expected) in cases {
        let mut editor = at_cursor(text);
        assert_eq!((does(&mut editor), shown(&editor).as_str()), (*moved, *expected), "{text:?}");
    }
}

#[test]
fn rows_show_harmless_text_and_the_cursor() {
    let mut editor = Editor::default();
    editor.insert("ab\u{1b}[c日");
    let rows = Rows::of(&editor, 6);
    let lines: Vec<String> = (0..rows.height()).map(|row| rows.line(&editor, row).text()).collect();
    assert_eq!(lines, ["ab␛[c", "日"]);
    assert_eq!(rows.cursor, Position { row: 1, column: 2 });
    assert_eq!(editor.text(), "ab\u{1b}[c日");
}

#[test]
fn a_large_paste_is_one_chip_and_comes_out_whole() {
    let big = "line\r\n".repeat(2_000_000) + "\0end";
    let mut editor = Editor::default();
    editor.insert("see ");
    editor.paste(&big);
    editor.insert("!");
    let rows = Rows::of(&editor, 60);
    assert_eq!(rows.line(&editor, 0).text(), "see [pasted 2,000,001 lines, 10 MB]!");
    editor.step(Move::Left, 80);
    editor.edit(TextEdit::Backspace);
    assert_eq!(editor.text(), "see !");
    editor.edit(TextEdit::Undo);
    let text = editor.take();
    assert_eq!(text.len(), "see ".len() + "line\n".len() * 2_000_000 + "end!".len());
    assert!(!text.contains(['\r', '\0']));
}

#[test]
fn the_history_keeps_what_was_being_written() {
    let mut composer = Composer::default();
    for line in ["one", "two", "two", " "] {
        composer.editor.insert(line);
        composer.take();
    }
    composer.editor.insert("dra");
    let mut seen = Vec::new();
    let moves: [fn(&mut Composer); 6] = [
        Composer::older,
        Composer::older,
        Composer::older,
        Composer::newer,
        Composer::newer,
        Composer::newer,
    ];
    for step in moves {
        step(&mut composer);
        seen.push(composer.editor.text());
    }
    assert_eq!(seen, ["two", "one", "one", "two", "dra", "dra"]);
}

proptest! {
    #[test]
    fn rows_never_lose_or_widen_text(text in "[a-z\n日👩\u{200d}\u{301}\u{1b}\t]{0,60}", width in 8usize..20) {
        let mut editor = Editor::default();
        editor.paste_plain(&text);
        let rows = Rows::of(&editor, width);
        prop_assert!(rows.cursor.row < rows.height());
        prop_assert!(rows.cursor.column <= width);
        for row in 0..rows.height() {
            let line = rows.line(&editor, row);
            prop_assert!(line.width() <= width, "{:?}", line.text());
            prop_assert!(!line.text().contains(char::is_control));
        }
        prop_assert_eq!(editor.text(), text);
    }
}
