//! The form of arguments, the hunks of a diff and the reason of a no: what keys do, and how each state looks.

use std::time::Duration;

use co::agent::port::{Event, Op};
use co::approval::{Approval, Remember, Request, RequestId};
use co::frontend::protocol::{ClientRequest, ServerMessage};
use co::message::ToolName;
use co::stdx::fs::fingerprint;
use co::tool::diff::diff;
use co::tool::{Category, Preview, Resource, Risk, SideEffect, ToolSpec, Version};
use co::tui::msg::{EditTarget, EditedText};
use co::tui::theme::Glyphs;
use co::tui::{Cmd, Input};
use ratatui_core::style::Color;
use serde_json::{Value, json};

use crate::tui::kit::{Screen, at_all_sizes, diff_request, header, plan, shell_request};

fn id() -> RequestId {
    RequestId(format!("{:012x}", 1))
}

fn decided(approval: Approval) -> ClientRequest {
    ClientRequest::Op(Op::decide(id(), approval))
}

fn instead(tool: &str, args: Value) -> ClientRequest {
    let instead = Some((ToolName::new(tool), args));
    decided(Approval::Approve { instead, remember: Remember::Once, note: None, rule: None })
}

fn spec(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: ToolName::new(name),
        description: String::new(),
        parameters,
        category: Category::Files,
        risk: Risk::Medium,
        side_effect: SideEffect::External,
        origin: co::tool::Origin::Builtin,
        output_limit: 1_000,
        timeout: Duration::from_secs(1),
    }
}

/// A tool with a field of every kind.
fn event_spec() -> ToolSpec {
    spec(
        "create_event",
        json!({
            "type": "object",
            "required": ["title", "start"],
            "additionalProperties": false,
            "properties": {
                "title": { "type": "string", "minLength": 1, "maxLength": 60, "description": "What it is called." },
                "start": { "type": "string", "description": "Day and time, as in 2026-11-26 14:00." },
                "attendees": { "type": "array", "items": { "type": "string" }, "maxItems": 3 },
                "reminder": { "type": ["integer", "null"], "minimum": 0, "maximum": 40320 },
                "kind": { "enum": ["meeting", "call", "travel"] },
                "private": { "type": "boolean" },
                "notes": { "type": "string" },
                "place": { "$ref": "#/$defs/place" },
            },
            "$defs": { "place": { "type": "object", "properties": { "room": { "type": "string" } } } },
        }),
    )
}

fn event_args() -> Value {
    json!({
        "title": "Dana, invoice 1182",
        "start": "2026-11-26 14:00",
        "attendees": ["dana@northwind.example"],
        "reminder": 10,
        "kind": "meeting",
        "notes": "PO 4471-B\nask for the corrected amount",
    })
}

fn event_request(args: Value, risk: Risk) -> Request {
    let fields = vec![("title".to_owned(), "Dana".to_owned())];
    Request {
        tool: ToolName::new("create_event"),
        args,
        plan: plan("create an event", Preview::Fields { fields }, risk),
        risk,
        ..shell_request(1, "", risk)
    }
}

fn known(screen: Screen) -> Screen {
    screen.notice(ServerMessage::Known { commands: Vec::new(), tools: vec![event_spec()] })
}

fn asking(screen: Screen, request: Request) -> Screen {
    known(screen).prompted("go").event(Event::ApprovalNeeded { request }).wait(600).keys("<tab>")
}

fn event(screen: Screen) -> Screen {
    asking(screen, event_request(event_args(), Risk::Medium)).keys("e")
}

fn form() -> Screen {
    event(Screen::open(80, 24))
}

/// The arguments with one of them changed.
fn with(name: &str, value: Value) -> Value {
    let mut args = event_args();
    args[name] = value;
    args
}

fn without(name: &str) -> Value {
    let mut args = event_args();
    args.as_object_mut().unwrap().shift_remove(name);
    args
}

