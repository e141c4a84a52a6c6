//! The state of the plain front end: takes inputs, returns text to print and requests. No clock, no channel, no file.
//! While a question is open the turn's events are held back, so that nothing comes between a question and its answer.

use std::collections::{HashMap, VecDeque};

use jiff::Zoned;

use super::approvals::{Approvals, State};
use super::arguments::StreamedArguments;
use super::describe;
use super::page::{LinePosition, Page};
use crate::agent::caps::CapQuestion;
use crate::agent::port::{Event, Op};
use crate::command::{Entry, dispatch};
use crate::frontend::dialogue::Dialogue;
use crate::frontend::images::Prompt;
use crate::frontend::protocol::{
    ClientQuery, ClientRequest, Header, InboxLine, OpenQueries, SessionLine, Update,
};
use crate::frontend::{ARMED_MS, GOODBYE_MS, HANGUP_MS, Lifecycle};
use crate::message::CallId;
use crate::tool::ToolSpec;

/// The delay of the first question, so that the other requests of the same reply are counted.
pub(super) const GATHER_MS: u64 = 100;

/// The longest line that a terminal provides; the rest is lost.
const LONGEST_TYPED: usize = 4_095;

/// The known data of a call.
#[derive(Debug, Default)]
pub(super) struct KnownCall {
    pub(super) summary: String,
    /// The user was asked about it: its start, which confirms their answer, is still to be printed.
    pub(super) start_unprinted: bool,
}

/// The open question at a cap.
#[derive(Debug)]
pub(super) struct OpenCap {
    pub(super) question: CapQuestion,
    /// Its guard time starts once the question was written.
    pub(super) dialogue: Dialogue<(), ()>,
}

/// The source of the user's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    #[default]
    Terminal,
    /// A pipe or a file: a line is taken only when nothing runs, so that its meaning does not depend on the model's
    /// speed.
    Pipe,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Setup {
    pub source: Source,
    /// The user's input is visible between the printed text.
    pub echoes: bool,
    /// Thoughts are printed; otherwise only that the model thinks, and for how long.
    pub shows_thoughts: bool,
    /// Arguments are changed in the user's editor, which needs a terminal; otherwise line by line.
    pub has_editor: bool,
}

/// An input.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Update(Box<Update>),
    /// A line of the user, without its end.
    Line(String),
    /// Lines of the user that arrived at once, on a terminal.
    Pasted(Vec<String>),
    /// The last question was written. These lines, and the beginning of another, were available before that.
    Asked {
        before: Vec<String>,
        begun: String,
    },
    /// The editor ended: its text, or why there is none.
    Edited(Result<String, String>),
    /// No more lines will come: Ctrl+D, or the end of the pipe.
    End,
    /// The input exceeds a limit; nothing more is read.
    Flood,
    /// Ctrl+C.
    Interrupt,
    /// A signal ends the program, or the terminal is gone.
    Hangup,
    /// The time returned by [`Plain::wake_at`] has come.
    Tick,
}

/// The output of the state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlainOutput {
    /// To be printed as it is.
    pub text: String,
    pub asks: Vec<ClientRequest>,
    /// The text ends with a question: after writing it, [`Input::Asked`] is due with the lines typed before.
    pub question: bool,
    /// A text for the editor: [`Input::Edited`] is due.
    pub to_edit: Option<String>,
    pub over: bool,
}

/// The state of the conversation.
#[derive(Debug, Default)]
pub struct Plain {
    pub(super) setup: Setup,
    pub(super) now_ms: u64,
    /// The wall-clock time of the last input, in the time zone in which times are printed.
    pub(super) clock: Zoned,
    pub(super) page: Page,
    asks: Vec<ClientRequest>,
    pub(super) asked: bool,
    pub(super) to_edit: Option<String>,
    /// The tools, for the names and types of their arguments.
    pub(super) tools: Vec<ToolSpec>,
    /// The first prompt, until it is sent.
    first: Option<Prompt>,
    pub(super) approvals: Approvals,
    /// The question at a cap, while it is open.
    pub(super) cap: Option<OpenCap>,
    /// The next question is not asked before this time.
    pub(super) ask_at: u64,
    pub(super) header: Option<Header>,
    /// Events held back by the open question, each with its time.
    pub(super) held: VecDeque<(u64, Event)>,
    pub(super) turn_runs: bool,
    pub(super) shell_runs: bool,
    pub(super) calls: HashMap<CallId, KnownCall>,
    pub(super) arguments: StreamedArguments,
    pub(super) thinking_since: Option<u64>,
    /// Whether the turn showed changes that it would make.
    pub(super) has_plan: bool,
    /// The prompt that the user sees already, as typed.
    pub(super) echoed: Option<String>,
    /// Lines that ended in a backslash.
    pub(super) begun: String,
    /// Lines kept until no question is open.
    pub(super) ahead: VecDeque<String>,
    pub(super) input_ended: bool,
    armed_until: u64,
    pub(super) life: Lifecycle,
    pub(super) messages: usize,
    pub(super) reported_waiting: usize,
    /// The open queries: the last line of the user is answered once there is none.
    pub(super) queries: OpenQueries,
    /// Other sessions, as last printed.
    pub(super) listed: Vec<SessionLine>,
    /// Requests of all sessions, as last printed; and the filter of the next list.
    pub(super) listed_requests: Vec<InboxLine>,
    pub(super) inbox_words: String,
    /// The number of requests in other sessions, and the number last reported.
    pub(super) elsewhere: usize,
    pub(super) reported_elsewhere: usize,
}

