//! `PrintFrontend`: a turn as plain text. On a terminal the reply streams to standard output; elsewhere each
//! reply is written once, complete, when it is committed, so that a script never reads text that a retry
//! replaced; on a terminal the line `[retrying]` is between the two. Everything else is a row on standard error.
//!
//! It accepts no decisions, so requests wait in the store. Text is passed on unchanged, except for characters
//! that would control a terminal or hide something: those are made visible, also in a pipe, because a pipe
//! may end at a terminal. Called by the command line.

use std::collections::HashMap;

use futures::future::BoxFuture;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;
use unicode_segmentation::UnicodeSegmentation as _;

use super::sentences;
use crate::agent::port::{Closed, Event, Frontend};
use crate::approval::{Request, RequestId};
use crate::message::{CallId, NoteKind, ReturnStatus, ToolCall, ToolReturn, UsedMemory, UserPart};
use crate::stdx::text::{one_line_summary, sanitize, sanitize_line};

/// An output for text.
pub type Sink = Box<dyn AsyncWrite + Send + Unpin>;

/// Width of a row's free text, in cells.
const WIDTH: usize = 100;

/// The line between the text of a reply that broke off and that of the next try.
const RETRYING: &str = "[retrying]\n";

/// How a turn is printed.
#[derive(Debug, Clone, Copy)]
pub struct PrintStyle {
    /// Whether thinking and the start of each call are reported too.
    pub shows_thoughts: bool,
    /// Whether text is written as it arrives, for a user who reads it; else after its reply is committed.
    pub is_live: bool,
}

/// Prints one turn.
pub struct PrintFrontend {
    page: Mutex<PrintedPage>,
}

struct PrintedPage {
    out: Sink,
    err: Sink,
    style: PrintStyle,
    /// Text that is not written yet. When live: the end of a delta that the next one may change (part of a
    /// grapheme cluster); else the reply so far.
    held: String,
    /// The reply of the held text has ended: text that follows belongs to another one.
    reply_ended: bool,
    /// Something of the current reply is on standard output.
    printed: bool,
    /// The last reply broke off and nothing follows yet; whether something of it is on standard output.
    broken: Option<bool>,
    /// Whether the last line of standard output, and of standard error, is not empty.
    out_begun: bool,
    err_begun: bool,
    summaries: HashMap<CallId, String>,
    asked: HashMap<RequestId, Request>,
}

impl PrintFrontend {
    pub fn new(out: Sink, err: Sink, style: PrintStyle) -> Self {
        let page = PrintedPage {
            out,
            err,
            style,
            held: String::new(),
            reply_ended: false,
            printed: false,
            broken: None,
            out_begun: false,
            err_begun: false,
            summaries: HashMap::new(),
            asked: HashMap::new(),
        };
        Self { page: Mutex::new(page) }
    }
}

impl Frontend for PrintFrontend {
    fn show(&self, event: Event) -> BoxFuture<'_, Result<(), Closed>> {
        // A reader that closed its pipe counts as a closed front end.
        Box::pin(async move { self.page.lock().await.show(event).await.map_err(|_gone| Closed) })
    }
}

