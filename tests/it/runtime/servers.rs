//! Tool servers of a running session: changed from its list, asked for prompts, and asking the user.

use co::agent::port::{Event, Op};
use co::approval::{Approval, Request, RequestId};
use co::frontend::protocol::{
    ClientQuery, ClientRequest, QueryAnswer, ServerChange, ServerLine, ServerMessage, Update,
};
use co::message::ToolName;
use co::runtime::SessionTarget;
use co::tool::mcp::ListedTool;
use serde_json::json;

use super::interactive::{Client, open, run};
use crate::cli::mcp::with_server;
use crate::co::{Co, Service};

fn with(script: &str, more: &str) -> (Co, Service) {
    let service = Service::new(script);
    (with_server(&service, &[], more), service)
}

/// The list of servers, once it is as wanted.
async fn servers(client: &mut Client, wanted: impl Fn(&ServerLine) -> bool) -> ServerLine {
    client
        .until("list of servers", |update| match update {
            Update::Message(
                ServerMessage::ServersChanged { servers } | ServerMessage::Servers { servers, .. },
            ) => servers.lines.iter().find(|line| wanted(line)).cloned(),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
}

async fn asked(client: &mut Client) -> Request {
    asked_after(client, None).await
}

/// Waits for another question than this one, which may be sent again.
async fn asked_after(client: &mut Client, known: Option<&Request>) -> Request {
    client
        .until("question", |update| match update {
            Update::Message(ServerMessage::Waiting { requests }) => {
                let is_new = |one: &&Request| known.is_none_or(|known| known.id != one.id);
                requests.iter().filter(is_new).find(|one| one.tool.as_str() == "question").cloned()
            }
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
}

async fn decide(client: &Client, request: &Request, approval: Approval) {
    client.decide(&request.id, approval).await;
}

fn is_on(line: &ServerLine, tool: &str) -> bool {
    line.tools.iter().any(|one| one.own_name == tool && one.is_on)
}

#[test]
fn servers_and_tools_are_switched_while_a_session_runs() {
    let (co, service) = with("reply\n  text One.\nreply\n  text Two.\nreply\n  text Three.\n", "");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("/mcp").await;
        servers(&mut client, |line| line.name == "s" && is_on(line, "echo") && line.facts.len() > 2).await;
        client.line("one").await;
        assert_eq!(client.reply().await, "One.");
        let off = ServerChange::SwitchTool { name: "s".into(), tool: "echo".into(), on: false };
        client.ask(ClientRequest::Server(off)).await;
        servers(&mut client, |line| line.name == "s" && !is_on(line, "echo") && is_on(line, "note")).await;
        client.line("two").await;
        assert_eq!(client.reply().await, "Two.");
        let off = ServerChange::Switch { name: "s".into(), on: false, content: None };
        client.ask(ClientRequest::Server(off)).await;
        servers(&mut client, |line| line.name == "s" && !line.is_on).await;
        client.line("three").await;
        assert_eq!(client.reply().await, "Three.");
        let wanted = |line: &ServerLine| line.name == "s" && line.state.ends_with("tools");
        client
            .ask(ClientRequest::Server(ServerChange::Switch { name: "s".into(), on: true, content: None }))
            .await;
        assert!(!is_on(&servers(&mut client, wanted).await, "echo"), "kept in the settings");
        client.close().await;
    });
    let asked: Vec<String> = (1..=3).map(|at| service.asked(at).clone()).collect();
    for (at, has_echo, has_note) in [(0, true, true), (1, false, true), (2, false, false)] {
        assert_eq!(asked[at].contains("\"s_echo\""), has_echo, "{at}");
        assert_eq!(asked[at].contains("\"s_note\""), has_note, "{at}");
    }
    let text = std::fs::read_to_string(co.home().join(".config/co/config.toml")).unwrap();
    assert!(text.contains("tools = [\"!echo\"]") && text.contains("enabled = true"), "{text}");
}

/// The end of the last connection's program does not end the program of the next one.
#[test]
fn a_server_that_is_connected_anew_answers() {
    let (co, service) =
        with("reply\n  call s_note {\"text\": \"x\"}\nreply\n  text Done.\n", "approval = \"never\"");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        servers(&mut client, |line| line.state.ends_with("tools")).await;
        for _ in 0..4 {
            client.ask(ClientRequest::Server(ServerChange::Reconnect { name: "s".into() })).await;
            let (_, text, _) = client.local().await;
            assert_eq!(text, "`s`: 15 tools");
        }
        // The command is handled once the server has answered.
        client.seen.clear();
        client.line("/mcp reconnect s").await;
        assert_eq!(client.query(ClientQuery::Handled).await, QueryAnswer::Handled);
        let says = |update: &Update| matches!(update, Update::Message(ServerMessage::Local { text, .. }) if text == "`s`: 15 tools");
        assert!(client.seen.iter().any(says), "{:#?}", client.seen);
        client.line("go").await;
        assert_eq!(client.reply().await, "Done.");
        client.close().await;
    });
    assert!(service.asked(2).contains("noted"), "{}", service.asked(2).clone());
    assert_eq!(co.read("notes.txt").as_deref(), Some("x\n"));
}

