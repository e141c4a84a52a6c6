//! Completion, the search in earlier lines, the list of sessions and the first screen: what they show, what keys do.

use co::frontend::protocol::{
    ClientQuery, ClientRequest, CommandLine, EarlierLine, QueryAnswer, ServerMessage, SessionHit, SessionLine,
};
use co::history::SessionId;
use co::message::{AssistantMessage, AssistantPart, Message, PartKind, StopKind, StopReason, UserPart};
use co::tui::Cmd;
use co::tui::model::Focus;
use co::tui::theme::Glyphs;
use serde_json::json;

use crate::tui::kit::{Screen, asked, at_all_sizes, call, diff_request, header};

fn check(name: &str, state: impl Fn(Screen) -> Screen) {
    let known = |screen: Screen| screen.notice(commands()).notice(earlier_here());
    insta::assert_snapshot!(name, at_all_sizes(|screen| state(known(screen)).shot()));
}

fn command(name: &str, usage: &str, about: &str, args: &[&str]) -> CommandLine {
    CommandLine {
        name: name.into(),
        usage: usage.into(),
        about: about.into(),
        source: "built-in".into(),
        args: args.iter().map(|&arg| arg.into()).collect(),
    }
}

fn commands() -> ServerMessage {
    let commands = vec![
        command("help", "", "list the commands", &[]),
        command("clear", "", "start the conversation afresh", &[]),
        command("status", "", "what is in use here", &[]),
        command("tools", "", "the tools that the model may use", &[]),
        command("history", "", "what this session has come to", &[]),
        command(
            "model",
            "[provider/model]",
            "list the models that are ready, or switch to one at once",
            &["anthropic/claude-sonnet-4-6", "openai/gpt-5", "offline/tour"],
        ),
        command(
            "yolo",
            "[on|off]",
            "approve what is neither a command nor HIGH nor denied by itself",
            &["on", "off"],
        ),
        command("approvals", "", "what waits for you", &[]),
        command("resume", "[words]", "continue another session from a list", &[]),
        command("quit", "", "leave", &[]),
    ];
    ServerMessage::Known { commands, tools: Vec::new() }
}

fn earlier_here() -> ServerMessage {
    ServerMessage::Inputs { lines: vec!["what did Dana want?".into(), "/status".into()] }
}

