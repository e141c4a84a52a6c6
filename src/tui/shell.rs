//! The shell around the model: terminal, signals, channels, clock. Only this file and its folder use
//! crossterm.
//!
//! It draws when something changed: after a key at once, for streamed text at most thirty times a second;
//! when idle it sleeps without a timer. The terminal is restored on every exit: return, error, panic, hangup,
//! suspension. While the user's editor has the terminal, the loop still processes session updates but draws
//! nothing.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use ratatui_core::backend::{Backend as _, ClearType};
use ratatui_core::buffer::Buffer;
use rustix::process::Signal;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use self::background_jobs::BackgroundJobs;
use self::canvas::{Canvas, Pane};
use self::frame_writer::FrameWriter;
use self::hangup::Line;
pub use self::host::{Call, Host};
use self::links::{LinkTable, LinkingBackend, Links};
use self::screen::Screen;
use self::signals::SignalTable;
use self::terminal_input::{TerminalEvent, TerminalInput};
use self::watch::PanicWatch;
use super::exit::ExitLines;
use super::keys::Keymap;
use super::model::Model;
use super::msg::{EditTarget, Input, MouseMode};
use super::theme::{Glyphs, TerminalEnv, Theme};
use super::view::paint;
use super::{Fold, Motion, update};
use crate::config::ThemeChoice;
use crate::frontend::Lifecycle;
use crate::frontend::channel::FrontendUpdates;
use crate::frontend::external_editor::{self, ExternalEditor};
use crate::frontend::protocol::{ClientRequest, OpenQueries, ServerMessage, Update};
use crate::stdx::clock::{Clock as _, SystemClock, system_zone};

mod answer;
mod away;
mod background_jobs;
mod canvas;
mod clipboard;
mod dispatch;
mod frame_writer;
mod hangup;
mod host;
mod input;
mod links;
mod notification;
mod osc;
mod screen;
mod signals;
mod terminal_input;
mod watch;

/// The least time between frames for streamed text.
const FRAME: Duration = Duration::from_millis(33);

/// For this long after the editor ends, a signal from the keyboard is attributed to the editor.
const LATE: Duration = Duration::from_secs(1);

/// The most updates taken in one go before the next chance to draw.
const BATCH: usize = 256;

/// The screen's ends of the link to the session's owner.
#[derive(Debug)]
pub struct TuiLink {
    pub updates: FrontendUpdates,
    pub asks: mpsc::Sender<ClientRequest>,
}

/// The settings of the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct TuiOptions {
    pub theme: ThemeChoice,
    pub surroundings: TerminalEnv,
    pub glyphs: &'static Glyphs,
    pub motion: Motion,
    /// [`Fold::Open`] shows full thinking from the start (`--verbose`).
    pub thinking: Fold,
    /// The user's key bindings.
    pub keymap: Keymap,
    pub mouse: MouseMode,
    pub host: Host,
    /// The user's editor, as shell words; `None` if none is configured.
    pub editor: Option<String>,
    /// The folder for images from the clipboard. They are kept until they are sent and for a while after.
    pub pasted: PathBuf,
    /// The folder to which `~/` expands.
    pub home: Option<PathBuf>,
}

/// Why the full screen ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    #[error("the full screen needs a terminal for input and output; `co -p \"prompt\"` works without one")]
    NoTerminal,
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
    #[error("the session ended unexpectedly; `co -c` reopens it")]
    OwnerGone,
}

