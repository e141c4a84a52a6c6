//! Keeps the screen as the terminal shows it and sends the smallest change that produces the next frame.
//!
//! Two buffers are compared cell by cell. Where most of the pane only moved up or down, the terminal
//! scrolls it, and only new cells are sent. That takes a tenth of the bytes while an answer scrolls, which
//! matters on a slow line. Called by the shell, once a frame.

use std::ops::Range;

use ratatui_core::backend::Backend;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::{Position, Rect};

/// Scrolling is worth its bytes if it saves sending at least this many non-blank rows.
const LEAST_MOVED: usize = 5;

/// The greatest distance, in rows, at which a move of the pane is recognised.
const FARTHEST: u16 = 24;

/// The scrolling area: its rows, and the columns that are compared. Cells beside it scroll along and are
/// redrawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    pub rows: Range<u16>,
    pub columns: u16,
}

/// A terminal of a fixed size. Its size is never asked for: on a lost terminal that would start a program.
pub struct Canvas<B> {
    backend: B,
    shown: Buffer,
    next: Buffer,
    cursor: Cursor,
}

/// The state of the terminal's cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cursor {
    Unknown,
    Hidden,
    At(Position),
}

/// The direction in which rows moved since the last frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScrollDirection {
    Up,
    Down,
}

impl<B: Backend> Canvas<B> {
    /// Creates a canvas for a terminal whose screen is blank.
    pub fn new(backend: B, columns: u16, rows: u16) -> Self {
        let blank = Buffer::empty(Rect::new(0, 0, columns, rows));
        Self { backend, shown: blank.clone(), next: blank, cursor: Cursor::Unknown }
    }

    pub fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// Draws one frame: `paint` fills a blank buffer and returns the cursor position, if the cursor is
    /// visible.
    pub fn draw(
        &mut self,
        pane: &Pane,
        paint: impl FnOnce(&mut Buffer) -> Option<Position>,
    ) -> Result<(), B::Error> {
        self.next.reset();
        let cursor = paint(&mut self.next);
        if let Some((way, by)) = scroll_of(&self.shown, &self.next, pane) {
            self.move_rows(&pane.rows, way, by)?;
        }
        let changed = self.shown.diff(&self.next);
        if !changed.is_empty() {
            self.backend.draw(changed.into_iter())?;
            // Drawing moves the cursor.
            if let Cursor::At(_) = self.cursor {
                self.cursor = Cursor::Unknown;
            }
        }
        self.place(cursor)?;
        std::mem::swap(&mut self.shown, &mut self.next);
        Ok(())
    }

    fn place(&mut self, cursor: Option<Position>) -> Result<(), B::Error> {
        let wanted = cursor.map_or(Cursor::Hidden, Cursor::At);
        if wanted == self.cursor {
            return Ok(());
        }
        match wanted {
            Cursor::At(position) => {
                if self.cursor == Cursor::Hidden || self.cursor == Cursor::Unknown {
                    self.backend.show_cursor()?;
                }
                self.backend.set_cursor_position(position)?;
            }
            Cursor::Hidden | Cursor::Unknown => self.backend.hide_cursor()?,
        }
        self.cursor = wanted;
        Ok(())
    }

    /// Scrolls rows on the terminal and in the buffer of shown cells.
    fn move_rows(&mut self, rows: &Range<u16>, way: ScrollDirection, by: u16) -> Result<(), B::Error> {
        let width = usize::from(self.shown.area.width);
        let cells = usize::from(rows.start) * width..usize::from(rows.end) * width;
        let gone = usize::from(by) * width;
        let Some(moving) = self.shown.content.get_mut(cells) else { return Ok(()) };
        let blank = match way {
            ScrollDirection::Up => {
                self.backend.scroll_region_up(rows.clone(), by)?;
                moving.rotate_left(gone);
                moving.len() - gone..moving.len()
            }
            ScrollDirection::Down => {
                self.backend.scroll_region_down(rows.clone(), by)?;
                moving.rotate_right(gone);
                0..gone
            }
        };
        moving[blank].fill(Cell::EMPTY);
        if let Cursor::At(_) = self.cursor {
            self.cursor = Cursor::Unknown;
        }
        Ok(())
    }
}

/// Returns the direction and distance by which most of the pane moved, if it did.
fn scroll_of(shown: &Buffer, next: &Buffer, pane: &Pane) -> Option<(ScrollDirection, u16)> {
    let height = pane.rows.end.checked_sub(pane.rows.start).filter(|height| *height > 2)?;
    // While nothing moves, these rows are unchanged.
    if [0, height / 2].iter().all(|at| cells(shown, pane, *at) == cells(next, pane, *at)) {
        return None;
    }
    let same = |at: u16, was: u16| {
        let cells_now = cells(next, pane, at);
        usize::from(cells_now == cells(shown, pane, was) && cells_now.iter().any(is_filled))
    };
    let stays: usize = (0..height).map(|at| same(at, at)).sum();
    let farthest = FARTHEST.min(height - 1);
    let up = (1..=farthest)
        .map(|by| (ScrollDirection::Up, by, (0..height - by).map(|at| same(at, at + by)).sum::<usize>()));
    let down =
        (1..=farthest).map(|by| (ScrollDirection::Down, by, (by..height).map(|at| same(at, at - by)).sum()));
    let enough = |count: usize| count >= LEAST_MOVED + stays;
    // The shortest move that keeps more than half of the filled rows, found without trying all of them.
    let filled = (0..height).filter(|at| cells(next, pane, *at).iter().any(is_filled)).count();
    up.chain(down).find(|(_, _, count)| enough(*count) && count * 2 > filled).map(|(way, by, _)| (way, by))
}

