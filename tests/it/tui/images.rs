//! Images of prompts: from pasted paths, mentions, flags and the clipboard to the bytes that a service gets.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use co::agent::port::{Event, Op};
use co::frontend::images::{ImageError, Prompt, SeenImage};
use co::frontend::protocol::{ClientRequest, ServerMessage, Update};
use co::message::images::mentions;
use co::message::{Message, UserPart};
use co::runtime::SessionTarget;
use co::stdx::image::Size;
use co::tui::msg::PastedItem;
use co::tui::{Cmd, Input};

use crate::co::{Co, Service, Wire};
use crate::runtime::interactive;
use crate::tui::kit::{Screen, at_all_sizes};
use crate::tui::terminal::{Launch, Terminal};

const SIZE: Size = Size { width: 1280, height: 800 };

/// The header of a PNG of that size, which is all that anybody looks at here.
fn png() -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(SIZE.width.to_be_bytes());
    bytes.extend(SIZE.height.to_be_bytes());
    bytes
}

fn gif() -> Vec<u8> {
    b"GIF89a\x20\x00\x10\x00".to_vec()
}

fn part() -> UserPart {
    UserPart::Image { media_type: "image/png".into(), data: STANDARD.encode(png()) }
}

fn text(text: &str) -> UserPart {
    UserPart::Text { text: text.into() }
}

fn seen(path: &str) -> SeenImage {
    SeenImage { path: path.into(), size: SIZE }
}

// --- the screen

fn open() -> Screen {
    Screen::open(80, 24)
}

/// Pastes a text that names these images.
fn pasted(screen: Screen, path: &str, images: &[SeenImage]) -> Screen {
    let mut screen = screen.paste(path);
    screen.feed(Input::Named { text: path.into(), images: Ok(images.to_vec()) });
    screen
}

fn written(screen: &Screen) -> String {
    screen.model.composer.editor.text()
}

fn looks(screen: &Screen) -> Vec<&str> {
    screen
        .cmds
        .iter()
        .filter_map(|cmd| if let Cmd::Name { text, .. } = cmd { Some(text.as_str()) } else { None })
        .collect()
}

fn prompts(screen: &Screen) -> Vec<ClientRequest> {
    let is_prompt =
        |ask: &&&ClientRequest| matches!(ask, ClientRequest::Line { .. } | ClientRequest::Prompt(_));
    screen.asks().iter().filter(is_prompt).map(|ask| (*ask).clone()).collect()
}

#[test]
fn what_may_be_the_path_of_an_image_is_looked_at() {
    let cases: &[(&str, &str, bool)] = &[
        ("", "/a/x.png", true),
        ("see ", "x.png", true),
        ("see ", "file:///a/my%20x.png", true),
        ("", "hello", false),
        ("!open ", "/a/x.png", false),
        ("/model ", "x.png", false),
    ];
    for (before, path, looked) in cases {
        let screen = open().keys(&before.replace(' ', "<space>")).paste(path);
        assert_eq!(looks(&screen), if *looked { vec![*path] } else { vec![] }, "{before}{path}");
        assert_eq!(written(&screen), format!("{before}{path}"), "it stands there at once");
    }
}

#[test]
fn a_pasted_path_becomes_one_place() {
    let one = || [seen("/a/x.png")];
    let screen = pasted(open(), "/a/x.png", &one());
    assert_eq!(written(&screen), "@\"/a/x.png\" ");
    assert_eq!(written(&screen.keys("<bs><bs>")), "", "one key takes it away");

    let screen = pasted(open(), "/a/x.png", &one()).keys("<c-_>");
    assert_eq!(written(&screen), "/a/x.png", "undo brings the path back");

    // Text typed before the answer arrived keeps its place.
    let mut screen = open().keys("see<space>").paste("/a/x.png").keys(", what?");
    screen.feed(Input::Named { text: "/a/x.png".into(), images: Ok(one().to_vec()) });
    assert_eq!(written(&screen), "see @\"/a/x.png\" , what?");
    assert_eq!(written(&screen.keys("!")), "see @\"/a/x.png\" , what?!");

    // A path that was changed meanwhile is the person's text.
    let mut screen = open().paste("/a/x.png").keys("<bs>");
    screen.feed(Input::Named { text: "/a/x.png".into(), images: Ok(one().to_vec()) });
    assert_eq!(written(&screen), "/a/x.pn");

    let mut screen = open().paste("/a/x.png");
    screen.feed(Input::Named {
        text: "/a/x.png".into(),
        images: Err(ImageError::Broken { name: "/a/x.png".into() }),
    });
    assert_eq!(written(&screen), "/a/x.png");
    assert!(screen.shot().contains("/a/x.png is damaged"), "{}", screen.shot());
}