/// Runs the full screen until the user quits, the owner ends the session, or the terminal goes away.
///
/// The first frame is drawn before anything is awaited. The caller prints the returned lines, which are
/// sanitized. Not cancel-safe: typed text is lost; the terminal is restored even then.
pub async fn run(link: TuiLink, options: TuiOptions) -> Result<ExitLines, TuiError> {
    if !screen::is_terminal() {
        return Err(TuiError::NoTerminal);
    }
    let signals = SignalTable::listen()?;
    let (columns, rows) = screen::size()?;
    let screen = Screen::enter(options.surroundings.is_modern(), options.mouse)?;
    let watch = PanicWatch::install(&screen);
    let out = FrameWriter::default();
    let links = if options.surroundings.is_modern() { Links::Reported } else { Links::Unreported };
    let links = LinkTable::new(links);
    let mut shell = Shell {
        terminal: canvas(&out, &links, columns, rows),
        out,
        links,
        jobs: BackgroundJobs::new(options.pasted.clone(), options.home.clone()),
        screen,
        watch,
        theme: Theme::choose(options.theme, &options.surroundings),
        model: Model {
            columns,
            rows,
            glyphs: options.glyphs,
            motion: options.motion,
            thinking: options.thinking,
            keymap: options.keymap.clone(),
            mouse: options.mouse,
            clock: SystemClock.now().to_zoned(system_zone()),
            ..Model::default()
        },
        options,
        input: TerminalInput::default(),
        outside: None,
        back_since: None,
        titled: None,
        started: Instant::now(),
        next_frame: NextFrame::Now,
        drawn: None,
        terminal_state: TerminalState::Present,
        outbox: VecDeque::new(),
        queries: OpenQueries::default(),
        stopped_itself: false,
        ended_by: None,
    };
    let ended = match shell.draw() {
        ShellControl::Continue => shell.live(link, signals).await,
        ShellControl::Exit => Ok(()),
    };
    let signal = shell.ended_by.and_then(|signal| u8::try_from(signal.as_raw()).ok());
    let lines = ExitLines { signal, ..ExitLines::of(&shell.model) };
    ended.map(|()| lines)
}

/// When the next frame is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NextFrame {
    No,
    /// With the next frame.
    Soon,
    Now,
}

/// Whether there is a terminal to draw on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TerminalState {
    Present,
    /// The user's editor has it.
    Away,
    /// It is gone.
    Gone,
}

/// Whether the loop continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShellControl {
    Continue,
    Exit,
}

impl ShellControl {
    /// Returns `Exit` if either is `Exit`.
    fn or(self, other: Self) -> Self {
        if self == Self::Exit { self } else { other }
    }
}

struct Shell {
    terminal: Canvas<LinkingBackend>,
    out: FrameWriter,
    links: LinkTable,
    jobs: BackgroundJobs,
    screen: Screen,
    watch: PanicWatch,
    theme: Theme,
    model: Model,
    options: TuiOptions,
    input: TerminalInput,
    outside: Option<ExternalEditor<EditTarget>>,
    /// When the user's editor last gave the terminal back.
    back_since: Option<Instant>,
    /// The window title as last set.
    titled: Option<String>,
    started: Instant,
    next_frame: NextFrame,
    drawn: Option<Instant>,
    terminal_state: TerminalState,
    /// Requests that did not fit into the channel.
    outbox: VecDeque<ClientRequest>,
    queries: OpenQueries,
    /// Whether the next SIGCONT follows our own stop, after which the screen is already restored.
    stopped_itself: bool,
    /// The signal that ended the screen; a lost terminal counts as SIGHUP.
    ended_by: Option<Signal>,
}

impl Shell {
    async fn live(&mut self, link: TuiLink, signals: SignalTable) -> Result<(), TuiError> {
        self.input.open();
        self.ask_background();
        let line = Line::open();
        let ended = self.listen(link, signals, &line).await;
        if let Some(outside) = self.outside.take() {
            outside.end().await;
        }
        // A lost terminal sends no answer.
        if self.terminal_state == TerminalState::Present {
            self.input.settle().await;
        }
        ended
    }