impl PrintedPage {
    async fn show(&mut self, event: Event) -> std::io::Result<()> {
        match event {
            Event::TextDelta { text } => self.text(&text).await,
            Event::TextCommitted { .. } => self.on_text_commit().await,
            Event::ThinkingDelta { text } => {
                self.begin().await?;
                self.on_thinking(&text).await
            }
            Event::ThinkingCommitted { .. } => self.end_err_line().await,
            Event::ToolPlanned { call, plan } => {
                self.summaries.insert(call.id, plan.summary);
                Ok(())
            }
            Event::ToolRunning { call } => self.on_tool_start(&call).await,
            Event::ToolReturn { call, returned } => self.on_return(&call, &returned).await,
            Event::ApprovalNeeded { request } => {
                let row = request_row(&request);
                self.asked.insert(request.id.clone(), request);
                self.row(&row).await
            }
            Event::ApprovalSettled { request, settled } => {
                let text = sentences::settlement(self.asked.get(&request), &settled, None);
                self.row(&format!("◇ {}: {text}", sanitize_line(&request.0))).await
            }
            Event::Retry { class, message, wait, attempt, of, then } => {
                self.mark_restart().await?;
                let text = sentences::retry(class, &message, wait, (attempt, of), then.as_deref());
                self.row(&format!("co: {text}")).await
            }
            Event::FellBack { from, to, why, .. } => {
                self.mark_restart().await?;
                self.row(&format!("co: {}", sentences::failover(&from, &to, &why))).await
            }
            Event::Refused { why } => self.row(&sanitize_line(&why)).await,
            Event::PartialReset => {
                self.held.clear();
                self.broken = Some(std::mem::take(&mut self.printed));
                Ok(())
            }
            Event::Compacting { messages } => {
                self.mark_restart().await?;
                self.row(&format!("co: {}", sentences::compaction_start(messages))).await
            }
            Event::Compacted { compacted } => {
                self.mark_restart().await?;
                self.row(&format!("co: {}", sentences::compaction(&compacted))).await
            }
            Event::CapReached { question } => {
                let (spent, adds) = (question.spent_words(), question.adds_words());
                self.row(&format!("co: {spent} ({}); {adds}", question.cap.setting())).await
            }
            Event::Status { text } | Event::DecisionsLost { text, .. } => {
                self.row(&sanitize_line(&text)).await
            }
            Event::Usage { .. } => {
                self.reply_ended = true;
                Ok(())
            }
            Event::Prompted { parts } => {
                for part in parts {
                    if let UserPart::Note { kind: NoteKind::Memory { used, .. }, .. } = part {
                        self.row(&sanitize_line(&UsedMemory::line(&used))).await?;
                    }
                }
                Ok(())
            }
            Event::ToolArgs { .. } | Event::ToolProgress { .. } | Event::CapAnswered { .. } => Ok(()),
            // Calls are reported after their reply is committed.
            Event::ToolCall { .. } => {
                self.begin().await?;
                self.printed = false;
                self.end_text().await
            }
            // A reply that broke off for good stays: nothing replaces it.
            Event::TurnEnded { .. } => {
                self.end_text().await?;
                self.err.flush().await
            }
        }
    }

    /// Separates what follows from a reply that ended or broke off.
    async fn begin(&mut self) -> std::io::Result<()> {
        if std::mem::take(&mut self.reply_ended) {
            self.end_text().await?;
            self.printed = false;
        }
        self.mark_restart().await
    }

    /// Marks the text of a broken reply as replaced, now that something follows.
    async fn mark_restart(&mut self) -> std::io::Result<()> {
        match self.broken.take() {
            None => Ok(()),
            Some(false) => self.row(&format!("co: {}", sentences::STARTS_AGAIN)).await,
            Some(true) => {
                self.end_text().await?;
                self.end_err_line().await?;
                self.write_out(RETRYING).await
            }
        }
    }

    async fn text(&mut self, delta: &str) -> std::io::Result<()> {
        self.begin().await?;
        self.held.push_str(delta);
        if !self.style.is_live {
            return Ok(());
        }
        let keep = self
            .held
            .graphemes(true)
            .next_back()
            .map_or(0, |last| if last.is_ascii() { 0 } else { last.len() });
        let tail = self.held.split_off(self.held.len() - keep);
        let ready = std::mem::replace(&mut self.held, tail);
        self.write_text(&ready).await
    }

    async fn on_text_commit(&mut self) -> std::io::Result<()> {
        if self.style.is_live {
            return self.end_text().await;
        }
        if !self.held.is_empty() && !self.held.ends_with('\n') {
            self.held.push('\n');
        }
        Ok(())
    }

