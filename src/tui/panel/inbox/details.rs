//! Requests that the owner told whole: those shown last, and which of them were shown from end to end.

use std::collections::{HashMap, HashSet};

use crate::approval::RequestId;
use crate::frontend::protocol::Header;
use crate::store::StoredRequest;
use crate::tui::cards::Card;

/// Requests that are kept.
const KEPT: usize = 32;

/// The requests that were told whole.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Details {
    known: HashMap<RequestId, Detail>,
    /// Asked for and not told yet; one at a time.
    pub asked: Option<RequestId>,
    seen: HashSet<RequestId>,
}

/// What is known of one.
#[derive(Debug, Clone, PartialEq)]
pub enum Detail {
    Whole {
        card: Box<Card>,
        /// The header as it would stand over its session: what would happen there is told with it.
        header: Option<Box<Header>>,
    },
    /// Why there is nothing to show.
    Gone(String),
}

impl Details {
    pub fn get(&self, id: &RequestId) -> Option<&Detail> {
        self.known.get(id)
    }

    pub fn get_mut(&mut self, id: &RequestId) -> Option<&mut Detail> {
        self.known.get_mut(id)
    }

    /// What was asked for is told.
    pub fn tell(&mut self, told: Result<Box<StoredRequest>, String>, header: Option<&Header>) {
        let asked = self.asked.take();
        let (id, detail) = match told {
            Ok(stored) => {
                let StoredRequest { request, workspace, session, .. } = *stored;
                let header = header.map(|header| Box::new(Header { workspace, session, ..header.clone() }));
                (request.id.clone(), Detail::Whole { card: Box::new(Card::new(request)), header })
            }
            Err(text) => match asked {
                Some(id) => (id, Detail::Gone(text)),
                None => return,
            },
        };
        if self.known.len() >= KEPT {
            self.known.clear();
        }
        self.known.insert(id, detail);
    }

    pub fn retain(&mut self, waits: impl Fn(&RequestId) -> bool) {
        self.known.retain(|id, _| waits(id));
        self.seen.retain(|id| waits(id));
    }

    pub fn is_seen(&self, id: &RequestId) -> bool {
        self.seen.contains(id)
    }

    /// Notes it if all of it was on the screen by now.
    pub fn look(&mut self, id: &RequestId) {
        if let Some(Detail::Whole { card, .. }) = self.known.get(id)
            && card.is_seen()
        {
            self.seen.insert(id.clone());
        }
    }

    /// Lines were laid out at another width: what was seen of them is counted anew.
    pub fn unsee_partly(&mut self) {
        for detail in self.known.values_mut() {
            match detail {
                Detail::Whole { card, .. } => card.unsee_partly(),
                Detail::Gone(_) => {}
            }
        }
    }
}
