//! The event loop of the plain front end: standard input and output, signals, channels, clock.
//!
//! It sleeps without a timer until something happens. It writes only text, so there is nothing to restore.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, Stdout};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::input::{BufferedInput, Stdin};
use super::state::{Input, Plain, PlainOutput, Setup};
use crate::frontend::channel::FrontendUpdates;
use crate::frontend::external_editor::{self, ExternalEditor};
use crate::frontend::images::Prompt;
use crate::frontend::protocol::{ClientRequest, Update};
use crate::stdx::clock::{Clock as _, SystemClock, system_zone};

/// Updates handled at once before something is printed.
const BATCH: usize = 256;

/// The timeout for writing pending output after a signal to end.
const STUCK: Duration = Duration::from_millis(200);

/// This front end's ends of the link to the session's owner, and its initial settings.
#[derive(Debug)]
pub struct PlainOptions {
    pub updates: FrontendUpdates,
    pub asks: mpsc::Sender<ClientRequest>,
    pub setup: Setup,
    /// The first prompt.
    pub first: Option<Prompt>,
    /// The editor for arguments, if [`Setup::has_editor`] says so.
    pub editor: Option<String>,
    /// Printed first, e.g. why this front end is used.
    pub preface: Option<String>,
}

/// Why the plain front end failed.
#[derive(Debug, thiserror::Error)]
pub enum PlainError {
    #[error("standard input cannot be used: {0}")]
    Input(#[from] io::Error),
    #[error("the session ended unexpectedly; `co -c` reopens it")]
    OwnerGone,
}

/// Runs the plain front end until the user leaves, the input ends, or the owner sends its goodbye; returns
/// the number of the signal that ended it, if one did.
pub async fn run(options: PlainOptions) -> Result<Option<u8>, PlainError> {
    let PlainOptions { updates, asks, setup, first, editor, preface } = options;
    let front = PlainFrontend {
        plain: Plain::new(setup).asking(first),
        stdin: Stdin::open(setup.source)?,
        signals: Signals::listen()?,
        out: tokio::io::stdout(),
        output_closed: false,
        end_signalled: false,
        started: Instant::now(),
        outbox: VecDeque::new(),
        editor: editor.unwrap_or_default(),
        outside: None,
        ended_by: None,
    };
    front.live(updates, asks, preface).await
}

/// The signals that are handled. Ctrl+Z is left to the system.
struct Signals {
    interrupt: Signal,
    ends: [Signal; 3],
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let ends =
            [signal(SignalKind::terminate())?, signal(SignalKind::hangup())?, signal(SignalKind::quit())?];
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, ends })
    }

    /// Returns the number of the signal that arrived.
    async fn next_signal(ends: &mut [Signal; 3]) -> u8 {
        let [term, hup, quit] = ends;
        let kind = tokio::select! {
            _ = term.recv() => SignalKind::terminate(),
            _ = hup.recv() => SignalKind::hangup(),
            _ = quit.recv() => SignalKind::quit(),
        };
        u8::try_from(kind.as_raw_value()).unwrap_or_default()
    }
}

/// The pause after which a line belongs to no paste: a program types without any, a person with longer ones.
const PASTE_GAP: Duration = Duration::from_millis(30);

struct PlainFrontend {
    plain: Plain,
    stdin: Stdin,
    signals: Signals,
    out: Stdout,
    output_closed: bool,
    /// A signal to end arrived while text was written.
    end_signalled: bool,
    started: Instant,
    /// Requests that did not fit into the channel.
    outbox: VecDeque<ClientRequest>,
    editor: String,
    /// The running editor: it has the terminal, so nothing is printed or read.
    outside: Option<ExternalEditor<()>>,
    ended_by: Option<u8>,
}