#[test]
fn images_are_counted_in_their_order() {
    let both = "/a/x.png /a/y.png";
    let mut screen = pasted(open(), both, &[seen("/a/x.png"), seen("/a/y.png")]);
    let shown = |screen: &mut Screen| {
        let shot = screen.shot();
        shot.lines().find(|line| line.starts_with(" > ")).unwrap().to_owned()
    };
    assert_eq!(shown(&mut screen), " > [image 1 · 1280×800] [image 2 · 1280×800]");
    let mut screen = screen.keys("<home><del><del>");
    assert_eq!(shown(&mut screen), " > [image 1 · 1280×800]");
    let mut screen = screen.keys("<c-_>");
    assert_eq!(shown(&mut screen), " > [image 1 · 1280×800] [image 2 · 1280×800]");
    let mut screen = screen.keys("<c-k><c-y><c-y>");
    let row = shown(&mut screen);
    assert!(row.contains("[image 2") && row.contains("[image 3") && !row.contains("[image 5"), "{row}");
}

#[test]
fn what_a_pasted_block_names_is_not_the_persons_word() {
    let block = "a line @secret.png\n".repeat(20);
    let screen = pasted(open().paste(&block).keys("see<space>"), "/a/x.png", &[seen("/a/x.png")]);
    let screen = screen.keys("<ret>");
    let ClientRequest::Prompt(Prompt { text, named }) = &prompts(&screen)[0] else {
        panic!("{:?}", prompts(&screen))
    };
    assert!(text.contains("@secret.png") && text.contains("@\"/a/x.png\""));
    assert_eq!(named.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["/a/x.png"]);
}

#[test]
fn the_clipboard_is_read_when_it_is_asked_for() {
    let ask = |clip: Result<PastedItem, String>| {
        let mut screen = open().keys("see <c-v>");
        assert!(screen.cmds.contains(&Cmd::ReadClipboard));
        screen.feed(Input::Clipboard(clip));
        screen
    };
    assert_eq!(written(&ask(Ok(PastedItem::Image(seen("/d/x.png"))))), "see @\"/d/x.png\" ");
    assert_eq!(written(&ask(Ok(PastedItem::Text("two\nlines".into())))), "see two\nlines");
    let mut screen = ask(Err("no clipboard tool found: install xclip".into()));
    assert_eq!(written(&screen), "see ");
    assert!(screen.shot().contains("no clipboard tool found"), "{}", screen.shot());

    // The answer is for the composer only.
    let mut screen = open().keys("<c-v>?");
    screen.feed(Input::Clipboard(Ok(PastedItem::Text("x".into()))));
    assert_eq!(written(&screen), "");
}

