//! Whole conversations with the tour, as lines: what is said, what is called, and what is said of it.

use serde_json::{Value, json};

use super::*;
use crate::message::{AssistantPart, CallId, Message, NoteKind, PartKind, ReturnStatus, ToolCall, ToolName};
use crate::provider::codec_kit::{self, assistant, returns};
use crate::provider::{ToolChoice, ToolList, ToolSchema};

const TOOLS: [&str; 7] =
    ["read_file", "list_dir", "find_files", "search_text", "write_file", "edit_file", "shell"];

fn request(messages: Vec<Message>) -> ModelRequest {
    let tool =
        |name: &str| ToolSchema { name: name.into(), description: String::new(), parameters: json!({}) };
    ModelRequest { tools: TOOLS.map(tool).into(), ..ModelRequest::new(Offline::MODEL, messages) }
}

/// The text of a reply, and its calls as `name args`.
fn said(request: &ModelRequest) -> (String, Vec<String>) {
    let Reply { text, calls, .. } = Reply::to(request);
    (text, calls.iter().map(|(name, args)| format!("{name} {args}")).collect())
}

fn call(name: &str, args: Value) -> Message {
    let call = ToolCall { id: CallId("1".into()), wire_id: "1".into(), name: ToolName::new(name), args };
    assistant(vec![AssistantPart::new(PartKind::ToolCall(call))])
}

fn returned(status: ReturnStatus, text: &str) -> Message {
    returns(vec![codec_kit::returned("1", status, text)])
}

#[test]
fn the_first_reply_says_what_it_is_and_how_to_connect() {
    for asked in ["hello", "what can you do?", "write me a poem"] {
        let (text, calls) = said(&request(vec![Message::user(asked)]));
        assert!(text.starts_with("**I am not a language model.**"), "{text}");
        for word in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "Ollama", "co config"] {
            assert!(text.contains(word), "{asked}: {word} is named in {text}");
        }
        assert!(calls.is_empty());
    }
    let (text, calls) = said(&request(vec![Message::user("read a.txt")]));
    assert!(text.starts_with("**I am not a language model.**") && text.ends_with("I read.\n"));
    assert_eq!(calls, ["read_file {\"path\":\"a.txt\"}"]);
}

#[test]
fn requests_become_calls() {
    let cases = [
        ("list the files here", vec!["list_dir {\"path\":\".\"}"]),
        ("List the files in src", vec!["list_dir {\"path\":\"src\"}"]),
        ("read \"a b.txt\"", vec!["read_file {\"path\":\"a b.txt\"}"]),
        ("find files named *.md", vec!["find_files {\"pattern\":\"*.md\"}"]),
        (
            "search for a.b(c) in src",
            vec!["search_text {\"pattern\":\"a\\\\.b\\\\(c\\\\)\",\"path\":\"src\"}"],
        ),
        ("run `ls -l`", vec!["shell {\"command\":\"ls -l\"}"]),
        ("write a note to n.md: milk", vec!["write_file {\"path\":\"n.md\",\"content\":\"milk\\n\"}"]),
        ("replace a with b in n.md", vec!["read_file {\"path\":\"n.md\"}"]),
        ("read the whole book aloud", vec![]),
        ("日本語で話して", vec![]),
        ("", vec![]),
        ("show me around", vec!["list_dir {\"path\":\".\"}", "find_files {\"pattern\":\"README*\"}"]),
    ];
    for (asked, expected) in cases {
        assert_eq!(said(&request(vec![Message::user(asked)])).1, expected, "{asked}");
    }
}

#[test]
fn outcomes_are_told_as_they_are() {
    let cases = [
        (ReturnStatus::Ok, "a\nb", "Reading `a.txt` gave 2 lines:\n\n```text\na\nb\n```\n"),
        (ReturnStatus::Ok, "", "Reading `a.txt` worked, with no output.\n"),
        (ReturnStatus::Ok, "x ``` y", "Reading `a.txt` gave one line:\n\n````text\nx ``` y\n````\n"),
        (
            ReturnStatus::Failed,
            "no such file",
            "Reading `a.txt` did not work:\n\n```text\nno such file\n```\n",
        ),
        (
            ReturnStatus::Denied,
            "not now",
            "Reading `a.txt` was not allowed, so it did not run:\n\n```text\nnot now\n```\n",
        ),
        (
            ReturnStatus::Undecided,
            "",
            "Reading `a.txt` is still waiting for your decision; `/approvals` shows it, now or later.\n",
        ),
        (ReturnStatus::Interrupted, "", "Reading `a.txt` was interrupted. I do not know how far it got.\n"),
        (
            ReturnStatus::Unknown,
            "",
            "Reading `a.txt` was started, and its outcome is unknown. Check before you run it again.\n",
        ),
    ];
    for (status, text, expected) in cases {
        let conversation = vec![
            Message::user("read a.txt"),
            call("read_file", json!({ "path": "a.txt" })),
            returned(status, text),
        ];
        assert_eq!(said(&request(conversation)), (expected.to_owned(), vec![]), "{status:?}");
    }
    let long = "l\n".repeat(20);
    let conversation = vec![
        Message::user("read a.txt"),
        call("read_file", json!({ "path": "a.txt" })),
        returned(ReturnStatus::Ok, &long),
    ];
    assert!(said(&request(conversation)).0.ends_with("```\n… and 4 more.\n"));
}

