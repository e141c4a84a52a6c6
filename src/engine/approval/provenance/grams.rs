//! Finds runs of letters that arguments share with texts, in one pass over each text.
//!
//! Every run of [`SEED`] letters of the arguments is stored in a table once, and a rolling hash of each text
//! is looked up in it. Hits are compared letter by letter, so there are no false positives. A run that was
//! found is not compared again, so repetition is cheap.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::spelling::{DecodedChar, each_letter, letters};

/// Minimum number of letters and digits that texts must share without a gap before they are compared. Shorter
/// runs are shared by chance, and almost every span that counts is longer.
pub(super) const SEED: usize = 16;

/// The letters of all arguments, and the runs among them.
pub(super) struct Grams {
    letters: Vec<DecodedChar>,
    /// The end of each argument's letters, as an index into `letters`.
    ends: Vec<usize>,
    /// For each letter, the run that begins there, as an index into `runs`.
    begins: Vec<Option<usize>>,
    runs: Vec<Seed>,
    /// Hash table with open addressing: indices into `runs`, plus one; 0 is free.
    slots: Vec<usize>,
    /// A Bloom filter with one bit per hash, so that most letters of a text cost one access to little memory.
    filter: Vec<u64>,
}

struct Seed {
    hash: u64,
    /// The index of its first letter, at its first occurrence.
    first: usize,
    found: FoundIn,
}

/// The texts that contain a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundIn {
    Nowhere,
    /// One that is not tainted.
    Trusted,
    /// The one with this index, the first that contains the run.
    Text(usize),
}

/// Consecutive letters of one argument that untrusted texts contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    /// Index of the argument.
    pub arg: usize,
    /// Byte range in the argument.
    pub start: usize,
    pub end: usize,
    /// Index of the text that contains most of it.
    pub text: usize,
}

impl Grams {
    pub(super) fn of<'a>(args: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut all, mut ends) = (Vec::new(), Vec::new());
        for text in args {
            all.extend(letters(text));
            ends.push(all.len());
        }
        let room = (all.len() * 2).next_power_of_two().max(64);
        let mut grams = Self {
            begins: vec![None; all.len()],
            letters: all,
            ends,
            runs: Vec::new(),
            slots: vec![0; room],
            filter: vec![0; (room / 8).max(1)],
        };
        grams.fill();
        grams
    }

    fn fill(&mut self) {
        let mut from = 0;
        for to in self.ends.clone() {
            let mut roll = RollingHash::new();
            for at in from..to {
                let Some(hash) = roll.push(self.letters[at].c) else { continue };
                let first = at + 1 - SEED;
                self.begins[first] = Some(self.insert(hash, first));
            }
            from = to;
        }
    }

    fn insert(&mut self, hash: u64, first: usize) -> usize {
        let mut slot = self.slot(hash);
        while let Some(known) = self.slots[slot].checked_sub(1) {
            if self.runs[known].hash == hash && self.run(self.runs[known].first).eq(self.run(first)) {
                return known;
            }
            slot = (slot + 1) % self.slots.len();
        }
        self.runs.push(Seed { hash, first, found: FoundIn::Nowhere });
        self.slots[slot] = self.runs.len();
        let (word, bit) = self.bit(hash);
        self.filter[word] |= bit;
        self.runs.len() - 1
    }

    fn run(&self, first: usize) -> impl Iterator<Item = char> {
        self.letters[first..first + SEED].iter().map(|one| one.c)
    }

    /// The slot where the search for a hash begins; the number of slots is a power of two.
    fn slot(&self, hash: u64) -> usize {
        to_index(spread(hash) >> 20) & (self.slots.len() - 1)
    }

    fn bit(&self, hash: u64) -> (usize, u64) {
        let mixed = spread(hash);
        (to_index(mixed >> 26) & (self.filter.len() - 1), 1 << (mixed >> 58))
    }

    /// Whether no argument is long enough for a run.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Marks the runs of the arguments that a text contains, unless an earlier text contained them.
    pub(super) fn search(&mut self, text: &str, by: FoundIn) {
        if self.is_empty() {
            return;
        }
        let mut roll = RollingHash::new();
        each_letter(text, |c| {
            if let Some(hash) = roll.push(c) {
                self.mark(hash, &roll, by);
            }
        });
    }

    fn mark(&mut self, hash: u64, roll: &RollingHash, by: FoundIn) {
        let (word, bit) = self.bit(hash);
        if self.filter[word] & bit == 0 {
            return;
        }
        let mut slot = self.slot(hash);
        while let Some(known) = self.slots[slot].checked_sub(1) {
            let Seed { hash: its, first, found } = self.runs[known];
            if its == hash && (found != FoundIn::Nowhere || self.run(first).eq(roll.letters())) {
                if found == FoundIn::Nowhere {
                    self.runs[known].found = by;
                }
                return;
            }
            slot = (slot + 1) % self.slots.len();
        }
    }

    /// The stretches that untrusted texts contain and no trusted text does, in the order of the arguments.
    pub(super) fn stretches(&self) -> Vec<Span> {
        let mut found = Vec::new();
        let (mut matched_to, mut trusted_to, mut text) = (0, 0, 0);
        let mut from = 0;
        for (arg, to) in self.ends.iter().copied().enumerate() {
            let mut open: Option<Open> = None;
            for at in from..to {
                match self.begins[at].map(|run| self.runs[run].found) {
                    Some(FoundIn::Text(by)) => (matched_to, text) = (at + SEED, by),
                    Some(FoundIn::Trusted) => trusted_to = at + SEED,
                    Some(FoundIn::Nowhere) | None => {}
                }
                if at < matched_to && at >= trusted_to {
                    open.get_or_insert_with(|| Open::at(at)).count(text);
                } else if let Some(done) = open.take() {
                    found.push(self.close(arg, &done, at));
                }
            }
            found.extend(open.map(|open| self.close(arg, &open, to)));
            from = to;
        }
        found
    }

    fn close(&self, arg: usize, open: &Open, end: usize) -> Span {
        let (first, last) = (self.letters[open.first], self.letters[end - 1]);
        Span { arg, start: first.start, end: last.end, text: open.most() }
    }
}

