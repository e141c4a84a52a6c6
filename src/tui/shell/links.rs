//! Terminal links (OSC 8): marks cells that carry a link and wraps the drawing library's back end to emit
//! them.
//!
//! A cell stores the number of its link in the underline colour, which nothing else here uses. So the library
//! redraws a cell whose link changed, and the terminal never sees the number. A number means one address
//! until the screen is cleared. Called by the shell, around every frame.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::Color;
use ratatui_crossterm::CrosstermBackend;

use super::frame_writer::FrameWriter;
use crate::tui::link::{Link, LinkedCells};

/// The most addresses kept; when there are more, all are dropped and the screen is redrawn.
const MOST: usize = 4_096;

/// Whether links are sent to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Links {
    Reported,
    /// It would print the sequence, or its behaviour is unknown.
    #[default]
    Unreported,
}

/// The links and their numbers. Copies share them.
#[derive(Debug, Clone, Default)]
pub struct LinkTable {
    links: Links,
    known: Arc<Mutex<KnownLink>>,
}

#[derive(Debug, Default)]
struct KnownLink {
    numbers: BTreeMap<Link, u32>,
    links: Vec<Link>,
}

impl LinkTable {
    pub fn new(links: Links) -> Self {
        Self { links, ..Self::default() }
    }

    /// Stores the numbers of links in the cells that carry them.
    pub fn mark(&self, buffer: &mut Buffer, linked: &[LinkedCells]) {
        if self.links == Links::Unreported {
            return;
        }
        for LinkedCells { row, columns, link } in linked {
            let colour = link_colour(self.number(link));
            for column in columns.clone() {
                if let Some(cell) = buffer.cell_mut(Position { x: column, y: *row }) {
                    cell.underline_color = colour;
                }
            }
        }
    }

    /// Whether numbers may soon run out; the screen and the table must then be cleared.
    pub fn is_full(&self) -> bool {
        self.known.lock().links.len() > MOST
    }

    pub fn forget(&self) {
        *self.known.lock() = KnownLink::default();
    }

    fn number(&self, link: &Link) -> u32 {
        let mut known = self.known.lock();
        if let Some(number) = known.numbers.get(link) {
            return *number;
        }
        let number = u32::try_from(known.links.len()).unwrap_or(u32::MAX);
        known.numbers.insert(link.clone(), number);
        known.links.push(link.clone());
        number
    }

    fn link(&self, number: u32) -> Option<Link> {
        let known = self.known.lock();
        known.links.get(usize::try_from(number).ok()?).cloned()
    }
}

/// Encodes a number of at most 24 bits as a colour.
fn link_colour(number: u32) -> Color {
    let [_, red, green, blue] = number.to_be_bytes();
    Color::Rgb(red, green, blue)
}

fn number_of(cell: &Cell) -> Option<u32> {
    match cell.underline_color {
        Color::Rgb(red, green, blue) => Some(u32::from_be_bytes([0, red, green, blue])),
        _ => None,
    }
}

/// A back end that sends links to the terminal; everything else is done by the library's back end.
#[derive(Debug)]
pub struct LinkingBackend {
    inner: CrosstermBackend<FrameWriter>,
    out: FrameWriter,
    table: LinkTable,
}

impl LinkingBackend {
    pub fn new(out: &FrameWriter, table: &LinkTable) -> Self {
        Self { inner: CrosstermBackend::new(out.clone()), out: out.clone(), table: table.clone() }
    }

    /// Draws cells that all carry the link of this number.
    fn draw_linked(&mut self, number: u32, cells: &[(u16, u16, &Cell)]) -> io::Result<()> {
        let bare: Vec<(u16, u16, Cell)> = cells
            .iter()
            .map(|(x, y, cell)| {
                let mut cell = (*cell).clone();
                cell.underline_color = Color::Reset;
                (*x, *y, cell)
            })
            .collect();
        let link = self.table.link(number);
        if let Some(link) = &link {
            // The id joins the pieces of a link that is drawn in several places.
            write!(self.out, "\x1b]8;id=co{number};{}\x1b\\", link.address())?;
        }
        self.inner.draw(bare.iter().map(|(x, y, cell)| (*x, *y, cell)))?;
        if link.is_some() { self.out.write_all(b"\x1b]8;;\x1b\\") } else { Ok(()) }
    }
}