impl Plain {
    pub fn new(setup: Setup) -> Self {
        Self { setup, turn_runs: true, ..Self::default() }
    }

    /// The same, with a first prompt that is sent as soon as nothing runs.
    pub fn asking(self, first: Option<Prompt>) -> Self {
        Self { first, ..self }
    }

    /// Handles one input.
    pub fn take(&mut self, now_ms: u64, input: Input) {
        self.now_ms = self.now_ms.max(now_ms);
        if self.is_closing() && !matches!(input, Input::Update(_) | Input::Edited(_) | Input::Hangup) {
            if input == Input::Interrupt {
                self.life = Lifecycle::Over;
            }
            return;
        }
        match input {
            Input::Update(update) => match *update {
                Update::Event(event) => self.event_or_hold(event),
                Update::Message(notice) => self.notice(notice),
            },
            Input::Line(text) => self.handle(&text),
            Input::Pasted(lines) => self.on_paste(&lines),
            Input::Edited(text) => self.take_edited(text),
            Input::Asked { before, begun } => self.typed_before(before, &begun),
            Input::End => self.lines_ended(),
            Input::Flood => self.flood(),
            Input::Interrupt => self.interrupt(),
            Input::Hangup => self.close(HANGUP_MS),
            Input::Tick => {}
        }
    }

    /// Returns the output after all available inputs were handled.
    pub fn take_output(&mut self) -> PlainOutput {
        self.settle();
        PlainOutput {
            text: self.page.take(),
            asks: std::mem::take(&mut self.asks),
            question: std::mem::take(&mut self.asked),
            to_edit: self.to_edit.take(),
            over: self.life == Lifecycle::Over,
        }
    }

    /// Returns when an [`Input::Tick`] is needed; `None` for never.
    pub fn wake_at(&self) -> Option<u64> {
        match self.life {
            Lifecycle::Closing { until_ms } => Some(until_ms),
            Lifecycle::Open if self.approvals.open.is_none() && self.approvals.count(State::New) > 0 => {
                Some(self.ask_at)
            }
            Lifecycle::Open | Lifecycle::Over => None,
        }
    }

    /// Whether the user's next line is to be read now.
    pub fn listens(&self) -> bool {
        let open = !self.input_ended && self.life == Lifecycle::Open;
        match self.setup.source {
            Source::Terminal => open,
            Source::Pipe => {
                open && (self.approvals.open.is_some()
                    || self.cap.is_some()
                    || (self.is_free() && self.ahead.is_empty()))
            }
        }
    }

    /// Whether lines that arrive at once are one prompt.
    pub fn takes_pastes(&self) -> bool {
        self.setup.echoes && self.approvals.open.is_none() && self.cap.is_none()
    }

    /// Whether the owner sent its goodbye or was asked to.
    pub fn is_closing(&self) -> bool {
        self.life != Lifecycle::Open
    }

    /// Whether nothing runs, no question is open, and the last line is answered.
    fn is_free(&self) -> bool {
        !self.turn_runs && !self.shell_runs && self.queries.is_empty() && !self.approvals.asks()
    }

    pub(super) fn send(&mut self, ask: ClientRequest) {
        self.asks.push(ask);
    }

    /// Sends a request on behalf of the user's line, which is answered once it is handled.
    pub(super) fn send_and_wait(&mut self, ask: ClientRequest) {
        self.send(ask);
        self.query(ClientQuery::Handled);
    }

    /// Sends a query on behalf of the user's line.
    pub(super) fn query(&mut self, query: ClientQuery) {
        let asked = self.queries.ask(query);
        self.send(asked);
    }

    /// Advances the state after an input.
    fn settle(&mut self) {
        match self.life {
            Lifecycle::Closing { until_ms } if until_ms <= self.now_ms => self.life = Lifecycle::Over,
            Lifecycle::Open => self.go_on(),
            Lifecycle::Closing { .. } | Lifecycle::Over => {}
        }
        if self.life == Lifecycle::Over {
            self.page.end_line();
        }
    }

