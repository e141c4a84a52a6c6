//! The signals that mean something to the screen.
//!
//! Listened to from before the terminal is taken over, so that none of them ends the program with the terminal
//! taken. Called by the shell's loop.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

pub struct Heard {
    pub terms: [(Signal, Signals); 2],
    /// What keys of the terminal send where it is not ours: to whoever is in front.
    pub keys: [(Signal, Signals); 2],
    pub stop: Signals,
    pub cont: Signals,
    pub resized: Signals,
}

impl Heard {
    pub fn listen() -> io::Result<Self> {
        let on = |kind: Signal| signal(SignalKind::from_raw(kind.as_raw()));
        let named = |kind| Ok::<_, io::Error>((kind, on(kind)?));
        Ok(Self {
            terms: [named(Signal::TERM)?, named(Signal::HUP)?],
            keys: [named(Signal::INT)?, named(Signal::QUIT)?],
            stop: on(Signal::TSTP)?,
            cont: on(Signal::CONT)?,
            resized: on(Signal::WINCH)?,
        })
    }

    /// One of two came; which. Cancel-safe.
    pub async fn either(two: &mut [(Signal, Signals); 2]) -> Signal {
        let [(one, first), (other, second)] = two;
        tokio::select! {
            _ = first.recv() => *one,
            _ = second.recv() => *other,
        }
    }
}
