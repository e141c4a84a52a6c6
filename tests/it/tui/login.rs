//! Setting up a service on the screen: the list, the form, the models; what the keys do, and that a key is never shown.

use co::frontend::protocol::{
    ClientRequest, Consent, Credentials, LoginFailure, LoginNeed, LoginReason, ModelLine, ServerMessage,
    ServiceLine,
};

use crate::tui::kit::{Screen, at_all_sizes};

fn check(name: &str, state: impl Fn(Screen) -> Screen) {
    insta::assert_snapshot!(name, at_all_sizes(|screen| state(screen).shot()));
}

fn service(name: &str, title: &str, address: LoginNeed, key: LoginNeed, note: &str) -> ServiceLine {
    let keys_url = (key == LoginNeed::Needed).then_some("https://keys.example/new");
    ServiceLine { name: name.into(), title: title.into(), address, key, keys_url, note: note.into() }
}

fn services(why: LoginReason) -> ServerMessage {
    use LoginNeed::{Known, Needed, Optional};
    let services = vec![
        service("ollama", "Ollama", Known, Known, "answers on this machine"),
        service("anthropic", "Anthropic", Known, Needed, ""),
        service("openai", "OpenAI", Known, Needed, ""),
        service("groq", "Groq", Known, Needed, ""),
        service("azure-openai", "Azure OpenAI", Needed, Needed, ""),
        service("lmstudio", "LM Studio", Known, Known, "runs on your own machine"),
        service("openai-compatible", "OpenAI-compatible server", Needed, Optional, ""),
    ];
    ServerMessage::Services { services, why }
}

fn tried(service: &str, outcome: Result<&[&str], &str>) -> ServerMessage {
    let line =
        |model: &&str| ModelLine { name: format!("{service}/{model}"), note: String::new(), current: false };
    let outcome = outcome
        .map(|models| models.iter().map(line).collect())
        .map_err(|words| LoginFailure::Failed(words.to_owned()));
    ServerMessage::LoginTried { service: service.to_owned(), outcome }
}

/// Nothing was sent yet: the key would be seen.
fn in_the_open(service: &str) -> ServerMessage {
    let words = "The key for groq would be sent unencrypted to http://h.test/v1; anyone on the network can read it. Use \
                 https://, or a tunnel to this machine.";
    ServerMessage::LoginTried {
        service: service.to_owned(),
        outcome: Err(LoginFailure::Unencrypted(words.to_owned())),
    }
}

const REFUSED: &str =
    "groq rejected this key: Invalid API Key (401); copy the whole key again, or create a new one.";

#[test]
fn the_screens_of_a_first_run() {
    check("login_first", |screen| screen.notice(services(LoginReason::First)));
    check("login_filtered", |screen| screen.notice(services(LoginReason::Asked)).keys("open"));
    check("login_key", |screen| {
        screen.notice(services(LoginReason::First)).keys("groq<ret>").paste("gsk-hunter2\n")
    });
    check("login_address", |screen| {
        screen
            .notice(services(LoginReason::First))
            .keys("azure<ret>")
            .paste("https://me.openai.azure.com")
            .keys("<ret>")
    });
    check("login_wrong_address", |screen| {
        screen.notice(services(LoginReason::First)).keys("compatible<ret>127.0.0.1:8000<ret>")
    });
    check("login_trying", |screen| {
        screen.notice(services(LoginReason::First)).keys("groq<ret>").paste("gsk-hunter2").keys("<ret>")
    });
    check("login_refused", |screen| {
        let screen = screen.notice(services(LoginReason::First)).keys("groq<ret>").paste("gsk-hunter2");
        screen.keys("<ret>").notice(tried("groq", Err(REFUSED)))
    });
    check("login_unencrypted", |screen| {
        let screen = screen.notice(services(LoginReason::First)).keys("groq<ret>").paste("gsk-hunter2");
        screen.keys("<ret>").notice(in_the_open("groq"))
    });
    check("login_replaced", |screen| {
        let services = vec![service("groq", "Groq", LoginNeed::Known, LoginNeed::Optional, "a key is set")];
        screen.notice(ServerMessage::Services { services, why: LoginReason::Asked }).keys("<ret>")
    });
    check("login_models", |screen| {
        let screen = screen.notice(services(LoginReason::First)).keys("groq<ret>").paste("gsk-hunter2");
        screen.keys("<ret>").notice(tried("groq", Ok(&["llama-3.3-70b", "openai/gpt-oss-120b"])))
    });
    check("login_server_is_off", |screen| {
        let screen = screen.notice(services(LoginReason::Asked)).keys("studio<ret>");
        screen
            .notice(tried("lmstudio", Err("lmstudio cannot be reached: connection refused; start it first.")))
    });
    check("models_none_matches", |screen| {
        let models = vec![ModelLine { name: "groq/a".into(), note: String::new(), current: true }];
        screen.notice(ServerMessage::Models { models }).keys("gpt")
    });
    check("models_to_switch_to", |screen| {
        let line =
            |name: &str, note: &str, current| ModelLine { name: name.into(), note: note.into(), current };
        let models = vec![
            line("offline/tour", "built in: not a language model, shows how `co` works", false),
            line("groq/llama-3.3-70b", "from your settings", true),
            line("ollama/qwen3:8b", "Ollama (port 11434) on this machine", false),
        ];
        screen.notice(ServerMessage::Models { models })
    });
}

