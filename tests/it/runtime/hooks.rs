//! Hooks and folder trust at an interactive front end: prompts that come back, hooks that take their time, `/trust`.

use std::time::{Duration, Instant};

use co::agent::port::{Event, Op};
use co::frontend::protocol::{ClientRequest, ServerMessage, Update};
use co::history::TurnEnd;
use co::message::ReturnStatus;
use co::runtime::SessionTarget;

use crate::cli::hooks::{script, with as hooked};
use crate::co::Co;
use crate::runtime::interactive::{Client, open, run, with};

/// Refuses what is secret, and does not come back for what is slow.
const LOOKS: &str =
    "read line; case $line in *secret*) echo 'a secret' >&2; exit 2 ;; *slow*) sleep 1000 ;; esac; exit 0";

impl Client {
    async fn refused(&mut self) -> (String, String) {
        self.until("refusal", |update| match update {
            Update::Message(ServerMessage::Refused { text, reason }) => Some((text.clone(), reason.clone())),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
    }

    async fn busy(&mut self) {
        self.until("work", |update| (*update == Update::Message(ServerMessage::TurnBegan)).then_some(()))
            .await;
    }
}

fn pair(text: &str, reason: &str) -> (String, String) {
    (text.to_owned(), reason.to_owned())
}

#[test]
fn a_refused_prompt_goes_back_to_where_it_was_written() {
    let (co, service) = with("reply\n  text Hello.\n  gate go\nreply\n  text Again.");
    let co = hooked(co, "\"UserPromptSubmit\"", LOOKS);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.idle().await;
        client.line("the secret").await;
        assert_eq!(client.refused().await, pair("the secret", "h: a secret"));
        client.idle().await;
        client.line("hello").await;
        service.server.gate().reached("go").await;
        // While a turn runs it is the same.
        client.line("another secret").await;
        assert_eq!(client.refused().await, pair("another secret", "h: a secret"));
        client.line("and more").await;
        // One after the other: when this one is back, the one before is queued.
        client.line("a third secret").await;
        assert_eq!(client.refused().await.0, "a third secret");
        service.server.gate().release("go");
        assert_eq!(client.reply().await, "Hello.");
        assert_eq!(client.reply().await, "Again.");
        client.close().await;
    });
    assert!(!service.asked(2).contains("secret"));
    assert!(service.asked(2).contains("and more"));
}

#[test]
fn slow_hooks_hold_nothing_else_up() {
    let (co, service) = with("reply\n  text Hello.");
    let co = hooked(co, "\"UserPromptSubmit\"", LOOKS);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.idle().await;
        client.line("be slow").await;
        client.busy().await;
        client.line("/help").await;
        assert_eq!(client.local().await.0, "commands");
        client.ask(ClientRequest::Op(Op::Interrupt)).await;
        let stopped = "it was stopped before the hooks had looked at it";
        assert_eq!(client.refused().await, pair("be slow", stopped));
        client.idle().await;
        client.line("hello").await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.idle().await;
        client.line("slow again").await;
        client.busy().await;
        let begun = Instant::now();
        client.close().await;
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());

        let mut client = open(&co, SessionTarget::Latest);
        let draft = client
            .until("draft", |update| match update {
                Update::Message(ServerMessage::Draft { text }) => Some(text.clone()),
                Update::Event(_) | Update::Message(_) => None,
            })
            .await;
        assert_eq!(draft, "slow again", "what was not sent is not lost");
        client.close().await;
    });
}

/// A hook that waits at a named pipe until the test has received its start, and then for ever.
fn waiting(co: &Co) -> (String, std::path::PathBuf) {
    let pipe = co.home().join("up");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    ("echo up > \"$HOME/up\"; sleep 1000".to_owned(), pipe)
}

