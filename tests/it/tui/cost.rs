//! The work of an update: how often parts are laid out again, counted, never timed.

use co::approval::Request;
use co::frontend::protocol::ServerMessage;
use co::tool::{Preview, Risk};
use co::tui::cards::CardStage;

use crate::tui::kit::{Screen, diff_request, header, shell_request};

/// How often the body of the card on the screen was laid out.
fn layouts(screen: &Screen) -> usize {
    screen.model.cards.current().map_or(0, |card| card.body.layouts)
}

#[test]
fn a_body_is_laid_out_once_for_what_it_depends_on() {
    let card = || Screen::open(140, 40).asked(diff_request(1, 200)).wait(600).keys("<tab>");
    for (keys, expected) in [
        ("", 1),
        ("<pgdn><pgdn><pgup><c-down>", 1),
        ("<tab>some words<tab>", 1),
        ("v", 2),
        ("v<pgdn><pgdn><pgup>", 2),
        ("w", 2),
        ("s", 2),
        ("nbecause<esc>", 1),
    ] {
        assert_eq!(layouts(&card().keys(keys)), expected, "{keys:?}");
    }
    assert_eq!(layouts(&card().resize(140, 30)), 1);
    assert_eq!(layouts(&card().resize(80, 40)), 2);
}

#[test]
fn the_bodies_of_a_list_are_laid_out_once() {
    let mut screen = Screen::open(140, 40);
    for number in 1..=4 {
        screen = screen.asked(diff_request(number, 50));
    }
    let screen = screen.wait(600).keys("<tab><down><down><space><up><pgdn>");
    assert!(screen.model.cards.iter().all(|card| card.body.layouts == 1));
    let screen = screen.keys("v<pgdn><pgdn><pgup>");
    assert!(screen.model.cards.iter().all(|card| card.body.layouts == 2));
}

/// A laid-out body is never shown for another request.
#[test]
fn a_body_follows_its_request() {
    let told_again = |change: fn(&mut Request)| {
        let mut request = shell_request(1, "ls -la", Risk::Medium);
        let screen = Screen::open(80, 24).asked(request.clone()).wait(600).keys("<tab>w");
        change(&mut request);
        screen.asked(request).wait(600).keys("<tab>w").shot()
    };
    assert!(told_again(|request| request.plan.summary = "something else".into()).contains("something else"));
    assert!(told_again(|request| request.why = vec!["of the hook".into()]).contains("of the hook"));
    let other = told_again(|request| request.plan.preview = Preview::Text { text: "rm -r x".into() });
    assert!(other.contains("rm -r x"), "{other}");
    let mut elsewhere = header();
    elsewhere.workspace = "/srv/other".into();
    let request = shell_request(1, "ls", Risk::Medium);
    let screen = Screen::open(80, 24).asked(request).wait(600).keys("<tab>w");
    let moved = screen.notice(ServerMessage::Header(elsewhere)).shot();
    assert!(moved.contains("where   /srv/other, unsandboxed"), "{moved}");
}

/// The detail of a list makes room for what `v` and `w` add.
#[test]
fn a_detail_that_grew_has_no_blank_rows_below_a_cut() {
    for keys in ["v", "w", "vw", "wv"] {
        let mut screen = Screen::open(140, 40);
        for number in 1..=6 {
            screen = screen.asked(shell_request(number, "ls", Risk::Medium));
        }
        let shot = screen.wait(600).keys("<tab>").keys(keys).shot();
        assert!(!shot.contains("more lines"), "{keys}\n{shot}");
    }
}

#[test]
fn what_a_form_changes_is_compared_where_it_is_shown() {
    let compared = |columns: u16, keys: &str| {
        let request = shell_request(1, "ls", Risk::Medium);
        let screen = Screen::open(columns, 40).asked(request).wait(600).keys("<tab>e").keys(keys);
        let stage = &screen.model.cards.current().unwrap().stage;
        let CardStage::Editing(form) = stage else { panic!("{stage:?}") };
        form.changes.as_ref().map(Vec::len)
    };
    assert_eq!(compared(80, "<end>x"), None);
    assert_eq!(compared(140, ""), Some(0));
    assert!(compared(140, "<down><c-e><bs><bs> <bs>x\"").is_some());
}

#[test]
fn only_what_changed_is_searched_again() {
    let mut screen = Screen::open(80, 24);
    for number in 0..20 {
        screen = screen.prompted(&format!("part {number}")).notice(ServerMessage::Idle);
    }
    let screen = screen.prompted("go").text("Dana").keys("<c-f>dana");
    let find = |screen: &Screen| {
        let find = screen.model.find.as_ref().unwrap();
        (find.counts, find.total())
    };
    let (counts, total) = find(&screen);
    assert_eq!(total, 1);
    let screen = screen.wait(10).wait(10);
    assert_eq!(find(&screen), (counts, 1), "nothing was said");
    let screen = screen.text(" and Da").wait(10).text("na").wait(10);
    assert_eq!(find(&screen), (counts + 2, 2));
}