    async fn listen(&mut self, link: TuiLink, mut signals: SignalTable, line: &Line) -> Result<(), TuiError> {
        let TuiLink { mut updates, asks } = link;
        loop {
            let wake = self.wake();
            let mut control = ShellControl::Continue;
            tokio::select! {
                biased;
                signal = SignalTable::either(&mut signals.terms) => {
                    self.ended_by.get_or_insert(signal);
                    control = self.take(Input::Hangup, NextFrame::Now);
                }
                signal = SignalTable::either(&mut signals.keys) => control = self.on_end_signal(signal),
                () = line.wait_for_hangup(), if self.terminal_state != TerminalState::Gone => control = self.on_terminal_loss(),
                _ = signals.stop.recv() => control = self.suspend(),
                _ = signals.cont.recv() => control = self.on_resume(),
                _ = signals.resized.recv() => control = self.on_resize(),
                ended = external_editor::wait_for_exit(&mut self.outside), if self.outside.is_some() => control = self.on_return(ended),
                // A lost terminal would report its loss without end.
                said = self.input.next(self.model.mouse), if self.terminal_state == TerminalState::Present => control = self.on_input(said),
                permit = asks.reserve(), if !self.outbox.is_empty() => match permit {
                    Ok(permit) => if let Some(ask) = self.outbox.pop_front() { permit.send(ask); },
                    Err(_) => return self.on_owner_loss(),
                },
                // Between frames updates stay in the queue, so that a fast model does not wake this task for
                // each chunk.
                update = updates.recv(), if self.next_frame == NextFrame::No || self.terminal_state != TerminalState::Present => {
                    let Some(update) = update else { return self.on_owner_loss() };
                    control = self.take_updates(update, &mut updates);
                }
                text = self.watch.trouble() => control = self.take(Input::Trouble { text }, NextFrame::Now),
                answer = self.jobs.next_answer() => {
                    let next_frame = if let Input::Loaded(_) = answer { NextFrame::Soon } else { NextFrame::Now };
                    control = self.take(answer, next_frame);
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {
                    control = self.take(Input::Tick, NextFrame::Soon);
                    if let Some(update) = updates.try_recv() {
                        control = control.or(self.take_updates(update, &mut updates));
                    }
                }
            }
            if control == ShellControl::Exit || self.draw_if_due() == ShellControl::Exit {
                return Ok(());
            }
        }
    }

    /// Asks for the background colour if the theme depends on it. The first frame is already drawn; the
    /// answer arrives among the keys, if at all.
    fn ask_background(&mut self) {
        let depends = Theme::depends_on_background(self.options.theme, &self.options.surroundings);
        if depends && let Err(error) = self.input.ask_background() {
            tracing::debug!(%error, "the terminal's background colour could not be read");
        }
    }

    /// Handles the loss of the owner: expected while closing, else an error.
    fn on_owner_loss(&self) -> Result<(), TuiError> {
        match self.model.life {
            Lifecycle::Closing { .. } | Lifecycle::Over => Ok(()),
            Lifecycle::Open => Err(TuiError::OwnerGone),
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns when the loop must continue by itself; `None` while nothing moves.
    fn wake(&self) -> Option<Instant> {
        let model = self.model.wake_at().map(|at| self.started + Duration::from_millis(at));
        let frame = match self.next_frame {
            NextFrame::No => None,
            NextFrame::Soon | NextFrame::Now => Some(self.frame_due()),
        };
        model.into_iter().chain(frame).min()
    }

    fn frame_due(&self) -> Instant {
        self.drawn.map_or(self.started, |drawn| drawn + FRAME)
    }

    fn take(&mut self, input: Input, next_frame: NextFrame) -> ShellControl {
        let resized = matches!(input, Input::Resize { .. });
        let now = self.now_ms();
        // Counting from the start would miss a suspension and a clock that was set.
        self.model.clock = SystemClock.now().to_zoned(self.model.clock.time_zone().clone());
        let cmds = self.watch.guarding(|| update(&mut self.model, now, input));
        self.next_frame = self.next_frame.max(next_frame);
        if resized && self.forget_screen().is_err() {
            return self.on_terminal_loss();
        }
        self.carry_out(cmds)
    }

    fn take_updates(&mut self, first: Update, more: &mut FrontendUpdates) -> ShellControl {
        let mut control = self.take_update(first);
        for _ in 0..BATCH {
            if control == ShellControl::Exit {
                break;
            }
            let Some(update) = more.try_recv() else { break };
            control = self.take_update(update);
        }
        control
    }

    /// Takes an update. Events of a turn come as fast as the model writes; messages are answers, and few.
    fn take_update(&mut self, update: Update) -> ShellControl {
        match update {
            Update::Message(ServerMessage::Answer { id, answer }) => match self.queries.take(id) {
                Some(query) => self.take(Input::Answer(Box::new((query, answer))), NextFrame::Now),
                None => ShellControl::Continue,
            },
            Update::Message(ServerMessage::Entered) => {
                self.queries.forget();
                self.take(Input::Update(Box::new(update)), NextFrame::Now)
            }
            Update::Message(_) => self.take(Input::Update(Box::new(update)), NextFrame::Now),
            Update::Event(_) => self.take(Input::Update(Box::new(update)), NextFrame::Soon),
        }
    }

    fn on_input(&mut self, said: TerminalEvent) -> ShellControl {
        match said {
            TerminalEvent::Input(input) => self.take(input, NextFrame::Now),
            TerminalEvent::Background(background) => {
                self.options.surroundings.background = Some(background);
                self.theme = Theme::choose(self.options.theme, &self.options.surroundings);
                self.next_frame = NextFrame::Now;
                ShellControl::Continue
            }
            TerminalEvent::Gone => self.on_terminal_loss(),
        }
    }

    /// Handles a change of the window size. The terminal library reports it too, but with sizes that may be
    /// out of date, and not always when a key arrives at the same moment.
    fn on_resize(&mut self) -> ShellControl {
        let known = (self.model.columns, self.model.rows);
        let (columns, rows) = screen::size().unwrap_or(known);
        if self.terminal_state != TerminalState::Present || (columns, rows) == known {
            return ShellControl::Continue;
        }
        self.take(Input::Resize { columns, rows }, NextFrame::Now)
    }

    /// Handles SIGINT or SIGQUIT: ends the program, unless a key sent the signal to the user's editor.
    fn on_end_signal(&mut self, signal: Signal) -> ShellControl {
        // A signal meant for the editor may arrive shortly after the editor ended.
        let late = self.back_since.is_some_and(|back| back.elapsed() < LATE);
        match self.terminal_state {
            TerminalState::Away => ShellControl::Continue,
            TerminalState::Present if late => ShellControl::Continue,
            TerminalState::Present | TerminalState::Gone => {
                self.ended_by.get_or_insert(signal);
                self.take(Input::Hangup, NextFrame::Now)
            }
        }
    }

    /// Handles the loss of the terminal: stops drawing and reading, and reports a hangup to the session.
    fn on_terminal_loss(&mut self) -> ShellControl {
        self.terminal_state = TerminalState::Gone;
        self.ended_by.get_or_insert(Signal::HUP);
        self.take(Input::Hangup, NextFrame::No)
    }

    fn draw_if_due(&mut self) -> ShellControl {
        match self.next_frame {
            NextFrame::Now => self.draw(),
            NextFrame::Soon if Instant::now() >= self.frame_due() => self.draw(),
            NextFrame::Soon | NextFrame::No => ShellControl::Continue,
        }
    }

    /// Draws one frame. If the terminal does not take it, the terminal is lost: the session is informed and
    /// saved.
    fn draw(&mut self) -> ShellControl {
        self.next_frame = NextFrame::No;
        if self.terminal_state != TerminalState::Present {
            return ShellControl::Continue;
        }
        if self.links.is_full() {
            self.links.forget();
            if self.forget_screen().is_err() {
                return self.on_terminal_loss();
            }
        }
        let now = self.now_ms();
        let cmds = self.watch.guarding(|| update(&mut self.model, now, Input::Frame));
        let pane = self.pane();
        let frame = |buffer: &mut Buffer| {
            let painted = paint(&self.model, &self.theme, buffer);
            self.links.mark(buffer, &painted.linked);
            painted.cursor
        };
        let drawn = self.watch.guarding(|| self.terminal.draw(&pane, frame));
        let sent = drawn.and_then(|()| self.name_window()).and_then(|()| self.out.send());
        self.drawn = Some(Instant::now());
        let control = self.carry_out(cmds);
        if sent.is_err() { self.on_terminal_loss() } else { control }
    }

    /// Returns the area in which the transcript scrolls.
    fn pane(&self) -> Pane {
        let rows = u16::try_from(self.model.areas().pane).unwrap_or(0);
        let columns = u16::try_from(self.model.pane_columns()).unwrap_or(0);
        Pane { rows: 2..2 + rows, columns }
    }

    /// Sets the window title with the frame, if it changed.
    fn name_window(&mut self) -> io::Result<()> {
        let title = notification::title(&self.model);
        if self.titled.as_ref() == Some(&title) || !self.options.surroundings.is_modern() {
            return Ok(());
        }
        self.out.write_all(&osc::title(&title))?;
        self.titled = Some(title);
        Ok(())
    }

    /// Makes the next frame draw every cell. (The library's own `clear` would ask the terminal for the cursor
    /// and wait.)
    fn forget_screen(&mut self) -> io::Result<()> {
        self.terminal = canvas(&self.out, &self.links, self.model.columns, self.model.rows);
        self.terminal.backend_mut().clear_region(ClearType::All)
    }
}

fn canvas(out: &FrameWriter, links: &LinkTable, columns: u16, rows: u16) -> Canvas<LinkingBackend> {
    Canvas::new(LinkingBackend::new(out, links), columns, rows)
}
