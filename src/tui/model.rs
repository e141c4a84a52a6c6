//! The state of the screen: plain data, without channels, handles and clocks. Changed by `update` only, read by `view`.
//! The time is that of the last message.

use std::time::Duration;

use jiff::{Timestamp, Zoned};

use super::auto_focus::{AutoFocus, IDLE_MS};
use super::batch::{Batch, Question};
use super::cap::CapCard;
use super::cards::{Card, CardStage, Cards};
use super::cells::card::CardView;
use super::cells::{Fold, Motion, RenderContext};
use super::completion::{Area, Completion, CompletionSources, Popup};
use super::composer::Composer;
use super::find::{Find, FindStage};
use super::keys::{Action, Context, Keymap};
use super::markdown::Languages;
use super::msg::{Alert, Cmd, MouseMode, Window};
use super::panel::Panel;
use super::press::Presses;
use super::screen::{CardDelay, CardFocus, Screen};
use super::selection::Selection;
use super::steps::TodoStep;
use super::theme::Glyphs;
use super::transcript::Transcript;
use crate::frontend::dialogue::{Dialogue, GUARD_MS};
use crate::frontend::protocol::{ClientRequest, Header, SessionLine};
use crate::frontend::{ARMED_MS, GOODBYE_MS, Lifecycle};
use crate::history::UsageTotals;
use crate::provider::ErrorClass;

/// The smallest screen that is drawn.
pub const LEAST_COLUMNS: u16 = 40;
pub const LEAST_ROWS: u16 = 10;

/// The widest prose, in cells: longer lines are hard to read.
pub const WIDEST_TEXT: usize = 100;

/// From this screen size on there is a side panel, `PANEL` cells wide with its edge.
pub const PANEL_FROM_COLUMNS: u16 = 120;
pub const PANEL_FROM_ROWS: u16 = 30;
pub const PANEL: usize = 39;

/// The time for which the status line shows a result.
pub const WORD_MS: u64 = 5_000;

/// The time between two frames of the bar that shows the guard time.
const GUARD_FRAME_MS: u64 = 100;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Model {
    pub columns: u16,
    pub rows: u16,
    pub glyphs: &'static Glyphs,
    pub motion: Motion,
    pub now_ms: u64,
    pub window: Window,
    /// The alerts sent since the window lost the focus.
    pub called: Vec<Alert>,
    pub header: Option<Header>,
    /// Pending requests that are none of the cards, nearly all of them in other sessions.
    pub elsewhere: usize,
    pub transcript: Transcript,
    pub cards: Cards,
    /// The question on the screen and the progress of its answer.
    pub dialogue: Dialogue<Question, ClientRequest>,
    /// The question of a turn that waits at a cap.
    pub cap: Option<CapCard>,
    pub card_view: CardView,
    pub composer: Composer,
    pub focus: Focus,
    pub auto_focus: AutoFocus,
    pub presses: Presses,
    pub keymap: Keymap,
    /// The wall-clock time of the last input, in the time zone in which times are shown.
    pub clock: Zoned,
    /// The first key of a chord was the last one pressed.
    pub chord_begun: bool,
    /// The panel over the transcript, which has the keys.
    pub panel: Option<Panel>,
    pub completion: Completion,
    /// The chosen one of the recent sessions on the first screen.
    pub recent: Option<usize>,
    /// The search in the transcript, while it is open.
    pub find: Option<Find>,
    pub selection: Selection,
    pub batch: Batch,
    /// The side panel is hidden even if there is room for it.
    pub hides_side_panel: bool,
    pub mouse: MouseMode,
    /// Commands and tools, sent once by the owner, and the latest list of sessions.
    pub known: CompletionSources,
    /// Languages of code that were requested from the shell.
    pub languages_asked: Languages,
    /// Languages of code that can be highlighted.
    pub languages_ready: Languages,
    pub details: Fold,
    pub thinking: Fold,
    pub turn: Option<Turn>,
    /// Whether a `!cmd` runs.
    pub shell_runs: bool,
    pub retry: Option<Retry>,
    /// Lines entered while the turn ran and not yet taken.
    pub queue: Vec<String>,
    /// The model's list of steps.
    pub steps: Vec<TodoStep>,
    /// The last prompt with pasted blocks, and the same in short; until its turn begins.
    pub sent_short: Option<(String, String)>,
    /// One line at the left of the status, until the given time.
    pub flash: Option<(String, u64)>,
    /// The time until which a second Ctrl+C quits.
    pub armed_until: Option<u64>,
    /// The time until which a second Esc offers to go back to a prompt.
    pub rewind_until: Option<u64>,
    /// When the user stopped what ran last.
    pub stopped_ms: Option<u64>,
    pub life: Lifecycle,
    /// The text of the last answer of this run.
    pub last_answer: Option<String>,
    pub goodbye: Vec<String>,
}

