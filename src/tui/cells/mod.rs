//! The cells of the transcript: one entry each, rendered to lines at a width.
//!
//! A cell holds source, never screen cells, so a resize lays it out anew; its lines are cached until the context
//! or the cell changes. Called by the transcript.

mod answer;
mod args_preview;
pub mod call;
pub mod card;
pub mod conversation;
pub mod diff;
mod draft;
mod flow;
pub mod list;
mod reading;
mod sgr;
mod shell;
pub mod split;
mod text;
mod thinking;

pub use self::answer::Answer;
pub use self::call::{CallRow, CallState};
pub use self::draft::CallDraft;
pub use self::reading::SearchableText;
pub use self::shell::ShellCell;
pub use self::thinking::Thinking;
use super::key::Key;
use super::line::{Line, Margin};
use super::markdown::{Languages, Page};
use super::theme::{Glyphs, Role};
use crate::frontend::protocol::Tone;
use crate::message::ReturnStatus;

/// The current display settings of cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RenderContext {
    /// The width of a line, in cells.
    pub width: usize,
    /// The rows of the screen.
    pub rows: usize,
    pub glyphs: &'static Glyphs,
    /// Whether the output of tools and commands is folded.
    pub details: Fold,
    pub thinking: Fold,
    pub now_ms: u64,
    pub motion: Motion,
    /// The languages whose code is highlighted.
    pub languages: Languages,
    /// The key that folds or shows details, for hints.
    pub details_key: Option<Key>,
    /// The key that stops what runs, for hints.
    pub stop_key: Option<Key>,
}

/// Whether secondary text is folded or shown whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fold {
    #[default]
    Folded,
    Open,
}

impl Fold {
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Self::Folded => Self::Open,
            Self::Open => Self::Folded,
        }
    }
}

/// Whether the screen may be animated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Motion {
    #[default]
    Full,
    /// A still mark instead of a spinner; times change once a second.
    Reduced,
}

impl RenderContext {
    /// Returns the sign of work in progress.
    pub fn spinner(&self) -> &'static str {
        match self.motion {
            Motion::Full => self.glyphs.spinner[(self.now_ms / 125 % 4) as usize],
            Motion::Reduced => self.glyphs.still,
        }
    }

    /// Returns a page whose first line has `mark` in the gutter.
    pub fn page(&self, mark: &str, role: Role) -> Page {
        let first = Line::of(" ", Role::Text).with(mark, role).with(" ", Role::Text);
        let rest = Line::of("   ", Role::Text);
        Page {
            width: self.width,
            margin: Margin::new(first, rest),
            glyphs: self.glyphs,
            languages: self.languages,
        }
    }

    /// Returns a margin with `mark` before every line.
    pub fn bar_margin(&self, mark: &str, role: Role) -> Margin {
        Margin::even(Line::of(" ", Role::Text).with(mark, role).with(" ", Role::Text))
    }
}

/// One entry of the transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub kind: CellKind,
    /// Whether it belongs to a reply that may still be discarded.
    pub provisional: bool,
    /// The user's folding of this cell, which overrides the general one.
    fold: Option<Fold>,
    cache: Option<CellCache>,
    /// The number of lines as last laid out; `None` after a change.
    pub height: Option<usize>,
    /// Incremented each time the cell is handed out for changes.
    pub revision: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct CellCache {
    key: ([usize; 2], Fold, Fold, Languages),
    lines: Vec<Line>,
}

/// The content of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum CellKind {
    User {
        text: String,
        /// The text with labels in place of its pasted blocks, as the composer showed it.
        short: Option<String>,
    },
    Answer(Box<Answer>),
    Thinking(Thinking),
    /// A tool call whose arguments still stream in.
    CallDraft(CallDraft),
    Call(Box<CallRow>),
    /// A settled request without a row of its own.
    Settled {
        tool: String,
        subject: String,
        outcome: String,
        tone: Tone,
    },
    Local {
        title: String,
        text: String,
        tone: Tone,
    },
    Shell(ShellCell),
    /// A failed turn or request, and what to do about it.
    Failure {
        message: String,
        advice: String,
    },
    /// A temporary note: a turn waits for the user.
    Waits {
        text: String,
    },
    /// One or a few dim lines by the program itself; `more` is shown unfolded.
    Note {
        text: String,
        more: String,
    },
}

impl CellKind {
    /// Returns the command line of a command that failed.
    pub fn failed_command(&self) -> Option<&str> {
        match self {
            CellKind::Call(call) if call.state == CallState::Done(ReturnStatus::Failed) => {
                call.command.as_deref()
            }
            CellKind::Shell(shell) if shell.has_failed() => Some(shell.command()),
            _ => None,
        }
    }

    /// Whether it is a part of the model's reply.
    pub fn is_of_reply(&self) -> bool {
        matches!(self, Self::Answer(_) | Self::Thinking(_) | Self::CallDraft(_) | Self::Call(_))
    }
}

