//! The owner of an interactive session, spoken to as a front end does, with a real store and a model over real HTTP.
//!
//! No screen takes part: the test holds the front end's two channels. Each wait is for an update, never for a time.

use std::sync::Arc;
use std::time::Duration;

use co::accounts::{Models, Pace};
use co::agent::port::{Event, Op};
use co::app::{begin_store, open_store};
use co::approval::{Approval, AutoApprove, Decider, RequestId};
use co::frontend::protocol::{
    ClientQuery, ClientRequest, Header, QueryAnswer, QueryId, ServerMessage, Tone, Update,
};
use co::history::TurnEnd;
use co::message::{Message, UserPart};
use co::provider::catalog::{OLLAMA, Probe};
use co::runtime::SessionTarget;
use co::runtime::interactive::{Interactive, interactive};
use co::stdx::clock::SystemClock;
use co::store::{DecideOutcome, Store};
use co::telemetry::Telemetry;
use co::workspace::{World, load_settings};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::co::{Co, Service, Wire};

/// No update takes this long; a test that waits for one that never comes ends here.
const DEADLINE: Duration = Duration::from_secs(30);

/// A client without a screen.
pub struct Client {
    asks: mpsc::Sender<ClientRequest>,
    updates: co::frontend::channel::FrontendUpdates,
    pub seen: Vec<Update>,
    queries: u64,
    owner: JoinHandle<Result<(), co::app::AppError>>,
}

fn world(co: &Co) -> World {
    World {
        env: co.variables().iter().cloned().collect(),
        workspace: co.workspace(),
        clock: Arc::new(SystemClock),
        private: None,
        telemetry: Telemetry::default(),
    }
}

fn models(co: &Co) -> Models {
    let world = world(co);
    let loaded = load_settings(&world, Vec::new()).unwrap();
    Models::choose(&loaded.settings, Arc::clone(&world.clock), Pace::Instant).unwrap()
}

pub fn open(co: &Co, target: SessionTarget) -> Client {
    open_with(co, target, models(co))
}

fn open_with(co: &Co, target: SessionTarget, models: Models) -> Client {
    let world = world(co);
    let loaded = load_settings(&world, Vec::new()).unwrap();
    let (asks, requests) = mpsc::channel(64);
    let (updates, received) = co::frontend::channel::updates();
    let run = Interactive {
        store: begin_store(&world, &loaded.settings).unwrap(),
        world,
        loaded,
        models: Arc::new(models),
        target,
        asks: requests,
        updates,
        decider: Decider::Tui,
    };
    Client { asks, updates: received, seen: Vec::new(), queries: 0, owner: tokio::spawn(interactive(run)) }
}

impl Client {
    pub async fn ask(&self, ask: ClientRequest) {
        self.asks.send(ask).await.unwrap();
    }

    pub async fn line(&self, text: &str) {
        self.ask(ClientRequest::Line { text: text.to_owned() }).await;
    }

    pub async fn decide(&self, request: &RequestId, approval: Approval) {
        self.ask(ClientRequest::Op(Op::decide(request.clone(), approval))).await;
    }

    /// The next update that `wanted` makes something of; those before it are kept in `seen`.
    pub async fn until<T>(&mut self, what: &str, wanted: impl Fn(&Update) -> Option<T>) -> T {
        loop {
            let next = tokio::time::timeout(DEADLINE, self.updates.recv()).await;
            let Ok(Some(update)) = next else { panic!("no {what} came after {:#?}", self.seen) };
            let found = wanted(&update);
            self.seen.push(update);
            if let Some(found) = found {
                return found;
            }
        }
    }

    pub async fn idle(&mut self) {
        self.until("Idle", |update| (*update == Update::Message(ServerMessage::Idle)).then_some(())).await;
    }

