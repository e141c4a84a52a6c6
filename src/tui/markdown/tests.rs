use super::*;
use crate::tui::line::TextStyle;
use crate::tui::theme::Role;

mod cost;
mod streaming;

fn page(width: usize) -> Page {
    let margin = Margin::new(Line::of("> ", Role::Answer), Line::of("  ", Role::Text));
    Page { width, margin, glyphs: &Glyphs::UNICODE, languages: Languages::NONE }
}

fn drawn(source: &str, width: usize) -> String {
    let page =
        Page { width, margin: Margin::default(), glyphs: &Glyphs::UNICODE, languages: Languages::NONE };
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
        ("9. nine\n10. ten", 20, "9. nine\n10. ten"),
        ("- [ ] open\n- [x] done", 20, "☐ open\n☑ done"),
        ("-", 20, "•"),
        ("> quoted words here\n>\n> > deep", 14, "│ quoted words\n│ here\n│\n│ │ deep"),
        ("```rust\nfn a() {\n\tb\n}\n```", 20, "  rust\n  fn a() {\n      b\n  }"),
        ("```\n\n```", 20, ""),
        ("```\nabcdefghijklmnop\n```", 14, "  abcdefghijkl\n↳ mnop"),
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
        // Gaps before later items do not move earlier ones.
        ("- a\n- b\n\n- c\n  - d\n\n  - e", 20, "• a\n• b\n\n• c\n  ◦ d\n\n  ◦ e"),
        (
            "1. one\n   ```sh\n   ls\n   ```\n   after\n2. two",
            20,
            "1. one\n     sh\n     ls\n   after\n2. two",
        ),
        ("1. [x] done", 20, "1. ☑ done"),
        ("> - a\n>   > b\n>\n> c", 20, "│ • a\n│   │ b\n│\n│ c"),
        ("see [^1] and [^x]\n\n[^1]: the note\n    goes on", 40, "see [1] and [^x]\n\n[1] the note goes on"),
        ("[a]\n\n[a]: http://x", 40, "a (http://x)"),
        ("```rust,ignore\nx\n```", 20, "  rust\n  x"),
        ("```{.python}\nx\n```", 20, "  python\n  x"),
        ("one\\\ntwo", 20, "one\ntwo"),
        ("| a |\n|---|\n| `x|y` **b** |", 30, "│ a  │\n├────┤\n│ `x │"),
        ("| a\n| b", 20, "| a | b"),
        ("Head\n====\nsub\n---", 20, "Head\n\nsub"),
        ("#nohead\n# ", 20, "#nohead\n\n"),
    ];
    for (source, width, expected) in cases {
        assert_eq!(drawn(source, *width), *expected, "{source:?} in {width}");
    }
}

#[test]
fn ink_follows_the_marks() {
    let spans = |source: &str| {
        let lines = render(
            source,
            &Page {
                width: 40,
                margin: Margin::default(),
                glyphs: &Glyphs::UNICODE,
                languages: Languages::NONE,
            },
        );
        lines[0].spans.iter().map(|span| (span.text().to_owned(), span.style)).collect::<Vec<_>>()
    };
    let text = TextStyle::of(Role::Text);
    let check = |source: &str, text: &str, style: TextStyle| {
        assert!(spans(source).contains(&(text.to_owned(), style)), "{source:?}: {:?}", spans(source));
    };
    check("a **b**", "b", text.bold());
    check("a *b*", "b", TextStyle { italic: true, ..text });
    check("**a *b***", "b", TextStyle { italic: true, ..text.bold() });
    check("~~b~~", "b", TextStyle { strike: true, ..text });
    check("a `b`", "b", TextStyle::of(Role::Code));
    check("## b", "b", TextStyle::of(Role::Heading).bold());
    check("[b](u)", "b", TextStyle::of(Role::Link));
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

#[test]
fn links_lead_where_they_say() {
    let linked = |source: &str| -> Vec<(String, String)> {
        let page = Page {
            width: 60,
            margin: Margin::default(),
            glyphs: &Glyphs::UNICODE,
            languages: Languages::NONE,
        };
        let spans = render(source, &page).into_iter().flat_map(|line| line.spans);
        let link = |span: &crate::tui::line::Span| span.link().map(|link| link.address().to_owned());
        spans.filter_map(|span| Some((span.text().to_owned(), link(&span)?))).collect()
    };
    let cases: &[(&str, &[(&str, &str)])] = &[
        (
            "[a *b*](https://x.y)",
            &[("a ", "https://x.y"), ("b", "https://x.y"), (" (https://x.y)", "https://x.y")],
        ),
        ("<https://x.y>", &[("https://x.y", "https://x.y")]),
        ("go to https://x.y/a_b_c.", &[("https://x.y/a_b_c", "https://x.y/a_b_c")]),
        ("<a@b.example>", &[("a@b.example", "mailto:a@b.example")]),
        ("[a](javascript:x)[b](ssh://y)[c](file:///etc/passwd)", &[]),
        ("`https://x.y`", &[]),
        (
            "[a](http://x)[b](http://y)",
            &[("a", "http://x"), (" (http://x)", "http://x"), ("b", "http://y"), (" (http://y)", "http://y")],
        ),
    ];
    for (source, expected) in cases {
        let expected: Vec<(String, String)> =
            expected.iter().map(|(text, link)| ((*text).to_owned(), (*link).to_owned())).collect();
        assert_eq!(linked(source), expected, "{source:?}");
    }
}

#[test]
fn code_in_a_ready_language_is_coloured_and_other_code_is_not() {
    let rust = Languages::of(Language::by_name("rust").expect("is in the table"));
    let roles = |source: &str, languages: Languages| -> Vec<Role> {
        let page = Page { languages, ..page(40) };
        render(source, &page).into_iter().flat_map(|line| line.spans).map(|span| span.style.role).collect()
    };
    let keyword = |source: &str, ready| roles(source, ready).contains(&Role::CodeKeyword);
    assert!(keyword("```rust\nfn a() {}\n```", rust));
    assert!(keyword("- x\n  ```rs\n  fn a() {}\n  ```", rust));
    assert!(!keyword("```rust\nfn a() {}\n```", Languages::NONE));
    assert!(!keyword("```\nfn a() {}\n```", rust));
    assert!(!keyword("```python\nimport x\n```", rust));
}
