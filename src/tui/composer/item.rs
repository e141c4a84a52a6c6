//! The items of a text in an editor: graphemes, and pasted blocks that act as one item.
//!
//! A block keeps its label, so that neither a key nor a frame reads the block itself. An image is a block
//! too; its text is its mention, so it can go wherever text goes. Called by the editor and by the code that
//! draws it.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::message::images;
use crate::stdx::image::Size;
use crate::stdx::text::{group_digits, size};

/// A paste of more lines or bytes than this becomes one atomic chip.
const CHIP_LINES: usize = 8;
const CHIP_BYTES: usize = 1_000;

/// The longest text that is held as single graphemes, in bytes: every frame iterates over them.
pub const LONGEST_SHOWN: usize = 64 * 1024;

/// One item of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// One grapheme; a line break is `"\n"`.
    Grapheme(Box<str>),
    /// A large paste, or an image.
    Chip(Arc<Chip>),
}

/// A block of text that is shown as its label.
#[derive(Debug, PartialEq, Eq)]
pub struct Chip {
    text: Box<str>,
    label: String,
    what: ItemKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    Pasted,
    /// An image with its number in the text.
    Image {
        number: usize,
        size: Size,
    },
}

impl Chip {
    fn new(text: &str) -> Self {
        let lines = match text.lines().count() {
            0 | 1 => String::new(),
            lines => format!("{} lines, ", group_digits(lines)),
        };
        let label = format!("[pasted {lines}{}]", size(text.len()));
        Self { text: text.into(), label, what: ItemKind::Pasted }
    }

    fn image(mention: &str, number: usize, size: Size) -> Self {
        let label = images::label(number, Some(size), None);
        Self { text: mention.into(), label, what: ItemKind::Image { number, size } }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_image(&self) -> bool {
        self.what != ItemKind::Pasted
    }

    pub fn label(&self) -> &str {
        &self.label
    }
}

impl Item {
    pub fn text(&self) -> &str {
        match self {
            Self::Grapheme(text) => text,
            Self::Chip(chip) => chip.text(),
        }
    }

    /// Creates an image item; `None` if no mention can express the path.
    pub(super) fn image(path: &str, size: Size) -> Option<Self> {
        let mention = images::mention(path)?;
        Some(Self::Chip(Arc::new(Chip::image(&mention, 1, size))))
    }

    pub(super) fn is_image(&self) -> bool {
        matches!(self, Self::Chip(chip) if chip.is_image())
    }

    pub(super) fn is_pasted(&self) -> bool {
        matches!(self, Self::Chip(chip) if chip.what == ItemKind::Pasted)
    }

    pub fn is_break(&self) -> bool {
        matches!(self, Self::Grapheme(text) if &**text == "\n")
    }

    pub(super) fn is_space(&self) -> bool {
        matches!(self, Self::Grapheme(text) if text.chars().all(char::is_whitespace))
    }

    pub(super) fn is_word(&self) -> bool {
        match self {
            Self::Grapheme(text) => text.chars().any(|c| c.is_alphanumeric() || c == '_'),
            Self::Chip(_) => true,
        }
    }
}

/// Numbers the images of a text in their order.
pub(super) fn number_images(items: &mut [Item]) {
    let mut next = 1;
    for item in items {
        let Item::Chip(chip) = item else { continue };
        let ItemKind::Image { number, size } = chip.what else { continue };
        if number != next {
            *chip = Arc::new(Chip::image(&chip.text, next, size));
        }
        next += 1;
    }
}

pub(super) fn graphemes(text: &str) -> Vec<Item> {
    text.graphemes(true).map(|grapheme| Item::Grapheme(grapheme.into())).collect()
}

/// Converts pasted text to items: one chip if it is large.
pub(super) fn pasted_items(text: &str) -> Vec<Item> {
    let large = text.len() > CHIP_BYTES || text.lines().nth(CHIP_LINES).is_some();
    if large { vec![Item::Chip(Arc::new(Chip::new(text)))] } else { graphemes(text) }
}

/// Converts typed text to items: one chip only if it is too large to iterate over.
pub(super) fn typed_items(text: &str) -> Vec<Item> {
    if text.len() > LONGEST_SHOWN { pasted_items(text) } else { graphemes(text) }
}

/// Unifies line ends and drops NULs.
pub(super) fn clean(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "")
}