    fn go_on(&mut self) {
        if self.approvals.open.is_none() {
            self.release();
        }
        if self.input_ended && self.approvals.asks() {
            self.postpone_unanswered();
        }
        if self.approvals.open.is_some() {
            if self.page.at() != LinePosition::Prompt && !self.shell_runs && self.queries.is_empty() {
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
            return if self.input_ended { self.stop_at_cap() } else { self.prompt_cap() };
        }
        if self.is_free()
            && let Some(first) = self.first.take()
        {
            return self.send_and_wait(ClientRequest::Prompt(first));
        }
        self.say_ahead();
        if !self.is_free() {
            return;
        }
        if self.input_ended && self.ahead.is_empty() {
            return self.close(GOODBYE_MS);
        }
        self.tell_idle();
    }

    /// Processes the events held back by a question.
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

    /// Reports pending requests, once, and prints the prompt when nothing runs.
    fn tell_idle(&mut self) {
        let waiting = self.approvals.count(State::Postponed);
        if waiting != self.reported_waiting && waiting > 0 {
            let waiting = describe::approvals(waiting);
            self.page.line(&format!("{waiting}. Type /decide to decide here."));
        }
        self.reported_waiting = waiting;
        self.report_elsewhere();
        if self.setup.echoes && self.begun.is_empty() && self.page.at() != LinePosition::Prompt {
            let words = self.prompt_words();
            self.page.prompt(&words);
        }
    }

    /// Sends kept lines: all of them on a terminal, on a pipe one when nothing runs.
    fn say_ahead(&mut self) {
        while let Some(line) = self.ahead.front() {
            if self.setup.source == Source::Pipe && !self.is_free() {
                return;
            }
            let line = line.clone();
            self.ahead.pop_front();
            self.say(line);
            if self.life != Lifecycle::Open || self.approvals.asks() {
                return;
            }
        }
    }

    /// Sends a line to the owner.
    pub(super) fn say(&mut self, text: String) {
        match dispatch(&text) {
            Entry::Nothing => return,
            Entry::Quit => return self.close(GOODBYE_MS),
            Entry::Prompt { .. } if self.turn_runs && self.echoed.is_none() => self.page.line("Queued."),
            Entry::Prompt { .. } => {}
            Entry::Command { .. } | Entry::Shell { .. } => self.echoed = None,
        }
        self.send_and_wait(ClientRequest::Line { text });
    }

    fn close(&mut self, within_ms: u64) {
        if self.life.close(self.now_ms, within_ms) {
            self.approvals.postpone_all();
            self.page.end_line();
            self.send(ClientRequest::Close);
        }
    }

    fn lines_ended(&mut self) {
        self.input_ended = true;
        if !self.begun.is_empty() {
            let begun = std::mem::take(&mut self.begun);
            self.ahead.push_back(begun);
        }
        match self.setup.source {
            Source::Terminal => self.close(GOODBYE_MS),
            Source::Pipe => {}
        }
    }

    /// Discards all input because of its amount.
    pub(super) fn flood(&mut self) {
        self.page.line("Too much input at once; the rest is ignored.");
        self.ahead.clear();
        self.begun.clear();
        self.lines_ended();
    }

    fn postpone_unanswered(&mut self) {
        self.page.line("End of input: postponed.");
        if self.turn_runs {
            self.send(ClientRequest::Op(Op::Defer));
        }
        self.approvals.postpone_all();
    }

    fn interrupt(&mut self) {
        // The terminal has discarded the line being typed.
        self.begun.clear();
        self.ahead.clear();
        if self.now_ms < self.armed_until {
            return self.close(GOODBYE_MS);
        }
        self.armed_until = self.now_ms + ARMED_MS;
        if self.stop() {
            return;
        }
        if self.approvals.asks() {
            self.approvals.postpone_all();
            self.page.line("Postponed.");
        } else {
            self.page.line("Nothing is running. Ctrl+C again within 2 seconds quits.");
        }
    }

    /// Stops what runs, and reports it. Returns whether anything ran.
    pub(super) fn stop(&mut self) -> bool {
        if self.turn_runs && self.header.is_some() {
            self.approvals.postpone_all();
            self.page.line("Stopping.");
            self.send(ClientRequest::Op(Op::Interrupt));
        } else if self.shell_runs {
            self.page.line("Stopping.");
        }
        if self.shell_runs {
            self.send(ClientRequest::StopShell);
        }
        self.turn_runs || self.shell_runs
    }

    fn event_or_hold(&mut self, event: Event) {
        let concerns_questions =
            matches!(event, Event::ApprovalNeeded { .. } | Event::ApprovalSettled { .. });
        if self.approvals.open.is_some() && !concerns_questions {
            return self.held.push_back((self.now_ms, event));
        }
        self.event(event);
    }

    /// Whether a line of a terminal may be truncated.
    pub(super) fn is_cut(&self, text: &str) -> bool {
        self.setup.source == Source::Terminal && text.len() >= LONGEST_TYPED
    }
}