    /// Waits for the text of a whole reply.
    pub async fn reply(&mut self) -> String {
        self.until("reply", |update| match update {
            Update::Event(Event::TextCommitted { text }) => Some(text.clone()),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
    }

    pub async fn end(&mut self) -> TurnEnd {
        self.until("end of the turn", |update| match update {
            Update::Event(Event::TurnEnded { end }) => Some(end.clone()),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
    }

    pub async fn query(&mut self, query: ClientQuery) -> QueryAnswer {
        self.queries += 1;
        let asked = QueryId(self.queries);
        self.ask(ClientRequest::Query { id: asked, query }).await;
        self.until("answer", |update| match update {
            Update::Message(ServerMessage::Answer { id, answer }) if *id == asked => Some(answer.clone()),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
    }

    pub async fn asked(&mut self) -> RequestId {
        self.until("request", |update| match update {
            Update::Event(Event::ApprovalNeeded { request }) => Some(request.id.clone()),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
    }

    pub async fn local(&mut self) -> (String, String, Tone) {
        self.until("local words", |update| match update {
            Update::Message(ServerMessage::Local { title, text, tone }) => {
                Some((title.clone(), text.clone(), *tone))
            }
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
    }

    pub async fn header(&mut self, right: impl Fn(&Header) -> bool) -> Header {
        self.until("header", |update| match update {
            Update::Message(ServerMessage::Header(header)) if right(header) => Some(header.clone()),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
    }

    /// How many requests wait, by the last event.
    pub async fn waiting(&mut self, count: usize) {
        self.until("list of what waits", |update| match update {
            Update::Message(ServerMessage::Waiting { requests }) if requests.len() == count => Some(()),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await;
    }

    /// Closes, and gives the words for the normal screen.
    pub async fn close(mut self) -> Vec<String> {
        self.ask(ClientRequest::Close).await;
        let lines = self
            .until("goodbye", |update| match update {
                Update::Message(ServerMessage::Goodbye { lines }) => Some(lines.clone()),
                Update::Event(_) | Update::Message(_) => None,
            })
            .await;
        drop(self.updates);
        self.owner.await.unwrap().unwrap();
        lines
    }
}

pub async fn elsewhere(co: &Co) -> Store {
    let world = world(co);
    let loaded = load_settings(&world, Vec::new()).unwrap();
    open_store(&world, &loaded.settings).await.unwrap()
}

pub fn with(script: &str) -> (Co, Service) {
    let service = Service::new(script);
    let co = Co::new().with(&service, Wire::Anthropic);
    (co, service)
}

/// Drives the test on the service's own runtime, which must not be dropped inside of another one.
pub fn run(service: &Service, test: impl Future<Output = ()>) {
    service.runtime.block_on(test);
    service.is_content();
}

pub const WRITES: &str = "reply\n  text I write.\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"} | id=w1\nreply\n  text Done.";

#[test]
fn a_prompt_is_answered_saved_and_gone_on_with() {
    let (co, service) = with("reply\n  text Hello.\n  usage 20 2\nreply\n  text Again.");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let first = client.header(|_| true).await;
        assert_eq!(
            (first.title.as_str(), first.provider.as_str(), first.isolation.word()),
            ("new session", "anthropic", "unsandboxed")
        );
        client.line("what is here?").await;
        assert_eq!(client.reply().await, "Hello.");
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.header(|header| header.title == "what is here?").await;
        client.idle().await;
        let lines = client.close().await;
        assert_eq!(lines, ["co: session \"what is here?\" saved", "    co -c            continue"]);

        let mut client = open(&co, SessionTarget::Latest);
        let messages = client
            .until("transcript", |update| match update {
                Update::Message(ServerMessage::Transcript { messages, .. }) => Some(messages.clone()),
                Update::Event(_) | Update::Message(_) => None,
            })
            .await;
        assert_eq!(messages.len(), 2);
        assert_eq!(kit::without_situation(&messages[0]), Message::user("what is here?"));
        client.line("and now?").await;
        assert_eq!(client.reply().await, "Again.");
        client.line("exit").await;
        client
            .until("goodbye", |update| {
                matches!(update, Update::Message(ServerMessage::Goodbye { .. })).then_some(())
            })
            .await;
    });
}

#[test]
fn nothing_that_is_no_prompt_reaches_a_model() {
    let (co, service) = with("reply\n  text ok");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        for (line, title) in [
            ("/help", "commands"),
            ("/tools", "tools"),
            ("/history", "history"),
            ("/status", "status"),
            ("/approvals", "approvals"),
            ("/stauts", "unknown command"),
            ("!", "shell"),
        ] {
            client.line(line).await;
            assert_eq!(client.local().await.0, title, "{line}");
        }
        client.line("   ").await;
        assert_eq!(client.close().await, Vec::<String>::new(), "nothing happened, nothing is kept");
        assert_eq!(service.server.requests().len(), 0);
    });
    assert_eq!(co.run(&["sessions", "--json"]).out, "[]\n");
}

#[test]
fn commands_of_the_person_run_beside_and_only_shared_ones_are_told() {
    let (co, service) = with("reply\n  text ok");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let ended = |update: &Update| match update {
            Update::Message(ServerMessage::ShellEnded { outcome, .. }) => Some(outcome.clone()),
            Update::Event(_) | Update::Message(_) => None,
        };
        client.line("!echo shared; exit 3").await;
        assert_eq!(client.until("its end", ended).await, "exit 3");
        client.line("!!echo private").await;
        assert_eq!(client.until("its end", ended).await, "exit 0");
        let output: Vec<&str> = client
            .seen
            .iter()
            .filter_map(|update| match update {
                Update::Message(ServerMessage::ShellOutput { text }) => Some(text.as_str()),
                Update::Event(_) | Update::Message(_) => None,
            })
            .collect();
        assert_eq!(output, ["shared\n", "private\n"]);
        client.line("!sleep 1000").await;
        client.line("!echo second").await;
        assert_eq!(client.local().await.1, "`sleep 1000` is still running; stop it first.");
        client.ask(ClientRequest::StopShell).await;
        assert_eq!(client.until("its end", ended).await, "stopped");
        client.line("what did I run?").await;
        assert_eq!(client.reply().await, "ok");
        let asked = service.asked(1);
        assert!(asked.contains("`echo shared; exit 3` themselves: exit 3."), "{asked}");
        assert!(!asked.contains("private"), "{asked}");
        client.close().await;
    });
}

#[test]
fn a_request_is_decided_at_the_card() {
    let (co, service) = with(WRITES);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("write").await;
        let request = client.asked().await;
        client.decide(&request, Approval::yes()).await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        assert_eq!(co.read("a.txt").as_deref(), Some("one\n"));
        client.close().await;
    });
}

#[test]
fn a_deferred_turn_goes_on_by_itself_once_another_process_decides() {
    let (co, service) = with(WRITES);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("write").await;
        let request = client.asked().await;
        client.ask(ClientRequest::Op(Op::Defer)).await;
        assert_eq!(client.end().await, TurnEnd::Deferred);
        client.waiting(1).await;
        client.idle().await;
        let other = elsewhere(&co).await;
        let outcome = other.decide(&request, Approval::yes(), Decider::Cli).await.unwrap();
        assert_eq!(outcome, DecideOutcome::Recorded);
        assert_eq!(client.end().await, TurnEnd::Completed);
        assert_eq!(co.read("a.txt").as_deref(), Some("one\n"));
        // Too late: the first answer counts.
        client.decide(&request, Approval::Deny { reason: None }).await;
        assert_eq!(
            client.local().await.1,
            "This request was already approved by you (co approvals); nothing was changed."
        );
        client.close().await;
    });
}

#[test]
fn the_last_lines_say_where_an_approval_waits() {
    let (co, service) =
        with("reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"}\nreply\n  text Hello.\n");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("write").await;
        client.asked().await;
        client.ask(ClientRequest::Op(Op::Defer)).await;
        client.idle().await;
        client.close().await;

        let mut client = open(&co, SessionTarget::New);
        client.line("hello").await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        let lines = client.close().await;
        assert_eq!(lines[0], "co: session \"hello\" saved · 1 approval waiting in another session");
    });
}

#[test]
fn what_is_decided_between_turns_resumes_here_too() {
    let (co, service) = with(WRITES);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("write").await;
        let request = client.asked().await;
        client.ask(ClientRequest::Op(Op::Defer)).await;
        client.idle().await;
        let lines = client.close().await;
        assert_eq!(lines[0], "co: session \"write\" saved · 1 approval waiting");

        let mut client = open(&co, SessionTarget::Latest);
        client.waiting(1).await;
        client.decide(&request, Approval::yes()).await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        assert_eq!(co.read("a.txt").as_deref(), Some("one\n"));
        client.close().await;
    });
}

