//! Shared drawing of request lists: rows, one request in detail, and the lines above the keys. Only draws. The batch
//! list is composed by `batch::draw`, the inbox by its panel.

use super::card::{LOW, advice, facts, hint, prepare_detail, taint_mark};
use crate::frontend::dialogue::OpenRequest;
use crate::message::ToolName;
use crate::stdx::text::width;
use crate::tool::Risk;
use crate::tui::bordered_box::column;
use crate::tui::cards::Card;
use crate::tui::composer::Rows;
use crate::tui::keys::{Action, CardKey, Context, Hint, Keymap, ListKey};
use crate::tui::line::{Line, Span, TextStyle};
use crate::tui::list::{ListStage, OpenRows, RequestList, RowMark};
use crate::tui::screen::Screen;
use crate::tui::theme::{Glyphs, Role};

/// The widest name of a tool, in cells.
const TOOL: usize = 13;

/// The width from which the chosen request is drawn to the right of its list.
pub const WIDE: usize = 120;

/// Most lines of advice.
const MOST_SAID: usize = 3;

/// A row of a list.
pub struct ListRow<'a> {
    pub is_chosen: bool,
    pub mark: RowMark,
    /// Its number, from 1; shown in a list with numbers.
    pub number: usize,
    pub risk: Risk,
    pub tool: &'a ToolName,
    pub what: Line,
    pub is_tainted: bool,
    pub right: Line,
}

/// The columns of a list, in cells.
pub struct Columns {
    pub width: usize,
    /// The numbers of the rows; 0 for a list without.
    digits: usize,
    risk: usize,
    tool: usize,
    /// Whether names are shortened.
    pub is_narrow: bool,
}

impl Columns {
    /// Computes the columns for these tools and numbers of so many digits; a list of less than `narrow` cells has shorter
    /// names.
    pub fn of<'a>(
        width: usize,
        narrow: usize,
        digits: usize,
        tools: impl Iterator<Item = &'a ToolName>,
    ) -> Self {
        let is_narrow = width < narrow;
        let tool = tools.map(|tool| self::width(tool.as_str())).max().unwrap_or(0);
        let (risk, most) = if is_narrow { (4, 10) } else { (6, TOOL) };
        Self { width, digits, risk, tool: tool.clamp(4, most), is_narrow }
    }

    /// Returns the cells before the risk: cursor, mark and number.
    fn lead(&self) -> usize {
        5 + self.digits + usize::from(self.digits > 0)
    }

    /// Returns the column names; `hidden` says which rows are shown, unless all are.
    pub fn head(&self, hidden: &str, right: Line) -> Line {
        let mut line = Line::of(" ".repeat(self.lead()), Role::Dim);
        for (name, cells) in [("risk", self.risk), ("tool", self.tool)] {
            line = line.with(format!("{name:<cells$} "), Role::Dim);
        }
        line = line.with("what", Role::Dim);
        if !hidden.is_empty() {
            line = line.with(hidden, Role::Waiting);
        }
        Line::spread(line, right, self.width)
    }

    pub fn row(&self, row: ListRow<'_>, glyphs: &Glyphs) -> Line {
        let word = match row.risk {
            Risk::Medium if self.risk < 6 => "med",
            risk @ (Risk::Low | Risk::Medium | Risk::High) => risk.word(),
        };
        let mut left = Line::of(if row.is_chosen { glyphs.folded } else { " " }, Role::Waiting);
        left.push(mark(row.mark, glyphs));
        if self.digits > 0 {
            left = left.with(format!(" {:>1$}", row.number, self.digits), Role::Text);
        }
        let left = left.with(format!(" {word:<0$} ", self.risk), risk_role(row.risk));
        let left = left.joined(column(Line::of(row.tool.as_str(), Role::Tool).cut(self.tool), self.tool + 1));
        let taint = taint_mark(row.is_tainted, glyphs);
        let right = row.right.width();
        let room = self.width.saturating_sub(left.width() + taint.width() + right + usize::from(right > 0));
        let mut what = row.what.cut(room);
        if row.is_chosen {
            what = what.painted(&(0..room), |style| TextStyle { bold: true, ..style });
        }
        Line::spread(left.joined(what).joined(taint), row.right, self.width)
    }
}

/// Names a request by its tool and risk.
pub fn heading(tool: &ToolName, risk: Risk, is_tainted: bool, glyphs: &Glyphs) -> Line {
    Line::of(tool.as_str(), Role::Tool)
        .with(format!(" {}", risk.word()), risk_role(risk))
        .joined(taint_mark(is_tainted, glyphs))
}

/// Divides cells between a list and the request beside it.
pub fn split(room: usize) -> (usize, usize) {
    let list = room * 11 / 20;
    (list, room - list - 3)
}

/// Joins a list of `width` cells and the request beside it.
pub fn join_columns(mut list: Vec<Line>, mut request: Vec<Line>, width: usize, glyphs: &Glyphs) -> Vec<Line> {
    let rows = list.len().max(request.len());
    list.resize(rows, Line::new());
    request.resize(rows, Line::new());
    let side = Line::of(format!(" {} ", glyphs.side), Role::Dim);
    let joined = |(left, right)| column(left, width).joined(side.clone()).joined(right);
    list.into_iter().zip(request).map(joined).collect()
}

