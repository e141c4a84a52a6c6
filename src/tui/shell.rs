//! The shell around the model: terminal, signals, channels, clock. The only file that names crossterm.
//!
//! It draws when something changed: a key at once, streamed text at most thirty times a second; with nothing to do
//! it sleeps without a timer. The terminal is restored on every way out: return, error, panic, hangup, suspension.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures::StreamExt as _;
use ratatui::backend::{Backend as _, ClearType, CrosstermBackend};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::process::Signal;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use self::hangup::Line;
use self::screen::{Out, Screen};
use self::watch::PanicWatch;
use super::exit::ExitLines;
use super::key::{Code, Key, Mods};
use super::keys::Keymap;
use super::model::{Life, Model, Setup};
use super::msg::{Cmd, Input, Msg, Window};
use super::theme::{Surroundings, Theme, ThemeChoice};
use super::{Fold, Motion, update, view};
use crate::frontend::link::{Ask, Update};

mod hangup;
mod screen;
mod watch;

/// Streamed text is drawn at most this often.
const FRAME: Duration = Duration::from_millis(33);

/// Updates taken in one go before the screen is looked at again.
const BATCH: usize = 256;

/// The screen's ends of the link to the session's owner.
#[derive(Debug)]
pub struct TuiLink {
    pub updates: mpsc::Receiver<Update>,
    pub asks: mpsc::Sender<Ask>,
}

/// How the screen looks and starts.
#[derive(Debug, Clone, PartialEq)]
pub struct TuiOptions {
    pub theme: ThemeChoice,
    pub surroundings: Surroundings,
    pub motion: Motion,
    /// [`Fold::Open`] shows thinking whole from the start (`--verbose`).
    pub thinking: Fold,
    /// The keys as this person has them.
    pub keymap: Keymap,
}

/// Why the full screen ended badly.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    #[error("the full screen needs a terminal for input and output; `co -p \"prompt\"` works without one")]
    NoTerminal,
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
    #[error("the session ended without a word; `co -c` opens it again")]
    OwnerGone,
}

/// Runs the full screen until the person quits, the owner says goodbye, or the terminal goes away.
///
/// The first frame is drawn before anything is awaited. The caller prints the lines that are returned; they are
/// harmless text. Not cancel-safe in the sense that what was typed is lost; the terminal is restored even then.
pub async fn run(link: TuiLink, options: TuiOptions) -> Result<ExitLines, TuiError> {
    if !screen::is_terminal() {
        return Err(TuiError::NoTerminal);
    }
    let heard = Heard::listen()?;
    let (columns, rows) = screen::size()?;
    let setup = Setup {
        columns,
        rows,
        glyphs: options.surroundings.glyphs(),
        motion: options.motion,
        thinking: options.thinking,
        keymap: options.keymap,
    };
    let screen = Screen::enter(options.surroundings.is_modern())?;
    let watch = PanicWatch::install(&screen);
    let out = Out::default();
    let mut shell = Shell {
        terminal: canvas(&out, columns, rows)?,
        out,
        screen,
        watch,
        theme: Theme::choose(options.theme, &options.surroundings),
        model: Model::new(setup),
        started: Instant::now(),
        dirty: Dirty::Now,
        drawn: None,
        sight: Sight::Seeing,
        outbox: VecDeque::new(),
        continues: Continues::Unasked,
    };
    let ended = match shell.draw() {
        Flow::On => shell.live(link, heard).await,
        Flow::Exit => Ok(()),
    };
    let lines = ExitLines::of(&shell.model);
    ended.map(|()| lines)
}

/// What the next drawing waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Dirty {
    No,
    /// With the next frame.
    Soon,
    Now,
}

/// Whether there is a terminal to draw on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    Seeing,
    Blind,
}

/// Whether the next SIGCONT answers a stop of our own, after which the screen is in order already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Continues {
    Unasked,
    Own,
}

/// Whether the loop goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Exit,
}

/// The signals that mean something.
struct Heard {
    ends: [Signals; 4],
    stop: Signals,
    cont: Signals,
}

impl Heard {
    fn listen() -> io::Result<Self> {
        let on = |kind: Signal| signal(SignalKind::from_raw(kind.as_raw()));
        Ok(Self {
            ends: [on(Signal::TERM)?, on(Signal::HUP)?, on(Signal::INT)?, on(Signal::QUIT)?],
            stop: on(Signal::TSTP)?,
            cont: on(Signal::CONT)?,
        })
    }

    async fn ended(ends: &mut [Signals; 4]) {
        let [term, hup, int, quit] = ends;
        tokio::select! {
            _ = term.recv() => {}
            _ = hup.recv() => {}
            _ = int.recv() => {}
            _ = quit.recv() => {}
        }
    }
}

