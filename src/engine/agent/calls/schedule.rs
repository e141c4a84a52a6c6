//! Which call may start: dependencies, conflicts, and which calls wait for which. Pure.
//!
//! One rule: a call starts as soon as it may run, its dependencies are met, and no earlier unfinished call of
//! the reply conflicts with it.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::{State, TrackedCall};
use crate::message::ReturnStatus;
use crate::tool::Access;

/// Whether two calls must not overlap.
pub fn conflict(a: &Access, b: &Access) -> bool {
    let mut touched = AccessSummary::default();
    touched.add(Some(a));
    touched.blocks(Some(b))
}

/// The state of a call's dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DependenciesState {
    Met,
    /// At least one was only previewed; all others are met.
    Previewed,
    /// Unfinished, and at least one will move without the user.
    Moving,
    /// Unfinished, and all of them wait for the user.
    WaitForPerson,
    Failed,
}

pub(super) fn dependencies(calls: &[TrackedCall], at: usize, by_person: &[bool]) -> DependenciesState {
    let mut state = DependenciesState::Met;
    for &dep in &calls[at].after {
        match &calls[dep].state {
            State::Done(returned) if returned.status == ReturnStatus::Ok => {}
            State::Done(_) if calls[dep].previewed => {
                if state == DependenciesState::Met {
                    state = DependenciesState::Previewed;
                }
            }
            State::Done(_) => return DependenciesState::Failed,
            State::Held
            | State::Planning(_)
            | State::Hooking
            | State::Undecided
            | State::Waiting
            | State::Ready
            | State::Running => {
                if !by_person[dep] {
                    state = DependenciesState::Moving;
                } else if state != DependenciesState::Moving {
                    state = DependenciesState::WaitForPerson;
                }
            }
        }
    }
    state
}

/// Returns the calls in schedule order: call order, except that the calls one runs after come before it.
/// Dependencies and conflicts both point backwards in this order, so no call can wait for itself.
pub(super) fn order(calls: &[TrackedCall]) -> Vec<usize> {
    fn place(calls: &[TrackedCall], at: usize, placed: &mut [bool], order: &mut Vec<usize>) {
        if std::mem::replace(&mut placed[at], true) {
            return;
        }
        for &dep in &calls[at].after {
            place(calls, dep, placed, order);
        }
        order.push(at);
    }
    let mut order = Vec::with_capacity(calls.len());
    let mut placed = vec![false; calls.len()];
    for at in 0..calls.len() {
        place(calls, at, &mut placed, &mut order);
    }
    order
}

/// Returns whether each call is held until the user decides.
pub(super) fn held_by_person(calls: &[TrackedCall]) -> Vec<bool> {
    let mut walk = ScheduleWalk::over(calls);
    for at in order(calls) {
        walk.pass(calls, at);
    }
    walk.held
}

/// A walk over a reply's calls in schedule order. It knows what the unfinished calls before the current one
/// touch, so that a call is compared with all of them at once.
pub(super) struct ScheduleWalk {
    /// For each call that was passed: whether it is held until the user decides.
    pub held: Vec<bool>,
    /// The accesses of calls that wait for the user.
    waiting: ByKind,
    /// The accesses of calls that move by themselves.
    moving: ByKind,
}

#[derive(Default)]
struct ByKind {
    reads: AccessSummary,
    others: AccessSummary,
}

/// The combined accesses of a set of calls.
#[derive(Default)]
struct AccessSummary {
    /// One is not planned yet: what it touches is unknown.
    unplanned: bool,
    /// One may touch anything.
    anything: bool,
    /// One declares what it touches.
    bounded: bool,
    reads: BTreeSet<PathBuf>,
    writes: BTreeSet<PathBuf>,
    servers: BTreeSet<String>,
}

impl ScheduleWalk {
    /// Starts a walk; no call has been passed.
    pub fn over(calls: &[TrackedCall]) -> Self {
        Self { held: vec![false; calls.len()], waiting: ByKind::default(), moving: ByKind::default() }
    }

    /// Passes a call in its current state.
    pub fn pass(&mut self, calls: &[TrackedCall], at: usize) {
        let one = &calls[at];
        self.held[at] = match &one.state {
            State::Undecided | State::Waiting => true,
            State::Held | State::Ready => {
                one.after.iter().any(|&dep| self.held[dep] && !calls[dep].is_done())
                    || self.waits_behind_a_person(one)
            }
            State::Planning(_) | State::Hooking | State::Running | State::Done(_) => false,
        };
        if one.is_done() {
            return;
        }
        let side = if self.held[at] { &mut self.waiting } else { &mut self.moving };
        let touched = if one.is_read() { &mut side.reads } else { &mut side.others };
        touched.add(one.access());
    }

    /// Whether an unfinished call that was passed prevents this one from starting.
    pub fn blocks(&self, then: &TrackedCall) -> bool {
        self.waits_behind_a_person(then) || self.moving.blocks(then)
    }

    /// Whether a call that waits for the user holds this one back. It holds back only those reads that are
    /// known to conflict with it; a waiting command holds back no read unless the read's `after` names it.
    fn waits_behind_a_person(&self, then: &TrackedCall) -> bool {
        match then.is_read() {
            true => self.waiting.others.paths_block(then.access()),
            false => self.waiting.blocks(then),
        }
    }
}

impl ByKind {
    /// Two reads never conflict.
    fn blocks(&self, then: &TrackedCall) -> bool {
        self.others.blocks(then.access()) || (!then.is_read() && self.reads.blocks(then.access()))
    }
}

impl AccessSummary {
    fn add(&mut self, access: Option<&Access>) {
        match access {
            None => self.unplanned = true,
            Some(Access::Anything) => self.anything = true,
            Some(Access::Nothing | Access::Web { .. }) => self.bounded = true,
            Some(Access::External { server, .. }) => {
                self.bounded = true;
                self.servers.insert(server.clone());
            }
            Some(Access::Paths { reads, writes }) => {
                self.bounded = true;
                self.reads.extend(reads.iter().cloned());
                self.writes.extend(writes.iter().cloned());
            }
        }
    }

    /// Whether one of them conflicts, or may conflict, with a call of this access.
    fn blocks(&self, then: Option<&Access>) -> bool {
        match then {
            None | Some(Access::Anything) => self.unplanned || self.anything || self.bounded,
            Some(Access::Nothing | Access::Web { .. }) => self.unplanned || self.anything,
            Some(Access::Paths { .. } | Access::External { .. }) => {
                self.unplanned || self.anything || self.paths_block(then)
            }
        }
    }

    /// The same for calls that hold back only what is known to conflict with them; unbounded ones hold back
    /// nothing. A call that is not planned yet conflicts with any that is.
    fn paths_block(&self, then: Option<&Access>) -> bool {
        match then {
            None => self.anything || self.bounded,
            Some(Access::Anything) => self.bounded,
            Some(Access::Nothing | Access::Web { .. }) => false,
            Some(Access::External { server, .. }) => self.servers.contains(server),
            Some(Access::Paths { reads, writes }) => {
                writes.iter().any(|path| overlaps(&self.writes, path) || overlaps(&self.reads, path))
                    || reads.iter().any(|path| overlaps(&self.writes, path))
            }
        }
    }
}

/// Whether one of the paths is this one, is below it, or contains it.
fn overlaps(paths: &BTreeSet<PathBuf>, path: &Path) -> bool {
    // Paths are ordered by their components: those below a path follow it directly.
    let next = paths.range::<Path, _>((Bound::Included(path), Bound::Unbounded)).next();
    next.is_some_and(|next| next.starts_with(path)) || path.ancestors().any(|above| paths.contains(above))
}
