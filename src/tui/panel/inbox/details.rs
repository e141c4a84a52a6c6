//! Whole requests received from the owner: the most recent ones, and which of them were shown completely.

use std::collections::{HashMap, HashSet};

use crate::approval::RequestId;
use crate::frontend::protocol::Header;
use crate::store::StoredRequest;
use crate::tui::cards::Card;

/// Most requests kept.
const KEPT: usize = 32;

/// The whole requests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Details {
    pub known: HashMap<RequestId, Detail>,
    /// Requested and not received yet; one at a time.
    pub asked: Option<RequestId>,
    /// Those of which everything was on the screen.
    pub seen: HashSet<RequestId>,
}

/// The result for one request.
#[derive(Debug, Clone, PartialEq)]
pub enum Detail {
    Whole {
        card: Box<Card>,
        /// The header for its session, which names the place where it would run.
        header: Option<Box<Header>>,
    },
    /// Why there is nothing to show.
    Gone(String),
}

impl Details {
    /// Takes the answer about a request.
    pub fn tell(
        &mut self,
        id: RequestId,
        answer: Result<Box<StoredRequest>, String>,
        header: Option<&Header>,
    ) {
        if self.asked.as_ref() == Some(&id) {
            self.asked = None;
        }
        let detail = match answer {
            Ok(stored) => {
                let StoredRequest { request, workspace, session, .. } = *stored;
                let header = header.map(|header| Box::new(Header { workspace, session, ..header.clone() }));
                Detail::Whole { card: Box::new(Card::new(request)), header }
            }
            Err(text) => Detail::Gone(text),
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

    /// Records the request as seen if all of it was on the screen.
    pub fn context(&mut self, id: &RequestId) {
        if let Some(Detail::Whole { card, .. }) = self.known.get(id)
            && card.is_seen()
        {
            self.seen.insert(id.clone());
        }
    }

    /// Resets what was seen after a change of the width.
    pub fn unsee_partly(&mut self) {
        for detail in self.known.values_mut() {
            if let Detail::Whole { card, .. } = detail {
                card.unsee_partly();
            }
        }
    }
}
