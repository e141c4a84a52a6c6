//! The card of a request: what would happen, why it asks, and the keys that decide.
//!
//! It is as high as the pane at most; what does not fit scrolls inside, and says so. It shows, it never decides.
//! Called by the layout, which tells the card how much of it was on the screen.

use super::{Fold, Look, call, diff};
use crate::stdx::text::{expand_tabs, one_line_summary};
use crate::tool::{Preview, Undo};
use crate::tui::cards::{Card, Editing, Stage};
use crate::tui::composer::{Editor, Position, Rows};
use crate::tui::line::{Ink, Line, Margin, Span, wrap_exact, wrap_spans};
use crate::tui::theme::Role;

/// Lines of the body while it is not shown whole.
const BODY: usize = 12;

/// The widest card.
const WIDEST: usize = 100;

/// Below this width a card has no sides.
const NARROW: usize = 60;

/// Cells of the names of facts.
const FACT: usize = 6;

/// Below this height of the pane, reasons are shown on demand only.
const LOW: usize = 12;

/// Who has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Keys,
    Nothing,
}

/// Where and how the card is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    pub look: &'a Look,
    pub holds: Holds,
    /// Rows of the pane.
    pub rows: usize,
    /// Which card of how many, from 1.
    pub position: (usize, usize),
}

/// A card as lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Drawn {
    pub lines: Vec<Line>,
    /// Lines of the body that are shown, and that there are.
    pub body_room: usize,
    pub body_total: usize,
    /// Where text is being written.
    pub cursor: Option<Position>,
}

pub fn draw(card: &Card, frame: &Frame<'_>) -> Drawn {
    let mut sheet = Sheet::new(frame);
    match &card.stage {
        Stage::Editing(editing) => sheet.editing(card, editing),
        Stage::Asking | Stage::Confirming(_) | Stage::Reason(_) | Stage::Deciding(_) => sheet.asking(card),
    }
    sheet.drawn
}

struct Sheet<'a> {
    frame: &'a Frame<'a>,
    width: usize,
    /// Cells of text inside the sides.
    inner: usize,
    drawn: Drawn,
}

impl<'a> Sheet<'a> {
    fn new(frame: &'a Frame<'a>) -> Self {
        let width = frame.look.width.min(WIDEST);
        let inner = width.saturating_sub(if width < NARROW { 2 } else { 4 });
        Self { frame, width, inner, drawn: Drawn::default() }
    }

    fn asking(&mut self, card: &Card) {
        let body = body(card, self.inner);
        let facts = self.facts(card);
        let foot = self.foot(card);
        let fixed = 2 + facts.len() + foot.len();
        let cap = match card.whole {
            Fold::Folded => BODY,
            Fold::Open => usize::MAX,
        };
        let space = self.frame.rows.saturating_sub(fixed).min(cap).max(1);
        let clipped = body.len() > space;
        // The hint takes a line of its own, so that it covers nothing.
        let room = if clipped { space.saturating_sub(1).max(1) } else { body.len() };
        let from = card.scroll.min(body.len().saturating_sub(room));
        self.border(&self.title(card), &self.badge(card), 0);
        for line in body.iter().skip(from).take(room) {
            self.put(line.clone());
        }
        if clipped {
            let left = body.len() - from - room;
            let hint = match (left, from) {
                (0, _) => format!("[end, {from} lines above]"),
                (left, _) => format!("[{left} more lines: PgDn, v all]"),
            };
            self.put(Line::spread(Line::new(), Line::of(hint, Role::Waiting), self.inner));
        }
        self.drawn.body_room = room;
        self.drawn.body_total = body.len();
        for line in facts {
            self.put(line);
        }
        let first = self.drawn.lines.len();
        if let Stage::Reason(editor) = &card.stage {
            self.drawn.cursor = Some(self.place(&Rows::of(editor, self.inner - 4), first + 1, 0, 2));
        }
        for line in foot {
            self.put(line);
        }
        self.border(&self.keys(card), &Line::new(), 2);
    }

