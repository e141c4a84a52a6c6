//! The table of programs that are known to be read-only, `programs.txt`, and its parser.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::flags::{Arg, ParsedArgs};
use super::special;

const TABLE: &str = include_str!("programs.txt");

/// The maximum depth of references from one row's flags to another's.
const MAX_SETS: usize = 3;

/// One program, or one subcommand.
pub struct Program {
    pub effect: ProgramEffect,
    pub flags: Vec<&'static str>,
    pub operands: Operands,
}

/// The effect of a program if given only words that its row allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramEffect {
    /// It reads and prints.
    Reads,
    /// It runs programs that the repository's settings name.
    RunsSettings,
    /// It does more than that; its row only lists words that do not change what it does.
    Acts,
}

impl ProgramEffect {
    /// The prefixes of a row's operands.
    const WORDS: [(&'static str, Self); 2] = [("by settings, ", Self::RunsSettings), ("acts, ", Self::Acts)];

    fn parse(operands: &'static str) -> (Self, &'static str) {
        let marked = |(word, effect): &(&str, Self)| Some((*effect, operands.strip_prefix(word)?));
        Self::WORDS.iter().find_map(marked).unwrap_or((Self::Reads, operands))
    }
}

/// The operands that are allowed: words that are not flags.
pub enum Operands {
    None,
    /// No operands, and one of these flags is required: without them the program runs its input.
    NoneWith(Vec<&'static str>),
    /// Texts that do not name files.
    Texts,
    /// Any number of files and folders of the workspace.
    Paths,
    /// At most this many files: the program would write to a further one.
    AtMost(usize),
    /// A text, then files; only files if one of these flags is given.
    TextThenPaths(Vec<&'static str>),
    /// Texts if one of these flags is given; otherwise none, because they would name objects to create.
    TextsWith(Vec<&'static str>),
    /// A dedicated check of the parsed flags and operands.
    Check(fn(&ParsedArgs<'_>) -> Result<(), String>),
    /// A dedicated check of the unparsed words.
    Own(fn(&[Arg]) -> Result<(), String>),
}

/// Returns the row of a program or subcommand.
pub fn program(name: &str) -> Option<Program> {
    let &(operands, flags) = ROWS.get(name)?;
    let mut all = Vec::new();
    spread(flags, 0, &mut all);
    let (effect, operands) = ProgramEffect::parse(operands);
    Some(Program { effect, flags: all, operands: Operands::parse(operands)? })
}

/// Returns the subcommands of a program that are known to only read, e.g. `log` and `stash list` of `git`.
pub fn reading_subcommands(program: &str) -> Vec<&'static str> {
    rows()
        .filter(|(_, operands, _)| ProgramEffect::parse(operands).0 != ProgramEffect::Acts)
        .flat_map(|(names, ..)| names.split(", "))
        .filter_map(|name| name.strip_prefix(program)?.strip_prefix(' '))
        .filter(|name| !name.starts_with('-'))
        .collect()
}

/// The operands and the flags of each program and subcommand, by its name.
static ROWS: LazyLock<HashMap<&'static str, (&'static str, &'static str)>> = LazyLock::new(|| {
    let named = |(names, operands, flags): (&'static str, _, _)| {
        names.split(", ").map(move |name| (name, (operands, flags)))
    };
    rows().flat_map(named).collect()
});

/// Returns the rows of the table in order: their names, operands and flags.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let mut rest = TABLE;
    std::iter::from_fn(move || {
        loop {
            let (line, after) = rest.split_once('\n')?;
            rest = after;
            let heads = !line.starts_with([' ', '#']);
            // `:` is also a program.
            let Some((names, operands)) = line.rsplit_once(": ").filter(|_| heads) else { continue };
            let length: usize =
                rest.split_inclusive('\n').take_while(|line| line.starts_with(' ')).map(str::len).sum();
            let flags;
            (flags, rest) = rest.split_at(length);
            return Some((names, operands, flags));
        }
    })
}

/// Collects all flags of a row, including those of the rows that it refers to.
fn spread(flags: &'static str, depth: usize, all: &mut Vec<&'static str>) {
    for flag in flags.split_ascii_whitespace() {
        let set = if flag.starts_with('<') && depth < MAX_SETS { ROWS.get(flag) } else { None };
        match set {
            Some((_, more)) => spread(more, depth + 1, all),
            None => all.push(flag),
        }
    }
}

impl Operands {
    /// Parses the operands of a row; `None` for unknown words.
    fn parse(text: &'static str) -> Option<Self> {
        let list = |text: &'static str| text.split_ascii_whitespace().collect();
        let operands = match text {
            "none" => Self::None,
            "texts" => Self::Texts,
            "paths" => Self::Paths,
            "text then paths" => Self::TextThenPaths(Vec::new()),
            _ => {
                if let Some(flags) = text.strip_prefix("none, with ") {
                    Self::NoneWith(list(flags))
                } else if let Some(flags) = text.strip_prefix("text then paths, without ") {
                    Self::TextThenPaths(list(flags))
                } else if let Some(flags) = text.strip_prefix("texts with ") {
                    Self::TextsWith(list(flags))
                } else if let Some(most) = text.strip_prefix("at most ") {
                    Self::AtMost(most.strip_suffix(" paths")?.parse().ok()?)
                } else {
                    Self::by_code(text.strip_prefix("as ")?)?
                }
            }
        };
        Some(operands)
    }

    fn by_code(name: &str) -> Option<Self> {
        Some(match name {
            "anything" => Self::Own(special::anything),
            "bracket" => Self::Own(special::bracket),
            "cargo" => Self::Check(special::cargo),
            "cd" => Self::Own(special::cd),
            "date" => Self::Check(special::date),
            "exit" => Self::Own(special::exit),
            "find" => Self::Own(special::find),
            "jq" => Self::Check(special::jq),
            "log" => Self::Check(special::log),
            "printf" => Self::Own(special::printf),
            "refs" => Self::Check(special::refs),
            "reflog" => Self::Check(special::reflog),
            "sed" => Self::Check(special::sed),
            "test" => Self::Own(special::test),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_read() {
        let heads = TABLE.lines().filter(|line| !line.starts_with([' ', '#']) && !line.is_empty());
        let mut count = 0;
        for head in heads {
            let (names, _) = head.rsplit_once(": ").unwrap_or_else(|| panic!("{head}"));
            for name in names.split(", ") {
                let program = program(name).unwrap_or_else(|| panic!("{head}"));
                let odd = |flag: &&&str| !flag.starts_with('-') || flag.len() < 2;
                assert_eq!(program.flags.iter().find(odd), None, "{head}");
                count += 1;
            }
        }
        assert!(count > 100, "{count}");
    }
}
