//! From blocks to lines at a width.
//!
//! One blank line between blocks, none before the first. Where nesting leaves too little room, the indent stays as
//! it is and the text goes on. Called by the whole and the streaming renderer, which rely on a block's lines being
//! the same wherever it stands.

use super::parse::{Block, Item, List, Spacing, Task};
use super::{Page, table};
use crate::stdx::text::expand_tabs;
use crate::tui::copied::{Exact, exactly};
use crate::tui::line::{Ink, Line, Margin, Span, wrap_exact, wrap_spans};
use crate::tui::theme::{Glyphs, Role};

/// Cells that must remain for text beside an indent.
const LEAST_ROOM: usize = 6;

/// Blocks one after another, as the page says.
pub fn lines(blocks: &[Block], page: &Page) -> Vec<Line> {
    let mut out = Layout { width: page.width, glyphs: page.glyphs, lines: Vec::new() };
    out.blocks(blocks, page.margin.clone(), Spacing::Loose, 0);
    out.lines
}

/// The lines of a code block's text.
pub fn code_lines(text: &str, page: &Page) -> Vec<Line> {
    let mut out = Layout { width: page.width, glyphs: page.glyphs, lines: Vec::new() };
    out.verbatim(text, Role::Code, &page.margin);
    out.lines
}

struct Layout {
    width: usize,
    glyphs: &'static Glyphs,
    lines: Vec<Line>,
}

impl Layout {
    fn blocks(&mut self, blocks: &[Block], mut margin: Margin, spacing: Spacing, depth: usize) {
        for (index, block) in blocks.iter().enumerate() {
            if index > 0 && spacing == Spacing::Loose {
                self.lines.push(margin.rest.clone());
            }
            self.block(block, &margin, depth);
            margin = Margin::even(margin.rest);
        }
    }

    fn block(&mut self, block: &Block, margin: &Margin, depth: usize) {
        match block {
            Block::Paragraph(spans) | Block::Heading { spans, .. } => {
                self.lines.extend(wrap_spans(spans, self.width, margin));
            }
            Block::Code { text } => self.verbatim(text, Role::Code, margin),
            Block::Html { text } => self.verbatim(text, Role::Dim, margin),
            Block::Quote(blocks) => {
                let mut bar = Line::of(self.glyphs.side, Role::Quote).with(" ", Role::Quote);
                "> ".clone_into(&mut bar.copied.lead);
                let inner = self.nest(margin, &bar, &bar);
                if blocks.is_empty() {
                    self.lines.push(inner.first);
                } else {
                    self.blocks(blocks, inner, Spacing::Loose, depth + 1);
                }
            }
            Block::List(list) => self.list(list, margin, depth),
            Block::Table(table) => {
                self.lines.extend(table::lines(table, self.width, margin, self.glyphs));
            }
            Block::Rule => {
                let room = self.width.saturating_sub(margin.first.width()).max(1);
                let mut line = margin.first.clone();
                line.push(Span::new(self.glyphs.rule.repeat(room), Role::Dim));
                line.copied.exact = Some(Exact::whole("---"));
                self.lines.push(line);
            }
        }
    }

    /// Text that keeps its spaces, two cells in.
    fn verbatim(&mut self, text: &str, role: Role, margin: &Margin) {
        let indent = Line::of("  ", Role::Text);
        let mut margin = self.nest(margin, &indent, &indent);
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let span = Span::inked(expand_tabs(line), Ink::of(role));
            self.lines.extend(exactly(wrap_exact(&span, self.width, &margin), line));
            margin = Margin::even(margin.rest);
        }
    }

    fn list(&mut self, list: &List, margin: &Margin, depth: usize) {
        let last = list.first.map(|first| first.saturating_add(list.items.len() as u64));
        let mut outer = margin.clone();
        for (index, item) in list.items.iter().enumerate() {
            if index > 0 && list.spacing == Spacing::Loose {
                self.lines.push(outer.rest.clone());
            }
            let marker = match (list.first, last) {
                (Some(first), Some(last)) => {
                    let digits = last.saturating_sub(1).to_string().len();
                    format!("{:>digits$}. ", first.saturating_add(index as u64))
                }
                _ => format!("{} ", self.bullet(item, depth)),
            };
            let mut hang = Line::of(" ".repeat(marker.chars().count()), Role::Text);
            let mut bullet = Line::of(&marker, Role::Dim);
            bullet.copied.lead = source_of(item, list, marker);
            hang.copied.lead = " ".repeat(bullet.copied.lead.len());
            let inner = self.nest(&outer, &bullet, &hang);
            if item.blocks.is_empty() {
                self.lines.push(inner.first);
            } else {
                self.blocks(&item.blocks, inner, list.spacing, depth + 1);
            }
            outer = Margin::even(outer.rest);
        }
    }

    fn bullet(&self, item: &Item, depth: usize) -> &'static str {
        match item.task {
            Some(Task::Open) => self.glyphs.boxes[0],
            Some(Task::Done) => self.glyphs.boxes[1],
            None => self.glyphs.bullets[depth.min(self.glyphs.bullets.len() - 1)],
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
        if indent + LEAST_ROOM <= self.width { margin } else { outer.clone() }
    }
}

/// What stood in the source where the marker of an item stands on the screen.
fn source_of(item: &Item, list: &List, marker: String) -> String {
    match (list.first, item.task) {
        (_, Some(Task::Open)) => "- [ ] ".to_owned(),
        (_, Some(Task::Done)) => "- [x] ".to_owned(),
        (Some(_), None) => marker,
        (None, None) => "- ".to_owned(),
    }
}
