//! The inbox as numbered lines, and requests of other sessions as questions. Numbers refer to the last printed list.

use jiff::Zoned;

use super::approvals::Origin;
use super::describe;
use super::state::Plain;
use crate::approval::AutoApprove;
use crate::command::by_number;
use crate::config::Mode;
use crate::frontend::protocol::{ClientQuery, InboxLine};
use crate::stdx::moment::{age, deadline};
use crate::stdx::text::one_line_summary;
use crate::store::{RequestState, StoredRequest};

/// Maximum number of requests printed; words after the command filter the list.
const LISTED: usize = 20;

/// Cells of a title, a folder or a summary.
const TITLE: usize = 60;
const SUMMARY: usize = 120;

pub(super) const NONE_WAITING: &str = "No requests waiting.";
const WHICH: &str = "Type /decide and a number that /inbox printed, for example /decide 1.";

impl Plain {
    /// Requests the list, filtered by these words.
    pub(super) fn want_inbox(&mut self, words: &str) {
        self.inbox_words = words.trim().to_lowercase();
        self.query(ClientQuery::Inbox);
    }

    /// Prints the list.
    pub(super) fn inbox(&mut self, mut lines: Vec<InboxLine>) {
        let wanted = std::mem::take(&mut self.inbox_words);
        lines.retain(|line| {
            let risk = line.row.risk.word();
            let text = format!("{risk} {} {} {}", line.row.tool.as_str(), line.row.summary, line.title())
                .to_lowercase();
            wanted.split_whitespace().all(|word| text.contains(word))
        });
        self.listed_requests.clear();
        if lines.is_empty() {
            let words = if wanted.is_empty() { NONE_WAITING } else { "No matching requests." };
            return self.page.line(words);
        }
        let now = self.clock.clone();
        let mut session = None;
        for (at, line) in lines.iter().take(LISTED).enumerate() {
            if session != Some(&line.row.session) {
                session = Some(&line.row.session);
                self.page.line(&format!("{}:", heading(line)));
            }
            self.page.block(&format!("{}: {}", at + 1, entry(line, &now)), "  ");
        }
        if lines.len() > LISTED {
            let more = lines.len() - LISTED;
            self.page.line(&format!("And {more} more; /inbox TEXT lists those that match."));
        }
        self.page.line("Type /decide and a number to decide one, for example /decide 1.");
        lines.truncate(LISTED);
        self.listed_requests = lines;
    }

    /// Requests the details of the request with this number.
    pub(super) fn decide_listed(&mut self, number: &str) {
        let Some(line) = by_number(&self.listed_requests, number) else { return self.page.line(WHICH) };
        self.query(ClientQuery::Request { request: line.row.id.clone() });
    }

    /// Asks about the received request, like one of this session.
    pub(super) fn listed_request(&mut self, answer: Result<Box<StoredRequest>, String>) {
        let stored = match answer {
            Ok(stored) => *stored,
            Err(text) => return self.page.line(&format!("It cannot be shown: {text}")),
        };
        if !matches!(stored.state, RequestState::Waiting | RequestState::Later) {
            return self.page.line("It was decided in the meantime.");
        }
        if self.approvals.get(&stored.request.id).is_some() {
            self.approvals.bring_back(Some(&stored.request.id));
            return;
        }
        let title = one_line_summary(stored.title.as_deref().unwrap_or("untitled"), TITLE);
        let origin = Origin::Elsewhere { title, folder: stored.workspace };
        self.approvals.add(stored.request, origin);
    }

    /// Records the number of requests in other sessions.
    pub(super) fn elsewhere(&mut self, count: usize) {
        self.elsewhere = count;
    }

    /// Reports requests in other sessions if their number increased.
    pub(super) fn report_elsewhere(&mut self) {
        let before = std::mem::replace(&mut self.reported_elsewhere, self.elsewhere);
        if self.elsewhere > before {
            let waiting = describe::approvals(self.elsewhere);
            self.page.line(&format!("{waiting} in other sessions. Type /inbox to list them."));
        }
    }

    /// Returns the prompt, with any mode that is not the default.
    pub(super) fn prompt_words(&self) -> String {
        let Some(header) = &self.header else { return "You: ".to_owned() };
        let mode = (header.mode != Mode::Ask).then(|| header.mode.word());
        let auto = (header.auto_approve != AutoApprove::Asking).then(|| header.auto_approve.word());
        let words: Vec<&str> = mode.into_iter().chain(auto).collect();
        if words.is_empty() { "You: ".to_owned() } else { format!("You ({}): ", words.join(", ")) }
    }
}

fn heading(line: &InboxLine) -> String {
    let folder = one_line_summary(&line.row.workspace.display().to_string(), TITLE);
    format!("{}, in {folder}, {}", one_line_summary(line.title(), TITLE), line.holder.word())
}

/// Describes a request in one line.
fn entry(line: &InboxLine, now: &Zoned) -> String {
    let mut text = format!(
        "{} risk, {}, {}",
        line.row.risk.word(),
        line.row.tool.as_str(),
        one_line_summary(&line.row.summary, SUMMARY)
    );
    if line.row.tainted {
        text.push_str(", with untrusted text");
    }
    let age = age(line.row.created, now.timestamp());
    text.push_str(&format!(", waiting for {}", if age == "now" { "a moment" } else { &age }));
    match line.row.expires {
        Some(at) if at <= now.timestamp() => text.push_str(", expired"),
        Some(at) => {
            text.push_str(&format!(", expires {}", deadline(at, now.timestamp(), now.time_zone())));
        }
        None => {}
    }
    text
}
