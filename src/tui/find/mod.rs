//! The search in the transcript.
//!
//! Matches are counted in the cells' sources, so that ten thousand messages are searched within a key press;
//! screen positions are computed only for cells that are laid out. What its keys do is `keys`,
//! how it looks is `draw`.

pub mod draw;
pub mod keys;
mod query;

use std::ops::Range;

use self::query::Marks;
pub use self::query::{Piece, Query};
use super::cells::{Cell, CellKind, RenderContext};
use super::composer::Editor;
use super::keys::{Action, Context, FindKey, Nav, StatusHint};
use super::transcript::{Bookmark, Transcript};

const SEARCHING: &[StatusHint] = &[
    (Context::Find, &[Action::Nav(Nav::Down)], " then n/N next/previous"),
    (Context::Find, &[Action::Find(FindKey::Tools)], " tool output"),
    (Context::Global, &[Action::Escape], " close"),
];
const FOUND: &[StatusHint] = &[
    (Context::Found, &[Action::Nav(Nav::Down), Action::Nav(Nav::Up)], " next, previous"),
    (Context::Found, &[Action::Find(FindKey::Edit)], " edit"),
    (Context::Found, &[Action::Find(FindKey::Tools)], " tool output"),
    (Context::Global, &[Action::Escape], " close"),
    (Context::Global, &[Action::FoldDetails], " details"),
];

/// The query and its matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Find {
    pub editor: Editor,
    pub stage: FindStage,
    /// The output of tools and commands is searched too.
    pub in_tools: bool,
    /// The cell at the top when the search was opened; the first match shown is the first one from here on.
    pub from: usize,
    /// The scroll position at that time.
    pub start: Bookmark,
    /// Cells with matches, in order.
    pub hits: Vec<Hit>,
    pub current: Option<CurrentMatch>,
    /// The revision at which each cell was counted.
    counted: Vec<u64>,
    /// The number of cells counted so far, repeats included.
    pub counts: usize,
    /// The transcript's shape when its cells were counted.
    pub shape: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindStage {
    /// The query is being typed.
    Writing,
    /// Keys move from match to match.
    Walking,
}

/// Matches in one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub cell: usize,
    /// In the text that is always shown.
    pub shown: usize,
    /// In the text hidden by folding.
    pub folded: usize,
}

impl Hit {
    pub fn count(&self) -> usize {
        self.shown + self.folded
    }
}

/// The selected match: the `nth` of its cell, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentMatch {
    pub cell: usize,
    pub nth: usize,
}

impl Find {
    pub fn new(transcript: &Transcript) -> Self {
        Self {
            editor: Editor::default(),
            stage: FindStage::Writing,
            in_tools: true,
            from: transcript.visible_cells().start,
            start: transcript.bookmark(),
            hits: Vec::new(),
            current: None,
            counted: Vec::new(),
            counts: 0,
            shape: transcript.shape,
        }
    }