#[test]
fn drafts_and_queued_prompts_keep_images_as_their_paths() {
    let screen = pasted(open(), "/a/x.png", &[seen("/a/x.png")]).wait(1_100);
    let line = "@\"/a/x.png\"".to_owned();
    assert!(screen.asks().contains(&&ClientRequest::Draft { text: format!("{line} ") }));

    let mut screen = open().prompted("first");
    screen = pasted(screen, "/a/x.png", &[seen("/a/x.png")]).keys("<ret>");
    assert_eq!(screen.model.queue, std::slice::from_ref(&line));
    let back = pasted(open().prompted("first"), "/a/x.png", &[seen("/a/x.png")]).keys("<ret><a-up>");
    assert!(back.asks().contains(&&ClientRequest::Op(Op::TakeBack { parts: vec![text(&line)] })));
    assert_eq!(written(&back), line);

    // One that cannot be sent leaves the queue and comes back.
    let refused = || ServerMessage::Refused { text: line.clone(), reason: "x.png is too large".into() };
    screen.tell(refused());
    assert_eq!((screen.model.queue.len(), written(&screen)), (0, line.clone()));
    assert!(screen.shot().contains("Not sent: x.png is too large."), "{}", screen.shot());
    screen = screen.keys("<c-u>other");
    screen.tell(refused());
    assert_eq!(written(&screen), "other");
    assert!(screen.shot().contains("It is in the prompt history"), "{}", screen.shot());

    let mut screen = pasted(open().prompted("first"), "/a/x.png", &[seen("/a/x.png")]).keys("<ret>");
    screen.tell_event(Event::Prompted { parts: vec![text(&line), part()] });
    assert_eq!(screen.model.queue.len(), 0, "it was taken up");
}

/// Brings a screen into a state.
type State = fn(Screen) -> Screen;

#[test]
fn images_on_the_screen() {
    let states: &[(&str, State)] = &[
        ("images_in_the_composer", |screen| {
            let screen = pasted(screen.keys("what changed from "), "/a/x.png", &[seen("/a/x.png")]);
            pasted(screen.keys("to "), "/a/y.png", &[seen("/a/y.png")]).keys("?")
        }),
        ("images_sent", |screen| {
            let parts = vec![text("what is on @\"shots/x.png\" ?"), part()];
            screen.notice(ServerMessage::TurnBegan).event(Event::Prompted { parts }).text("A window.")
        }),
        ("images_opened_again", |screen| {
            let messages = vec![
                Message::User { parts: vec![text("compare"), part(), part()] },
                Message::User { parts: vec![part()] },
            ];
            let messages = messages.into_iter().map(Arc::new).collect();
            screen.notice(ServerMessage::Transcript { messages, decided: Vec::new() })
        }),
    ];
    for (name, state) in states {
        insta::assert_snapshot!(*name, at_all_sizes(|screen| state(screen).shot()));
    }
}

// --- the whole program

fn with(script: &str, wire: Wire) -> (Co, Service) {
    let service = Service::new(script);
    let co = Co::new().with(&service, wire).file("work/a.png", png()).file("work/b.gif", gif());
    (
        co.file("work/text.png", "no image").file("work/large.png", [png(), vec![0; 10_000_000]].concat()),
        service,
    )
}

/// How the wire says an image.
fn sent(wire: Wire, media_type: &str, bytes: &[u8]) -> String {
    let data = STANDARD.encode(bytes);
    match wire {
        Wire::Anthropic => {
            format!(
                "{{\"type\":\"image\",\"source\":{{\"type\":\"base64\",\"media_type\":\"{media_type}\",\"data\":\"{data}\"}}"
            )
        }
        Wire::Chat => {
            format!("{{\"type\":\"image_url\",\"image_url\":{{\"url\":\"data:{media_type};base64,{data}\"}}")
        }
        Wire::Responses => {
            format!("{{\"type\":\"input_image\",\"image_url\":\"data:{media_type};base64,{data}\"")
        }
        Wire::Gemini => {
            format!("{{\"inlineData\":{{\"mimeType\":\"{media_type}\",\"data\":\"{data}\"}}")
        }
        Wire::Ollama => format!("\"{data}\""),
    }
}

#[test]
fn printed_prompts_carry_images() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["-p", "what is this", "--image", "a.png", "--image", "b.gif"],
            "what is this\\n\\n@\\\"a.png\\\" @\\\"b.gif\\\"",
        ),
        (&["-p", "what is @a.png, and @b.gif?"], "what is @a.png, and @b.gif?"),
    ];
    for wire in Wire::ALL {
        for (args, words) in cases {
            let (co, service) = with("reply\n  text A window.\n  usage 4000 3", wire);
            co.run(args).check(0, "A window.\n", "");
            let body = service.asked(1);
            for wanted in [*words, &sent(wire, "image/png", &png()), &sent(wire, "image/gif", &gif())] {
                assert!(body.contains(wanted), "{wanted} in {body}");
            }
            service.is_content();
        }
    }
}

