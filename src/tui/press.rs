//! Which key events count as presses: a key that is held down is one press, and a key whose meaning depends on what
//! follows is deferred. Plain data: `update::key` asks, `update` executes what is due.

use super::batch::Question;
use super::key::Key;

/// Events of one key with shorter pauses between them are one press, in milliseconds. A deferred key waits as long for
/// another one.
pub const PAUSE_MS: u64 = 300;

/// The time after an approving press in which the same key may be its repetition, in milliseconds: keyboards begin to
/// repeat a held key after up to two thirds of a second.
const REPEATS_WITHIN_MS: u64 = 1_000;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Presses {
    /// The last key, and the time of its last event.
    last: Option<(Key, u64)>,
    /// The last key that approved, and the time of its last event.
    approved: Option<(Key, u64)>,
    deferred: Option<DeferredKey>,
}

/// A key that is executed only if no other key follows within [`PAUSE_MS`].
#[derive(Debug, Clone, PartialEq)]
pub struct DeferredKey {
    pub key: Key,
    /// The number of its events.
    pub events: usize,
    /// The question on the screen when it was pressed.
    pub question: Question,
    /// Whether the guard time of the question was over.
    pub is_armed: bool,
    /// Whether the card took the keys by itself: with another key it is text.
    pub may_be_text: bool,
    /// Whether it may be the repetition of a key that approved and is still held.
    may_be_held: bool,
    due_ms: u64,
}

impl DeferredKey {
    /// Whether it is the repetition of a held key.
    pub fn is_held(&self) -> bool {
        self.may_be_held && self.events > 1
    }
}

impl Presses {
    /// Records a key event. Returns whether it belongs to the press before.
    pub fn note(&mut self, key: Key, now_ms: u64) -> bool {
        let again = self.last.is_some_and(|(last, at)| last == key && now_ms < at + PAUSE_MS);
        self.last = Some((key, now_ms));
        if again && let Some((_, at)) = self.approved.as_mut().filter(|(approved, _)| *approved == key) {
            *at = now_ms;
        }
        again
    }

    /// Returns the time of the last key event; 0 before the first one.
    pub fn last_ms(&self) -> u64 {
        self.last.map_or(0, |(_, at)| at)
    }

    /// Records that this key approved something.
    pub fn on_approval(&mut self, key: Key, now_ms: u64) {
        self.approved = Some((key, now_ms));
    }

    /// Whether this press may be the repetition of a key that approved and is still held.
    pub fn may_be_held(&self, key: Key, now_ms: u64) -> bool {
        self.approved.is_some_and(|(approved, at)| approved == key && now_ms < at + REPEATS_WITHIN_MS)
    }

    /// Defers a key. `is_armed` says whether the question's guard time is over, `may_be_text` whether the key is text if
    /// another one follows.
    pub fn defer(&mut self, key: Key, question: Question, is_armed: bool, may_be_text: bool, now_ms: u64) {
        let may_be_held = self.may_be_held(key, now_ms);
        let due_ms = now_ms + PAUSE_MS;
        self.deferred =
            Some(DeferredKey { key, events: 1, question, is_armed, may_be_text, may_be_held, due_ms });
    }

    pub fn deferred_key(&self) -> Option<&DeferredKey> {
        self.deferred.as_ref()
    }

    /// Extends the deferred key if this event belongs to the same press; otherwise returns it.
    pub fn follow(&mut self, key: Key, again: bool, now_ms: u64) -> DeferredKeyOutcome {
        match self.deferred.take() {
            None => DeferredKeyOutcome::Nothing,
            Some(deferred) if deferred.key == key && again => {
                let (events, due_ms) = (deferred.events + 1, now_ms + PAUSE_MS);
                self.deferred = Some(DeferredKey { events, due_ms, ..deferred });
                DeferredKeyOutcome::Repeated
            }
            Some(deferred) => DeferredKeyOutcome::Other(deferred),
        }
    }

    /// Returns the time at which the deferred key is due.
    pub fn due_ms(&self) -> Option<u64> {
        self.deferred.as_ref().map(|deferred| deferred.due_ms)
    }

    /// Takes the deferred key if no other followed in time.
    pub fn take_due(&mut self, now_ms: u64) -> Option<DeferredKey> {
        self.deferred.take_if(|deferred| deferred.due_ms <= now_ms)
    }
}

/// The effect of a key event on the deferred key.
#[derive(Debug, Clone, PartialEq)]
pub enum DeferredKeyOutcome {
    /// No key was deferred.
    Nothing,
    /// It is the deferred key's repetition.
    Repeated,
    /// Another key followed the deferred one.
    Other(DeferredKey),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_key_is_one_press() {
        let y = Key::char('y');
        // The first repetition comes after the keyboard's delay, the others every 30 ms.
        for delay in [200, 250, 500, 660, 900] {
            let mut presses = Presses::default();
            assert!(!presses.note(y, 0));
            presses.on_approval(y, 0);
            let mut counted = 0;
            for now in (0..60).map(|at| delay + 30 * at) {
                let again = presses.note(y, now);
                match presses.follow(y, again, now) {
                    DeferredKeyOutcome::Nothing if !again => {
                        assert!(presses.may_be_held(y, now), "{delay}");
                        presses.defer(y, Question::Nothing, true, false, now);
                    }
                    DeferredKeyOutcome::Nothing | DeferredKeyOutcome::Repeated => {}
                    DeferredKeyOutcome::Other(_) => panic!("no other key is pressed"),
                }
                counted += presses.take_due(now).map_or(0, |due| usize::from(!due.is_held()));
            }
            let last = presses.take_due(100_000);
            assert_eq!(counted + last.map_or(0, |due| usize::from(!due.is_held())), 0, "{delay}");
            assert!(!presses.note(y, 100_000));
            assert!(!presses.may_be_held(y, 100_000));
        }
    }

    #[test]
    fn a_second_press_counts_after_a_pause() {
        let y = Key::char('y');
        let mut presses = Presses::default();
        presses.note(y, 0);
        presses.on_approval(y, 0);
        assert!(!presses.note(y, 600));
        presses.defer(y, Question::Nothing, true, false, 600);
        assert_eq!(presses.take_due(899), None);
        let due = presses.take_due(900).expect("no other key followed");
        assert!(!due.is_held() && presses.deferred_key().is_none());
    }
}