    async fn write_text(&mut self, text: &str) -> std::io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.end_err_line().await?;
        self.write_out(&sanitize(text)).await?;
        self.out_begun = !text.ends_with('\n');
        self.printed = true;
        Ok(())
    }

    /// Writes to standard output, after what was written to standard error.
    async fn write_out(&mut self, text: &str) -> std::io::Result<()> {
        self.err.flush().await?;
        self.out.write_all(text.as_bytes()).await?;
        self.out.flush().await
    }

    async fn end_text(&mut self) -> std::io::Result<()> {
        self.reply_ended = false;
        let held = std::mem::take(&mut self.held);
        self.write_text(&held).await?;
        if self.out_begun {
            self.write_out("\n").await?;
            self.out_begun = false;
        }
        Ok(())
    }

    async fn on_thinking(&mut self, delta: &str) -> std::io::Result<()> {
        if !self.style.shows_thoughts {
            return Ok(());
        }
        self.err.write_all(sanitize(delta).as_bytes()).await?;
        self.err_begun = !delta.ends_with('\n');
        self.err.flush().await
    }

    async fn end_err_line(&mut self) -> std::io::Result<()> {
        if self.err_begun {
            self.err.write_all(b"\n").await?;
            self.err_begun = false;
            self.err.flush().await?;
        }
        Ok(())
    }

    async fn on_tool_start(&mut self, call: &ToolCall) -> std::io::Result<()> {
        if !self.style.shows_thoughts {
            return Ok(());
        }
        let summary = self.summaries.get(&call.id).map(String::as_str).unwrap_or_default();
        let summary = one_line_summary(summary, WIDTH);
        self.row(&format!("◆ {}: {summary}", sanitize_line(call.name.as_str()))).await
    }

    async fn on_return(&mut self, call: &ToolCall, returned: &ToolReturn) -> std::io::Result<()> {
        let summary = self.summaries.remove(&call.id).unwrap_or_default();
        let row = row_of_return(returned.status, call.name.as_str(), &summary, &returned.text());
        // Not flushed here: meanwhile the model's next reply is requested.
        self.start_row(&row).await
    }

    /// Writes one whole line on standard error, after ending any open line.
    async fn row(&mut self, row: &str) -> std::io::Result<()> {
        self.start_row(row).await?;
        self.err.flush().await
    }

    /// The same without flushing; the next write waits for it.
    async fn start_row(&mut self, row: &str) -> std::io::Result<()> {
        if self.style.is_live {
            self.end_text().await?;
        }
        self.end_err_line().await?;
        self.err.write_all(format!("{row}\n").as_bytes()).await
    }
}

/// Returns the row of a return: a glyph, with a word for every outcome but success.
fn row_of_return(status: ReturnStatus, tool: &str, summary: &str, content: &str) -> String {
    let glyph = match status {
        ReturnStatus::Ok => "✓",
        ReturnStatus::Failed | ReturnStatus::Denied | ReturnStatus::Interrupted => "✗",
        ReturnStatus::Undecided => "◇",
        ReturnStatus::Unknown => "?",
    };
    let word = if status == ReturnStatus::Ok { "" } else { &format!(" {}", sentences::status(status)) };
    let what = one_line_summary(if summary.is_empty() { content } else { summary }, WIDTH);
    let mut row = format!("{glyph} {}{word}: {what}", sanitize_line(tool));
    if status == ReturnStatus::Failed && !summary.is_empty() {
        row.push_str(&format!(": {}", one_line_summary(content, WIDTH)));
    }
    row
}