#[test]
fn what_cannot_be_sent_is_told_before_anything_is() {
    let cases: &[(&[&str], &str, &str)] = &[
        (&["-p", "x", "--image", "gone"], "", "there is no file gone"),
        (
            &["-p", "x", "--image", "text.png"],
            "",
            "text.png is not a supported image; convert it to PNG, JPEG, GIF or WebP",
        ),
        (&["-p", "see @large.png"], "", "large.png is larger than 10 MB; shrink it first"),
        (&["-p", "see @shot.jpg"], "", "there is no file shot.jpg"),
        (
            &["--plain", "--image", "a.png"],
            "hi",
            "`--image` needs a printed prompt\n    `co -p \"what is this?\" --image FILE`, or write `@FILE` into the prompt",
        ),
        (&["-p", "x", "--image", "."], "", ". cannot be read: it is not a regular file"),
    ];
    for (args, stdin, error) in cases {
        let (co, service) = with("reply\n  text never", Wire::Chat);
        co.piped(stdin, args).check(2, "", &format!("co: error: {error}\n"));
        assert_eq!(service.server.requests().len(), 0);
        assert_eq!(co.run(&["sessions", "--json"]).out, "[]\n", "{args:?}");
    }
}

#[test]
fn what_is_piped_in_names_no_files() {
    let (co, service) = with("reply\n  text ok", Wire::Chat);
    co.piped("see @a.png and @gone.png", &["-p", "review this"]).check(0, "ok\n", "");
    assert!(!service.asked(1).contains("image_url"));
}

