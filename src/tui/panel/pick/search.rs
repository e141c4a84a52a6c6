//! The sessions in which the typed words were said, found by the owner's search.

use crate::frontend::protocol::SessionHit;
use crate::history::SessionId;

/// Characters of a query below which nothing is searched: too much would be found.
const SHORTEST: usize = 3;

/// The results of the last search, and the search that is open.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionSearch {
    /// Requested and not received yet; one at a time.
    pub asked: Option<String>,
    /// The words of `hits`.
    words: String,
    hits: Vec<SessionHit>,
}

impl SessionSearch {
    /// Returns the words to search for now, if these are searched neither now nor already.
    pub fn next(&mut self, query: &str) -> Option<String> {
        let words = query.trim();
        if words.chars().count() < SHORTEST || self.asked.is_some() || self.words == words {
            return None;
        }
        self.asked = Some(words.to_owned());
        self.asked.clone()
    }

    /// Takes what was found.
    pub fn tell(&mut self, words: String, hits: Vec<SessionHit>) {
        if self.asked.as_ref() != Some(&words) {
            return;
        }
        self.asked = None;
        (self.words, self.hits) = (words, hits);
    }

    /// Returns the sessions in which these words were said, the latest first; none while they are searched.
    pub fn sessions(&self, query: &str) -> impl Iterator<Item = &SessionId> {
        let hits = if self.words == query.trim() { self.hits.as_slice() } else { &[] };
        hits.iter().map(|hit| &hit.session)
    }

    /// Returns the text around the words in a session.
    pub fn around(&self, query: &str, session: &SessionId) -> Option<&str> {
        let hit = self.hits.iter().find(|hit| hit.session == *session)?;
        (self.words == query.trim()).then_some(hit.around.as_str())
    }
}
