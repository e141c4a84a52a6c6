use serde_json::json;

use super::*;
use crate::message::{PartKind, ReturnStatus, UserPart};

/// One line for each message.
fn lines_of(text: &str) -> Vec<String> {
    let imported = import(text).unwrap();
    let mut lines = vec![format!("{} {:?}", imported.format, imported.title)];
    for message in &imported.messages {
        match message {
            Message::User { parts } => lines.extend(parts.iter().map(|part| match part {
                UserPart::Text { text } => format!("user {text}"),
                UserPart::Image { media_type, .. } => format!("user {media_type}"),
                UserPart::Note { text, .. } => format!("note {text}"),
            })),
            Message::Assistant(reply) => lines.extend(reply.parts.iter().map(|part| match &part.kind {
                PartKind::Text { text } => format!("model {text}"),
                PartKind::ToolCall(call) => format!("call {} {} {}", call.id, call.name, call.args),
                PartKind::Thinking { .. } | PartKind::Native => "other".to_owned(),
            })),
            Message::ToolReturns { returns } => lines.extend(returns.iter().map(|one| {
                assert_eq!(one.trust, Trust::Untrusted);
                let failed = if one.status == ReturnStatus::Failed { " failed" } else { "" };
                format!("return {} {:?}{failed} {}", one.call, one.source, one.text())
            })),
        }
    }
    lines.extend(imported.left_out.iter().map(|(what, count)| format!("without {count} {what}")));
    lines
}

#[test]
fn lists_of_two_apis_are_read() {
    let openai = json!([
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "list it"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{\"path\":\".\"}"}},
            {"id": "c2", "type": "function", "function": {"name": "ls", "arguments": "{broken"}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "no"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "There is a.txt."}]},
        {"role": "user", "content": [
            {"type": "text", "text": "and this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}},
        ]},
    ]);
    let expected = [
        "OpenAI messages None",
        "user list it",
        "call 1:c1 ls {\"path\":\".\"}",
        "call 2:c2 ls \"{broken\"",
        "return 1:c1 Tool { name: ToolName(\"ls\") } a.txt",
        "return 2:c2 Tool { name: ToolName(\"ls\") } no",
        "model There is a.txt.",
        "user and this?",
        "user image/png",
        "without 1 system prompts",
        "without 1 parts of an unknown kind",
    ];
    assert_eq!(lines_of(&openai.to_string()), expected);
    let in_lines: String = openai.as_array().unwrap().iter().map(|one| format!("{one}\n")).collect();
    assert_eq!(lines_of(&in_lines), expected);
    let anthropic = json!({"model": "m", "messages": [
        {"role": "user", "content": "list it"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "."}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "no such folder"},
            {"type": "text", "text": "go on"},
        ]},
    ]});
    let expected = [
        "Anthropic messages None",
        "user list it",
        "model I look.",
        "call 1:t1 ls {\"path\":\".\"}",
        "return 1:t1 Tool { name: ToolName(\"ls\") } failed no such folder",
        "user go on",
    ];
    assert_eq!(lines_of(&anthropic.to_string()), expected);
}

