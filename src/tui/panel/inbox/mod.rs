//! The inbox: what waits in all sessions as one list, with marks, a filter and the chosen request whole.
//!
//! Here is its state. It holds up to ten thousand requests; what depends on all of them is computed when they are
//! told, or when the filter changes, and never for a frame.

mod details;
mod draw;
mod keys;
mod shape;

use std::collections::{HashMap, HashSet};

use self::details::Details;
use crate::approval::RequestId;
use crate::frontend::dialogue::Seen;
use crate::frontend::protocol::{Holder, InboxLine};
use crate::history::SessionId;
use crate::store::RequestState;
use crate::tool::Risk;
use crate::tui::composer::Editor;
use crate::tui::fuzzy::{Like, Query};
use crate::tui::list::{Mark, OpenRequest, RequestList};

/// For this long what was sent is drawn as being decided, if the owner says nothing of it.
const DECIDING_MS: u64 = 5_000;

/// The open inbox.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inbox {
    lines: Vec<InboxLine>,
    pub listing: Listing,
    pub filter: Editor,
    pub scope: InboxScope,
    pub view: View,
    pub list: RequestList,
    /// What is listed: the sessions, each with its requests below.
    pub rows: Vec<InboxRow>,
    /// How many rows there are without a filter.
    longest: usize,
    /// The chosen one of the rows.
    at: usize,
    /// Requests of which the row was on the screen.
    glanced: HashSet<RequestId>,
    /// What was sent, the word for it, and until when that is drawn.
    deciding: HashMap<RequestId, (&'static str, u64)>,
    pub details: Details,
}

/// Whether the owner has told what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Listing {
    #[default]
    NotLoaded,
    Loaded,
    /// It changed, and was requested again.
    Outdated,
}

/// What of it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InboxScope {
    #[default]
    All,
    /// The chosen request's session.
    Session,
}

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum View {
    #[default]
    List,
    /// The chosen request, and nothing else.
    Whole,
}

/// A row of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxRow {
    /// The session of the line with this index; its requests follow.
    Session(usize),
    Request(usize),
}

/// What became of the chosen request when the list was told again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    Same,
    /// It does not wait any more, by what was said here.
    Decided,
    /// It does not wait any more: somebody else, or time.
    Gone,
}

impl Inbox {
    /// What waits now. The chosen request stays chosen; with it gone, the one that comes to stand in its place.
    fn replace(&mut self, lines: Vec<InboxLine>, now_ms: u64) -> Chosen {
        let before = self.chosen().map(|line| line.id.clone());
        let was_sent = before.as_ref().is_some_and(|id| self.deciding.contains_key(id));
        self.lines = lines;
        self.listing = Listing::Loaded;
        let waits: HashSet<&RequestId> = self.lines.iter().map(|line| &line.id).collect();
        self.list.retain(|id| waits.contains(id));
        self.glanced.retain(|id| waits.contains(id));
        self.deciding.retain(|id, (_, until)| *until > now_ms && waits.contains(id));
        self.details.retain(|id| waits.contains(id));
        for line in &self.lines {
            if line.state == RequestState::Later {
                self.deciding.remove(&line.id);
            }
        }
        self.arrange(before.as_ref());
        match (before, self.chosen()) {
            (None, _) => Chosen::Same,
            (Some(before), Some(now)) if now.id == before => Chosen::Same,
            (Some(_), _) if was_sent => Chosen::Decided,
            (Some(_), _) => Chosen::Gone,
        }
    }

    /// The rows again, after the filter or the scope changed.
    pub fn list_again(&mut self) {
        let before = self.chosen().map(|line| line.id.clone());
        self.arrange(before.as_ref());
    }

    /// The rows; `wanted` is chosen if it is among them, else what stands where the chosen one stood.
    fn arrange(&mut self, wanted: Option<&RequestId>) {
        let session = match self.scope {
            InboxScope::All => None,
            InboxScope::Session => self.session_of(wanted),
        };
        let text = self.filter.text();
        let mut query = (!text.trim().is_empty()).then(|| Query::new(&text, Like::Text));
        self.rows.clear();
        let mut head: Option<&SessionId> = None;
        for (index, line) in self.lines.iter().enumerate() {
            let outside = session.as_ref().is_some_and(|session| line.session != *session);
            if outside || query.as_mut().is_some_and(|query| query.score(&words(line)).is_none()) {
                continue;
            }
            if head != Some(&line.session) {
                head = Some(&line.session);
                self.rows.push(InboxRow::Session(index));
            }
            self.rows.push(InboxRow::Request(index));
        }
        if query.is_none() && session.is_none() {
            self.longest = self.rows.len();
        }
        self.at = self.at.min(self.rows.len().saturating_sub(1));
        if let Some(id) = wanted {
            self.go_to(id);
        }
        // No session is ever chosen, only its requests.
        if let Some(InboxRow::Session(_)) = self.rows.get(self.at) {
            self.at += 1;
        }
    }

