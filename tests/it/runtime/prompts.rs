//! The prompt of a session: what changes its prefix and what does not; custom commands.

use co::frontend::protocol::{ServerMessage, Tone, Update};
use co::provider::anthropic::Anthropic;
use co::provider::{ModelRequest, WireCodec as _};
use co::runtime::SessionTarget;
use serde_json::Value;

use super::interactive::{Client, open, run, with};
use crate::cli::prompts::system;
use crate::co::{Co, Service, Wire};

/// Sends a line and waits for the answer.
async fn turn(client: &mut Client, line: &str) {
    client.line(line).await;
    client.reply().await;
    client.idle().await;
}

fn sent(service: &Service, number: usize) -> (String, Value) {
    let body: Value = serde_json::from_str(&service.asked(number)).unwrap();
    (system(Wire::Anthropic, &body), body["tools"].clone())
}

/// The request that a turn is said to have sent is the one that came over the wire, byte for byte.
fn shown(co: &Co, service: &Service, turn: usize) -> Value {
    let turn_text = turn.to_string();
    let ran = co.run(&["prompt", "show", "--turn", &turn_text, "--request", "1", "--json"]).json();
    let one = ran["prompts"][0].clone();
    let messages: Vec<co::message::Message> = serde_json::from_value(one["messages"].clone()).unwrap();
    let mut request = ModelRequest::new("m".to_owned(), messages);
    request.cache_key = ran["session"].as_str().map(ToOwned::to_owned);
    let encoded: Value = serde_json::from_slice(&Anthropic.encode(&request).unwrap().body).unwrap();
    let body: Value = serde_json::from_str(&service.asked(turn)).unwrap();
    assert_eq!(encoded["messages"].to_string(), body["messages"].to_string(), "{turn}");
    one
}

#[test]
fn what_a_request_sent_can_be_shown_and_why() {
    let (co, service) = with(&"reply\n  text Ok.\n".repeat(4));
    let co = co.env("CO_CLI_MAX_HISTORY_MESSAGES", "4");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.idle().await;
        for line in ["one", "two", "three", "four"] {
            turn(&mut client, line).await;
        }
        client.line("/status prompt 4 1").await;
        let (_, text, _) = client.local().await;
        assert!(
            text.contains("at most 4 of the newest were sent") && text.contains("from `message 1`"),
            "{text}"
        );
        client.close().await;
    });
    for turn in 1..=4 {
        let one = shown(&co, &service, turn);
        let left_out = one["left_out"].as_array().unwrap().len();
        assert_eq!((left_out, one["messages"].as_array().unwrap().len()), (turn / 4, 2 * turn - 1), "{one}");
    }
    let text = co.run(&["prompt", "show", "--turn", "4", "--request", "1"]).out;
    assert!(text.contains("── user (conversation, 1 tokens) message 1\none\n"), "{text}");
    let ran = co.run(&["prompt", "show", "--turn", "4", "--request", "2"]);
    assert!(ran.err.contains("there is no request 2 of turn 4: it has had 1 that ended"), "{ran:?}");
}

/// The places of some parts, as `/status prompt` lists them.
async fn places(client: &mut Client) -> String {
    client.line("/status prompt").await;
    let (title, text, _) = client.local().await;
    assert_eq!(title, "prompt");
    text
}

#[test]
fn the_prefix_changes_when_it_is_said_to() {
    let (co, service) = with(&"reply\n  text Ok.\n".repeat(5));
    let co = co.file("work/AGENTS.md", "Use tabs.").trusting();
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.idle().await;
        let text = places(&mut client).await;
        for line in [
            "**`identity`** (prefix, ",
            "**`style`** (prefix, ",
            "**`AGENTS.md`** (prefix, ",
            "**`tools`** (prefix, beside the text, ",
            "**`situation`** (tail, ",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        turn(&mut client, "one").await;
        // A change at the tail leaves the prefix as it is.
        client.line("/mode auto").await;
        client.local().await;
        turn(&mut client, "two").await;
        client.line("/personality Parrot").await;
        let (_, text, tone) = client.local().await;
        assert_eq!(tone, Tone::Warning);
        assert!(text.contains("`finch`, `jeff`, `friendly`, `terse`, `inquisitive`"), "{text}");
        client.line("/personality terse").await;
        assert!(client.local().await.1.contains("The prefix of the prompt changes with it"));
        turn(&mut client, "three").await;
        turn(&mut client, "four").await;
        // A file that was changed suspends the trust in the folder, so that its text is gone.
        std::fs::write(co.workspace().join("AGENTS.md"), "Use spaces.").unwrap();
        client.line("five").await;
        let said = client
            .until("the change", |update| match update {
                Update::Message(ServerMessage::Local { title, text, .. }) if title == "prompt" => {
                    Some(text.clone())
                }
                Update::Event(_) | Update::Message(_) => None,
            })
            .await;
        assert_eq!(said, "The prompt changed (`AGENTS.md`): its prefix is sent anew with the next request.");
        client.reply().await;
        client.idle().await;
        client.line("/status prompt 2").await;
        let (_, earlier, _) = client.local().await;
        assert!(earlier.contains("patient mentor") && earlier.contains("- Mode: auto"), "{earlier}");
        client.line("/status prompt 6").await;
        assert!(client.local().await.1.contains("there is no turn 6: the session has had 5"));
        client.close().await;
    });
    // The prompt shown of each turn is the one that was sent, byte for byte.
    for turn in 1..=5 {
        let whole = co.run(&["prompt", "show", "--turn", &turn.to_string(), "--json"]).json();
        shown(&co, &service, turn);
        let prompts = whole["prompts"].as_array().unwrap();
        let system = co.named(&sent(&service, turn).0);
        assert_eq!((prompts.len(), prompts[0]["system"].as_str()), (1, Some(system.as_str())), "{turn}");
        let parts = prompts[0]["parts"].as_array().unwrap();
        assert!(parts.iter().all(|part| !part["source"].as_str().unwrap().is_empty()), "{whole}");
        let situation = parts.iter().find(|part| part["name"] == "situation").unwrap();
        let mode = if turn == 1 { "- Mode: ask" } else { "- Mode: auto" };
        assert!(situation["text"].as_str().unwrap().contains(mode), "{turn}: {situation}");
    }
    let all: Vec<_> = (1..=5).map(|number| sent(&service, number)).collect();
    assert_eq!(all[0], all[1], "the mode is no part of the prefix");
    assert!(service.asked(2).contains("- Mode: auto"));
    assert_ne!(all[1].0, all[2].0);
    assert_eq!(all[1].1, all[2].1);
    assert!(all[2].0.contains("As few words as possible") && !all[2].0.contains("patient mentor"));
    assert_eq!(all[2], all[3]);
    assert!(
        all[3].0.contains("Use tabs.")
            && !all[4].0.contains("Use tabs.")
            && !all[4].0.contains("Use spaces.")
    );
}

