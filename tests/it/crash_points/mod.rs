//! `kill -9` of the real program at named points, and what must hold when its session is opened again.
//!
//! A point is data: what the model says, what is done, and the record, request or file that must be seen before the kill.
//! One check plays it: the real binary in a real terminal, a model service on loopback that waits at a gate, and a
//! second connection to the database to look at. Whatever the point says, the check itself sees to it that
//! - the process was alive when it was killed,
//! - the records before the kill are the first of those after it,
//! - no call starts twice or is answered twice,
//! - exactly the calls that had started and not ended are reported as "outcome unknown", once, to model and user,
//! - nothing of the killed process lives on; escaped processes are named to the user and ended,
//! - the model service found nothing wrong with any request.

mod points;
pub mod processes;
mod record;
mod stage;
mod step;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use self::stage::Stage;
use self::step::Point;

/// Points that are played at the same time: most of each is waiting.
const AT_ONCE: usize = 2;

#[test]
fn killed_while_the_model_speaks() {
    check(points::STREAMING);
}

#[test]
fn killed_while_something_waits() {
    check(points::ASKING);
}

#[test]
fn killed_after_a_decision() {
    check(points::DECIDING);
}

#[test]
fn killed_during_a_side_effect() {
    check(points::DURING);
}

#[test]
fn killed_afterwards() {
    check(points::AFTER);
}

#[test]
fn points_have_names_of_their_own_and_kill() {
    let all = points::all();
    let mut names: Vec<&str> = all.iter().map(|point| point.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len(), "two points have the same name");
    assert!(names.len() >= 30, "{} points", names.len());
    for point in all {
        assert!(point.steps.iter().any(step::Step::kills), "{} kills nothing", point.name);
    }
}

/// Plays every point, some at a time, and fails with all that failed.
fn check(all: &[Point]) {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(point) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| Stage::new(point).play())) {
                        let told = format!("{}: {}", point.name, panic_text(panic.as_ref()));
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(told);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(failed.is_empty(), "{} of {} points:\n\n{}", failed.len(), all.len(), failed.join("\n\n"));
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked without words")
}
