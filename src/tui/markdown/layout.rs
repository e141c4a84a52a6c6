//! Lays out blocks as lines of a given width.
//!
//! One blank line separates blocks; none comes before the first. Where nesting leaves too little room, the
//! indent stops growing. Called by the full and the streaming renderer, which rely on a block having the
//! same lines at any position.

use super::highlight::Highlighter;
use super::languages::Language;
use super::parse::{Block, Child, Code, Gap, Item, List, Task};
use super::{Page, table};
use crate::stdx::text::expand_tabs;
use crate::tui::copied::exactly;
use crate::tui::line::{Line, Margin, SourceLine, Span, TextStyle, wrap_pieces, wrap_spans};
use crate::tui::theme::{BackgroundRole, Role};

/// The least number of cells for text beside an indent.
const LEAST_ROOM: usize = 6;

/// The indent of code.
const CODE_INDENT: &str = "  ";

/// Lays out consecutive blocks on the page.
pub fn lines(blocks: &[Child], page: &Page) -> Vec<Line> {
    let mut out = Layout { page, lines: Vec::new() };
    out.blocks(blocks, page.margin.clone(), 0);
    out.lines
}

/// Returns the line above a code block that names its content, if its fence does.
pub fn code_head(word: &str, page: &Page) -> Vec<Line> {
    let mut out = Layout { page, lines: Vec::new() };
    let margin = out.code_margin(&page.margin);
    out.code_head(word, &margin);
    out.lines
}

/// Returns the lines of a piece of a code block: whole lines, and possibly the beginning of one.
pub fn code_lines(text: &str, code: &mut Highlighter, page: &Page) -> Vec<Line> {
    let mut out = Layout { page, lines: Vec::new() };
    out.code_lines(text, code, &page.margin, false);
    out.lines
}

struct Layout<'a> {
    page: &'a Page,
    lines: Vec<Line>,
}