#[test]
fn commands_of_files_are_sent_as_text() {
    let (co, service) = with("reply\n  text One.\nreply\n  text Two.\nreply\n  text Three.");
    let co = co
        .file(
            ".config/co/commands/greet.md",
            "---\ndescription: Say hello\nargument-hint: <name>\n---\nGreet $1 {{ x }}.",
        )
        .file(".config/co/commands/help.md", "not this")
        .file("work/.claude/commands/git/tidy.md", "---\nallowed-tools: Bash\n---\nTidy up.")
        .file("work/.co/commands/greet.md", "the project's");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let (_, text, _) = client.local().await;
        assert!(text.contains("help.md` has no effect: `/help` is `built-in` already; rename it."), "{text}");
        assert!(!text.contains("tidy.md"), "the folder is not trusted: {text}");
        client.idle().await;
        turn(&mut client, "/greet 'Ada $1'").await;
        client.line("/git:tidy").await;
        assert!(client.local().await.1.starts_with("`/git:tidy` is not a command"));
        // Trusted while the program runs: what it was shown counts.
        client.line("/trust").await;
        assert!(client.local().await.1.contains("2 commands"));
        client.line("/trust yes").await;
        client.local().await;
        client.line("/help").await;
        let (_, said, _) = client.local().await;
        assert!(
            said.contains(
                "`.claude/commands/git/tidy.md` is only sent as text; this has no effect: `allowed-tools`."
            ),
            "{said}"
        );
        assert!(said.contains("`.co/commands/greet.md` has no effect: `/greet` is "), "{said}");
        let (_, list, _) = client.local().await;
        assert!(list.contains("- `/git:tidy`: Tidy up. (from `.claude/commands/git/tidy.md`)"), "{list}");
        assert!(list.contains("- `/greet <name>`: Say hello (from "), "{list}");
        turn(&mut client, "/git:tidy now").await;
        // A file that is new counts at once.
        std::fs::write(co.home().join(".config/co/commands/fresh.md"), "I am new.").unwrap();
        turn(&mut client, "/FRESH").await;
        client.close().await;
    });
    assert!(service.asked(1).contains("Greet Ada $1 {{ x }}."));
    // Text of a file of the project is marked as such; the user's words are what was typed.
    let asked = service.asked(2);
    for text in ["/git:tidy now", "a command of the project that the user chose", "Tidy up.\\n\\nnow"] {
        assert!(asked.contains(text), "{text}: {asked}");
    }
    assert!(service.asked(3).contains("I am new."));
}

#[test]
fn a_guide_is_drafted_by_the_model_and_asks() {
    let (co, service) = with(
        "reply\n  call write_file {\"path\":\"AGENTS.md\",\"content\":\"# x\\n\"} | id=w1\nreply\n  text Ok.\nreply\n  text Updated.",
    );
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.idle().await;
        // Not even automatic approval answers what changes the words to the model.
        client.line("/yolo").await;
        client.local().await;
        client.line("/init").await;
        let request = client.asked().await;
        assert_eq!(co.read("AGENTS.md"), None);
        client.decide(&request, co::approval::Approval::yes()).await;
        client.reply().await;
        client.idle().await;
        assert_eq!(co.read("AGENTS.md").as_deref(), Some("# x\n"));
        client.line("/init").await;
        let (_, text, _) = client.local().await;
        assert_eq!(text, "There is `AGENTS.md` already, so the model is asked to update it.");
        client.reply().await;
        client.idle().await;
        client.close().await;
    });
    assert!(service.asked(1).contains("Write an AGENTS.md for this project"));
    assert!(service.asked(3).contains("This project has AGENTS.md. Read it"));
}