#[test]
fn models_come_in_while_the_list_is_open() {
    let line = |name: &str, note: &str, current| ModelLine { name: name.into(), note: note.into(), current };
    let first = vec![line("groq/llama", "from your settings", true), line("offline/tour", "built in", false)];
    let facts = "200k, $3.00/$15.00 per M, thinking, images";
    let all = vec![first[0].clone(), line("anthropic/claude-sonnet-5", facts, false), first[1].clone()];
    let failed = vec!["openai: the key was refused: Incorrect API key (401)".to_owned()];
    let open = |screen: Screen| screen.notice(ServerMessage::Models { models: first.clone() }).keys("<down>");
    let news =
        |pending| ServerMessage::ModelsChanged { models: all.clone(), failed: failed.clone(), pending };
    check("models_live", |screen| open(screen).notice(news(0)));
    let screen = open(Screen::open(80, 24)).notice(news(1));
    assert_eq!(told(&screen.keys("<ret>")), ["switch offline/tour"], "the chosen one stays chosen");
    let asked = Screen::open(80, 24).keys("<a-p>");
    assert_eq!(asked.asks(), [&ClientRequest::ListModels]);
}

/// The requests sent to the owner, in words.
fn told(screen: &Screen) -> Vec<String> {
    let asks = screen.asks();
    let word = |ask: &&ClientRequest| match ask {
        ClientRequest::Login(Credentials { service, base_url, key, unencrypted }) => {
            let key = key.as_ref().map(|key| key.expose().to_owned());
            let open = if *unencrypted == Consent::Given { " in the open" } else { "" };
            Some(format!("try {service} {base_url:?} {key:?}{open}"))
        }
        ClientRequest::SkipLogin => Some("skip".to_owned()),
        ClientRequest::SwitchModel { name } => Some(format!("switch {name}")),
        ClientRequest::KeepModel { name } => Some(format!("keep {name}")),
        _ => None,
    };
    asks.iter().filter_map(word).collect()
}