#[test]
fn a_prompt_leaves_what_waits_behind_and_its_late_outcome_is_a_note() {
    let (co, service) = with(&format!("{WRITES}\nreply\n  text Third."));
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("write").await;
        let request = client.asked().await;
        client.ask(ClientRequest::Op(Op::Defer)).await;
        client.idle().await;
        client.line("something else").await;
        assert_eq!(client.reply().await, "Done.");
        client.waiting(1).await;
        client.idle().await;
        client.decide(&request, Approval::yes()).await;
        client
            .until("the late return", |update| {
                matches!(update, Update::Event(Event::ToolReturn { .. })).then_some(())
            })
            .await;
        client.waiting(0).await;
        client.idle().await;
        assert_eq!(co.read("a.txt").as_deref(), Some("one\n"));
        assert_eq!(service.server.requests().len(), 2, "no model was asked for it");
        client.line("and?").await;
        assert_eq!(client.reply().await, "Third.");
        assert!(service.asked(3).contains("was approved later and ran"), "{}", service.asked(3));
        client.close().await;
    });
}

#[test]
fn prompts_typed_meanwhile_are_queued_and_taken_up() {
    let (co, service) = with("reply\n  text One\n  gate go\n  text , two.\nreply\n  text Three.");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("first").await;
        service.server.gate().reached("go").await;
        client.line("second").await;
        client.line("/history").await;
        assert_eq!(client.local().await.0, "history");
        service.server.gate().release("go");
        assert_eq!(client.reply().await, "One, two.");
        assert_eq!(client.reply().await, "Three.");
        client.close().await;
    });
    let asked = service.asked(2);
    assert!(asked.contains("first") && asked.contains("second"), "{asked}");
}

