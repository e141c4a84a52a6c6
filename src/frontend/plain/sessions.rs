//! Other sessions: a list of them as numbered lines, and the switch to one of them.
//!
//! Numbers refer to the last printed list; a list alone opens nothing. Called by the state and its commands.

use jiff::Zoned;

use super::approvals::Approvals;
use super::describe;
use super::state::Plain;
use crate::command::{STOP_FIRST, TURN_RUNS, by_number};
use crate::frontend::protocol::{ClientRequest, SessionLine};
use crate::stdx::moment::ago;
use crate::stdx::text::{count, one_line_summary};

/// Maximum number of sessions printed; words after the command filter the list.
const LISTED: usize = 20;

/// Width of a title, in cells.
const TITLE: usize = 60;

const WHICH: &str = "Type /open and a number that /resume printed, for example /open 1.";

impl Plain {
    /// Prints the sessions with these words in their titles, or an id with this prefix.
    pub(super) fn pick_session(&mut self, mut found: Vec<SessionLine>, query: &str) {
        let wanted = query.trim().to_lowercase();
        found.retain(|one| {
            let title = one.title.to_lowercase();
            wanted.split_whitespace().all(|word| title.contains(word)) || one.id.0.starts_with(&wanted)
        });
        if found.is_empty() {
            self.listed.clear();
            let words = if wanted.is_empty() { "No other sessions yet." } else { "No matching sessions." };
            return self.page.line(words);
        }
        let now = self.clock.clone();
        self.page.line("Other sessions, the latest first:");
        for (at, one) in found.iter().take(LISTED).enumerate() {
            self.page.block(&format!("{}: {}", at + 1, entry(one, &now)), "  ");
        }
        if found.len() > LISTED {
            let more = found.len() - LISTED;
            self.page.line(&format!("And {more} more; /resume TEXT lists those with a matching title."));
        }
        self.page.line("Type /open and a number to continue one, for example /open 1.");
        found.truncate(LISTED);
        self.listed = found;
    }

    /// Switches to the session of this number, unless a turn runs or a question is open.
    pub(super) fn open_session(&mut self, number: &str) {
        let Some(one) = by_number(&self.listed, number) else { return self.page.line(WHICH) };
        if self.turn_runs {
            return self.page.line(&format!("{TURN_RUNS} {STOP_FIRST}, then /open."));
        }
        if self.approvals.asks() {
            return self.page.line("A request is open. Decide or postpone it first, then /open.");
        }
        let (session, title) = (one.id.clone(), one.title.clone());
        self.page.line(&format!("Opening {}.", one_line_summary(&title, TITLE)));
        self.send_and_wait(ClientRequest::Open { session });
    }

    /// Clears the state for another session.
    pub(super) fn on_session_change(&mut self) {
        self.approvals = Approvals::default();
        self.listed.clear();
        self.forget_turn();
        // Its owner reports when it is idle.
        self.turn_runs = true;
    }
}

/// Describes a session in one line.
fn entry(one: &SessionLine, now: &Zoned) -> String {
    let title = one_line_summary(&one.title, TITLE);
    let mut text = format!(
        "{title}, {}, {}",
        ago(one.updated, now.timestamp(), now.time_zone()),
        count(one.turns, "turn")
    );
    if one.waiting > 0 {
        text.push_str(&format!(", {}", describe::approvals(one.waiting)));
    }
    if !one.here {
        text.push_str(&format!(", in {}", one_line_summary(&one.workspace.display().to_string(), TITLE)));
    }
    text
}
