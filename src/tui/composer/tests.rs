use proptest::prelude::*;

use super::*;

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
        ("a👨‍👩‍👧|", Editor::backspace, "a|"),
        ("|", Editor::backspace, "|"),
        ("a|👨‍👩‍👧b", Editor::delete, "a|b"),
        ("ab|", Editor::left, "a|b"),
        ("|ab", Editor::right, "a|b"),
        ("one two-x|", Editor::word_left, "one two-|x"),
        ("|one two", Editor::word_right, "one| two"),
        ("a\nbc|d", Editor::line_start, "a\n|bcd"),
        ("a|b\nc", Editor::line_end, "ab|\nc"),
        ("a|b\nc", Editor::kill_to_end, "a|\nc"),
        ("ab|\nc", Editor::kill_to_end, "ab|c"),
        ("x\nab|c", Editor::kill_to_start, "x\n|c"),
        ("one two-x|", Editor::kill_word_back, "one |"),
        ("one two-x|", Editor::kill_part_back, "one two-|"),
        ("one| two three", Editor::kill_word_forward, "one| three"),
        (
            "one two|",
            |e| {
                e.kill_word_back();
                e.kill_word_back();
                e.yank();
                e.yank();
            },
            "one twoone two|",
        ),
        (
            "one two|",
            |e| {
                e.kill_word_back();
                e.left();
                e.kill_word_back();
                e.yank();
                e.yank_older();
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
                e.undo();
            },
            "ab|",
        ),
        (
            "ab|",
            |e| {
                e.kill_to_start();
                e.undo();
                e.undo();
                e.redo();
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
    type Does = fn(&mut Editor) -> Moved;
    let cases: &[(&str, Does, Moved, &str)] = &[
        ("abcd\nx\nab|cd", |e| e.up(10), Moved::Yes, "abcd\nx|\nabcd"),
        (
            "abcd\nx\nabc|d",
            |e| {
                e.up(10);
                e.up(10)
            },
            Moved::Yes,
            "abc|d\nx\nabcd",
        ),
        ("ab|", |e| e.up(10), Moved::AtEdge, "ab|"),
        ("a|bcdef", |e| e.down(3), Moved::Yes, "abcd|ef"),
        ("abcdef|", |e| e.up(3), Moved::Yes, "ab|cdef"),
        ("日本|語", |e| e.up(4), Moved::Yes, "|日本語"),
        ("ab|", |e| e.down(10), Moved::AtEdge, "ab|"),
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
    editor.left();
    editor.backspace();
    assert_eq!(editor.text(), "see !");
    editor.undo();
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