#[test]
fn names_that_had_to_be_changed_are_said() {
    let service = Service::new("");
    let co = with_server(&service, &["escapes"], "");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let line = servers(&mut client, |line| line.tools.len() > 12).await;
        let about = |is: &dyn Fn(&str) -> bool| {
            line.tools.iter().find(|tool| is(&tool.own_name)).map(ListedTool::description).unwrap()
        };
        assert_eq!(about(&|name| name == "note"), "Appends a line to a file.");
        let long = about(&|name| name.starts_with("long"));
        assert!(long.starts_with("called s_long") && long.ends_with("here: Is long."), "{long}");
        assert!(about(&|name| name.contains('\u{1b}')).starts_with("called s_e"), "{:?}", line.tools);
        client.close().await;
    });
}

#[test]
fn a_prompt_of_a_server_is_a_slash_command() {
    let (co, service) = with("reply\n  text Hello Ada.\n", "");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let line = client
            .until("prompt", |update| match update {
                Update::Message(ServerMessage::Offered { prompts, .. }) => prompts.first().cloned(),
                Update::Event(_) | Update::Message(_) => None,
            })
            .await;
        assert_eq!((line.name.as_str(), line.usage.as_str()), ("s:greet", "name=… [style=…]"));
        assert_eq!(line.args, ["name=", "style="]);
        for (command, argument, typed, expected) in [
            ("s:greet", "style", "k", vec!["kind", "keen"]),
            ("@s:note://{name}", "name", "c", vec!["curt"]),
            ("s:nothing", "style", "k", Vec::new()),
        ] {
            let query = ClientQuery::Suggest {
                command: command.into(),
                argument: argument.into(),
                typed: typed.into(),
            };
            let values = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(client.query(query).await, QueryAnswer::Suggest { values }, "{command}");
        }
        client.line("/s:greet style=kind").await;
        let (_, text, _) = client.local().await;
        assert!(text.starts_with("name is needed"), "{text}");
        client.line("/s:greet name='Ada L.'").await;
        assert_eq!(client.reply().await, "Hello Ada.");
        client.close().await;
    });
    let asked = service.asked(1).clone();
    assert!(asked.contains("Say hello to Ada L., as the server words it."), "{asked}");
    assert!(asked.contains("/s:greet name='Ada L.'"), "{asked}");
}

/// A question is a card: values that do not fit are asked for again, and the call waits longer than its own time.
#[test]
fn a_server_asks_the_user_in_the_middle_of_a_call() {
    let script =
        "reply\n  call s_ask {}\nreply\n  call s_visit {}\nreply\n  call s_ask {}\nreply\n  text Done.\n";
    let (co, service) = with(script, "approval = \"never\"\ncall_timeout = 1\n");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("travel").await;
        let first = asked(&mut client).await;
        assert_eq!(first.args, json!({ "class": "second" }), "what the form proposes");
        assert!(first.parameters.is_some() && first.plan.summary.contains("server s"), "{first:?}");
        // A round may hold questions of servers and other requests.
        let gone = RequestId("gone".into());
        let decisions = [first.id.clone(), gone.clone()].map(|id| (id, Approval::yes())).to_vec();
        client.ask(ClientRequest::Op(Op::Decide { decisions })).await;
        let lost = client.until("loss", |update| match update {
            Update::Event(Event::DecisionsLost { requests, .. }) => Some(requests.clone()),
            Update::Event(_) | Update::Message(_) => None,
        });
        assert_eq!(lost.await, [gone]);
        let again = asked_after(&mut client, Some(&first)).await;
        assert!(again.again.as_ref().is_some_and(|why| why.contains("city")), "a city is needed");
        let values = json!({ "class": "second", "city": "Oslo" });
        client.decide(&again.id, Approval::to(ToolName::new("question"), values)).await;
        let visit = asked_after(&mut client, Some(&again)).await;
        assert!(format!("{:?}", visit.plan.preview).contains("pay.example"), "{visit:?}");
        decide(&client, &visit, Approval::Deny { reason: None }).await;
        let last = asked_after(&mut client, Some(&visit)).await;
        decide(&client, &last, Approval::Deny { reason: None }).await;
        assert_eq!(client.reply().await, "Done.");
        client.close().await;
    });
    let told = service.asked(4).clone().replace('\\', "");
    for part in [r#""city":"Oslo""#, r#""action":"accept""#, r#""action":"decline""#] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_server_asks_the_user_in_the_middle_of_a_task() {
    let service = Service::new("reply\n  call s_task {}\nreply\n  text Done.\n");
    let co = with_server(&service, &["curious"], "approval = \"never\"\n");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("take your time").await;
        let question = asked(&mut client).await;
        assert!(format!("{:?}", question.plan.preview).contains("Which one?"), "{question:?}");
        client.decide(&question.id, Approval::to(ToolName::new("question"), json!({ "one": "b" }))).await;
        assert_eq!(client.reply().await, "Done.");
        client.close().await;
    });
    let told = service.asked(2).replace('\\', "");
    assert!(told.contains("the task knows") && told.contains(r#""one":"b""#), "{told}");
}

/// A closed session leaves no question behind that seems to wait.
#[test]
fn a_question_is_withdrawn_with_its_session() {
    let (co, service) = with("reply\n  call s_ask {}\n", "approval = \"never\"\n");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("travel").await;
        let question = asked(&mut client).await;
        assert_eq!(co.waiting(), std::slice::from_ref(&question.id.0));
        client.close().await;
        let store = super::interactive::elsewhere(&co).await;
        let stored = store.find_request(&question.id.0).await.unwrap();
        assert_eq!(stored.state, co::store::RequestState::Withdrawn);
    });
}