/// The element that has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    #[default]
    Composer,
    Card,
    Transcript,
}

/// The running turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Turn {
    pub since_ms: u64,
    pub phase: Phase,
    /// The user has asked it to stop.
    pub stop_asked: bool,
    /// The number of running calls.
    pub running: usize,
    /// Bytes streamed since the provider's last count.
    pub streamed: usize,
    /// Output tokens counted by the provider, if it counts them.
    pub tokens: Option<u64>,
    /// The fallback model that answers in place of the header's, as `provider/model`.
    pub stand_in: Option<String>,
    /// The total usage of its requests.
    pub used: UsageTotals,
    /// Whether calls were shown only, in plan mode.
    pub has_plan: bool,
    /// When something last arrived.
    pub last_event_ms: u64,
    /// Text of a reply that failed is still shown: until its repetition begins.
    pub shows_failed_text: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// No part of the model's reply has arrived yet.
    #[default]
    Asking,
    Thinking,
    Answering,
    Tools,
    /// Waits for the user's decision.
    Paused,
}

/// A failed request that is sent again.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    pub class: ErrorClass,
    pub message: String,
    pub since_ms: u64,
    pub wait: Duration,
    pub attempt: u32,
    pub of: u32,
    /// The fallback model used if no retry helps.
    pub then: Option<String>,
    /// The wait is over or was cut short.
    pub sent: bool,
}

impl Retry {
    pub fn time_left(&self, now_ms: u64) -> Duration {
        let wait = u64::try_from(self.wait.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(self.since_ms.saturating_add(wait).saturating_sub(now_ms))
    }
}

/// The division of the screen's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Areas {
    pub pane: usize,
    /// The line about matches elsewhere.
    pub found: usize,
    pub banner: usize,
    pub queue: usize,
    pub composer: usize,
}

impl Model {
    /// Returns the number of pending requests in all sessions, for the badge.
    pub fn waiting_count(&self) -> usize {
        self.cards.count() + self.elsewhere
    }

    /// Returns the wall-clock time of the last input.
    pub fn now(&self) -> Timestamp {
        self.clock.timestamp()
    }

    pub fn is_too_small(&self) -> bool {
        self.columns < LEAST_COLUMNS || self.rows < LEAST_ROWS
    }

    /// Whether the cap's question is shown in place of cards. It never hides a text being written.
    pub fn asks_cap(&self) -> bool {
        let writes = self.focus == Focus::Card
            && (self.batch.list.is_refusing() || self.cards.current().is_some_and(Card::is_written_to));
        self.cap.is_some() && !writes
    }

    /// Returns the context of what has the keys: its layer binds them.
    pub fn place(&self) -> Context {
        self.panel.as_ref().map_or_else(|| self.place_behind(), |panel| panel.state().context())
    }

