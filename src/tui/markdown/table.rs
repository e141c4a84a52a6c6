//! Lays out tables: columns fit the width and cells wrap.
//!
//! Where a column would be narrower than one of its words, each row becomes a block of `head: cell` lines with a gap
//! after it; nothing is clipped. Called by the Markdown layout.

use pulldown_cmark::Alignment;

use super::parse::Table;
use crate::stdx::text::{Token, tokens};
use crate::tui::line::{Join, Line, Margin, SourceLine, Span, TextStyle, cells, wrap_spans};
use crate::tui::theme::{Glyphs, Role};

/// The least width of a squeezed column, in cells.
const LEAST_COLUMN: usize = 5;

/// Cells that a column takes beside its text: a bar, and a space on either side.
const FRAME: usize = 3;

pub fn lines(table: &Table, width: usize, margin: &Margin, glyphs: &'static Glyphs) -> Vec<Line> {
    let indent = margin.first.width().max(margin.rest.width());
    let room = width.saturating_sub(indent);
    let Some(columns) = columns(table, room) else { return as_list(table, width, margin) };
    let sheet = Sheet { table, columns, glyphs };
    let mut bodies = sheet.row(&bold_head(table));
    bodies.push(sheet.ruler());
    for row in &table.rows {
        bodies.extend(sheet.row(row));
    }
    let mut before = &margin.first;
    let mut out = Vec::with_capacity(bodies.len());
    for body in bodies {
        let mut line = before.clone();
        line.copied.join = body.copied.join;
        line.copied.exact = body.copied.exact.map(|exact| exact.moved(line.copied.margin));
        body.spans.into_iter().for_each(|span| line.push(span));
        out.push(line);
        before = &margin.rest;
    }
    out
}

/// Returns the width of each column's text, or `None` if the columns cannot fit.
fn columns(table: &Table, room: usize) -> Option<Vec<usize>> {
    let count = table.head.len();
    let room = room.checked_sub(count * FRAME + 1)?;
    let most = |column: usize, measure: fn(&[Span]) -> usize| {
        let rows = std::iter::once(&table.head).chain(&table.rows);
        rows.filter_map(|row| row.get(column)).map(|cell| measure(cell)).max().unwrap_or(0)
    };
    let natural: Vec<usize> = (0..count).map(|column| most(column, longest).max(1)).collect();
    if natural.iter().sum::<usize>() <= room {
        return Some(natural);
    }
    let least = natural.iter().enumerate();
    let least = least.map(|(column, natural)| most(column, longest_word).max(LEAST_COLUMN).min(*natural));
    let least: Vec<usize> = least.collect();
    (least.iter().sum::<usize>() <= room).then(|| share(&natural, &least, room))
}

/// Gives columns of long words and narrow columns the width they need; the others share the rest evenly.
fn share(natural: &[usize], least: &[usize], room: usize) -> Vec<usize> {
    let mut widths = vec![0; natural.len()];
    let mut open: Vec<usize> = (0..natural.len()).collect();
    let mut left = room;
    loop {
        let fair = left / open.len().max(1);
        // Words first: what narrow columns leave over is shared, what words need is not.
        let (mut fixed, mut others): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|&&column| least[column] > fair);
        let needed = if fixed.is_empty() { natural } else { least };
        if fixed.is_empty() {
            (fixed, others) = open.iter().partition(|&&column| natural[column] <= fair);
        }
        for &column in &fixed {
            widths[column] = needed[column];
            left -= needed[column];
        }
        open = others;
        if fixed.is_empty() || open.is_empty() {
            break;
        }
    }
    let fair = left / open.len().max(1);
    let extra = left % open.len().max(1);
    for (index, &column) in open.iter().enumerate() {
        widths[column] = fair + usize::from(index < extra);
    }
    widths
}

/// Returns the width in cells of the longest line of a table cell.
fn longest(cell: &[Span]) -> usize {
    let lines = cell.split(Span::is_break);
    lines.map(|line| line.iter().map(Span::width).sum::<usize>()).max().unwrap_or(0)
}

/// Returns the width in cells of the longest word of a table cell.
fn longest_word(cell: &[Span]) -> usize {
    let (mut longest, mut current) = (0, 0);
    for span in cell {
        for token in tokens(span.text()) {
            match token {
                Token::Narrow(text) => current += cells(text),
                Token::Space(_) | Token::Wide(_) => current = 0,
            }
            longest = longest.max(current);
        }
    }
    longest
}

struct Sheet<'a> {
    table: &'a Table,
    columns: Vec<usize>,
    glyphs: &'static Glyphs,
}

