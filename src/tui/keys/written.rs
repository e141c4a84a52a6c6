//! A key as written in a settings file: `Ctrl+X`, `Alt+Enter`, `F2`, `y`, or in brackets, `<c-x>`. Pure. A key
//! that no terminal sends is rejected with an alternative.

use crate::stdx::text::nearest;
use crate::tui::key::{Code, Key, Mods, NAMES};

/// Why a text is no valid key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrittenKeyError {
    #[error("an empty text is not a key; `[]` removes all keys")]
    Empty,
    #[error("`{0}` is several keys; write each one separately: [\"Ctrl+X\", \"F2\"]")]
    Several(String),
    #[error("`{written}` is not a key{}; write e.g. Ctrl+X, Alt+Enter, F2 or y", guess(.nearest.as_deref()))]
    Unknown { written: String, nearest: Option<String> },
    #[error("terminals send {written} as {really}; choose another key")]
    SentAs { written: Key, really: &'static str },
    #[error("terminals cannot tell {written} from {really}; write {really}")]
    Unreported { written: String, really: Key },
}

pub(super) fn guess(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

/// Other common names of keys.
const ALIASES: [(&str, Code); 10] = [
    ("return", Code::Enter),
    ("escape", Code::Esc),
    ("bksp", Code::Backspace),
    ("del", Code::Delete),
    ("pageup", Code::PageUp),
    ("pagedown", Code::PageDown),
    ("plus", Code::Char('+')),
    ("up arrow", Code::Up),
    ("down arrow", Code::Down),
    ("lt", Code::Char('<')),
];

const HELD: [(&str, Mods); 9] = [
    ("ctrl", Mods::CTRL),
    ("control", Mods::CTRL),
    ("c", Mods::CTRL),
    ("alt", Mods::ALT),
    ("a", Mods::ALT),
    ("meta", Mods::ALT),
    ("option", Mods::ALT),
    ("shift", Mods::SHIFT),
    ("s", Mods::SHIFT),
];

/// The keys that terminals send in place of some letters with Ctrl.
const SENT_AS: [(char, &str); 4] = [('i', "Tab"), ('m', "Enter"), ('[', "Esc"), ('@', "Ctrl+Space")];

/// Parses one key. Letter case matters only for a letter alone.
pub fn parse_key(text: &str) -> Result<Key, WrittenKeyError> {
    let key = match text {
        " " => Key::char(' '),
        _ => read(text.trim())?,
    };
    if key.mods == Mods::CTRL
        && let Some((_, really)) = SENT_AS.iter().find(|(c, _)| key.code == Code::Char(*c))
    {
        return Err(WrittenKeyError::SentAs { written: key, really });
    }
    Ok(key)
}

fn read(text: &str) -> Result<Key, WrittenKeyError> {
    if text.is_empty() {
        return Err(WrittenKeyError::Empty);
    }
    let (inner, between) = match text.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((inner, "")) => (inner, '-'),
        Some(_) => return Err(WrittenKeyError::Several(text.to_owned())),
        None => (text, '+'),
    };
    let (mods, name) = split_mods(inner, between)
        .ok_or_else(|| unknown(text, Mods::NONE, inner.rsplit(between).next().unwrap_or(inner)))?;
    let code = code(name).ok_or_else(|| unknown(text, mods, name))?;
    match code {
        Code::Char(c) => letter(text, mods, c),
        code => Ok(Key { code, mods }),
    }
}

/// Returns the modifiers before the last part, and that part, which may itself be the separator.
fn split_mods(text: &str, between: char) -> Option<(Mods, &str)> {
    let Some(last) = text.strip_suffix(between).unwrap_or(text).rfind(between) else {
        return Some((Mods::NONE, text));
    };
    let (before, name) = text.split_at(last);
    let mut mods = Mods::NONE;
    for part in before.split(between) {
        let part = part.trim();
        mods = mods.with(HELD.iter().find(|(name, _)| name.eq_ignore_ascii_case(part))?.1);
    }
    Some((mods, name.strip_prefix(between).unwrap_or(name).trim()))
}

fn code(name: &str) -> Option<Code> {
    let mut chars = name.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return Some(Code::Char(c));
    }
    let same = |known: &str| known.eq_ignore_ascii_case(name);
    let named = NAMES.iter().find(|(_, long, short)| same(long) || same(short)).map(|(code, ..)| *code);
    let alias = || ALIASES.iter().find(|(known, _)| same(known)).map(|(_, code)| *code);
    let number = || name.strip_prefix(['F', 'f'])?.parse().ok().filter(|number| (1..=12).contains(number));
    named.or_else(alias).or_else(|| number().map(Code::F))
}

