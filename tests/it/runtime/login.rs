//! Setting up a service, spoken as a front end does: what is offered, tried, kept; and the screen of a first run in a terminal.

use co::config::Secret;
use co::frontend::protocol::{ClientRequest, Consent, Credentials, LoginReason, ServerMessage, Update};
use co::runtime::SessionTarget;
use kit::replay::server::Page;
use memchr::memmem;

use crate::co::{Co, Service};
use crate::runtime::interactive::{open, run};
use crate::tui::terminal::{Launch, Terminal};

const KEY: &str = "gsk-hunter2-0123456789";

fn service() -> Service {
    let models = "{\"data\": [{\"id\": \"replay\"}, {\"id\": \"other\"}]}";
    let page = Page { path: "/v1/models".to_owned(), status: 200, body: models.to_owned() };
    Service::serving("reply\n  text Hello.\n", vec![page])
}

fn fresh() -> Co {
    Co::new().env("CO_WELCOME", "true")
}

fn try_work(service: &Service) -> ClientRequest {
    ClientRequest::Login(Credentials {
        service: "openai-compatible".to_owned(),
        base_url: Some(format!("{}/v1/", service.server.url())),
        key: Some(Secret::new(KEY.to_owned())),
        unencrypted: Consent::NotAsked,
    })
}

/// All bytes of all files below the home folder but the key file.
fn everything(co: &Co) -> Vec<u8> {
    let (mut bytes, mut folders) = (Vec::new(), vec![co.home()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() && !path.ends_with("auth/keys.toml") {
                bytes.extend(std::fs::read(&path).unwrap());
            }
        }
    }
    bytes
}

fn holds_the_key(bytes: &[u8]) -> bool {
    memmem::find(bytes, b"hunter2").is_some()
}

#[test]
fn a_service_is_tried_kept_and_answers() {
    let service = service();
    let co = fresh();
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let why = client
            .until("services", |update| match update {
                Update::Message(ServerMessage::Services { why, services }) => {
                    assert_eq!(services[0].name, "anthropic");
                    Some(*why)
                }
                Update::Message(_) | Update::Event(_) => None,
            })
            .await;
        assert_eq!(why, LoginReason::First);
        client.ask(try_work(&service)).await;
        let models = client
            .until("models", |update| match update {
                Update::Message(ServerMessage::LoginTried { outcome, .. }) => Some(outcome.clone().unwrap()),
                Update::Message(_) | Update::Event(_) => None,
            })
            .await;
        let names: Vec<&str> = models.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["openai-compatible/other", "openai-compatible/replay"]);
        client.ask(ClientRequest::KeepModel { name: "openai-compatible/replay".to_owned() }).await;
        client.header(|header| header.model == "replay").await;
        client.line("hi").await;
        assert_eq!(client.reply().await, "Hello.");
        assert!(!format!("{:?}", client.seen).contains("hunter2"));
        client.close().await;
    });
    let asked = service.server.requests();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let settings = std::fs::read_to_string(co.home().join(".config/co/config.toml")).unwrap();
    assert!(settings.starts_with("model = \"openai-compatible/replay\"\n"), "{settings}");
    assert!(!holds_the_key(&everything(&co)));
    let ran = co.run(&["status"]);
    assert!(ran.out.contains("model     openai-compatible/replay (from the settings)\n"), "{ran:?}");
}

#[test]
fn a_skipped_offer_does_not_come_back() {
    let service = service();
    let co = fresh();
    let is_offer = |update: &Update| matches!(update, Update::Message(ServerMessage::Services { .. }));
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.until("services", |update| is_offer(update).then_some(())).await;
        client.ask(ClientRequest::SkipLogin).await;
        let marked = co.data().join("auth/skipped");
        while !marked.exists() {
            client.line("/keys").await;
            client
                .until("keys", |update| {
                    matches!(update, Update::Message(ServerMessage::Keys { .. })).then_some(())
                })
                .await;
        }
        client.close().await;
        let mut again = open(&co, SessionTarget::New);
        again.idle().await;
        again.line("hi").await;
        again.end().await;
        assert!(!again.seen.iter().any(is_offer));
        again.line("/login").await;
        again.until("services", |update| is_offer(update).then_some(())).await;
        again.close().await;
    });
}

#[test]
fn a_first_run_on_a_terminal() {
    let service = service();
    let co = fresh();
    let start = || Terminal::start(&launch(&co, &[]).size(80, 24));
    let mut screen = start();
    screen.wait_for("Choose a model provider");
    screen.keys("compatible");
    screen.wait_for("1 of ");
    screen.keys("<ret>");
    screen.wait_for("set up OpenAI-compatible server");
    screen.paste(&format!("{}/v1", service.server.url()));
    screen.keys("<ret>");
    screen.paste(KEY);
    screen.wait_for("****");
    screen.keys("<ret>");
    screen.wait_for("choose a model");
    screen.keys("replay<ret>");
    screen.wait_for("openai-compatible replay");
    screen.keys("hi<ret>");
    screen.wait_for("Hello.");
    screen.keys("/quit<ret>");
    screen.wait_exit();
    assert!(!holds_the_key(&screen.raw()), "the terminal never saw the key");
    assert!(!holds_the_key(&everything(&co)));
    let again = start();
    again.wait_for("openai-compatible replay");
    assert!(!again.screen().contains("Choose a model provider"));
}

#[test]
fn a_first_run_in_lines() {
    let service = service();
    let co = fresh();
    let start = |co: &Co| Terminal::start(&launch(co, &["--plain"]).size(100, 50));
    let other = fresh();
    let mut skipped = start(&other);
    skipped.wait_for("press Enter to skip:");
    skipped.keys("<ret>");
    skipped.wait_for("Skipped; you will not be asked again.");
    skipped.kill();

    let mut lines = start(&co);
    let shown = lines.wait_for("press Enter to skip:");
    let number = shown.lines().find(|line| line.contains("OpenAI-compatible server")).unwrap();
    let number = number.split(':').next().unwrap().trim().to_owned();
    lines.keys(&format!("{number}<ret>"));
    lines.wait_for("Address");
    lines.keys(&format!("{}/v1<ret>", service.server.url()));
    lines.wait_for("it is not shown");
    lines.keys(&format!("{KEY}<ret>"));
    lines.wait_for("press Enter for later:");
    lines.keys("2<ret>");
    lines.wait_for("is now the model");
    lines.keys("hi<ret>");
    lines.wait_for("Hello.");
    lines.keys("/quit<ret>");
    lines.wait_exit();
    assert!(!holds_the_key(&lines.raw()), "the terminal never saw the key");
    assert!(!holds_the_key(&everything(&co)));
}

fn launch(co: &Co, args: &[&str]) -> Launch {
    Launch::new(env!("CARGO_BIN_EXE_co"), co.workspace()).args(args).envs(co.variables().to_vec())
}
