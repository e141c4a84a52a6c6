//! A pressed key as a plain value, and its written form (`<c-c>`, `<ret>`, `x`).
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
    pub fn typed(self) -> Option<char> {
        if let Code::Char(c) = self.code
            && self.mods == Mods::NONE
        {
            Some(c)
        } else {
            None
        }
    }
}

/// The names of keys: as displayed, and as written in key strings.
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

/// Why a key string cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyStringError {
    #[error("`<{0}` has no closing `>`; a literal `<` is written `<lt>`")]
    Unclosed(String),
    #[error("unknown key `<{0}>`; write e.g. <ret>, <esc>, <c-c>, <a-left>, <s-ret>")]
    Unknown(String),
}

/// Reads a key string: a character means itself, `<name>` a named key, `<c-x>`, `<a-x>` and `<s-x>` held
/// Ctrl, Alt and Shift (combined as in `<c-s-left>`), `<lt>` means `<`.
pub fn parse_keys(text: &str) -> Result<Vec<Key>, KeyStringError> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest.split_at(c.len_utf8()).1;
        if c != '<' {
            keys.push(if c == '\n' { Key::plain(Code::Enter) } else { Key::char(c) });
            rest = after;
            continue;
        }
        let (name, after) =
            after.split_once('>').ok_or_else(|| KeyStringError::Unclosed(after.to_owned()))?;
        keys.push(named(name).ok_or_else(|| KeyStringError::Unknown(name.to_owned()))?);
        rest = after;
    }
    Ok(keys)
}

fn named(name: &str) -> Option<Key> {
    let mut mods = Mods::NONE;
    let mut rest = name;
    loop {
        let (held, after) = match (rest.get(..2), rest.get(2..)) {
            (Some("c-"), Some(after)) => (Mods::CTRL, after),
            (Some("a-"), Some(after)) => (Mods::ALT, after),
            (Some("s-"), Some(after)) => (Mods::SHIFT, after),
            _ => break,
        };
        if after.is_empty() {
            break;
        }
        mods = mods.with(held);
        rest = after;
    }
    if rest == "lt" {
        return Some(Key { code: Code::Char('<'), mods });
    }
    if let Some((code, ..)) = NAMES.iter().find(|(_, _, short)| *short == rest) {
        return Some(Key { code: *code, mods });
    }
    if let Some(number) = rest.strip_prefix('f').and_then(|number| number.parse().ok())
        && (1..=12).contains(&number)
    {
        return Some(Key { code: Code::F(number), mods });
    }
    let mut chars = rest.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Some(Key { code: Code::Char(c), mods }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_strings_are_read() {
        let shift_left = Key::held(Mods::CTRL.with(Mods::SHIFT), Code::Left);
        let cases: &[(&str, &[Key])] = &[
            ("", &[]),
            ("hé", &[Key::char('h'), Key::char('é')]),
            ("<ret>", &[Key::plain(Code::Enter)]),
            ("\n", &[Key::plain(Code::Enter)]),
            ("a<c-c>", &[Key::char('a'), Key::ctrl('c')]),
            ("<a-ret>", &[Key::held(Mods::ALT, Code::Enter)]),
            ("<c-s-left>", &[shift_left]),
            ("<lt><c-->", &[Key::char('<'), Key::ctrl('-')]),
            ("<space>", &[Key::char(' ')]),
            ("<f2>f", &[Key::plain(Code::F(2)), Key::char('f')]),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_keys(text).as_deref(), Ok(*expected), "{text:?}");
        }
    }

    #[test]
    fn wrong_key_strings_are_refused() {
        assert_eq!(parse_keys("a<ret"), Err(KeyStringError::Unclosed("ret".into())));
        assert_eq!(parse_keys("<nope>"), Err(KeyStringError::Unknown("nope".into())));
    }

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