/// Returns the pane's cells in one of its rows; none outside the buffer.
fn cells<'a>(buffer: &'a Buffer, pane: &Pane, row: u16) -> &'a [Cell] {
    let from = usize::from(pane.rows.start + row) * usize::from(buffer.area.width);
    let columns = usize::from(pane.columns.min(buffer.area.width));
    buffer.content.get(from..from + columns).unwrap_or_default()
}

fn is_filled(cell: &Cell) -> bool {
    cell.symbol() != " "
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui_core::style::Style;
    use ratatui_crossterm::CrosstermBackend;

    use super::*;
    use crate::tui::shell::frame_writer::FrameWriter;

    const COLUMNS: u16 = 24;
    const ROWS: u16 = 14;

    fn pane() -> Pane {
        Pane { rows: 2..12, columns: 16 }
    }

    /// A frame whose pane shows these lines from one on, with a column beside it and a line below.
    fn paint(buffer: &mut Buffer, lines: &[String], from: usize, beside: &str) {
        for row in pane().rows {
            let at = from + usize::from(row - pane().rows.start);
            let line = lines.get(at).map_or("", String::as_str);
            buffer.set_stringn(0, row, line, 16, Style::new());
            buffer.set_stringn(17, row, beside, 7, Style::new());
        }
        buffer.set_stringn(0, 13, format!("at {from}"), 24, Style::new());
    }

    fn lines(count: usize) -> Vec<String> {
        (0..count).map(|at| if at % 4 == 3 { String::new() } else { format!("line {at} 日本") }).collect()
    }

    #[test]
    fn rows_that_only_moved_are_recognised() {
        let frame = |from: usize| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, COLUMNS, ROWS));
            paint(&mut buffer, &lines(60), from, "|");
            buffer
        };
        for (from, to, expected) in [
            (4, 5, Some((ScrollDirection::Up, 1))),
            (4, 7, Some((ScrollDirection::Up, 3))),
            (7, 4, Some((ScrollDirection::Down, 3))),
            (4, 4, None),
            (4, 30, None),
        ] {
            assert_eq!(scroll_of(&frame(from), &frame(to), &pane()), expected, "{from} to {to}");
        }
    }

    #[test]
    fn little_is_sent_where_little_changed() {
        let mut stage = Stage::new();
        let mut sent = |from| {
            let paint = |buffer: &mut Buffer| {
                paint(buffer, &lines(50), from, "|");
                Some(Position { x: 3, y: 13 })
            };
            stage.canvas.draw(&pane(), paint).unwrap();
            stage.out.take().len()
        };
        let (whole, same, moved) = (sent(0), sent(0), sent(1));
        assert_eq!(same, 0);
        assert!(moved < whole / 2, "{moved} of {whole}");
    }

    /// A terminal and the canvas that draws on it.
    struct Stage {
        out: FrameWriter,
        canvas: Canvas<CrosstermBackend<FrameWriter>>,
        terminal: vt100::Parser,
    }

    impl Stage {
        fn new() -> Self {
            let out = FrameWriter::default();
            let canvas = Canvas::new(CrosstermBackend::new(out.clone()), COLUMNS, ROWS);
            let terminal = vt100::Parser::new(ROWS.try_into().unwrap(), COLUMNS.try_into().unwrap(), 0);
            Self { out, canvas, terminal }
        }

        fn draw(&mut self, from: usize, beside: &str, cursor: Option<Position>) {
            let paint = |buffer: &mut Buffer| {
                paint(buffer, &lines(50), from, beside);
                cursor
            };
            self.canvas.draw(&pane(), paint).unwrap();
            self.terminal.process(&self.out.take());
        }

        /// The text on the screen, and the cursor if it is visible.
        fn shown(&self) -> (Vec<String>, Option<(u16, u16)>) {
            let screen = self.terminal.screen();
            let cursor = (!screen.hide_cursor()).then(|| screen.cursor_position());
            (screen.rows(0, COLUMNS).map(|row| row.trim_end().to_owned()).collect(), cursor)
        }
    }

    proptest! {
        #[test]
        fn the_terminal_shows_what_was_painted(
            steps in proptest::collection::vec((0usize..40, "[ab|]{0,7}", proptest::option::of(0u16..24)), 1..12),
        ) {
            let mut stage = Stage::new();
            for (from, beside, cursor) in steps {
                let cursor = cursor.map(|x| Position { x, y: 1 });
                stage.draw(from, &beside, cursor);
                let mut fresh = Stage::new();
                fresh.draw(from, &beside, cursor);
                prop_assert_eq!(stage.shown(), fresh.shown());
            }
        }
    }
}