struct Shell {
    terminal: Canvas,
    out: Out,
    screen: Screen,
    watch: PanicWatch,
    theme: Theme,
    model: Model,
    started: Instant,
    dirty: Dirty,
    drawn: Option<Instant>,
    sight: Sight,
    /// Asks that found the channel full.
    outbox: VecDeque<Ask>,
    continues: Continues,
}

impl Shell {
    async fn live(&mut self, link: TuiLink, mut heard: Heard) -> Result<(), TuiError> {
        let TuiLink { mut updates, asks } = link;
        let mut events = EventStream::new();
        let line = Line::open();
        loop {
            let wake = self.wake();
            let mut flow = Flow::On;
            tokio::select! {
                biased;
                () = Heard::ended(&mut heard.ends) => flow = self.take(Input::Hangup, Dirty::Now),
                () = line.lost(), if self.sight == Sight::Seeing => flow = self.lost(),
                _ = heard.stop.recv() => flow = self.suspend(),
                _ = heard.cont.recv() => flow = self.resumed(),
                // A terminal that is gone would be heard of without end.
                event = events.next(), if self.sight == Sight::Seeing => flow = self.heard(event),
                permit = asks.reserve(), if !self.outbox.is_empty() => match permit {
                    Ok(permit) => if let Some(ask) = self.outbox.pop_front() { permit.send(ask); },
                    Err(_) => return self.abandoned(),
                },
                update = updates.recv() => {
                    let Some(update) = update else { return self.abandoned() };
                    flow = self.take_updates(update, &mut updates);
                }
                text = self.watch.trouble() => flow = self.take(Input::Trouble { text }, Dirty::Now),
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {
                    flow = self.take(Input::Tick, Dirty::Soon);
                }
            }
            if flow == Flow::Exit || self.draw_if_due() == Flow::Exit {
                return Ok(());
            }
        }
    }

