//! Shared drawing of request lists: columns, one request in detail, and the reason of a denial. Only draws. The batch
//! list is drawn by `cells::batch`, the inbox by its panel.

use super::card::{Frame, LOW, OutOfSight, facts, hint, prepare_detail};
use crate::message::ToolName;
use crate::stdx::text::width;
use crate::tool::Risk;
use crate::tui::cards::Card;
use crate::tui::composer::{Editor, Rows};
use crate::tui::keys::{Action, CardKey, Context, Hint, Keymap};
use crate::tui::line::{Line, Span};
use crate::tui::list::Mark;
use crate::tui::theme::{Glyphs, Role};

/// The widest name of a tool, in cells.
const TOOL: usize = 13;

/// The columns of a list, in cells.
pub struct Columns {
    pub width: usize,
    /// Cursor, mark and anything else before the risk.
    lead: usize,
    risk: usize,
    tool: usize,
    /// Whether names are shortened.
    pub is_narrow: bool,
}

impl Columns {
    /// Computes the columns for these tools; a list of less than `narrow` cells has shorter names.
    pub fn of<'a>(
        width: usize,
        narrow: usize,
        lead: usize,
        tools: impl Iterator<Item = &'a ToolName>,
    ) -> Self {
        let is_narrow = width < narrow;
        let tool = tools.map(|tool| self::width(tool.as_str())).max().unwrap_or(0);
        let (risk, most) = if is_narrow { (4, 10) } else { (6, TOOL) };
        Self { width, lead, risk, tool: tool.clamp(4, most), is_narrow }
    }

    /// Returns the cells between the tool names and the right column.
    pub fn room(&self, right: usize) -> usize {
        self.width.saturating_sub(self.lead + self.risk + self.tool + 2 + right)
    }

    /// Returns the column names; `hidden` says which rows are shown, unless all are.
    pub fn head(&self, hidden: &str, right: Line) -> Line {
        let mut line = Line::of(" ".repeat(self.lead), Role::Dim);
        for (name, cells) in [("risk", self.risk), ("tool", self.tool)] {
            line = line.with(format!("{name:<cells$} "), Role::Dim);
        }
        line = line.with("what", Role::Dim);
        if !hidden.is_empty() {
            line = line.with(hidden, Role::Waiting);
        }
        Line::spread(line, right, self.width)
    }

    pub fn row(&self, lead: Line, risk: Risk, tool: &ToolName, what: Line, right: Line) -> Line {
        let word = match risk {
            Risk::Medium if self.risk < 6 => "med",
            Risk::Low | Risk::Medium | Risk::High => risk.word(),
        };
        let mut tool = Line::of(tool.as_str(), Role::Tool).cut(self.tool);
        tool.pad_to(self.tool + 1);
        let left = lead.with(format!("{word:<0$} ", self.risk), risk_role(risk)).joined(tool);
        Line::spread(left.joined(what), right, self.width)
    }
}

/// Returns the box of a mark.
pub fn mark(mark: Mark, glyphs: &Glyphs) -> Span {
    match mark {
        Mark::Decided => Span::new(format!(" {} ", glyphs.still), Role::Waiting),
        Mark::On => Span::new("[x]", Role::Waiting),
        Mark::Off => Span::new("[ ]", Role::Dim),
    }
}

pub fn risk_role(risk: Risk) -> Role {
    match risk {
        Risk::High => Role::High,
        Risk::Low | Risk::Medium => Role::Dim,
    }
}

/// One request in detail: its scrolled body and its facts.
pub struct Detail {
    pub lines: Vec<Line>,
    /// Lines of the body: shown and total.
    pub room: usize,
    pub total: usize,
}

/// The division of a detail's rows.
struct DetailParts {
    beside: Vec<Line>,
    /// Lines shown of the body.
    room: usize,
    clipped: bool,
}

fn parts(card: &Card, frame: &Frame<'_>, width: usize, rows: usize) -> DetailParts {
    let body = card.body.lines().len();
    let mut beside = if frame.rows < LOW { Vec::new() } else { facts(card, frame, width) };
    // The body takes precedence over the facts, and over the blank line between the two.
    let least = 1 + usize::from(card.request.again.is_some());
    let left = rows.saturating_sub(body).max(least.min(rows.saturating_sub(1)));
    if beside.len() > left && !beside.is_empty() {
        beside.remove(0);
    }
    beside.truncate(left);
    let room = rows.saturating_sub(beside.len()).max(1);
    let clipped = body > room || card.body.more() > 0;
    let room = if clipped { room.saturating_sub(1).max(1).min(body) } else { body };
    DetailParts { beside, room, clipped }
}

/// Returns the detail in so many cells and rows; `keys` show more of it.
pub fn detail(card: &Card, frame: &Frame<'_>, width: usize, rows: usize, keys: &str) -> Detail {
    let DetailParts { beside, room, clipped } = parts(card, frame, width, rows);
    let body = card.body.lines();
    let from = card.scroll.min(body.len().saturating_sub(room));
    let mut lines: Vec<Line> = body.iter().skip(from).take(room).cloned().collect();
    if clipped {
        let below = body.len().saturating_sub(from + room);
        lines.push(hint(&OutOfSight { above: from, below, bytes: card.body.more() }, keys, width));
    }
    lines.extend(beside);
    Detail { lines, room, total: body.len() }
}

/// Updates a request before its detail is drawn, and records how much of it will be visible.
pub fn lay_out(card: &mut Card, frame: &Frame<'_>, width: usize, rows: usize) {
    prepare_detail(card, frame, width);
    let room = parts(card, frame, width, rows).room;
    let total = card.body.lines().len();
    card.scroll = card.scroll.min(total.saturating_sub(room));
    card.saw(width, card.scroll..card.scroll + room, total);
}

/// Returns the reason being written, `room` cells wide, below its heading.
pub fn reason(words: String, editor: &Editor, room: usize) -> [Line; 2] {
    let rows = Rows::of(editor, room);
    let written = Line::of("> ", Role::Waiting).joined(rows.line(editor, rows.cursor.row));
    [Line::of(words, Role::Text), written]
}

/// Returns the keys while a reason is written.
pub fn reason_keys(keymap: &Keymap) -> Vec<Hint> {
    keymap.hints(&[
        (Context::Reason, Action::Card(CardKey::SendNo), "deny"),
        (Context::Global, Action::Escape, "back"),
    ])
}
