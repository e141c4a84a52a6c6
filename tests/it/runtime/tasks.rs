//! Commands in the background of a session: started by the model, or moved there by the user.

use co::agent::port::Event;
use co::approval::Approval;
use co::frontend::protocol::{ClientRequest, ServerMessage, Update};
use co::runtime::SessionTarget;
use serde_json::json;

use super::interactive::{Client, open, run, with};
use crate::end_to_end::kit::sent_lines;

const ALLOW: &str = "[[rule]]\neffect = \"allow\"\ntool = \"shell\"\nargs.command = { glob = \"**\" }\n";

async fn shell_ended(client: &mut Client) -> String {
    client
        .until("end of the command", |update| match update {
            Update::Message(ServerMessage::ShellEnded { outcome, .. }) => Some(outcome.clone()),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
}

#[test]
fn the_model_starts_reads_writes_and_ends_a_task() {
    let command = "echo ready; read line; echo got $line; sleep 300";
    let script = format!(
        "reply\n  call shell {}\nreply\n  call write_task {}\nreply\n  call end_task {}\nreply\n  call read_task {}\nreply\n  text Done.",
        json!({ "command": command, "background": true }),
        json!({ "task": 1, "text": "hello\n" }),
        json!({ "task": 1 }),
        json!({ "task": 2 }),
    );
    let (co, service) = with(&script);
    // A rule cannot answer what types into a program.
    let all = "[[rule]]\neffect = \"allow\"\ntool = [\"shell\", \"write_task\"]\n";
    let co = co.file(".config/co/rules.toml", all);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("serve it").await;
        for _ in 0..2 {
            let request = client.asked().await;
            client.decide(&request, Approval::yes()).await;
        }
        assert_eq!(client.reply().await, "Done.");
        client.close().await;
    });
    let told = sent_lines(&service, 5).join("\n");
    for part in [
        "task 1: running\nready",
        "got hello",
        "task 1: ended by request",
        "there is no task 2 in this session; tasks end when co does",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let ran = co.run(&["tasks", "--all"]);
    assert!(ran.out.contains("/1  ended by request"), "{ran:?}");
    assert!(co.run(&["tasks", "show", "1"]).out.contains("ready\ngot hello"));
}

#[test]
fn what_runs_can_be_moved_to_the_background() {
    let moved = json!({ "command": "echo begun; sleep 300" });
    let (co, service) = with(&format!("reply\n  call shell {moved}\nreply\n  text Done."));
    let co = co.file(".config/co/rules.toml", ALLOW);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("!echo mine; sleep 300").await;
        client
            .until("output", |update| {
                matches!(update, Update::Message(ServerMessage::ShellOutput { .. })).then_some(())
            })
            .await;
        client.ask(ClientRequest::Background).await;
        assert_eq!(shell_ended(&mut client).await, "in the background as task 1; `/tasks` lists it");
        // Another process sees it, and ends it.
        let listed = co.run(&["tasks"]);
        assert!(listed.out.contains("/1  running  echo mine; sleep 300"), "{listed:?}");
        assert_eq!(co.run(&["tasks", "end", "1"]).code, Some(0));
        let (_, text, _) = client.local().await;
        assert_eq!(text, "Task 1 (`echo mine; sleep 300`) ended: ended by signal 9.");

        client.line("go").await;
        client
            .until("output of the call", |update| {
                matches!(update, Update::Event(Event::ToolProgress { .. })).then_some(())
            })
            .await;
        client.ask(ClientRequest::Background).await;
        assert_eq!(client.reply().await, "Done.");
        client.idle().await;
        client.line("/tasks").await;
        let (_, text, _) = client.local().await;
        assert!(text.contains("- 2: `echo begun; sleep 300`, running; output in"), "{text}");
        client.line("/clear").await;
        let (_, text, _) = client.local().await;
        assert_eq!(text, "1 task was ended with its session.");
        client.close().await;
    });
    let told = sent_lines(&service, 2).join("\n");
    assert!(told.contains("moved it to the background: it is task 2 now"), "{told}");
    assert!(told.contains("Task 1 (`echo mine; sleep 300`) ended"), "{told}");
    assert!(co.run(&["tasks"]).out.starts_with("Nothing runs in the background"));
}
