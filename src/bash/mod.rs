//! What a command line of the shell says, read by a real grammar, and whether it only looks. Pure.
//!
//! Everything not known to be harmless is not: node kinds, programs and their flags are lists of what is allowed. It
//! runs nothing and looks at no file. Used by the `shell` tool, which plans with it, and by rules about command words.
//!
//! A line is read twice: by the grammar (`tree.rs`), which knows the whole language and is lenient, and by a strict
//! reader of what every shell reads alike (`lexer.rs`). Only where both find the same words is it understood: what
//! either of them gets wrong cannot hide a command.

use std::ops::Range;

use lexer::{Simple, Word};
use wrap::Inner;

use crate::stdx::text::{sanitize_line, truncate};

mod flags;
mod lexer;
mod look;
mod notes;
mod programs;
mod reading;
mod special;
mod tree;
mod wrap;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

/// How deep commands in the words of commands (`sh -c '…'`) are read.
const MAX_NESTING: usize = 4;

/// Cells of a reason: it may hold a word of the script.
const REASON_WIDTH: usize = 120;

/// One program with its arguments, as far as they are fixed words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The words without their quotes; `None` for one that is only known when it runs (`$x`, `$(…)`, a glob). Empty
    /// where a redirection or an assignment stands for itself, or for a group of commands.
    pub words: Vec<Option<String>>,
    /// The same words as they are written.
    pub written: Vec<String>,
    /// Names that are assigned for it (`LC_ALL=C sort`), or for all that follows where there is no word.
    pub assigns: Vec<String>,
    /// Files that its output goes to, as `words`.
    pub writes: Vec<Option<String>>,
    /// Files that it reads by a redirection, as `words`.
    pub reads: Vec<Option<String>>,
    /// Whether it reads what another command prints.
    pub piped: bool,
}

/// What is known of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// It reads and prints, and does nothing else.
    LooksOnly,
    /// It may do anything; why it is not known to only look, for the person.
    Unknown { because: String },
}

/// Every program that a command line would start: wrappers (`env`, `sudo`, `xargs`, `sh -c`) and what they wrap, inner
/// commands included. `None` where not all of it is understood, so that some could be missing.
pub fn invocations(script: &str) -> Option<Vec<Invocation>> {
    let mut found = Vec::new();
    collect(script, 0, &mut found)?;
    Some(found)
}

/// Whether a command line is known to only look.
pub fn classify(script: &str) -> Class {
    match look::script(script) {
        Ok(()) => Class::LooksOnly,
        Err(because) => Class::Unknown { because: truncate(&sanitize_line(&because), REASON_WIDTH) },
    }
}

pub use self::look::{has_known_words, subcommand};
pub use self::wrap::{is_interpreter, is_shell};

/// Whether a program runs text that its words do not hold: what it reads, or what a script says.
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
    reading.commands.iter().try_for_each(|simple| wrapped(&Invocation::of(simple, script), depth, found))
}

/// Adds an invocation and those that it wraps.
fn wrapped(invocation: &Invocation, depth: usize, found: &mut Vec<Invocation>) -> Option<()> {
    if depth > MAX_NESTING {
        return None;
    }
    // Behind `time` the shell still looks for keywords and assignments.
    let is_keyword = |word: &str| ["!", "{", "}", "if", "while", "until", "for"].contains(&word);
    let unsure = |word: &str| is_keyword(word) || lexer::is_assignment(word);
    if depth > 0 && matches!(invocation.words.first(), Some(Some(word)) if unsure(word)) {
        return None;
    }
    let inner = wrap::inner(&invocation.words)?;
    found.push(invocation.clone());
    for one in inner {
        match one {
            Inner::Words(range) => wrapped(&invocation.part(range)?, depth + 1, found)?,
            Inner::Script(script) => collect(&script, depth + 1, found)?,
        }
    }
    Some(())
}

impl Invocation {
    fn of(simple: &Simple, script: &str) -> Self {
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

    /// The program that some of its words are, with the words that it gets when it runs.
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
