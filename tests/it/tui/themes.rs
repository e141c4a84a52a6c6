//! Colours and stillness: one rich screen in every palette, what reduced motion shows, and what lies over a card.

use co::agent::port::Event;
use co::config::ThemeChoice;
use co::frontend::protocol::{CommandLine, Privacy, ServerMessage};
use co::message::ReturnStatus;
use co::tool::Risk;
use co::tui::theme::Background;
use co::tui::{Cmd, Input, Motion, TerminalEnv, Theme};
use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Color, Modifier, Style};
use serde_json::json;

use crate::tui::kit::{Screen, at_all_sizes, call, diff_request, returned, shell_request};

const ANSWER: &str = "# Billing\n\nDana wrote about **invoice 1182** (`4471`), see [the note](https://a.example):\n\n\
> by Friday\n\n- [x] *amount*\n\n```rust\n// old\nfn po() -> u32 { 4471 }\n```";

/// Something in most of the roles.
fn rich(screen: Screen) -> Screen {
    let done = call(1, "read_file", json!({ "path": "notes/billing.md" }));
    let failed = call(2, "shell", json!({ "command": "rg 1182" }));
    let screen = screen
        .prompted("what did Dana want?")
        .thinking("The note first.")
        .event(Event::ThinkingCommitted { text: "The note first.".into() })
        .event(Event::TextCommitted { text: ANSWER.into() })
        .event(Event::ToolCall { call: done.clone() })
        .event(Event::ToolCall { call: failed.clone() })
        .event(Event::ToolReturn { call: done, returned: returned(1, ReturnStatus::Ok, "PO: 4471-B") })
        .event(Event::ToolReturn {
            call: failed,
            returned: returned(2, ReturnStatus::Failed, "exit 2: no such file"),
        })
        .asked(diff_request(3, 1))
        .wait(600)
        .keys("<tab>");
    loaded(screen)
}

/// The languages of the code are there, as they are soon after they were asked for.
fn loaded(mut screen: Screen) -> Screen {
    let asked = |cmd: &Cmd| if let Cmd::Load(languages) = cmd { Some(*languages) } else { None };
    for languages in screen.cmds.iter().filter_map(asked).collect::<Vec<_>>() {
        screen.feed(Input::Loaded(languages));
    }
    screen
}

fn colour(colour: Option<Color>) -> String {
    match colour {
        None | Some(Color::Reset) => String::new(),
        Some(Color::Indexed(number)) => number.to_string(),
        Some(named) => named.to_string(),
    }
}

/// A style in a few letters: the colour, then one letter for each mark.
fn short(style: Style) -> String {
    let marks = [
        (Modifier::BOLD, 'b'),
        (Modifier::DIM, 'd'),
        (Modifier::ITALIC, 'i'),
        (Modifier::UNDERLINED, 'u'),
        (Modifier::REVERSED, 'r'),
        (Modifier::CROSSED_OUT, 's'),
    ];
    let letters: String = marks
        .iter()
        .filter(|(mark, _)| style.add_modifier.contains(*mark))
        .map(|(_, letter)| letter)
        .collect();
    let background = colour(style.bg);
    let background = if background.is_empty() { background } else { format!("/{background}") };
    [colour(style.fg), background, letters].concat()
}

/// Each row as its runs of one style: `style(text)`, the terminal's own style without a word before it.
fn runs(buffer: &Buffer) -> String {
    let mut out = String::new();
    for row in 0..buffer.area.height {
        let mut line: Vec<(String, String)> = Vec::new();
        for column in 0..buffer.area.width {
            let cell = &buffer[(column, row)];
            let style = short(cell.style());
            match line.last_mut() {
                Some((before, text)) if *before == style => text.push_str(cell.symbol()),
                Some(_) | None => line.push((style, cell.symbol().to_owned())),
            }
        }
        for (style, text) in line {
            let text = text.trim_end();
            if !text.is_empty() {
                out.push_str(&format!("{style}({})", text.trim_start()));
            }
        }
        out.push('\n');
    }
    out
}

fn around(term: &str, no_color: Option<&str>) -> TerminalEnv {
    TerminalEnv { term: Some(term.into()), no_color: no_color.map(str::to_owned), ..TerminalEnv::default() }
}

