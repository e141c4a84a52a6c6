//! Other sessions: the list of them as numbered lines, and the change to one of them.
//!
//! A number means what was printed last; nothing is opened by a list alone. Called by the state and for its commands.

use super::approvals::Approvals;
use super::state::{Activity, Awaiting, Plain};
use super::words;
use crate::frontend::link::{Ask, SessionLine};
use crate::stdx::text::one_line_summary;

/// Sessions that are read out at once; words behind the command narrow the list.
const LISTED: usize = 20;

/// Cells of a title.
const TITLE: usize = 60;

const WHICH: &str = "Type /open and a number that /resume printed, for example /open 1.";

impl Plain {
    /// Prints the sessions that have these words in their titles, or an id that begins so.
    pub(super) fn pick_session(&mut self, query: &str) {
        self.answered();
        let wanted = query.trim().to_lowercase();
        let mut found: Vec<SessionLine> = std::mem::take(&mut self.sessions);
        found.retain(|one| {
            let title = one.title.to_lowercase();
            wanted.split_whitespace().all(|word| title.contains(word)) || one.id.0.starts_with(&wanted)
        });
        if found.is_empty() {
            self.listed.clear();
            let words =
                if wanted.is_empty() { "There is no other session yet." } else { "No session matches." };
            return self.page.line(words);
        }
        self.page.line("Other sessions, the latest first:");
        for (at, one) in found.iter().take(LISTED).enumerate() {
            self.page.block(&format!("{}: {}", at + 1, told(one)), "  ");
        }
        if found.len() > LISTED {
            let more = found.len() - LISTED;
            self.page
                .line(&format!("And {more} more; /resume with words of a title lists those that have them."));
        }
        self.page.line("Type /open and a number to go on in one, for example /open 1.");
        found.truncate(LISTED);
        self.listed = found;
    }

    /// Goes on in the session of this number, once nothing runs and nothing is asked.
    pub(super) fn open_session(&mut self, number: &str) {
        let at = number.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let Some(one) = at.and_then(|at| self.listed.get(at)) else { return self.page.line(WHICH) };
        if self.turn == Activity::Running {
            return self.page.line("A turn is running. Stop it with Ctrl+C first, then /open.");
        }
        if self.approvals.asks() {
            return self.page.line("Something is asked. Answer it or put it off first, then /open.");
        }
        let (session, title) = (one.id.clone(), one.title.clone());
        self.page.line(&format!("Opening {}.", one_line_summary(&title, TITLE)));
        self.awaiting = Awaiting::Answer;
        self.send(Ask::Open { session });
    }

    /// Another session follows: what is known of the one before is over.
    pub(super) fn entered(&mut self) {
        self.approvals = Approvals::default();
        self.listed.clear();
        self.forget_turn();
        // Its owner says when it is idle.
        self.turn = Activity::Running;
    }
}

/// A session in one line.
fn told(one: &SessionLine) -> String {
    let title = one_line_summary(&one.title, TITLE);
    let turns = if one.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", one.turns) };
    let mut text = format!("{title}, {}, {turns}", one.when);
    if one.waiting > 0 {
        text.push_str(&format!(", {}", words::approvals(one.waiting)));
    }
    if !one.here {
        text.push_str(&format!(", in {}", one_line_summary(&one.workspace.display().to_string(), TITLE)));
    }
    text
}
