//! Columns of text for lists: as wide as their widest cell, measured in terminal cells.

use jiff::Timestamp;

use crate::stdx::text::{sanitize_line, truncate, width};

/// The greatest width of a column, in cells; longer texts are truncated.
const WIDEST: usize = 48;

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
