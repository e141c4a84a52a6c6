use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::*;

#[test]
fn suspicious_characters_are_shown() {
    let check = |input: &str, block: &str, line: &str| {
        assert_eq!(sanitize(input), block, "block of {input:?}");
        assert_eq!(sanitize_line(input), line, "line of {input:?}");
    };
    let same = |input: &str| check(input, input, input);
    same("");
    same("plain Ünïcode 日本 ok");
    same("👩‍👩‍👧 👩🏽‍🚀 ❤️‍🔥 🏳️‍🌈 ☂︎");
    same("a\u{301}\u{FFFD}\u{A0}");
    check("a\n\tb", "a\n\tb", "a␊ b");
    check("a\r\n", "a␍\n", "a␍␊");
    check("\u{1b}[31mred\u{7}\0\u{7f}", "␛[31mred␇␀␡", "␛[31mred␇␀␡");
    let coded = [
        ("\u{9b}31m\u{85}", "<U+009B>31m<U+0085>"),
        ("a\u{202e}txt.exe\u{2069}", "a<U+202E>txt.exe<U+2069>"),
        ("\u{200e}\u{200f}\u{61c}", "<U+200E><U+200F><U+061C>"),
        ("x\u{200b}y\u{200c}z\u{2060}\u{feff}", "x<U+200B>y<U+200C>z<U+2060><U+FEFF>"),
        ("a\u{34f}b\u{180b}\u{180d}\u{180f}", "a<U+034F>b<U+180B><U+180D><U+180F>"),
        ("a\u{200d}b", "a<U+200D>b"),
        ("👩\u{200d}b", "👩<U+200D>b"),
        ("\u{200d}👩", "<U+200D>👩"),
        ("🇩\u{200d}👩", "🇩<U+200D>👩"),
        ("\u{2028}\u{2029}", "<U+2028><U+2029>"),
        ("\u{e0041}\u{e0001}", "<U+E0041><U+E0001>"),
        ("😀\u{fe0f}\u{fe01}\u{e0100}", "😀\u{fe0f}<U+FE01><U+E0100>"),
        ("\u{fe0f}x", "<U+FE0F>x"),
        ("so\u{ad}ft \u{3164} \u{2063}", "so<U+00AD>ft <U+3164> <U+2063>"),
    ];
    for (input, shown) in coded {
        check(input, shown, shown);
    }
}

#[test]
fn harmless_text_is_not_copied() {
    assert!(matches!(sanitize("two\nlines\t👩‍👧"), std::borrow::Cow::Borrowed(_)));
}

#[test]
fn width_counts_cells() {
    for (text, cells) in [("", 0), ("abc", 3), ("日本", 4), ("日本👨‍👩‍👧", 6), ("e\u{301}", 1), ("❤️", 2)]
    {
        assert_eq!(width(text), cells, "{text:?}");
    }
}

#[test]
fn tabs_reach_the_next_stop() {
    for (text, shown) in [("a\tb", "a   b"), ("\t", "    "), ("日本\t|\nab\t|", "日本    |\nab  |")] {
        assert_eq!(expand_tabs(text), shown, "{text:?}");
    }
}

#[test]
fn truncate_fits_and_says_so() {
    let cases = [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcd", 1, "…"),
        ("abcd", 0, ""),
        ("日本語", 4, "日…"),
        ("日本語", 5, "日本…"),
        ("👨‍👩‍👧👨‍👩‍👧", 3, "👨‍👩‍👧…"),
        ("", 0, ""),
    ];
    for (text, cells, expected) in cases {
        assert_eq!(truncate(text, cells), expected, "{text:?} in {cells}");
    }
}

#[test]
fn wrap_breaks_where_a_reader_would() {
    let cases: &[(&str, usize, &[&str])] = &[
        ("", 5, &[""]),
        ("one two three", 7, &["one two", "three"]),
        ("one two three", 80, &["one two three"]),
        ("a\n\nb", 5, &["a", "", "b"]),
        ("end\n", 5, &["end", ""]),
        ("abcdefgh", 3, &["abc", "def", "gh"]),
        ("hi abcdefgh x", 3, &["hi", "abc", "def", "gh", "x"]),
        ("abcdefgh x", 5, &["abcde", "fgh x"]),
        ("  indented text here", 10, &["  indented", "text here"]),
        ("    abcdef", 6, &["abcdef"]),
        ("wide   gap", 5, &["wide", "gap"]),
        ("日本語テキスト", 5, &["日本", "語テ", "キス", "ト"]),
        ("ab日本", 4, &["ab日", "本"]),
        ("日本", 1, &["…", "…"]),
        ("ab", 0, &["a", "b"]),
        ("a\tb", 5, &["a   b"]),
        ("10\u{a0}km away", 6, &["10\u{a0}km", "away"]),
    ];
    for (text, cells, expected) in cases {
        assert_eq!(wrap(text, *cells), *expected, "{text:?} in {cells}");
    }
}