    /// The session that the scope is narrowed to: that of the chosen request, or where there is none, the one at hand.
    fn session_of(&self, wanted: Option<&RequestId>) -> Option<SessionId> {
        let chosen = self.lines.iter().find(|line| Some(&line.id) == wanted);
        let here = || self.lines.iter().find(|line| line.holder == Holder::Here);
        chosen.or_else(here).or(self.lines.first()).map(|line| line.session.clone())
    }

    pub fn turn_scope(&mut self) {
        self.scope = match self.scope {
            InboxScope::All => InboxScope::Session,
            InboxScope::Session => InboxScope::All,
        };
        self.list_again();
    }

    /// Rows of the whole list: what is narrowed for a moment moves nothing below it.
    pub fn longest(&self) -> usize {
        self.longest.max(self.rows.len())
    }

    pub fn line(&self, index: usize) -> &InboxLine {
        &self.lines[index]
    }

    /// The index of the chosen row.
    pub fn at(&self) -> usize {
        self.at
    }

    pub fn chosen(&self) -> Option<&InboxLine> {
        match self.rows.get(self.at)? {
            InboxRow::Request(index) => self.lines.get(*index),
            InboxRow::Session(_) => None,
        }
    }

    /// Requests in all, whatever is listed.
    pub fn total(&self) -> usize {
        self.lines.len()
    }

    /// How many requests, and sessions, are listed.
    pub fn listed(&self) -> (usize, usize) {
        let sessions = self.rows.iter().filter(|row| matches!(row, InboxRow::Session(_))).count();
        (self.rows.len() - sessions, sessions)
    }

    pub fn up(&mut self, by: usize) {
        for _ in 0..by {
            let mut above = self.rows[..self.at.min(self.rows.len())].iter();
            let Some(at) = above.rposition(|row| matches!(row, InboxRow::Request(_))) else { return };
            self.at = at;
        }
    }

    pub fn down(&mut self, by: usize) {
        for _ in 0..by {
            let mut below = self.rows.iter().enumerate().skip(self.at + 1);
            let Some((at, _)) = below.find(|(_, row)| matches!(row, InboxRow::Request(_))) else { return };
            self.at = at;
        }
    }

    pub fn go_to(&mut self, id: &RequestId) {
        let is_it = |row: &InboxRow| matches!(row, InboxRow::Request(at) if self.lines[*at].id == *id);
        if let Some(at) = self.rows.iter().position(is_it) {
            self.at = at;
        }
    }

    /// The requests that are listed, in their order.
    pub fn requests(&self) -> impl Iterator<Item = &InboxLine> {
        self.rows.iter().filter_map(|row| match row {
            InboxRow::Request(index) => self.lines.get(*index),
            InboxRow::Session(_) => None,
        })
    }

    /// What a decision has to know of a request, as long as none was sent. What is not listed is not decided either.
    pub fn open(&self, line: &InboxLine) -> Option<OpenRequest> {
        self.decides(line).is_none().then(|| OpenRequest {
            id: line.id.clone(),
            risk: line.risk,
            seen: self.seen(line),
        })
    }

    pub fn mark(&self, line: &InboxLine) -> Mark {
        if self.decides(line).is_some() { Mark::Decided } else { self.list.mark(&line.id) }
    }

    /// How many of the listed ones are marked.
    pub fn marked(&self) -> usize {
        self.requests().filter(|line| self.mark(line) == Mark::On).count()
    }

    /// The word for what was sent of it.
    pub fn decides(&self, line: &InboxLine) -> Option<&'static str> {
        self.deciding.get(&line.id).map(|(word, _)| *word)
    }

    /// A decision on these was sent.
    fn sent(&mut self, ids: &[RequestId], word: &'static str, now_ms: u64) {
        for id in ids {
            self.list.unmark(id);
            self.deciding.insert(id.clone(), (word, now_ms + DECIDING_MS));
        }
    }

    /// Its row stood on the screen.
    pub fn glance(&mut self, index: usize) {
        let id = &self.lines[index].id;
        if !self.glanced.contains(id) {
            self.glanced.insert(id.clone());
        }
    }

    /// How much of it was on the screen: of what is LOW and nobody else's words its row is enough.
    fn seen(&self, line: &InboxLine) -> Seen {
        let row_says_it = line.risk == Risk::Low && !line.tainted;
        let all = self.details.is_seen(&line.id) || (row_says_it && self.glanced.contains(&line.id));
        if all { Seen::All } else { Seen::UpTo(0) }
    }
}

/// What the filter looks at.
fn words(line: &InboxLine) -> String {
    format!("{} {} {} {}", line.risk.word(), line.tool.as_str(), line.summary, line.title)
}
