//! Changes by a user to a conversation: compacting it, undoing that, copying it, going back in it.

use co::frontend::protocol::{ServerMessage, Update};
use co::message::{Message, UserPart};
use co::runtime::SessionTarget;

use super::interactive::{Client, open, run, with};
use crate::co::Service;

async fn transcript(client: &mut Client) -> Vec<String> {
    client
        .until("transcript", |update| match update {
            Update::Message(ServerMessage::Transcript { messages, .. }) => {
                Some(messages.iter().map(|one| told(one)).collect())
            }
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
}

async fn draft(client: &mut Client) -> String {
    client
        .until("draft", |update| match update {
            Update::Message(ServerMessage::Draft { text }) => Some(text.clone()),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
}

fn told(message: &Message) -> String {
    match message {
        Message::User { parts } => parts
            .iter()
            .map(|part| match part {
                UserPart::Text { text } => text.as_str(),
                UserPart::Image { .. } | UserPart::Note { .. } => "",
            })
            .collect(),
        Message::Assistant(reply) => reply.text(),
        Message::ToolReturns { .. } => "returns".to_owned(),
    }
}

/// The bodies of the first requests.
pub fn all_asked(service: &Service, count: usize) -> Vec<String> {
    (1..=count).map(|number| service.asked(number)).collect()
}

#[test]
fn a_conversation_is_compacted_by_hand_and_brought_back() {
    let long = "  text*200 \"A long answer. \"";
    let script = format!(
        "reply\n{long}\nreply\n  text Two.\nreply\n  text They spoke.\nreply\n  text Three.\nreply\n  text Four."
    );
    let (co, service) = with(&script);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        for prompt in ["first", "second"] {
            client.line(prompt).await;
            client.reply().await;
            client.idle().await;
        }
        client.line("/compact undo").await;
        assert_eq!(client.local().await.1, "This session has no compaction that can be undone.");
        let used = |client: &Client| {
            let of = |update: &Update| match update {
                Update::Message(ServerMessage::Header(header)) => header.context.map(|context| context.used),
                Update::Event(_) | Update::Message(_) => None,
            };
            client.seen.iter().rev().find_map(of).unwrap()
        };
        let before = used(&client);
        client.line("/compact the names").await;
        client.idle().await;
        assert!(before > 0 && used(&client) != before, "the count of before is not shown: {before}");
        client.line("third").await;
        assert_eq!(client.reply().await, "Three.");
        client.idle().await;
        client.line("/compact undo").await;
        client.local().await;
        client.line("fourth").await;
        assert_eq!(client.reply().await, "Four.");
        client.close().await;
    });
    let asked = all_asked(&service, 5);
    assert!(
        asked[2].contains("Keep above all, in detail: the names") && asked[2].contains("> first"),
        "{}",
        asked[2]
    );
    assert!(asked[3].contains("They spoke.") && !asked[3].contains("A long answer."), "{}", asked[3]);
    assert!(asked[4].contains("A long answer.") && !asked[4].contains("They spoke."), "{}", asked[4]);
    // People read all of it, and the words are found.
    let json = co.run(&["sessions", "search", "long", "answer", "--json"]);
    assert!(json.out.contains("A long answer"), "{json:?}");
}

#[test]
fn a_fork_goes_on_in_a_copy() {
    let (co, service) =
        with("reply\n  text One.\nreply\n  text In the copy.\nreply\n  text In the original.");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("first").await;
        client.reply().await;
        client.idle().await;
        client.line("/fork try it otherwise").await;
        assert_eq!(transcript(&mut client).await, ["first", "One."]);
        assert_eq!(client.reply().await, "In the copy.");
        client.idle().await;
        client.close().await;
    });
    let listed = co.run(&["sessions", "--json"]);
    assert_eq!(listed.out.matches("\"title\": \"first\"").count(), 2, "{listed:?}");
    assert!(service.asked(2).contains("try it otherwise"));
}

#[test]
fn going_back_returns_the_prompt_and_says_what_stays_done() {
    let script = "reply\n  text One.\nreply\n  call write_file {\"path\":\"a.txt\",\"content\":\"x\"}\nreply\n  text Two.\nreply\n  text Other.";
    let (co, service) = with(script);
    let co = co.file(".config/co/rules.toml", "[[rule]]\neffect = \"allow\"\ntool = \"write_file\"\n");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        for prompt in ["first", "elephants"] {
            client.line(prompt).await;
            client.end().await;
            client.idle().await;
        }
        client.line("/rewind 7").await;
        assert_eq!(client.local().await.1, "There is no prompt `7`. Nothing was changed.");
        client.line("/rewind 1").await;
        assert_eq!(transcript(&mut client).await, ["first", "One."]);
        assert_eq!(draft(&mut client).await, "elephants");
        let (_, text, _) = client.local().await;
        assert!(text.contains("not undone") && text.contains("write_file"), "{text}");
        client.line("otherwise").await;
        assert_eq!(client.reply().await, "Other.");
        client.close().await;
    });
    let asked = all_asked(&service, 4);
    assert!(!asked[3].contains("elephants"), "{}", asked[3]);
    assert!(asked[3].contains("What was done after it is not undone"), "{}", asked[3]);
    assert_eq!(co.read("a.txt").as_deref(), Some("x"));
}