impl Backend for LinkingBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let cells: Vec<(u16, u16, &Cell)> = content.collect();
        for run in cells.chunk_by(|(_, _, one), (_, _, next)| number_of(one) == number_of(next)) {
            match run.first().and_then(|(_, _, cell)| number_of(cell)) {
                Some(number) => self.draw_linked(number, run)?,
                None => self.inner.draw(run.iter().copied())?,
            }
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.inner.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.inner.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        self.inner.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.inner)
    }

    fn scroll_region_up(&mut self, region: Range<u16>, lines: u16) -> io::Result<()> {
        self.inner.scroll_region_up(region, lines)
    }

    fn scroll_region_down(&mut self, region: Range<u16>, lines: u16) -> io::Result<()> {
        self.inner.scroll_region_down(region, lines)
    }
}

#[cfg(test)]
mod tests {
    use ratatui_core::layout::Rect;
    use ratatui_core::terminal::{Terminal, TerminalOptions, Viewport};

    use super::*;

    struct Drawn {
        out: FrameWriter,
        table: LinkTable,
        terminal: Terminal<LinkingBackend>,
    }

    impl Drawn {
        fn new(links: Links) -> Self {
            let (out, table) = (FrameWriter::default(), LinkTable::new(links));
            let viewport = Viewport::Fixed(Rect::new(0, 0, 12, 2));
            let backend = LinkingBackend::new(&out, &table);
            let terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
            Self { out, table, terminal }
        }

        /// The bytes sent to the terminal for a frame with `text` in its first row, some of it linked.
        fn frame(&mut self, text: &str, linked: &[(std::ops::Range<u16>, &str)]) -> String {
            let linked: Vec<LinkedCells> = linked
                .iter()
                .map(|(columns, address)| LinkedCells {
                    row: 0,
                    columns: columns.clone(),
                    link: Link::to(address).unwrap(),
                })
                .collect();
            let table = self.table.clone();
            self.terminal
                .draw(|frame| {
                    frame.buffer_mut().set_string(0, 0, text, ratatui_core::style::Style::new());
                    table.mark(frame.buffer_mut(), &linked);
                })
                .unwrap();
            String::from_utf8(self.out.take()).unwrap()
        }
    }

    const OPEN: &str = "\x1b]8;id=co0;https://a.example\x1b\\";
    const CLOSE: &str = "\x1b]8;;\x1b\\";

    #[test]
    fn linked_cells_stand_between_open_and_close() {
        let mut drawn = Drawn::new(Links::Reported);
        let bytes = drawn.frame("see here now", &[(4..8, "https://a.example")]);
        let (before, rest) = bytes.split_once(OPEN).expect("is opened");
        let (inside, after) = rest.split_once(CLOSE).expect("is closed");
        assert!(before.contains("see") && inside.contains("here") && after.contains("now"), "{bytes:?}");
        assert_eq!(bytes.matches("\x1b]8").count(), 2);
        assert!(!bytes.contains("58;2") && !bytes.contains("58:2"), "no underline is coloured: {bytes:?}");
    }

    #[test]
    fn a_link_that_changed_is_drawn_again_and_one_that_did_not_is_not() {
        let mut drawn = Drawn::new(Links::Reported);
        drawn.frame("here", &[(0..4, "https://a.example")]);
        assert!(!drawn.frame("here", &[(0..4, "https://a.example")]).contains("here"));
        let other = drawn.frame("here", &[(0..4, "https://b.example")]);
        assert!(
            other.contains("\x1b]8;id=co1;https://b.example\x1b\\") && other.contains("here"),
            "{other:?}"
        );
        let none = drawn.frame("here", &[]);
        assert!(none.contains("here") && !none.contains("\x1b]8"), "{none:?}");
    }

    #[test]
    fn a_terminal_that_is_not_told_gets_none() {
        let mut drawn = Drawn::new(Links::Unreported);
        let bytes = drawn.frame("here", &[(0..4, "https://a.example")]);
        assert!(bytes.contains("here") && !bytes.contains("\x1b]8"), "{bytes:?}");
    }

    #[test]
    fn a_full_table_starts_anew() {
        let table = LinkTable::new(Links::Reported);
        for at in 0..=MOST {
            table.number(&Link::to(&format!("https://a/{at}")).unwrap());
        }
        assert!(table.is_full());
        table.forget();
        assert!(!table.is_full() && table.link(0).is_none());
    }
}
