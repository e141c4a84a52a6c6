//! Parses a shell command line with a full grammar and decides whether it is read-only. Pure.
//!
//! Anything not known to be harmless counts as unsafe: node kinds, programs and their flags are allow-lists.
//! It runs nothing and accesses no file. Used by the `shell` tool and by rules about command words.
//!
//! A line is read twice: by the grammar (`tree.rs`), which covers the whole language and is lenient, and by a
//! strict reader of the subset that all shells interpret alike (`lexer.rs`). A line is understood only if
//! both find the same words, so an error in one of them cannot hide a command. [`segments()`] splits any other line
//! loosely, for callers that must find what it may run.

use std::ops::Range;

use lexer::{SimpleCommand, Word};
use wrap::InnerCommand;

use crate::stdx::text::{sanitize_line, truncate};

mod flags;
mod lexer;
mod notes;
mod programs;
mod read_only;
mod reading;
mod segments;
mod special;
mod tree;
mod wrap;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

/// The maximum nesting of commands inside command words (`sh -c '…'`).
const MAX_NESTING: usize = 4;

/// The maximum width of a reason, in terminal cells: it may quote a word of the script.
const REASON_WIDTH: usize = 120;

/// One program with its arguments, as far as they are fixed words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The words without their quotes; `None` for a word that is only known at run time (`$x`, `$(…)`, a
    /// glob). Empty if a redirection or an assignment has no command, or applies to a group of commands.
    pub words: Vec<Option<String>>,
    /// The same words as written in the script.
    pub written: Vec<String>,
    /// Names of variables assigned for it (`LC_ALL=C sort`), or for all later commands if there are no words.
    pub assigns: Vec<String>,
    /// Files to which its output is redirected, in the form of `words`.
    pub writes: Vec<Option<String>>,
    /// Files from which its input is redirected, in the form of `words`.
    pub reads: Vec<Option<String>>,
    /// Whether it reads the output of another command.
    pub piped: bool,
}

/// The classification of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// It only reads and prints.
    ReadOnly,
    /// It may do anything. `because` is the reason, for the user.
    Unknown { because: String },
}

/// Returns every program that a command line would start: wrappers (`env`, `sudo`, `xargs`, `sh -c`), the
/// programs they wrap, and inner commands. `None` if the line is not fully understood: some could be missing.
pub fn invocations(script: &str) -> Option<Vec<Invocation>> {
    let mut found = Vec::new();
    collect(script, 0, &mut found)?;
    Some(found)
}

/// Classifies a command line as read-only or unknown.
pub fn classify(script: &str) -> Class {
    match read_only::script(script) {
        Ok(()) => Class::ReadOnly,
        Err(because) => Class::Unknown { because: truncate(&sanitize_line(&because), REASON_WIDTH) },
    }
}

/// Whether a command line is read-only in a sandbox that denies it writing and the network. There, the programs that a
/// repository's settings name are harmless.
pub fn is_read_only_if_confined(script: &str) -> bool {
    read_only::confined_script(script).is_ok()
}

pub use self::programs::reading_subcommands;
pub use self::read_only::{has_known_words, subcommand};
pub use self::segments::{Segment, segments};
pub use self::wrap::{is_interpreter, is_keyword, is_shell, runs_others};

/// Whether a program runs text that is not in its words: its input, or the content of a script.
pub fn runs_other_text(invocation: &Invocation) -> bool {
    let Some(Some(program)) = invocation.words.first() else { return false };
    let rest = invocation.words.get(1..).unwrap_or_default();
    let operand = rest.iter().flatten().any(|word| !word.starts_with('-'));
    match wrap::base(program) {
        "." | "source" => true,
        name if wrap::is_shell(name) => {
            !wrap::is_inline(&invocation.words)
                && (operand || invocation.piped || !invocation.reads.is_empty())
        }
        _ => false,
    }
}

fn collect(script: &str, depth: usize, found: &mut Vec<Invocation>) -> Option<()> {
    if depth > MAX_NESTING {
        return None;
    }
    let reading = reading::read(script).ok()?;
    reading.commands.iter().try_for_each(|simple| add_wrapped(&Invocation::of(simple, script), depth, found))
}

/// Adds an invocation and those that it wraps.
fn add_wrapped(invocation: &Invocation, depth: usize, found: &mut Vec<Invocation>) -> Option<()> {
    if depth > MAX_NESTING {
        return None;
    }
    // After `time` the shell still recognizes keywords and assignments.
    let unsure = |word: &str| is_keyword(word) || word == "for" || lexer::is_assignment(word);
    if depth > 0 && matches!(invocation.words.first(), Some(Some(word)) if unsure(word)) {
        return None;
    }
    let inner = wrap::inner(&invocation.words)?;
    found.push(invocation.clone());
    for one in inner {
        match one {
            InnerCommand::Words(range) => add_wrapped(&invocation.part(range)?, depth + 1, found)?,
            InnerCommand::Script(script) => collect(&script, depth + 1, found)?,
        }
    }
    Some(())
}

impl Invocation {
    fn of(simple: &SimpleCommand, script: &str) -> Self {
        let known = |word: &Word| word.open.is_none().then(|| word.text.clone());
        let written = |word: &Word| script.get(word.span.clone()).unwrap_or_default().to_owned();
        let name = |word: &Word| written(word).split('=').next().unwrap_or_default().to_owned();
        let writes = simple.redirects.iter().filter(|one| one.writes());
        let reads = simple.redirects.iter().filter(|one| matches!(one.operator.as_str(), "<" | "0<" | "<>"));
        Self {
            words: simple.words.iter().map(known).collect(),
            written: simple.words.iter().map(written).collect(),
            assigns: simple.assigns.iter().map(name).collect(),
            writes: writes.map(|one| known(&one.target)).collect(),
            reads: reads.map(|one| known(&one.target)).collect(),
            piped: simple.piped,
        }
    }

    /// Returns the program given by a range of its words, with the words that it receives when it runs.
    fn part(&self, range: Range<usize>) -> Option<Self> {
        let mut words = self.words.get(range.clone())?.to_vec();
        let mut written = self.written.get(range)?.to_vec();
        let by = self.words.first()?.as_deref().map(wrap::base);
        if matches!(by, Some("find" | "fd" | "fdfind" | "xargs")) {
            let named = |word: &mut Option<String>| word.take_if(|text| text.contains("{}"));
            if words.iter_mut().skip(1).filter_map(named).count() == 0 {
                words.push(None);
                written.push("{}".to_owned());
            }
        }
        Some(Self {
            words,
            written,
            assigns: Vec::new(),
            writes: Vec::new(),
            reads: self.reads.clone(),
            piped: self.piped,
        })
    }
}
