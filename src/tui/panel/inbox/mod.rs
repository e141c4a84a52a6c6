//! The inbox: the pending requests of all sessions as one list, with marks, a filter and the details of the chosen one.
//!
//! It holds up to ten thousand requests; anything that depends on all of them is computed when they arrive or when the
//! filter changes, never for a frame.

mod details;
mod draw;
mod keys;
mod shape;

use std::collections::{HashMap, HashSet};

use self::details::Details;
use crate::approval::RequestId;
use crate::frontend::dialogue::{OpenRequest, SeenPart};
use crate::frontend::protocol::{Holder, InboxLine};
use crate::history::SessionId;
use crate::store::RequestState;
use crate::tool::Risk;
use crate::tui::composer::Editor;
use crate::tui::fuzzy::{MatchMode, Query};
use crate::tui::keys::{Action, Context, ContextRow, HelpGroup, Letters, Nav, Section, at, row};
use crate::tui::list::{RequestList, RowMark};

const CONTEXT: Context = Context::Panel(&ContextRow::new(
    "inbox",
    "in the inbox",
    Letters::AreKeys,
    &[Context::Batch, Context::Global],
));

const FILTER_CONTEXT: Context = Context::Panel(&ContextRow::new(
    "inbox-filter",
    "in the inbox filter",
    Letters::AreText,
    &[Context::Text, Context::Global],
));

/// Postpones the request.
const LATER: Action = Action::Panel("later");
/// Resumes a session without an owner.
const RESUME: Action = Action::Panel("resume");
/// Opens the session in place of this one.
const OPEN_SESSION: Action = Action::Panel("go");
const FILTER: Action = Action::Panel("filter");
/// Ends the editing of the filter.
const FILTERED: Action = Action::Panel("filtered");
/// Switches between one session and all.
const NARROW: Action = Action::Panel("narrow");

/// Its own keys, beside those of all lists.
pub const KEYS: &[Section] = &[
    at(CONTEXT, HelpGroup::Decide).rows(&[
        row("later", LATER, "l", "inbox: postpone").decides(),
        row("resume", RESUME, "R", "inbox: resume session").decides(),
        row("go", OPEN_SESSION, "o", "inbox: open session").decides(),
        row("filter", FILTER, "/", "inbox: filter"),
        row("narrow", NARROW, "Tab", "inbox: one session"),
    ]),
    at(FILTER_CONTEXT, HelpGroup::Decide).rows(&[
        row("filtered", FILTERED, "Enter", ""),
        row("previous", Action::Nav(Nav::Up), "Up", ""),
        row("next", Action::Nav(Nav::Down), "Down", ""),
        row("narrow", NARROW, "Tab", ""),
    ]),
];

/// The time for which a sent decision is drawn as in progress without an answer of the owner, in milliseconds.
const DECIDING_MS: u64 = 5_000;

/// The state of an approved request whose session is not open anywhere.
pub const APPROVED: &str = "decided";

/// The open inbox.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inbox {
    lines: Vec<InboxLine>,
    pub load_state: LoadState,
    pub filter: Editor,
    /// Only the requests of the chosen one's session are listed.
    pub one_session: bool,
    /// Only the chosen request is drawn.
    pub is_whole: bool,
    pub list: RequestList,
    /// The listed rows: sessions, each with its requests below.
    pub rows: Vec<InboxRow>,
    /// The number of rows without a filter.
    longest: usize,
    /// The index of the chosen row.
    at: usize,
    /// Requests whose row was on the screen.
    glanced: HashSet<RequestId>,
    /// Sent decisions: the word for each, and until when it is drawn.
    deciding: HashMap<RequestId, (&'static str, u64)>,
    pub details: Details,
}

/// Whether the owner has sent the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadState {
    #[default]
    NotLoaded,
    Loaded,
    /// It changed, and was requested again.
    Outdated,
    /// The owner could not read it, and said why.
    Failed,
}

