//! Compares both readings of a script: it is understood if they find the same words in the same commands.

use super::lexer::{self, SimpleCommand, Word};
use super::tree::{self, Grammar, WordPositions};
use crate::stdx::text::sanitize;

/// The maximum length of a script to read, in bytes: a length that a user can still review.
pub const MAX_BYTES: usize = 4 * 1024;

/// A script that is understood.
#[derive(Debug)]
pub struct ParsedScript {
    /// The commands in the order in which they are written.
    pub commands: Vec<SimpleCommand>,
    /// The first construct in it that goes beyond plain commands, described in words.
    pub beyond: Option<&'static str>,
}

/// Reads a script; errs with the reason if it is not understood.
pub fn read(script: &str) -> Result<ParsedScript, &'static str> {
    if script.len() > MAX_BYTES {
        return Err("it is too long to be sure");
    }
    if script.contains('\u{FFFD}') || script.chars().any(|c| c.is_whitespace() && !" \t\n".contains(c)) {
        return Err("it contains characters that look like others");
    }
    if sanitize(script) != script {
        return Err("it contains invisible characters");
    }
    if script.contains("<<") {
        return Err("it contains a here-document");
    }
    let Grammar { commands: mut places, beyond } = tree::read(script)?;
    let mut commands = lexer::commands(script).ok_or("it contains syntax that shells read differently")?;
    places.sort_by_key(start);
    commands.sort_by_key(SimpleCommand::start);
    if commands.len() != places.len()
        || !commands.iter().zip(&mut places).all(|(simple, places)| agree(simple, places))
    {
        return Err("it can be read in two ways");
    }
    Ok(ParsedScript { commands, beyond })
}

fn start(places: &WordPositions) -> Option<usize> {
    let all = places.assigns.iter().chain(&places.words).chain(&places.targets);
    all.map(|range| range.start).min()
}

fn agree(simple: &SimpleCommand, places: &mut WordPositions) -> bool {
    let words = || simple.words.iter().map(|word| word.span.clone());
    // The grammar lists words after redirections last.
    places.words.sort_by_key(|range| range.start);
    let same_words = if places.test {
        let ends = |word: Option<&Word>, bracket: &str| word.is_some_and(|word| word.text == bracket);
        let whole = words().next().zip(words().next_back()).map(|(first, last)| first.start..last.end);
        places.words.len() == 1
            && whole.as_ref() == places.words.first()
            && ends(simple.words.first(), "[")
            && ends(simple.words.last(), "]")
    } else {
        words().eq(places.words.iter().cloned())
    };
    same_words
        && simple.assigns.iter().map(|word| word.span.clone()).eq(places.assigns.iter().cloned())
        && simple.redirects.iter().map(|one| one.target.span.clone()).eq(places.targets.iter().cloned())
}