/// Returns the row of a waiting request.
fn request_row(request: &Request) -> String {
    let (id, tool) = (sanitize_line(&request.id.0), sanitize_line(request.tool.as_str()));
    let what = one_line_summary(&request.plan.summary, WIDTH);
    let mark = if request.taint.is_empty() { "" } else { " ▲" };
    format!("◇ {tool} ({}) waiting for you: {what}{mark} [{id}]", request.risk.word())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::history::TurnEnd;
    use crate::message::Usage;
    use crate::provider::ErrorClass;

    const LIVE: PrintStyle = PrintStyle { shows_thoughts: false, is_live: true };

    /// Returns the content of both outputs after these events.
    async fn printed(style: PrintStyle, events: Vec<Event>) -> (String, String) {
        let (out, mut out_end) = tokio::io::duplex(64 * 1024);
        let (err, mut err_end) = tokio::io::duplex(64 * 1024);
        let front = Arc::new(PrintFrontend::new(Box::new(out), Box::new(err), style));
        for event in events {
            assert_eq!(front.show(event).await, Ok(()));
        }
        drop(front);
        let (mut text, mut rows) = (String::new(), String::new());
        out_end.read_to_string(&mut text).await.unwrap();
        err_end.read_to_string(&mut rows).await.unwrap();
        (text, rows)
    }

    fn text(text: &str) -> Event {
        Event::TextDelta { text: text.to_owned() }
    }

    fn thought(text: &str) -> Event {
        Event::ThinkingDelta { text: text.to_owned() }
    }

    fn done() -> Event {
        Event::TextCommitted { text: String::new() }
    }

    #[tokio::test]
    async fn text_and_rows_keep_apart() {
        let status = || Event::Status { text: "note\u{7}".to_owned() };
        for (shows_thoughts, events, out, err) in [
            (false, vec![text("a"), text("b"), done()], "ab\n", ""),
            (false, vec![text("a\n"), done(), text("b"), done()], "a\nb\n", ""),
            (false, vec![text("\u{1b}]0;x\u{7}"), done()], "␛]0;x␇\n", ""),
            // A grapheme cluster that is split between two deltas stays whole.
            (false, vec![text("👩"), text("\u{200d}🚀!"), done()], "👩\u{200d}🚀!\n", ""),
            (false, vec![text("a"), status(), text("b"), done()], "a\nb\n", "note␇\n"),
            (false, vec![thought("hm"), text("b"), done()], "b\n", ""),
            (true, vec![thought("hm\u{1b}"), text("b"), done()], "b\n", "hm␛\n"),
        ] {
            let printed = printed(PrintStyle { shows_thoughts, ..LIVE }, events.clone()).await;
            assert_eq!(printed, (out.to_owned(), err.to_owned()), "{events:?}");
        }
    }

    #[tokio::test]
    async fn on_a_terminal_a_line_separates_a_broken_reply_from_the_next_try() {
        let usage = || Event::Usage { usage: Usage::default(), model: "m".to_owned(), cost: None };
        let ended = || Event::TurnEnded { end: TurnEnd::Completed };
        let retry = || Event::Retry {
            class: ErrorClass::Network,
            message: "gone".to_owned(),
            wait: std::time::Duration::from_secs(1),
            attempt: 1,
            of: 2,
            then: None,
        };
        let tried = "co: connection failed: gone; retry 1 of 2 in 1s\n";
        let again = "co: the reply was cut off and starts again\n";
        for (events, out, err) in [
            (vec![text("par"), Event::PartialReset, text("whole"), done()], "par\n[retrying]\nwhole\n", ""),
            (
                vec![text("par"), Event::PartialReset, retry(), text("b"), done()],
                "par\n[retrying]\nb\n",
                tried,
            ),
            (
                vec![text("a"), Event::PartialReset, text("b\n"), Event::PartialReset, text("c"), ended()],
                "a\n[retrying]\nb\n[retrying]\nc\n",
                "",
            ),
            (
                vec![text("cut"), done(), usage(), Event::PartialReset, text("whole"), ended()],
                "cut\n[retrying]\nwhole\n",
                "",
            ),
            // Only the reply that broke off is void.
            (
                vec![text("a"), done(), usage(), text("b"), Event::PartialReset, text("c"), ended()],
                "a\nb\n[retrying]\nc\n",
                "",
            ),
            // Nothing of it was printed.
            (vec![thought("hm"), Event::PartialReset, text("whole"), ended()], "whole\n", again),
            (
                vec![text("a"), done(), usage(), thought("hm"), Event::PartialReset, text("b"), ended()],
                "a\nb\n",
                again,
            ),
            // Nothing replaces it.
            (vec![text("par"), Event::PartialReset, ended()], "par\n", ""),
        ] {
            let printed = printed(LIVE, events.clone()).await;
            assert_eq!(printed, (out.to_owned(), err.to_owned()), "{events:?}");
        }
    }

    #[tokio::test]
    async fn off_a_terminal_each_reply_is_written_whole_once() {
        let usage = || Event::Usage { usage: Usage::default(), model: "m".to_owned(), cost: None };
        let ended = || Event::TurnEnded { end: TurnEnd::Completed };
        for (events, out) in [
            (vec![text("ha"), text("lf")], ""),
            (vec![text("half"), Event::PartialReset, text("whole"), done(), usage(), ended()], "whole\n"),
            // A reply that ended and is void all the same: the window had cut it off.
            (vec![text("cut"), done(), usage(), Event::PartialReset, text("whole"), ended()], "whole\n"),
            // One reply continues in another, which breaks off.
            (vec![text("a"), done(), usage(), text("b"), Event::PartialReset, text("c"), ended()], "a\nc\n"),
            (vec![text("cut short"), ended()], "cut short\n"),
        ] {
            let (text, _) = printed(PrintStyle { is_live: false, ..LIVE }, events.clone()).await;
            assert_eq!(text, out, "{events:?}");
        }
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_closes_the_front_end() {
        let (out, end) = tokio::io::duplex(16);
        drop(end);
        let front = PrintFrontend::new(Box::new(out), Box::new(tokio::io::sink()), LIVE);
        assert_eq!(front.show(text("x")).await, Err(Closed));
    }

    #[test]
    fn rows_are_one_harmless_line() {
        for (status, tool, summary, content, expected) in [
            (ReturnStatus::Ok, "read_file", "read a\u{1b}[2J", "text", "✓ read_file: read a␛[2J"),
            (ReturnStatus::Failed, "x", "", "no such tool\nmore", "✗ x failed: no such tool …"),
            (ReturnStatus::Failed, "x", "do it", "it broke", "✗ x failed: do it: it broke"),
            (ReturnStatus::Denied, "a\nb", "do it", "", "✗ a␊b denied: do it"),
            (ReturnStatus::Undecided, "x", "do it", "", "◇ x undecided: do it"),
            (ReturnStatus::Interrupted, "x", "do it", "", "✗ x stopped: do it"),
            (ReturnStatus::Unknown, "x", "do it", "", "? x outcome unknown: do it"),
        ] {
            assert_eq!(row_of_return(status, tool, summary, content), expected);
        }
    }

    #[test]
    fn a_request_that_carries_words_of_others_is_marked() {
        use crate::approval::{RequestId, Taint};
        use crate::message::{CallId, Source, ToolName};
        use crate::tool::{Access, CallPlan, Risk};
        let plan = CallPlan::new("mail\u{1b}dana".to_owned(), Risk::High, Access::Nothing);
        let (id, call) = (RequestId("8c2f".to_owned()), CallId("s/1.1.0".to_owned()));
        let mut request = Request::new(id, call, ToolName::new("mail_send"), serde_json::json!({}), plan);
        assert_eq!(request_row(&request), "◇ mail_send (HIGH) waiting for you: mail␛dana [8c2f]");
        let (arg, words) = ("/to".to_owned(), "dana@x.example".to_owned());
        request.taint.push(Taint { arg, words, source: Source::Program, from: None });
        assert_eq!(request_row(&request), "◇ mail_send (HIGH) waiting for you: mail␛dana ▲ [8c2f]");
    }
}
