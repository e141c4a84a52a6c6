//! The list of keys at three sizes, and a person's own keys at work.

use co::agent::port::Op;
use co::config::{Source, TableEntry};
use co::frontend::protocol::{ClientQuery, ClientRequest, QueryAnswer, ServerMessage};
use co::tool::Risk;
use co::tui::keys::Keymap;
use co::tui::panel::{KEY_TABLE, Panel};

use crate::tui::inbox::lines;
use crate::tui::kit::{Screen, at_all_sizes, diff_request, shell_request};

/// A screen on which these keys were set.
fn rebound(screen: Screen, keys: &[(&str, &[&str])]) -> Screen {
    let entry = |(name, texts): &(&str, &[&str])| TableEntry {
        name: (*name).to_owned(),
        texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        source: Source::Default,
    };
    let entries: Vec<TableEntry> = keys.iter().map(entry).map(set).collect();
    let mut screen = screen;
    let (keymap, problems) = Keymap::with(&KEY_TABLE, &entries);
    assert_eq!(problems, Vec::new());
    screen.model.keymap = keymap;
    screen
}

fn set(entry: TableEntry) -> TableEntry {
    TableEntry { source: Source::Flag { name: format!("keys.{}", entry.name) }, ..entry }
}

fn check(name: &str, state: impl Fn(Screen) -> Screen) {
    insta::assert_snapshot!(name, at_all_sizes(|screen| state(screen).shot()));
}

#[test]
fn the_list_of_keys() {
    check("keys_filtered", |screen| screen.keys("?fold"));
    check("keys_filtered_next", |screen| screen.keys("?card<down><down>"));
    check("keys_nothing_left", |screen| screen.keys("?zzz"));
    check("keys_end", |screen| screen.keys("?<pgdn><pgdn><pgdn><pgdn><pgdn>"));
    check("keys_command", |screen| screen.notice(ServerMessage::Keys { filter: "ctrl+o".into() }));
}

#[test]
fn the_list_shows_this_persons_keys() {
    let keys: &[(&str, &[&str])] = &[
        ("global.fold-details", &["F4"]),
        ("composer.stash", &[]),
        ("global.escape", &["Esc", "F10"]),
        ("composer.help", &["F1"]),
    ];
    check("keys_rebound", |screen| rebound(screen, keys).keys("<f1>"));
    check("keys_rebound_filtered", |screen| rebound(screen, keys).keys("<f1>fold"));
    check("keys_rebound_hints", |screen| rebound(screen, keys).prompted("hello"));
}

/// Other keys for all that a card, a list and a form name; what has none is not named.
const DECIDE: &[(&str, &[&str])] = &[
    ("card.yes", &["F5"]),
    ("card.no", &["y"]),
    ("card.edit", &["F7"]),
    ("card.always", &[]),
    ("card.whole", &["F8"]),
    ("card.why", &["?"]),
    ("batch.yes", &["F5"]),
    ("batch.no", &["y"]),
    ("batch.mark", &["m"]),
    ("batch.mark-low", &["l"]),
    ("batch.open", &["o"]),
    ("batch.whole", &["F8"]),
    ("batch.why", &[]),
    ("form.approve-edited", &["F9"]),
    ("form.reset-field", &[]),
    ("form.raw", &["F6"]),
    ("arguments.approve-edited", &["F9"]),
    ("arguments.raw", &["F6"]),
    ("reason.send-no", &["Ctrl+S"]),
    ("global.page-down", &["F12"]),
    ("global.toggle-focus", &["F2"]),
    ("global.focus-card", &["F3"]),
    ("text.edit-outside", &["F11"]),
];

