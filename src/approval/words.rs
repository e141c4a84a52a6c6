//! The words of a command line by which it is allowed: its programs and their subcommands.
//!
//! Pure. One place for what "these command words" means: the grant that `a` gives at a card, the rule that is drafted,
//! and rules with `words`. Whatever is not known to be named by its words alone counts as not named at all.

use crate::bash::{self, Invocation};

/// What one program of a command line is allowed by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandWords {
    pub words: Vec<String>,
    pub extent: Extent,
}

/// Whether more words may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// These words and no other.
    Exact,
    /// A program and its subcommand; what follows is free.
    Prefix,
}

/// Programs whose second word says what they do.
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "apt-get",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "deno",
    "dnf",
    "docker",
    "dotnet",
    "gem",
    "gh",
    "git",
    "glab",
    "go",
    "gradle",
    "helm",
    "hg",
    "jj",
    "journalctl",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "sbt",
    "svn",
    "swift",
    "systemctl",
    "task",
    "terraform",
    "uv",
    "yarn",
    "zig",
];

/// Subcommands that say nothing without the word behind them.
const TAKE_ANOTHER: &[&str] =
    &["run", "exec", "tool", "compose", "x", "remote", "stash", "config", "alias", "pr", "issue"];

/// Programs that do what other words, their input or a file say: their own name allows nothing.
const DO_ANYTHING: &[&str] = &[
    ".", "ash", "awk", "bash", "builtin", "command", "csh", "dash", "doas", "env", "eval", "exec", "fish",
    "gawk", "ksh", "lua", "nice", "node", "nohup", "parallel", "perl", "php", "python", "python2", "python3",
    "ruby", "setsid", "sh", "source", "ssh", "stdbuf", "su", "sudo", "tclsh", "time", "timeout", "trap",
    "watch", "xargs", "zsh",
];

/// Redirections that write no file.
const HARMLESS: &[&str] = &["2>&1", "1>&2", ">&2", "2>/dev/null", "1>/dev/null", "&>/dev/null", ">/dev/null"];

/// What a command line is allowed by, program by program; `None` where only its whole text says what it does.
#[must_use]
pub fn command_words(script: &str) -> Option<Vec<CommandWords>> {
    if says_more(script) {
        return None;
    }
    let invocations = bash::invocations(script).filter(|all| !all.is_empty())?;
    invocations.iter().map(words_of).collect()
}

fn words_of(invocation: &Invocation) -> Option<CommandWords> {
    let program = invocation.words.first()?.as_deref()?;
    if DO_ANYTHING.contains(&program) || program.contains('/') {
        return None;
    }
    let subcommand = |at: usize| invocation.words.get(at)?.as_deref().filter(|word| is_subcommand(word));
    if WITH_SUBCOMMANDS.contains(&program)
        && let Some(second) = subcommand(1)
    {
        let mut words = vec![program.to_owned(), second.to_owned()];
        if TAKE_ANOTHER.contains(&second) {
            match subcommand(2) {
                Some(third) => words.push(third.to_owned()),
                None => return exact(invocation),
            }
        }
        return Some(CommandWords { words, extent: Extent::Prefix });
    }
    exact(invocation)
}

fn exact(invocation: &Invocation) -> Option<CommandWords> {
    let words = invocation.words.iter().cloned().collect::<Option<Vec<String>>>()?;
    Some(CommandWords { words, extent: Extent::Exact })
}

/// Whether a word looks like the name of something to do, and not like a flag, a file or a text.
fn is_subcommand(word: &str) -> bool {
    let begins = word.starts_with(|c: char| c.is_ascii_lowercase());
    begins
        && word.len() <= 40
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
}

impl CommandWords {
    /// Whether a program of another command line is what these words name.
    #[must_use]
    pub fn cover(&self, invocation: &Invocation) -> bool {
        let begins = invocation.words.len() >= self.words.len()
            && self.words.iter().zip(&invocation.words).all(|(word, said)| said.as_ref() == Some(word));
        match self.extent {
            Extent::Exact => begins && invocation.words.len() == self.words.len(),
            Extent::Prefix => begins,
        }
    }
}

impl std::fmt::Display for CommandWords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let more = match self.extent {
            Extent::Exact => "",
            Extent::Prefix => " …",
        };
        write!(f, "{}{more}", self.words.join(" "))
    }
}

/// Whether a command line may do more than its programs' words say: write or read files by redirection, or change what
/// programs do by variables. Read from the text alone, so what is quoted counts too, and so do words that only some
/// programs take for variables (`make CC=x`, `export X=1`): what is read of a single invocation knows neither of them,
/// nor what goes in.
#[must_use]
pub fn says_more(script: &str) -> bool {
    let mut rest = script.to_owned();
    for harmless in HARMLESS {
        rest = without(&rest, harmless);
    }
    let redirects = rest.contains(['<', '>']);
    let assigns = |word: &str| {
        let name = word.split('=').next().unwrap_or_default().trim_end_matches('+');
        let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
        word.contains('=')
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '[' | ']'))
    };
    redirects
        || rest.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | '{')).any(assigns)
}

/// The text without these redirections, where they stand by themselves.
fn without(script: &str, redirection: &str) -> String {
    let mut out = String::new();
    let mut rest = script;
    while let Some((before, after)) = rest.split_once(redirection) {
        out.push_str(before);
        let ends =
            after.chars().next().is_none_or(|c| c.is_whitespace() || matches!(c, ';' | '|' | ')' | '&'));
        out.push_str(if ends { " " } else { redirection });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_what_a_program_does() {
        for (script, expected) in [
            ("git status", Some("git status …")),
            ("git log oneline", Some("git log …")),
            ("cargo test foo", Some("cargo test …")),
            ("npm run build", Some("npm run build …")),
            ("git config user", Some("git config user …")),
            ("npm run", Some("npm run")),
            ("ls", Some("ls")),
            ("rm old important", Some("rm old important")),
            ("python script", None),
            ("sh", None),
            ("sudo ls", None),
            ("", None),
        ] {
            let words =
                command_words(script).map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>());
            assert_eq!(words.map(|all| all.join(", ")).as_deref(), expected, "{script}");
        }
    }

    #[test]
    fn redirections_and_variables_say_more_than_words() {
        for (script, more) in [
            ("git status", false),
            ("cargo test 2>&1 | tail", false),
            ("make all >/dev/null 2>&1", false),
            ("make all >/dev/null; ls", false),
            ("git log --format=short", false),
            ("git status > x", true),
            ("git status >/dev/nullx", true),
            ("git status >/dev/null/../x", true),
            ("git status < x", true),
            ("git status 2>&1x", true),
            ("PATH=. git status", true),
            ("GIT_PAGER=./x git log", true),
            ("ls; X=1 git log", true),
            ("ls &&X+=1 git log", true),
            ("(X=1 git log)", true),
            ("a[0]=1 git log", true),
            ("git log '>'", true),
            ("make all CC=./x", true),
            ("export GIT_PAGER=./x; git log", true),
            ("cargo run <<x", true),
        ] {
            assert_eq!(says_more(script), more, "{script}");
        }
    }
}
