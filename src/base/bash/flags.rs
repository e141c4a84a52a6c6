//! Splits the words after a program into flags, their values and operands.
//!
//! A program's flags are an allow-list: `-a` and `--all` take no value, `-n:` and `--lines:` take one, `-f@`
//! and `--file@` take one that names a file, `--color?` takes an optional one after `=`, `-#` is a number.
//! Short flags may be combined, and values attached. Abbreviated long flags are not recognized.

use super::lexer::{Open, Word};

/// One word after a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg {
    pub text: String,
    /// Whether it is a glob pattern: it expands to any number of matching file names.
    pub pattern: bool,
}

impl Arg {
    /// Returns the argument for a word; `None` for a word that is only known at run time.
    pub fn of(word: &Word) -> Option<Self> {
        let pattern = match word.open {
            None => false,
            Some(Open::Pattern) => true,
            Some(Open::Variable | Open::Substitution | Open::Tilde | Open::Brace) => return None,
        };
        Some(Self { text: word.text.clone(), pattern })
    }
}

/// Arguments whose flags are all allowed.
#[derive(Debug, Default)]
pub struct ParsedArgs<'a> {
    pub flags: Vec<Flag<'a>>,
    pub operands: Vec<&'a Arg>,
    /// The index of the first operand.
    pub first_operand: Option<usize>,
}

#[derive(Debug)]
pub struct Flag<'a> {
    pub name: &'a str,
    pub value: Option<&'a str>,
    /// Whether the value names a file.
    pub names_file: bool,
    /// Whether the value is a separate word.
    pub apart: bool,
}

impl ParsedArgs<'_> {
    pub fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag.name == name)
    }
}

/// A flag that is not allowed, by name.
#[derive(Debug, PartialEq, Eq)]
pub struct RefusedFlag(pub String);

/// Where flags end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Flags may follow operands.
    Mixed,
    /// The first operand ends the flags: later words belong to another program.
    First,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlagValueKind {
    Nothing,
    Text,
    File,
    MaybeText,
}

/// Splits arguments into flags and operands. Errs with the first flag that is not allowed.
pub fn parse<'a>(
    allowed: &[&'static str],
    args: &'a [Arg],
    order: Order,
) -> Result<ParsedArgs<'a>, RefusedFlag> {
    let mut parsed = ParsedArgs::default();
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let text = arg.text.as_str();
        at += 1;
        if text == "--" {
            parsed.first_operand.get_or_insert(at);
            parsed.operands.extend(args.get(at..).unwrap_or_default());
            break;
        }
        if !text.starts_with('-') || text == "-" {
            parsed.first_operand.get_or_insert(at - 1);
            parsed.operands.push(arg);
            if order == Order::First {
                parsed.operands.extend(args.get(at..).unwrap_or_default());
                break;
            }
            continue;
        }
        if arg.pattern {
            return Err(RefusedFlag(text.to_owned()));
        }
        let taken = if text.starts_with("--") {
            long(allowed, text, args.get(at), &mut parsed)?
        } else {
            short(allowed, text, args.get(at), &mut parsed)?
        };
        at += taken;
    }
    Ok(parsed)
}

/// Returns the kind of value that a flag takes; `None` if it is not allowed.
fn find(allowed: &[&'static str], name: &str) -> Option<(&'static str, FlagValueKind)> {
    allowed.iter().find_map(|one| {
        let (known, takes) = match one.chars().next_back()? {
            ':' => (one.strip_suffix(':')?, FlagValueKind::Text),
            '@' => (one.strip_suffix('@')?, FlagValueKind::File),
            '?' => (one.strip_suffix('?')?, FlagValueKind::MaybeText),
            _ => (*one, FlagValueKind::Nothing),
        };
        (known == name).then_some((known, takes))
    })
}

/// Reads `--flag`; returns how many of the next words belong to it.
fn long<'a>(
    allowed: &[&'static str],
    text: &'a str,
    next: Option<&'a Arg>,
    parsed: &mut ParsedArgs<'a>,
) -> Result<usize, RefusedFlag> {
    let (name, inline) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let refused = || RefusedFlag(name.to_owned());
    let (name, takes) = find(allowed, name).ok_or_else(refused)?;
    let (value, taken) = match (takes, inline) {
        (FlagValueKind::Nothing, None) | (FlagValueKind::MaybeText, None) => (None, 0),
        (FlagValueKind::Nothing, Some(_)) => return Err(refused()),
        (FlagValueKind::Text | FlagValueKind::File | FlagValueKind::MaybeText, Some(value)) => {
            (Some(value), 0)
        }
        (FlagValueKind::Text | FlagValueKind::File, None) => (Some(following(next).ok_or_else(refused)?), 1),
    };
    parsed.flags.push(Flag { name, value, names_file: takes == FlagValueKind::File, apart: taken > 0 });
    Ok(taken)
}

/// Reads `-abc`; returns how many of the next words belong to it.
fn short<'a>(
    allowed: &[&'static str],
    text: &'a str,
    next: Option<&'a Arg>,
    parsed: &mut ParsedArgs<'a>,
) -> Result<usize, RefusedFlag> {
    let digits = text.get(1..).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    if digits && let Some((name, _)) = find(allowed, "-#") {
        parsed.flags.push(Flag { name, value: text.get(1..), names_file: false, apart: false });
        return Ok(0);
    }
    for (at, letter) in text.char_indices().skip(1) {
        let refused = || RefusedFlag(format!("-{letter}"));
        let (name, takes) = find(allowed, &format!("-{letter}")).ok_or_else(refused)?;
        let rest = text.get(at + letter.len_utf8()..).filter(|rest| !rest.is_empty());
        let (value, taken) = match (takes, rest) {
            (FlagValueKind::Nothing, _) => {
                parsed.flags.push(Flag { name, value: None, names_file: false, apart: false });
                continue;
            }
            (FlagValueKind::MaybeText, rest) => (rest, 0),
            (FlagValueKind::Text | FlagValueKind::File, Some(rest)) => (Some(rest), 0),
            (FlagValueKind::Text | FlagValueKind::File, None) => {
                (Some(following(next).ok_or_else(refused)?), 1)
            }
        };
        parsed.flags.push(Flag { name, value, names_file: takes == FlagValueKind::File, apart: taken > 0 });
        return Ok(taken);
    }
    Ok(0)
}

fn following(next: Option<&Arg>) -> Option<&str> {
    next.filter(|arg| !arg.pattern).map(|arg| arg.text.as_str())
}
