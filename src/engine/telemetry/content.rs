//! The content of spans: messages, arguments and results, as JSON by the GenAI conventions, cut to a size.
//!
//! A request is written from its newest message back, so that the cost does not grow with the conversation.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use crate::config::SpanContent;
use crate::message::{AssistantMessage, Message, PartKind, ReturnPart, ToolReturn, UserPart};
use crate::stdx::json_texts::map_texts;
use crate::stdx::secrecy::{has_hint, mask};

/// Replaces the keys that the program itself uses in a text.
pub type Conceal = dyn Fn(&str) -> Cow<'_, str> + Send + Sync;

/// The attributes with content; a collector gets them only if the user wants it.
pub const CONTENT_KEYS: [&str; 4] = [
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
];

/// The most bytes of one text.
const TEXT: usize = 16 * 1024;

/// Keys are at most so long, in bytes.
const LONGEST_WORD: usize = 2048;

/// The most bytes of the texts of one attribute.
const ATTRIBUTE: usize = 64 * 1024;

/// Returns the newest messages that fit, oldest first, and how many are left out.
#[must_use]
pub fn input<'a>(newest_first: impl Iterator<Item = &'a Message>) -> (String, usize) {
    let (mut used, mut kept, mut omitted) = (0, Vec::new(), 0);
    for message in newest_first {
        if used >= ATTRIBUTE {
            omitted += 1;
            continue;
        }
        let text = json(&entry(message));
        used += text.len();
        kept.push(text);
    }
    kept.reverse();
    (format!("[{}]", kept.join(",")), omitted)
}

/// Returns a reply.
#[must_use]
pub fn output(reply: &AssistantMessage, finish: &str) -> String {
    json(&[ContentMessage { finish_reason: Some(finish), ..assistant(reply) }])
}

/// Returns the arguments of a call. They stay JSON, so that what they hold can be masked text by text.
#[must_use]
pub fn arguments(args: &Value) -> String {
    shorten_value(args).to_string()
}

/// Returns a value whose texts are cut; one with too many of them is left out.
fn shorten_value(value: &Value) -> Cow<'_, Value> {
    fn cut_all(value: &Value) -> Value {
        match value {
            Value::String(text) => cut(text, TEXT).into(),
            Value::Array(items) => items.iter().map(cut_all).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(key, field)| (cut(key, 256).into_owned(), cut_all(field))).collect()
            }
            _ => value.clone(),
        }
    }
    match size(value) {
        small if small <= TEXT => Cow::Borrowed(value),
        _ => Cow::Owned(match cut_all(value) {
            cut if size(&cut) <= ATTRIBUTE => cut,
            large => json!({ "left_out": format!("{} bytes", size(&large)) }),
        }),
    }
}

/// Returns the first line of what a call returned.
#[must_use]
pub fn summary(returned: &ToolReturn) -> String {
    cut(returned.text().lines().next().unwrap_or_default(), 500).into_owned()
}

#[must_use]
pub fn result(returned: &ToolReturn) -> String {
    cut(&returned.text(), TEXT).into_owned()
}

/// Returns a text of at most `most` bytes, which says what is missing. It is cut between words, so that no part of a key is
/// left that does not look like one.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let kept = text.get(..text.floor_char_boundary(most)).unwrap_or_default();
    let word =
        kept.rfind(char::is_whitespace).filter(|at| kept.len() - at <= LONGEST_WORD).unwrap_or(kept.len());
    let kept = kept.get(..word).unwrap_or_default();
    Cow::Owned(format!("{kept}… ({} more bytes)", text.len() - kept.len()))
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.iter().map(|(key, field)| key.len() + size(field)).sum(),
        _ => 8,
    }
}

/// A message by the conventions.
#[derive(Serialize)]
struct ContentMessage<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        content: Cow<'a, str>,
    },
    Reasoning {
        content: Cow<'a, str>,
    },
    ToolCall {
        id: &'a str,
        name: &'a str,
        arguments: Cow<'a, Value>,
    },
    ToolCallResponse {
        id: &'a str,
        response: Cow<'a, str>,
    },
    /// A picture; its bytes are left out.
    Blob {
        modality: &'static str,
        mime_type: &'a str,
        content: &'static str,
    },
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn entry(message: &Message) -> ContentMessage<'_> {
    let of = |role, parts| ContentMessage { role, parts, finish_reason: None };
    match message {
        Message::User { parts } => of("user", parts.iter().map(user_part).collect()),
        Message::Assistant(reply) => assistant(reply),
        Message::ToolReturns { returns } => {
            let parts = returns.iter().map(|one| {
                let response = cut(&text_of(one), TEXT).into_owned().into();
                Part::ToolCallResponse { id: &one.call.0, response }
            });
            of("tool", parts.collect())
        }
    }
}

fn user_part(part: &UserPart) -> Part<'_> {
    match part {
        UserPart::Text { text } | UserPart::Note { text, .. } => Part::Text { content: cut(text, TEXT) },
        UserPart::Image { media_type, .. } => {
            Part::Blob { modality: "image", mime_type: media_type, content: "" }
        }
    }
}

