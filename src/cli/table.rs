//! Columns of text for lists: as wide as their widest cell, measured in terminal cells.

use std::fmt::Display;

use jiff::Timestamp;

use crate::stdx::text::{sanitize_line, truncate, width, wrap};

/// The greatest width of a column, in cells; longer texts are truncated.
const WIDEST: usize = 48;

/// The greatest width of a line of help.
pub(super) const WIDTH: usize = 80;

/// Formats rows under their heads, one line each, sanitized.
pub(super) fn table<const N: usize>(heads: [&str; N], rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> =
        rows.iter().map(|row| row.each_ref().map(|cell| truncate(&sanitize_line(cell), WIDEST))).collect();
    let mut widths = heads.map(width);
    for row in &rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(width(cell));
        }
    }
    let mut out = String::new();
    push_line(&mut out, &heads.map(str::to_owned), &widths);
    for row in &rows {
        push_line(&mut out, row, &widths);
    }
    out
}

fn push_line<const N: usize>(out: &mut String, cells: &[String; N], widths: &[usize; N]) {
    let mut line = String::new();
    for (cell, widest) in cells.iter().zip(widths) {
        line.push_str(cell);
        line.push_str(&" ".repeat(widest - width(cell) + 2));
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// Formats rows without heads, indented, in lines of at most [`WIDTH`] columns: the last column wraps, the others
/// must leave it room.
pub(super) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| width(&row[at])).max().unwrap_or_default());
    let indent = widths.iter().take(N - 1).map(|width| width + 2).sum::<usize>() + 2;
    let mut out = String::new();
    for row in rows {
        let (last, first) = (&row[N - 1], &row[..N - 1]);
        let mut line = String::from("  ");
        for (cell, widest) in first.iter().zip(widths) {
            line.push_str(&format!("{cell}{}", " ".repeat(widest - width(cell) + 2)));
        }
        for part in wrap(last, WIDTH.saturating_sub(indent)) {
            out.push_str(format!("{line}{part}").trim_end());
            out.push('\n');
            line = " ".repeat(indent);
        }
    }
    out
}

/// Formats a number of things.
pub(super) fn several<N: Display + PartialEq + From<u8>>(number: N, thing: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Returns as much of an id as distinguishes two sessions: its whole time, to the millisecond.
pub(super) fn short(id: &str) -> String {
    id.chars().take(13).collect()
}

/// Formats the time since `then`, in one unit.
pub(super) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second()).max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        172_800.. => format!("{} d", seconds / 86_400),
        i64::MIN..0 => String::new(),
    }
}