impl Cell {
    pub fn new(kind: CellKind) -> Self {
        Self { kind, provisional: false, fold: None, cache: None, height: None, revision: 0 }
    }

    pub fn provisional(kind: CellKind) -> Self {
        Self { provisional: true, ..Self::new(kind) }
    }

    /// Invalidates the cached lines after a change.
    pub fn touch(&mut self) {
        self.cache = None;
        self.height = None;
    }

    /// Replaces the content.
    pub fn replace(&mut self, kind: CellKind) {
        *self = Self { revision: self.revision + 1, ..Self::new(kind) };
    }

    /// Hands the cell out for changes.
    pub fn revise(&mut self) -> &mut Self {
        self.revision += 1;
        self.height = None;
        self
    }

    /// Returns the blank lines before this cell: none between rows of calls, otherwise one.
    pub fn gap_after(&self, before: &Cell) -> usize {
        usize::from(!(self.is_call() && before.is_call()))
    }

    fn is_call(&self) -> bool {
        matches!(&self.kind, CellKind::CallDraft(_) | CellKind::Call(_) | CellKind::Settled { .. })
    }

    /// Brings the lines up to date; returns their number.
    pub fn refresh(&mut self, context: &RenderContext) -> usize {
        let height = self.laid_out(context);
        self.height = Some(height);
        height
    }

    fn laid_out(&mut self, context: &RenderContext) -> usize {
        let context = &self.own(context);
        if let CellKind::Answer(answer) = &mut self.kind
            && let Some(height) = answer.refresh_live(context)
        {
            return height;
        }
        let key = ([context.width, context.rows], context.details, context.thinking, context.languages);
        let fresh = self.cache.as_ref().is_some_and(|cached| cached.key == key) && !self.moves();
        if !fresh {
            let lines = self.render(context);
            self.cache = Some(CellCache { key, lines });
        }
        self.cache.as_ref().map_or(0, |cached| cached.lines.len())
    }

    /// Returns the lines from `from` on, as of the last refresh.
    pub fn lines_from(&self, from: usize) -> Box<dyn Iterator<Item = &Line> + '_> {
        if let CellKind::Answer(answer) = &self.kind
            && let Some(stream) = answer.stream()
        {
            return Box::new(stream.lines_from(from));
        }
        match &self.cache {
            Some(cached) => Box::new(cached.lines.iter().skip(from)),
            None => Box::new(std::iter::empty()),
        }
    }

    /// Returns the languages of its code.
    pub fn named_languages(&self) -> Languages {
        match &self.kind {
            CellKind::Answer(answer) => answer.named,
            CellKind::CallDraft(draft) => draft.preview.named_languages(),
            CellKind::Call(row) => row.named_languages(),
            CellKind::User { .. }
            | CellKind::Thinking(_)
            | CellKind::Settled { .. }
            | CellKind::Local { .. }
            | CellKind::Shell(_)
            | CellKind::Failure { .. }
            | CellKind::Waits { .. }
            | CellKind::Note { .. } => Languages::NONE,
        }
    }

    /// Frees the lines of a cell that is far from the screen.
    pub fn forget_lines(&mut self) {
        self.cache = None;
    }

    /// Whether its look changes with time.
    pub fn moves(&self) -> bool {
        match &self.kind {
            CellKind::Thinking(thinking) => thinking.is_live(),
            CellKind::CallDraft(_) => true,
            CellKind::Call(row) => row.moves(),
            CellKind::Shell(shell) => shell.is_running(),
            CellKind::User { .. }
            | CellKind::Answer(_)
            | CellKind::Settled { .. }
            | CellKind::Local { .. }
            | CellKind::Failure { .. }
            | CellKind::Waits { .. }
            | CellKind::Note { .. } => false,
        }
    }

    fn render(&mut self, context: &RenderContext) -> Vec<Line> {
        match &mut self.kind {
            CellKind::User { text, short } => text::user(text, short.as_deref(), context),
            CellKind::Answer(answer) => answer.lines(context),
            CellKind::Thinking(thinking) => thinking.lines(context),
            CellKind::CallDraft(draft) => draft.lines(context),
            CellKind::Call(row) => row.lines(context),
            CellKind::Settled { tool, subject, outcome, tone } => {
                vec![call::settlement_line(tool, subject, outcome, *tone, context)]
            }
            CellKind::Local { title, text, tone } => text::local(title, text, *tone, context),
            CellKind::Shell(shell) => shell.lines(context),
            CellKind::Failure { message, advice } => text::failure(message, advice, context),
            CellKind::Note { text, more } if context.details == Fold::Open && !more.is_empty() => {
                text::note(&format!("{text}\n{more}"), context)
            }
            CellKind::Waits { text } | CellKind::Note { text, more: _ } => text::note(text, context),
        }
    }
}
