//! A list of requests with marks, shared by the batch of a session and the inbox of all sessions, and what its keys do.
//! Plain data: the rows belong to the batch or the inbox, and so does sending; `cells::list` draws the table.

use super::composer::Editor;
use super::keys::{Action, CardKey, Context, Keymap, ListKey, Nav, StatusHint};
use crate::approval::{Approval, RequestId};
use crate::frontend::dialogue::{ApprovalEffect, Dialogue, Marks, OpenRequest, no, unseen};
use crate::frontend::protocol::ClientRequest;
use crate::frontend::sentences;
use crate::tool::Risk;

/// The hints of the status line while the reason of a denial is written.
pub const REASON_HINTS: &[StatusHint] =
    &[(Context::Reason, &[Action::Card(CardKey::SendNo)], " deny, with or without a reason")];

/// The keys that show more of the chosen request.
pub const SHOWS_MORE: [(Context, Action, &str); 2] = [
    (Context::Global, Action::Nav(Nav::LineDown), ""),
    (Context::Batch, Action::List(ListKey::Whole), "view"),
];

/// Why the text that the user was writing has no request any more.
pub const GONE_WHILE_WRITING: &str = "it was decided or postponed while you were typing";

#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestList {
    pub stage: ListStage,
    /// Why the last key did nothing, or its effect.
    pub advice: Option<String>,
    marks: Marks,
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
pub enum RowMark {
    On,
    Off,
    /// A decision was sent.
    Decided,
}

/// The open requests of a list, in their order, and the chosen one if it is open.
pub type OpenRows = (Vec<OpenRequest>, Option<OpenRequest>);

/// The effect of a key that approves several requests.
pub enum ApprovalOutcome {
    /// Nothing is sent: too early, the first of two, or nothing is open.
    Nothing,
    /// Not all of this request was shown.
    Unseen(RequestId),
    /// Nothing of this request is left to approve.
    Empty(RequestId),
    /// The approvals of these requests are to be sent, all in one.
    Sent(Vec<RequestId>, ClientRequest),
}

/// Approves these in one round. `ask` returns what is to be sent for them, or the request of which nothing is left.
pub fn approve<Subject: PartialEq>(
    these: &[OpenRequest],
    ask: impl FnOnce(&[RequestId]) -> Result<ClientRequest, RequestId>,
    dialogue: &mut Dialogue<Subject, ClientRequest>,
    now_ms: u64,
) -> ApprovalOutcome {
    if these.is_empty() {
        return ApprovalOutcome::Nothing;
    }
    if let Some(unseen) = unseen(these) {
        return ApprovalOutcome::Unseen(unseen.id.clone());
    }
    let ids: Vec<RequestId> = these.iter().map(|one| one.id.clone()).collect();
    match ask(&ids).map(|ask| dialogue.yes_to_all(ask, these, now_ms)) {
        Ok(ApprovalEffect::Send(ask)) => ApprovalOutcome::Sent(ids, ask),
        Ok(ApprovalEffect::TooSoon | ApprovalEffect::Unseen | ApprovalEffect::Once) => {
            ApprovalOutcome::Nothing
        }
        Err(id) => ApprovalOutcome::Empty(id),
    }
}

impl RequestList {
    pub fn mark(&self, id: &RequestId) -> RowMark {
        if self.marks.contains(id) { RowMark::On } else { RowMark::Off }
    }

    pub fn unmark(&mut self, id: &RequestId) {
        self.marks.remove(id);
    }

    /// Handles the keys that mark requests or begin a denial. The others concern what is shown around the list.
    pub fn act(&mut self, key: ListKey, rows: OpenRows, keymap: &Keymap) {
        match key {
            ListKey::Mark => self.turn_mark(rows.1, keymap),
            ListKey::MarkLow => self.mark_all(&rows.0, Risk::Low, keymap),
            ListKey::MarkMost => self.mark_all(&rows.0, Risk::Medium, keymap),
            ListKey::No => self.refuse(rows),
            ListKey::Whole | ListKey::Why | ListKey::Open | ListKey::Edit | ListKey::Rule | ListKey::Yes => {}
        }
    }

    /// Marks or unmarks a request. A HIGH one is marked only once all of it was shown; else sets advice.
    fn turn_mark(&mut self, chosen: Option<OpenRequest>, keymap: &Keymap) {
        if chosen.is_some_and(|one| !self.marks.turn(one)) {
            self.advice = Some(keymap.with_hints("HIGH is marked once all of it was shown", &SHOWS_MORE));
        }
    }

    /// Marks those of these that may be marked together; sets advice if there is none.
    fn mark_all(&mut self, open: &[OpenRequest], most: Risk, keymap: &Keymap) {
        if !self.marks.add_all(open, most) {
            let words = if most == Risk::Low { "none is LOW" } else { "each of these is HIGH or has ▲" };
            let mark = (Context::Batch, Action::List(ListKey::Mark), "marks a row");
            self.advice = Some(keymap.with_hints(words, &[mark]));
        }
    }

    /// Returns the marked requests, or else the chosen one.
    pub fn marked_or(&self, (open, chosen): OpenRows) -> Vec<OpenRequest> {
        self.marks.or_chosen(open, chosen)
    }

    /// Approves the marked requests, or else the chosen one, as [`approve`] does. Sets advice for one that cannot be
    /// approved, which is to be chosen.
    pub fn yes<Subject: PartialEq>(
        &mut self,
        rows: OpenRows,
        ask: impl FnOnce(&[RequestId]) -> Result<ClientRequest, RequestId>,
        dialogue: &mut Dialogue<Subject, ClientRequest>,
        keymap: &Keymap,
        now_ms: u64,
    ) -> ApprovalOutcome {
        let done = approve(&self.marked_or(rows), ask, dialogue, now_ms);
        self.advice = Some(match &done {
            ApprovalOutcome::Unseen(_) => keymap.with_hints(sentences::UNREAD, &SHOWS_MORE),
            ApprovalOutcome::Empty(_) => nothing_left(keymap, Context::Batch, Action::List(ListKey::No)),
            ApprovalOutcome::Nothing | ApprovalOutcome::Sent(..) => return done,
        });
        dialogue.withdraw();
        dialogue.show_again(now_ms);
        done
    }

    /// Begins the reason for a denial of the marked requests, or else of the chosen one.
    fn refuse(&mut self, rows: OpenRows) {
        let of: Vec<RequestId> = self.marked_or(rows).into_iter().map(|one| one.id).collect();
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
    pub fn refused_ids(&self) -> &[RequestId] {
        match &self.stage {
            ListStage::Reason { of, .. } => of,
            ListStage::Choosing | ListStage::Filtering => &[],
        }
    }

    pub fn is_refusing(&self) -> bool {
        matches!(self.stage, ListStage::Reason { .. })
    }
}

/// Returns advice for an approval with every hunk skipped; `no` is the action that denies.
pub fn nothing_left(keymap: &Keymap, context: Context, no: Action) -> String {
    keymap.with_hints(sentences::NOTHING_LEFT, &[(context, no, "denies")])
}