/// A stretch that may continue.
struct Open {
    first: usize,
    /// Number of letters per text.
    texts: BTreeMap<usize, usize>,
}

impl Open {
    fn at(first: usize) -> Self {
        Self { first, texts: BTreeMap::new() }
    }

    fn count(&mut self, text: usize) {
        *self.texts.entry(text).or_default() += 1;
    }

    /// The text with most letters; on a tie, the earlier one.
    fn most(&self) -> usize {
        let best = self.texts.iter().max_by_key(|(text, count)| (**count, Reverse(**text)));
        best.map_or(0, |(text, _)| *text)
    }
}

/// The rolling hash of the latest [`SEED`] letters.
struct RollingHash {
    ring: [char; SEED],
    seen: usize,
    hash: u64,
}

/// Any odd number with well distributed bits works.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The factor of a letter when it leaves the window: `BASE` to the power of [`SEED`].
const LEAVES: u64 = BASE.wrapping_pow(SEED as u32);

impl RollingHash {
    fn new() -> Self {
        Self { ring: ['\0'; SEED], seen: 0, hash: 0 }
    }

    /// Adds a letter; returns a hash once there are enough letters.
    fn push(&mut self, c: char) -> Option<u64> {
        let place = &mut self.ring[self.seen % SEED];
        let gone = u64::from(u32::from(*place)).wrapping_mul(LEAVES);
        *place = c;
        self.hash = self.hash.wrapping_mul(BASE).wrapping_add(u64::from(u32::from(c))).wrapping_sub(gone);
        self.seen += 1;
        (self.seen >= SEED).then_some(self.hash)
    }

    /// The letters in the window, oldest first.
    fn letters(&self) -> impl Iterator<Item = char> {
        (0..SEED).map(|index| self.ring[(self.seen + index) % SEED])
    }
}

/// Distributes differences in few bits over all bits.
fn spread(hash: u64) -> u64 {
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[expect(clippy::cast_possible_truncation, reason = "the bits that are wanted are its lowest")]
fn to_index(bits: u64) -> usize {
    bits as usize
}