#[test]
fn cards_lists_and_forms_name_this_persons_keys() {
    let one = |screen: Screen, request| rebound(screen, DECIDE).asked(request).wait(600);
    let medium = || shell_request(1, "ls", Risk::Medium);
    let high = || shell_request(1, "rm -rf build", Risk::High);
    let three = |screen| one(screen, high()).asked(shell_request(2, "ls", Risk::Medium)).wait(600);
    check("keys_rebound_card_waits", |screen| one(screen, medium()));
    check("keys_rebound_card", |screen| one(screen, diff_request(1, 60)).keys("<f2>"));
    check("keys_rebound_card_unseen", |screen| one(screen, diff_request(1, 60)).keys("<f2><f5>"));
    check("keys_rebound_card_high", |screen| one(screen, high()).keys("<f2><f5>"));
    check("keys_rebound_card_no", |screen| one(screen, medium()).keys("<f2>y"));
    check("keys_rebound_card_aside", |screen| one(screen.prompted("go"), medium()).keys("<f2><esc>"));
    check("keys_rebound_list_waits", three);
    check("keys_rebound_list", |screen| three(screen).keys("<f2>"));
    check("keys_rebound_list_unmarked", |screen| three(screen).keys("<f2><f5>"));
    check("keys_rebound_list_high", |screen| three(screen).keys("<f2>m<down>m<f5>"));
    check("keys_rebound_list_no", |screen| three(screen).keys("<f2>y"));
    check("keys_rebound_form", |screen| one(screen, medium()).keys("<f2><f7><f6>"));
    check("keys_rebound_form_high", |screen| one(screen, high()).keys("<f2><f7><f9>"));
}

#[test]
fn the_inbox_follows_the_keys_of_a_list() {
    let opened = rebound(Screen::open(80, 24), DECIDE).keys("<f3>");
    let mut marked =
        opened.answer_to(ClientQuery::Inbox, QueryAnswer::Inbox { lines: lines() }).wait(600).keys("m");
    let shot = marked.shot();
    assert!(shot.contains("▸[x] low") && shot.contains("F5 yes to 1 marked · y no to 1…"), "{shot}");
    let decides =
        |screen: &Screen| screen.asks().iter().any(|ask| matches!(ask, ClientRequest::Op(Op::Decide { .. })));
    let denying = marked.keys("y");
    assert!(!decides(&denying), "the key now begins a denial");
    assert!(decides(&denying.keys("<esc><f5>")));
}

#[test]
fn help_says_first_what_matters_here() {
    let medium = || Screen::open(80, 24).prompted("go").asked(diff_request(1, 2));
    let card = || medium().keys("<tab>");
    let list = || medium().asked(shell_request(2, "ls", Risk::Low)).keys("<tab>");
    let reading = || Screen::open(80, 24).prompted("go").notice(ServerMessage::Idle).keys("<tab>");
    let places: [(&str, &dyn Fn() -> Screen, &str); 4] = [
        ("keys: writing", &|| Screen::open(80, 24), "send; queue while busy"),
        ("keys: a card", &card, "no, with a reason"),
        ("keys: a list", &list, "mark, unmark"),
        ("keys: the transcript", &reading, "copy this one"),
    ];
    for (title, place, words) in places {
        let mut screen = place().wait(600).keys("?");
        let first = screen.shot();
        assert!(first.contains(title), "{title}\n{first}");
        assert!(first.contains(words), "{title}: {words}\n{first}");
        let second = screen.keys("<pgdn>").shot();
        assert!(!second.contains("more lines"), "{title} takes two screens\n{second}");
        let mut all = place().wait(600).keys("??");
        assert!(all.shot().contains("all keys"), "{title}");
        assert!(all.asks().is_empty(), "{title}");
    }
    insta::assert_snapshot!("keys_all", at_all_sizes(|screen| screen.keys("??").shot()));
}

#[test]
fn the_filter_is_written_and_taken_back() {
    let filter = |keys: &str| match Screen::open(80, 24).keys(keys).model.panel {
        Some(Panel::Help(help)) => Some(help.filter),
        Some(Panel::Pick(_) | Panel::Login(_) | Panel::Inbox(_) | Panel::Pager(_) | Panel::Servers(_))
        | None => None,
    };
    for (keys, expected) in [
        ("?", Some("")),
        ("?fjkq l", Some("fjkq l")),
        ("?fo<bs>", Some("f")),
        ("?fold<c-u>x", Some("x")),
        ("?fold<esc>", Some("")),
        ("?fold<esc><esc>", None),
        ("?<esc>", None),
        ("??", Some("")),
        ("???", None),
        ("?<c-c>", None),
        ("?<bs>", Some("")),
    ] {
        assert_eq!(filter(keys).as_deref(), expected, "{keys}");
    }
}