#[test]
fn plain_prompts_carry_images_too() {
    let (co, service) = with("reply\n  text A window.", Wire::Anthropic);
    let ran = co.piped("see @large.png\nwhat is on @a.png?\n", &["--plain"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("Warning, prompt: Not sent: large.png is larger than 10 MB"), "{}", ran.out);
    assert!(ran.out.contains("Image 1: a.png, 1280 by 800."), "{}", ran.out);
    assert!(service.asked(1).contains(&sent(Wire::Anthropic, "image/png", &png())));
    assert_eq!(service.server.requests().len(), 1);
}

#[test]
fn a_face_hears_what_was_attached_and_what_was_not() {
    let (co, service) = interactive::with("reply\n  text One.\nreply\n  text Two.");
    let co = co.file("work/a.png", png()).file("home-is-not-here.png", png());
    interactive::run(&service, async {
        let mut client = interactive::open(&co, SessionTarget::New);
        client.line("see @gone.png").await;
        let refused = client.until("why not", |update| match update {
            Update::Message(ServerMessage::Refused { text, reason }) => Some((text.clone(), reason.clone())),
            Update::Event(_) | Update::Message(_) => None,
        });
        assert_eq!(refused.await, ("see @gone.png".to_owned(), "there is no file gone.png".to_owned()));

        client.line("see @a.png").await;
        assert_eq!(client.reply().await, "One.");
        client.header(|header| header.title == "see [image]").await;
        client.idle().await;
        let named = mentions("@~/home-is-not-here.png");
        client.ask(ClientRequest::Prompt(Prompt { text: "@a.png".into(), named })).await;
        assert_eq!(client.reply().await, "Two.");
        let lines = client.close().await;
        assert_eq!(lines[0], "co: session \"see [image]\" saved");

        let mut client = interactive::open(&co, SessionTarget::Latest);
        let messages = client.until("transcript", |update| match update {
            Update::Message(ServerMessage::Transcript { messages, .. }) => Some(messages.clone()),
            Update::Event(_) | Update::Message(_) => None,
        });
        let first = kit::without_situation(&messages.await[0]);
        assert_eq!(first, Message::User { parts: vec![self::text("see @a.png"), part()] });
        client.close().await;
    });
    assert!(service.asked(2).matches("\"image/png\"").count() == 2, "{}", service.asked(2));
}

#[test]
fn prompts_with_images_are_queued_and_taken_back() {
    let (co, service) = interactive::with("reply\n  text One\n  gate go\n  text .\nreply\n  text Two.");
    let co = co.file("work/a.png", png());
    interactive::run(&service, async {
        let mut client = interactive::open(&co, SessionTarget::New);
        client.line("first").await;
        service.server.gate().reached("go").await;
        client.line("apples @a.png").await;
        client.line("pears @a.png").await;
        client.ask(ClientRequest::Op(Op::TakeBack { parts: vec![text("apples @a.png")] })).await;
        // It is answered after all earlier messages were handled.
        client.line("/history").await;
        client.local().await;
        service.server.gate().release("go");
        assert_eq!(client.reply().await, "One.");
        assert_eq!(client.reply().await, "Two.");
        client.close().await;
    });
    let asked = service.asked(2);
    assert!(asked.contains("pears @a.png") && !asked.contains("apples"), "{asked}");
    assert_eq!(asked.matches("\"image/png\"").count(), 1, "{asked}");
}

/// A program of the desktop that gives out what it is asked for.
fn fake_xclip(co: Co, body: &str) -> Co {
    use std::os::unix::fs::PermissionsExt as _;
    let co = co.file("bin/xclip", format!("#!/bin/sh\n{body}\n"));
    let bin = co.home().join("bin");
    std::fs::set_permissions(bin.join("xclip"), std::fs::Permissions::from_mode(0o755)).unwrap();
    // Only what is here is found; the script names its own tools.
    co.env("PATH", bin.display().to_string())
}

fn terminal(co: &Co) -> Terminal {
    let launch = Launch::new(env!("CARGO_BIN_EXE_co"), co.workspace());
    let terminal = Terminal::start(&launch.envs(co.variables().to_vec()).size(80, 24));
    terminal.wait_for("new session");
    terminal
}

#[test]
fn on_a_real_terminal_paths_and_the_clipboard_become_images() {
    let (co, service) = with("reply\n  text A window.", Wire::Anthropic);
    let script = "case \"$*\" in *TARGETS) echo TARGETS; echo image/png;; *image/png) /bin/cat \"$HOME/work/clip.png\";; esac";
    let mut clip = png();
    clip[19] = 7;
    let co = fake_xclip(co.file("work/clip.png", &clip), script);
    let mut screen = terminal(&co);
    screen.paste(&format!("{}/a.png", co.workspace().display()));
    screen.wait_for("[image 1 · 1280×800]");
    screen.keys("<c-v>");
    screen.wait_for("[image 2 · 1287×800]");
    screen.keys("differ?<ret>");
    screen.wait_for("[image 1 · 1280×800 · a.png]");
    screen.wait_for("A window.");
    screen.keys("<c-d>");
    assert_eq!(screen.wait_exit().code, 0);
    let body = service.asked(1);
    assert!(body.contains(&STANDARD.encode(png())) && body.contains(&STANDARD.encode(&clip)), "{body}");
}

#[test]
fn a_clipboard_without_an_image_is_told() {
    let cases = [
        ("case \"$*\" in *TARGETS) echo UTF8_STRING;; *) printf 'just words';; esac", "> just words"),
        ("exit 1", "the clipboard has no image or text"),
        ("exec /bin/sleep 1000", "the clipboard did not answer within 3 seconds"),
        (
            "case \"$*\" in *TARGETS) echo image/png;; *) printf 'no image';; esac",
            "the clipboard image is not a supported image",
        ),
    ];
    for (script, told) in cases {
        let co = fake_xclip(Co::new(), script);
        let mut screen = terminal(&co);
        screen.keys("<c-v>");
        screen.wait_for(told);
        screen.keys("<c-u><c-d>");
        assert_eq!(screen.wait_exit().code, 0);
    }
    let co = Co::new();
    let nowhere = co.home().display().to_string();
    let mut screen = terminal(&co.env("PATH", nowhere));
    screen.keys("<c-v>");
    screen.wait_for("no clipboard tool found");
}