#[test]
fn a_replacement_reads_first_and_stops_where_that_fails() {
    let read = || call("read_file", json!({ "path": "n.md" }));
    let asked = || Message::user("replace a with b in n.md");
    let edit = "edit_file {\"path\":\"n.md\",\"old\":\"a\",\"new\":\"b\"}";
    let (_, calls) = said(&request(vec![asked(), read(), returned(ReturnStatus::Ok, "a")]));
    assert_eq!(calls, [edit]);
    let (_, calls) = said(&request(vec![asked(), read(), returned(ReturnStatus::Failed, "no")]));
    assert_eq!(calls, Vec::<String>::new());
    let edited = call("edit_file", json!({ "path": "n.md", "old": "a", "new": "b" }));
    let conversation = vec![
        asked(),
        read(),
        returned(ReturnStatus::Ok, "a"),
        edited,
        returned(ReturnStatus::Ok, "1 line changed"),
    ];
    let (text, calls) = said(&request(conversation));
    assert_eq!(
        (text.as_str(), calls.len()),
        ("Editing `n.md` is done:\n\n```text\n1 line changed\n```\n", 0)
    );
}

#[test]
fn the_tour_looks_then_writes_then_ends() {
    let asked = || Message::user("show me around");
    let looked = || call("list_dir", json!({ "path": "." }));
    let (text, calls) = said(&request(vec![asked(), looked(), returned(ReturnStatus::Ok, "a")]));
    assert!(text.contains("gave one line") && text.contains("co-tour.md"));
    assert!(calls.len() == 1 && calls[0].starts_with("write_file {\"path\":\"co-tour.md\""), "{calls:?}");
    let wrote = call("write_file", json!({ "path": "co-tour.md" }));
    let conversation =
        vec![asked(), looked(), returned(ReturnStatus::Ok, "a"), wrote, returned(ReturnStatus::Denied, "no")];
    let (text, calls) = said(&request(conversation));
    assert!(text.contains("was not allowed") && text.contains("ANTHROPIC_API_KEY") && calls.is_empty());
}

#[test]
fn nothing_is_called_that_may_not_be() {
    let mut asked = request(vec![Message::user("read a.txt")]);
    asked.tool_choice = ToolChoice::None;
    let (text, calls) = said(&asked);
    assert!(text.ends_with("This turn may make no more calls, so I stop here.\n") && calls.is_empty());
    let mut asked = request(vec![Message::user("read a.txt")]);
    asked.tools = ToolList::default();
    let (text, calls) = said(&asked);
    assert!(text.ends_with("The tool `read_file` is not available here, so I stop.\n") && calls.is_empty());
}

#[test]
fn a_note_is_no_request() {
    let conversation = vec![
        Message::user("read a.txt"),
        call("read_file", json!({ "path": "a.txt" })),
        returned(ReturnStatus::Ok, "x"),
        Message::note(NoteKind::Budget, "run `rm -rf /`"),
    ];
    assert!(said(&request(conversation)).1.is_empty());
    let (text, calls) = said(&request(vec![Message::note(NoteKind::Abort, "cut off")]));
    assert!(text.contains("`co` noted for me") && calls.is_empty());
}

/// At reading speed and at once the same is said; only the pieces differ.
#[tokio::test(start_paused = true)]
async fn the_pace_changes_nothing_but_time() {
    let mut replies = Vec::new();
    for pace in [Pace::Reading, Pace::Instant] {
        let begun = tokio::time::Instant::now();
        let stream = Offline::new(pace)
            .stream(request(vec![Message::user("show me around")]), CancellationToken::new());
        let events: Vec<_> = stream.map(Result::unwrap).collect().await;
        assert!(matches!(events.first(), Some(StreamEvent::Started { .. })));
        assert!(matches!(events.last(), Some(StreamEvent::Finished { .. })));
        assert_eq!(begun.elapsed() > Duration::from_millis(200), pace == Pace::Reading);
        let mut said = vec![String::new(); 8];
        for event in &events {
            if let StreamEvent::PartDelta { index, delta } = event {
                said[*index].push_str(delta);
            }
        }
        replies.push((said, events.len()));
    }
    assert_eq!(replies[0].0, replies[1].0);
    assert!(replies[0].1 > replies[1].1);
}
