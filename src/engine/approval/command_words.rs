//! The words by which a command line is allowed: its programs and their subcommands.
//!
//! Pure. The single definition of "these command words" for the grant that `a` gives at a card, for drafted
//! rules, and for rules with `words`. A command not known to be identified by its words alone has none.

use crate::bash::{self, Invocation};

/// The words by which one program of a command line is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandWords {
    pub words: Vec<String>,
    pub extent: Extent,
}

/// Whether more words may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Exactly these words.
    Exact,
    /// A program and its subcommand, followed by flags that are known to be harmless there and by workspace
    /// files that hold no secrets.
    Prefix,
}

/// Languages that read a program from their words and, unlike interpreters, data from their input.
const PROGRAMMED: &[&str] = &["awk", "gawk", "mawk", "nawk"];

/// Programs that run others by flags only, none of which counts as harmless.
const FINDERS: &[&str] = &["fd", "fdfind", "find"];

/// Redirections that write no file.
const HARMLESS: &[&str] = &["2>&1", "1>&2", ">&2", "2>/dev/null", "1>/dev/null", "&>/dev/null", ">/dev/null"];

/// Returns the words that allow a command line, per program; `None` if only its whole text says what it does.
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
    // Other words, input or a file decide what these do: their names allow nothing.
    let does_anything = (bash::runs_others(program) && !FINDERS.contains(&program))
        || bash::is_interpreter(program)
        || PROGRAMMED.contains(&program)
        || program.contains('/');
    if does_anything {
        return None;
    }
    let named = bash::subcommand(&invocation.words).filter(|named| *named > 1);
    let named = named.and_then(|named| invocation.words.get(..named));
    match named.and_then(|words| words.iter().cloned().collect()) {
        Some(words) => Some(CommandWords { words, extent: Extent::Prefix }),
        None => {
            let words = invocation.words.iter().cloned().collect::<Option<Vec<String>>>()?;
            Some(CommandWords { words, extent: Extent::Exact })
        }
    }
}

impl CommandWords {
    /// Whether these words cover a program of another command line. If the line changes its folder, paths
    /// mean something else; then only the words themselves are covered.
    #[must_use]
    pub fn cover(&self, invocation: &Invocation, line: &[Invocation]) -> bool {
        let begins = invocation.words.len() >= self.words.len()
            && self.words.iter().zip(&invocation.words).all(|(word, said)| said.as_ref() == Some(word));
        match self.extent {
            Extent::Exact => begins && invocation.words.len() == self.words.len(),
            Extent::Prefix => begins && follows_harmlessly(invocation, self.words.len(), line),
        }
    }
}

/// Whether the words after the first `named` words of a program are known to be harmless.
#[must_use]
pub fn follows_harmlessly(invocation: &Invocation, named: usize, line: &[Invocation]) -> bool {
    let goes = |one: &Invocation| {
        one.words.first().is_some_and(|word| matches!(word.as_deref(), Some("cd" | "pushd" | "popd") | None))
    };
    invocation.words.len() <= named || (!line.iter().any(goes) && bash::has_known_words(&invocation.words))
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

/// Whether a command line may do more than its programs' words say: write or read files by redirection, or
/// change programs by variables. Decided from the text alone, so quoted text counts too, and so do words that
/// only some programs treat as variables (`make CC=x`, `export X=1`): an [`Invocation`] shows neither of
/// these, nor all of its input.
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

/// Removes these redirections from the text where they are separate words.
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
            ("git log --oneline", Some("git log …")),
            ("git stash list", Some("git stash list …")),
            ("cargo test foo", Some("cargo test …")),
            ("npm run build", Some("npm run build")),
            ("git config user", Some("git config user")),
            ("git fetch origin", Some("git fetch origin")),
            ("git -c a=b log", None),
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
    fn what_runs_other_programs_is_allowed_by_no_words() {
        for program in [
            ".", "awk", "builtin", "command", "doas", "env", "eval", "exec", "gawk", "nice", "nohup",
            "parallel", "setsid", "source", "ssh", "stdbuf", "su", "sudo", "time", "timeout", "trap",
            "watch", "xargs", "mawk", "chroot", "ionice", "busybox", "flock", "unshare", "python3", "sh",
        ] {
            assert_eq!(command_words(&format!("{program} a")), None, "{program}");
            assert_eq!(command_words(&format!("{program} git status")), None, "{program}");
        }
    }

    /// Attempts against prefixes: the left was allowed, the right must ask (`true`: it is covered).
    #[test]
    fn a_prefix_ends_at_what_is_not_known_as_harmless() {
        for (allowed, other, covered) in [
            ("git log --oneline", "git log -5 --stat", true),
            ("git log --oneline", "git log -- src/main.rs", true),
            ("git log --oneline", "git log -1 --output=pwn", false),
            ("git log --oneline", "git log --output=.git/config", false),
            ("git log --oneline", "git log --format=%+GK", false),
            ("git log --oneline", "cd sub; git log", false),
            ("git log --oneline", "git -C sub log", false),
            ("git log --oneline", "git log -- .env", false),
            ("git show HEAD", "git show HEAD~1", true),
            ("git show HEAD", "git show --output=pwn", false),
            ("git show HEAD", "git show --ext-diff", false),
            ("find . -name x", "find . -name x", true),
            ("find . -name x", "find src -type f", false),
            ("find . -name x", "find . -name x -exec rm {} +", false),
            ("find . -name x", "find . -delete", false),
            ("git fetch origin", "git fetch origin", true),
            ("git fetch origin", "git fetch --upload-pack='touch pwn;false' ./.", false),
            ("git grep foo", "git grep bar src", true),
            ("git grep foo", "git grep -O'touch pwn;true' one", false),
            ("git diff", "git diff --no-index /dev/null /home/me/.ssh/id_rsa", false),
            ("make test", "make test --eval='$(shell touch pwn)'", false),
            ("npm run build", "npm run build --script-shell=./x", false),
            ("cargo test", "cargo test -p kit -- --nocapture", true),
            ("cargo test", "cargo test --config x", false),
            ("cargo test", "cargo test --target-dir=/tmp/x", false),
            ("go test", "go test -exec ./x", false),
            ("pip install .", "pip install ./evil", false),
            ("git remote add x y", "git remote add x 'ext::sh -c true'", false),
        ] {
            let words = command_words(allowed).unwrap_or_default();
            let line = bash::invocations(other).unwrap_or_default();
            let covers = command_words(other).is_some()
                && line.iter().all(|one| words.iter().any(|words| words.cover(one, &line)));
            assert_eq!(covers, covered, "{allowed} → {other}");
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
