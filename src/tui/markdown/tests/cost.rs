use super::page;
use crate::tui::markdown::*;

/// Streams `source` in pieces of `piece` bytes, drawn after each. Returns the bytes parsed, the bytes
/// highlighted and the most bytes that one frame parsed.
fn cost(source: &str, piece: usize, page: &Page) -> (usize, usize, usize) {
    count::take();
    let mut stream = StreamMarkdown::new(page.clone());
    let (mut parsed, mut highlighted, mut most) = (0, 0, 0);
    let mut rest = source;
    while !rest.is_empty() {
        let (now, after) = rest.split_at(rest.ceil_char_boundary(piece.min(rest.len())));
        rest = after;
        stream.push(now);
        stream.advance();
        let (bytes, coloured) = count::take();
        parsed += bytes;
        highlighted += coloured;
        most = most.max(bytes);
    }
    let (_, lines) = stream.finish();
    let (bytes, coloured) = count::take();
    assert_eq!(lines, render(source, page), "the end is right");
    count::take();
    (parsed + bytes, highlighted + coloured, most)
}

#[test]
fn streaming_costs_a_constant_times_the_text() {
    let long = 30_000;
    let repeat = |text: &str| text.repeat(long / text.len());
    // The allowed cost of an open block: it is parsed with every frame up to 16 KiB, and from then on each
    // time it has grown by an eighth. Blocks that end cost next to nothing.
    let cases: &[(&str, String, usize)] = &[
        ("small blocks", repeat("Some **words** of a paragraph\nand a line.\n\n## Head\n\n"), 8),
        ("a list", repeat("- an item with `code`\n"), 8),
        ("a loose numbered list", repeat("1. an item\n\n   and more of it\n\n"), 8),
        ("a fence", format!("```text\n{}", repeat("let x = 1;\n")), 2),
        ("a table", format!("| a | b |\n|---|---|\n{}", repeat("| one | two |\n")), 40),
        ("a quote", repeat("> quoted words\n"), 40),
        ("a nested list", format!("- a\n{}", repeat("  - an item\n")), 40),
        ("an unbroken line", "x".repeat(long), 40),
        ("an unbroken line of words", repeat("words and "), 40),
        ("an unbroken line of code", format!("```\n{}", "x".repeat(long)), 2),
    ];
    for (name, source, bound) in cases {
        let (parsed, _, _) = cost(source, 512, &page(80));
        let times = parsed / source.len();
        assert!(times <= *bound, "{name}: {times} times the text was parsed");
    }
}

#[test]
fn a_line_of_half_a_megabyte_costs_no_more() {
    let source = "x".repeat(1 << 19);
    let (parsed, _, _) = cost(&source, 64 * 1024, &page(80));
    assert!(parsed / source.len() <= 12, "{}", parsed / source.len());
}

#[test]
fn a_long_reply_in_small_pieces_is_cheap() {
    // 20,000 tokens as they arrive: prose, lists, code and a table, in pieces of 20 bytes, drawn after each.
    let part = "A paragraph of **some** length that goes on for a while, with `code` and a [link](https://x.example).\n\n\
        - an item of a list\n- another one\n  with two lines\n\n```json\n{\"a\": 1}\n{\"b\": 2}\n```\n\n\
        | a | b |\n|---|---|\n| 1 | 2 |\n\n";
    let source = part.repeat(80_000 / part.len());
    let json = Languages::of(Language::by_name("json").expect("is in the table"));
    let page = Page { languages: json, ..page(80) };
    let (parsed, highlighted, most) = cost(&source, 20, &page);
    let code = source.matches("{\"a\": 1}").count() * 16;
    assert!(parsed / source.len() <= 12, "{} times parsed", parsed / source.len());
    assert!(most <= 1024, "{most} bytes for one frame");
    assert!(highlighted <= code * 3, "{highlighted} bytes coloured of {code}");
    eprintln!("parsed {parsed} of {}, most {most}, coloured {highlighted} of {code}", source.len());
}

#[test]
fn no_frame_of_a_long_list_is_late_or_dear() {
    let mut stream = StreamMarkdown::new(page(80));
    for item in 0..3_000 {
        stream.push(&format!("- item {item}\n"));
        count::take();
        stream.advance();
        let (parsed, _) = count::take();
        assert!(parsed <= 512, "item {item} cost {parsed} bytes");
        let shown = stream.lines_from(stream.height() - 1).next().map(Line::text);
        assert_eq!(
            shown.as_deref().map(str::trim),
            Some(format!("{} item {item}", if item == 0 { "> •" } else { "•" }).trim())
        );
    }
}
