//! The parts of a point.

/// A named moment at which the program is killed, and what follows.
#[derive(Clone, Copy)]
pub struct Point {
    pub name: &'static str,
    /// Files of the workspace: name and text.
    pub files: &'static [(&'static str, &'static str)],
    /// The model's replies, a block a request.
    pub replies: &'static [&'static str],
    pub steps: &'static [Step],
}

/// One thing to do, to wait for, or to look at. Everything that waits is bounded. Calls are named `a`, `b`, … in the order
/// in which the model made them in the session in focus.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    // --- the program, alive
    /// Opens the full screen, types this prompt, and waits until its turn is recorded.
    Ask(&'static str),
    /// Opens the full screen with these arguments.
    Open(&'static [&'static str]),
    /// Starts it without a terminal, and does not wait for its end.
    Start(&'static [&'static str]),
    Keys(&'static str),
    /// Waits until a card takes keys, and presses these.
    Card(&'static str),
    /// Looks at another session from now on; they count from 0.
    Focus(usize),

    // --- what must be seen before it goes on
    Screen(&'static str),
    /// A record, in short; see `record.rs`.
    Record(&'static str),
    /// So many requests reached the model.
    Request(usize),
    Gate(&'static str),
    File(&'static str),

    // --- deciding
    /// Written to the store by another process; the owner is notified.
    Decide(&'static str, Answer),
    /// With `co approvals yes`.
    Approve(&'static str),

    // --- the end, and the time after
    /// Stops every running `co` (SIGSTOP), and waits until none runs.
    Pause,
    /// Kills every running `co`.
    Kill(Survivors),
    /// `co resume ID --print`, and its exit code.
    Resume(i32),
    Run(&'static [&'static str], i32),
    /// How things are now; nothing is waited for.
    Now(Expectation),
}

impl Step {
    pub fn kills(&self) -> bool {
        matches!(self, Self::Kill(_))
    }
}

/// Assertions that must hold at once.
#[derive(Debug, Clone, Copy)]
pub enum Expectation {
    /// The last run said this, on either output.
    Says(&'static str),
    /// The records hold no such one.
    Never(&'static str),
    /// A file of the workspace has so many lines.
    Lines(&'static str, usize),
    Text(&'static str, &'static str),
    Absent(&'static str),
    /// So many requests wait in the session in focus.
    Waiting(usize),
    /// The model's latest request contained this.
    Told(&'static str),
}

/// A decision.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    Yes,
    /// Yes, for the session.
    Session,
    /// Yes, with these arguments instead (JSON).
    Edited(&'static str),
    No(&'static str),
}

/// Processes that outlive the kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survivors {
    Nothing,
    /// So many of calls; the next run names and ends them.
    Escaped(usize),
    /// So many of the person's own command; the next run names them.
    Own(usize),
}