#[test]
fn closing_ends_what_runs_and_keeps_it() {
    let (co, service) = with("reply\n  text Half\n  hang");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("go").await;
        client
            .until("text", |update| matches!(update, Update::Event(Event::TextDelta { .. })).then_some(()))
            .await;
        client.ask(ClientRequest::Draft { text: "not sent yet".to_owned() }).await;
        let started = std::time::Instant::now();
        client.close().await;
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());

        let mut client = open(&co, SessionTarget::Latest);
        let draft = client
            .until("draft", |update| match update {
                Update::Message(ServerMessage::Draft { text }) => Some(text.clone()),
                Update::Event(_) | Update::Message(_) => None,
            })
            .await;
        assert_eq!(draft, "not sent yet");
        let kept = client.seen.iter().any(|update| match update {
            Update::Message(ServerMessage::Transcript { messages, .. }) => messages
                .iter()
                .any(|message| matches!(&**message, Message::Assistant(reply) if reply.text() == "Half")),
            Update::Event(_) | Update::Message(_) => false,
        });
        assert!(kept, "the partial text is in the transcript");
        client.close().await;
    });
}

#[test]
fn a_second_face_on_a_session_looks_on() {
    let (co, service) = with(WRITES);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("write").await;
        let request = client.asked().await;
        let mut second = open(&co, SessionTarget::Latest);
        let header = second.header(|header| header.read_only.is_some()).await;
        assert!(header.read_only.unwrap().starts_with(&format!("process {}", std::process::id())));
        assert_eq!(second.local().await.0, "read only");
        second.line("me too").await;
        assert_eq!(second.local().await.2, Tone::Warning);
        // It may decide: the owner runs it.
        second.decide(&request, Approval::yes()).await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        assert_eq!(co.read("a.txt").as_deref(), Some("one\n"));
        second.close().await;
        client.close().await;
    });
}

#[test]
fn without_a_sandbox_yolo_covers_commands_after_a_typed_yes() {
    let script = "reply\n  call shell {\"command\":\"touch one\"}\nreply\n  text Later.\n\
                  reply\n  call shell {\"command\":\"touch two\"}\nreply\n  text Done.";
    let (co, service) = with(script);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("/yolo").await;
        assert!(client.notice("yolo is on, except for commands").await.contains("`/yolo yes`"));
        client.line("one").await;
        let request = client.asked().await;
        client.decide(&request, Approval::Deny { reason: None }).await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.line("/yolo yes").await;
        client.header(|header| header.auto_approve == AutoApprove::YoloUnsandboxed).await;
        client.line("two").await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        assert_eq!((co.read("one"), co.read("two").as_deref()), (None, Some("")));
        client.close().await;
    });
}

#[test]
fn a_session_opened_again_says_who_decided_and_when() {
    let (co, service) = with(WRITES);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("write").await;
        let request = client.asked().await;
        client.decide(&request, Approval::Later).await;
        assert_eq!(client.end().await, TurnEnd::Deferred);
        client.decide(&request, Approval::yes()).await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.close().await;
        let mut client = open(&co, SessionTarget::Latest);
        let (call, decided) = client
            .until("transcript", |update| match update {
                Update::Message(ServerMessage::Transcript { messages, decided }) => {
                    let call = messages.iter().rev().find_map(|message| match &**message {
                        Message::Assistant(reply) => reply.calls().next().map(|call| call.id.clone()),
                        Message::User { .. } | Message::ToolReturns { .. } => None,
                    });
                    Some((call?, decided.clone()))
                }
                Update::Event(_) | Update::Message(_) => None,
            })
            .await;
        let told: Vec<_> = decided.iter().map(|one| (&one.call, &one.approval, &one.by)).collect();
        assert_eq!(told, [(&call, &Approval::yes(), &Decider::Tui)]);
        let age = jiff::Timestamp::now().as_second() - decided[0].at.as_second();
        assert!((0..600).contains(&age), "{age} s ago");
        client.close().await;
    });
}

