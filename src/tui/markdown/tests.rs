use proptest::prelude::*;

use super::*;
use crate::tui::line::{Ink, cells};
use crate::tui::theme::Role;

fn page(width: usize) -> Page {
    let margin = Margin::new(Line::of("> ", Role::Answer), Line::of("  ", Role::Text));
    Page { width, margin, glyphs: &Glyphs::UNICODE }
}

fn drawn(source: &str, width: usize) -> String {
    let page = Page { width, margin: Margin::default(), glyphs: &Glyphs::UNICODE };
    let lines: Vec<String> =
        render(source, &page).iter().map(|line| line.text().trim_end().to_owned()).collect();
    lines.join("\n")
}

#[test]
fn blocks_are_laid_out() {
    let cases: &[(&str, usize, &str)] = &[
        ("", 20, ""),
        ("one two three four", 12, "one two\nthree four"),
        ("# Head *it*\ntext", 20, "Head it\n\ntext"),
        ("a\nb  \nc", 20, "a b\nc"),
        (
            "- one two three\n- b\n  - deep\n    - deeper",
            12,
            "• one two\n  three\n• b\n  ◦ deep\n    ▪ deeper",
        ),
        ("- a\n\n- b", 20, "• a\n\n• b"),
        ("9. nine\n10. ten", 20, " 9. nine\n10. ten"),
        ("- [ ] open\n- [x] done", 20, "☐ open\n☑ done"),
        ("-", 20, "•"),
        ("> quoted words here\n>\n> > deep", 14, "│ quoted words\n│ here\n│\n│ │ deep"),
        ("```rust\nfn a() {\n\tb\n}\n```", 20, "  fn a() {\n      b\n  }"),
        ("```\n\n```", 20, ""),
        ("```\nabcdefghijklmnop\n```", 14, "  abcdefghijkl\n  mnop"),
        ("    indented", 20, "  indented"),
        ("a\n\n---\n\nb", 12, "a\n\n────────────\n\nb"),
        ("[text](http://x.y) <http://z.q>", 40, "text (http://x.y) http://z.q"),
        ("![alt](pic.png)", 40, "alt (pic.png)"),
        ("`code` ~~gone~~ **bold**", 40, "code gone bold"),
        ("<div>\nraw\n</div>", 40, "  <div>\n  raw\n  </div>"),
        ("a <b>c</b>", 40, "a <b>c</b>"),
        ("日本語テキスト", 12, "日本語テキス\nト"),
        ("| a | b |\n|---|--:|\n| 1 | 22 |", 40, "│ a │  b │\n├───┼────┤\n│ 1 │ 22 │"),
        (
            "| name | what it does |\n|---|---|\n| x | many words that must wrap here |",
            28,
            "│ name │ what it does      │\n├──────┼───────────────────┤\n│ x    │ many words that   │\n│      │ must wrap here    │",
        ),
        ("| 日本 | b |\n|:-:|---|\n| x | c |", 40, "│ 日本 │ b │\n├──────┼───┤\n│  x   │ c │"),
        (
            "| a | b | c | d |\n|---|---|---|---|\n| long one | long two | long three | long four |",
            24,
            "a: long one\nb: long two\nc: long three\nd: long four",
        ),
        ("---\n## Section\n\n**text**\n\n---", 12, "────────────\n\nSection\n\ntext\n\n────────────"),
        ("- a\n\n  second\n\n  ```\n  code\n  ```", 20, "• a\n\n  second\n\n    code"),
    ];
    for (source, width, expected) in cases {
        assert_eq!(drawn(source, *width), *expected, "{source:?} in {width}");
    }
}

#[test]
fn ink_follows_the_marks() {
    let spans = |source: &str| {
        let lines = render(source, &Page { width: 40, margin: Margin::default(), glyphs: &Glyphs::UNICODE });
        lines[0].spans.iter().map(|span| (span.text().to_owned(), span.ink)).collect::<Vec<_>>()
    };
    let text = Ink::of(Role::Text);
    let check = |source: &str, text: &str, ink: Ink| {
        assert!(spans(source).contains(&(text.to_owned(), ink)), "{source:?}: {:?}", spans(source));
    };
    check("a **b**", "b", text.bold());
    check("a *b*", "b", Ink { italic: true, ..text });
    check("**a *b***", "b", Ink { italic: true, ..text.bold() });
    check("~~b~~", "b", Ink { strike: true, ..text });
    check("a `b`", "b", Ink::of(Role::Code));
    check("## b", "b", Ink::of(Role::Heading).bold());
    check("[b](u)", "b", Ink::of(Role::Link));
}

