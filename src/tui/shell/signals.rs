//! Handles the signals that matter to the screen.
//!
//! The handlers are installed before the terminal is taken over, so that no such signal ends the program
//! without restoring it. Called by the shell's loop.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

pub struct SignalTable {
    pub terms: [(Signal, Signals); 2],
    /// Signals that keys send while another program has the terminal: to the foreground process group.
    pub keys: [(Signal, Signals); 2],
    pub stop: Signals,
    pub cont: Signals,
    pub resized: Signals,
}

impl SignalTable {
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

    /// Waits for either signal and returns which one arrived. Cancel-safe.
    pub async fn either(two: &mut [(Signal, Signals); 2]) -> Signal {
        let [(one, first), (other, second)] = two;
        tokio::select! {
            _ = first.recv() => *one,
            _ = second.recv() => *other,
        }
    }
}