    /// The line above: what asks.
    fn title(&self, card: &Card) -> Line {
        let request = &card.request;
        Line::of(format!("{} ", self.frame.look.glyphs.waiting), Role::Waiting)
            .with(request.tool.as_str(), Role::Tool)
            .with(" ", Role::Text)
            .with(call::subject(&request.args), Role::Text)
    }

    /// At the right of the title: how many, how risky, how much.
    fn badge(&self, card: &Card) -> Line {
        let mut line = Line::new();
        let dot = format!(" {} ", self.frame.look.glyphs.dot);
        let (at, of) = self.frame.position;
        if of > 1 {
            line = line.with(format!("{at} of {of}{dot}"), Role::Waiting);
        }
        let role = if card.is_high() { Role::High } else { Role::Dim };
        line = line.with(card.request.risk.word(), role);
        if let Preview::Diff { lines, .. } = &card.request.plan.preview {
            let counts = diff::counts(lines);
            line = line
                .with(&dot, Role::Dim)
                .with(format!("+{}", counts.added), Role::Added)
                .with(format!(" -{}", counts.removed), Role::Removed);
        }
        line
    }

    /// Why it asks and what is to be known beside, one line each; `w` puts all of it into the body.
    fn facts(&self, card: &Card) -> Vec<Line> {
        if card.why == Fold::Open || self.frame.rows < LOW {
            return Vec::new();
        }
        let request = &card.request;
        let why = request.why.join(&format!(" {} ", self.frame.look.glyphs.dot));
        let facts = [
            ("back", request.again.clone().unwrap_or_default(), Role::Waiting),
            ("why", why, Role::Dim),
            ("after", request.after.join(", "), Role::Dim),
        ];
        let mut lines = vec![Line::new()];
        for (name, text, role) in facts {
            if !text.is_empty() {
                let text = one_line_summary(&text, self.inner - FACT);
                lines.push(Line::of(format!("{name:<FACT$}"), Role::Dim).with(text, role));
            }
        }
        lines
    }

    /// What the stage asks for, above the keys.
    fn foot(&self, card: &Card) -> Vec<Line> {
        let mut lines = Vec::new();
        match &card.stage {
            Stage::Confirming(_) => {
                lines.push(Line::of("HIGH: y once more to approve, Esc back", Role::High));
            }
            Stage::Reason(editor) => {
                lines.push(Line::of("no: tell the model why (optional)", Role::Text));
                let rows = Rows::of(editor, self.inner - 4);
                lines.push(Line::of("> ", Role::Waiting).joined(rows.line(editor, rows.cursor.row)));
            }
            Stage::Deciding(word) => lines.push(Line::of(format!("{word}: deciding…"), Role::Waiting)),
            Stage::Asking | Stage::Editing(_) => {}
        }
        if let Some(advice) = &card.advice {
            let spans = [Span::new(format!("! {advice}"), Role::Waiting)];
            lines.extend(wrap_spans(&spans, self.inner, &Margin::default()));
        }
        lines
    }

    fn keys(&self, card: &Card) -> Line {
        if self.frame.holds == Holds::Nothing {
            return keys_line(&[("Tab", "or Alt+A: decide")], self.frame.look.glyphs.dot);
        }
        let tool = card.request.tool.as_str();
        let always = if tool == "shell" {
            "exactly this command, this session".to_owned()
        } else {
            format!("{tool}, this session")
        };
        let mut keys: Vec<(&str, &str)> = match &card.stage {
            Stage::Reason(_) => vec![("Enter", "send the no"), ("Esc", "back")],
            Stage::Deciding(_) => vec![("Tab", "back to writing")],
            Stage::Asking | Stage::Confirming(_) | Stage::Editing(_) => {
                vec![("y", if card.is_high() { "y yes" } else { "yes" }), ("n", "no…"), ("e", "edit")]
            }
        };
        if let Stage::Asking | Stage::Confirming(_) = &card.stage {
            if !card.is_high() {
                keys.push(("a", &always));
            }
            keys.extend([("v", "all"), ("w", "why"), ("Esc", "later")]);
        }
        let long = keys_line(&keys, self.frame.look.glyphs.dot);
        if long.width() + 6 <= self.width {
            return long;
        }
        for key in &mut keys {
            key.1 = match key.0 {
                _ if self.width < NARROW && key.0.len() == 1 => "",
                "a" => "session",
                _ => key.1,
            };
        }
        keys_line(&keys, self.frame.look.glyphs.dot)
    }