fn files() -> QueryAnswer {
    let mut paths: Vec<String> = [
        ".env",
        "Cargo.toml",
        "docs/",
        "my notes.md",
        "src/",
        "docs/plan b/",
        "docs/plan b/todo.txt",
        "src/main.rs",
        "src/tui/",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.extend((1..30).map(|at| format!("src/tui/part{at}.rs")));
    let long = "a-folder-with-a-long-name/".repeat(4);
    paths.push(format!("{long}the-file-that-matters.rs"));
    QueryAnswer::Files { paths }
}

fn session(id: &str, title: &str, here: bool, updated: &str, turns: u32, waiting: usize) -> SessionLine {
    let workspace = if here { "/home/alex/work" } else { "/home/alex/northwind" };
    SessionLine {
        id: SessionId(id.into()),
        title: title.into(),
        workspace: workspace.into(),
        here,
        updated: updated.parse().unwrap(),
        turns,
        waiting,
    }
}

fn sessions() -> Vec<SessionLine> {
    vec![
        session("019331aa-0000-7000", "inbox triage", true, "1969-12-31T21:30Z", 41, 2),
        session("019331ab-0000-7000", "trip to Lisbon, hotels", true, "1969-12-31T16:20Z", 1, 0),
        session(
            "019331ac-0000-7000",
            "northwind contract and what Dana wrote about it",
            false,
            "1969-11-12T08:00Z",
            88,
            0,
        ),
        session("019331ad-0000-7000", "rust ownership notes", true, "1969-12-29T11:02Z", 19, 0),
        session("019331ae-0000-7000", "日本語のノート\u{1b}[31m", true, "1968-10-03T10:00Z", 12, 0),
    ]
}

/// The sessions that the home screen lists.
fn recent() -> ServerMessage {
    ServerMessage::Recent { sessions: sessions() }
}

fn previewing(id: &str) -> ClientQuery {
    ClientQuery::Preview { session: SessionId(id.into()) }
}

fn preview() -> QueryAnswer {
    let reply = AssistantMessage {
        parts: vec![
            AssistantPart::new(PartKind::Text {
                text: "Here is the **reply** to Dana. Nothing is sent yet.".into(),
            }),
            AssistantPart::new(PartKind::ToolCall(call(1, "write_file", json!({"path": "reply.md"})))),
        ],
        asked: String::new(),
        model: "m".into(),
        stop: StopReason { kind: StopKind::EndTurn, raw: None, detail: None },
    };
    let prompt = Message::User {
        parts: vec![UserPart::Text { text: "what did Dana want, and can you answer her?".into() }],
    };
    QueryAnswer::Preview { messages: vec![prompt, Message::Assistant(reply)] }
}

fn picking(screen: Screen) -> Screen {
    screen.notice(ServerMessage::Sessions { sessions: sessions(), query: String::new() })
}

fn earlier() -> QueryAnswer {
    let line = |text: &str, here| EarlierLine { text: text.into(), here };
    QueryAnswer::Earlier {
        lines: vec![
            line("/status", true),
            line("and answer Dana\nin two lines:\n- the PO number\n- the new amount", false),
            line("what did Dana want?", true),
            line(
                "explain the borrow checker to me, with one example that fails and one that works, and why",
                false,
            ),
        ],
    }
}

#[test]
fn completion_of_commands() {
    check("pickers_commands", |screen| screen.keys("/"));
    check("pickers_commands_narrowed", |screen| screen.keys("/st<down>"));
    check("pickers_arguments", |screen| screen.keys("/mo<tab>an"));
}

#[test]
fn completion_of_files() {
    check("pickers_files_looking", |screen| screen.keys("see @ma"));
    check("pickers_files", |screen| screen.keys("see @").answer_to(ClientQuery::Files, files()));
    check("pickers_files_matched", |screen| {
        screen
            .answer_to(ClientQuery::Files, files())
            .keys("see @tui/part<down><down><down><down><down><down><down><down><down>")
    });
    check("pickers_files_long", |screen| screen.answer_to(ClientQuery::Files, files()).keys("see @matters"));
    let ascii = Screen::with(80, 24, &Glyphs::ASCII).notice(commands()).keys("/h").shot();
    insta::assert_snapshot!("pickers_ascii", ascii);
}

#[test]
fn search_in_earlier_lines() {
    check("pickers_earlier_looking", |screen| screen.keys("half a tho<c-r>"));
    check("pickers_earlier", |screen| {
        screen.keys("half a tho<c-r>").answer_to(ClientQuery::Earlier, earlier())
    });
    check("pickers_earlier_found", |screen| {
        screen.keys("<c-r>").answer_to(ClientQuery::Earlier, earlier()).keys("dana")
    });
    check("pickers_earlier_here", |screen| {
        screen.keys("<c-r>").answer_to(ClientQuery::Earlier, earlier()).keys("borrow<c-s>")
    });
}

#[test]
fn list_of_sessions() {
    check("pickers_sessions", |screen| {
        picking(screen).answer_to(previewing("019331aa-0000-7000"), preview())
    });
    check("pickers_sessions_all", |screen| {
        picking(screen)
            .keys("<tab>dana")
            .answer_to(previewing("019331aa-0000-7000"), preview())
            .answer_to(previewing("019331ac-0000-7000"), preview())
    });
    check("pickers_sessions_none", |screen| {
        screen.notice(ServerMessage::Sessions { sessions: Vec::new(), query: String::new() })
    });
    check("pickers_sessions_no_match", |screen| picking(screen).keys("zzz"));
}

#[test]
fn first_screen() {
    check("pickers_home", |screen| screen.notice(recent()));
    check("pickers_home_chosen", |screen| screen.notice(recent()).keys("<down><down>"));
}

#[test]
fn recent_sessions_are_picked_on_the_first_screen() {
    let opened = |keys: &str| {
        let screen = Screen::open(80, 24).notice(recent()).keys(keys);
        let open = screen.asks().into_iter().find_map(|ask| match ask {
            ClientRequest::Open { session } => session.0.split('-').next().map(|id| id.replace("019331", "")),
            _ => None,
        });
        (open, written(&screen))
    };
    let (none, some) =
        (|text: &str| (None, text.to_owned()), |id: &str| (Some(id.to_owned()), String::new()));
    for (keys, expected) in [
        ("<ret>", none("")),
        ("<down><ret>", some("aa")),
        ("<tab><ret>", some("aa")),
        ("<down><down><ret>", some("ab")),
        ("<down><down><down><down><ret>", some("ad")),
        ("<down><down><up><ret>", some("aa")),
        ("<down><up><ret>", none("")),
        ("<down><esc><ret>", none("")),
        ("<down><tab><ret>", none("")),
        ("1", none("1")),
        ("<down>2", none("2")),
        ("x<down><ret>", none("")),
    ] {
        assert_eq!(opened(keys), expected, "{keys}");
    }
    let pasted = Screen::open(80, 24).notice(recent()).keys("<down>").paste("text");
    assert_eq!(pasted.model.recent, None);
    let talking = Screen::open(80, 24).notice(recent()).prompted("go").keys("<down>");
    assert_eq!(talking.model.recent, None, "the rows are not on the screen");
}

#[test]
fn the_palette_does_what_is_chosen() {
    let modes =
        vec![command("mode", "", "", &["ask", "auto", "plan", "dry-run"]), command("clear", "", "", &[])];
    let ready = || {
        let ServerMessage::Known { mut commands, tools } = commands() else { panic!("commands") };
        commands.extend(modes.clone());
        Screen::open(80, 24).notice(ServerMessage::Known { commands, tools }).notice(recent())
    };
    let open = |id: &str| ClientRequest::Open { session: SessionId(id.into()) };
    let model = |name: &str| ClientRequest::SwitchModel { name: name.into() };
    for (keys, expected) in [
        ("/lisb<ret>", vec![open("019331ab-0000-7000")]),
        ("/lisb<tab>", vec![open("019331ab-0000-7000")]),
        ("/gpt<ret>", vec![model("openai/gpt-5")]),
        ("/plan<ret>", vec![ClientRequest::SetMode { mode: co::config::Mode::Plan }]),
        ("/clear<ret>", vec![crate::tui::kit::line("/clear")]),
        ("/cle<ret>", vec![crate::tui::kit::line("/clear")]),
        // Letters that are in a title by chance are no choice, unless they were chosen.
        ("/tpln<ret>", vec![crate::tui::kit::line("/tpln")]),
        ("/tpln<down><up><ret>", vec![open("019331ab-0000-7000")]),
    ] {
        let screen = ready().keys(keys);
        let mut asks = screen.asks();
        asks.retain(|ask| !matches!(ask, ClientRequest::Draft { .. }));
        assert_eq!(asks, expected.iter().collect::<Vec<_>>(), "{keys}");
        assert_eq!(written(&screen), "", "{keys}");
    }
    let running = ready().prompted("go").keys("/lisb<ret>");
    assert!(running.asks().is_empty(), "a turn keeps its session");
    let palette = |keys| at_all_sizes(|screen| screen.notice(commands()).notice(recent()).keys(keys).shot());
    insta::assert_snapshot!("pickers_palette", palette("/in"));
}

#[test]
fn private_commands_stand_in_their_time() {
    let lines = vec!["first".into(), "!!date".into(), "second".into()];
    let known = ServerMessage::Inputs { lines };
    check("pickers_earlier_private", |screen| {
        screen.notice(known.clone()).keys("<c-r>").answer_to(ClientQuery::Earlier, earlier())
    });
}

/// The composer's text, as drafts are kept.
fn written(screen: &Screen) -> String {
    screen.model.composer.editor.text()
}

fn ready() -> Screen {
    Screen::open(80, 24).notice(commands()).notice(earlier_here()).answer_to(ClientQuery::Files, files())
}

#[test]
fn keys_complete_what_is_written() {
    // Keys, the text then, and the line that was sent.
    let cases: &[(&str, &str, Option<&str>)] = &[
        // Tab and Enter at commands.
        ("/he<tab>", "/help ", None),
        ("/he<ret>", "", Some("/help")),
        ("/help<ret>", "", Some("/help")),
        ("/HELP<ret>", "", Some("/HELP")),
        ("/s<tab>", "/status ", None),
        ("/h<down><ret>", "", Some("/history")),
        ("/h<up><c-n><ret>", "", Some("/help")),
        ("/mod<ret>", "/model ", None),
        ("/res<ret>", "", Some("/resume")),
        ("/model<ret>", "", Some("/model")),
        ("/nothing like it<ret>", "", Some("/nothing like it")),
        ("/xyz<ret>", "", Some("/xyz")),
        // Enter never turns approvals off by a beginning.
        ("/y<ret>", "/yolo ", None),
        ("/yolo <ret>", "", Some("/yolo ")),
        ("/yolo <down><ret>", "", Some("/yolo off")),
        // Arguments.
        ("/mo<tab>gp<tab>", "/model openai/gpt-5", None),
        ("/mo<tab>gp<tab><ret>", "", Some("/model openai/gpt-5")),
        ("/model my/own<ret>", "", Some("/model my/own")),
        ("/model of<ret>", "", Some("/model of")),
        // Mentions.
        ("see @main<tab>", "see @src/main.rs ", None),
        ("see @main<ret>", "see @src/main.rs ", None),
        ("see @main<ret><ret>", "", Some("see @src/main.rs ")),
        ("see @src/main.rs<ret>", "", Some("see @src/main.rs")),
        ("see @<ret>", "", Some("see @")),
        ("see @zzzz<ret>", "", Some("see @zzzz")),
        ("mail dana@src<ret>", "", Some("mail dana@src")),
        ("@sr<tab>mai<tab>", "@src/main.rs ", None),
        ("@notes<tab>", "@\"my notes.md\" ", None),
        ("@planb<tab>", "@\"docs/plan b/", None),
        ("@main now<left><left><left><left><tab>", "@main now", None),
        ("<space>now<c-a>@main<tab>", "@src/main.rs now", None),
        // Esc closes until the word changes.
        ("/he<esc><ret>", "", Some("/he")),
        ("/he<esc>l<ret>", "", Some("/help")),
        ("/he<esc><tab>", "/he", None),
        // Lines from the history open nothing: Up goes on.
        ("<up>", "/status", None),
        ("<up><up>", "what did Dana want?", None),
        // The person's own commands are completed when Tab asks.
        ("!cat src/m<ret>", "", Some("!cat src/m")),
        ("!cat src/mai<tab>", "!cat src/main.rs ", None),
        ("!cat notes<tab><tab>", "!cat my\\ notes.md ", None),
        ("!cat planb<tab><tab>", "!cat docs/plan\\ b/", None),
        ("!cat planb<tab>to<tab>", "!cat docs/plan\\ b/todo.txt ", None),
        ("!cat sr<tab><tab>", "!cat src/", None),
        ("!cat part1<tab><down><ret>", "!cat src/tui/part10.rs ", None),
        // One undo takes a completion back.
        ("see @main<tab><c-_>", "see @main", None),
    ];
    for (keys, text, sent) in cases {
        let screen = ready().keys(keys);
        assert_eq!(written(&screen), *text, "{keys}");
        let lines: Vec<&str> = screen
            .asks()
            .into_iter()
            .filter_map(|ask| if let ClientRequest::Line { text } = ask { Some(text.as_str()) } else { None })
            .collect();
        assert_eq!(lines, sent.iter().copied().collect::<Vec<_>>(), "{keys}");
    }
}

#[test]
fn an_enter_while_files_are_looked_for_sends() {
    let screen = Screen::open(80, 24).notice(commands()).keys("see @ma");
    assert!(screen.asks().contains(&&asked(ClientQuery::Files)));
    let screen = screen.keys("i<ret>");
    assert_eq!(
        screen.asks().iter().filter(|ask| ***ask == asked(ClientQuery::Files)).count(),
        1,
        "asked once"
    );
    assert!(screen.asks().contains(&&ClientRequest::Line { text: "see @mai".into() }));
}

#[test]
fn open_places_of_resource_templates_are_completed() {
    let files = QueryAnswer::Files { paths: vec!["src/".into(), "s:note://{name}".into()] };
    let screen =
        Screen::open(80, 24).notice(commands()).answer_to(ClientQuery::Files, files).keys("see @s:note://k");
    let (command, argument) = ("@s:note://{name}".to_owned(), "name".to_owned());
    let query = ClientQuery::Suggest { command, argument, typed: "k".to_owned() };
    let ask = asked(query.clone());
    assert_eq!(screen.asks().iter().filter(|one| ***one == ask).count(), 1);
    let told = QueryAnswer::Suggest { values: vec!["kind".into()] };
    let screen = screen.answer_to(query.clone(), told.clone()).answer_to(query, told);
    assert_eq!(screen.asks().iter().filter(|one| ***one == ask).count(), 1, "an answer asks nothing again");
    assert_eq!(written(&screen.keys("<tab>")), "see @s:note://kind ");
}

#[test]
fn what_comes_later_keeps_the_choice() {
    let screen = ready().keys("@part<down><down>");
    let chosen = |screen: &Screen| {
        screen
            .model
            .completion
            .popup
            .as_ref()
            .and_then(|popup| popup.chosen_row())
            .map(|row| row.label.clone())
    };
    let before = chosen(&screen);
    assert_eq!(before.as_deref(), Some("src/tui/part3.rs"));
    assert_eq!(chosen(&screen.answer_to(ClientQuery::Files, files())), before);
}

#[test]
fn a_line_is_brought_back_and_not_sent() {
    let screen = ready().keys("half<c-r>").answer_to(ClientQuery::Earlier, earlier()).keys("dana<ret>");
    assert_eq!(written(&screen), "and answer Dana\nin two lines:\n- the PO number\n- the new amount");
    assert!(!screen.asks().iter().any(|ask| matches!(ask, ClientRequest::Line { .. })));
    let screen = ready().keys("half<c-r>dana<esc>");
    assert_eq!(written(&screen), "half");
    let screen = ready().keys("half<c-r>dana<c-c>");
    assert_eq!(written(&screen), "half");
    // A command that is brought back opens nothing.
    let screen = ready().keys("<c-r>").answer_to(ClientQuery::Earlier, earlier()).keys("<ret>");
    assert_eq!(written(&screen), "/status");
    assert!(!screen.model.completion.is_open());
    // A paste goes to the query.
    let mut screen =
        ready().keys("half<c-r>").answer_to(ClientQuery::Earlier, earlier()).paste("borrow\nchecker");
    assert!(screen.shot().contains("/ borrow"));
    assert_eq!(written(&screen.keys("<esc>")), "half");
}

#[test]
fn a_session_is_opened_after_the_draft_is_kept() {
    let screen = picking(ready().keys("half a thought")).keys("<down><ret>");
    let asks = screen.asks();
    let kept = asks.iter().position(|ask| **ask == ClientRequest::Draft { text: "half a thought".into() });
    let opened = asks
        .iter()
        .position(|ask| **ask == ClientRequest::Open { session: SessionId("019331ab-0000-7000".into()) });
    assert!(kept.is_some() && kept < opened, "{asks:?}");
    // Refused by the owner, nothing is gone.
    assert_eq!(written(&screen), "half a thought");
    let mut screen = screen.notice(ServerMessage::Entered).notice(ServerMessage::Header(header()));
    assert_eq!(written(&screen), "");
    screen.cmds.clear();
    let screen = screen.wait(5_000).notice(ServerMessage::Draft { text: "other".into() });
    assert_eq!(written(&screen), "other");
    assert!(screen.asks().is_empty(), "the old draft is not kept in the new session: {:?}", screen.asks());
}

#[test]
fn what_belongs_to_a_session_goes_with_it() {
    let screen = ready()
        .prompted("go")
        .keys("next<ret>")
        .notice(ServerMessage::Idle)
        .notice(ServerMessage::Waiting { requests: vec![crate::tui::kit::diff_request(1, 2)] })
        .notice(ServerMessage::Entered);
    assert_eq!(screen.model.cards.count(), 0);
    assert!(screen.model.queue.is_empty() && screen.model.transcript.is_empty());
    assert!(screen.model.turn.is_none());
}

#[test]
fn no_session_is_opened_while_a_turn_runs() {
    let mut screen = picking(ready().prompted("go")).keys("<ret>");
    assert!(!screen.asks().iter().any(|ask| matches!(ask, ClientRequest::Open { .. })));
    assert!(screen.shot().contains("a turn is running: stop it first"));
}

#[test]
fn previews_are_asked_for_one_at_a_time() {
    let asked = |screen: &Screen| {
        screen
            .asks()
            .into_iter()
            .filter_map(|ask| match ask {
                ClientRequest::Query { query: ClientQuery::Preview { session }, .. } => {
                    Some(session.0.clone())
                }
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    let screen = picking(ready()).keys("<down><down><down>");
    assert_eq!(asked(&screen), ["019331aa-0000-7000"]);
    let screen = screen.answer_to(previewing("019331aa-0000-7000"), preview());
    assert_eq!(asked(&screen), ["019331aa-0000-7000", "019331ae-0000-7000"]);
}

/// Words that no title has find the sessions in which they were said; what is no longer typed finds nothing.
#[test]
fn sessions_are_found_by_what_was_said() {
    let asked = |screen: &Screen| {
        let words = |ask: &ClientRequest| match ask {
            ClientRequest::Query { query: ClientQuery::SearchSessions { words }, .. } => Some(words.clone()),
            _ => None,
        };
        screen.asks().into_iter().filter_map(words).collect::<Vec<_>>()
    };
    let hit = |id: &str| SessionHit {
        session: SessionId(id.into()),
        around: "…the invoice of \u{1b}[31mDana is open".to_owned(),
    };
    let screen = picking(ready()).keys("in");
    assert!(asked(&screen).is_empty(), "two letters are too few");
    let mut screen = screen.keys("voi");
    assert_eq!(asked(&screen), ["inv"]);
    assert!(screen.shot().contains("looking…"));
    let found = |screen: Screen, words: &str| {
        let hits = vec![hit("019331ad-0000-7000"), hit("none of the list")];
        let query = ClientQuery::SearchSessions { words: words.to_owned() };
        screen.answer_to(query, QueryAnswer::SearchSessions { hits })
    };
    let mut screen = found(screen, "inv");
    assert_eq!(asked(&screen), ["inv", "invoi"], "what was typed meanwhile is searched next");
    assert!(!screen.shot().contains("rust ownership"), "these are not the words any more");
    let mut screen = found(screen, "invoi");
    insta::assert_snapshot!("pickers_said", screen.shot());
    let screen = screen.keys("<ret>");
    let session = SessionId("019331ad-0000-7000".into());
    assert!(screen.asks().contains(&&ClientRequest::Open { session }));
}

#[test]
fn typing_among_many_files_is_quick() {
    let paths: Vec<String> = (0..20_000).map(|at| format!("src/module{}/part{at}.rs", at % 97)).collect();
    let screen = Screen::open(80, 24).answer_to(ClientQuery::Files, QueryAnswer::Files { paths });
    let started = std::time::Instant::now();
    let screen = screen.keys("@module96/part");
    let took = started.elapsed();
    assert!(screen.model.completion.popup.as_ref().unwrap().found > 100);
    // Unoptimised, fourteen keys; optimised it is some fifty times faster.
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
    assert!(!screen.cmds.contains(&Cmd::Redraw));
}

/// The popup lies over a card: there a press goes to the popup and to nothing below.
#[test]
fn no_press_goes_through_the_popup() {
    let open = || {
        let screen = Screen::open(80, 24).notice(commands());
        screen.asked(diff_request(1, 60)).wait(600).keys("/")
    };
    let chosen = |screen: &Screen| screen.model.completion.popup.as_ref().map(|popup| popup.chosen);
    let rows: Vec<u16> = {
        let shot = open().shot();
        let is_row = |line: &&str| line.contains("/he") || line.contains("/cl") || line.contains("/st");
        let at = |line: &str| shot.lines().position(|other| other == line).unwrap();
        shot.lines().filter(is_row).map(|line| u16::try_from(at(line)).unwrap()).collect()
    };
    assert_eq!(rows.len(), 3, "{}", open().shot());
    for (at, row) in rows.iter().enumerate() {
        let screen = open().click(10, *row);
        assert_eq!((chosen(&screen), screen.model.focus), (Some(at), Focus::Composer), "row {row}");
        assert_eq!(screen.model.composer.editor.text(), "/");
    }
    let edge = open().click(10, rows[0] - 1);
    assert_eq!((chosen(&edge), edge.model.focus), (Some(0), Focus::Composer));
    let dragged = open().drag((10, rows[0]), (20, rows[2]));
    assert_eq!((chosen(&dragged), dragged.model.focus), (Some(0), Focus::Composer));
    assert!(
        dragged.copies().is_empty() && dragged.asks().iter().all(|ask| !matches!(ask, ClientRequest::Op(_)))
    );
    // Beside and above it the card is where it is.
    for (column, row) in [(78, rows[0]), (10, rows[0] - 2)] {
        assert_eq!(open().click(column, row).model.focus, Focus::Card, "{column} {row}");
    }
}