fn text_of(returned: &ToolReturn) -> String {
    let parts = returned.content.iter().map(|part| match part {
        ReturnPart::Text { text } => text.clone(),
        ReturnPart::Image { media_type, .. } => format!("[{media_type}]"),
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn assistant(reply: &AssistantMessage) -> ContentMessage<'_> {
    let parts = reply.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Text { text } => Some(Part::Text { content: cut(text, TEXT) }),
        PartKind::Thinking { text } => Some(Part::Reasoning { content: cut(text, TEXT) }),
        PartKind::ToolCall(call) => Some(Part::ToolCall {
            id: &call.id.0,
            name: call.name.as_str(),
            arguments: shorten_value(&call.args),
        }),
        PartKind::Native => None,
    });
    ContentMessage { role: "assistant", parts: parts.collect(), finish_reason: None }
}

/// Returns a text of a span as it is stored. `conceal` replaces the keys that the program itself uses.
#[must_use]
pub fn stored_text<'a>(text: &'a str, how: SpanContent, conceal: &Conceal) -> Cow<'a, str> {
    // A mask must not cover a quotation mark of JSON.
    match serde_json::from_str::<Value>(text) {
        Ok(mut value @ (Value::Array(_) | Value::Object(_))) => {
            map_texts(&mut value, &|name, text| match how {
                // The name of the field is a hint: `{"password": ["…"]}`.
                SpanContent::Redacted if has_hint(name) => {
                    let pair = format!("{name}={text}");
                    let pair = clean(&pair, how, conceal);
                    let value = pair.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
                    value.map_or_else(|| clean(text, how, conceal), |value| value.to_owned().into())
                }
                _ => clean(text, how, conceal),
            });
            Cow::Owned(value.to_string())
        }
        Ok(_) | Err(_) => clean(text, how, conceal),
    }
}

fn clean<'a>(text: &'a str, how: SpanContent, conceal: &Conceal) -> Cow<'a, str> {
    let masked = match how {
        SpanContent::Full | SpanContent::None => Cow::Borrowed(text),
        SpanContent::Redacted => mask(text),
    };
    match masked {
        Cow::Borrowed(text) => conceal(text),
        Cow::Owned(text) => conceal(&text).into_owned().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_masked_wherever_they_stand() {
        let key = format!("sk-{}", "a1".repeat(16));
        fn own(text: &str) -> Cow<'_, str> {
            match text.contains("our-own-key") {
                true => text.replace("our-own-key", "[redacted]").into(),
                false => text.into(),
            }
        }
        let cases = [
            (SpanContent::Redacted, format!("see {key}!"), "see [masked]!".to_owned()),
            (SpanContent::Full, format!("see {key}!"), format!("see {key}!")),
            (SpanContent::Full, "our-own-key".to_owned(), "[redacted]".to_owned()),
            (
                SpanContent::Redacted,
                json!([{ "text": key }]).to_string(),
                r#"[{"text":"[masked]"}]"#.to_owned(),
            ),
            (
                SpanContent::Redacted,
                json!({ "password": "hunter22x" }).to_string(),
                r#"{"password":"[masked]"}"#.to_owned(),
            ),
            (
                SpanContent::Redacted,
                json!({ "a": "http://x", "b": "c@d" }).to_string(),
                r#"{"a":"http://x","b":"c@d"}"#.to_owned(),
            ),
            (
                SpanContent::Redacted,
                json!({ "token": ["abc123def456"] }).to_string(),
                r#"{"token":["[masked]"]}"#.to_owned(),
            ),
            (SpanContent::Redacted, "12".to_owned(), "12".to_owned()),
        ];
        for (how, text, expected) in cases {
            assert_eq!(stored_text(&text, how, &own), expected, "{text}");
        }
    }

    #[test]
    fn content_is_cut_from_its_oldest_message() {
        let messages: Vec<Message> =
            (0..50).map(|n| Message::user(format!("{n:02} {}", "é".repeat(20_000)))).collect();
        let (text, omitted) = input(messages.iter().rev());
        assert!(text.len() < 2 * ATTRIBUTE, "{}", text.len());
        let kept: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(kept.len() + omitted, 50);
        let newest = kept.last().unwrap()["parts"][0]["content"].as_str().unwrap();
        assert!(newest.starts_with("49 ") && newest.ends_with("more bytes)"), "{newest}");
        let big = json!({ "a": "x".repeat(10_000_000) });
        assert!(arguments(&big).len() < TEXT + 100);
        let many: Vec<Value> = (0..1_000_000).map(|_| json!("x")).collect();
        assert!(arguments(&Value::Array(many)).len() < 100);
        // A key that the cut falls into is left out whole, and a long script stays JSON, so that it is masked.
        let script =
            format!("{} PASSWORD = \"hunter2hunter2\" sk-{}", "word ".repeat(3_200), "a1".repeat(900));
        let args = arguments(&json!({ "content": script }));
        let kept = stored_text(&args, SpanContent::Redacted, &|text| text.into());
        assert!(!kept.contains("hunter2") && !kept.contains("sk-a"), "{}", kept.len());
    }
}
