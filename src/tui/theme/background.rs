//! Backgrounds of text, and the colours that commands give their own output.

use ratatui_core::style::Color;

use super::Role;

/// The background of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackgroundRole {
    /// The terminal's own.
    #[default]
    None,
    /// A block of code.
    Code,
    /// A line of a diff, and the words of it that differ.
    Added,
    AddedWord,
    Removed,
    RemovedWord,
    /// One that a command chose.
    Own(Shade),
}

/// A colour that a command chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shade {
    /// Of the terminal's table; the first sixteen are its named colours.
    Indexed(u8),
    Rgb(u8, u8, u8),
}

impl BackgroundRole {
    /// Returns the backgrounds: dark, light (both of the 256 colours), 16 colours, where only a command's own is kept.
    pub(super) fn colours(self) -> [Option<Color>; 3] {
        let of = |dark, light| [Some(Color::Indexed(dark)), Some(Color::Indexed(light)), None];
        match self {
            Self::None => [None; 3],
            Self::Code => of(235, 255),
            Self::Added => of(22, 194),
            Self::AddedWord => of(28, 157),
            Self::Removed => of(52, 224),
            Self::RemovedWord => of(88, 217),
            Self::Own(shade) => [Some(shade.colour()); 3],
        }
    }

    /// Returns the role that says the same where there are no backgrounds.
    pub(super) fn role(self) -> Option<Role> {
        match self {
            Self::Added | Self::AddedWord => Some(Role::Added),
            Self::Removed | Self::RemovedWord => Some(Role::Removed),
            Self::None | Self::Code | Self::Own(_) => None,
        }
    }

    /// Whether it marks words within a line.
    pub(super) fn is_of_words(self) -> bool {
        matches!(self, Self::AddedWord | Self::RemovedWord)
    }
}

impl Shade {
    pub(super) fn colour(self) -> Color {
        match self {
            Self::Indexed(index) => Color::Indexed(index),
            Self::Rgb(r, g, b) => Color::Rgb(r, g, b),
        }
    }

    /// Whether text of this colour is legible on a background of the other one.
    pub fn stands_out_from(self, other: Self) -> bool {
        self.brightness().abs_diff(other.brightness()) >= LEAST_CONTRAST
    }

    /// Whether it may be the colour of the terminal's own background, or of its own text.
    pub fn may_be_the_terminals(self) -> bool {
        !(LEAST_CONTRAST..=255 - LEAST_CONTRAST).contains(&self.brightness())
    }

    /// Returns its brightness, 0 to 255, as usual tables have it.
    fn brightness(self) -> u32 {
        let [r, g, b] = self.rgb();
        (u32::from(r) * 299 + u32::from(g) * 587 + u32::from(b) * 114) / 1000
    }

    fn rgb(self) -> [u8; 3] {
        match self {
            Self::Rgb(r, g, b) => [r, g, b],
            Self::Indexed(index @ 0..16) => NAMED[usize::from(index)],
            Self::Indexed(index @ 16..232) => {
                let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
                let at = index - 16;
                [level(at / 36), level(at / 6 % 6), level(at % 6)]
            }
            Self::Indexed(index) => [8 + (index - 232) * 10; 3],
        }
    }
}

/// The least difference in brightness between a text and its background.
const LEAST_CONTRAST: u32 = 24;

/// The sixteen named colours, as xterm draws them.
const NAMED: [[u8; 3]; 16] = [
    [0, 0, 0],
    [205, 0, 0],
    [0, 205, 0],
    [205, 205, 0],
    [0, 0, 238],
    [205, 0, 205],
    [0, 205, 205],
    [229, 229, 229],
    [127, 127, 127],
    [255, 0, 0],
    [0, 255, 0],
    [255, 255, 0],
    [92, 92, 255],
    [255, 0, 255],
    [0, 255, 255],
    [255, 255, 255],
];
