//! A session as a document: Markdown, one HTML page, or JSON.
//!
//! Pure. Keys and tokens are masked by their form in all of them. Markdown and HTML leave thinking out and name images; the
//! JSON has every message in the form in which it is stored, for programs.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use crate::command::ExportForm;
use crate::history::SessionId;
use crate::message::{AssistantPart, Message, PartKind, ToolCall, ToolReturn, UserPart};
use crate::stdx::json_texts::map_texts;
use crate::stdx::secrecy::mask;
use crate::stdx::text::sanitize;

/// The facts about its session at the head of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportHead<'a> {
    pub id: &'a SessionId,
    pub title: &'a str,
    pub workspace: &'a Path,
    pub exported: Timestamp,
}

/// The name of the JSON form, for programs.
pub(super) const FORMAT: &str = "co-session";

/// The version of the JSON form.
pub(super) const VERSION: u32 = 1;

/// Returns the whole document.
#[must_use]
pub fn export(form: ExportForm, head: &ExportHead<'_>, messages: &[Arc<Message>]) -> String {
    match form {
        ExportForm::Markdown => markdown(head, messages),
        ExportForm::Json => as_json(head, messages),
        ExportForm::Html => html(head, messages),
    }
}

/// A part of a conversation as people read it.
enum Passage {
    User(String),
    Answer(String),
    Call { name: String, args: String },
    Return { status: &'static str, text: String },
}

fn passages(messages: &[Arc<Message>]) -> Vec<Passage> {
    let mut found = Vec::new();
    for message in messages {
        match &**message {
            Message::User { parts } => {
                let texts = parts.iter().filter_map(|part| match part {
                    UserPart::Text { text } => Some(text.clone()),
                    UserPart::Image { media_type, .. } => Some(format!("[image: {media_type}]")),
                    UserPart::Note { .. } => None,
                });
                let text = texts.collect::<Vec<_>>().join("\n");
                found.extend((!text.trim().is_empty()).then(|| Passage::User(clean(&text))));
            }
            Message::Assistant(reply) => found.extend(reply.parts.iter().filter_map(reply_passage)),
            Message::ToolReturns { returns } => found.extend(returns.iter().map(return_passage)),
        }
    }
    found
}

fn reply_passage(part: &AssistantPart) -> Option<Passage> {
    match &part.kind {
        PartKind::Text { text } if !text.trim().is_empty() => Some(Passage::Answer(clean(text))),
        PartKind::ToolCall(call) => Some(call_passage(call)),
        PartKind::Text { .. } | PartKind::Thinking { .. } | PartKind::Native => None,
    }
}

fn call_passage(call: &ToolCall) -> Passage {
    // Masked before they are escaped: the forms of keys are those of plain text.
    let mut args = call.args.clone();
    map_texts(&mut args, &|_, text| mask(text));
    let args = serde_json::to_string_pretty(&args).unwrap_or_default();
    Passage::Call { name: clean(call.name.as_str()), args: clean(&args) }
}

fn return_passage(returned: &ToolReturn) -> Passage {
    Passage::Return { status: returned.status.word(), text: clean(&returned.text()) }
}

fn clean(text: &str) -> String {
    sanitize(&mask(text)).into_owned()
}

fn markdown(head: &ExportHead<'_>, messages: &[Arc<Message>]) -> String {
    let mut out = format!(
        "# {}\n\nSession {} in {}, exported on {}.\n",
        clean(head.title),
        head.id,
        head.workspace.display(),
        head.exported.strftime("%Y-%m-%d %H:%M UTC")
    );
    for passage in passages(messages) {
        let _ = match passage {
            Passage::User(text) => write!(out, "\n## You\n\n{text}\n"),
            Passage::Answer(text) => write!(out, "\n## Assistant\n\n{text}\n"),
            Passage::Call { name, args } => write!(out, "\n### Call of `{name}`\n\n{}", code_block(&args)),
            Passage::Return { status, text } => {
                write!(out, "\n### Returned: {status}\n\n{}", code_block(&text))
            }
        };
    }
    out
}

/// Returns a text as a code block, with a fence longer than any in it.
fn code_block(text: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count());
    let fence = "`".repeat(longest.max().unwrap_or(0).max(2) + 1);
    format!("{fence}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

fn as_json(head: &ExportHead<'_>, messages: &[Arc<Message>]) -> String {
    let mut messages = serde_json::to_value(messages).unwrap_or_default();
    map_texts(&mut messages, &|_, text| mask(text));
    let document = json!({
        "format": FORMAT,
        "version": VERSION,
        "session": head.id,
        "title": mask(head.title),
        "workspace": head.workspace,
        "exported": head.exported,
        "messages": messages,
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

const STYLE: &str = include_str!("export.css");

fn html(head: &ExportHead<'_>, messages: &[Arc<Message>]) -> String {
    let title = escape(&clean(head.title));
    // Nothing is loaded and nothing runs, whatever the texts say.
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <h1>{title}</h1>\n<p>Session {} in {}, exported on {}.</p>\n",
        escape(&head.id.0),
        escape(&head.workspace.display().to_string()),
        head.exported.strftime("%Y-%m-%d %H:%M UTC")
    );
    for passage in passages(messages) {
        let _ = match passage {
            Passage::User(text) => write_message(&mut out, "You", &text),
            Passage::Answer(text) => write_message(&mut out, "Assistant", &text),
            Passage::Call { name, args } => write_folded(&mut out, &format!("Call of {name}"), &args),
            Passage::Return { status, text } => write_folded(&mut out, &format!("Returned: {status}"), &text),
        };
    }
    out.push_str("</html>\n");
    out
}

fn write_message(out: &mut String, who: &str, text: &str) -> std::fmt::Result {
    writeln!(out, "<section><h2>{who}</h2><div class=\"text\">{}</div></section>", escape(text))
}

fn write_folded(out: &mut String, what: &str, text: &str) -> std::fmt::Result {
    writeln!(out, "<details><summary>{}</summary><pre>{}</pre></details>", escape(what), escape(text))
}

/// Returns a text in which nothing is markup.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::message::{AssistantMessage, CallId, ReturnStatus, StopKind, StopReason, ToolName};

    fn conversation() -> Vec<Message> {
        let call = ToolCall {
            id: CallId("c".to_owned()),
            wire_id: String::new(),
            name: ToolName::new("shell"),
            args: json!({ "command": "cat .env", "note": "x\nghp_abcdefghijklmnop0123456789" }),
        };
        let text = "<script>alert(1)</script> & ```\u{1b}[31m".to_owned();
        let parts =
            [PartKind::Text { text }, PartKind::ToolCall(call.clone())].map(AssistantPart::new).into();
        let stop = StopReason::new(StopKind::ToolUse);
        vec![
            Message::user("what is the key?"),
            Message::Assistant(AssistantMessage { parts, asked: String::new(), model: "m".to_owned(), stop }),
            Message::ToolReturns {
                returns: vec![ToolReturn::program(
                    call.id,
                    ReturnStatus::Ok,
                    "KEY=sk-ant-api03-abcdefghijklmnop1234\n```\nend",
                )],
            },
        ]
    }

    fn exported(form: ExportForm) -> String {
        let id = SessionId("s-1".to_owned());
        let head = ExportHead {
            id: &id,
            title: "a <b>",
            workspace: Path::new("/w"),
            exported: Timestamp::UNIX_EPOCH,
        };
        export(form, &head, &conversation().into_iter().map(Arc::new).collect::<Vec<_>>())
    }

    #[test]
    fn documents_hold_what_was_said_and_no_key() {
        for form in [ExportForm::Markdown, ExportForm::Json, ExportForm::Html] {
            let text = exported(form);
            for part in ["what is the key?", "cat .env", "[masked]", "end"] {
                assert!(text.contains(part), "{form:?}: {part}: {text}");
            }
            assert!(!text.contains("abcdefghijklmnop") && !text.contains('\u{1b}'), "{form:?}: {text}");
        }
    }

    #[test]
    fn no_text_leaves_its_place() {
        assert!(exported(ExportForm::Markdown).contains("\n````\nKEY=[masked]\n```\nend\n````\n"));
        let page = exported(ExportForm::Html);
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
        assert!(page.contains("<title>a &lt;b&gt;</title>"), "{page}");
        let document: Value = serde_json::from_str(&exported(ExportForm::Json)).unwrap();
        let again: Vec<Message> = serde_json::from_value(document["messages"].clone()).unwrap();
        assert_eq!(again.len(), conversation().len());
    }
}