    /// The same as if no panel were open.
    pub fn place_behind(&self) -> Context {
        match self.focus {
            Focus::Transcript => Context::Transcript,
            Focus::Composer => match &self.find {
                Some(find) if find.stage == FindStage::Writing => Context::Find,
                Some(_) => Context::Found,
                None if self.completion.is_open() => Context::Completion,
                None => Context::Composer,
            },
            Focus::Card if self.asks_cap() => Context::Cap,
            Focus::Card if self.is_list() && self.batch.list.is_refusing() => Context::Reason,
            Focus::Card if self.is_list() => Context::Batch,
            Focus::Card => match self.cards.current().map(|card| &card.stage) {
                None => Context::Composer,
                Some(CardStage::Asking | CardStage::Deciding(_)) => Context::Card,
                Some(CardStage::Reason(_)) => Context::Reason,
                Some(CardStage::Editing(form)) => form.context(),
                Some(CardStage::Rule(rule)) => rule.context(),
            },
        }
    }

    /// Returns the question that a key would answer. Two or more shown requests of this session form a list.
    pub fn question(&self) -> Question {
        if self.is_too_small() {
            return Question::Nothing;
        }
        if let Some(panel) = &self.panel {
            return panel.state().question();
        }
        if let Some(cap) = self.cap.as_ref().filter(|_| self.asks_cap()) {
            return Question::Cap(cap.question.cap);
        }
        let Some(current) = self.cards.current() else { return Question::Nothing };
        if self.is_list() {
            Question::List(self.cards.visible().map(|card| card.request.id.clone()).collect())
        } else {
            Question::Card(current.request.id.clone())
        }
    }

    /// Returns the recent sessions of this folder that the first screen shows.
    pub fn recent(&self) -> impl Iterator<Item = &SessionLine> {
        let is_shown = self.transcript.is_empty() && self.cards.current().is_none() && self.panel.is_none();
        let most = match self.rows {
            _ if !is_shown => 0,
            0..20 => 0,
            20..30 => 3,
            30.. => 6,
        };
        self.known.sessions.iter().filter(|session| session.here).take(most)
    }

    /// Whether the requests are drawn as one list. It never hides a text being written.
    pub fn is_list(&self) -> bool {
        if self.asks_cap() {
            return false;
        }
        let Some(current) = self.cards.current() else { return false };
        if self.batch.list.is_refusing() {
            return true;
        }
        let single = current.is_opened() || self.batch.opened.as_ref() == Some(&current.request.id);
        !single && self.cards.visible().nth(1).is_some()
    }

    /// Returns the completion popup and its area in a pane of `rows` rows; `None` while it is hidden.
    pub fn popup(&self, rows: usize) -> Option<(&Popup, Area)> {
        let covered = self.panel.is_some() || self.focus != Focus::Composer;
        let popup = self.completion.popup.as_ref().filter(|_| !covered && rows >= 4)?;
        Some((popup, Area::of(popup, self.pane_columns(), rows)))
    }

    /// Whether something can be interrupted.
    pub fn runs(&self) -> bool {
        self.turn.is_some() || self.shell_runs
    }

    /// Returns the cells of the side panel with its edge; 0 if there is none.
    pub fn panel_columns(&self) -> usize {
        if self.wants_whole_width() || self.hides_side_panel { 0 } else { self.panel_room() }
    }

    /// Whether the content benefits from the panel's space: lists beside details, forms beside changes, and panels over
    /// the transcript.
    fn wants_whole_width(&self) -> bool {
        let card = !self.asks_cap() && self.cards.current().is_some_and(Card::is_wide);
        self.panel.is_some() || card || self.is_list()
    }

    /// Returns the cells that a side panel would take; 0 on a small screen.
    pub fn panel_room(&self) -> usize {
        if self.columns < PANEL_FROM_COLUMNS || self.rows < PANEL_FROM_ROWS { 0 } else { PANEL }
    }

