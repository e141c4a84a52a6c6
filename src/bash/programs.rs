//! The table of programs that are known to only look: `programs.txt`, and how it is read.

use super::flags::{Arg, Parsed};
use super::special;

const TABLE: &str = include_str!("programs.txt");

/// How deep one row's flags may stand for another's.
const MAX_SETS: usize = 3;

/// One program, or one subcommand.
pub struct Program {
    pub does: Does,
    pub flags: Vec<&'static str>,
    pub operands: Operands,
}

/// What a program does with the words that its row allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// It reads and prints.
    Reads,
    /// It runs programs that the settings of the repository name.
    RunsSettings,
    /// More; its row only says which words change nothing about that.
    Acts,
}

impl Does {
    /// What stands before a row's operands.
    const WORDS: [(&'static str, Self); 2] = [("by settings, ", Self::RunsSettings), ("acts, ", Self::Acts)];

    fn told(operands: &'static str) -> (Self, &'static str) {
        let marked = |(word, does): &(&str, Self)| Some((*does, operands.strip_prefix(word)?));
        Self::WORDS.iter().find_map(marked).unwrap_or((Self::Reads, operands))
    }
}

/// What the words that are no flags may be.
pub enum Operands {
    None,
    /// None, and one of these flags must be given: without them it runs what it reads.
    NoneWith(Vec<&'static str>),
    /// Words that name nothing.
    Texts,
    /// Files and folders of the workspace, as many as there are.
    Paths,
    /// So many files: one more would be written to.
    AtMost(usize),
    /// A text, then files; only files where one of these flags is given.
    TextThenPaths(Vec<&'static str>),
    /// Texts where one of these flags is given; else none, because they would name what to make.
    TextsWith(Vec<&'static str>),
    /// A check of its own, of flags and operands.
    Check(fn(&Parsed<'_>) -> Result<(), String>),
    /// Its words are read in a way of its own.
    Own(fn(&[Arg]) -> Result<(), String>),
}

/// The row of a program or subcommand.
pub fn program(name: &str) -> Option<Program> {
    let (operands, flags) = find(name)?;
    let mut all = Vec::new();
    spread(flags, 0, &mut all);
    let (does, operands) = Does::told(operands);
    Some(Program { does, flags: all, operands: Operands::named(operands)? })
}

/// What stands behind a row's names, and its flags.
fn find(name: &str) -> Option<(&'static str, &'static str)> {
    let mut rest = TABLE;
    loop {
        let (line, after) = rest.split_once('\n')?;
        rest = after;
        // `:` is a program too.
        let heads = !line.starts_with([' ', '#']) && !line.is_empty();
        let Some((names, operands)) = line.rsplit_once(": ").filter(|_| heads) else { continue };
        if names.contains(name) && names.split(", ").any(|one| one == name) {
            let end = rest.split_inclusive('\n').take_while(|line| line.starts_with(' ')).map(str::len).sum();
            return Some((operands, rest.get(..end)?));
        }
    }
}

/// All flags of a row, with those of the rows that it names.
fn spread(flags: &'static str, depth: usize, all: &mut Vec<&'static str>) {
    for flag in flags.split_ascii_whitespace() {
        let set = if flag.starts_with('<') && depth < MAX_SETS { find(flag) } else { None };
        match set {
            Some((_, more)) => spread(more, depth + 1, all),
            None => all.push(flag),
        }
    }
}

impl Operands {
    /// Operands as the table says them; `None` for words that it does not know.
    fn named(text: &'static str) -> Option<Self> {
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
                    Self::coded(text.strip_prefix("as ")?)?
                }
            }
        };
        Some(operands)
    }

    fn coded(name: &str) -> Option<Self> {
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