#[test]
fn standing_and_model_change_at_once() {
    let (co, service) = with(WRITES);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("/yolo").await;
        client.header(|header| header.auto_approve == AutoApprove::Yolo).await;
        client.line("write").await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        let asked = |update: &Update| matches!(update, Update::Event(Event::ApprovalNeeded { .. }));
        assert!(!client.seen.iter().any(asked), "yolo answers");
        assert_eq!(co.read("a.txt").as_deref(), Some("one\n"));
        client.line("/model offline").await;
        client.header(|header| header.provider == "offline").await;
        client.line("hello").await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.line("/model openai").await;
        assert_eq!(client.local().await.2, Tone::Error, "it has no key");
        client.line("/clear").await;
        client
            .until("another session", |update| {
                (*update == Update::Message(ServerMessage::Entered)).then_some(())
            })
            .await;
        client.close().await;
        assert_eq!(service.server.requests().len(), 2, "offline asks no server");
    });
}

#[test]
fn after_a_failure_the_queue_waits_for_the_person() {
    let script = "reply\n  gate go\n  error 401 authentication_error no such key\nreply\n  text Fine.\nreply\n  text More.";
    let (co, service) = with(script);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("first").await;
        service.server.gate().reached("go").await;
        client.line("second").await;
        client.line("/history").await;
        client.local().await;
        service.server.gate().release("go");
        assert!(matches!(client.end().await, TurnEnd::Failed { .. }));
        client.idle().await;
        assert_eq!(service.server.requests().len(), 1, "the queued prompt was not spent on a broken key");
        client.line("third").await;
        assert_eq!(client.reply().await, "Fine.");
        client.idle().await;
        client.close().await;
    });
    let all: String = (2..=service.server.requests().len()).map(|number| service.asked(number)).collect();
    assert!(all.contains("second") && all.contains("third"), "{all}");
}

#[test]
fn what_cannot_be_opened_is_an_error_after_a_goodbye() {
    let service = Service::new("");
    let co =
        Co::new().with(&service, Wire::Anthropic).file(".local/share/co/co.db", "no database".repeat(500));
    service.runtime.block_on(async {
        let mut client = open(&co, SessionTarget::New);
        client
            .until("goodbye", |update| {
                matches!(update, Update::Message(ServerMessage::Goodbye { .. })).then_some(())
            })
            .await;
        drop(client.updates);
        let error = client.owner.await.unwrap().unwrap_err().to_string();
        assert!(error.contains("is not a co database"), "{error}");
    });
}

#[test]
fn a_steered_prompt_is_a_prompt_between_turns() {
    let (co, service) = with("reply\n  text ok");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let parts = vec![UserPart::Text { text: "late words".to_owned() }];
        client.ask(ClientRequest::Op(Op::Steer { parts })).await;
        assert_eq!(client.reply().await, "ok");
        client.close().await;
    });
}

#[test]
fn a_server_on_this_machine_is_found_named_and_used() {
    let service = Service::with_page(
        "reply\n  text From here.",
        "/api/tags",
        r#"{"models": [{"name": "qwen3:8b", "digest": "d"}]}"#,
    );
    let co = Co::new().env("CO_DISCOVER_LOCAL", "true");
    run(&service, async {
        let models = models(&co);
        assert!(models.may_discover());
        let place = Probe { preset: &OLLAMA, url: service.server.url() };
        models.discover_at(vec![place]).await;
        let mut client = open_with(&co, SessionTarget::New, models);
        client.header(|header| header.provider == "ollama" && header.model == "qwen3:8b").await;
        client.line("hi").await;
        let (_, told, _) = client.local().await;
        assert_eq!(told, "Using Ollama (port 11434) on this machine (`ollama/qwen3:8b`).");
        assert_eq!(client.reply().await, "From here.");
        client.line("/model").await;
        let models = client.until("the models", |update| match update {
            Update::Message(ServerMessage::Models { models }) => Some(models.clone()),
            Update::Message(_) | Update::Event(_) => None,
        });
        assert!(models.await.iter().any(|one| one.current && one.name == "ollama/qwen3:8b"));
        client.close().await;
    });
}
