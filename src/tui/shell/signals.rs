//! The signals that mean something to the screen.
//!
//! Listened to from before the terminal is taken over, so that none of them ends the program with the terminal
//! taken. Called by the shell's loop.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

pub struct Heard {
    pub terms: [Signals; 2],
    /// What keys of the terminal send where it is not ours: to whoever is in front.
    pub keys: [Signals; 2],
    pub stop: Signals,
    pub cont: Signals,
    pub resized: Signals,
}

impl Heard {
    pub fn listen() -> io::Result<Self> {
        let on = |kind: Signal| signal(SignalKind::from_raw(kind.as_raw()));
        Ok(Self {
            terms: [on(Signal::TERM)?, on(Signal::HUP)?],
            keys: [on(Signal::INT)?, on(Signal::QUIT)?],
            stop: on(Signal::TSTP)?,
            cont: on(Signal::CONT)?,
            resized: on(Signal::WINCH)?,
        })
    }

    /// One of two came. Cancel-safe.
    pub async fn either(two: &mut [Signals; 2]) {
        let [one, other] = two;
        tokio::select! {
            _ = one.recv() => {}
            _ = other.recv() => {}
        }
    }
}