/// Terminals report letters without Shift and, with Ctrl, always in lower case.
fn letter(written: &str, mods: Mods, c: char) -> Result<Key, WrittenKeyError> {
    let rest = mods.without(Mods::SHIFT);
    let shifted = mods.has(Mods::SHIFT) && c != ' ';
    if shifted && mods.has(Mods::CTRL) {
        let really = Key { code: Code::Char(c.to_ascii_lowercase()), mods: rest };
        return Err(WrittenKeyError::Unreported { written: written.to_owned(), really });
    }
    let c = match (shifted, rest == Mods::NONE) {
        (true, _) => c.to_ascii_uppercase(),
        (false, true) => c,
        (false, false) => c.to_ascii_lowercase(),
    };
    Ok(Key { code: Code::Char(c), mods: if c == ' ' { mods } else { rest } })
}

fn unknown(written: &str, mods: Mods, name: &str) -> WrittenKeyError {
    let nearest = nearest(name, NAMES.iter().map(|(_, long, _)| *long));
    let nearest = nearest.and_then(code).map(|code| Key { code, mods }.to_string());
    WrittenKeyError::Unknown { written: written.to_owned(), nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_people_write_them() {
        let held = |mods, code| Key::held(mods, code);
        for (text, key) in [
            ("y", Key::char('y')),
            ("Y", Key::char('Y')),
            ("Shift+y", Key::char('Y')),
            ("?", Key::char('?')),
            ("+", Key::char('+')),
            (" ", Key::char(' ')),
            ("<", Key::char('<')),
            ("Space", Key::char(' ')),
            ("Ctrl+X", Key::ctrl('x')),
            ("ctrl + x", Key::ctrl('x')),
            ("<c-x>", Key::ctrl('x')),
            ("Ctrl++", Key::ctrl('+')),
            ("Ctrl+_", Key::ctrl('_')),
            ("Alt+Enter", held(Mods::ALT, Code::Enter)),
            ("<a-ret>", held(Mods::ALT, Code::Enter)),
            ("option+Return", held(Mods::ALT, Code::Enter)),
            ("Alt+Shift+x", Key::alt('X')),
            ("alt+X", Key::alt('x')),
            ("F2", Key::plain(Code::F(2))),
            ("Shift+f12", held(Mods::SHIFT, Code::F(12))),
            ("Ctrl+Shift+Left", held(Mods::CTRL.with(Mods::SHIFT), Code::Left)),
            ("pagedown", Key::plain(Code::PageDown)),
            ("é", Key::char('é')),
            ("<ret>", Key::plain(Code::Enter)),
            ("<c-s-left>", held(Mods::CTRL.with(Mods::SHIFT), Code::Left)),
            ("<lt>", Key::char('<')),
            ("<c-->", Key::ctrl('-')),
            ("<->", Key::char('-')),
            ("<space>", Key::char(' ')),
            ("<f2>", Key::plain(Code::F(2))),
        ] {
            assert_eq!(parse_key(text), Ok(key), "{text:?}");
        }
    }

    #[test]
    fn what_help_shows_can_be_written() {
        for binding in crate::tui::panel::KEY_TABLE.rows() {
            for key in &binding.keys {
                assert_eq!(parse_key(&key.to_string()), Ok(*key), "{key}");
            }
        }
    }

    #[test]
    fn what_is_no_key_is_answered_with_what_to_write() {
        for (text, words) in [
            ("", "an empty text is not a key; `[]` removes all keys"),
            ("<c-x><c-y>", "`<c-x><c-y>` is several keys; write each one separately: [\"Ctrl+X\", \"F2\"]"),
            (
                "Ctrl+Entr",
                "`Ctrl+Entr` is not a key (did you mean `Ctrl+Enter`?); write e.g. Ctrl+X, Alt+Enter, F2 or y",
            ),
            ("<nope>", "`<nope>` is not a key; write e.g. Ctrl+X, Alt+Enter, F2 or y"),
            ("<c-x>y", "`<c-x>y` is several keys; write each one separately: [\"Ctrl+X\", \"F2\"]"),
            (
                "<c-entr>",
                "`<c-entr>` is not a key (did you mean `Ctrl+Enter`?); write e.g. Ctrl+X, Alt+Enter, F2 or y",
            ),
            ("Ctrl+", "`Ctrl+` is not a key; write e.g. Ctrl+X, Alt+Enter, F2 or y"),
            ("F13", "`F13` is not a key; write e.g. Ctrl+X, Alt+Enter, F2 or y"),
            ("Hyper+x", "`Hyper+x` is not a key; write e.g. Ctrl+X, Alt+Enter, F2 or y"),
            ("Ctrl+I", "terminals send Ctrl+I as Tab; choose another key"),
            ("<c-m>", "terminals send Ctrl+M as Enter; choose another key"),
            ("Ctrl+Shift+P", "terminals cannot tell Ctrl+Shift+P from Ctrl+P; write Ctrl+P"),
        ] {
            let said = parse_key(text).map_err(|error| error.to_string());
            assert_eq!(said, Err(words.to_owned()), "{text:?}");
        }
    }
}