#[test]
fn keys_lead_from_a_service_to_its_model() {
    use LoginReason::{Asked, First};
    type Walk = fn(Screen) -> Screen;
    let groq: Walk = |screen| screen.keys("groq<ret>").paste(" gsk-1\nmore").keys("x<bs><ret>");
    let cases: Vec<(LoginReason, Walk, &[&str])> = vec![
        (First, |screen| screen.keys("<esc>"), &["skip"]),
        (Asked, |screen| screen.keys("<esc>"), &[]),
        (First, |screen| screen.keys("<down><down><esc>"), &["skip"]),
        (First, |screen| screen.keys("groq<ret><esc><esc>"), &["skip"]),
        (First, groq, &["try groq None Some(\"gsk-1\")"]),
        // Nothing is tried without what is needed.
        (First, |screen| screen.keys("groq<ret><ret>"), &[]),
        (First, |screen| screen.keys("azure<ret><ret>"), &[]),
        // A server of one's own wants nothing.
        (First, |screen| screen.keys("<ret>"), &["try ollama None None"]),
        (
            First,
            |screen| screen.keys("compatible<ret>").paste("http://h:1/v1").keys("<ret><ret>"),
            &["try openai-compatible Some(\"http://h:1/v1\") None"],
        ),
        // An invalid address is reported at once, and the typed key is kept.
        (First, |screen| screen.keys("azure<ret>").paste("me.azure.com").keys("<ret>k-1<ret>"), &[]),
        (
            First,
            |screen| {
                let screen = screen.keys("azure<ret>").paste("h").keys("<tab>").paste("k-1").keys("<ret>");
                screen.keys("<home>").paste("https://").keys("<ret><ret>")
            },
            &["try azure-openai Some(\"https://h\") Some(\"k-1\")"],
        ),
        (
            First,
            |screen| {
                let screen = screen.keys("azure<ret>").paste("https://h").keys("<tab>").paste("k-1");
                screen.keys("<tab><tab><ret>")
            },
            &["try azure-openai Some(\"https://h\") Some(\"k-1\")"],
        ),
        (
            First,
            |screen| {
                let screen = screen.keys("groq<ret>").paste("gsk-1").keys("<ret>");
                screen.notice(tried("groq", Ok(&["a", "b"]))).keys("<down><ret>")
            },
            &["try groq None Some(\"gsk-1\")", "keep groq/b"],
        ),
        // Only y sends a key that others could read.
        (
            First,
            |screen| {
                let screen = screen.keys("groq<ret>").paste("k").keys("<ret>").notice(in_the_open("groq"));
                screen.keys("<ret> <tab>n<bs>").paste("y").keys("Y")
            },
            &["try groq None Some(\"k\")"],
        ),
        (
            First,
            |screen| {
                screen.keys("groq<ret>").paste("k").keys("<ret>").notice(in_the_open("groq")).keys("yy<ret>")
            },
            &["try groq None Some(\"k\")", "try groq None Some(\"k\") in the open"],
        ),
        // A service that names no models takes any.
        (
            First,
            |screen| screen.keys("<ret>").notice(tried("ollama", Ok(&[]))).keys("m1<ret>"),
            &["try ollama None None", "keep ollama/m1"],
        ),
        // An answer without an open request changes nothing.
        (
            First,
            |screen| {
                screen
                    .keys("<ret><esc>")
                    .notice(tried("ollama", Ok(&["a"])))
                    .keys("<down><down><down><ret>")
                    .paste("k")
                    .keys("<ret>")
            },
            &["try ollama None None", "try groq None Some(\"k\")"],
        ),
    ];
    for (at, (why, walk, expected)) in cases.into_iter().enumerate() {
        let screen = walk(Screen::open(80, 24).notice(services(why)));
        assert_eq!(told(&screen), expected, "{at}");
    }
    let screen = Screen::open(80, 24).notice(ServerMessage::Models {
        models: vec![ModelLine { name: "a/b".into(), note: String::new(), current: true }],
    });
    assert_eq!(told(&screen.keys("<ret>")), ["switch a/b"]);
}

#[test]
fn the_offer_is_in_nobodys_way() {
    let typing = Screen::open(80, 24).keys("hi").notice(services(LoginReason::First)).keys("<ret>");
    assert!(
        typing.asks().iter().any(|ask| matches!(ask, ClientRequest::Line { text } if text == "hi")),
        "{:?}",
        typing.asks()
    );
    let running = Screen::open(80, 24).prompted("hello").notice(services(LoginReason::First));
    assert!(told(&running.keys("<esc>")).is_empty());
    // Asked for, it comes in any case.
    let mut asked = Screen::open(80, 24).keys("hi").notice(services(LoginReason::Asked));
    assert!(asked.shot().contains("set up a service"));
}

/// A key is on no screen, in no draft, in no line, and not in the model's own form.
#[test]
fn a_typed_key_is_nowhere_to_be_seen() {
    let mut screen = Screen::open(80, 24)
        .notice(services(LoginReason::First))
        .keys("groq<ret>")
        .paste("gsk-hunter2-0123456789");
    screen = screen.keys("hunter2<c-_><c-y><left><home><c-r>");
    assert!(!screen.shot().contains("hunter2") && !format!("{:?}", screen.model).contains("hunter2"));
    screen = screen.keys("<ret>").notice(tried("groq", Err(REFUSED))).keys("<esc><esc><c-y><up>");
    assert!(!screen.shot().contains("hunter2") && !format!("{:?}", screen.model).contains("hunter2"));
    screen.pass(20_000);
    assert!(!format!("{:?}", screen.cmds).contains("hunter2"), "no draft has it");
}