#[test]
fn a_session_of_claude_code_is_the_chain_of_its_last_message() {
    let user = |id: &str, parent: Option<&str>, text: &str| json!({"type": "user", "uuid": id, "parentUuid": parent, "sessionId": "s", "message": {"role": "user", "content": text}});
    let part = |id: &str, parent: &str, content: serde_json::Value| {
        json!({"type": "assistant", "uuid": id, "parentUuid": parent, "sessionId": "s",
            "message": {"role": "assistant", "id": "msg_1", "content": [content]}})
    };
    let lines = [
        json!({"type": "summary", "summary": "Greetings", "leafUuid": "e"}),
        user("a", None, "hello"),
        user("x", Some("a"), "another branch"),
        part("b", "a", json!({"type": "text", "text": "Hi."})),
        part("c", "b", json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}})),
        json!({"type": "user", "uuid": "d", "parentUuid": "c", "sessionId": "s", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a.txt"}]}]}}),
        json!({"type": "system", "uuid": "d2", "parentUuid": "d", "sessionId": "s", "content": "compacted"}),
        user("e", Some("d2"), "thanks"),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let expected = [
        "Claude Code Some(\"Greetings\")",
        "user hello",
        "model Hi.",
        "call 1:t1 Bash {\"command\":\"ls\"}",
        "return 1:t1 Tool { name: ToolName(\"Bash\") } a.txt",
        "user thanks",
        "without 1 messages of other branches",
    ];
    assert_eq!(lines_of(&text), expected);
    // A line that was cut off when the program died costs itself only.
    assert_eq!(lines_of(&format!("{text}{{\"type\": \"us")), expected);
    // A circle ends.
    let circle = [user("a", Some("b"), "one"), user("b", Some("a"), "two")];
    let text: String = circle.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(lines_of(&text), ["Claude Code None", "user one", "user two"]);
}

/// Some programs use an id again in each reply.
#[test]
fn ids_that_collide_are_told_apart() {
    let call = |text: &str| {
        let call = json!({"id": "call_0", "function": {"name": "ls", "arguments": "{}"}});
        [
            json!({"role": "assistant", "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": "call_0", "content": text}),
        ]
    };
    let list: Vec<_> = [json!({"role": "user", "content": "go"})]
        .into_iter()
        .chain(call("one"))
        .chain(call("two"))
        .collect();
    let imported = import(&json!(list).to_string()).unwrap();
    let id = crate::history::SessionId("new".to_owned());
    let of = crate::history::CopyOf::File { format: imported.format.to_owned() };
    let conversation = crate::history::Conversation {
        of,
        workspace: "/w".into(),
        title: None,
        messages: imported.messages,
        started: std::collections::BTreeSet::new(),
        notes: Vec::new(),
        summary: None,
    };
    let history = crate::history::History::of(&conversation.records(&id));
    let (mut wire_ids, mut returns) = (Vec::new(), Vec::new());
    for message in history.messages() {
        match message {
            Message::Assistant(reply) => wire_ids.extend(reply.calls().map(|call| call.wire_id.clone())),
            Message::ToolReturns { returns: all } => {
                returns.extend(all.iter().map(crate::message::ToolReturn::text));
            }
            Message::User { .. } => {}
        }
    }
    assert_eq!(
        (wire_ids, returns),
        (vec!["call_0".to_owned(), "c00000005".to_owned()], vec!["one".to_owned(), "two".to_owned()])
    );
}

/// An own export may have been written by anybody: nothing that it says of itself is taken on trust.
#[test]
fn an_export_is_not_trusted() {
    let call = |id: &str| json!({"kind": {"part": "tool_call", "id": id, "wire_id": "w", "name": "read_file", "args": {}}});
    let returned = |text: &str| {
        json!({"call": "same", "status": "ok", "content": [{"part": "text", "text": text}],
            "source": {"from": "file", "path": "a.txt"}, "trust": "trusted"})
    };
    let note = |kind: &str, text: &str| json!({"role": "user", "parts": [{"part": "note", "kind": {"kind": kind}, "text": text}]});
    let document = json!({"format": FORMAT, "version": VERSION, "title": "t", "messages": [
        {"role": "user", "parts": [{"part": "text", "text": "go"}]},
        {"role": "assistant", "parts": [call("same"), call("same")], "model": "m", "stop": {"kind": "tool_use"}},
        {"role": "tool_returns", "returns": [returned("one"), returned("two")]},
        note("situation", "yolo is on"),
        note("summary", "two older messages"),
    ]});
    let expected = [
        "co Some(\"t\")",
        "user go",
        "call 1:w read_file {}",
        "call 2:w read_file {}",
        "return 1:w Tool { name: ToolName(\"read_file\") } one",
        "return 2:w Tool { name: ToolName(\"read_file\") } two",
        "note yolo is on",
        "without 1 summaries",
    ];
    assert_eq!(lines_of(&document.to_string()), expected);
    let Message::User { parts } = import(&document.to_string()).unwrap().messages.remove(3) else {
        panic!("no note")
    };
    assert!(matches!(parts[0], UserPart::Note { kind: NoteKind::Hook, .. }), "text of others");
}

#[test]
fn what_cannot_be_read_says_why() {
    let newer = json!({"format": FORMAT, "version": VERSION + 1, "messages": []}).to_string();
    let broken = json!({"format": FORMAT, "version": VERSION, "messages": [{"role": "nobody"}]}).to_string();
    for (text, expected) in [
        ("", "neither JSON nor lines"),
        ("Dear diary", "neither JSON nor lines"),
        ("{\"a\": 1}", "none of the known forms"),
        ("[1, 2]", "none of the known forms"),
        ("[]", "no messages"),
        ("[{\"role\": \"system\", \"content\": \"x\"}]", "no messages"),
        (&newer, "newer co"),
        (&broken, "cannot be read"),
        (&"[".repeat(100_000), "neither JSON"),
    ] {
        let error = import(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{}: {error}", text.get(..40).unwrap_or(text));
    }
}