impl PlainFrontend {
    async fn live(
        mut self,
        mut updates: FrontendUpdates,
        asks: mpsc::Sender<ClientRequest>,
        preface: Option<String>,
    ) -> Result<Option<u8>, PlainError> {
        if let Some(preface) = preface {
            self.print(&format!("{preface}\n")).await;
        }
        loop {
            let wake = self.plain.wake_at().map(|at| self.started + Duration::from_millis(at));
            let input = tokio::select! {
                biased;
                signal = Signals::next_signal(&mut self.signals.ends) => {
                    self.ended_by.get_or_insert(signal);
                    if let Some(outside) = self.outside.take() {
                        outside.end().await;
                    }
                    Input::Hangup
                }
                _ = self.signals.interrupt.recv() => match self.outside {
                    Some(_) => continue,
                    None => Input::Interrupt,
                },
                ended = external_editor::wait_for_exit(&mut self.outside), if self.outside.is_some() => {
                    self.outside.take().map_or(Input::Tick, |outside| Input::Edited(outside.saved_text(ended)))
                }
                permit = asks.reserve(), if !self.outbox.is_empty() => {
                    let Ok(permit) = permit else { return self.on_owner_loss() };
                    if let Some(ask) = self.outbox.pop_front() {
                        permit.send(ask);
                    }
                    continue;
                }
                read = self.stdin.next(), if self.plain.listens() && self.outside.is_none() => self.gather(read).await,
                update = updates.recv() => {
                    let Some(update) = update else { return self.on_owner_loss() };
                    self.take_all(update, &mut updates);
                    Input::Tick
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => Input::Tick,
            };
            self.take(input);
            if self.outside.is_none() && self.turn().await.is_break() {
                return Ok(self.ended_by);
            }
        }
    }

    /// Returns the input of what was read. On a terminal, lines that follow at once belong to it.
    async fn gather(&mut self, read: Input) -> Input {
        let Input::Line(first) = read else { return read };
        let mut lines = vec![first];
        // Nothing else is lost: the end of input is reported again.
        while self.plain.takes_pastes()
            && let Ok(Input::Line(line)) = tokio::time::timeout(PASTE_GAP, self.stdin.next()).await
        {
            lines.push(line);
        }
        match <[String; 1]>::try_from(lines) {
            Ok([line]) => Input::Line(line),
            Err(lines) => Input::Pasted(lines),
        }
    }

    /// The owner is gone: expected if this front end was closing, else an error.
    fn on_owner_loss(&self) -> Result<Option<u8>, PlainError> {
        if self.plain.is_closing() { Ok(self.ended_by) } else { Err(PlainError::OwnerGone) }
    }

    fn take(&mut self, input: Input) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.plain.clock = SystemClock.now().to_zoned(system_zone());
        self.plain.take(now, input);
    }

    fn take_all(&mut self, first: Update, more: &mut FrontendUpdates) {
        self.take(Input::Update(Box::new(first)));
        for _ in 0..BATCH {
            let Some(update) = more.try_recv() else { return };
            self.take(Input::Update(Box::new(update)));
        }
    }

    /// Prints and sends what is due. Before a question input is drained, so that it does not answer it.
    async fn turn(&mut self) -> ControlFlow<()> {
        loop {
            let PlainOutput { text, asks, question, to_edit, over } = self.plain.take_output();
            self.outbox.extend(asks);
            let mut before = BufferedInput::default();
            if question {
                before = self.stdin.drain();
                if !before.begun.is_empty() {
                    // It is still on the terminal's line.
                    self.print("\n").await;
                }
            }
            self.print(&text).await;
            if over {
                return ControlFlow::Break(());
            }
            if (self.output_closed && !self.plain.is_closing()) || std::mem::take(&mut self.end_signalled) {
                self.take(Input::Hangup);
                continue;
            }
            if let Some(text) = to_edit
                && let Err(why) = self.open_editor(&text)
            {
                self.take(Input::Edited(Err(why)));
                continue;
            }
            if !question {
                return ControlFlow::Continue(());
            }
            let after = self.stdin.drain();
            before.lines.extend(after.lines);
            self.take(Input::Asked { before: before.lines, begun: before.begun + &after.begun });
            if before.flood || after.flood {
                self.take(Input::Flood);
            }
        }
    }

    /// Gives the terminal to the editor.
    fn open_editor(&mut self, text: &str) -> Result<(), String> {
        let outside = ExternalEditor::start(&self.editor, text, "json", ());
        self.outside = Some(outside.map_err(|error| format!("the editor could not be started: {error}"))?);
        Ok(())
    }

    /// Writes text. Stops if the reader is gone, or does not read after a signal to end.
    async fn print(&mut self, text: &str) {
        if text.is_empty() || self.output_closed {
            return;
        }
        let out = &mut self.out;
        let written = async {
            out.write_all(text.as_bytes()).await?;
            out.flush().await
        };
        tokio::pin!(written);
        let whole = tokio::select! {
            biased;
            written = &mut written => written.is_ok(),
            signal = Signals::next_signal(&mut self.signals.ends) => {
                self.ended_by.get_or_insert(signal);
                self.end_signalled = true;
                let written = tokio::time::timeout(STUCK, &mut written).await;
                written.is_ok_and(|written| written.is_ok())
            }
        };
        self.output_closed |= !whole;
    }
}
