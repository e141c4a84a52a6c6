//! Reads the terminal's input: keys and similar events, the answer to the background request, the wheel.
//!
//! Nothing else reads from the terminal while this is open. Called by the shell's loop.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures::StreamExt as _;
use futures::task::AtomicWaker;
use tokio::time::{Instant, sleep_until, timeout};

use super::answer::{Answer, EventClass};
use super::input::input;
use super::{frame_writer, osc, screen};
use crate::tui::msg::{Input, Mouse, MouseMode, PointerEvent};
use crate::tui::theme::Background;

/// How long a key that may begin an answer is held. Only Alt+] is, and only as long as an answer is due.
const HOLD: Duration = Duration::from_millis(100);

/// At exit, an answer is awaited only within this time after the request.
const PROMPT: Duration = Duration::from_millis(500);

/// How long the exit waits for an answer that would otherwise reach the user's shell.
const LAST_WAIT: Duration = Duration::from_millis(60);

/// A terminal that handles the mouse itself sends several arrow keys at once for each notch of the wheel.
/// This many equal arrows available at the same moment are taken as the wheel: typing and key repeat are
/// slower. If a connection delays keys so that they arrive together, the transcript scrolls; no text is lost.
const NOTCH: usize = 3;

/// The position reported for a wheel that arrived as arrow keys: over the transcript.
const OVER_TRANSCRIPT: (u16, u16) = (0, 2);

#[derive(Debug, PartialEq)]
pub enum TerminalEvent {
    Input(Input),
    Background(Background),
    /// The terminal is gone.
    Gone,
}

#[derive(Default)]
pub struct TerminalInput {
    /// `None` while another program has the terminal.
    events: Option<EventSource>,
    answer: Answer,
    asked: Option<Instant>,
    /// When held events are released as keys.
    held_until: Option<Instant>,
    ready: VecDeque<Event>,
    found: Option<Background>,
}

impl TerminalInput {
    pub fn open(&mut self) {
        self.events = Some(EventSource::new());
    }

    /// Stops reading.
    ///
    /// A dropped stream wakes the library's reader. If the reader is not polled at that moment, the wake-up
    /// would remain for the next stream and hide a key that arrives with it until another one is pressed, so
    /// it is consumed here.
    pub fn close(&mut self) {
        self.events = None;
        if let Err(error) = crossterm::event::poll(Duration::ZERO) {
            tracing::debug!(%error, "the terminal could not be polled");
        }
    }

    pub fn ask_background(&mut self) -> io::Result<()> {
        frame_writer::write(osc::ASK_BACKGROUND)?;
        self.answer.expect();
        self.asked = Some(Instant::now());
        Ok(())
    }

    /// Returns the next event. Cancel-safe: events that were read but not returned are kept.
    pub async fn next(&mut self, mouse: MouseMode) -> TerminalEvent {
        loop {
            let event = match self.read().await {
                Ok(event) => event,
                Err(said) => return said,
            };
            if let Some(wheel) = self.wheel(&event, mouse).await {
                return TerminalEvent::Input(Input::Mouse(wheel));
            }
            if let Some(input) = input(event) {
                return TerminalEvent::Input(input);
            }
        }
    }

    /// Waits briefly for an answer that would otherwise be typed into the user's shell after exit.
    pub async fn settle(&mut self) {
        let asked = self.asked.filter(|asked| self.answer.is_due() && asked.elapsed() < PROMPT);
        if asked.is_some() && self.events.is_some() {
            // A later answer cannot be caught.
            let _ = timeout(LAST_WAIT, async {
                while self.answer.is_due() && self.next(MouseMode::Ours).await != TerminalEvent::Gone {}
            })
            .await;
        }
    }

    /// Returns the next event, or what else was received.
    async fn read(&mut self) -> Result<Event, TerminalEvent> {
        loop {
            if let Some(background) = self.found.take() {
                return Err(TerminalEvent::Background(background));
            }
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            let Some(events) = &mut self.events else { return std::future::pending().await };
            let until = self.held_until;
            tokio::select! {
                event = poll_fn(|cx| events.poll(cx)) => match event {
                    Some(Ok(event)) => self.sort(event),
                    Some(Err(_)) | None => return Err(TerminalEvent::Gone),
                },
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {
                    self.held_until = None;
                    self.ready.extend(self.answer.give_up());
                }
            }
        }
    }

    fn sort(&mut self, event: Event) {
        if let Event::Resize(..) = event {
            screen::offer_keys_again();
        }
        match self.answer.sort(event) {
            EventClass::Typed(events) => self.ready.extend(events),
            EventClass::Kept => {}
            EventClass::Answered(background) => self.found = Some(background),
        }
        self.held_until = self.answer.holds().then(|| Instant::now() + HOLD);
    }

    /// Returns a wheel event if `event` is the first of several arrows that arrived at once; the others are
    /// consumed.
    async fn wheel(&mut self, event: &Event, mouse: MouseMode) -> Option<Mouse> {
        let what = match arrow(event).filter(|_| mouse == MouseMode::Terminals)? {
            KeyCode::Up => PointerEvent::WheelUp,
            _ => PointerEvent::WheelDown,
        };
        self.fetch(NOTCH - 1).await;
        let same = self.ready.iter().take_while(|next| *next == event).count();
        if same < NOTCH - 1 {
            return None;
        }
        self.ready.drain(..NOTCH - 1);
        let (column, row) = OVER_TRANSCRIPT;
        Some(Mouse { what, column, row })
    }

    /// Reads available events without waiting, until `wanted` are ready.
    async fn fetch(&mut self, wanted: usize) {
        while self.ready.len() < wanted {
            let Some(events) = &mut self.events else { return };
            let next = poll_fn(|cx| match events.poll(cx) {
                Poll::Ready(next) => Poll::Ready(next),
                Poll::Pending => Poll::Ready(None),
            });
            let Some(Ok(event)) = next.await else { return };
            self.sort(event);
        }
    }
}

/// The library's stream of events, polled only after it signalled an event: each poll takes a lock that its
/// reader holds almost all the time, and waits for it briefly.
struct EventSource {
    stream: EventStream,
    signal: Arc<EventSignal>,
}

/// Notified by the stream's reader.
struct EventSignal {
    came: AtomicBool,
    task: AtomicWaker,
}

impl Wake for EventSignal {
    fn wake(self: Arc<Self>) {
        self.came.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl EventSource {
    fn new() -> Self {
        let signal = EventSignal { came: AtomicBool::new(true), task: AtomicWaker::new() };
        Self { stream: EventStream::new(), signal: Arc::new(signal) }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Event>>> {
        // Registered before the check, so a wake-up in between is not missed.
        self.signal.task.register(context.waker());
        if !self.signal.came.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let waker = Waker::from(Arc::clone(&self.signal));
        let event = self.stream.poll_next_unpin(&mut Context::from_waker(&waker));
        if event.is_ready() {
            self.signal.came.store(true, Ordering::Release);
        }
        event
    }
}

fn arrow(event: &Event) -> Option<KeyCode> {
    match event {
        Event::Key(KeyEvent {
            code: code @ (KeyCode::Up | KeyCode::Down),
            modifiers: KeyModifiers::NONE,
            kind: KeyEventKind::Press | KeyEventKind::Repeat,
            ..
        }) => Some(*code),
        _ => None,
    }
}