/// Returns the box of a mark.
fn mark(mark: RowMark, glyphs: &Glyphs) -> Span {
    match mark {
        RowMark::Decided => Span::new(format!(" {} ", glyphs.still), Role::Waiting),
        RowMark::On => Span::new("[x]", Role::Waiting),
        RowMark::Off => Span::new("[ ]", Role::Dim),
    }
}

fn risk_role(risk: Risk) -> Role {
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

/// Divides the rows of a detail: the facts below, the lines shown of the body, and whether it is clipped.
fn parts(card: &Card, screen: &Screen<'_>, width: usize, rows: usize) -> (Vec<Line>, usize, bool) {
    let body = card.body.lines().len();
    let mut facts_below = if screen.rows < LOW { Vec::new() } else { facts(card, screen, width) };
    // The body takes precedence over the facts, and over the blank line between the two.
    let least = 1 + usize::from(card.request.again.is_some());
    let left = rows.saturating_sub(body).max(least.min(rows.saturating_sub(1)));
    if facts_below.len() > left && !facts_below.is_empty() {
        facts_below.remove(0);
    }
    facts_below.truncate(left);
    let room = rows.saturating_sub(facts_below.len()).max(1);
    let clipped = body > room || card.body.more > 0;
    let room = if clipped { room.saturating_sub(1).max(1).min(body) } else { body };
    (facts_below, room, clipped)
}

/// Returns the detail in so many cells and rows; `keys` show more of it.
pub fn detail(card: &Card, screen: &Screen<'_>, width: usize, rows: usize, keys: &str) -> Detail {
    let (facts_below, room, clipped) = parts(card, screen, width, rows);
    let body = card.body.lines();
    let from = card.scroll.min(body.len().saturating_sub(room));
    let mut lines: Vec<Line> = body.iter().skip(from).take(room).cloned().collect();
    if clipped {
        let below = body.len().saturating_sub(from + room);
        lines.push(hint(from, below, card.body.more, keys, width));
    }
    lines.extend(facts_below);
    Detail { lines, room, total: body.len() }
}

/// Updates a request before its detail is drawn, and records how much of it will be visible.
pub fn lay_out(card: &mut Card, screen: &Screen<'_>, width: usize, rows: usize) {
    prepare_detail(card, screen, width);
    let (_, room, _) = parts(card, screen, width, rows);
    let total = card.body.lines().len();
    card.scroll = card.scroll.min(total.saturating_sub(room));
    card.saw(width, card.scroll..card.scroll + room, total);
}

/// The lines above the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardFooter {
    pub lines: Vec<Line>,
    /// The column of the cursor in the second line, if a reason is being written.
    pub cursor: Option<usize>,
}

impl CardFooter {
    /// Returns the approval that is due once more or the reason being written, and the advice. `due` are the rows, if an
    /// approval is due; `denied` names what the reason is for.
    pub fn of(
        list: &RequestList,
        due: Option<OpenRows>,
        denied: &str,
        said: Option<&String>,
        keymap: &Keymap,
        width: usize,
    ) -> Self {
        let mut foot = Self { lines: Vec::new(), cursor: None };
        match &list.stage {
            ListStage::Choosing | ListStage::Filtering => {
                foot.lines.extend(due.map(|rows| approved_once(&list.marked_or(rows), keymap)));
            }
            ListStage::Reason { editor, .. } => {
                let rows = Rows::of(editor, width.saturating_sub(4));
                let words = format!("deny{denied}: reason for the model (optional)");
                let written = Line::of("> ", Role::Waiting).joined(rows.line(editor, rows.cursor.row));
                foot.lines.extend([Line::of(words, Role::Text), written]);
                foot.cursor = Some(2 + rows.cursor.column);
            }
        }
        let said = list.advice.as_ref().or(said);
        foot.lines.extend(said.into_iter().flat_map(|words| advice(words, width)).take(MOST_SAID));
        foot
    }
}

/// Describes the high-risk approval of these, which needs its key once more.
fn approved_once(these: &[OpenRequest], keymap: &Keymap) -> Line {
    let high = these.iter().filter(|one| one.risk == Risk::High).count();
    let (words, again) = match these.len() {
        1 => ("HIGH".to_owned(), "again to approve"),
        all => (format!("{high} of {all} HIGH"), "again to approve all"),
    };
    let keys =
        [(Context::Batch, Action::List(ListKey::Yes), again), (Context::Global, Action::Escape, "back")];
    Line::of(keymap.with_hints(&words, &keys), Role::High)
}

/// Returns the keys that approve and deny; `one` says what is approved while nothing is marked.
pub fn decision_hints(one: &str, marked: usize, keymap: &Keymap) -> Vec<Hint> {
    let (yes, no) = match marked {
        0 => (format!("yes{one}"), "no…".to_owned()),
        marked => (format!("yes to {marked} marked"), format!("no to {marked}…")),
    };
    keymap.hints(&[
        (Context::Batch, Action::List(ListKey::Yes), &yes),
        (Context::Batch, Action::List(ListKey::No), &no),
    ])
}

/// Returns the keys while a reason is written.
pub fn reason_keys(keymap: &Keymap) -> Vec<Hint> {
    keymap.hints(&[
        (Context::Reason, Action::Card(CardKey::SendNo), "deny"),
        (Context::Global, Action::Escape, "back"),
    ])
}
