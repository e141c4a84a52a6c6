//! The state of the plain face: what happens goes in, text to print and asks come out. No clock, no channel, no file.
//!
//! While a question is open the turn's events wait behind it, so that nothing comes between a question and its answer.

use std::collections::{HashMap, VecDeque};

use super::approvals::{Approvals, State};
use super::page::{At, Page};
use super::words;
use crate::agent::caps::CapQuestion;
use crate::agent::port::{Event, Op};
use crate::command::{Entry, dispatch};
use crate::frontend::dialogue::Dialogue;
use crate::frontend::protocol::{ClientRequest, Header, InboxLine, SessionLine, Update};
use crate::message::CallId;

/// How long Ctrl+C remembers that it was pressed.
const ARMED_MS: u64 = 2_000;

/// How long the owner may take to save and say goodbye, after the person quit and after a hangup.
const GOODBYE_MS: u64 = 3_000;
const HANGUP_MS: u64 = 800;

/// Requests of one reply come one after another; the first question waits this long for the others to be counted.
pub(super) const GATHER_MS: u64 = 100;

/// A terminal gives no longer line; what stood behind it is lost.
const LONGEST_TYPED: usize = 4_095;

/// What is known about a call.
#[derive(Debug, Default)]
pub(super) struct KnownCall {
    pub(super) summary: String,
    /// The user was asked about it: its start confirms their answer.
    pub(super) was_asked: bool,
    pub(super) started: bool,
}

/// The question while it is open.
#[derive(Debug)]
pub(super) struct OpenCap {
    pub(super) question: CapQuestion,
    /// It is shown once the question is out.
    pub(super) dialogue: Dialogue<(), ()>,
}

/// Where the person's lines come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Terminal,
    /// A pipe or a file: a line is taken when nothing runs, so that lines mean the same however slow the model is.
    Pipe,
}

