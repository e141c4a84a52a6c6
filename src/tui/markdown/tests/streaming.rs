use proptest::prelude::*;

use super::page;
use crate::tui::line::{Line, cells};
use crate::tui::markdown::*;

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
        (&["```rs\nfn", " a"], &[">   rs", "    fn a"]),
        (&["1. a\n2. b\n", "3. c\n\n", "4. d"], &["> 1. a", "  2. b", "  3. c", "  ", "  4. d"]),
        (&["| a | b |\n"], &["> | a | b |"]),
        (&["| a | b |\n|---", "|---|\n"], &["> │ a │ b │", "  ├───┼───┤"]),
        (
            &["- a\n- b\n- c", "\n  - d\n\n", "after"],
            &["> • a", "  • b", "  • c", "    ◦ d", "  ", "  after"],
        ),
    ];
    for (pieces, expected) in cases {
        let stream = stream(pieces, &page(40));
        // Without the background that goes on to the edge.
        let text = |line: &Line| line.slice(0..line.width() - line.copied.padding);
        let lines: Vec<String> = stream.lines_from(0).map(text).collect();
        assert_eq!(lines, *expected, "{pieces:?}");
        assert_eq!(stream.height(), expected.len());
        let skipped: Vec<String> = stream.lines_from(1).map(text).collect();
        assert_eq!(skipped, expected[1..], "{pieces:?} from 1");
    }
}

#[test]
fn definitions_at_the_end_reach_the_beginning() {
    let source = "see [a] and [b]\n\nmore\n\n[a]: http://a.example\n[b]: http://b.example\n";
    let (_, lines) = stream(&[source], &page(60)).finish();
    assert_eq!(lines[0].text(), "> see a (http://a.example) and b (http://b.example)");
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
        1 => "\\[\\^[a-c]\\]: [a-z]{1,5}",
        1 => "note \\[\\^[a-c]\\] https://[a-c]{1,3}[.)]{0,2}",
        1 => "\\[[a-c ]{0,4}\\]\\((https?|file|x)://[a-c]{1,9}\\)",
        1 => "(```|~~~)(rs|json|text)",
        1 => "(let|fn|\"a\": 1,|//) [a-z\"]{0,5}",
        1 => "- \\[[ x]\\] [a-z]{1,5}",
        1 => "\\PC{0,6}",
        1 => "[\t\u{0}\u{1b}a&#;27日👩\u{200d}\r]{0,8}",
    ]
}

/// Streams `source` in pieces of these sizes, repeated, drawn after each; the pages change on the way.
fn streamed(source: &str, cuts: &[usize], pages: &[Page]) -> (Vec<Line>, Vec<String>) {
    let mut stream = StreamMarkdown::new(pages[0].clone());
    let mut wrong = Vec::new();
    let mut rest = source;
    for (at, cut) in cuts.iter().cycle().enumerate() {
        if rest.is_empty() {
            break;
        }
        let end = rest.ceil_char_boundary((*cut).min(rest.len()));
        let (piece, after) = rest.split_at(end);
        stream.push(piece);
        if at % 5 == 4 {
            stream.turn_page(pages[at / 5 % pages.len()].clone());
        }
        stream.advance();
        if stream.lines_from(0).count() != stream.height() {
            wrong.push("the height is not the number of lines".to_owned());
        }
        wrong.extend(stream.lines_from(0).filter_map(|line| fault(line, stream.page.width)));
        rest = after;
    }
    stream.turn_page(pages[0].clone());
    (stream.finish().1, wrong)
}

/// Returns what is wrong with a line, if anything.
fn fault(line: &Line, width: usize) -> Option<String> {
    let text = line.text();
    let too_wide = line.width() > width;
    let controls = text.contains(char::is_control);
    let measured = cells(&text) != line.width();
    (too_wide || controls || measured).then(|| format!("{text:?} in {width}"))
}

fn ready() -> Languages {
    ["rust", "json"]
        .iter()
        .filter_map(|name| Language::by_name(name))
        .fold(Languages::NONE, |all, one| all | Languages::of(one))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn streaming_equals_the_whole(
        lines in proptest::collection::vec(markdown_line(), 0..24),
        cuts in proptest::collection::vec(1usize..30, 1..8),
        width in 12usize..60,
        other in 12usize..60,
    ) {
        let source = lines.join("\n");
        let pages = [page(width), page(other)];
        let (lines, wrong) = streamed(&source, &cuts, &pages);
        prop_assert_eq!(wrong, Vec::<String>::new(), "{:?}", source);
        let whole = render(&source, &pages[0]);
        prop_assert_eq!(&lines, &whole, "{:?}", source);
        let wrong: Vec<String> = whole.iter().filter_map(|line| fault(line, width)).collect();
        prop_assert_eq!(wrong, Vec::<String>::new(), "{:?}", source);
    }

    #[test]
    fn lists_stream_as_they_are_drawn_whole(
        lines in proptest::collection::vec(
            prop_oneof![
                4 => " {0,5}[-*+] [a-z]{0,3}",
                4 => " {0,5}[0-9]{1,2}[.)] [a-z]{0,3}",
                2 => Just(String::new()),
                1 => " {0,7}[a-z]{1,4}",
                1 => " {0,6}```(json)?",
                1 => " {0,4}> [a-z]",
                1 => " {0,4}---",
                1 => " {0,4}\\| [a-z] \\|",
                1 => " {0,4}\\|--\\|",
                1 => "[-*] \\[[ x]\\] [a-z]",
                1 => "\t[-a-z]",
            ],
            0..16,
        ),
        cuts in proptest::collection::vec(1usize..30, 1..8),
    ) {
        let source = lines.join("\n");
        let (lines, wrong) = streamed(&source, &cuts, &[page(30)]);
        prop_assert_eq!(wrong, Vec::<String>::new(), "{:?}", source);
        prop_assert_eq!(&lines, &render(&source, &page(30)), "{:?}", source);
    }

    #[test]
    fn any_text_at_all_is_harmless(source in "\\PC{0,60}|[\u{0}-\u{ff}]{0,60}|[`~*_\\[\\]()<>|#\\-+!&;\\\\\n\t 0-9a-c日👩\u{200d}\u{301}]{0,60}", cut in 1usize..9) {
        let (lines, wrong) = streamed(&source, &[cut], &[page(14), page(33)]);
        prop_assert_eq!(wrong, Vec::<String>::new(), "{:?}", source);
        prop_assert_eq!(&lines, &render(&source, &page(14)), "{:?}", source);
    }
}

proptest! {
    // Loading definitions is slow in an unoptimised build.
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn colours_stream_as_they_are_drawn_whole_and_change_no_text(
        lines in proptest::collection::vec(markdown_line(), 0..16),
        cuts in proptest::collection::vec(5usize..40, 1..5),
        width in 12usize..60,
    ) {
        let source = lines.join("\n");
        let coloured = Page { languages: ready(), ..page(width) };
        let (lines, wrong) = streamed(&source, &cuts, &[coloured.clone(), page(width)]);
        prop_assert_eq!(wrong, Vec::<String>::new(), "{:?}", source);
        let whole = render(&source, &coloured);
        prop_assert_eq!(&lines, &whole, "{:?}", source);
        let text = |lines: &[Line]| lines.iter().map(Line::text).collect::<Vec<_>>();
        prop_assert_eq!(text(&whole), text(&render(&source, &page(width))), "{:?}", source);
    }
}