/// Who interrupts does not wait for hooks, and what had ended stays so.
#[test]
fn an_interrupt_drops_hooks() {
    for (event, end) in [("PostToolUse", TurnEnd::Interrupted), ("Stop", TurnEnd::Completed)] {
        let (co, service) = with("reply\n  call list_dir {}\nreply\n  text Done.");
        let (text, pipe) = waiting(&co);
        let events = format!("\"{event}\"\ntimeout = 600");
        let co = hooked(co, &events, &text);
        run(&service, async {
            let mut client = open(&co, SessionTarget::New);
            client.line("go").await;
            let up = tokio::task::spawn_blocking(move || std::fs::read_to_string(pipe).unwrap());
            assert_eq!(up.await.unwrap(), "up\n");
            let begun = Instant::now();
            client.ask(ClientRequest::Op(Op::Interrupt)).await;
            assert_eq!(client.end().await, end, "{event}");
            assert!(begun.elapsed() < Duration::from_secs(5), "{event}: {:?}", begun.elapsed());
            let returned = client.seen.iter().find_map(|update| match update {
                Update::Event(Event::ToolReturn { returned, .. }) => Some(returned.status),
                Update::Event(_) | Update::Message(_) => None,
            });
            assert_eq!(returned, Some(ReturnStatus::Ok), "{event}");
            client.close().await;
        });
    }
}

/// The first prompt waits for what hooks have to say of the session's start.
#[test]
fn the_start_comes_before_the_first_prompt() {
    let (co, service) = with("reply\n  text Hello.");
    let co = hooked(co, "\"SessionStart\"", "sleep 0.3; echo '{\"note\":\"be brief\"}'");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("hello").await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.close().await;
    });
    assert!(service.asked(1).contains("be brief"), "{}", service.asked(1));
}

#[test]
fn the_end_of_a_session_is_not_held_up() {
    let (co, service) = with("reply\n  text Hello.");
    let co = hooked(co, "\"SessionEnd\"", "sleep 1000");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.idle().await;
        let begun = Instant::now();
        client.close().await;
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    });
}

/// `/trust`, and a hook that is trusted from another terminal, count in the session that is open.
#[test]
fn trust_counts_at_once() {
    let calls = "reply\n  call list_dir {}\nreply\n  text Done.\n";
    let (co, service) = with(&calls.repeat(2));
    let hooks = "[[hook]]\nname = 'frozen'\nevent = 'PreToolUse'\ncommand = ['./check.sh']\n";
    let co = co.file("work/.co/hooks.toml", hooks);
    script(&co, "work/check.sh", "echo frozen >&2; exit 2");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let (title, text, _) = client.local().await;
        assert_eq!(title, "not trusted");
        assert!(text.starts_with("This folder has its own hooks (`frozen`), ignored because"), "{text}");
        client.idle().await;
        client.line("go").await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.line("/trust").await;
        let (title, text, _) = client.local().await;
        assert_eq!(title, "trust");
        assert!(text.contains("hooks (`frozen`)") && text.contains("`./check.sh`"), "{text}");
        client.line("/trust yes").await;
        let (title, text, _) = client.local().await;
        assert_eq!(title, "trust");
        assert!(text.contains("hooks (`frozen`)"), "{text}");
        let trusting = co.run(&["hooks", "trust", "frozen", "--yes"]);
        assert_eq!(trusting.code, Some(0), "{}", trusting.err);
        client.line("go").await;
        let denied = client
            .until("return", |update| match update {
                Update::Event(Event::ToolReturn { returned, .. }) => Some(returned.text()),
                Update::Event(_) | Update::Message(_) => None,
            })
            .await;
        assert_eq!(denied, "Denied by policy, not run: hook: frozen: frozen.");
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.close().await;

        let mut client = open(&co, SessionTarget::New);
        client.idle().await;
        let told = |update: &Update| matches!(update, Update::Message(ServerMessage::Local { .. }));
        assert!(!client.seen.iter().any(told), "{:#?}", client.seen);
        client.line("/trust").await;
        let text = "This folder is already trusted with its current contents.";
        assert_eq!(client.local().await.1, text);
        client.close().await;
    });
}