    fn editing(&mut self, card: &Card, editing: &Editing) {
        let title = Line::of(format!("{} edit ", self.frame.look.glyphs.waiting), Role::Waiting)
            .with(card.request.tool.as_str(), Role::Tool);
        let (state, role) = match &editing.check {
            Ok(_) => ("valid JSON".to_owned(), Role::Ok),
            Err(problem) => (problem.clone(), Role::Fail),
        };
        let badge = if card.is_high() { Line::of("HIGH", Role::High) } else { Line::new() };
        self.border(&title, &badge, 0);
        let width = self.inner.saturating_sub(1);
        let rows = Rows::of(&editing.editor, width);
        let room = self.frame.rows.saturating_sub(4).clamp(1, rows.height().max(1));
        let from = (rows.cursor.row + 1).saturating_sub(room);
        let first = self.drawn.lines.len();
        self.drawn.cursor = Some(self.place(&rows, first, from, 0));
        self.put_rows(&editing.editor, &rows, from, room);
        self.put(Line::of(state, role).cut(self.inner));
        if let Some(advice) = &card.advice {
            self.put(Line::of(format!("! {advice}"), Role::Waiting).cut(self.inner));
        }
        let keys = [("Ctrl+S", "approve edited"), ("Ctrl+_", "undo"), ("Esc", "back")];
        self.border(&keys_line(&keys, self.frame.look.glyphs.dot), &Line::new(), 2);
    }

    fn put_rows(&mut self, editor: &Editor, rows: &Rows, from: usize, room: usize) {
        for row in from..(from + room).min(rows.height()) {
            self.put(rows.line(editor, row));
        }
    }

    /// The editor's cursor in cells of the card, where its row `from` is the card's line `first`.
    fn place(&self, rows: &Rows, first: usize, from: usize, indent: usize) -> Position {
        let side = if self.width < NARROW { 1 } else { 2 };
        let row = if indent > 0 { 0 } else { rows.cursor.row - from };
        Position { row: first + row, column: side + indent + rows.cursor.column }
    }

    /// One line of text between the sides.
    fn put(&mut self, line: Line) {
        let line = if self.width < NARROW {
            Line::of(" ", Role::Text).joined(line.cut(self.inner))
        } else {
            let side = self.frame.look.glyphs.side;
            let mut full = Line::of(side, self.edge()).with(" ", Role::Text).joined(line.cut(self.inner));
            full.pad_to(self.width - 1);
            full.with(side, self.edge())
        };
        self.drawn.lines.push(line);
    }

    /// A border with words in it; `corner` is the index of its left corner.
    fn border(&mut self, left: &Line, right: &Line, corner: usize) {
        let glyphs = self.frame.look.glyphs;
        let edge = self.edge();
        let rule = |cells: usize| glyphs.rule.repeat(cells);
        let right = right.clone().cut(self.width.saturating_sub(8));
        let ends = 6 + right.width() + if right.spans.is_empty() { 0 } else { 3 };
        let left = left.clone().cut(self.width.saturating_sub(ends));
        let mut line = Line::of(glyphs.corners[corner], edge)
            .with(rule(1), edge)
            .with(" ", edge)
            .joined(left)
            .with(" ", edge);
        let mut tail = Line::new();
        if !right.spans.is_empty() {
            tail = Line::of(" ", edge).joined(right).with(" ", edge).with(rule(1), edge);
        }
        tail = tail.with(glyphs.corners[corner + 1], edge);
        let fill = self.width.saturating_sub(line.width() + tail.width());
        line = line.with(rule(fill), edge).joined(tail);
        self.drawn.lines.push(line);
    }