/// A row of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxRow {
    /// The session of the line with this index; its requests follow.
    Session(usize),
    Request(usize),
}

impl Inbox {
    /// Replaces the list. The chosen request stays chosen; if it is gone, the one that takes its place is chosen. Returns
    /// whether it is gone without a decision that was sent from here.
    fn replace(&mut self, lines: Vec<InboxLine>, now_ms: u64) -> bool {
        let before = self.chosen_line().map(|line| line.row.id.clone());
        let was_sent = before.as_ref().is_some_and(|id| self.deciding.contains_key(id));
        self.lines = lines;
        self.order();
        self.load_state = LoadState::Loaded;
        let waits: HashSet<&RequestId> = self.lines.iter().map(|line| &line.row.id).collect();
        self.list.retain(|id| waits.contains(id));
        self.glanced.retain(|id| waits.contains(id));
        self.deciding.retain(|id, (_, until)| *until > now_ms && waits.contains(id));
        self.details.retain(|id| waits.contains(id));
        for line in &self.lines {
            if line.row.state != RequestState::Waiting {
                self.deciding.remove(&line.row.id);
            }
        }
        self.arrange(before.as_ref());
        before.is_some() && !was_sent && self.chosen_line().map(|line| &line.row.id) != before.as_ref()
    }

    /// Rebuilds the rows after the filter or the scope changed.
    pub fn list_again(&mut self) {
        let before = self.chosen_line().map(|line| line.row.id.clone());
        self.arrange(before.as_ref());
    }