#[test]
fn control_characters_do_not_survive_entities() {
    for source in
        ["&#27;[2J", "`\u{1b}[2J`", "```\n\u{1b}]0;x\u{7}\n```", "[a](\u{9b}x)", "<b\u{1b}>", "&#x9b;x"]
    {
        let text = drawn(source, 40);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
}

#[test]
fn nesting_without_end_ends_well() {
    let deep = "> ".repeat(3_000) + "text";
    let lines = render(&deep, &page(40));
    assert!(lines.iter().any(|line| line.text().contains("text")));
    let list: String = (0..200).map(|depth| format!("{}- x\n", "  ".repeat(depth))).collect();
    for line in render(&list, &page(40)) {
        assert!(line.width() <= 40, "{:?}", line.text());
    }
}

fn stream(pieces: &[&str], page: &Page) -> StreamMarkdown {
    let mut stream = StreamMarkdown::new(page.clone());
    for piece in pieces {
        stream.push(piece);
        stream.advance();
    }
    stream
}

#[test]
fn the_open_block_is_drawn_live() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["para"], &["> para"]),
        (&["para\n\n", "- a"], &["> para", "  ", "  • a"]),
        (&["```\n", "one\ntw"], &[">   one", "    tw"]),
        (&["```\none\n", "``"], &[">   one"]),
        (&["a\r", "\nb"], &["> a b"]),
        (&["```\n", "x\n", "```\n", "after"], &[">   x", "  ", "  after"]),
    ];
    for (pieces, expected) in cases {
        let stream = stream(pieces, &page(40));
        let lines: Vec<String> = stream.lines_from(0).map(Line::text).collect();
        assert_eq!(lines, *expected, "{pieces:?}");
        assert_eq!(stream.height(), expected.len());
        let skipped: Vec<String> = stream.lines_from(1).map(Line::text).collect();
        assert_eq!(skipped, expected[1..], "{pieces:?} from 1");
    }
}

#[test]
fn definitions_at_the_end_reach_the_beginning() {
    let source = "see [a] and [b]\n\nmore\n\n[a]: http://a.example\n[b]: http://b.example\n";
    let (_, lines) = stream(&[source], &page(60)).finish();
    assert_eq!(lines[0].text(), "> see a (http://a.example) and b (http://b.example)");
}

#[test]
fn a_long_reply_is_parsed_in_linear_time() {
    // Counted, not timed: bytes laid out again and again would show as live lines that grow with the reply.
    let mut stream = StreamMarkdown::new(page(80));
    for index in 0..5_000 {
        stream.push(&format!("paragraph {index} with some **words**\n\n"));
        if index % 10 == 0 {
            stream.advance();
            assert!(stream.source().len() - stream.frozen_to() < 8_192, "the open part stays small");
        }
    }
    let (source, lines) = stream.finish();
    assert_eq!(lines, render(&source, &page(80)));
}

/// Lines whose mixes reach every kind of block and the ways in which one ends another.
fn markdown_line() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z]{1,6}( [a-z*_`]{1,6}){0,4}",
        2 => Just(String::new()),
        1 => "#{1,3} [a-z]{1,5}",
        2 => " {0,4}[-*+] [a-z]{0,6}",
        1 => " {0,3}[0-9]{1,2}[.)] [a-z]{1,6}",
        1 => "> {0,1}[a-z]{0,6}",
        1 => "(```|~~~|````)[a-z]{0,3}",
        1 => Just("---".to_owned()),
        1 => Just("===".to_owned()),
        1 => "\\| [a-z]{1,4} \\| [a-z]{1,4} \\|",
        1 => Just("|---|:-:|".to_owned()),
        1 => " {1,5}[a-z]{1,6}",
        1 => "<[a-z]{1,3}>[a-z]{0,4}",
        1 => "\\[[a-c]\\]: http://[a-c]",
        1 => "see \\[[a-c]\\] ok",
        1 => "- \\[[ x]\\] [a-z]{1,5}",
        1 => "\\PC{0,6}",
        1 => "[\t\u{0}\u{1b}a&#;27日👩\u{200d}\r]{0,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn streaming_equals_the_whole(
        lines in proptest::collection::vec(markdown_line(), 0..24),
        cuts in proptest::collection::vec(1usize..30, 1..8),
        width in 12usize..60,
    ) {
        let source = lines.join("\n");
        let mut stream = StreamMarkdown::new(page(width));
        let mut rest = source.as_str();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() { break; }
            let end = rest.ceil_char_boundary((*cut).min(rest.len()));
            let (piece, after) = rest.split_at(end);
            stream.push(piece);
            stream.advance();
            prop_assert_eq!(stream.lines_from(0).count(), stream.height());
            rest = after;
        }
        let (_, lines) = stream.finish();
        let whole = render(&source, &page(width));
        prop_assert_eq!(&lines, &whole, "{:?}", source);
        for line in &whole {
            prop_assert!(line.width() <= width, "{:?} in {width}", line.text());
            prop_assert!(!line.text().contains(char::is_control));
            prop_assert_eq!(cells(&line.text()), line.width());
        }
    }
}
