//! A list of requests with marks: what the batch of a session and the inbox of all sessions have in common.
//!
//! Plain data. The rows belong to whoever lists them; keys are `update::list`, the table is `cells::list`. It never
//! decides anything.

use std::collections::HashSet;

use super::composer::Editor;
use crate::approval::RequestId;
use crate::frontend::dialogue::Seen;
use crate::tool::Risk;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestList {
    pub stage: ListStage,
    /// Why the last key did nothing, or what it led to.
    pub advice: Option<String>,
    marks: HashSet<RequestId>,
}

/// What the keys of a list are for.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ListStage {
    #[default]
    Choosing,
    /// The filter is being written.
    Filtering,
    /// One reason for a no to all of these is being written.
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
}

impl RequestList {
    pub fn mark(&self, id: &RequestId) -> Mark {
        if self.marks.contains(id) { Mark::On } else { Mark::Off }
    }

    pub fn turn_mark(&mut self, id: &RequestId) {
        if !self.marks.remove(id) {
            self.marks.insert(id.clone());
        }
    }

    pub fn unmark(&mut self, id: &RequestId) {
        self.marks.remove(id);
    }

    /// Marks every LOW one of these; returns how many there are.
    pub fn mark_low(&mut self, open: &[OpenRequest]) -> usize {
        let low = open.iter().filter(|one| one.risk == Risk::Low);
        low.map(|one| self.marks.insert(one.id.clone())).count()
    }

    pub fn marked(&self, open: Vec<OpenRequest>) -> Vec<OpenRequest> {
        open.into_iter().filter(|one| self.marks.contains(&one.id)).collect()
    }

    /// Drops what belongs to requests that cannot be decided here any more.
    pub fn retain(&mut self, is_open: impl Fn(&RequestId) -> bool) {
        self.marks.retain(&is_open);
        if let ListStage::Reason { of, .. } = &mut self.stage {
            of.retain(&is_open);
            if of.is_empty() {
                self.stage = ListStage::Choosing;
            }
        }
    }

    /// The reason that is being written.
    pub fn editor_mut(&mut self) -> Option<&mut Editor> {
        match &mut self.stage {
            ListStage::Reason { editor, .. } => Some(editor),
            ListStage::Choosing | ListStage::Filtering => None,
        }
    }

    /// The requests to which a reason is being written.
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
