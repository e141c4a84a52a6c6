//! A pressed key as a plain value, and its name.
//!
//! Independent of the terminal library: the shell converts terminal events. Tests and the key table write
//! keys as text. Called by every part of the screen that reacts to keys.

use std::fmt;

/// One key press. Releases are filtered out before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub code: Code,
    pub mods: Mods,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// As typed: capital letters are themselves, without [`Mods::SHIFT`].
    Char(char),
    Enter,
    Tab,
    Esc,
    Backspace,
    Delete,
    Home,
    End,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    /// F1 to F12.
    F(u8),
}

/// The modifiers held with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mods(u8);

impl Mods {
    pub const NONE: Self = Self(0);
    pub const SHIFT: Self = Self(1);
    pub const CTRL: Self = Self(2);
    pub const ALT: Self = Self(4);

    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Key {
    pub const fn plain(code: Code) -> Self {
        Self { code, mods: Mods::NONE }
    }

    pub const fn char(c: char) -> Self {
        Self::plain(Code::Char(c))
    }

    pub const fn ctrl(c: char) -> Self {
        Self { code: Code::Char(c), mods: Mods::CTRL }
    }

    pub const fn alt(c: char) -> Self {
        Self { code: Code::Char(c), mods: Mods::ALT }
    }

    pub const fn held(mods: Mods, code: Code) -> Self {
        Self { code, mods }
    }

    /// Returns the character this key types, if any.
    pub fn typed_char(self) -> Option<char> {
        if let Code::Char(c) = self.code
            && self.mods == Mods::NONE
        {
            Some(c)
        } else {
            None
        }
    }
}

/// The names of keys: as displayed, and as written in brackets.
pub(super) const NAMES: [(Code, &str, &str); 14] = [
    (Code::Enter, "Enter", "ret"),
    (Code::Tab, "Tab", "tab"),
    (Code::Esc, "Esc", "esc"),
    (Code::Backspace, "Backspace", "bs"),
    (Code::Delete, "Delete", "del"),
    (Code::Home, "Home", "home"),
    (Code::End, "End", "end"),
    (Code::Up, "Up", "up"),
    (Code::Down, "Down", "down"),
    (Code::Left, "Left", "left"),
    (Code::Right, "Right", "right"),
    (Code::PageUp, "PgUp", "pgup"),
    (Code::PageDown, "PgDn", "pgdn"),
    (Code::Char(' '), "Space", "space"),
];

impl fmt::Display for Key {
    /// Writes the form shown in help: `Ctrl+C`, `Alt+Enter`, `y`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (held, name) in [(Mods::CTRL, "Ctrl+"), (Mods::ALT, "Alt+"), (Mods::SHIFT, "Shift+")] {
            if self.mods.has(held) {
                f.write_str(name)?;
            }
        }
        if let Some((_, name, _)) = NAMES.iter().find(|(code, ..)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            Code::Char(c) if self.mods.has(Mods::CTRL) || self.mods.has(Mods::ALT) => {
                write!(f, "{}", c.to_ascii_uppercase())
            }
            Code::Char(c) => write!(f, "{c}"),
            Code::F(number) => write!(f, "F{number}"),
            code => write!(f, "{code:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_shown_as_people_write_them() {
        let cases = [
            (Key::ctrl('c'), "Ctrl+C"),
            (Key::char('y'), "y"),
            (Key::held(Mods::ALT, Code::Up), "Alt+Up"),
            (Key::held(Mods::SHIFT, Code::Enter), "Shift+Enter"),
            (Key::plain(Code::PageDown), "PgDn"),
        ];
        for (key, shown) in cases {
            assert_eq!(key.to_string(), shown);
        }
    }
}