/// The themes, each as this terminal would choose it.
fn themes() -> [(&'static str, Theme); 4] {
    let modern = around("xterm-256color", None);
    let light = TerminalEnv { background: Some(Background::Light), ..modern.clone() };
    [
        ("dark", Theme::choose(ThemeChoice::Auto, &modern)),
        ("light", Theme::choose(ThemeChoice::Auto, &light)),
        ("ansi16", Theme::choose(ThemeChoice::Auto, &around("xterm", None))),
        ("no_color", Theme::choose(ThemeChoice::Dark, &around("xterm-256color", Some("1")))),
    ]
}

#[test]
fn one_screen_in_every_palette() {
    let mut texts = Vec::new();
    for (name, theme) in themes() {
        let mut screen = rich(Screen::open(100, 44)).coloured(theme);
        texts.push(screen.shot());
        insta::assert_snapshot!(format!("themes_{name}"), runs(&screen.painted()));
    }
    assert!(texts.windows(2).all(|two| two[0] == two[1]), "a palette changes colours and nothing else");
}

#[test]
fn without_colour_there_is_none() {
    let [.., (_, plain)] = themes();
    let buffer = rich(Screen::open(100, 44)).coloured(plain).painted();
    let coloured = |cell: &ratatui_core::buffer::Cell| cell.fg != Color::Reset || cell.bg != Color::Reset;
    assert!(!buffer.content().iter().any(coloured));
}

#[test]
fn reduced_motion_stands_still() {
    let still = || {
        let mut screen = Screen::open(80, 24);
        screen.model.motion = Motion::Reduced;
        screen
    };
    let running = call(1, "shell", json!({ "command": "make" }));
    let states = [
        ("asking", still().prompted("go")),
        ("thinking", still().prompted("go").thinking("Well")),
        ("answering", still().prompted("go").text("Well")),
        (
            "a tool",
            still()
                .prompted("go")
                .event(Event::ToolCall { call: running.clone() })
                .event(Event::ToolRunning { call: running }),
        ),
        (
            "a command",
            still().notice(ServerMessage::ShellBegan { command: "make".into(), privacy: Privacy::Shared }),
        ),
    ];
    for (name, screen) in states {
        let mut screen = screen.wait(10);
        let signs = |shot: String| shot.replace(|c: char| c.is_ascii_digit(), "0");
        let before = signs(screen.shot());
        let at = screen.model.wake_at().unwrap();
        assert!(at > screen.model.now_ms && at.is_multiple_of(1_000), "{name}: a second at a time");
        let left = at - screen.model.now_ms;
        let mut screen = screen.wait(left - 1);
        assert_eq!(signs(screen.shot()), before, "{name} moves");
        let shot = screen.wait(1_001).shot();
        assert!(!["◐", "◓", "◑", "◒"].iter().any(|mark| shot.contains(mark)), "{name} spins: {shot}");
        assert!(shot.contains('…'), "{name} has its still mark: {shot}");
    }
}

#[test]
fn what_lies_over_a_card() {
    let commands = ServerMessage::Known {
        commands: ["help", "history", "clear"]
            .map(|name| CommandLine {
                name: name.into(),
                usage: String::new(),
                about: format!("what {name} does"),
                source: "built-in".into(),
                args: Vec::new(),
            })
            .to_vec(),
        tools: Vec::new(),
    };
    let waiting = |screen: Screen| {
        screen
            .notice(commands.clone())
            .prompted("go")
            .asked(shell_request(1, "rm -r build", Risk::High))
            .wait(600)
    };
    insta::assert_snapshot!(
        "themes_popup_over_card",
        at_all_sizes(|screen| waiting(screen).keys("/h").shot())
    );
    insta::assert_snapshot!("themes_help_over_card", at_all_sizes(|screen| waiting(screen).keys("?").shot()));
    let over = |keys: &str| waiting(Screen::open(80, 24)).keys(keys).wait(600).keys("y<tab>y");
    for keys in ["/h", "?"] {
        assert!(over(keys).asks().is_empty(), "{keys}: a card that is covered takes no key");
    }
}