    pub fn hints(&self) -> &'static [StatusHint] {
        match self.stage {
            FindStage::Writing => SEARCHING,
            FindStage::Walking => FOUND,
        }
    }

    /// Whether the text hidden by folding is searched in a cell.
    fn covers_folded(&self, kind: &CellKind) -> bool {
        self.in_tools || !matches!(kind, CellKind::Call(_) | CellKind::Shell(_))
    }

    pub fn query(&self) -> Query {
        Query::new(&self.editor.text())
    }

    /// Counts again in all cells.
    pub fn count(&mut self, cells: &[Cell]) {
        self.hits.clear();
        self.counted.clear();
        self.recount(cells);
    }

    /// Counts in the cells that are new or changed since they were counted.
    pub fn recount(&mut self, cells: &[Cell]) {
        let query = self.query();
        if query.is_empty() {
            return;
        }
        for (at, cell) in cells.iter().enumerate() {
            if self.counted.get(at) == Some(&cell.revision) {
                continue;
            }
            match self.counted.get_mut(at) {
                Some(counted) => *counted = cell.revision,
                None => self.counted.push(cell.revision),
            }
            self.counts += 1;
            self.put(self.hit_in(&query, at, cell));
        }
    }

    /// Counts the matches in one cell.
    fn hit_in(&self, query: &Query, at: usize, cell: &Cell) -> Hit {
        let words = cell.searchable_text();
        let marks = if cell.is_markdown() { Marks::Markdown } else { Marks::None };
        let covered = self.covers_folded(&cell.kind);
        let folded = if covered { query.count_in(&words.folded, Marks::None) } else { 0 };
        Hit { cell: at, shown: query.count_in(&words.shown, marks), folded }
    }

    /// Replaces the stored matches of a cell.
    fn put(&mut self, hit: Hit) {
        let at = self.hits.partition_point(|other| other.cell < hit.cell);
        let is_known = self.hits.get(at).is_some_and(|other| other.cell == hit.cell);
        match (is_known, hit.count()) {
            (true, 0) => {
                self.hits.remove(at);
            }
            (true, _) => self.hits[at] = hit,
            (false, 0) => {}
            (false, _) => self.hits.insert(at, hit),
        }
    }

    pub fn total(&self) -> usize {
        self.hits.iter().map(Hit::count).sum()
    }

    /// Returns the number of the current match among all, from 1.
    pub fn number(&self) -> Option<usize> {
        let current = self.current?;
        let before: usize = self.hits.iter().take_while(|hit| hit.cell < current.cell).map(Hit::count).sum();
        Some(before + current.nth + 1)
    }

    /// Returns the first match at or after the cell where the search began; else the last one before it.
    pub fn first(&self) -> Option<CurrentMatch> {
        let after = self.hits.iter().find(|hit| hit.cell >= self.from);
        let first = after.map(|hit| CurrentMatch { cell: hit.cell, nth: 0 });
        first.or_else(|| self.last())
    }

    fn last(&self) -> Option<CurrentMatch> {
        self.hits.last().map(|hit| CurrentMatch { cell: hit.cell, nth: hit.count() - 1 })
    }

    /// Returns the match after the current one; after the last comes the first.
    pub fn next(&self) -> Option<CurrentMatch> {
        self.step(1)
    }

    /// Returns the match before the current one; before the first comes the last.
    pub fn previous(&self) -> Option<CurrentMatch> {
        self.step(self.total().checked_sub(1)?)
    }

    fn step(&self, by: usize) -> Option<CurrentMatch> {
        let Some(number) = self.number() else { return self.first() };
        let mut nth = (number - 1 + by).checked_rem(self.total())?;
        self.hits.iter().find_map(|hit| {
            let here = (nth < hit.count()).then_some(CurrentMatch { cell: hit.cell, nth });
            nth = nth.saturating_sub(hit.count());
            here
        })
    }

    /// Returns the matches of a cell.
    pub fn hit(&self, cell: usize) -> Option<&Hit> {
        let at = self.hits.partition_point(|hit| hit.cell < cell);
        self.hits.get(at).filter(|hit| hit.cell == cell)
    }

    /// Returns the matches' places in the lines of a cell; output outside the scope has none, unfolded or
    /// not.
    pub fn places(&self, at: usize, cell: &Cell) -> Vec<Vec<Piece>> {
        let mut places = self.query().places(cell.lines_from(0));
        if !self.covers_folded(&cell.kind) {
            // A call's output is below its own words.
            places.truncate(self.hit(at).map_or(0, Hit::count));
        }
        places
    }
}

/// Counts the matches that are not visible: above, below and in folded text. `seen` are the cells on the screen, `lines`
/// returns the visible lines of a cell.
pub fn elsewhere(
    find: &Find,
    all: &[Cell],
    context: &RenderContext,
    seen: &Range<usize>,
    lines: impl Fn(usize) -> Range<usize>,
) -> [usize; 3] {
    let [mut above, mut below, mut folded_away] = [0; 3];
    for hit in &find.hits {
        let Some(cell) = all.get(hit.cell) else { continue };
        let folded = if cell.is_folded(context) { hit.folded } else { 0 };
        let open = hit.count() - folded;
        if seen.contains(&hit.cell) {
            let range = lines(hit.cell);
            let places = find.places(hit.cell, cell);
            let line_of = |place: &&Vec<Piece>| place.first().map_or(0, |piece| piece.line);
            above += places.iter().filter(|place| line_of(place) < range.start).count();
            below += places.iter().filter(|place| line_of(place) >= range.end).count();
            folded_away += hit.count().saturating_sub(places.len()).min(folded);
        } else {
            folded_away += folded;
            *(if hit.cell < seen.start { &mut above } else { &mut below }) += open;
        }
    }
    [above, below, folded_away]
}