#[test]
fn head_tail_keeps_both_ends() {
    let ht = |head, tail, dropped_bytes, dropped_lines| HeadTail { head, tail, dropped_bytes, dropped_lines };
    let cases = [
        ("short", 10, ht("short", "", 0, 0)),
        ("exact", 5, ht("exact", "", 0, 0)),
        ("abcdefghij", 4, ht("ab", "ij", 6, 1)),
        ("abcdefghij", 5, ht("abc", "ij", 5, 1)),
        ("abcdefghij", 0, ht("", "", 10, 1)),
        ("l1\nl2\nl3\nl4\nl5\n", 8, ht("l1\n", "l5\n", 9, 3)),
        ("日本語文字", 7, ht("日", "字", 9, 1)),
        ("aaaaaaaaaa\nb\ncccccccccc", 10, ht("aaaaa", "ccccc", 13, 3)),
    ];
    for (text, max, expected) in cases {
        assert_eq!(head_tail(text, max), expected, "{text:?} in {max}");
    }
}

#[test]
fn summaries_are_one_line() {
    let cases = [
        ("", 10, ""),
        ("  \n\n", 10, ""),
        ("\n  hello \t world  \n", 20, "hello world"),
        ("first\nsecond", 20, "first …"),
        ("first\n\n", 20, "first"),
        ("a long first line", 8, "a long …"),
        ("\u{1b}[2J boo", 20, "␛[2J boo"),
    ];
    for (text, cells, expected) in cases {
        assert_eq!(one_line_summary(text, cells), expected, "{text:?} in {cells}");
    }
}

#[test]
fn the_nearest_name_is_found_or_none() {
    let names = ["theme", "thinking", "model", "max_requests", "quit"];
    let cases = [
        ("themme", Some("theme")),
        ("THEME", Some("theme")),
        ("max_request", Some("max_requests")),
        ("max", Some("max_requests")),
        ("qiut", Some("quit")),
        ("thnking", Some("thinking")),
        ("zzz", None),
        ("", None),
    ];
    for (name, expected) in cases {
        assert_eq!(nearest(name, names), expected, "{name:?}");
    }
}

/// Characters that the functions above treat specially, among ordinary ones.
fn hostile_text() -> impl Strategy<Value = String> {
    let special = proptest::sample::select(vec![
        ' ',
        '\n',
        '\t',
        '\r',
        '\u{1b}',
        '\u{9b}',
        '\u{200d}',
        '\u{202e}',
        '\u{feff}',
        '\u{fe0f}',
        '\u{e0041}',
        '日',
        '👩',
        '👧',
        '\u{301}',
        'a',
        'b',
        'Z',
        '\u{1F3FD}',
        '🇩',
        '🇪',
        'क',
        '्',
        'ष',
    ]);
    proptest::collection::vec(prop_oneof![4 => special, 1 => any::<char>()], 0..60)
        .prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #[test]
    fn nothing_dangerous_survives(text in hostile_text()) {
        let block = sanitize(&text);
        let dangerous = |c: char| (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}');
        prop_assert!(!block.contains(dangerous), "{block:?}");
        prop_assert!(!sanitize_line(&text).contains(char::is_control));
        prop_assert_eq!(sanitize(&block), block.clone(), "sanitizing twice changes nothing");
    }

    #[test]
    fn wrapped_lines_fit_and_lose_only_space(text in hostile_text(), cells in 0usize..12) {
        let text = sanitize(&text).into_owned();
        let lines = wrap(&text, cells);
        for line in &lines {
            prop_assert!(width(line) <= cells.max(1), "{line:?} in {cells}");
        }
        // A grapheme wider than the line cannot fit on it and is marked instead. (A combining mark after a
        // tab joins the last of the spaces that replace it.)
        if expand_tabs(&text).graphemes(true).all(|grapheme| width(grapheme) <= cells) {
            let visible = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(visible(&lines.concat()), visible(&text));
        }
    }

    #[test]
    fn truncated_text_fits(text in hostile_text(), cells in 0usize..12) {
        let text = sanitize_line(&text).into_owned();
        prop_assert!(width(&truncate(&text, cells)) <= cells);
        prop_assert!(width(&one_line_summary(&text, cells)) <= cells);
    }

    #[test]
    fn a_summary_is_the_same_as_of_the_whole_line(text in hostile_text(), times in 1usize..30, cells in 0usize..12) {
        let text = text.repeat(times);
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let more = if lines.next().is_some() { " …" } else { "" };
        let whole = truncate(&format!("{}{more}", sanitize_line(&first)), cells);
        prop_assert_eq!(one_line_summary(&text, cells), whole);
    }

    #[test]
    fn both_ends_are_ends(text in hostile_text(), max in 0usize..80) {
        let cut = head_tail(&text, max);
        prop_assert!(text.starts_with(cut.head) && text.ends_with(cut.tail));
        prop_assert!(cut.head.len() + cut.tail.len() <= max);
        prop_assert_eq!(cut.head.len() + cut.dropped_bytes + cut.tail.len(), text.len());
    }
}