    /// Rebuilds the rows; chooses `wanted` if listed, else the row at the same place.
    fn arrange(&mut self, wanted: Option<&RequestId>) {
        let session = if self.one_session { self.session_of(wanted) } else { None };
        let text = self.filter.text();
        let mut query = (!text.trim().is_empty()).then(|| Query::new(&text, MatchMode::Text));
        self.rows.clear();
        let mut head: Option<&SessionId> = None;
        for (index, line) in self.lines.iter().enumerate() {
            let outside = session.as_ref().is_some_and(|session| line.row.session != *session);
            if outside || query.as_mut().is_some_and(|query| query.score(&searched_text(line)).is_none()) {
                continue;
            }
            if head != Some(&line.row.session) {
                head = Some(&line.row.session);
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
        // Only requests can be chosen.
        if let Some(InboxRow::Session(_)) = self.rows.get(self.at) {
            self.at += 1;
        }
    }

    /// Returns the session of the narrowed scope: that of the chosen request, or else the current one.
    fn session_of(&self, wanted: Option<&RequestId>) -> Option<SessionId> {
        let chosen = self.lines.iter().find(|line| Some(&line.row.id) == wanted);
        let here = || self.lines.iter().find(|line| line.holder == Holder::Here);
        chosen.or_else(here).or(self.lines.first()).map(|line| line.row.session.clone())
    }

    pub fn turn_scope(&mut self) {
        self.one_session = !self.one_session;
        self.list_again();
    }

    /// Returns the rows of the whole list, so that a filter does not move what is below.
    pub fn longest(&self) -> usize {
        self.longest.max(self.rows.len())
    }

    pub fn chosen_line(&self) -> Option<&InboxLine> {
        match self.rows.get(self.at)? {
            InboxRow::Request(index) => self.lines.get(*index),
            InboxRow::Session(_) => None,
        }
    }

    /// Returns the number of the undecided requests.
    pub fn undecided_count(&self) -> usize {
        self.lines.iter().filter(|line| !is_approved(line)).count()
    }

    /// Orders the requests: those that were postponed after the others of their session, and sessions where nothing
    /// new waits after the others.
    fn order(&mut self) {
        let is_new = |line: &InboxLine| line.row.state == RequestState::Waiting;
        let new: HashSet<SessionId> =
            self.lines.iter().filter(|line| is_new(line)).map(|line| line.row.session.clone()).collect();
        let mut places: HashMap<SessionId, usize> = HashMap::new();
        for line in &self.lines {
            let next = places.len();
            places.entry(line.row.session.clone()).or_insert(next);
        }
        self.lines
            .sort_by_key(|line| (!new.contains(&line.row.session), places[&line.row.session], !is_new(line)));
    }

    /// Returns the numbers of listed requests and sessions.
    pub fn counts(&self) -> (usize, usize) {
        let undecided: Vec<&InboxLine> = self.requests().filter(|line| !is_approved(line)).collect();
        let sessions: HashSet<&SessionId> = undecided.iter().map(|line| &line.row.session).collect();
        (undecided.len(), sessions.len())
    }

    /// Goes to another request; a page has `page` of them.
    fn step(&mut self, nav: Nav, page: usize) {
        let is_request = |at: &usize| matches!(self.rows[*at], InboxRow::Request(_));
        let requests: Vec<usize> = (0..self.rows.len()).filter(is_request).collect();
        let to = nav.row(requests.partition_point(|at| *at < self.at), page);
        if let Some(at) = requests.get(to).or(requests.last()) {
            self.at = *at;
        }
    }

    pub fn go_to(&mut self, id: &RequestId) {
        let is_it = |row: &InboxRow| matches!(row, InboxRow::Request(at) if self.lines[*at].row.id == *id);
        if let Some(at) = self.rows.iter().position(is_it) {
            self.at = at;
        }
    }

    /// Returns the listed requests, in their order.
    pub fn requests(&self) -> impl Iterator<Item = &InboxLine> {
        self.rows.iter().filter_map(|row| match row {
            InboxRow::Request(index) => self.lines.get(*index),
            InboxRow::Session(_) => None,
        })
    }

    /// Returns a request's data for a decision, unless one was sent.
    pub fn open(&self, line: &InboxLine) -> Option<OpenRequest> {
        self.decides(line).is_none().then(|| OpenRequest {
            id: line.row.id.clone(),
            risk: line.row.risk,
            seen: self.seen_part(line),
            is_tainted: line.row.tainted,
        })
    }

    pub fn mark(&self, line: &InboxLine) -> RowMark {
        if self.decides(line).is_some() { RowMark::Decided } else { self.list.mark(&line.row.id) }
    }

    /// Returns the number of listed requests that are marked.
    pub fn marked_count(&self) -> usize {
        self.requests().filter(|line| self.mark(line) == RowMark::On).count()
    }

    /// Returns the word for a decision that was sent or made.
    pub fn decides(&self, line: &InboxLine) -> Option<&'static str> {
        if is_approved(line) {
            Some(APPROVED)
        } else {
            self.deciding.get(&line.row.id).map(|(word, _)| *word)
        }
    }

    /// Records that decisions on these were sent.
    fn mark_sent(&mut self, ids: &[RequestId], word: &'static str, now_ms: u64) {
        for id in ids {
            self.list.unmark(id);
            self.deciding.insert(id.clone(), (word, now_ms + DECIDING_MS));
        }
    }

    /// Returns how much of it was seen. For a low-risk request without taint its row is enough.
    fn seen_part(&self, line: &InboxLine) -> SeenPart {
        let row_says_it = line.row.risk == Risk::Low && !line.row.tainted;
        let all =
            self.details.seen.contains(&line.row.id) || (row_says_it && self.glanced.contains(&line.row.id));
        if all { SeenPart::All } else { SeenPart::UpTo(0) }
    }
}

/// Whether it was approved, and waits for its session to be resumed.
fn is_approved(line: &InboxLine) -> bool {
    matches!(line.row.state, RequestState::Approved | RequestState::Edited | RequestState::Replaced)
}

/// Returns the text that the filter searches.
fn searched_text(line: &InboxLine) -> String {
    format!("{} {} {} {}", line.row.risk.word(), line.row.tool.as_str(), line.row.summary, line.title())
}
