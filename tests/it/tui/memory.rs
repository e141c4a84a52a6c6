//! Which memories were used is one line below the prompt; unfolded it says why.

use co::agent::port::Event;
use co::message::{NoteKind, Trust, UsedMemory, UserPart};

use crate::tui::kit::Screen;

#[test]
fn the_memories_of_a_prompt_are_named_and_explained() {
    let used = |id: &str, about: &str, words: &[&str]| UsedMemory {
        id: id.to_owned(),
        about: about.to_owned(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        version: "v".to_owned(),
    };
    let used =
        vec![used("12", "Prefers tabs\u{202e}", &["tabs"]), used("p31", "Uses make", &["build", "make"])];
    let kind = NoteKind::Memory { used, trust: Trust::Trusted };
    let parts = vec![
        UserPart::Text { text: "make tabs".to_owned() },
        UserPart::Note { kind, text: "> Prefers tabs".to_owned() },
    ];
    let mut screen = Screen::open(100, 30).event(Event::Prompted { parts });
    let shot = screen.shot();
    assert!(shot.contains("used 2 memories: #12 Prefers tabs<U+202E>, #p31 Uses make"), "{shot}");
    assert!(!shot.contains("#12 for: tabs") && !shot.contains("> Prefers tabs"), "{shot}");
    let shot = screen.keys("<c-o>").shot();
    assert!(shot.contains("#12 for: tabs") && shot.contains("#p31 for: build, make"), "{shot}");
}
