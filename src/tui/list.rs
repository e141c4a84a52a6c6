//! A list of requests with marks, shared by the batch of a session and the inbox of all sessions. Plain data: the rows
//! belong to the batch or the inbox, `cells::list` draws the table.

use std::collections::HashSet;

use super::composer::Editor;
use super::keys::{Action, CardKey, Context, Keymap, ListKey, StatusHint};
use crate::approval::{Approval, RequestId};
use crate::frontend::dialogue::{Seen, no};
use crate::tool::Risk;

/// The contexts that bind keys while the reason of a denial is written.
pub const REASON: &[Context] = &[Context::Reason, Context::Text, Context::Global];

/// The hints of the status line at that time.
pub const REASON_HINTS: &[StatusHint] =
    &[(Context::Reason, &[Action::Card(CardKey::SendNo)], " deny, with or without a reason")];

#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestList {
    pub stage: ListStage,
    /// Why the last key did nothing, or its effect.
    pub advice: Option<String>,
    marks: HashSet<RequestId>,
}

/// The mode of a list's keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ListStage {
    #[default]
    Choosing,
    /// The filter is being written.
    Filtering,
    /// One reason for the denial of all these is being written.
    Reason { editor: Editor, of: Vec<RequestId> },
}

/// The box at the left of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    On,
    Off,
    /// A decision was sent.
    Decided,
}

/// A request of a list for which no decision was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenRequest {
    pub id: RequestId,
    pub risk: Risk,
    pub seen: Seen,
    /// Whether arguments have untrusted text.
    pub is_tainted: bool,
}

impl RequestList {
    pub fn mark(&self, id: &RequestId) -> Mark {
        if self.marks.contains(id) { Mark::On } else { Mark::Off }
    }

    fn turn_mark(&mut self, id: &RequestId) {
        if !self.marks.remove(id) {
            self.marks.insert(id.clone());
        }
    }

    pub fn unmark(&mut self, id: &RequestId) {
        self.marks.remove(id);
    }

    /// Handles a key that marks or denies, given the open requests of the list and the chosen one; other keys do
    /// nothing. `context` is that of the list.
    pub fn act(
        &mut self,
        key: ListKey,
        (open, chosen): (Vec<OpenRequest>, Option<OpenRequest>),
        keymap: &Keymap,
        context: Context,
    ) {
        match key {
            ListKey::Mark => chosen.iter().for_each(|one| self.turn_mark(&one.id)),
            ListKey::MarkLow => self.mark_all(&open, Risk::Low, keymap, context),
            ListKey::MarkMost => self.mark_all(&open, Risk::Medium, keymap, context),
            ListKey::No => self.refuse(self.marked_or(open, chosen)),
            ListKey::Yes
            | ListKey::Open
            | ListKey::Whole
            | ListKey::Why
            | ListKey::Edit
            | ListKey::Rule
            | ListKey::Later
            | ListKey::Resume
            | ListKey::OpenSession
            | ListKey::Filter
            | ListKey::Filtered
            | ListKey::Narrow => {}
        }
    }

    /// Marks those of these that may be marked together; sets advice if there is none.
    fn mark_all(&mut self, open: &[OpenRequest], most: Risk, keymap: &Keymap, context: Context) {
        let is_marked = |one: &&OpenRequest| one.risk <= most && (most == Risk::Low || !one.is_tainted);
        let ids: Vec<RequestId> = open.iter().filter(is_marked).map(|one| one.id.clone()).collect();
        if ids.is_empty() {
            let words = if most == Risk::Low { "none is LOW" } else { "each of these is HIGH or has ▲" };
            self.advice = Some(keymap.told(words, &[marks_one(context)]));
        }
        self.marks.extend(ids);
    }

    pub fn marked(&self, open: Vec<OpenRequest>) -> Vec<OpenRequest> {
        open.into_iter().filter(|one| self.marks.contains(&one.id)).collect()
    }

    /// Returns the marked ones of these, or else the chosen one.
    pub fn marked_or(&self, open: Vec<OpenRequest>, chosen: Option<OpenRequest>) -> Vec<OpenRequest> {
        let mut these = self.marked(open);
        if these.is_empty() {
            these.extend(chosen);
        }
        these
    }

    /// Begins the reason for a denial of these.
    fn refuse(&mut self, of: Vec<OpenRequest>) {
        let of: Vec<RequestId> = of.into_iter().map(|one| one.id).collect();
        if !of.is_empty() {
            self.stage = ListStage::Reason { editor: Editor::default(), of };
        }
    }

    /// Ends the reason; returns the denial and its requests.
    pub fn take_no(&mut self) -> Option<(Approval, Vec<RequestId>)> {
        match std::mem::take(&mut self.stage) {
            ListStage::Reason { editor, of } => Some((no(&editor.text()), of)),
            ListStage::Choosing | ListStage::Filtering => None,
        }
    }

    /// Drops the state of requests that cannot be decided here any more.
    pub fn retain(&mut self, is_open: impl Fn(&RequestId) -> bool) {
        self.marks.retain(&is_open);
        if let ListStage::Reason { of, .. } = &mut self.stage {
            of.retain(&is_open);
            if of.is_empty() {
                self.stage = ListStage::Choosing;
            }
        }
    }

    /// Returns the reason being written.
    pub fn editor_mut(&mut self) -> Option<&mut Editor> {
        match &mut self.stage {
            ListStage::Reason { editor, .. } => Some(editor),
            ListStage::Choosing | ListStage::Filtering => None,
        }
    }

    /// Returns the requests to be denied with the reason being written.
    pub fn refused(&self) -> &[RequestId] {
        match &self.stage {
            ListStage::Reason { of, .. } => of,
            ListStage::Choosing | ListStage::Filtering => &[],
        }
    }

    pub fn is_refusing(&self) -> bool {
        matches!(self.stage, ListStage::Reason { .. })
    }
}

/// Returns the key that marks one request, with its description.
pub fn marks_one(context: Context) -> (Context, Action, &'static str) {
    (context, Action::List(ListKey::Mark), "marks a row")
}
