//! Answers in Markdown on whole screens: every kind of block, links, and colours that come later.

use co::agent::port::Event;
use co::tui::theme::Glyphs;
use co::tui::{Cmd, Input};

use crate::tui::kit::Screen;

/// High enough for the whole document.
const SIZES: [(u16, u16); 3] = [(40, 92), (80, 66), (140, 64)];

const DOCUMENT: &str = include_str!("markdown.md");

fn shown(columns: u16, rows: u16, glyphs: &'static Glyphs) -> Screen {
    Screen::with(columns, rows, glyphs).prompted("show me").text(DOCUMENT)
}

#[test]
fn every_kind_of_block_has_its_look() {
    for (columns, rows) in SIZES {
        let mut whole = shown(columns, rows, &Glyphs::UNICODE);
        insta::assert_snapshot!(format!("markdown_{columns}"), whole.shot());
    }
    insta::assert_snapshot!("markdown_ascii", shown(80, 66, &Glyphs::ASCII).shot());
}

#[test]
fn what_streamed_looks_like_what_was_committed() {
    for (columns, rows) in SIZES {
        let mut live = Screen::new(columns, rows).prompted("show me");
        for piece in DOCUMENT.split_inclusive([' ', '\n']) {
            live = live.text(piece);
            live.feed(Input::Frame);
        }
        // All but the count of tokens, which a reply that came at once has not.
        let committed = |screen: Screen| {
            let shot = screen.event(Event::TextCommitted { text: DOCUMENT.into() }).shot();
            shot.lines().take(usize::from(rows) - 1).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(committed(live), committed(Screen::new(columns, rows).prompted("show me")));
    }
}

fn loads(screen: &Screen) -> usize {
    screen.cmds.iter().filter(|cmd| matches!(cmd, Cmd::Load(_))).count()
}

#[test]
fn languages_are_loaded_once_when_their_code_is_on_the_screen() {
    let mut screen = Screen::open(80, 24).prompted("hi");
    screen.shot();
    let mut screen = screen.text("words\n\n```text\nplain\n```\n\n");
    screen.shot();
    assert_eq!(loads(&screen), 0, "nothing to load");
    let mut screen = screen.text("```json\n{\"a\": 1}\n");
    let plain = screen.shot();
    screen.shot();
    assert_eq!(loads(&screen), 1, "one language, once");
    let Some(Cmd::Load(languages)) = screen.cmds.iter().find(|cmd| matches!(cmd, Cmd::Load(_))).cloned()
    else {
        panic!("it was loaded")
    };
    let before = screen.model.clone();
    screen.feed(Input::Loaded(languages));
    assert_eq!(screen.shot(), plain, "colours change no text");
    assert_ne!(screen.model.transcript, before.transcript, "but how it is drawn");
    let mut screen = screen.text("```\n\n1. ```py\n   x = 1\n   ```\n");
    screen.shot();
    assert_eq!(loads(&screen), 2, "another language");
}

#[test]
fn a_committed_answer_has_its_languages_loaded_too() {
    let mut screen = Screen::open(80, 24).prompted("hi");
    screen = screen.event(Event::TextCommitted { text: "```rust\nfn a() {}\n```\n".into() });
    assert_eq!(loads(&screen), 0, "not before it is drawn");
    screen.shot();
    assert_eq!(loads(&screen), 1);
}
