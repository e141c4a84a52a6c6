//! Shortening of long text: to its beginning and its end, or to one line.
//!
//! Called by the tools that cap their output, by the prompt builder and by lists in the front ends. It never
//! hides that something is missing: the result has the counts, which callers display, or ends in `…`.

use std::path::Path;

use super::{sanitize_line, truncate, width};

/// The beginning and the end of a text, and the amount dropped between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadTail<'a> {
    pub head: &'a str,
    /// Empty when nothing was dropped.
    pub tail: &'a str,
    pub dropped_bytes: usize,
    /// Lines that are missing entirely or in part.
    pub dropped_lines: usize,
}

/// Keeps the first and the last half of `max_bytes` of a text that is longer than that.
///
/// Both cuts fall on a line end if there is one within the outer half of each half, else on a character
/// boundary. `head.len() + tail.len()` never exceeds `max_bytes`.
#[must_use]
pub fn head_tail(text: &str, max_bytes: usize) -> HeadTail<'_> {
    if text.len() <= max_bytes {
        return HeadTail { head: text, tail: "", dropped_bytes: 0, dropped_lines: 0 };
    }
    let half = max_bytes / 2;
    let (head, rest) = text.split_at(head_end(text, max_bytes - half));
    let (dropped, tail) = rest.split_at(tail_start(rest, half));
    HeadTail { head, tail, dropped_bytes: dropped.len(), dropped_lines: dropped.lines().count() }
}

fn head_end(text: &str, room: usize) -> usize {
    let end = text.floor_char_boundary(room);
    match text.split_at(end).0.rfind('\n') {
        Some(at) if at + 1 >= room / 2 => at + 1,
        Some(_) | None => end,
    }
}

fn tail_start(text: &str, room: usize) -> usize {
    let start = text.ceil_char_boundary(text.len() - room);
    let tail = text.split_at(start).1;
    match tail.find('\n') {
        Some(at) if at < room / 2 => start + at + 1,
        Some(_) | None => start,
    }
}

/// Returns a path on one line in at most `width` cells, only its last parts if it is long.
#[must_use]
pub fn short_path(path: &Path, width: usize) -> String {
    let shown = path.display().to_string();
    let parts: Vec<&str> = shown.split('/').collect();
    match parts.as_slice() {
        [.., above, folder] if shown.chars().count() > 30 => {
            one_line_summary(&format!("…/{above}/{folder}"), width)
        }
        _ => one_line_summary(&shown, width),
    }
}

/// Returns the first non-blank line, sanitized, its white space collapsed, in at most `width` cells. It ends
/// in `…` if anything was omitted, including further lines. No more of a long line is sanitized and measured
/// than may be displayed.
#[must_use]
pub fn one_line_summary(text: &str, width: usize) -> String {
    let mut lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty());
    let Some(first) = lines.next() else { return String::new() };
    let mut bytes = width.saturating_mul(4).saturating_add(LOOK_AHEAD);
    loop {
        let head = first.split_at(first.floor_char_boundary(bytes)).0;
        let collapsed = head.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut shown = sanitize_line(&collapsed).into_owned();
        let is_whole = head.len() == first.len();
        if is_whole && lines.next().is_some() {
            shown.push_str(" …");
        }
        if is_whole || self::width(&shown) > width.saturating_add(LOOK_AHEAD) {
            return truncate(&shown, width);
        }
        bytes = bytes.saturating_mul(8);
    }
}

/// Cells that must follow the displayed ones before the rest of a line is left unread: an emoji or a letter with marks at
/// the end of what is read may be incomplete, and must not be displayed.
const LOOK_AHEAD: usize = 64;