    /// The owner is gone: in order when we were closing, else an error.
    fn abandoned(&self) -> Result<(), TuiError> {
        match self.model.life {
            Life::Closing { .. } | Life::Over => Ok(()),
            Life::Open => Err(TuiError::OwnerGone),
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// When the loop has to go on by itself; `None` while nothing moves.
    fn wake(&self) -> Option<Instant> {
        let model = self.model.wake_at().map(|at| self.started + Duration::from_millis(at));
        let frame = match self.dirty {
            Dirty::No => None,
            Dirty::Soon | Dirty::Now => Some(self.frame_due()),
        };
        model.into_iter().chain(frame).min()
    }

    fn frame_due(&self) -> Instant {
        self.drawn.map_or(self.started, |drawn| drawn + FRAME)
    }

    fn take(&mut self, input: Input, dirty: Dirty) -> Flow {
        let resized = matches!(input, Input::Resize { .. });
        let msg = Msg::new(self.now_ms(), input);
        let cmds = self.watch.guarding(|| update(&mut self.model, msg));
        self.dirty = self.dirty.max(dirty);
        if resized && self.forget_screen().is_err() {
            return self.lost();
        }
        self.carry_out(cmds)
    }

    fn take_updates(&mut self, first: Update, more: &mut mpsc::Receiver<Update>) -> Flow {
        let mut flow = self.take(Input::Update(Box::new(first)), Dirty::Soon);
        for _ in 0..BATCH {
            if flow == Flow::Exit {
                break;
            }
            let Ok(update) = more.try_recv() else { break };
            flow = self.take(Input::Update(Box::new(update)), Dirty::Soon);
        }
        flow
    }

    fn heard(&mut self, event: Option<io::Result<Event>>) -> Flow {
        match event {
            Some(Ok(event)) => match input(event) {
                Some(input) => self.take(input, Dirty::Now),
                None => Flow::On,
            },
            Some(Err(_)) | None => self.lost(),
        }
    }

    /// The terminal is gone: nothing is drawn or read any more, and the session is told.
    fn lost(&mut self) -> Flow {
        self.sight = Sight::Blind;
        self.take(Input::Hangup, Dirty::No)
    }

    fn carry_out(&mut self, cmds: Vec<Cmd>) -> Flow {
        for cmd in cmds {
            match cmd {
                Cmd::Send(ask) => self.outbox.push_back(ask),
                Cmd::Suspend => return self.suspend(),
                Cmd::Redraw => {
                    if self.forget_screen().is_err() {
                        return self.lost();
                    }
                }
                Cmd::Edit { .. } | Cmd::Copy { .. } | Cmd::Mouse(_) | Cmd::Alert(_) => {}
                Cmd::Exit => return Flow::Exit,
            }
        }
        Flow::On
    }

    fn draw_if_due(&mut self) -> Flow {
        match self.dirty {
            Dirty::Now => self.draw(),
            Dirty::Soon if Instant::now() >= self.frame_due() => self.draw(),
            Dirty::Soon | Dirty::No => Flow::On,
        }
    }

    /// One frame. A terminal that does not take it is gone: the session is told, and saved.
    fn draw(&mut self) -> Flow {
        self.dirty = Dirty::No;
        if self.sight == Sight::Blind {
            return Flow::On;
        }
        let msg = Msg::new(self.now_ms(), Input::Frame);
        let cmds = self.watch.guarding(|| update(&mut self.model, msg));
        let drawn = self
            .watch
            .guarding(|| self.terminal.draw(|frame| view(&self.model, &self.theme, frame)).map(drop));
        let sent = drawn.and_then(|()| self.out.send());
        self.drawn = Some(Instant::now());
        let flow = self.carry_out(cmds);
        if sent.is_err() { self.lost() } else { flow }
    }

    /// The next frame draws every cell. (The library's own `clear` would ask the terminal for the cursor and wait.)
    fn forget_screen(&mut self) -> io::Result<()> {
        self.terminal = canvas(&self.out, self.model.columns, self.model.rows)?;
        self.terminal.backend_mut().clear_region(ClearType::All)
    }

    /// Gives the terminal back and stops, as Ctrl+Z does; goes on here when continued.
    fn suspend(&mut self) -> Flow {
        self.screen.leave();
        self.continues = Continues::Own;
        // The whole group, as the terminal would: a parent that waits for us must stop too.
        match rustix::process::kill_current_process_group(Signal::STOP) {
            Ok(()) => self.come_back(),
            Err(_) => self.lost(),
        }
    }

    /// Somebody else stopped and continued us.
    fn resumed(&mut self) -> Flow {
        if std::mem::replace(&mut self.continues, Continues::Unasked) == Continues::Own {
            return Flow::On;
        }
        self.screen.leave();
        self.come_back()
    }

    fn come_back(&mut self) -> Flow {
        if self.screen.enter_again().is_err() {
            return self.lost();
        }
        let (columns, rows) = screen::size().unwrap_or((self.model.columns, self.model.rows));
        self.take(Input::Resize { columns, rows }, Dirty::Now)
    }
}

/// A terminal of a fixed size: the library would ask for it before every frame, and start a program where the
/// terminal is gone.
fn canvas(out: &Out, columns: u16, rows: u16) -> io::Result<Canvas> {
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
    Terminal::with_options(CrosstermBackend::new(out.clone()), TerminalOptions { viewport })
}

type Canvas = Terminal<CrosstermBackend<Out>>;

/// What the terminal sent, in our words; `None` for what means nothing here.
fn input(event: Event) -> Option<Input> {
    match event {
        Event::Key(event) => key(event).map(Input::Key),
        Event::Paste(text) => Some(Input::Paste(text)),
        Event::Resize(columns, rows) => Some(Input::Resize { columns, rows }),
        Event::FocusGained => Some(Input::Window(Window::Focused)),
        Event::FocusLost => Some(Input::Window(Window::Unfocused)),
        Event::Mouse(_) => None,
    }
}

fn key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release
        || event.modifiers.intersects(KeyModifiers::SUPER | KeyModifiers::HYPER | KeyModifiers::META)
    {
        return None;
    }
    let mut mods = Mods::NONE;
    for (held, ours) in [
        (KeyModifiers::CONTROL, Mods::CTRL),
        (KeyModifiers::ALT, Mods::ALT),
        (KeyModifiers::SHIFT, Mods::SHIFT),
    ] {
        if event.modifiers.contains(held) {
            mods = mods.with(ours);
        }
    }
    let code = match event.code {
        KeyCode::Char(c) => {
            // The character says it all; a held Ctrl takes the small letter.
            mods = mods.without(Mods::SHIFT);
            let c = if mods.has(Mods::CTRL) { c.to_ascii_lowercase() } else { c };
            Code::Char(c)
        }
        KeyCode::Enter => Code::Enter,
        KeyCode::Tab => Code::Tab,
        KeyCode::BackTab => {
            mods = mods.with(Mods::SHIFT);
            Code::Tab
        }
        KeyCode::Esc => Code::Esc,
        KeyCode::Backspace => Code::Backspace,
        KeyCode::Delete => Code::Delete,
        KeyCode::Home => Code::Home,
        KeyCode::End => Code::End,
        KeyCode::Up => Code::Up,
        KeyCode::Down => Code::Down,
        KeyCode::Left => Code::Left,
        KeyCode::Right => Code::Right,
        KeyCode::PageUp => Code::PageUp,
        KeyCode::PageDown => Code::PageDown,
        KeyCode::F(number) => Code::F(number),
        _ => return None,
    };
    Some(Key { code, mods })
}