impl Sheet<'_> {
    fn row(&self, row: &[Vec<Span>]) -> Vec<Line> {
        let cells: Vec<Vec<Line>> = self
            .columns
            .iter()
            .enumerate()
            .map(|(column, width)| {
                let spans = row.get(column).map_or(&[][..], Vec::as_slice);
                wrap_spans(spans, *width, &Margin::default())
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        (0..height).map(|at| self.copyable(self.line(&cells, at), row, at)).collect()
    }

    /// Makes a row copy as one Markdown row, however many lines it takes on the screen.
    fn copyable(&self, mut line: Line, row: &[Vec<Span>], at: usize) -> Line {
        let columns = self.columns.iter().scan(0, |before, width| {
            let start = *before + 2;
            *before += width + FRAME;
            Some(start..start + width)
        });
        line.copied.exact = Some(SourceLine::new(&row_source(row), columns.collect()));
        if at > 0 {
            line.copied.join = Join::Gap(" ".to_owned());
        }
        line
    }

    fn line(&self, cells: &[Vec<Line>], at: usize) -> Line {
        let mut line = Line::of(self.glyphs.side, Role::Dim);
        for (column, width) in self.columns.iter().enumerate() {
            let text = cells[column].get(at).cloned().unwrap_or_default();
            let free = width.saturating_sub(text.width());
            let before = match self.table.alignments.get(column) {
                Some(Alignment::Right) => free,
                Some(Alignment::Center) => free / 2,
                Some(Alignment::Left | Alignment::None) | None => 0,
            };
            line.push(Span::new(" ".repeat(before + 1), Role::Text));
            line = line.joined(text).with(" ".repeat(free - before + 1), Role::Text);
            line.push(Span::new(self.glyphs.side, Role::Dim));
        }
        line
    }

    fn ruler(&self) -> Line {
        let mut text = String::new();
        for (column, width) in self.columns.iter().enumerate() {
            text.push_str(if column == 0 { self.glyphs.tee[0] } else { self.glyphs.cross });
            text.push_str(&self.glyphs.rule.repeat(width + 2));
        }
        text.push_str(self.glyphs.tee[1]);
        let mut line = Line::of(text, Role::Dim);
        line.copied.exact = Some(SourceLine::whole(&ruler_source(self.columns.len())));
        line
    }
}

fn bold_head(table: &Table) -> Vec<Vec<Span>> {
    let mut head = table.head.clone();
    head.iter_mut().flatten().for_each(|span| span.style.bold = true);
    head
}

fn as_list(table: &Table, width: usize, margin: &Margin) -> Vec<Line> {
    let mut out = Vec::new();
    let mut margin = margin.clone();
    let head_only = [table.head.clone()];
    let head = bold_head(table);
    let rows: &[Vec<Vec<Span>>] = if table.rows.is_empty() { &head_only } else { &table.rows };
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            out.push(margin.rest.clone().ours());
        }
        let from = out.len();
        for (column, cell) in row.iter().enumerate() {
            let mut spans = Vec::new();
            if !table.rows.is_empty() {
                spans.extend(head.get(column).into_iter().flatten().cloned());
                spans.push(Span::styled(": ", TextStyle::of(Role::Dim)));
            }
            spans.extend(cell.iter().cloned());
            out.extend(wrap_spans(&spans, width, &margin));
            margin = Margin::even(margin.rest);
        }
        let above = if at == 0 && !table.rows.is_empty() { head_source(table) } else { String::new() };
        copies_as(&mut out[from..], &(above + &row_source(row)));
    }
    out
}

/// Makes the lines of a row copy as its source.
fn copies_as(lines: &mut [Line], source: &str) {
    for (at, line) in lines.iter_mut().enumerate() {
        if at > 0 && line.copied.join == Join::Start {
            line.copied.join = Join::Gap(" ".to_owned());
        }
    }
    if let Some(first) = lines.first_mut() {
        first.copied.exact = Some(SourceLine::new(source, Vec::new()));
    }
}

/// Returns a row in Markdown.
fn row_source(row: &[Vec<Span>]) -> String {
    let text = |cell: &Vec<Span>| cell.iter().map(|span| span.text().replace('\n', " ")).collect::<String>();
    let cells: Vec<String> = row.iter().map(text).collect();
    format!("| {} |", cells.join(" | "))
}

/// Returns the line below the head in Markdown.
fn ruler_source(columns: usize) -> String {
    format!("|{}", "---|".repeat(columns))
}

fn head_source(table: &Table) -> String {
    format!("{}\n{}\n", row_source(&table.head), ruler_source(table.head.len()))
}
