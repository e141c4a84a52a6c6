//! Columns of text for lists: as wide as their widest cell, measured in terminal cells.

use crate::stdx::text::{sanitize_line, truncate, width, wrap};

/// The greatest width of a column, in cells; longer texts are truncated.
const WIDEST: usize = 48;

/// The greatest width of a line of help.
pub(super) const WIDTH: usize = 80;

/// Formats rows under their heads, one line each, sanitized.
pub(super) fn table<const N: usize>(heads: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let cut = |row: [String; N]| row.map(|cell| truncate(&sanitize_line(&cell), WIDEST));
    let rows: Vec<[String; N]> = rows.into_iter().map(cut).collect();
    let mut widths = heads.map(width);
    for row in &rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(width(cell));
        }
    }
    let heads = heads.map(str::to_owned);
    std::iter::once(&heads)
        .chain(&rows)
        .map(|row| format!("{}\n", pad_row(row, &widths).trim_end()))
        .collect()
}

fn pad_row(cells: &[String], widths: &[usize]) -> String {
    let pad = |(cell, widest): (&String, &usize)| format!("{cell}{}", " ".repeat(widest - width(cell) + 2));
    cells.iter().zip(widths).map(pad).collect()
}

/// Formats rows without heads, indented, in lines of at most [`WIDTH`] columns: the last column wraps, the others
/// must leave it room.
pub(super) fn columns<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| width(&row[at])).max().unwrap_or_default());
    let mut out = String::new();
    for row in rows {
        let mut line = format!("  {}", pad_row(&row[..N - 1], &widths));
        let indent = width(&line);
        for part in wrap(&row[N - 1], WIDTH.saturating_sub(indent)) {
            out.push_str(format!("{line}{part}").trim_end());
            out.push('\n');
            line = " ".repeat(indent);
        }
    }
    out
}

/// Returns as much of an id as distinguishes two sessions: its whole time, to the millisecond.
pub(super) fn short(id: &str) -> String {
    id.chars().take(13).collect()
}