    fn edge(&self) -> Role {
        match self.frame.holds {
            Holds::Keys => Role::Waiting,
            Holds::Nothing => Role::Dim,
        }
    }
}

/// What would happen, whole: the summary, the preview, with `v` the arguments, with `w` the reasons.
fn body(card: &Card, width: usize) -> Vec<Line> {
    let plan = &card.request.plan;
    let even = Margin::default();
    let mut lines = wrap_spans(&[Span::new(expand_tabs(&plan.summary), Role::Text)], width, &even);
    let preview = match &plan.preview {
        Preview::None => json(&card.request.args, width),
        Preview::Text { text } => verbatim(text, width),
        Preview::Diff { lines, .. } => diff::lines(lines, width),
        Preview::Fields { fields } => self::fields(fields, width),
    };
    if !preview.is_empty() {
        lines.push(Line::new());
        lines.extend(preview);
    }
    if card.whole == Fold::Open && plan.preview != Preview::None {
        lines.push(Line::new());
        lines.push(Line::of("arguments", Role::Dim));
        lines.extend(json(&card.request.args, width));
    }
    if card.why == Fold::Open {
        lines.push(Line::new());
        lines.extend(reasons(card, width));
    }
    lines
}

fn reasons(card: &Card, width: usize) -> Vec<Line> {
    let request = &card.request;
    let mut lines = Vec::new();
    let mut fact = |name: &str, text: &str, role: Role| {
        let first = Line::of(format!("{name:<FACT$}"), Role::Dim);
        let margin = Margin::new(first, Line::of(" ".repeat(FACT), Role::Text));
        lines.extend(wrap_spans(&[Span::new(expand_tabs(text), role)], width, &margin));
    };
    if let Some(again) = &request.again {
        fact("back", again, Role::Waiting);
    }
    for (index, why) in request.why.iter().enumerate() {
        fact(if index == 0 { "why" } else { "" }, why, Role::Text);
    }
    for (index, after) in request.after.iter().enumerate() {
        fact(if index == 0 { "after" } else { "" }, after, Role::Text);
    }
    fact("undo", undo(request.plan.undo), Role::Text);
    fact("id", &request.id.to_string(), Role::Dim);
    lines
}

fn json(args: &serde_json::Value, width: usize) -> Vec<Line> {
    verbatim(&serde_json::to_string_pretty(args).unwrap_or_default(), width)
}

fn verbatim(text: &str, width: usize) -> Vec<Line> {
    let margin = Margin::even(Line::of("  ", Role::Text));
    let whole = text.strip_suffix('\n').unwrap_or(text);
    whole
        .split('\n')
        .flat_map(|line| wrap_exact(&Span::inked(expand_tabs(line), Ink::of(Role::Text)), width, &margin))
        .collect()
}

fn fields(fields: &[(String, String)], width: usize) -> Vec<Line> {
    let column = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(width / 3);
    let mut lines = Vec::new();
    for (name, value) in fields {
        let mut first = Line::of(name, Role::Dim).cut(column);
        first.pad_to(column + 2);
        let mut margin = Margin::new(first, Line::of(" ".repeat(column + 2), Role::Text));
        for line in value.split('\n') {
            lines.extend(wrap_exact(&Span::new(expand_tabs(line), Role::Text), width, &margin));
            margin = Margin::even(margin.rest);
        }
    }
    lines
}

fn undo(undo: Undo) -> &'static str {
    match undo {
        Undo::Exact => "what it changes can be put back exactly",
        Undo::Compensating => "it can be made up for, not undone",
        Undo::Hold => "it is held for a moment before it happens",
        Undo::None => "it cannot be undone",
    }
}

fn keys_line(keys: &[(&str, &str)], dot: &str) -> Line {
    let mut line = Line::new();
    for (index, (key, words)) in keys.iter().enumerate() {
        if index > 0 {
            line = line.with(format!(" {dot} "), Role::Dim);
        }
        line = line.with(key, Role::Key);
        if !words.is_empty() {
            line = line.with(format!(" {words}"), Role::Dim);
        }
    }
    line
}