    /// Returns the cells of the transcript's pane. A panel over the transcript does not widen it, so that nothing is
    /// laid out again.
    pub fn pane_columns(&self) -> usize {
        let panel = if self.hides_side_panel { 0 } else { self.panel_room() };
        usize::from(self.columns.max(LEAST_COLUMNS)) - panel
    }

    /// Returns the screen that cards, lists and panels are drawn on, with `rows` rows of the pane.
    pub fn screen(&self, rows: usize) -> Screen<'_> {
        let focus = match self.focus {
            Focus::Card if self.auto_focus.is_on => CardFocus::KeysByItself,
            Focus::Card => CardFocus::Keys,
            Focus::Composer | Focus::Transcript => CardFocus::Nothing,
        };
        Screen {
            columns: usize::from(self.columns),
            rows,
            context: self.context(),
            keymap: &self.keymap,
            header: self.header.as_ref(),
            zone: self.clock.time_zone(),
            now: self.now(),
            approved_once: self.dialogue.is_approved_once(),
            focus,
            delay: self.card_delay(),
            position: self.cards.position(),
        }
    }

    pub fn context(&self) -> RenderContext {
        // Beside a panel a blank cell stays before its edge.
        let gap = usize::from(self.pane_columns() < usize::from(self.columns));
        RenderContext {
            width: (self.pane_columns() - gap).min(WIDEST_TEXT),
            rows: usize::from(self.rows),
            glyphs: self.glyphs,
            details: self.details,
            thinking: self.thinking,
            now_ms: self.now_ms,
            motion: self.motion,
            languages: self.languages_ready,
            details_key: self.keymap.first(Context::Global, Action::FoldDetails),
            stop_key: self.keymap.first(Context::Global, Action::Interrupt),
        }
    }

    /// Returns the cells for text in the composer: without the prompt before it and the cursor's cell after it.
    pub fn composer_width(&self) -> usize {
        usize::from(self.columns.max(LEAST_COLUMNS)) - 4
    }

    /// Returns the cells for cards: the pane, or the whole width if they benefit from it.
    pub fn card_columns(&self) -> usize {
        if self.wants_whole_width() {
            usize::from(self.columns.max(LEAST_COLUMNS))
        } else {
            self.pane_columns()
        }
    }

    /// Returns the cells for text in the reason of a denial.
    pub fn card_text_width(&self) -> usize {
        let width = self.context().width;
        width.saturating_sub(if width < 60 { 3 } else { 5 })
    }

    /// Divides the rows: header, two rules and the status line take four.
    pub fn areas(&self) -> Areas {
        let rows = usize::from(self.rows.max(LEAST_ROWS));
        let most = (rows * 2 / 5).clamp(1, 8);
        let composer =
            super::composer::Rows::of(&self.composer.editor, self.composer_width()).height().clamp(1, most);
        let room = rows.saturating_sub(4 + composer);
        let queue = self.queue.len().min(3).min(room.saturating_sub(3));
        let banner = match &self.retry {
            Some(_) if rows >= 20 => 5,
            Some(_) => 1,
            None => 0,
        };
        let banner = banner.min(room.saturating_sub(queue + 2));
        let found = usize::from(self.find.is_some()).min(room.saturating_sub(queue + banner + 2));
        Areas { pane: room - queue - banner - found, found, banner, queue, composer }
    }

    /// Returns when the model needs its next message if nothing else happens; `None` for never.
    pub fn wake_at(&self) -> Option<u64> {
        let frame = match self.motion {
            Motion::Full => 125,
            Motion::Reduced => 1_000,
        };
        let moves = self.is_busy() || self.retry.as_ref().is_some_and(|retry| !retry.sent);
        let closing = match self.life {
            Lifecycle::Closing { until_ms } => Some(until_ms),
            Lifecycle::Open | Lifecycle::Over => None,
        };
        [
            moves.then(|| (self.now_ms / frame + 1) * frame),
            self.armed_until,
            self.presses.due_ms(),
            self.takes_keys_at(),
            self.next_guard_frame(),
            self.flash.as_ref().map(|(_, until)| *until),
            self.composer.draft_due(),
            closing,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Returns the time at which the shown requests take the keys by themselves; `None` if they do not.
    pub fn takes_keys_at(&self) -> Option<u64> {
        let is_free = self.life == Lifecycle::Open
            && self.focus == Focus::Composer
            && self.composer.is_empty()
            && self.panel.is_none()
            && self.find.is_none()
            && !self.completion.is_open()
            && !self.is_too_small()
            && !self.asks_cap()
            && self.transcript.follows();
        let is_new = |card: &Card| !card.is_decided() && !self.auto_focus.left.contains(&card.request.id);
        (is_free && self.cards.visible().any(is_new))
            .then(|| if self.auto_focus.continues { self.now_ms } else { self.presses.last_ms() + IDLE_MS })
    }

    /// Whether something in progress is drawn. A turn that waits for the user counts as idle.
    pub fn is_busy(&self) -> bool {
        let turn = self.turn.as_ref().is_some_and(|turn| match turn.phase {
            Phase::Asking | Phase::Thinking | Phase::Answering | Phase::Tools => true,
            Phase::Paused => turn.stop_asked,
        });
        turn || self.shell_runs
    }

    /// Whether something runs that could go on in the background.
    pub fn runs_calls(&self) -> bool {
        self.shell_runs || self.turn.as_ref().is_some_and(|turn| turn.phase == Phase::Tools)
    }

    /// Returns why the card that has the keys does not answer at once.
    pub fn card_delay(&self) -> CardDelay {
        if self.focus != Focus::Card || self.panel.is_some() {
            return CardDelay::Nothing;
        }
        if let Some(c) = self.presses.deferred_key().and_then(|deferred| deferred.key.typed_char()) {
            return CardDelay::Key(c);
        }
        match self.dialogue.guard_left(self.now_ms) {
            0 => CardDelay::Nothing,
            left => CardDelay::Guard((GUARD_MS - left.min(GUARD_MS)) * 100 / GUARD_MS),
        }
    }

    /// Returns the time of the next frame of the bar that shows the guard time.
    fn next_guard_frame(&self) -> Option<u64> {
        matches!(self.card_delay(), CardDelay::Guard(_))
            .then(|| (self.now_ms / GUARD_FRAME_MS + 1) * GUARD_FRAME_MS)
    }

    /// Shows a short text in the status line.
    pub fn flash(&mut self, text: &str) {
        self.flash = Some((text.to_owned(), self.now_ms + ARMED_MS));
    }

    /// Shows a text that takes longer to read.
    pub fn say(&mut self, text: &str) {
        self.flash = Some((text.to_owned(), self.now_ms + WORD_MS));
    }

    /// Ends the time in which a second Ctrl+C quits, because the user went on.
    pub fn disarm(&mut self) {
        if self.armed_until.take().is_some() {
            self.flash = None;
        }
    }

    pub fn save_draft(&mut self, cmds: &mut Vec<Cmd>) {
        if self.composer.unsaved_since.take().is_some() {
            cmds.push(Cmd::Send(ClientRequest::Draft { text: self.composer.draft() }));
        }
    }

    /// Notifies the owner, once, that the screen closes; a second call with `GOODBYE_MS` leaves at once.
    pub fn close(&mut self, within_ms: u64, cmds: &mut Vec<Cmd>) {
        let is_closing = matches!(self.life, Lifecycle::Closing { .. });
        if self.life.close(self.now_ms, within_ms) {
            self.save_draft(cmds);
            cmds.push(Cmd::Send(ClientRequest::Close));
        } else if is_closing && within_ms == GOODBYE_MS {
            self.leave(cmds);
        }
    }

    pub fn leave(&mut self, cmds: &mut Vec<Cmd>) {
        self.life = Lifecycle::Over;
        cmds.push(Cmd::Exit);
    }
}