#[test]
fn enter_does_what_the_marked_key_does() {
    let folded = |keys: &str| {
        let screen = Screen::open(80, 24).keys(keys);
        (screen.model.details, screen.model.panel.is_none())
    };
    let plain = folded("").0;
    assert_eq!(folded("?ctrl+o<ret>"), (plain.turned(), true));
    assert_eq!(folded("?fold<ret>"), (plain.turned(), true));
    // Without a filter nothing is marked.
    assert_eq!(folded("?<ret>"), (plain, false));
}

#[test]
fn enter_in_the_list_never_approves() {
    let keymap = Keymap::default();
    // Without a filter no row is marked.
    let whole = [("yes", 6), ("card", 20), ("approve", 3), ("", 3)];
    let rows = keymap.rows().iter().map(|row| (row.binding.path(), 2));
    for (filter, steps) in whole.map(|(filter, steps)| (filter.to_owned(), steps)).into_iter().chain(rows) {
        for down in 0..steps {
            let screen = Screen::open(80, 24)
                .asked(shell_request(1, "ls", Risk::Medium))
                .wait(600)
                .keys("<a-a>")
                .wait(600)
                .notice(ServerMessage::Keys { filter: filter.clone() })
                .keys(&"<down>".repeat(down))
                .keys("<ret>");
            assert!(!screen.asks().iter().any(|ask| matches!(ask, ClientRequest::Op(_))), "{filter} {down}");
        }
    }
}

#[test]
fn rebound_keys_work_and_the_old_ones_do_not() {
    let keys: &[(&str, &[&str])] = &[
        ("global.fold-details", &["F4"]),
        ("composer.help", &["?", "F1"]),
        ("composer.send", &["Alt+Enter"]),
    ];
    let screen = |pressed: &str| rebound(Screen::open(80, 24), keys).keys(pressed);
    let plain = Screen::open(80, 24).model.details;
    assert_eq!(screen("<f4>").model.details, plain.turned());
    assert_eq!(screen("<c-o>").model.details, plain);
    assert!(screen("hi<ret>").asks().is_empty());
    assert_eq!(screen("hi<a-ret>").asks(), [&ClientRequest::Line { text: "hi".into() }]);
    // A key that types text stays text; any other one opens the list beside the text.
    assert_eq!(screen("why?").model.composer.editor.text(), "why?");
    assert!(matches!(screen("why<f1>").model.panel, Some(Panel::Help(_))));
    assert_eq!(screen("why<f1><esc>").model.composer.editor.text(), "why");
}

#[test]
fn a_rebound_key_is_no_way_around_the_guard_of_a_card() {
    let card = |ms: u64| {
        rebound(Screen::open(80, 24), &[("card.yes", &["Ctrl+Y"]), ("card.no", &["Alt+N"])])
            .asked(shell_request(1, "ls", Risk::Medium))
            .keys("<a-a>")
            .wait(ms)
            .keys("<c-y>")
    };
    assert!(card(100).asks().is_empty());
    assert_eq!(card(600).asks().len(), 1);
}

/// Esc twice lists the prompts to go back to: only where there is nothing to close, to stop or to lose.
#[test]
fn esc_twice_goes_back_where_nothing_is_lost() {
    let asked = |screen: Screen| {
        let is_rewind = |ask: &ClientRequest| *ask == ClientRequest::Line { text: "/rewind".to_owned() };
        screen.asks().into_iter().filter(|ask| is_rewind(ask)).count()
    };
    let screen = || Screen::new(80, 24);
    assert_eq!(asked(screen().keys("<esc><esc>")), 1);
    assert_eq!(asked(screen().keys("<esc><esc><esc>")), 1);
    assert_eq!(asked(screen().keys("<esc>").wait(700).keys("<esc>")), 0, "too slow");
    assert_eq!(asked(screen().keys("a draft<esc><esc>")), 0, "a draft");
    assert_eq!(asked(screen().prompted("hello").keys("<esc><esc>")), 0, "a turn runs");
}