/// Whether what the person types is to be seen beside what we print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    Seen,
    Unseen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingShown {
    /// That it thinks, and how long.
    Told,
    Whole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    pub source: Source,
    pub echo: Echo,
    pub thinking: ThinkingShown,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Update(Box<Update>),
    /// A line of the person, without its end.
    Line(String),
    /// The last question is out. These lines were there before it could be read, and the beginning of another.
    Asked {
        before: Vec<String>,
        begun: String,
    },
    /// No more lines will come: Ctrl+D, or the end of the pipe.
    End,
    /// More came than can be kept; nothing more is read.
    Flood,
    /// Ctrl+C.
    Interrupt,
    /// The program is told to end, or the terminal is gone.
    Hangup,
    /// A moment that was asked for has come.
    Tick,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Turned {
    /// To be printed as it is.
    pub text: String,
    pub asks: Vec<ClientRequest>,
    /// The text ends with a question: once it is out, [`Input::Asked`] is due with what was typed before.
    pub question: bool,
    pub over: bool,
}

/// What the person's last line waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaiting {
    Nothing,
    /// Its turn, and whatever follows from it.
    Idle,
    /// A command's answer.
    Answer,
    Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    Idle,
    Running,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Open,
    Closing { until_ms: u64 },
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines {
    Open,
    Ended,
}

/// See the module's words.
#[derive(Debug)]
pub struct Plain {
    pub(super) setup: Setup,
    pub(super) now_ms: u64,
    pub(super) page: Page,
    asks: Vec<ClientRequest>,
    pub(super) asked: bool,
    pub(super) approvals: Approvals,
    /// A cap that was reached, while its question is open.
    pub(super) cap: Option<OpenCap>,
    /// Not before this moment is the next question asked.
    pub(super) ask_at: u64,
    pub(super) header: Option<Header>,
    /// Events that wait behind the open question, each with its moment.
    pub(super) held: VecDeque<(u64, Event)>,
    pub(super) turn: Activity,
    pub(super) shell: Activity,
    pub(super) calls: HashMap<CallId, KnownCall>,
    pub(super) thinking_since: Option<u64>,
    /// The model that answers in place of the header's until the turn ends, as `provider/model`.
    pub(super) stand_in: Option<String>,
    /// The prompt that the person sees already, as they typed it.
    pub(super) echoed: Option<String>,
    /// Lines that ended in a backslash.
    pub(super) begun: String,
    /// Lines that wait until no question is open.
    pub(super) ahead: VecDeque<String>,
    pub(super) awaiting: Awaiting,
    pub(super) lines: Lines,
    armed_until: u64,
    pub(super) life: Life,
    pub(super) messages: usize,
    pub(super) told_waiting: usize,
    /// Other sessions, as the owner told them last, and as they were printed last.
    pub(super) sessions: Vec<SessionLine>,
    pub(super) listed: Vec<SessionLine>,
    /// Requests of all sessions, as they were printed last; what the next list is narrowed to.
    pub(super) listed_requests: Vec<InboxLine>,
    pub(super) inbox_words: String,
    /// Requests that wait in other sessions, and how many of them were told.
    pub(super) elsewhere: usize,
    pub(super) told_elsewhere: usize,
}

impl Plain {
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            now_ms: 0,
            page: Page::default(),
            asks: Vec::new(),
            asked: false,
            approvals: Approvals::default(),
            cap: None,
            ask_at: 0,
            header: None,
            held: VecDeque::new(),
            // The owner opens the session; it says when it is idle.
            turn: Activity::Running,
            shell: Activity::Idle,
            calls: HashMap::new(),
            thinking_since: None,
            stand_in: None,
            echoed: None,
            begun: String::new(),
            ahead: VecDeque::new(),
            awaiting: Awaiting::Nothing,
            lines: Lines::Open,
            armed_until: 0,
            life: Life::Open,
            messages: 0,
            told_waiting: 0,
            sessions: Vec::new(),
            listed: Vec::new(),
            listed_requests: Vec::new(),
            inbox_words: String::new(),
            elsewhere: 0,
            told_elsewhere: 0,
        }
    }

    /// Takes one thing that happened.
    pub fn take(&mut self, now_ms: u64, input: Input) {
        self.now_ms = self.now_ms.max(now_ms);
        match input {
            Input::Update(update) => match *update {
                Update::Event(event) => self.event_or_hold(event),
                Update::Message(notice) => self.notice(notice),
            },
            Input::Line(_) | Input::Asked { .. } | Input::End | Input::Flood | Input::Interrupt
                if self.life != Life::Open =>
            {
                if input == Input::Interrupt {
                    self.life = Life::Over;
                }
            }
            Input::Line(text) => self.hear(&text),
            Input::Asked { before, begun } => self.typed_before(before, &begun),
            Input::End => self.lines_ended(),
            Input::Flood => self.flood(),
            Input::Interrupt => self.interrupt(),
            Input::Hangup => self.close(HANGUP_MS),
            Input::Tick => {}
        }
    }

    /// What is to be done now that everything at hand was taken.
    pub fn turned(&mut self) -> Turned {
        self.settle();
        Turned {
            text: self.page.take(),
            asks: std::mem::take(&mut self.asks),
            question: std::mem::take(&mut self.asked),
            over: self.life == Life::Over,
        }
    }

    /// When a [`Input::Tick`] is wanted; `None` for never.
    pub fn wake_at(&self) -> Option<u64> {
        match self.life {
            Life::Closing { until_ms } => Some(until_ms),
            Life::Open if self.approvals.open.is_none() && self.approvals.count(State::New) > 0 => {
                Some(self.ask_at)
            }
            Life::Open | Life::Over => None,
        }
    }

    /// Whether the person's next line is wanted now.
    pub fn listens(&self) -> bool {
        let open = self.lines == Lines::Open && self.life == Life::Open;
        match self.setup.source {
            Source::Terminal => open,
            Source::Pipe => {
                open && (self.approvals.open.is_some()
                    || self.cap.is_some()
                    || (self.is_free() && self.ahead.is_empty()))
            }
        }
    }

    /// Whether the owner said goodbye, or was told to.
    pub fn is_closing(&self) -> bool {
        self.life != Life::Open
    }

    /// Nothing runs, nothing is asked, and what was said is answered.
    fn is_free(&self) -> bool {
        self.turn == Activity::Idle
            && self.shell == Activity::Idle
            && self.awaiting == Awaiting::Nothing
            && !self.approvals.asks()
    }

    pub(super) fn send(&mut self, ask: ClientRequest) {
        self.asks.push(ask);
    }

    /// What must hold once everything was taken.
    fn settle(&mut self) {
        match self.life {
            Life::Closing { until_ms } if until_ms <= self.now_ms => self.life = Life::Over,
            Life::Open => self.go_on(),
            Life::Closing { .. } | Life::Over => {}
        }
        if self.life == Life::Over {
            self.page.end_line();
        }
    }

    fn go_on(&mut self) {
        if self.approvals.open.is_none() {
            self.release();
        }
        if self.lines == Lines::Ended && self.approvals.asks() {
            self.nobody_answers();
        }
        if self.approvals.open.is_some() {
            let answering = matches!(self.awaiting, Awaiting::Answer | Awaiting::Shell);
            if self.page.at() != At::Prompt && self.shell == Activity::Idle && !answering {
                self.ask_again();
            }
            return;
        }
        if self.approvals.next().is_some() {
            if self.now_ms >= self.ask_at {
                self.ask();
            }
            return;
        }
        if self.cap.is_some() {
            return match self.lines {
                Lines::Open => self.ask_cap_again(),
                Lines::Ended => self.nobody_answers_cap(),
            };
        }
        self.say_ahead();
        if !self.is_free() {
            return;
        }
        if self.lines == Lines::Ended && self.ahead.is_empty() {
            return self.close(GOODBYE_MS);
        }
        self.tell_idle();
    }

    /// Events that waited behind a question.
    fn release(&mut self) {
        let now = self.now_ms;
        while self.approvals.open.is_none()
            && let Some((at, event)) = self.held.pop_front()
        {
            self.now_ms = at;
            self.event(event);
        }
        self.now_ms = now;
    }

    /// Nothing runs: says what waits, once, and where to write.
    fn tell_idle(&mut self) {
        let waiting = self.approvals.count(State::Aside);
        if waiting != self.told_waiting && waiting > 0 {
            let waiting = words::approvals(waiting);
            self.page.line(&format!("{waiting}. Type /decide to decide here."));
        }
        self.told_waiting = waiting;
        self.tell_elsewhere();
        if self.setup.echo == Echo::Seen && self.begun.is_empty() && self.page.at() != At::Prompt {
            let words = self.prompt_words();
            self.page.prompt(&words);
        }
    }

    /// Lines that waited: all of them on a terminal, on a pipe one when nothing runs.
    fn say_ahead(&mut self) {
        while let Some(line) = self.ahead.front() {
            if self.setup.source == Source::Pipe && !self.is_free() {
                return;
            }
            let line = line.clone();
            self.ahead.pop_front();
            self.say(line);
            if self.life != Life::Open || self.approvals.asks() {
                return;
            }
        }
    }

    /// Hands a line to the owner, who understands it.
    pub(super) fn say(&mut self, text: String) {
        let entry = dispatch(&text);
        let awaiting = match &entry {
            Entry::Nothing => return,
            Entry::Quit => return self.close(GOODBYE_MS),
            Entry::Prompt { .. } => Awaiting::Idle,
            Entry::Command { .. } => Awaiting::Answer,
            Entry::Shell { .. } => Awaiting::Shell,
        };
        // A turn that is about to begin has not said so yet; nothing shorter may hide it.
        if self.awaiting != Awaiting::Idle || self.turn == Activity::Running {
            self.awaiting = awaiting;
        }
        match &entry {
            Entry::Prompt { .. } if self.turn == Activity::Running && !self.is_closing() => {
                if self.echoed.is_none() {
                    self.page.line("Queued.");
                }
            }
            Entry::Prompt { .. } | Entry::Quit | Entry::Nothing => {}
            Entry::Shell { .. } | Entry::Command { .. } => self.echoed = None,
        }
        self.send(ClientRequest::Line { text });
    }

    fn close(&mut self, within_ms: u64) {
        let until_ms = self.now_ms + within_ms;
        match self.life {
            Life::Open => {
                self.approvals.put_all_off();
                self.page.end_line();
                self.send(ClientRequest::Close);
                self.life = Life::Closing { until_ms };
            }
            Life::Closing { until_ms: before } => {
                self.life = Life::Closing { until_ms: before.min(until_ms) };
            }
            Life::Over => {}
        }
    }

    fn lines_ended(&mut self) {
        self.lines = Lines::Ended;
        if !self.begun.is_empty() {
            let begun = std::mem::take(&mut self.begun);
            self.ahead.push_back(begun);
        }
        match self.setup.source {
            Source::Terminal => self.close(GOODBYE_MS),
            Source::Pipe => {}
        }
    }

    /// Lines that nobody can have meant: none of them is taken.
    pub(super) fn flood(&mut self) {
        self.page.line("More input came than can be meant; nothing more of it is read.");
        self.ahead.clear();
        self.begun.clear();
        self.lines_ended();
    }

    fn nobody_answers(&mut self) {
        self.page.line("The input is at its end, so nobody can answer: put off.");
        if self.turn == Activity::Running {
            self.send(ClientRequest::Op(Op::Defer));
        }
        self.approvals.put_all_off();
    }

    fn interrupt(&mut self) {
        // The terminal has thrown the line away that was being written.
        self.begun.clear();
        self.ahead.clear();
        if self.now_ms < self.armed_until {
            return self.close(GOODBYE_MS);
        }
        self.armed_until = self.now_ms + ARMED_MS;
        let runs = self.stop();
        match (runs, self.approvals.asks()) {
            (Activity::Running, _) => {}
            (Activity::Idle, true) => {
                self.approvals.put_all_off();
                self.page.line("Put off.");
            }
            (Activity::Idle, false) => {
                self.page.line("Nothing runs. Ctrl+C again within 2 seconds leaves.");
            }
        }
    }

    /// Stops what runs, and says so.
    pub(super) fn stop(&mut self) -> Activity {
        let (turn, shell) = (self.turn, self.shell);
        if turn == Activity::Running && self.header.is_some() {
            self.approvals.put_all_off();
            self.page.line("Stopping.");
            self.send(ClientRequest::Op(Op::Interrupt));
        } else if shell == Activity::Running {
            self.page.line("Stopping.");
        }
        if shell == Activity::Running {
            self.send(ClientRequest::StopShell);
        }
        match (turn, shell) {
            (Activity::Idle, Activity::Idle) => Activity::Idle,
            (Activity::Running, _) | (_, Activity::Running) => Activity::Running,
        }
    }

    fn event_or_hold(&mut self, event: Event) {
        let concerns_questions =
            matches!(event, Event::ApprovalNeeded { .. } | Event::ApprovalSettled { .. });
        if self.approvals.open.is_some() && !concerns_questions {
            return self.held.push_back((self.now_ms, event));
        }
        self.event(event);
    }

    /// Whether a line of a terminal may have lost its end.
    pub(super) fn is_cut(&self, text: &str) -> bool {
        self.setup.source == Source::Terminal && text.len() >= LONGEST_TYPED
    }
}