#[test]
fn fields_are_edited_by_their_kind() {
    let run = |args| vec![instead("create_event", args)];
    let to = |field: usize| "<tab>".repeat(field);
    let cases: Vec<(&str, String, Vec<ClientRequest>)> = vec![
        ("nothing", "<c-s>".into(), vec![decided(Approval::yes())]),
        ("there and back", "x<bs><c-s>".into(), vec![decided(Approval::yes())]),
        ("text", "!<c-s>".into(), run(with("title", json!("Dana, invoice 1182!")))),
        ("Enter goes on", "<ret><bs>5<c-s>".into(), run(with("start", json!("2026-11-26 14:05")))),
        ("Down goes on", "<down><bs>5<c-s>".into(), run(with("start", json!("2026-11-26 14:05")))),
        (
            "Up goes around",
            "<up><up><up><down><c-e>!<c-s>".into(),
            run(with("notes", json!("PO 4471-B\nask for the corrected amount!"))),
        ),
        ("newline chords", "<a-ret>b<c-s>".into(), run(with("title", json!("Dana, invoice 1182\nb")))),
        (
            "a list",
            format!("{}<ret>x<c-j>y<c-s>", to(2)),
            run(with("attendees", json!(["dana@northwind.example", "x", "y"]))),
        ),
        ("a list, emptied", format!("{}<c-u><c-s>", to(2)), run(without("attendees"))),
        ("a number", format!("{}5<c-s>", to(3)), run(with("reminder", json!(105)))),
        ("no number", format!("{}x<c-s>", to(3)), vec![]),
        ("out of bounds", format!("{}00000<c-s>", to(3)), vec![]),
        ("left out", format!("{}<c-u><c-s>", to(3)), run(without("reminder"))),
        ("a choice", format!("{}<space><c-s>", to(4)), run(with("kind", json!("call")))),
        ("a choice back", format!("{}<left><left><c-s>", to(4)), run(with("kind", json!("travel")))),
        ("a choice left out", format!("{}<left><c-s>", to(4)), run(without("kind"))),
        ("a flag", format!("{}<right><c-s>", to(5)), run(with("private", json!(true)))),
        (
            "lines are moved in first",
            format!("{}<down><c-e>!<c-s>", to(6)),
            run(with("notes", json!("PO 4471-B\nask for the corrected amount!"))),
        ),
        ("past the last line", format!("{}<down><down>1<bs><c-s>", to(6)), vec![decided(Approval::yes())]),
        (
            "an object",
            format!("{}{{\"room\": \"4\"}}<c-s>", to(7)),
            run(with("place", json!({ "room": "4" }))),
        ),
        ("an object of another kind", format!("{}{{\"room\": 4}}<c-s>", to(7)), vec![]),
        ("what must be there", "<c-u><c-s>".into(), vec![]),
        ("reset", "<c-u>x<c-r><c-s>".into(), vec![decided(Approval::yes())]),
        ("undone", "xyz<c-_><c-s>".into(), vec![decided(Approval::yes())]),
        ("Esc decides nothing", "x<esc>".into(), vec![]),
        ("what was written stays", "x<esc>e<c-s>".into(), run(with("title", json!("Dana, invoice 1182x")))),
        ("y after Esc is as asked", "x<esc>y".into(), vec![decided(Approval::yes())]),
        ("raw", "<f2><c-e><bs>}<c-s>".into(), vec![]),
        ("raw and back", "x<f2><f2><c-s>".into(), run(with("title", json!("Dana, invoice 1182x")))),
        (
            "raw takes edits over",
            format!("<f2><down><c-e><bs><bs>?\",<f2>{}5<c-s>", to(3)),
            run({
                let mut args = with("title", json!("Dana, invoice 1182?"));
                args["reminder"] = json!(105);
                args
            }),
        ),
        ("raw, a field too many", "<f2><c-e><c-j>\"more\": 1,<c-s>".into(), vec![]),
        ("reflexes", "<ret><space><tab><ret><esc><ret><space>".into(), vec![]),
    ];
    for (name, keys, expected) in cases {
        let screen = form().keys(&keys);
        assert_eq!(screen.asks(), expected.iter().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn invalid_text_stays_raw() {
    let mut screen = form().keys("<f2><c-k>{ oops<f2>");
    assert!(screen.shot().contains("{ oops"), "{}", screen.shot());
    assert!(screen.keys("<c-s>").asks().is_empty());
}

#[test]
fn high_is_approved_edited_by_a_second_press() {
    let high = || asking(Screen::open(80, 24), event_request(event_args(), Risk::High)).keys("ex");
    assert!(high().keys("<c-s>").asks().is_empty());
    assert!(high().keys("<c-s>y<c-s>").asks().is_empty(), "changed in between");
    assert!(high().keys("<c-s><c-s><c-s>").asks().is_empty(), "a key held down is no second thought");
    let twice = high().keys("<c-s>").wait(1_100).keys("<c-s>");
    assert_eq!(twice.asks(), [&instead("create_event", with("title", json!("Dana, invoice 1182x")))]);
}

#[test]
fn bytes_that_are_not_edited_stay() {
    let hostile = "a\u{1b}[2J\r\nb\u{202e}\u{200b}c\0d\t";
    let args = with("notes", json!(hostile));
    let screen = || asking(Screen::open(80, 24), event_request(args.clone(), Risk::Medium)).keys("e");
    let mut expected = args.clone();
    expected["title"] = json!("Dana, invoice 1182x");
    assert_eq!(screen().keys("x<c-s>").asks(), [&instead("create_event", expected.clone())]);
    assert_eq!(screen().keys("x<f2><f2><c-s>").asks(), [&instead("create_event", expected)]);
    let mut expected = args.clone();
    expected["notes"] = json!(format!("{hostile}!"));
    let keys = "<tab>".repeat(6) + "<c-e>!<c-s>";
    assert_eq!(screen().keys(&keys).asks(), [&instead("create_event", expected)]);
    let shot = screen().shot();
    assert!(shot.contains("<U+202E>") && !shot.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{shot}");
}

fn opened(screen: &Screen) -> Vec<(&str, &EditTarget)> {
    fn edit(cmd: &Cmd) -> Option<(&str, &EditTarget)> {
        if let Cmd::Edit { text, target } = cmd { Some((text.as_str(), target)) } else { None }
    }
    screen.cmds.iter().filter_map(edit).collect()
}

fn edited(mut screen: Screen, target: EditTarget, text: Result<&str, &str>) -> Screen {
    let text = text.map(str::to_owned).map_err(str::to_owned);
    screen.feed(Input::Edited(EditedText { target, text }));
    screen
}

#[test]
fn arguments_go_to_the_editor_and_back() {
    let screen = form().keys("x<c-g>");
    let changed = with("title", json!("Dana, invoice 1182x"));
    let text = serde_json::to_string_pretty(&changed).unwrap();
    assert_eq!(opened(&screen), [(text.as_str(), &EditTarget::Arguments(id()))]);
    let back = with("start", json!("later"));
    let text = format!("{}\n", serde_json::to_string(&back).unwrap());
    let screen = edited(screen, EditTarget::Arguments(id()), Ok(&text)).keys("<c-s>");
    assert_eq!(screen.asks(), [&instead("create_event", back)]);

    let mut broken = edited(form(), EditTarget::Arguments(id()), Ok("{ \"title\": oops }\n"));
    let shot = broken.shot();
    assert!(shot.contains("oops") && shot.contains("raw JSON") && shot.contains("line 1"), "{shot}");
    let broken = broken.keys("<c-s><c-g>");
    assert!(broken.asks().is_empty());
    assert_eq!(opened(&broken), [("{ \"title\": oops }", &EditTarget::Arguments(id()))]);

    let mut failed = edited(form().keys("x"), EditTarget::Arguments(id()), Err("$EDITOR is not set"));
    assert!(failed.shot().contains("$EDITOR is not set"));
    assert_eq!(failed.keys("<c-s>").asks().len(), 1, "what was written is there");

    let gone = edited(
        form().notice(ServerMessage::Waiting { requests: vec![] }),
        EditTarget::Arguments(id()),
        Ok("{}"),
    );
    assert!(gone.asks().is_empty() && gone.model.cards.is_empty());
}

#[test]
fn long_arguments_are_edited_outside() {
    let long = "x".repeat(70_000);
    let args = with("notes", json!(long));
    let screen = || asking(Screen::open(80, 24), event_request(args.clone(), Risk::Medium)).keys("e");
    let mut expected = args.clone();
    expected["title"] = json!("Dana, invoice 1182x");
    assert_eq!(screen().keys("x<f2><c-s>").asks(), [&instead("create_event", expected)]);
    let out = screen().keys("<c-g>");
    assert_eq!(opened(&out).len(), 1);
    let text = serde_json::to_string(&with("notes", json!(long.clone() + "y"))).unwrap();
    let back = edited(out, EditTarget::Arguments(id()), Ok(&text)).keys("<c-s>");
    assert_eq!(back.asks(), [&instead("create_event", with("notes", json!(long + "y")))]);
    let text = "{".to_owned() + &"y".repeat(70_000);
    let broken = edited(screen(), EditTarget::Arguments(id()), Ok(&text)).keys("<c-s><c-g>");
    assert!(broken.asks().is_empty());
    assert_eq!(opened(&broken)[0].0.len(), text.len(), "nothing of it is lost");
}

#[test]
fn a_request_that_asks_for_something_else_is_read_anew() {
    let other = event_request(with("title", json!("other")), Risk::Medium);
    let screen = form().keys("x").event(Event::ApprovalNeeded { request: other }).keys("y<c-s>");
    assert!(screen.asks().is_empty());
    assert_eq!(screen.wait(600).keys("y").asks(), [&decided(Approval::yes())]);
}

#[test]
fn the_reason_of_a_no() {
    let no = |reason: &str| decided(Approval::Deny { reason: Some(reason.to_owned()) });
    let card = || asking(Screen::open(80, 24), shell_request(1, "ls", Risk::Medium));
    assert_eq!(card().keys("nnot now<esc>n, later<ret>").asks(), [&no("not now, later")]);
    assert_eq!(card().keys("na<esc>y").asks(), [&decided(Approval::yes())]);
    let out = card().keys("nwhy<c-g>");
    assert_eq!(opened(&out), [("why", &EditTarget::Reason(id()))]);
    let back = edited(out, EditTarget::Reason(id()), Ok("two\nlines\n")).keys("<ret>");
    assert_eq!(back.asks(), [&no("two\nlines")]);
}

const OLD: &str = "# Northwind\n\n## Billing\nContact: Dana Reyes\nTerms: 30 days\nPO: 4471\nCurrency: EUR\nBank: \
DE02 1203\n\n## People\nDana Reyes, accounts\nJon Park, stock\n\n## Log\n- 2026-10-02 renewed\n";

fn new_text() -> String {
    OLD.replace("PO: 4471\n", "PO: 4471-B\nInvoice 1182: asked for correction\n")
        .replace("- 2026-10-02 renewed\n", "- 2026-10-02 renewed\n- 2026-11-21 amount mismatch\n")
}

fn write_request(content: &str, risk: Risk) -> Request {
    let preview = Preview::Diff { path: "Northwind.md".into(), lines: diff(OLD, content) };
    let mut plan = plan("change Northwind.md: +3 -1", preview, risk);
    plan.basis = vec![(Resource("Northwind.md".into()), Version(fingerprint(OLD.as_bytes())))];
    Request {
        tool: ToolName::new("write_file"),
        args: json!({ "path": "Northwind.md", "content": content }),
        plan,
        risk,
        ..shell_request(1, "", risk)
    }
}

fn hunks(screen: Screen) -> Screen {
    asking(screen, write_request(&new_text(), Risk::Medium))
}

#[test]
fn hunks_are_skipped_and_kept() {
    let tall = || hunks(Screen::open(80, 60));
    let content = |text: String| instead("write_file", json!({ "path": "Northwind.md", "content": text }));
    let first = || content(OLD.replace("PO: 4471\n", "PO: 4471-B\nInvoice 1182: asked for correction\n"));
    let second = || content(format!("{OLD}- 2026-11-21 amount mismatch\n"));
    let cases: Vec<(&str, &str, Vec<ClientRequest>)> = vec![
        ("all", "y", vec![decided(Approval::yes())]),
        ("without the first", "1y", vec![second()]),
        ("without the second", "2y", vec![first()]),
        ("there and back", "11y", vec![decided(Approval::yes())]),
        ("without any", "12y", vec![]),
        ("no such hunk", "3y", vec![decided(Approval::yes())]),
        ("only this once", "1a", vec![]),
        ("a no is a no", "1n<ret>", vec![decided(Approval::Deny { reason: None })]),
        ("edited from there", "2e<c-s>", vec![first()]),
    ];
    for (name, keys, expected) in cases {
        assert_eq!(tall().keys(keys).asks(), expected.iter().collect::<Vec<_>>(), "{name}");
    }
    let high = || asking(Screen::open(80, 60), write_request(&new_text(), Risk::High));
    assert_eq!(high().keys("1y").wait(1_100).keys("y").asks(), [&second()]);
    assert!(high().keys("y").wait(1_100).keys("1y").asks().is_empty(), "another yes than the first");
    let clipped = hunks(Screen::open(80, 16));
    assert!(clipped.keys("1y").asks().is_empty(), "not seen whole");
    // Skipped hunks change nothing: they have no background.
    let backgrounds = |keys: &str| {
        let buffer = tall().keys(keys).painted();
        buffer.content().iter().map(|cell| cell.bg).filter(|background| *background != Color::Reset).count()
    };
    assert!(backgrounds("") > backgrounds("1") && backgrounds("1") > 0 && backgrounds("12") == 0);
    let none = asking(Screen::open(80, 24), diff_request(1, 2)).keys("1y");
    assert_eq!(none.asks(), [&decided(Approval::yes())], "nothing to skip");
}

/// Changes in so many places, far from one another.
fn scattered(places: usize) -> (String, Request) {
    let line = |number: usize, change: bool| {
        let mark = if change && number % 20 == 10 { " changed" } else { "" };
        format!("line {number}{mark}\n")
    };
    let text = |change: bool| (0..places * 20).map(|number| line(number, change)).collect::<String>();
    let (old, new) = (text(false), text(true));
    let preview = Preview::Diff { path: "long.md".into(), lines: diff(&old, &new) };
    let mut plan = plan("change long.md", preview, Risk::Medium);
    plan.basis = vec![(Resource("long.md".into()), Version(fingerprint(old.as_bytes())))];
    let request = Request {
        tool: ToolName::new("write_file"),
        args: json!({ "path": "long.md", "content": new }),
        plan,
        ..shell_request(1, "", Risk::Medium)
    };
    (new, request)
}

#[test]
fn the_hunk_one_is_at_is_skipped_whatever_its_number() {
    let (new, request) = scattered(12);
    let without = |number: usize| {
        let line = format!("line {}", (number - 1) * 20 + 10);
        instead(
            "write_file",
            json!({ "path": "long.md", "content": new.replace(&format!("{line} changed\n"), &format!("{line}\n")) }),
        )
    };
    let open = || asking(Screen::open(80, 40), request.clone()).keys(&"<pgdn>".repeat(12));
    let first = || open().keys(&"[".repeat(12));
    let cases: Vec<(&str, Screen, Vec<ClientRequest>)> = vec![
        ("the first", first().keys("<space>y"), vec![without(1)]),
        ("the eleventh", first().keys(&"]".repeat(10)).keys("<space>y"), vec![without(11)]),
        ("there and back", first().keys("]]<space><space>y"), vec![decided(Approval::yes())]),
        ("past the last", first().keys(&"]".repeat(40)).keys("<space>y"), vec![without(12)]),
        ("by its digit", first().keys("9y"), vec![without(9)]),
        (
            "scrolling takes it along",
            first().keys(&"<pgdn>".repeat(12)).keys("[[[[[[[[[[[[]<space>y"),
            vec![without(2)],
        ),
        ("Space approves nothing", open().keys("<space><space>"), vec![]),
    ];
    for (name, screen, expected) in cases {
        assert_eq!(screen.asks(), expected.iter().collect::<Vec<_>>(), "{name}");
    }
    let shown = |screen: &mut Screen| screen.shot().lines().filter(|line| line.contains('▸')).count();
    assert_eq!(shown(&mut open()), 1, "the hunk that Space skips is on the screen");
}

#[test]
fn what_changes_can_be_scrolled() {
    let notes: String = (1..=60).map(|number| format!("note {number}\n")).collect();
    let mut screen = asking(Screen::open(140, 24), event_request(event_args(), Risk::Medium)).keys("e");
    let text = Ok(with("notes", json!(notes)).to_string());
    screen.feed(Input::Edited(EditedText { target: EditTarget::Arguments(id()), text }));
    assert!(screen.shot().contains("more lines"), "{}", screen.shot());
    assert!(!screen.shot().contains("  note 58"));
    let mut end = screen.keys(&"<pgdn>".repeat(20));
    let shot = end.shot();
    assert!(shot.contains("  note 58") && shot.contains("lines above"), "{shot}");
    let mut back = end.keys(&"<pgup>".repeat(20));
    assert!(back.shot().contains("  requested"), "{}", back.shot());
    assert!(back.keys("<c-s>").asks().len() == 1, "scrolling changes nothing");
}

#[test]
fn another_layout_is_read_anew() {
    let screen = hunks(Screen::open(100, 16)).keys("<pgdn>");
    assert!(screen.keys("sy").asks().is_empty());
    let seen = hunks(Screen::open(100, 40)).keys("vsy");
    assert_eq!(seen.asks().len(), 1, "seen stays seen");
}

/// Draws one state at all sizes.
fn check(name: &str, state: impl Fn(Screen) -> Screen) {
    insta::assert_snapshot!(name, at_all_sizes(|screen| state(screen).shot()));
}

#[test]
fn forms_look_like_this() {
    check("form_fresh", event);
    check("form_changed", |screen| event(screen).keys("<tab><bs>5<tab><tab>5"));
    check("form_choice", |screen| event(screen).keys(&("<tab>".repeat(4) + "<space><tab>")));
    check("form_list", |screen| event(screen).keys("<tab><tab><ret>jon@northwind.example<ret>a<ret>b"));
    check("form_invalid", |screen| event(screen).keys(&("<c-u>".to_owned() + &"<tab>".repeat(3) + "x<c-s>")));
    check("form_high", |screen| asking(screen, event_request(event_args(), Risk::High)).keys("ex<c-s>"));
    check("form_raw", |screen| event(screen).keys("x<f2>"));
    check("form_raw_invalid", |screen| event(screen).keys("<f2><c-e>oops<f2>"));
    check("form_unknown_tool", |screen| asking(screen, shell_request(1, "ls -la", Risk::Medium)).keys("e"));
    check("form_hostile", |screen| {
        let args = with("notes", json!("a\u{1b}[2J\r\nb\u{202e}\u{200b}c\td"));
        asking(screen, event_request(args, Risk::Medium)).keys("e")
    });
    check("form_long_text", |screen| {
        let notes: String = (1..60).map(|number| format!("note {number} 日本語\n")).collect();
        let args = with("notes", json!(notes));
        asking(screen, event_request(args, Risk::Medium))
            .keys(&("e".to_owned() + &"<tab>".repeat(6) + "<c-end>"))
    });
    check("form_reason", |screen| {
        asking(screen, shell_request(1, "ls", Risk::Medium))
            .keys("n")
            .paste("use the old number\nand ask Dana first")
    });
    let ascii = Screen::with(80, 24, &Glyphs::ASCII).notice(ServerMessage::Header(header()));
    insta::assert_snapshot!("form_ascii", event(ascii).keys("x").shot());
}

#[test]
fn diffs_look_like_this() {
    check("form_diff_hunks", hunks);
    check("form_diff_skipped", |screen| hunks(screen).keys("1"));
    check("form_diff_all_skipped", |screen| hunks(screen).keys("12y"));
    check("form_diff_sides_turned", |screen| hunks(screen).keys("s"));
    check("form_diff_next_hunk", |screen| hunks(screen).keys("]"));
    let ascii = Screen::with(140, 40, &Glyphs::ASCII).notice(ServerMessage::Header(header()));
    insta::assert_snapshot!("form_diff_ascii", hunks(ascii).keys("1").shot());
}