impl Layout<'_> {
    fn blocks(&mut self, blocks: &[Child], mut margin: Margin, depth: usize) {
        for (index, Child { gap, block }) in blocks.iter().enumerate() {
            if index > 0 && *gap == Gap::BlankLine {
                self.lines.push(margin.rest.clone());
            }
            self.block(block, &margin, depth);
            margin = Margin::even(margin.rest);
        }
    }

    fn block(&mut self, block: &Block, margin: &Margin, depth: usize) {
        match block {
            Block::Paragraph(spans) => {
                self.lines.extend(wrap_spans(spans, self.page.width, margin));
            }
            Block::Code(code) => self.code(code, margin),
            Block::Html { text } => self.html(text, margin),
            Block::Quote(blocks) => {
                let mut bar = Line::of(self.page.glyphs.side, Role::Quote).with(" ", Role::Quote);
                "> ".clone_into(&mut bar.copied.lead);
                let inner = self.nest(margin, &bar, &bar);
                self.lay_out_nested(blocks, inner, depth);
            }
            Block::Footnote { label, blocks } => {
                let mut mark = Line::of(format!("[{label}] "), Role::Dim);
                mark.copied.lead = format!("[^{label}]: ");
                let inner = self.nest(margin, &mark, &hang_of(&mark));
                self.lay_out_nested(blocks, inner, depth);
            }
            Block::List(list) => self.list(list, margin, depth),
            Block::Table(table) => {
                self.lines.extend(table::lines(table, self.page.width, margin, self.page.glyphs));
            }
            Block::Rule => {
                let room = self.page.width.saturating_sub(margin.first.width()).max(1);
                let mut line = margin.first.clone();
                line.push(Span::new(self.page.glyphs.rule.repeat(room), Role::Dim));
                line.copied.exact = Some(SourceLine::whole("---"));
                self.lines.push(line);
            }
        }
    }

    /// Lays out the content of a container that is `depth` lists deep; an empty container still draws its
    /// mark.
    fn lay_out_nested(&mut self, blocks: &[Child], margin: Margin, depth: usize) {
        if blocks.is_empty() {
            self.lines.push(margin.first);
        } else {
            self.blocks(blocks, margin, depth);
        }
    }

    fn code(&mut self, code: &Code, margin: &Margin) {
        let has_head = self.code_head(&code.word, &self.code_margin(margin));
        let mut highlighter = Highlighter::new(Language::by_name(&code.word), self.page.languages);
        self.code_lines(&code.text, &mut highlighter, margin, has_head);
    }

    fn code_margin(&self, margin: &Margin) -> Margin {
        let indent = Line::of(CODE_INDENT, Role::Text);
        self.nest(margin, &indent, &indent)
    }

    fn code_head(&mut self, word: &str, margin: &Margin) -> bool {
        if word.is_empty() {
            return false;
        }
        let head = wrap_pieces(vec![Span::new(word, Role::Dim)], self.page.width, margin);
        self.lines.extend(head.into_iter().map(Line::ours));
        true
    }

    /// Lays out lines of code within a margin, on a background of their own; a wrapped line is marked where it goes on.
    fn code_lines(&mut self, text: &str, code: &mut Highlighter, outer: &Margin, has_head: bool) {
        let mark = Line::of(self.page.glyphs.wrapped, Role::Dim).with(" ", Role::Text);
        let wrapped = self.nest(outer, &mark, &mark).rest;
        let Margin { first, rest } = self.code_margin(outer);
        let mut before = if has_head { rest.clone() } else { first };
        let style = |role| TextStyle::of(role).on(BackgroundRole::Code);
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let span = Span::styled(expand_tabs(line), style(Role::CodeText));
            let cuts: Vec<(usize, TextStyle)> =
                code.line(span.text()).into_iter().map(|(end, role)| (end, style(role))).collect();
            let margin = Margin::new(std::mem::replace(&mut before, rest.clone()), wrapped.clone());
            let lines = wrap_pieces(span.in_pieces(&cuts), self.page.width, &margin);
            let lines = lines.into_iter().map(|line| line.filled_to(self.page.width, BackgroundRole::Code));
            self.lines.extend(exactly(lines.collect(), line));
        }
    }

    /// Draws raw HTML unformatted, indented by two cells.
    fn html(&mut self, text: &str, margin: &Margin) {
        let mut margin = self.code_margin(margin);
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            let span = Span::new(expand_tabs(line), Role::Dim);
            self.lines.extend(exactly(wrap_pieces(vec![span], self.page.width, &margin), line));
            margin = Margin::even(margin.rest);
        }
    }

    fn list(&mut self, list: &List, margin: &Margin, depth: usize) {
        let mut outer = margin.clone();
        for (index, item) in list.items.iter().enumerate() {
            if index > 0 && item.gap == Gap::BlankLine {
                self.lines.push(outer.rest.clone());
            }
            let marker = match list.first {
                Some(first) => format!("{}. ", first.saturating_add(index as u64)),
                None => format!("{} ", self.bullet(item, depth)),
            };
            let mut mark = Line::of(&marker, Role::Dim);
            if list.first.is_some() && item.task.is_some() {
                mark = mark.with(self.bullet(item, depth), Role::Dim).with(" ", Role::Dim);
            }
            mark.copied.lead = source_of(item, list, marker);
            let inner = self.nest(&outer, &mark, &hang_of(&mark));
            self.lay_out_nested(&item.blocks, inner, depth + 1);
            outer = Margin::even(outer.rest);
        }
    }

    fn bullet(&self, item: &Item, depth: usize) -> &'static str {
        let glyphs = self.page.glyphs;
        match item.task {
            Some(Task::Open) => glyphs.boxes[0],
            Some(Task::Done) => glyphs.boxes[1],
            None => glyphs.bullets[depth.min(glyphs.bullets.len() - 1)],
        }
    }

    fn nest(&self, outer: &Margin, first: &Line, rest: &Line) -> Margin {
        let joined = |outer: &Line, inner: &Line| {
            let mut line = outer.clone();
            inner.spans.iter().for_each(|span| line.push(span.clone()));
            line.copied.lead.push_str(&inner.copied.lead);
            line
        };
        let margin = Margin::new(joined(&outer.first, first), joined(&outer.rest, rest));
        let indent = margin.first.width().max(margin.rest.width());
        if indent + LEAST_ROOM <= self.page.width { margin } else { outer.clone() }
    }
}

/// Returns the hanging indent below a mark, for the screen and for the source.
fn hang_of(mark: &Line) -> Line {
    let mut hang = Line::of(" ".repeat(mark.width()), Role::Text);
    hang.copied.lead = " ".repeat(mark.copied.lead.len());
    hang
}

/// Returns the source text of an item's marker.
fn source_of(item: &Item, list: &List, marker: String) -> String {
    let marker = if list.first.is_some() { marker } else { "- ".to_owned() };
    match item.task {
        Some(Task::Open) => format!("{marker}[ ] "),
        Some(Task::Done) => format!("{marker}[x] "),
        None => marker,
    }
}
