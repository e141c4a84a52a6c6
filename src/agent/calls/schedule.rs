//! Which call may start: dependencies, conflicts, and who waits for whom. Pure.
//!
//! One rule: a call starts as soon as it may run, its dependencies are met, and no earlier unfinished
//! call of the reply conflicts with it.

use std::path::Path;

use super::{State, Tracked};
use crate::message::ReturnStatus;
use crate::tool::Access;

/// Whether two calls must not overlap.
pub fn conflict(a: &Access, b: &Access) -> bool {
    match (a, b) {
        (Access::Anything, _) | (_, Access::Anything) => true,
        (Access::Nothing, _) | (_, Access::Nothing) => false,
        (
            Access::Paths { reads: a_reads, writes: a_writes },
            Access::Paths { reads: b_reads, writes: b_writes },
        ) => {
            any_overlap(a_writes, b_writes)
                || any_overlap(a_writes, b_reads)
                || any_overlap(a_reads, b_writes)
        }
    }
}

fn any_overlap<P: AsRef<Path>>(a: &[P], b: &[P]) -> bool {
    a.iter().any(|x| b.iter().any(|y| nested(x.as_ref(), y.as_ref())))
}

/// Equal, or one lies in the other, by whole components.
fn nested(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// How the dependencies of a call stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dependencies {
    Met,
    /// At least one was only previewed; nothing else is left to wait for.
    Previewed,
    /// Unfinished, and at least one will move without a person.
    Moving,
    /// Unfinished, all of them held up by a person.
    WaitForPerson,
    Failed,
}

pub(super) fn dependencies(calls: &[Tracked], at: usize, by_person: &[bool]) -> Dependencies {
    let mut standing = Dependencies::Met;
    for &dep in &calls[at].after {
        match &calls[dep].state {
            State::Done(returned) if returned.status == ReturnStatus::Ok => {}
            State::Done(_) if calls[dep].previewed => {
                if standing == Dependencies::Met {
                    standing = Dependencies::Previewed;
                }
            }
            State::Done(_) => return Dependencies::Failed,
            State::Held
            | State::Planning(_)
            | State::Hooking
            | State::Undecided
            | State::Waiting
            | State::Ready
            | State::Running => {
                if !by_person[dep] {
                    standing = Dependencies::Moving;
                } else if standing != Dependencies::Moving {
                    standing = Dependencies::WaitForPerson;
                }
            }
        }
    }
    standing
}

/// The calls in the order that counts: call order, except that what a call runs after comes before it.
/// Both dependencies and conflicts point back in this order, so nothing can wait for itself.
fn order(calls: &[Tracked]) -> Vec<usize> {
    fn place(calls: &[Tracked], at: usize, placed: &mut [bool], order: &mut Vec<usize>) {
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

/// For each call: whether it stands still until a person speaks.
pub(super) fn held_by_person(calls: &[Tracked]) -> Vec<bool> {
    let mut held = vec![false; calls.len()];
    let order = order(calls);
    for (place, &at) in order.iter().enumerate() {
        held[at] = match &calls[at].state {
            State::Undecided | State::Waiting => true,
            State::Held | State::Ready => {
                calls[at].after.iter().any(|&dep| held[dep] && !calls[dep].is_done())
                    || order[..place].iter().any(|&earlier| held[earlier] && blocks(calls, earlier, at, true))
            }
            State::Planning(_) | State::Hooking | State::Running | State::Done(_) => false,
        };
    }
    held
}

/// Whether an earlier unfinished call keeps this one from starting.
pub(super) fn blocked(calls: &[Tracked], at: usize, by_person: &[bool]) -> bool {
    order(calls)
        .into_iter()
        .take_while(|&earlier| earlier != at)
        .any(|earlier| blocks(calls, earlier, at, by_person[earlier]))
}

fn blocks(calls: &[Tracked], earlier: usize, at: usize, earlier_waits: bool) -> bool {
    let (first, then) = (&calls[earlier], &calls[at]);
    if first.is_done() {
        return false;
    }
    if earlier_waits && then.is_read() && first.access().is_none() {
        return false;
    }
    let (Some(first_access), Some(then_access)) = (first.access(), then.access()) else {
        // Unplanned: nobody knows yet what it touches. Two reads never conflict.
        return !(first.is_read() && then.is_read());
    };
    if first.is_read() && then.is_read() {
        return false;
    }
    // A command that only waits for a person holds back no read unless `after` names it.
    if earlier_waits && then.is_read() && *first_access == Access::Anything {
        return false;
    }
    conflict(first_access, then_access)
}
